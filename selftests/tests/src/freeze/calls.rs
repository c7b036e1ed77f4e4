// SPDX-License-Identifier: GPL-2.0
//! Calls to a process that is frozen, and calls that keep one from it.

use std::time::Duration;

use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::session::Session;
use binder_client::{check, check_eq, limits, Errno};

use super::*;

pub fn call_to_a_frozen_process_is_refused(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    call_is_refused(&session)?;
    call_is_refused(&session)?;
    check_eq!(info(session.device(), target.pid())?, (1, 0));
    thaw(session.device(), target.pid())?;
    check_eq!(info(session.device(), target.pid())?, (0, 0));
    call_is_served(&session, &target)
}

pub fn unread_call_keeps_a_process_from_freezing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    is_busy(session.device(), target.pid())?;
    check_eq!(info(session.device(), target.pid())?, (2, 0));
    target.does(Step::Take)?;
    target.does(Step::Reply)?;
    finish_call(&session)?;
    freeze(session.device(), target.pid())
}

pub fn served_call_keeps_a_process_from_freezing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    target.does(Step::Take)?;
    is_busy(session.device(), target.pid())?;
    check_eq!(info(session.device(), target.pid())?, (2, 0));
    target.does(Step::Reply)?;
    finish_call(&session)?;
    // The failure has left it as it was.
    call_is_served(&session, &target)?;
    freeze(session.device(), target.pid())
}

pub fn unread_oneway_message_keeps_a_process_from_freezing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    check_eq!(send_oneway(&session, 1, 0)?, [Return::TransactionComplete]);
    is_busy(session.device(), target.pid())?;
    target.does(Step::Take)?;
    freeze(session.device(), target.pid())
}

pub fn oneway_message_behind_another_counts(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send_oneway(&session, 1, 0)?;
    send_oneway(&session, 2, 0)?;
    check_eq!(target.does(Step::Take)?, 1);
    is_busy(session.device(), target.pid())?;
    check_eq!(target.does(Step::Take)?, 2);
    freeze(session.device(), target.pid())
}

pub fn freeze_waits_for_a_served_call(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    target.does(Step::Take)?;
    let waiting = freezer(session.device(), target.pid(), 10 * limits::wait());
    waiting.asleep()?;
    check!(!waiting.ended(), "it waits");
    target.does(Step::Reply)?;
    finish_call(&session)?;
    check_eq!(waiting.join()?, Ok(()));
    call_is_refused(&session)
}

pub fn freeze_waits_for_unread_messages(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send_oneway(&session, 1, 0)?;
    send_oneway(&session, 2, 0)?;
    let waiting = freezer(session.device(), target.pid(), 10 * limits::wait());
    waiting.asleep()?;
    target.does(Step::Take)?;
    target.does(Step::Take)?;
    check_eq!(waiting.join()?, Ok(()));
    Ok(())
}

pub fn freeze_gives_up_after_its_time(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    target.does(Step::Take)?;
    let result = session.device().freeze(target.pid(), true, Duration::from_millis(30));
    check_eq!(result, Err(Errno::EAGAIN));
    target.does(Step::Reply)?;
    finish_call(&session)?;
    call_is_served(&session, &target)
}

pub fn calls_are_refused_while_a_freeze_waits(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    target.does(Step::Take)?;
    let waiting = freezer(session.device(), target.pid(), 10 * limits::wait());
    waiting.asleep()?;
    let other = env.session()?;
    call_is_refused(&other)?;
    check_eq!(info(session.device(), target.pid())?, (3, 0));
    target.does(Step::Reply)?;
    finish_call(&session)?;
    check_eq!(waiting.join()?, Ok(()));
    Ok(())
}

pub fn thaw_ends_a_waiting_freeze(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    target.does(Step::Take)?;
    // The C driver does not notice, and gives up when the time is over.
    let waiting = freezer(session.device(), target.pid(), limits::wait() / 10);
    waiting.asleep()?;
    thaw(session.device(), target.pid())?;
    let other = env.session()?;
    send(&other, 0, 2, 0)?;
    target.does(Step::Reply)?;
    finish_call(&session)?;
    target.does(Step::Take)?;
    target.does(Step::Reply)?;
    finish_call(&other)?;
    check_eq!(waiting.join()?, Err(Errno::EAGAIN));
    call_is_served(&session, &target)
}

pub fn own_call_keeps_a_process_from_freezing(env: &Env) -> Result<(), Failure> {
    let (target, session) = served_by_us(env)?;
    target.does(Step::Call)?;
    is_busy(session.device(), target.pid())?;
    let request = receive(&session)?;
    is_busy(session.device(), target.pid())?;
    reply(&session)?;
    drop(request);
    target.does(Step::ReadReply)?;
    freeze(session.device(), target.pid())
}

pub fn unread_reply_keeps_a_process_from_freezing(env: &Env) -> Result<(), Failure> {
    let (target, session) = served_by_us(env)?;
    target.does(Step::Call)?;
    serve_one(&session)?;
    is_busy(session.device(), target.pid())?;
    check_eq!(info(session.device(), target.pid())?, (2, 0));
    let waiting = freezer(session.device(), target.pid(), 10 * limits::wait());
    waiting.asleep()?;
    target.does(Step::ReadReply)?;
    check_eq!(waiting.join()?, Ok(()));
    Ok(())
}

pub fn bug_b43_reply_to_a_frozen_process_is_accepted(env: &Env) -> Result<(), Failure> {
    let (target, session) = served_by_us(env)?;
    freeze(session.device(), target.pid())?;
    target.does(Step::Call)?;
    serve_one(&session)?;
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    target.does(Step::ReadReply)?;
    Ok(())
}

pub fn deferred_reply_to_a_frozen_process_is_accepted(env: &Env) -> Result<(), Failure> {
    let (target, session) = served_by_us(env)?;
    freeze(session.device(), target.pid())?;
    target.does(Step::Call)?;
    let request = receive(&session)?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(binder_client::uapi::TF_DEFER_COMPLETE, &parcel);
    session.write(&commands)?;
    drop(request);
    target.does(Step::ReadReply)?;
    target.does(Step::Call)?;
    let is_call = |entry: &Return| matches!(entry, Return::Transaction(_));
    let mut all = session.read_until(limits::wait(), is_call)?;
    all.retain(|entry| !is_call(entry));
    check_eq!(all, [Return::TransactionComplete]);
    Ok(())
}

/// A client whose calls this process serves.
fn served_by_us(env: &Env) -> Result<(Target, Session), Failure> {
    let target = Target::client(env)?;
    let device = env.open()?;
    become_manager(&device)?;
    Ok((target, Session::primed(&device)?))
}

pub fn failed_calls_are_over(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    // Refused before they are sent, and one that its caller does not live to see.
    let bad = transaction_data(0, &[]);
    let bad = binder_client::uapi::TransactionData { data_size: 8, buffer: 1, ..bad };
    let mut commands = Commands::new();
    commands.command(binder_client::uapi::BC_TRANSACTION, &bad);
    session.write(&commands)?;
    call_failure(&session)?;
    let caller = client(&env.device, |session, channel| {
        send(session, 0, 1, 0)?;
        channel.signal()?;
        channel.wait()
    })?;
    caller.wait()?;
    is_busy(session.device(), target.pid())?;
    caller.kill()?;
    // It is still to be read.
    is_busy(session.device(), target.pid())?;
    target.does(Step::Take)?;
    target.does(Step::Reply)?;
    freeze(session.device(), target.pid())
}
