// SPDX-License-Identifier: GPL-2.0
//! When the driver asks for one more thread (`BR_SPAWN_LOOPER`).

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::peer::Peer;
use binder_client::returns::{Return, Returns};
use binder_client::session::{Raw, ReadTarget, Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check_eq, check_matches};

use super::{caller, looper, managing, served_and_asked};
use crate::core_support::*;

/// A manager that has entered as a looper, with `max` threads, and a caller.
fn looping(env: &Env, max: u32) -> Result<(Session, Peer), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    device.set_max_threads(max)?;
    let session = Session::primed(&device)?;
    looper(&session, BC_ENTER_LOOPER)?;
    Ok((session, caller))
}

/// What the reads of `rounds` calls say.
fn asked(session: &Session, caller: &Peer, rounds: u32) -> Result<Vec<bool>, Failure> {
    (0..rounds).map(|code| served_and_asked(session, caller, code)).collect()
}

/// Another thread of the pool: registers and ends.
fn register_another(session: &Session) -> Result<(), Failure> {
    let device = session.device().clone();
    Worker::start(move || looper(&Session::new(&device), BC_REGISTER_LOOPER)).join()
}

pub fn nothing_is_asked_with_no_threads_allowed(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 0)?;
    check_eq!(asked(&session, &caller, 3)?, [false; 3]);
    Ok(())
}

pub fn looper_is_asked_for_a_thread(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 1)?;
    caller.send(&(1u32, 0u32))?;
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    let all = outcome.returns()?;
    check_matches!(all[..], [Return::SpawnLooper, Return::Transaction(_)]);
    reply(&session)?;
    caller.wait()
}

pub fn one_request_at_a_time(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 5)?;
    check_eq!(asked(&session, &caller, 4)?, [true, false, false, false]);
    Ok(())
}

pub fn number_of_threads_is_kept(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 1)?;
    check_eq!(asked(&session, &caller, 1)?, [true]);
    register_another(&session)?;
    check_eq!(asked(&session, &caller, 3)?, [false; 3]);
    Ok(())
}

pub fn registered_thread_asks_for_the_next(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 2)?;
    check_eq!(asked(&session, &caller, 2)?, [true, false]);
    register_another(&session)?;
    check_eq!(asked(&session, &caller, 2)?, [true, false]);
    register_another(&session)?;
    check_eq!(asked(&session, &caller, 2)?, [false, false]);
    Ok(())
}

pub fn largest_number_does_not_overflow(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, u32::MAX)?;
    for _ in 0..4 {
        check_eq!(asked(&session, &caller, 2)?, [true, false]);
        register_another(&session)?;
    }
    Ok(())
}

pub fn raised_number_asks_again(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 0)?;
    check_eq!(asked(&session, &caller, 1)?, [false]);
    session.device().set_max_threads(1)?;
    check_eq!(asked(&session, &caller, 2)?, [true, false]);
    Ok(())
}

pub fn lowered_number_stops_asking(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 3)?;
    check_eq!(asked(&session, &caller, 1)?, [true]);
    register_another(&session)?;
    session.device().set_max_threads(1)?;
    check_eq!(asked(&session, &caller, 2)?, [false, false]);
    Ok(())
}

pub fn thread_that_is_no_looper_is_not_asked(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    device.set_max_threads(5)?;
    let session = Session::primed(&device)?;
    check_eq!(asked(&session, &caller, 3)?, [false; 3]);
    Ok(())
}

pub fn nothing_is_asked_while_a_thread_waits(env: &Env) -> Result<(), Failure> {
    let (session, _caller) = looping(env, 5)?;
    let device = session.device().clone();
    let waiting = Worker::start(move || {
        let session = Session::primed(&device)?;
        let mut enter = Commands::new();
        enter.enter_looper();
        Ok(session.write_read(&enter, READ_SIZE))
    });
    waiting.asleep()?;
    send(&session, NO_HANDLE, 0, 0)?;
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    check_eq!(outcome.returns()?, [Return::Noop, Return::FailedReply]);
    session.device().flush()?;
    waiting.join().map(drop)
}

pub fn request_replaces_the_first_word_only(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 1)?;
    send(&session, NO_HANDLE, 0, 0)?;
    let mut room = [0x55u8; 256];
    let mut raw = Raw::new(&[], ReadTarget::Bytes(&mut room));
    raw.read_consumed = 16;
    let outcome = session.write_read_raw(raw);
    check_eq!((outcome.result, outcome.read_consumed), (Ok(()), 20));
    check_eq!(&room[..4], BR_SPAWN_LOOPER.to_ne_bytes());
    check_eq!(&room[4..16], [0x55; 12]);
    check_eq!(Returns::parse(&room[16..20])?, [Return::FailedReply]);
    drop(caller);
    Ok(())
}

pub fn ended_thread_is_not_replaced(env: &Env) -> Result<(), Failure> {
    let (session, caller) = looping(env, 1)?;
    check_eq!(asked(&session, &caller, 1)?, [true]);
    let device = session.device().clone();
    let other = Worker::start(move || {
        looper(&Session::new(&device), BC_REGISTER_LOOPER)?;
        Ok(device.thread_exit()?)
    });
    other.join()?;
    check_eq!(asked(&session, &caller, 2)?, [false, false]);
    Ok(())
}
