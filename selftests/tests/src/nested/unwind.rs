// SPDX-License-Identifier: GPL-2.0
//! Chains that come apart in the middle: every outcome reaches the call it
//! belongs to, however the links go.

use std::time::Duration;

use binder_client::error::Error;
use binder_client::guard::GuardedBuffer;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Raw, ReadTarget, Session};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, check_eq, check_matches, limits, Errno};

use super::circle;
use crate::stage::{
    failed_with, gets_nothing, pending, pending_news, refused, reply, send, take, Stage,
};

/// A chain of calls along the circle, all requests read.
fn chain(stage: &Stage, count: usize) -> Result<(Vec<Session>, Vec<u32>), Failure> {
    let (actors, handles) = circle(stage, count)?;
    for n in 1..count {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    Ok((actors, handles))
}

/// Whether the outcome of a call that died is there. One driver tells it at
/// once, another when the calls behind it have ended.
fn told_of_death(session: &Session) -> Result<bool, Failure> {
    Ok(pending_news(session)?.contains(&Return::DeadReply))
}

/// Reads the outcome of a call that died.
fn dead(session: &Session) -> Result<(), Failure> {
    check_matches!(session.next_reply(limits::wait()), Err(Error::Dead(_)));
    Ok(())
}

/// Checks that the session can make a call.
fn can_call(stage: &Stage, session: &Session) -> Result<(), Failure> {
    check_eq!(stage.echo(session, b"can call")?, b"can call");
    Ok(())
}

pub fn reply_given_while_the_caller_serves_is_kept_for_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = chain(&stage, 3)?;
    send(&actors[2], handles[0], 0, 0, &Parcel::new())?;
    take(&actors[0])?.free()?;
    actors[2].device().thread_exit()?;
    let at_once = told_of_death(&actors[1])?;
    if at_once {
        reply(&actors[1], 0, &Parcel::from_bytes(*b"outer"))?;
        check_eq!(pending_news(&actors[1])?, [Return::TransactionComplete]);
        gets_nothing(&actors[0])?;
    }
    reply(&actors[0], 0, &Parcel::from_bytes(*b"nobody there"))?;
    if !at_once {
        dead(&actors[1])?;
        reply(&actors[1], 0, &Parcel::from_bytes(*b"outer"))?;
    }
    let (answer, told) = actors[0].next_reply(limits::wait())?;
    check_eq!(answer.data(), b"outer");
    let completions = told.iter().filter(|entry| **entry == Return::TransactionComplete);
    check!(completions.count() <= 2, "completions of the call and of the nested reply: {told:?}");
    can_call(&stage, &actors[0])
}

pub fn callback_after_the_middle_died_reaches_an_idle_thread(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = chain(&stage, 3)?;
    drop(actors.remove(1));
    // A caller that knows of the end does not wait for this chain any more.
    let at_once = told_of_death(&actors[0])?;
    send(&actors[1], handles[0], 9, 0, &Parcel::new())?;
    if at_once {
        can_call(&stage, &actors[0])?;
    }
    check_eq!(take(&actors[0])?.incoming().code, 9);
    reply(&actors[0], 0, &Parcel::from_bytes(*b"back"))?;
    check_eq!(actors[1].next_reply(limits::wait())?.0.data(), b"back");
    reply(&actors[1], 0, &Parcel::from_bytes(*b"nobody there"))?;
    if !at_once {
        dead(&actors[0])?;
    }
    pending_news(&actors[0])?;
    can_call(&stage, &actors[0])
}

pub fn end_of_the_middle_waits_for_an_unread_request(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = chain(&stage, 3)?;
    // The callback is in the queue of the first, unread, as the middle goes.
    send(&actors[2], handles[0], 9, 0, &Parcel::new())?;
    drop(actors.remove(1));
    check_eq!(take(&actors[0])?.incoming().code, 9);
    // A call made while serving it gets its own outcome.
    can_call(&stage, &actors[0])?;
    reply(&actors[0], 0, &Parcel::from_bytes(*b"back"))?;
    check_eq!(actors[1].next_reply(limits::wait())?.0.data(), b"back");
    reply(&actors[1], 0, &Parcel::from_bytes(*b"nobody there"))?;
    dead(&actors[0])?;
    check_eq!(pending_news(&actors[0])?, [], "what follows the BR_DEAD_REPLY");
    can_call(&stage, &actors[0])
}

