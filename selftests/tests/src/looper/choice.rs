// SPDX-License-Identifier: GPL-2.0
//! Which thread gets which work.

use std::sync::{Arc, Barrier};

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check_eq, check_matches, limits};

use super::{caller, managing};
use crate::core_support::*;

/// A thread that blocks in one read and returns the code of the request.
fn reader(device: &Arc<Device>) -> Worker<u32> {
    let device = device.clone();
    Worker::start(move || {
        let session = Session::primed(&device)?;
        let all = session.write_read(&Commands::new(), READ_SIZE).ok()?;
        match all.last() {
            Some(Return::Transaction(incoming)) => {
                drop(session.received(*incoming)?);
                if incoming.flags & TF_ONE_WAY == 0 {
                    reply(&session)?;
                }
                Ok(incoming.code)
            }
            other => Err(Failure::new("a read", "a request", format!("{other:?}"))),
        }
    })
}

pub fn unregistered_reader_gets_work(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    let only = reader(&device);
    only.asleep()?;
    caller.send(&(8u32, TF_ONE_WAY))?;
    check_eq!(only.join()?, 8);
    caller.wait()
}

pub fn unregistered_reader_gets_the_next_work_too(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let session = Session::primed(&managing(env)?)?;
    for code in 0..3 {
        caller.send(&(code, 0u32))?;
        check_eq!(serve_one(&session)?, code);
        caller.wait()?;
    }
    Ok(())
}

pub fn last_sleeper_is_served_first(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    let mut sleepers = Vec::new();
    for _ in 0..3 {
        let sleeper = reader(&device);
        sleeper.asleep()?;
        sleepers.push(sleeper);
    }
    for code in 0..3 {
        caller.send(&(code, 0u32))?;
        caller.wait()?;
        let last = sleepers.pop().expect("as many sleepers as calls");
        check_eq!(last.join()?, code, "the call that the last sleeper got");
    }
    Ok(())
}

pub fn each_thread_serves_one_call(env: &Env) -> Result<(), Failure> {
    const COUNT: usize = 3;
    let callers = (0..COUNT).map(|_| caller(env)).collect::<Result<Vec<_>, _>>()?;
    let device = managing(env)?;
    let all_serve = Arc::new(Barrier::new(COUNT));
    let threads: Vec<_> = (0..COUNT)
        .map(|_| {
            let (device, all_serve) = (device.clone(), all_serve.clone());
            Worker::start(move || {
                let session = Session::primed(&device)?;
                // A blocking read: poll wakes several threads for one request.
                let all = session.write_read(&Commands::new(), READ_SIZE).ok()?;
                check_matches!(all.last(), Some(Return::Transaction(_)));
                all_serve.wait();
                reply(&session)
            })
        })
        .collect();
    for (code, caller) in (0u32..).zip(&callers) {
        caller.send(&(code, 0u32))?;
    }
    for thread in threads {
        thread.join()?;
    }
    callers.iter().try_for_each(Peer::wait)
}

pub fn waiting_requests_come_in_order(env: &Env) -> Result<(), Failure> {
    let callers = (0..3).map(|_| caller(env)).collect::<Result<Vec<_>, _>>()?;
    let session = Session::primed(&managing(env)?)?;
    // A oneway call to one node is told complete when it is queued.
    for (code, caller) in (0u32..).zip(&callers) {
        caller.send(&(code, TF_ONE_WAY))?;
        caller.wait()?;
    }
    for code in 0..3 {
        check_eq!(receive(&session)?.incoming().code, code);
    }
    Ok(())
}

pub fn serving_thread_gets_no_other_request(env: &Env) -> Result<(), Failure> {
    let (first, second) = (caller(env)?, caller(env)?);
    let device = managing(env)?;
    let session = Session::primed(&device)?;
    first.send(&(1u32, 0u32))?;
    let request = receive(&session)?;
    second.send(&(2u32, TF_ONE_WAY))?;
    second.wait()?;
    check_eq!(session.readable(limits::quiet())?, false);
    // Another thread gets it.
    check_eq!(reader(&device).join()?, 2);
    drop(request);
    reply(&session)?;
    first.wait()
}

pub fn calling_thread_gets_no_other_request(env: &Env) -> Result<(), Failure> {
    let server = node_owner(env, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()?;
        reply(session)
    })?;
    let other = caller(env)?;
    let device = managing(env)?;
    let session = Session::primed(&device)?;
    let handle = take_node(&session, &server)?;
    send(&session, handle, 1, 0)?;
    server.wait()?;
    other.send(&(5u32, TF_ONE_WAY))?;
    other.wait()?;
    check_eq!(session.readable(limits::quiet())?, false);
    server.signal()?;
    let (_, all) = session.next_reply(limits::wait())?;
    check_matches!(all[..], [Return::TransactionComplete, Return::Reply(_)]);
    check_eq!(receive(&session)?.incoming().code, 5);
    Ok(())
}

