// SPDX-License-Identifier: GPL-2.0
//! The close of a duplicate of the file lets readers return once, so that a
//! program can end its threads. Only the last close ends the party.

use std::sync::Arc;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check_eq, check_matches, limits, Errno};

use super::nonblocking;
use crate::core_support::*;

/// A thread that blocks in one read.
fn reader(device: &Arc<Device>) -> Worker<Vec<Return>> {
    let device = device.clone();
    Worker::start(move || {
        let session = Session::primed(&device)?;
        let outcome = session.write_read(&Commands::new(), READ_SIZE);
        outcome.result?;
        Ok(outcome.returns()?)
    })
}

pub fn closed_duplicate_wakes_a_reader_once(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    let (sender, returned) = std::sync::mpsc::channel();
    let twice = {
        let device = device.clone();
        Worker::start(move || {
            let session = Session::primed(&device)?;
            for _ in 0..2 {
                let outcome = session.write_read(&Commands::new(), READ_SIZE);
                check_eq!(outcome.returns()?, [Return::Noop]);
                sender.send(())?;
            }
            Ok(())
        })
    };
    twice.asleep()?;
    device.flush()?;
    returned.recv_timeout(limits::wait())?;
    // It waits again: two reads take two closes.
    twice.asleep()?;
    check_eq!(twice.ended(), false);
    device.flush()?;
    twice.join()
}

pub fn closed_duplicate_wakes_every_reader(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    let readers: Vec<_> = (0..3).map(|_| reader(&device)).collect();
    for reader in &readers {
        reader.asleep()?;
    }
    device.flush()?;
    for reader in readers {
        check_eq!(reader.join()?, [Return::Noop]);
    }
    Ok(())
}

pub fn closed_duplicate_lets_the_next_read_return(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    session.device().flush()?;
    // The driver may do it a moment later.
    until("a read returns without work", || {
        let outcome = session.write_read(&Commands::new(), READ_SIZE);
        match outcome.result {
            Err(Errno::EAGAIN) => Ok(false),
            result => {
                result?;
                check_eq!(outcome.returns()?, [Return::Noop]);
                Ok(true)
            }
        }
    })?;
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    check_eq!(outcome.result, Err(Errno::EAGAIN), "only once");
    Ok(())
}

pub fn closed_duplicate_makes_it_readable_once(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    session.device().flush()?;
    check_eq!(session.readable(limits::wait())?, true);
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    check_eq!(outcome.returns()?, [Return::Noop]);
    check_eq!(session.readable(limits::quiet())?, false);
    Ok(())
}

pub fn closed_duplicate_hides_no_work(env: &Env) -> Result<(), Failure> {
    let sender = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 5, TF_ONE_WAY)?;
        channel.signal()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    device.flush()?;
    until("it is readable", || Ok(session.readable(std::time::Duration::ZERO)?))?;
    sender.signal()?;
    sender.wait()?;
    let told = session.write_read(&Commands::new(), READ_SIZE).ok()?;
    check_matches!(told[..], [Return::Transaction(incoming)] if incoming.code == 5);
    sender.join()
}

pub fn closed_duplicate_lets_any_ioctl_return(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    session.device().flush()?;
    until("it is readable", || Ok(session.readable(std::time::Duration::ZERO)?))?;
    // That was the ioctl that returned; the next read finds nothing.
    session.device().extended_error()?;
    check_eq!(session.write_read(&Commands::new(), READ_SIZE).result, Err(Errno::EAGAIN));
    Ok(())
}

pub fn closed_duplicate_leaves_calls_alone(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()?;
        session.device().flush()?;
        reply(session)?;
        // The handle behind which this is stays what it is.
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    session.device().flush()?;
    server.signal()?;
    let (_, all) = session.next_reply(limits::wait())?;
    check_matches!(all[..], [Return::TransactionComplete, Return::Reply(_)]);
    call(&session, 0, 2)?;
    server.join()
}

pub fn last_close_ends_the_party(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        let duplicate = nix::unistd::dup(session.device().as_ref())?;
        channel.send(&true)?;
        drop(duplicate);
        channel.wait()?;
        reply(session)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.recv::<bool>()?;
    server.signal()?;
    finish_call(&session)?;
    server.join()?;
    // Now the last one is closed.
    until("calls find nobody", || {
        send(&session, 0, 2, 0)?;
        call_ends_dead(&session).map(|()| true)
    })
}
