// SPDX-License-Identifier: GPL-2.0
//! Which returns share a read, and in which order they come.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check_eq, check_matches, limits};

use super::{nonblocking, nothing_waits, open_nonblocking};
use crate::core_support::*;

pub fn completions_are_packed(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = nonblocking(env)?;
    for code in 0..5 {
        send(&session, 0, code, TF_ONE_WAY)?;
    }
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete; 5]);
    nothing_waits(&session)
}

pub fn request_ends_a_read(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        // One to the manager, whose reply names a second node of its own.
        send(session, 0, 1, 0)?;
        let (reply, _) = session.next_reply(limits::wait())?;
        send(session, reply.handle(0)?, 2, TF_ONE_WAY)?;
        send(session, 0, 3, TF_ONE_WAY)?;
        channel.signal()?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    client.signal()?;
    drop(receive(&session)?);
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    reply_with(&session, &parcel)?;
    client.wait()?;
    // Two oneway requests wait in the queue of the process: one a read.
    let (first, all) = session.next_transaction(limits::wait())?;
    check_matches!(all.last(), Some(Return::Transaction(_)));
    check_eq!(first.incoming().code, 2);
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    let all = outcome.ok()?;
    check_matches!(all[..], [Return::Transaction(incoming)] if incoming.code == 3);
    Ok(())
}

pub fn own_queue_comes_before_the_process_queue(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 7, TF_ONE_WAY)?;
        channel.signal()?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    client.signal()?;
    client.wait()?;
    // The request waits; a failure of one's own is told ahead of it. It ends
    // the search, so that the request is left for the next read.
    send(&session, NO_HANDLE, 1, 0)?;
    let first = session.write_read(&Commands::new(), READ_SIZE).ok()?;
    check_eq!(first[0], Return::FailedReply);
    let code = match first.get(1) {
        Some(Return::Transaction(incoming)) => incoming.code,
        _ => receive(&session)?.incoming().code,
    };
    check_eq!(code, 7);
    Ok(())
}

pub fn call_completes_with_its_reply(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()?;
        reply(session)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    // Only deferred so far: no reason to return.
    check_eq!(session.readable(limits::quiet())?, false);
    server.signal()?;
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    let all = outcome.returns()?;
    check_matches!(all[..], [Return::Noop, Return::TransactionComplete, Return::Reply(_)]);
    server.join()
}

pub fn reply_completes_at_once(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        call(session, 0, 1)
    })?;
    let device = open_nonblocking(env)?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    client.signal()?;
    let request = receive(&session)?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.free_buffer(request.into_address()).reply(0, &parcel);
    let outcome = session.write_read(&commands, READ_SIZE);
    check_eq!(outcome.returns()?, [Return::Noop, Return::TransactionComplete]);
    client.join()
}

pub fn node_work_comes_ahead_of_the_completion(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let mut commands = Commands::new();
    commands.transaction(0, 1, TF_ONE_WAY, &parcel);
    let outcome = session.write_read(&commands, READ_SIZE);
    let node = PtrCookie { ptr: 0x10, cookie: 0x20 };
    let expected =
        [Return::Noop, Return::Increfs(node), Return::Acquire(node), Return::TransactionComplete];
    check_eq!(outcome.returns()?, expected);
    Ok(())
}
