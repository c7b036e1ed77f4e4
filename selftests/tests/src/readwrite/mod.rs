// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-readwrite`.

use std::sync::Arc;

use binder_client::commands::Commands;
use binder_client::device::{Device, OpenAs};
use binder_client::ktap::{Env, Failure};
use binder_client::session::{Outcome, Raw, ReadTarget, Session};
use binder_client::{check_eq, Errno};

pub mod packing;
pub mod read;
pub mod stop;
pub mod wait;
pub mod write;

/// Size of a command without payload.
const WORD: u64 = 4;
/// Room that the largest return needs: its number and its payload.
const LARGEST: usize = 76;

/// Opens with `O_NONBLOCK`.
fn open_nonblocking(env: &Env) -> Result<Arc<Device>, Failure> {
    let options = OpenAs { nonblock: true, ..Default::default() };
    Ok(Device::open_with(&env.device, options)?)
}

/// A session whose reads do not wait.
fn nonblocking(env: &Env) -> Result<Session, Failure> {
    Ok(Session::primed(&open_nonblocking(env)?)?)
}

/// One ioctl that only writes `bytes`.
fn write_bytes(session: &Session, bytes: &[u8]) -> Outcome {
    session.write_read_raw(Raw::new(bytes, ReadTarget::None))
}

/// Checks result and consumed bytes of a write.
#[track_caller]
fn wrote(outcome: &Outcome, result: Result<(), Errno>, consumed: u64) -> Result<(), Failure> {
    let seen = (outcome.result, outcome.write_consumed);
    check_eq!(seen, (result, consumed), "result and consumed bytes");
    Ok(())
}

/// A command that changes nothing.
fn harmless() -> Commands<'static> {
    let mut commands = Commands::new();
    commands.enter_looper();
    commands
}

/// Checks that nothing waits for this non-blocking session.
#[track_caller]
fn nothing_waits(session: &Session) -> Result<(), Failure> {
    let outcome = session.write_read(&Commands::new(), 256);
    let seen = (outcome.result, outcome.read_consumed);
    check_eq!(seen, (Err(Errno::EAGAIN), 0), "a read without waiting");
    Ok(())
}
