// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-looper`.

use std::sync::Arc;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, limits};

use crate::core_support::*;

pub mod choice;
pub mod misuse;
pub mod spawn;

/// A child that calls the manager whenever it is sent a code, and tells when
/// the call is over.
fn caller(env: &Env) -> Result<Peer, Failure> {
    client(&env.device, |session, channel| loop {
        let (code, flags) = channel.recv::<(u32, u32)>()?;
        send(session, 0, code, flags)?;
        if flags & TF_ONE_WAY == 0 {
            finish_call(session)?;
        } else {
            session.read(limits::wait())?;
        }
        channel.signal()?;
    })
}

/// The device of a manager in this process.
fn managing(env: &Env) -> Result<Arc<Device>, Failure> {
    let device = env.open()?;
    become_manager(&device)?;
    Ok(device)
}

/// One looper command in an ioctl of its own.
fn looper(session: &Session, command: u32) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.word(command);
    Ok(session.write(&commands)?)
}

/// Lets `caller` make one call, serves it, and returns whether the read that
/// brought it asked for a thread.
fn served_and_asked(session: &Session, caller: &Peer, code: u32) -> Result<bool, Failure> {
    caller.send(&(code, 0u32))?;
    check!(session.readable(limits::wait())?, "the call arrives");
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    let all = outcome.returns()?;
    let Some(Return::Transaction(incoming)) = all.last() else {
        return Err(Failure::new("a read", "a call", format!("{all:?}")));
    };
    check!(incoming.code == code, "the call is the one just made");
    drop(session.received(*incoming)?);
    reply(session)?;
    // The completion, so that the next read is for the next call.
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    let completion = outcome.returns()?;
    check!(completion.last() == Some(&Return::TransactionComplete), "the reply is taken");
    caller.wait()?;
    Ok([all[0], completion[0]].contains(&Return::SpawnLooper))
}