pub fn failed_delivery_of_a_callback_lets_the_outcome_through(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = chain(&stage, 3)?;
    send(&actors[2], handles[0], 9, 0, &Parcel::new())?;
    drop(actors.remove(1));
    // The callback cannot be delivered: nothing stands above the dead call then.
    let mut room = GuardedBuffer::new(8)?;
    let raw = Raw::new(&[], ReadTarget::Guarded(&mut room, 4096));
    check_eq!(actors[0].write_read_raw(raw).result, Err(Errno::EFAULT));
    check_matches!(actors[1].next_reply(limits::wait()), Err(Error::Failed(_)));
    reply(&actors[1], 0, &Parcel::from_bytes(*b"nobody there"))?;
    dead(&actors[0])?;
    pending(&actors[0])?;
    can_call(&stage, &actors[0])
}

pub fn failure_is_told_before_what_comes_after_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = chain(&stage, 2)?;
    // One call at a time: the second fails, and is told in its place.
    send(&actors[0], handles[1], 2, 0, &Parcel::new())?;
    send(&actors[1], handles[0], 9, 0, &Parcel::new())?;
    let told = pending_news(&actors[0])?;
    check_matches!(
        told[..],
        [Return::TransactionComplete, Return::FailedReply, Return::Transaction(incoming)]
            if incoming.code == 9
    );
    reply(&actors[0], 0, &Parcel::new())?;
    check_eq!(pending_news(&actors[0])?, [Return::TransactionComplete]);
    send(&actors[0], handles[1], 3, 0, &Parcel::new())?;
    drop(actors.pop());
    let told = actors[0].read_until(limits::wait(), |entry| *entry == Return::DeadReply)?;
    let failures = told.iter().filter(|entry| **entry != Return::TransactionComplete);
    let failures: Vec<_> = failures.copied().collect();
    check_matches!(failures[..], [Return::FailedReply, .., Return::DeadReply]);
    can_call(&stage, &actors[0])
}

pub fn outcome_is_read_before_the_next_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = chain(&stage, 2)?;
    // The completion of the call is read with that of another message, at the latest.
    send(&actors[0], handles[1], 9, TF_ONE_WAY, &Parcel::new())?;
    pending(&actors[0])?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"first"))?;
    // Two outcomes in one queue could not be told apart.
    send(&actors[0], handles[1], 2, 0, &Parcel::new())?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"first");
    failed_with(
        (pending_news(&actors[0])?[0], actors[0].device().extended_error()?),
        Errno::EPROTO,
    )?;
    can_call(&stage, &actors[0])
}

pub fn nesting_beyond_a_thousand_calls_is_refused(env: &Env) -> Result<(), Failure> {
    const MOST: usize = 1500;
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    let mut depth = 0;
    while depth < MOST {
        let (caller, callee) = (&actors[depth % 2], &actors[(depth + 1) % 2]);
        let handle = handles[(depth + 1) % 2];
        send(caller, handle, depth as u32, 0, &Parcel::new())?;
        if !callee.readable(Duration::ZERO)? {
            break;
        }
        take(callee)?.free()?;
        depth += 1;
    }
    check!((1000..MOST).contains(&depth), "the depth {depth} of the chain is limited");
    let last = &actors[depth % 2];
    let returns = pending_news(last)?;
    check_eq!(returns.last(), Some(&Return::FailedReply), "in {returns:?}");
    failed_with(refused(last, handles[(depth + 1) % 2], 0, &Parcel::new())?, Errno::ENOMEM)?;
    for depth in (0..depth).rev() {
        reply(&actors[(depth + 1) % 2], 0, &Parcel::new())?;
        actors[depth % 2].next_reply(limits::wait())?.0.free()?;
    }
    pending(&actors[1])?;
    can_call(&stage, &actors[0])
}
