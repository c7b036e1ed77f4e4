// SPDX-License-Identifier: GPL-2.0
//! When the file is readable, and for which thread.

use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check_eq, check_matches, limits};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use std::os::fd::AsFd;

use super::{managing, nonblocking};
use crate::core_support::*;

pub fn idle_thread_is_not_readable(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    for _ in 0..3 {
        check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    }
    check_eq!(session.readable(limits::quiet())?, false);
    Ok(())
}

pub fn new_threads_first_poll_reports_nothing(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    check_eq!(device.poll(Duration::ZERO)?, PollFlags::empty());
    check_eq!(device.poll(Duration::ZERO)?, PollFlags::empty());
    Ok(())
}

pub fn it_is_never_writable(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let all = PollFlags::POLLOUT | PollFlags::POLLPRI | PollFlags::POLLIN;
    let mut fds = [PollFd::new(session.device().as_fd(), all)];
    check_eq!(poll(&mut fds, PollTimeout::ZERO)?, 0);
    Ok(())
}

pub fn process_work_makes_it_readable(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, TF_ONE_WAY)?;
        channel.signal()
    })?;
    let session = managing(env)?;
    client.signal()?;
    client.wait()?;
    check_eq!(session.device().poll(limits::wait())?, PollFlags::POLLIN);
    receive(&session)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    Ok(())
}

pub fn it_stays_readable_until_read(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 1, 0)?;
    for _ in 0..3 {
        check_eq!(session.device().poll(limits::wait())?, PollFlags::POLLIN);
    }
    session.read(limits::wait())?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    Ok(())
}

pub fn reply_makes_it_readable(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.wait()?;
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    server.signal()?;
    check_eq!(session.device().poll(limits::wait())?, PollFlags::POLLIN);
    let all = session.read(limits::wait())?;
    check_matches!(all[..], [Return::TransactionComplete, Return::Reply(_)]);
    server.join()
}

pub fn deferred_completion_does_not_make_it_readable(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    check_eq!(session.readable(limits::quiet())?, false);
    Ok(())
}

pub fn deferred_node_work_does_not_make_it_readable(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    check_eq!(session.readable(limits::quiet())?, false);
    Ok(())
}

pub fn failed_call_makes_it_readable(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 1, 0)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::POLLIN);
    Ok(())
}

pub fn oneway_completion_makes_it_readable(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    send(&session, 0, 1, TF_ONE_WAY)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::POLLIN);
    Ok(())
}

pub fn reply_completion_makes_it_readable(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        call(session, 0, 1)
    })?;
    let session = managing(env)?;
    client.signal()?;
    serve_one(&session)?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::POLLIN);
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    client.join()
}

pub fn readiness_is_of_the_polling_thread(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    send(&session, NO_HANDLE, 1, 0)?;
    let device = session.device().clone();
    let other = Worker::start(move || {
        let session = Session::primed(&device)?;
        Ok(session.device().poll(Duration::ZERO)?)
    });
    check_eq!(other.join()?, PollFlags::empty());
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::POLLIN);
    Ok(())
}

pub fn serving_thread_is_not_readable_for_other_work(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, 0)?;
        channel.wait()?;
        finish_call(session)
    })?;
    let other = crate::core_support::client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 2, TF_ONE_WAY)?;
        channel.signal()
    })?;
    let session = managing(env)?;
    client.signal()?;
    let request = receive(&session)?;
    other.signal()?;
    other.wait()?;
    check_eq!(session.device().poll(Duration::ZERO)?, PollFlags::empty());
    drop(request);
    reply(&session)?;
    client.signal()?;
    let all = session.read_until(limits::wait(), |e| matches!(e, Return::Transaction(_)))?;
    check_matches!(all[..], [Return::TransactionComplete, Return::Transaction(_)]);
    Ok(())
}

pub fn work_of_the_process_is_readable_for_every_idle_thread(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, TF_ONE_WAY)?;
        channel.signal()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    client.signal()?;
    client.wait()?;
    for _ in 0..2 {
        let device = device.clone();
        let other = Worker::start(move || {
            let session = Session::primed(&device)?;
            Ok(session.device().poll(limits::wait())?)
        });
        check_eq!(other.join()?, PollFlags::POLLIN);
    }
    Ok(())
}
