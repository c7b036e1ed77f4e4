// SPDX-License-Identifier: GPL-2.0
//! A thread leaves (`BINDER_THREAD_EXIT`) while others have to do with it.

use std::sync::Arc;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check, check_eq, limits};

use super::{node, send_parcel, NODE};
use crate::core_support::*;

pub fn exit_while_serving_is_a_dead_reply(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        session.device().thread_exit()?;
        channel.signal()?;
        // The same kernel thread is a new one to the driver, and serves again.
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    call_ends_dead(&session)?;
    call(&session, 0, 2)?;
    server.join()
}

pub fn exit_while_calling_lets_the_server_complete(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()?;
        reply(session)?;
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    session.device().thread_exit()?;
    server.signal()?;
    // No late reply disturbs the next call.
    call(&session, 0, 2)?;
    server.join()
}

pub fn exit_with_a_call_in_both_directions(env: &Env) -> Result<(), Failure> {
    // This thread calls the manager, which calls back; it leaves while it
    // serves that.
    let server = manager(&env.device, |session, channel| {
        let request = receive(session)?;
        send(session, request.handle(0)?, 2, 0)?;
        call_ends_dead(session)?;
        reply(session)?;
        let complete = |entry: &Return| *entry == Return::TransactionComplete;
        session.read_until(limits::wait(), complete)?;
        channel.signal()?;
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    send_parcel(&session, 0, &node(), 0)?;
    let nested = receive(&session)?;
    check_eq!(nested.incoming().code, 2);
    session.device().thread_exit()?;
    server.wait()?;
    call(&session, 0, 3)?;
    server.join()
}

/// A manager whose sleeping thread is picked for a request that it does not
/// read, because it has no room; then it leaves.
fn leave_without_reading(session: &Session) -> Result<(), Failure> {
    let outcome = session.write_read(&Commands::new(), 8);
    check_eq!(outcome.returns()?, [Return::Noop]);
    Ok(session.device().thread_exit()?)
}

pub fn exit_with_an_unread_request_is_a_dead_reply(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.signal()?;
        leave_without_reading(session)?;
        serve_one(session).map(drop)
    })?;
    server.wait()?;
    asleep_in_ioctl(server.pid(), server.pid())?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    call_ends_dead(&session)?;
    call(&session, 0, 2)?;
    server.join()
}

pub fn exit_with_an_unread_reply_frees_it(env: &Env) -> Result<(), Failure> {
    const SIZE: usize = 600 << 10;
    // Two such replies do not fit into the mapping of a megabyte.
    let server = manager(&env.device, |session, channel| {
        let parcel = binder_client::parcel::Parcel::from_bytes(vec![1u8; SIZE]);
        for _ in 0..3 {
            receive(session)?;
            reply_with(session, &parcel)?;
            channel.signal()?;
        }
        channel.wait()
    })?;
    let session = env.session()?;
    for _ in 0..2 {
        send(&session, 0, 1, 0)?;
        server.wait()?;
        session.device().thread_exit()?;
    }
    send(&session, 0, 1, 0)?;
    let (reply, _) = session.next_reply(limits::wait())?;
    check_eq!(reply.incoming().data_size, SIZE as u64);
    Ok(())
}

pub fn exit_with_an_unread_oneway_call_lets_the_next_come(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.signal()?;
        leave_without_reading(session)?;
        channel.signal()?;
        // The first one is lost with its thread. The next one is not.
        check_eq!(receive(session)?.incoming().code, 2);
        Ok(())
    })?;
    server.wait()?;
    asleep_in_ioctl(server.pid(), server.pid())?;
    let session = env.session()?;
    send(&session, 0, 1, TF_ONE_WAY)?;
    server.wait()?;
    send(&session, 0, 2, TF_ONE_WAY)?;
    server.join()
}

pub fn exit_keeps_buffers_of_the_process(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        let request = receive(session)?;
        session.device().thread_exit()?;
        check_eq!(request.data(), b"still there");
        // Freed by what is a new thread; then the next oneway call comes.
        request.free()?;
        check_eq!(receive(session)?.incoming().code, 2);
        Ok(())
    })?;
    let session = env.session()?;
    let parcel = binder_client::parcel::Parcel::from_bytes(*b"still there");
    send_parcel(&session, 0, &parcel, TF_ONE_WAY)?;
    send(&session, 0, 2, TF_ONE_WAY)?;
    server.join()
}

pub fn exit_keeps_reference_work_of_the_process(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.wait()
    })?;
    let session = env.session()?;
    send_parcel(&session, 0, &node(), TF_ONE_WAY)?;
    session.device().thread_exit()?;
    session.device().extended_error()?;
    let acquire = |entry: &Return| *entry == Return::Acquire(NODE);
    let all = session.read_until(limits::wait(), acquire)?;
    check!(all.contains(&Return::Increfs(NODE)), "also the weak one: {all:?}");
    server.signal()?;
    server.join()
}

pub fn exit_drops_unread_failures(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 1, 0)?;
    session.device().thread_exit()?;
    check_eq!(session.device().extended_error()?.command, BR_OK);
    check_eq!(session.readable(limits::quiet())?, false);
    // And writing goes on.
    let mut commands = Commands::new();
    commands.enter_looper();
    Ok(session.write(&commands)?)
}

/// A thread that blocks in one read.
fn reader(device: &Arc<Device>) -> Worker<Vec<Return>> {
    let device = device.clone();
    Worker::start(move || {
        let session = Session::primed(&device)?;
        Ok(session.write_read(&Commands::new(), READ_SIZE).ok()?)
    })
}

pub fn ended_kernel_thread_is_no_exit(env: &Env) -> Result<(), Failure> {
    // A thread that ends without the ioctl stays known, and hurts nobody.
    let caller = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, TF_ONE_WAY)?;
        channel.wait()?;
        call(session, 0, 2)
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let ended = reader(&device);
    ended.asleep()?;
    caller.signal()?;
    let all = ended.join()?;
    if let Some(Return::Transaction(incoming)) = all.last() {
        drop(Session::new(&device).received(*incoming)?);
    }
    caller.signal()?;
    let session = Session::primed(&device)?;
    check_eq!(serve_one(&session)?, 2);
    caller.join()
}

pub fn call_of_an_ended_kernel_thread_fails_when_others_come(env: &Env) -> Result<(), Failure> {
    const OTHERS: usize = 256;
    let caller = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, 0)?;
        call_ends_dead(session)
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let ended = reader(&device);
    ended.asleep()?;
    caller.signal()?;
    ended.join()?;
    // The driver is not told when a thread ends, so it looks once in a while.
    for _ in 0..OTHERS {
        let device = device.clone();
        Worker::start(move || Ok(device.extended_error()?)).join()?;
    }
    caller.join()
}
