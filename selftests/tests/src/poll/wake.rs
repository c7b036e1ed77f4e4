// SPDX-License-Identifier: GPL-2.0
//! Who is woken. The sets are edge-triggered where the question is whether a
//! wake-up comes: a level-triggered set would find the work by looking.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check, check_eq, limits, wait_for_signal, Errno};
use nix::libc;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::epoll::EpollFlags;
use nix::sys::signal::{kill, SigSet, Signal};
use nix::unistd::{pipe, Pid};

use super::{epoll, managing, nonblocking, told, told_now};
use crate::core_support::*;
use crate::stage::{self, Node, Stage};

const EDGE: EpollFlags = EpollFlags::EPOLLET;

/// A child that sends a transaction to the manager each time it is told.
fn sender(env: &Env, flags: u32) -> Result<Peer, Failure> {
    client(&env.device, move |session, channel| loop {
        channel.wait()?;
        send(session, 0, 1, flags)?;
        channel.signal()?;
        if flags & TF_ONE_WAY == 0 {
            finish_call(session)?;
            channel.signal()?;
        }
    })
}

pub fn process_work_wakes_poll(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let device = session.device().clone();
    let poller = Worker::start(move || Ok(Session::primed(&device)?.readable(limits::wait())?));
    poller.asleep_in(&[libc::SYS_poll])?;
    sender.signal()?;
    check_eq!(poller.join()?, true);
    Ok(())
}

pub fn process_work_wakes_epoll(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let set = epoll(session.device(), EDGE)?;
    check_eq!(told_now(&set)?, false);
    sender.signal()?;
    check_eq!(told(&set)?, true);
    receive(&session)?;
    check_eq!(told_now(&set)?, false);
    Ok(())
}

pub fn reply_wakes_the_calling_threads_epoll(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.wait()?;
        serve_one(session).map(drop)
    })?;
    let session = nonblocking(env)?;
    let set = epoll(session.device(), EDGE)?;
    send(&session, 0, 1, 0)?;
    server.signal()?;
    check_eq!(told(&set)?, true);
    finish_call(&session)?;
    server.join()
}

pub fn own_failure_wakes_own_epoll(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    let set = epoll(session.device(), EDGE)?;
    check_eq!(told_now(&set)?, false);
    for _ in 0..3 {
        send(&session, NO_HANDLE, 1, 0)?;
        check_eq!(told(&set)?, true);
        check_eq!(session.read(limits::wait())?, [Return::FailedReply]);
    }
    Ok(())
}

pub fn own_oneway_completion_wakes_own_epoll(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = nonblocking(env)?;
    let set = epoll(session.device(), EDGE)?;
    check_eq!(told_now(&set)?, false);
    send(&session, 0, 1, TF_ONE_WAY)?;
    check_eq!(told(&set)?, true);
    Ok(())
}

pub fn own_reply_completion_wakes_own_epoll(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, 0)?;
    let session = managing(env)?;
    let set = epoll(session.device(), EDGE)?;
    sender.signal()?;
    check_eq!(told(&set)?, true);
    let request = receive(&session)?;
    check_eq!(told_now(&set)?, false);
    let parcel = Default::default();
    let mut commands = Commands::new();
    commands.free_buffer(request.into_address()).reply(0, &parcel);
    session.write(&commands)?;
    check_eq!(told(&set)?, true);
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    Ok(())
}

pub fn dead_reply_wakes_epoll(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()
    })?;
    let session = nonblocking(env)?;
    let set = epoll(session.device(), EDGE)?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    check_eq!(told_now(&set)?, false);
    server.kill()?;
    check_eq!(told(&set)?, true);
    call_ends_dead(&session)
}

pub fn edge_comes_for_each_work(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let set = epoll(session.device(), EDGE)?;
    for _ in 0..5 {
        sender.signal()?;
        check_eq!(told(&set)?, true);
        receive(&session)?;
        sender.wait()?;
    }
    Ok(())
}

pub fn every_epoll_set_is_told(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let sets = [EDGE, EDGE, EpollFlags::empty()].map(|flags| epoll(session.device(), flags));
    sender.signal()?;
    for set in sets {
        check_eq!(told(&set?)?, true);
    }
    Ok(())
}

pub fn exclusive_set_is_told(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let plain = epoll(session.device(), EDGE)?;
    let exclusive = epoll(session.device(), EDGE | EpollFlags::EPOLLEXCLUSIVE)?;
    sender.signal()?;
    check_eq!(told(&exclusive)?, true);
    check_eq!(told(&plain)?, true);
    Ok(())
}

