// SPDX-License-Identifier: GPL-2.0
//! Failures while a file is opened, mapped, polled or closed, and when a
//! thread uses it for the first time.

use std::sync::Arc;
use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::device::{Device, DEFAULT_MAP};
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::session::Session;
use binder_client::{check, check_matches, limits, Errno};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::client::{check_result, succeeds, works};
use crate::injector::{count_failures, sweep};
use crate::witness::{Witness, KEEP, PING};

pub fn opening(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let result = shot.fire(|| Device::open_unmapped(&env.device))?;
        check!(shot.fired() || result.is_ok(), "opening works when nothing fails");
        if let Ok(device) = result {
            device.map(DEFAULT_MAP)?;
            works(&Session::new(&device))?;
        }
        works(&Session::new(&env.open()?))?;
        witness.check_clean()
    })
}

pub fn mapping(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let device = Device::open_unmapped(&env.device)?;
        let result = shot.fire(|| device.map(DEFAULT_MAP))?;
        check_result(shot, &result)?;
        if result.is_err() {
            device.map(DEFAULT_MAP)?;
        }
        works(&Session::new(&device))?;
        drop(device);
        witness.check_clean()
    })
}

/// The first ioctl of each new thread of a process.
pub fn first_ioctl_of_a_thread(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    let device = env.open()?;
    sweep(|shot| {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let result = shot.fire(|| device.extended_error())?;
                check_result(shot, &result)?;
                works(&Session::new(&device))?;
                Ok(device.thread_exit()?)
            });
            thread.join().unwrap_or_else(|_| Err(Failure::new("the thread", "its end", "a panic")))
        })
    })?;
    drop(device);
    witness.check_clean()
}

pub fn first_poll_of_a_thread(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let device = env.open()?;
        let result = shot.fire(|| device.poll(Duration::ZERO))?;
        check_result(shot, &result)?;
        works(&Session::new(&device))?;
        drop(device);
        witness.check_clean()
    })
}

/// A watch by epoll is there and tells, or is not there and can be added.
pub fn adding_to_an_epoll_set(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let device = env.open()?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let add = || epoll.add(&device, EpollEvent::new(EpollFlags::EPOLLIN, 7));
        let result = shot.fire(add)?;
        check_result(shot, &result)?;
        if result.is_err() {
            check_matches!(add(), Ok(()) | Err(Errno::EEXIST));
        }
        check_told(&epoll, &device)?;
        drop((epoll, device));
        witness.check_clean()
    })
}

/// A reply to a call must wake the epoll set.
fn check_told(epoll: &Epoll, device: &Arc<Device>) -> Result<(), Failure> {
    let session = Session::new(device);
    works(&session)?;
    let parcel = Parcel::from_bytes(*b"hello");
    let mut commands = Commands::new();
    commands.transaction(0, PING, 0, &parcel);
    session.write(&commands)?;
    let timeout = EpollTimeout::try_from(limits::wait())?;
    let count = epoll.wait(&mut [EpollEvent::empty()], timeout)?;
    check!(count == 1, "epoll tells of the reply");
    succeeds(&session)
}

/// Closing must not need anything that can fail: it cannot report it.
pub fn closing(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    count_failures(|shot| {
        let device = env.open()?;
        let session = Session::new(&device);
        let mut parcel = Parcel::new();
        parcel.binder(0x1000, 1).binder(0x2000, 2);
        let mut commands = Commands::new();
        commands.acquire(0).request_death(0, 1).transaction(0, KEEP, 0, &parcel);
        session.write(&commands)?;
        succeeds(&session)?;
        // Left unread.
        let mut commands = Commands::new();
        commands.transaction(0, PING, 0, &parcel);
        session.write(&commands)?;
        drop(session);
        shot.fire(|| drop(device))?;
        works(&Session::new(&env.open()?))?;
        witness.check_clean()
    })?;
    witness.check_empty()
}

/// A thread may leave with memory short; its file stays usable. Best is if nothing can fail.
pub fn leaving_of_a_thread(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    count_failures(|shot| {
        let session = env.session()?;
        let result = shot.fire(|| session.device().thread_exit())?;
        check_result(shot, &result)?;
        works(&session)?;
        drop(session);
        witness.check_clean()
    })
    .map(drop)
}
