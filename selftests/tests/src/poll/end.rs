// SPDX-License-Identifier: GPL-2.0
//! Threads and files that end while somebody polls them. What these cases look
//! for shows in the kernel's log, or as a crash; here they see that all goes on.

use std::time::Duration;

use binder_client::ktap::{Env, Failure};
use binder_client::peer::Peer;
use binder_client::session::Session;
use binder_client::{check_eq, limits};
use nix::libc;
use nix::sys::epoll::{Epoll, EpollFlags};

use super::{epoll, events, nonblocking, told};
use crate::core_support::*;

const LEVEL: EpollFlags = EpollFlags::empty();
const EXCLUSIVE: EpollFlags = EpollFlags::EPOLLEXCLUSIVE;

/// The file is as good as new for this thread.
fn still_works(session: &Session) -> Result<(), Failure> {
    send(session, NO_HANDLE, 1, 0)?;
    check_eq!(call_failure(session)?.command, binder_client::uapi::BR_FAILED_REPLY);
    let set = epoll(session.device(), LEVEL)?;
    send(session, NO_HANDLE, 1, 0)?;
    check_eq!(told(&set)?, true);
    call_failure(session)?;
    Ok(())
}

pub fn epoll_set_outlives_thread_exit(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    let set = epoll(session.device(), LEVEL)?;
    session.device().thread_exit()?;
    // Whatever it reports, it does not touch the thread that is gone.
    for _ in 0..3 {
        events(&set, Duration::ZERO)?;
    }
    session.device().thread_exit()?;
    drop(set);
    still_works(&session)
}

pub fn epoll_entry_is_removed_after_thread_exit(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for _ in 0..3 {
        let set = epoll(session.device(), LEVEL)?;
        session.device().thread_exit()?;
        set.delete(session.device().as_ref())?;
    }
    still_works(&session)
}

pub fn epoll_set_closes_after_thread_exit(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for _ in 0..10 {
        let set = epoll(session.device(), LEVEL)?;
        session.device().thread_exit()?;
        drop(set);
    }
    still_works(&session)
}

fn close_sets(sets: Vec<Epoll>, backwards: bool) {
    match backwards {
        true => sets.into_iter().rev().for_each(drop),
        false => sets.into_iter().for_each(drop),
    }
}

pub fn several_sets_outlive_thread_exit_in_any_order(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for backwards in [false, true] {
        let sets = [LEVEL, EXCLUSIVE, EpollFlags::EPOLLET, EXCLUSIVE]
            .map(|flags| epoll(session.device(), flags));
        let sets = sets.into_iter().collect::<Result<Vec<_>, _>>()?;
        session.device().thread_exit()?;
        close_sets(sets, backwards);
    }
    still_works(&session)
}

pub fn exclusive_set_outlives_thread_exit(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for delete in [true, false] {
        let set = epoll(session.device(), EXCLUSIVE)?;
        session.device().thread_exit()?;
        events(&set, Duration::ZERO)?;
        if delete {
            set.delete(session.device().as_ref())?;
        }
    }
    still_works(&session)
}

pub fn set_is_used_again_after_thread_exit(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    let set = epoll(session.device(), LEVEL)?;
    session.device().thread_exit()?;
    session.device().extended_error()?;
    events(&set, Duration::ZERO)?;
    set.delete(session.device().as_ref())?;
    let event = nix::sys::epoll::EpollEvent::new(EpollFlags::EPOLLIN, 1);
    set.add(session.device().as_ref(), event)?;
    send(&session, NO_HANDLE, 1, 0)?;
    check_eq!(told(&set)?, true);
    Ok(())
}

pub fn thread_ends_while_it_is_in_a_set(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for explicit in [true, false] {
        let device = session.device().clone();
        let set = Worker::start(move || {
            let set = epoll(&device, LEVEL)?;
            if explicit {
                device.thread_exit()?;
            }
            Ok(set)
        })
        .join()?;
        events(&set, Duration::ZERO)?;
        drop(set);
    }
    still_works(&session)
}

pub fn file_closes_before_the_set(env: &Env) -> Result<(), Failure> {
    for flags in [LEVEL, EXCLUSIVE, EpollFlags::EPOLLET] {
        let session = nonblocking(env)?;
        let set = epoll(session.device(), flags)?;
        drop(session);
        check_eq!(events(&set, Duration::ZERO)?, EpollFlags::empty());
        drop(set);
    }
    Ok(())
}

pub fn set_closes_before_the_file(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for flags in [LEVEL, EXCLUSIVE, EpollFlags::EPOLLET] {
        drop(epoll(session.device(), flags)?);
    }
    still_works(&session)
}

pub fn set_in_another_process_outlives_the_file(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    let set = epoll(session.device(), LEVEL)?;
    // The child has the set, but not the file in it.
    let child = Peer::spawn(|channel| {
        events(&set, Duration::ZERO)?;
        channel.signal()?;
        channel.wait()?;
        check_eq!(events(&set, Duration::ZERO)?, EpollFlags::empty());
        Ok(())
    })?;
    child.wait()?;
    drop(session);
    child.signal()?;
    child.join()
}

pub fn polling_process_is_killed(env: &Env) -> Result<(), Failure> {
    let child = client(&env.device, |session, channel| {
        let set = epoll(session.device(), EXCLUSIVE)?;
        let device = session.device().clone();
        let _poller = Worker::start(move || Ok(device.poll(limits::case())?));
        channel.signal()?;
        events(&set, limits::case()).map(drop)
    })?;
    child.wait()?;
    asleep_in(child.pid(), child.pid(), &[libc::SYS_epoll_wait, libc::SYS_epoll_pwait])?;
    child.kill()?;
    still_works(&nonblocking(env)?)
}
