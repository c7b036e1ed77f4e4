// SPDX-License-Identifier: GPL-2.0
//! Chains of calls whose links all live.

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check_eq, check_matches, limits, Errno};

use super::circle;
use crate::stage::worker::Worker;
use crate::stage::{
    failed_with, gets_nothing, pending, refusal, refused, reply, send, take, Node, Stage,
};

/// A circle of `count`: the last calls the first back, and only the thread of
/// the first that waits gets it.
fn call_around(env: &Env, count: usize) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, count)?;
    let other = Worker::spawn()?;
    for n in 1..count {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    send(&actors[count - 1], handles[0], 0, 0, &Parcel::new())?;
    let first = actors[0].clone();
    check_eq!(other.run(move || pending(&first))?, [], "the first one's other thread");
    let back = take(&actors[0])?;
    check_eq!(back.incoming().ptr, 0x100);
    back.free()?;
    // The answers: the callback's first, then the calls' from the last to the first.
    for n in (0..count).rev() {
        let server = (n + 1) % count;
        reply(&actors[server], 0, &Parcel::from_bytes([n as u8]))?;
        let (answer, _) = actors[n].next_reply(limits::wait())?;
        check_eq!(answer.data(), [n as u8], "reply to actor {n}");
    }
    for actor in &actors {
        check_matches!(pending(actor)?[..], [] | [Return::TransactionComplete]);
    }
    Ok(())
}

pub fn callback_reaches_the_waiting_thread(env: &Env) -> Result<(), Failure> {
    call_around(env, 2)
}

pub fn callback_through_two_processes_reaches_the_waiting_thread(env: &Env) -> Result<(), Failure> {
    call_around(env, 3)
}

pub fn callback_through_three_processes_reaches_the_waiting_thread(
    env: &Env,
) -> Result<(), Failure> {
    call_around(env, 4)
}

pub fn call_of_a_thread_outside_the_chain_goes_to_the_process(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    let (outside, other) = (Worker::spawn()?, Worker::spawn()?);
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    let _request = take(&actors[1])?;
    let (server, back) = (actors[1].clone(), handles[0]);
    outside.run(move || send(&server, back, 2, 0, &Parcel::new()))?;
    gets_nothing(&actors[0])?;
    let first = actors[0].clone();
    other.run(move || {
        check_eq!(take(&first)?.incoming().code, 2);
        reply(&first, 0, &Parcel::new())
    })?;
    let server = actors[1].clone();
    outside.run(move || Ok(server.next_reply(limits::wait())?.0.free()?))?;
    reply(&actors[1], 0, &Parcel::new())?;
    actors[0].next_reply(limits::wait())?;
    Ok(())
}

pub fn middle_of_the_chain_is_called_back_too(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 3)?;
    let back = stage.introduce(&actors[1], &actors[2], Node::new(0x999, 0))?;
    for n in 1..3 {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    send(&actors[2], back, 9, 0, &Parcel::new())?;
    let other = Worker::spawn()?;
    let middle = actors[1].clone();
    check_eq!(other.run(move || pending(&middle))?, [], "the middle's other thread");
    check_eq!(take(&actors[1])?.incoming().ptr, 0x999);
    reply(&actors[1], 0, &Parcel::from_bytes(*b"to 2"))?;
    check_eq!(actors[2].next_reply(limits::wait())?.0.data(), b"to 2");
    reply(&actors[2], 0, &Parcel::from_bytes(*b"to 1"))?;
    check_eq!(actors[1].next_reply(limits::wait())?.0.data(), b"to 1");
    reply(&actors[1], 0, &Parcel::from_bytes(*b"to 0"))?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"to 0");
    Ok(())
}

pub fn fifty_calls_nest_and_unwind_in_order(env: &Env) -> Result<(), Failure> {
    const DEPTH: usize = 50;
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    for depth in 0..DEPTH {
        let (caller, callee) = (depth % 2, (depth + 1) % 2);
        send(&actors[caller], handles[callee], depth as u32, 0, &Parcel::new())?;
        let request = take(&actors[callee])?;
        check_eq!(request.incoming().code, depth as u32);
        request.free()?;
    }
    for depth in (0..DEPTH).rev() {
        let (caller, callee) = (depth % 2, (depth + 1) % 2);
        reply(&actors[callee], 0, &Parcel::from_bytes([depth as u8]))?;
        let (answer, _) = actors[caller].next_reply(limits::wait())?;
        check_eq!(answer.data(), [depth as u8]);
        answer.free()?;
    }
    for actor in &actors {
        pending(actor)?;
        reply(actor, 0, &Parcel::new())?;
        failed_with(refusal(actor)?, Errno::EPROTO)?;
    }
    Ok(())
}

pub fn reply_answers_the_innermost_request(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    send(&actors[1], handles[0], 2, 0, &Parcel::new())?;
    take(&actors[0])?.free()?;
    reply(&actors[0], 0, &Parcel::from_bytes(*b"inner"))?;
    check_eq!(pending(&actors[0])?.last(), Some(&Return::TransactionComplete));
    check_eq!(actors[1].next_reply(limits::wait())?.0.data(), b"inner");
    // The first has nothing left to answer: it waits again.
    reply(&actors[0], 0, &Parcel::new())?;
    failed_with(refusal(&actors[0])?, Errno::EPROTO)?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"outer"))?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"outer");
    Ok(())
}

pub fn outer_reply_has_to_wait_for_the_nested_one(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    send(&actors[1], handles[0], 2, 0, &Parcel::new())?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"too early"))?;
    let returns = pending(&actors[1])?;
    check_eq!(returns.last(), Some(&Return::FailedReply));
    check_eq!(actors[1].device().extended_error()?.param, -(Errno::EPROTO as i32));
    take(&actors[0])?.free()?;
    reply(&actors[0], 0, &Parcel::new())?;
    actors[1].next_reply(limits::wait())?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"now"))?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"now");
    Ok(())
}

pub fn nested_oneway_call_does_not_go_to_the_waiting_thread(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    send(&actors[1], handles[0], 2, TF_ONE_WAY, &Parcel::new())?;
    gets_nothing(&actors[0])?;
    reply(&actors[1], 0, &Parcel::new())?;
    actors[0].next_reply(limits::wait())?;
    check_eq!(take(&actors[0])?.incoming().code, 2, "after the reply it takes it");
    Ok(())
}

pub fn waiting_thread_takes_no_work_of_its_process(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    let third = stage.actor()?;
    let to_first = stage.introduce(&actors[0], &third, Node::new(0x500, 0))?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    send(&third, to_first, 3, 0, &Parcel::new())?;
    gets_nothing(&actors[0])?;
    take(&actors[1])?.free()?;
    reply(&actors[1], 0, &Parcel::new())?;
    actors[0].next_reply(limits::wait())?;
    check_eq!(take(&actors[0])?.incoming().code, 3);
    reply(&actors[0], 0, &Parcel::new())?;
    third.next_reply(limits::wait())?;
    Ok(())
}

pub fn nested_call_fails_and_the_outer_one_goes_on(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    failed_with(refused(&actors[1], 77, 0, &Parcel::new())?, Errno::EINVAL)?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"even so"))?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"even so");
    Ok(())
}
