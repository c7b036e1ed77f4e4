// SPDX-License-Identifier: GPL-2.0
//! The first things a client does: version, mapping, a call, a oneway call.
//! Also the example of how a test program looks.

use std::process::ExitCode;

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::ktap::{self, cases, Env, Failure};
use binder_client::manager::{spawn_echo, spawn_manager, Answer};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::{BR_DEAD_REPLY, CURRENT_PROTOCOL_VERSION, TF_ONE_WAY};
use binder_client::{check_eq, check_matches, limits, Errno};

fn version_is_the_current_one(env: &Env) -> Result<(), Failure> {
    check_eq!(env.open()?.version()?, CURRENT_PROTOCOL_VERSION);
    Ok(())
}

fn second_mapping_is_busy(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    check_eq!(device.map(4096), Err(Errno::EBUSY));
    Ok(())
}

fn call_without_manager_is_dead(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let parcel = Parcel::from_bytes(*b"hello");
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    match session.next_reply(limits::wait()) {
        Err(Error::Dead(extended)) => check_eq!(extended.command, BR_DEAD_REPLY),
        other => check_matches!(other, Err(Error::Dead(_))),
    }
    Ok(())
}

fn call_is_answered_with_its_data(env: &Env) -> Result<(), Failure> {
    let _echo = spawn_echo(&env.device)?;
    let session = env.session()?;
    let parcel = Parcel::from_bytes(*b"hello");
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    let (reply, returns) = session.next_reply(limits::wait())?;
    check_matches!(returns[..], [Return::TransactionComplete, Return::Reply(_)]);
    check_eq!(reply.data(), b"hello");
    check_eq!(reply.incoming().sender_pid, 0);
    Ok(())
}

fn oneway_call_arrives_and_completes(env: &Env) -> Result<(), Failure> {
    let service = spawn_manager(&env.device, |request| {
        request.channel.send(&(request.code(), request.received().incoming().sender_pid))?;
        Ok(Answer::Nothing)
    })?;
    let session = env.session()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(0, 77, TF_ONE_WAY, &parcel);
    session.write(&commands)?;
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    check_eq!(service.recv::<(u32, i32)>()?, (77, 0), "code and sender of the oneway call");
    Ok(())
}

fn second_device_has_a_manager_of_its_own(env: &Env) -> Result<(), Failure> {
    let _first = spawn_echo(&env.device)?;
    let _second = spawn_echo(env.second_device()?)?;
    Ok(())
}

fn main() -> ExitCode {
    ktap::main(&cases![
        version_is_the_current_one,
        second_mapping_is_busy,
        call_without_manager_is_dead,
        call_is_answered_with_its_data,
        oneway_call_arrives_and_completes,
        second_device_has_a_manager_of_its_own,
    ])
}
