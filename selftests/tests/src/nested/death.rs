// SPDX-License-Identifier: GPL-2.0
//! Chains of calls with a link that dies.

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::{check_eq, check_matches, limits};

use super::circle;
use crate::stage::worker::Worker;
use crate::stage::{actor_on, gets_nothing, pending, pending_news, reply, send, take, Node, Stage};

/// Checks that a call ends with `BR_DEAD_REPLY`, and that nothing follows.
fn dead_once(session: &Session) -> Result<(), Failure> {
    check_matches!(session.next_reply(limits::wait()), Err(Error::Dead(_)));
    check_eq!(pending_news(session)?, [], "what follows the BR_DEAD_REPLY");
    Ok(())
}

/// Checks that the session can still make a call.
fn still_works(stage: &Stage, session: &Session) -> Result<(), Failure> {
    check_eq!(stage.echo(session, b"still works")?, b"still works");
    Ok(())
}

pub fn callback_after_the_callers_thread_is_gone_goes_to_the_process(
    env: &Env,
) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    let (first, to_second) = (actors[0].clone(), handles[1]);
    let caller = Worker::spawn()?;
    caller.run(move || {
        send(&first, to_second, 1, 0, &Parcel::new())?;
        Ok(first.device().thread_exit()?)
    })?;
    take(&actors[1])?.free()?;
    send(&actors[1], handles[0], 2, 0, &Parcel::new())?;
    check_eq!(take(&actors[0])?.incoming().code, 2);
    reply(&actors[0], 0, &Parcel::from_bytes(*b"from another thread"))?;
    let (answer, _) = actors[1].next_reply(limits::wait())?;
    check_eq!(answer.data(), b"from another thread");
    Ok(())
}

pub fn reply_to_a_thread_that_is_gone_is_discarded(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    actors[0].device().thread_exit()?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"nobody there"))?;
    check_eq!(pending(&actors[1])?, [Return::TransactionComplete]);
    let first = Session::primed(actors[0].device())?;
    check_eq!(pending(&first)?, [], "what the new thread gets");
    still_works(&stage, &first)
}

pub fn server_thread_that_exits_fails_its_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    actors[1].device().thread_exit()?;
    dead_once(&actors[0])?;
    still_works(&stage, &actors[0])
}

pub fn caller_that_serves_a_nested_call_learns_of_the_middles_end_afterwards(
    env: &Env,
) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = circle(&stage, 2)?;
    send(&actors[0], handles[1], 1, 0, &Parcel::new())?;
    take(&actors[1])?.free()?;
    send(&actors[1], handles[0], 2, 0, &Parcel::new())?;
    take(&actors[0])?.free()?;
    drop(actors.pop());
    // The middle is gone when it has let go of the node of the first. That is
    // news for another thread, as this one serves.
    let first = actors[0].clone();
    Worker::spawn()?.run(move || {
        let first = Session::primed(first.device())?;
        first.read_until(limits::wait(), |entry| matches!(entry, Return::Decrefs(_)))?;
        Ok(())
    })?;
    gets_nothing(&actors[0])?;
    reply(&actors[0], 0, &Parcel::from_bytes(*b"too late"))?;
    let mut returns = pending_news(&actors[0])?;
    returns.sort_by_key(|entry| entry.name());
    check_eq!(returns, [Return::DeadReply, Return::TransactionComplete]);
    still_works(&stage, &actors[0])
}

pub fn end_of_the_middle_fails_the_outer_call_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = circle(&stage, 3)?;
    for n in 1..3 {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    drop(actors.remove(1));
    reply(&actors[1], 0, &Parcel::from_bytes(*b"nobody there"))?;
    check_matches!(actors[1].read(limits::wait())?[..], [Return::TransactionComplete]);
    dead_once(&actors[0])?;
    still_works(&stage, &actors[0])?;
    still_works(&stage, &actors[1])
}

pub fn end_of_the_innermost_unwinds_one_level(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = circle(&stage, 3)?;
    for n in 1..3 {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    drop(actors.pop());
    dead_once(&actors[1])?;
    gets_nothing(&actors[0])?;
    reply(&actors[1], 0, &Parcel::from_bytes(*b"my own answer"))?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"my own answer");
    Ok(())
}

pub fn end_of_the_outer_caller_leaves_the_rest_working(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = circle(&stage, 3)?;
    for n in 1..3 {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    drop(actors.remove(0));
    reply(&actors[1], 0, &Parcel::from_bytes(*b"inner"))?;
    check_eq!(actors[0].next_reply(limits::wait())?.0.data(), b"inner");
    reply(&actors[0], 0, &Parcel::from_bytes(*b"nobody there"))?;
    check_eq!(pending_news(&actors[0])?, [Return::TransactionComplete]);
    still_works(&stage, &actors[0])?;
    still_works(&stage, &actors[1])
}

pub fn chain_with_two_dead_links_unwinds_to_the_caller(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (mut actors, handles) = circle(&stage, 4)?;
    for n in 1..4 {
        send(&actors[n - 1], handles[n], n as u32, 0, &Parcel::new())?;
        take(&actors[n])?.free()?;
    }
    drop(actors.remove(1));
    drop(actors.remove(1));
    reply(&actors[1], 0, &Parcel::new())?;
    check_matches!(actors[1].read(limits::wait())?[..], [Return::TransactionComplete]);
    dead_once(&actors[0])?;
    still_works(&stage, &actors[0])
}

pub fn killed_middle_process_fails_the_outer_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let last = stage.actor()?;
    let number = stage.publish(&last, Node::new(0x300, 0), Strength::Strong)?;
    let path = env.device.clone();
    let number_of_middle = number + 1000;
    let middle = Peer::spawn(|channel| {
        let middle = actor_on(&path, Some(1 << 16))?;
        let handle = stage.obtain(&middle, number)?;
        stage.publish_as(&middle, Node::new(0x200, 0), Strength::Strong, number_of_middle)?;
        channel.signal()?;
        take(&middle)?.free()?;
        send(&middle, handle, 2, 0, &Parcel::new())?;
        channel.signal()?;
        channel.wait()
    })?;
    middle.wait()?;
    let first = stage.actor()?;
    let handle = stage.obtain(&first, number_of_middle)?;
    send(&first, handle, 1, 0, &Parcel::new())?;
    middle.wait()?;
    take(&last)?.free()?;
    middle.kill()?;
    reply(&last, 0, &Parcel::new())?;
    check_matches!(last.read(limits::wait())?[..], [Return::TransactionComplete]);
    dead_once(&first)?;
    still_works(&stage, &first)
}