/// A child that sends a node to the manager when told, then runs `body`.
fn node_owner(
    env: &Env,
    body: impl FnOnce(&Session, &binder_client::peer::Channel) -> Result<(), Failure>,
) -> Result<Peer, Failure> {
    client(&env.device, |session, channel| {
        channel.wait()?;
        let mut parcel = Parcel::new();
        parcel.binder(0x10, 0x20);
        let mut commands = Commands::new();
        commands.transaction(0, 1, TF_ONE_WAY, &parcel);
        session.write(&commands)?;
        let complete = |entry: &Return| *entry == Return::TransactionComplete;
        let all = session.read_until(limits::wait(), complete)?;
        for entry in all {
            binder_client::manager::answer_reference(session, entry)?;
        }
        body(session, channel)
    })
}

/// Lets a [`node_owner`] send its node and takes a handle to it.
fn take_node(session: &Session, owner: &Peer) -> Result<u32, Failure> {
    owner.signal()?;
    let request = receive(session)?;
    let handle = request.handle(0)?;
    let mut commands = Commands::new();
    commands.acquire(handle);
    session.write(&commands)?;
    Ok(handle)
}

pub fn nested_call_goes_to_the_waiting_thread(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        let request = receive(session)?;
        let handle = request.handle(0)?;
        call(session, handle, 2)?;
        reply(session)
    })?;
    let session = env.session()?;
    let idle = reader(session.device());
    idle.asleep()?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    let nested = receive(&session)?;
    check_eq!(nested.incoming().code, 2);
    check_eq!((nested.incoming().ptr, nested.incoming().cookie), (0x10, 0x20));
    check_eq!(idle.ended(), false);
    reply(&session)?;
    finish_call(&session)?;
    server.join()
}

pub fn nested_call_goes_through_two_processes(env: &Env) -> Result<(), Failure> {
    // This process calls the manager, which calls a third, which calls back.
    let third = client(&env.device, |session, channel| {
        channel.wait()?;
        let mut parcel = Parcel::new();
        parcel.binder(0x30, 0x40);
        let mut commands = Commands::new();
        commands.transaction(0, 1, 0, &parcel);
        session.write(&commands)?;
        finish_call(session)?;
        channel.signal()?;
        let request = receive(session)?;
        call(session, request.handle(0)?, 3)?;
        reply(session)
    })?;
    let server = manager(&env.device, |session, _| {
        let first = receive(session)?;
        let third = first.handle(0)?;
        let mut commands = Commands::new();
        commands.acquire(third);
        session.write(&commands)?;
        reply(session)?;
        let request = receive(session)?;
        let mut parcel = Parcel::new();
        parcel.handle(request.handle(0)?);
        let mut commands = Commands::new();
        commands.transaction(third, 2, 0, &parcel);
        session.write(&commands)?;
        finish_call(session)?;
        reply(session)
    })?;
    third.signal()?;
    third.wait()?;
    let session = env.session()?;
    let idle = reader(session.device());
    idle.asleep()?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    check_eq!(serve_one(&session)?, 3);
    finish_call(&session)?;
    check_eq!(idle.ended(), false);
    server.join()?;
    third.join()
}

pub fn nested_oneway_call_goes_to_any_thread(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        let request = receive(session)?;
        send(session, request.handle(0)?, 6, TF_ONE_WAY)?;
        let complete = |entry: &Return| *entry == Return::TransactionComplete;
        session.read_until(limits::wait(), complete)?;
        reply(session)
    })?;
    let session = env.session()?;
    let idle = reader(session.device());
    idle.asleep()?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    finish_call(&session)?;
    check_eq!(idle.join()?, 6);
    server.join()
}

pub fn reply_of_another_thread_is_refused(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    let session = Session::primed(&device)?;
    caller.send(&(1u32, 0u32))?;
    let _request = receive(&session)?;
    let other = device.clone();
    let error = Worker::start(move || {
        let session = Session::primed(&other)?;
        reply(&session)?;
        call_failure(&session)
    });
    check_eq!(error.join()?.command, BR_FAILED_REPLY);
    reply(&session)?;
    caller.wait()
}

pub fn calls_of_two_threads_are_independent(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let device = session.device().clone();
        let serve = move || {
            let session = Session::primed(&device)?;
            let all = session.write_read(&Commands::new(), READ_SIZE).ok()?;
            let Some(Return::Transaction(incoming)) = all.last().copied() else {
                return Err(Failure::new("a read", "a request", format!("{all:?}")));
            };
            let request = session.received(incoming)?;
            reply_with(&session, &Parcel::from_bytes(request.data()))
        };
        let threads = [Worker::start(serve.clone()), Worker::start(serve)];
        for thread in threads {
            thread.join()?;
        }
        channel.signal()
    })?;
    let session = env.session()?;
    let device = session.device().clone();
    let threads: Vec<_> = (0u8..2)
        .map(|number| {
            let device = device.clone();
            Worker::start(move || {
                let session = Session::primed(&device)?;
                let parcel = Parcel::from_bytes([number; 5]);
                let mut commands = Commands::new();
                commands.transaction(0, 1, 0, &parcel);
                session.write(&commands)?;
                Ok(session.next_reply(limits::wait())?.0.data())
            })
        })
        .collect();
    for (number, thread) in (0u8..).zip(threads) {
        let data = thread.join()?;
        check_eq!(data, [number; 5], "the reply of thread {number}");
    }
    server.wait()
}
