// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-poll`.

use std::sync::Arc;
use std::time::Duration;

use binder_client::device::{Device, OpenAs};
use binder_client::ktap::{Env, Failure};
use binder_client::limits;
use binder_client::manager::become_manager;
use binder_client::session::Session;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

pub mod end;
pub mod flush;
pub mod ready;
pub mod wake;

/// Opens with `O_NONBLOCK`.
fn open_nonblocking(env: &Env) -> Result<Arc<Device>, Failure> {
    let options = OpenAs { nonblock: true, ..Default::default() };
    Ok(Device::open_with(&env.device, options)?)
}

/// A session whose reads do not wait, as programs around epoll have it.
fn nonblocking(env: &Env) -> Result<Session, Failure> {
    Ok(Session::primed(&open_nonblocking(env)?)?)
}

/// A manager in this process whose reads do not wait.
fn managing(env: &Env) -> Result<Session, Failure> {
    let device = open_nonblocking(env)?;
    become_manager(&device)?;
    Ok(Session::primed(&device)?)
}

/// An epoll set with the device in it. The calling thread is the one for which
/// the driver answers and wakes.
fn epoll(device: &Device, flags: EpollFlags) -> Result<Epoll, Failure> {
    let set = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    set.add(device, EpollEvent::new(flags | EpollFlags::EPOLLIN, 1))?;
    Ok(set)
}

/// Events of the device in `set` within `time`.
fn events(set: &Epoll, time: Duration) -> Result<EpollFlags, Failure> {
    let mut events = [EpollEvent::empty(); 2];
    let timeout = EpollTimeout::try_from(time).unwrap_or(EpollTimeout::MAX);
    let count = set.wait(&mut events, timeout)?;
    Ok(events[..count].iter().fold(EpollFlags::empty(), |all, event| all | event.events()))
}

/// True if the device is readable in `set` within the time for what must come.
fn told(set: &Epoll) -> Result<bool, Failure> {
    Ok(events(set, limits::wait())?.contains(EpollFlags::EPOLLIN))
}

/// True if the device is readable in `set` now.
fn told_now(set: &Epoll) -> Result<bool, Failure> {
    Ok(events(set, Duration::ZERO)?.contains(EpollFlags::EPOLLIN))
}
