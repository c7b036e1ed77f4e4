// SPDX-License-Identifier: GPL-2.0
//! Where a write stops, and several transactions in one write.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check_eq, check_matches, limits};

use super::{harmless, nonblocking, nothing_waits, write_bytes, wrote, WORD};
use crate::core_support::*;

/// Bytes of one `BC_TRANSACTION` or `BC_REPLY`.
const TRANSACTION: u64 = WORD + 64;

/// A failing call, then harmless commands.
fn failing(parcel: &Parcel, flags: u32) -> Commands<'_> {
    let mut commands = Commands::new();
    commands.transaction(NO_HANDLE, 1, flags, parcel);
    commands.enter_looper().enter_looper();
    commands
}

pub fn write_stops_at_a_failed_transaction(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let parcel = Parcel::new();
    let commands = failing(&parcel, 0);
    let outcome = write_bytes(&session, commands.as_bytes());
    // The ioctl is a success: the failure is a return.
    wrote(&outcome, Ok(()), TRANSACTION)?;
    check_eq!(session.read(limits::wait())?, [Return::FailedReply]);
    Ok(())
}

pub fn nothing_is_written_before_the_failure_is_read(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 1, 0)?;
    for _ in 0..3 {
        let outcome = write_bytes(&session, harmless().as_bytes());
        wrote(&outcome, Ok(()), 0)?;
    }
    let mut bad = Commands::new();
    bad.word(u32::MAX);
    wrote(&write_bytes(&session, bad.as_bytes()), Ok(()), 0)?;
    check_eq!(session.read(limits::wait())?, [Return::FailedReply]);
    wrote(&write_bytes(&session, harmless().as_bytes()), Ok(()), WORD)
}

pub fn rest_goes_on_after_the_failure_is_read(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        check_eq!(receive(session)?.incoming().code, 2);
        Ok(())
    })?;
    let session = env.session()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(NO_HANDLE, 1, TF_ONE_WAY, &parcel);
    commands.transaction(0, 2, TF_ONE_WAY, &parcel);
    let outcome = write_bytes(&session, commands.as_bytes());
    wrote(&outcome, Ok(()), TRANSACTION)?;
    check_eq!(session.read(limits::wait())?, [Return::FailedReply]);
    commands.consume(TRANSACTION as usize);
    let outcome = write_bytes(&session, commands.as_bytes());
    wrote(&outcome, Ok(()), TRANSACTION)?;
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    server.join()
}

pub fn failure_and_rest_in_one_ioctl(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let parcel = Parcel::new();
    let commands = failing(&parcel, 0);
    // The read part reports the failure; it does not resume the write.
    let outcome = session.write_read(&commands, 256);
    wrote(&outcome, Ok(()), TRANSACTION)?;
    check_eq!(outcome.returns()?, [Return::Noop, Return::FailedReply]);
    let rest = &commands.as_bytes()[TRANSACTION as usize..];
    wrote(&write_bytes(&session, rest), Ok(()), 2 * WORD)
}

pub fn failed_oneway_call_stops_too(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let parcel = Parcel::new();
    let commands = failing(&parcel, TF_ONE_WAY);
    let outcome = session.write_read(&commands, 256);
    wrote(&outcome, Ok(()), TRANSACTION)?;
    check_eq!(outcome.returns()?, [Return::Noop, Return::FailedReply]);
    Ok(())
}

pub fn failed_reply_stops_too(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        let request = receive(session)?;
        let bad = TransactionData { offsets_size: 3, ..Default::default() };
        let mut commands = Commands::new();
        commands.command(BC_REPLY, &bad);
        commands.free_buffer(request.into_address());
        let outcome = write_bytes(session, commands.as_bytes());
        wrote(&outcome, Ok(()), TRANSACTION)?;
        // The caller is told of the failure; this side is only rid of the call.
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
        commands.consume(TRANSACTION as usize);
        Ok(session.write(&commands)?)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    check_eq!(call_failure(&session)?.command, BR_FAILED_REPLY);
    server.join()
}

pub fn reply_to_nobody_stops_too(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(0, &parcel).enter_looper();
    let outcome = session.write_read(&commands, 256);
    wrote(&outcome, Ok(()), TRANSACTION)?;
    check_eq!(outcome.returns()?, [Return::Noop, Return::FailedReply]);
    Ok(())
}

pub fn two_oneway_calls_in_one_write(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        check_eq!(receive(session)?.incoming().code, 1);
        check_eq!(receive(session)?.incoming().code, 2);
        Ok(())
    })?;
    let session = env.session()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(0, 1, TF_ONE_WAY, &parcel);
    commands.transaction(0, 2, TF_ONE_WAY, &parcel);
    let outcome = session.write_read(&commands, 256);
    wrote(&outcome, Ok(()), 2 * TRANSACTION)?;
    let complete = Return::TransactionComplete;
    check_eq!(outcome.returns()?, [Return::Noop, complete, complete]);
    server.join()
}

pub fn second_call_in_one_write_fails(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.wait()?;
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    commands.transaction(0, 2, 0, &parcel).enter_looper();
    let outcome = session.write_read(&commands, 256);
    wrote(&outcome, Ok(()), 2 * TRANSACTION)?;
    let all = [Return::Noop, Return::TransactionComplete, Return::FailedReply];
    check_eq!(outcome.returns()?, all);
    server.signal()?;
    finish_call(&session)?;
    server.join()
}

pub fn call_and_free_in_one_write(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = Session::new(nonblocking(env)?.device());
    send(&session, 0, 1, 0)?;
    let (first, _) = session.next_reply(limits::wait())?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.free_buffer(first.into_address());
    commands.transaction(0, 2, 0, &parcel);
    session.write(&commands)?;
    let (_, all) = session.next_reply(limits::wait())?;
    check_matches!(all[..], [Return::TransactionComplete, Return::Reply(_)]);
    nothing_waits(&session)
}