pub fn one_poller_gets_the_work(env: &Env) -> Result<(), Failure> {
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let (over, end) = pipe()?;
    let over = Arc::new(over);
    let taken = Arc::new(AtomicUsize::new(0));
    let pollers: Vec<_> = (0..2)
        .map(|_| {
            let (device, over, taken) = (session.device().clone(), over.clone(), taken.clone());
            Worker::start(move || poll_until_over(&Session::primed(&device)?, &over, &taken))
        })
        .collect();
    for poller in &pollers {
        poller.asleep_in(&[libc::SYS_poll])?;
    }
    sender.signal()?;
    until("a poller has the request", || Ok(taken.load(Ordering::Relaxed) > 0))?;
    drop(end);
    for poller in pollers {
        poller.join()?;
    }
    check_eq!(taken.load(Ordering::Relaxed), 1, "requests that the pollers got");
    Ok(())
}

/// Reads whenever the device is readable, until the other end of `over` is closed.
/// The poller that is too late for a request goes on to wait.
fn poll_until_over(session: &Session, over: &OwnedFd, taken: &AtomicUsize) -> Result<(), Failure> {
    let limit = PollTimeout::try_from(limits::wait())?;
    loop {
        let mut files = [
            PollFd::new(session.device().as_fd(), PollFlags::POLLIN),
            PollFd::new(over.as_fd(), PollFlags::POLLIN),
        ];
        check!(poll(&mut files, limit)? > 0, "the request comes, or the end");
        let [readable, ended] = files.map(|file| file.any() == Some(true));
        if readable {
            let outcome = session.write_read(&Commands::new(), READ_SIZE);
            if outcome.result != Err(Errno::EAGAIN) {
                taken.fetch_add(outcome.ok()?.len(), Ordering::Relaxed);
            }
        } else if ended {
            return Ok(());
        }
    }
}

pub fn poller_wakes_though_a_reader_takes_the_work(env: &Env) -> Result<(), Failure> {
    // Whether the poller is woken for the first request is open; it must be
    // for the second, when nobody else is there.
    let sender = sender(env, TF_ONE_WAY)?;
    let session = managing(env)?;
    let device = session.device().clone();
    let poller = Worker::start(move || {
        let session = Session::primed(&device)?;
        let mut got = Vec::new();
        while got.is_empty() {
            check!(session.readable(limits::wait())?, "the second request comes");
            let outcome = session.write_read(&Commands::new(), READ_SIZE);
            if outcome.result != Err(Errno::EAGAIN) {
                got = outcome.ok()?;
            }
        }
        Ok(got.len())
    });
    poller.asleep_in(&[libc::SYS_poll])?;
    sender.signal()?;
    sender.wait()?;
    // The poller may be faster; then this thread takes the second one.
    let first = session.write_read(&Commands::new(), READ_SIZE);
    sender.signal()?;
    sender.wait()?;
    if let Ok([Return::Transaction(incoming)]) = first.ok().as_deref() {
        drop(session.received(*incoming)?);
    }
    check_eq!(poller.join()?, 1);
    Ok(())
}

pub fn edge_comes_again_while_work_is_left(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handles = [0x100, 0x200].map(|ptr| stage.introduce(&server, &client, Node::new(ptr, 0)));
    let set = epoll(server.device(), EDGE)?;
    for handle in handles {
        stage::send(&client, handle?, 1, TF_ONE_WAY, &Parcel::new())?;
    }
    check_eq!(told(&set)?, true);
    check_eq!(told_now(&set)?, false);
    // One read takes one message; nothing new comes, but there is more.
    stage::take(&server)?.free()?;
    check_eq!(told_now(&set)?, true, "one message is left");
    stage::take(&server)?.free()?;
    check_eq!(told_now(&set)?, false, "none is left");
    Ok(())
}

pub fn reply_does_not_disturb_another_wait_of_the_thread(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let request = receive(session)?;
        channel.wait()?;
        reply(session)?;
        drop(request);
        channel.signal()
    })?;
    let device = nonblocking(env)?.device().clone();
    // Inherited by the threads of this process, so that it is blocked in all.
    let signal = Signal::SIGUSR2;
    SigSet::from(signal).thread_block()?;
    let waiter = Worker::start(move || {
        let session = Session::primed(&device)?;
        send(&session, 0, 1, 0)?;
        check_eq!(session.readable(Duration::ZERO)?, false);
        let seen = wait_for_signal(signal, limits::wait());
        finish_call(&session)?;
        Ok(seen)
    });
    waiter.asleep_in(&[libc::SYS_rt_sigtimedwait])?;
    server.signal()?;
    server.wait()?;
    kill(Pid::this(), signal)?;
    check_eq!(waiter.join()?, Ok(()), "the wait of a thread that has polled");
    server.join()
}
