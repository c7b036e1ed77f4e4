// SPDX-License-Identifier: GPL-2.0
//! Which processes are frozen, and what is told of them.

use std::time::Duration;

use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::peer::Peer;
use binder_client::session::Session;
use binder_client::{check_eq, limits, Errno};
use nix::sched::{unshare, CloneFlags};
use nix::sys::signal::Signal;

use super::*;

pub fn process_without_the_device_is_refused(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    let other = Peer::spawn(|channel| channel.wait())?;
    for pid in [0, other.pid() as u32, 0x3fff_ffff, u32::MAX] {
        check_eq!(device.freeze(pid, true, Duration::ZERO), Err(Errno::EINVAL), "of {pid}");
        check_eq!(device.freeze(pid, false, Duration::ZERO), Err(Errno::EINVAL), "of {pid}");
        check_eq!(device.frozen_info(pid).map(drop), Err(Errno::EINVAL), "of {pid}");
    }
    Ok(())
}

pub fn nothing_has_come_to_an_idle_process(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let device = env.open()?;
    check_eq!(info(&device, target.pid())?, (0, 0));
    freeze(&device, target.pid())?;
    check_eq!(info(&device, target.pid())?, (0, 0));
    Ok(())
}

pub fn freezing_and_thawing_twice_changes_nothing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    thaw(session.device(), target.pid())?;
    freeze(session.device(), target.pid())?;
    freeze(session.device(), target.pid())?;
    call_is_refused(&session)?;
    thaw(session.device(), target.pid())?;
    thaw(session.device(), target.pid())?;
    call_is_served(&session, &target)
}

pub fn every_number_but_zero_freezes(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    let mut asked =
        binder_client::uapi::FreezeInfo { pid: target.pid(), enable: 0x8000_0000, timeout_ms: 0 };
    session.device().ioctl(binder_client::uapi::BINDER_FREEZE, &mut asked)?;
    call_is_refused(&session)
}

pub fn process_may_freeze_itself(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    let own = nix::unistd::getpid().as_raw() as u32;
    freeze(&device, own)?;
    check_eq!(info(&device, own)?, (0, 0));
    thaw(&device, own)
}

pub fn new_freeze_counts_anew(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    call_is_refused(&session)?;
    check_eq!(info(session.device(), target.pid())?, (1, 0));
    freeze(session.device(), target.pid())?;
    check_eq!(info(session.device(), target.pid())?, (0, 0));
    Ok(())
}

pub fn end_of_a_frozen_process_is_a_death(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    refer(&session)?;
    let pid = target.pid();
    freeze(session.device(), pid)?;
    target.kill()?;
    until("the process is gone", || {
        Ok(session.device().frozen_info(pid).map(drop) == Err(Errno::EINVAL))
    })?;
    send(&session, 0, 1, 0)?;
    call_ends_dead(&session)
}

pub fn all_files_of_a_process_are_frozen_or_none(env: &Env) -> Result<(), Failure> {
    let path = env.second_device()?.clone();
    let target = manager(&env.device, |first, channel| {
        let device = Device::open(&path)?;
        become_manager(&device)?;
        let second = Session::primed(&device)?;
        channel.signal()?;
        serve_one(&second)?;
        channel.wait()?;
        serve_one(first)?;
        channel.wait()
    })?;
    target.wait()?;
    let pid = target.pid() as u32;
    let (first, second) = (env.session()?, Session::primed(&Device::open(&path)?)?);
    send(&first, 0, 1, 0)?;
    is_busy(first.device(), pid)?;
    check_eq!(info(first.device(), pid)?, (2, 0));
    // The file without a call is not frozen either.
    call(&second, 0, 3)?;
    target.signal()?;
    finish_call(&first)?;
    freeze(first.device(), pid)?;
    call_is_refused(&first)?;
    call_is_refused(&second)
}

pub fn bug_b40_pid_is_that_of_the_callers_namespace(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let (path, global) = (env.device.clone(), target.pid());
    let inside = Peer::spawn(|channel| {
        match unshare(CloneFlags::CLONE_NEWPID) {
            Err(Errno::EPERM | Errno::EINVAL | Errno::ENOSPC) => {
                return Err(Failure::skip("the kernel makes no such namespace for us"));
            }
            result => result?,
        }
        Peer::spawn(|_| {
            let device = Device::open(&path)?;
            channel.send(&device.freeze(global, true, Duration::ZERO).err().map(|e| e as i32))?;
            // It is the first of its namespace.
            channel.send(&device.freeze(1, true, Duration::ZERO).err().map(|e| e as i32))?;
            channel.wait()
        })?
        .join()
    })?;
    check_eq!(inside.recv::<Option<i32>>()?, Some(Errno::EINVAL as i32), "an outer process");
    check_eq!(inside.recv::<Option<i32>>()?, None, "the process itself");
    let session = env.session()?;
    call_is_served(&session, &target)?;
    inside.signal()?;
    inside.join()
}

pub fn freeze_goes_on_after_a_stop(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    let (path, pid) = (env.device.clone(), target.pid());
    let waiting = Peer::spawn(|channel| {
        let device = Device::open(&path)?;
        channel.signal()?;
        // The kernel calls the ioctl again after a signal without a handler.
        check_eq!(device.freeze(pid, true, 10 * limits::wait()), Ok(()));
        Ok(())
    })?;
    waiting.wait()?;
    asleep_in_ioctl(waiting.pid(), waiting.pid())?;
    waiting.kill_with(Signal::SIGSTOP)?;
    waiting.kill_with(Signal::SIGCONT)?;
    asleep_in_ioctl(waiting.pid(), waiting.pid())?;
    target.does(Step::Take)?;
    target.does(Step::Reply)?;
    finish_call(&session)?;
    waiting.join()?;
    call_is_refused(&session)
}
