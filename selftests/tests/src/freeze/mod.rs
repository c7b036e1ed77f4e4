// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-freeze`: the test's process freezes a child, calls it, and
//! watches it. The child is not stopped; it does what it is told.

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{FrozenStatusInfo, BR_FROZEN_REPLY};
use binder_client::{check_eq, limits, Errno};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

use crate::core_support::*;

pub mod bugs;
pub mod calls;
pub mod notify;
pub mod oneway;
pub mod races;
pub mod whole;

/// What a target is told to do. It says when it is done.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Step {
    /// Say that it is there.
    BeThere,
    /// Take a request, and keep it.
    Take,
    /// Answer the request that was taken.
    Reply,
    /// Call the manager, without reading anything.
    Call,
    /// Read until a reply is there.
    ReadReply,
}

/// A process that is frozen: the manager, or a client of it.
#[derive(Debug)]
pub struct Target {
    peer: Peer,
}

impl Target {
    /// A manager.
    pub fn manager(env: &Env) -> Result<Self, Failure> {
        Ok(Target { peer: manager(&env.device, follow)? })
    }

    /// A client. Fork it before the test's own process becomes the manager.
    pub fn client(env: &Env) -> Result<Self, Failure> {
        let target = Target { peer: client(&env.device, follow)? };
        target.does(Step::BeThere)?;
        Ok(target)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.peer.pid() as u32
    }

    /// Lets it do something, and waits until that is done. Returns the code of a message
    /// that was taken.
    pub fn does(&self, step: Step) -> Result<u32, Failure> {
        self.peer.send(&step)?;
        self.peer.recv()
    }

    /// Kills it.
    pub fn kill(self) -> Result<(), Failure> {
        self.peer.kill()
    }
}

/// Does what the channel says, until the process is killed.
fn follow(session: &Session, channel: &Channel) -> Result<(), Failure> {
    let mut taken = None;
    loop {
        let code = match channel.recv()? {
            Step::BeThere => 0,
            Step::Take => {
                let request = receive(session)?;
                let code = request.incoming().code;
                taken = Some(request);
                code
            }
            Step::Reply => {
                reply(session)?;
                taken = None;
                check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
                0
            }
            Step::Call => send(session, 0, 1, 0).map(|()| 0)?,
            Step::ReadReply => finish_call(session).map(|()| 0)?,
        };
        if taken.as_ref().is_some_and(|request| request.incoming().sender_pid == 0) {
            // Oneway: what comes behind it waits until it is freed.
            taken = None;
        }
        channel.send(&code)?;
    }
}

/// Freezes a process, which must succeed.
#[track_caller]
pub fn freeze(device: &Device, pid: u32) -> Result<(), Failure> {
    Ok(device.freeze(pid, true, Duration::ZERO)?)
}

/// Lets a process go on.
#[track_caller]
pub fn thaw(device: &Device, pid: u32) -> Result<(), Failure> {
    Ok(device.freeze(pid, false, Duration::ZERO)?)
}

/// What came, and what is under way: `sync_recv` and `async_recv`.
pub fn info(device: &Device, pid: u32) -> Result<(u32, u32), Failure> {
    let FrozenStatusInfo { sync_recv, async_recv, .. } = device.frozen_info(pid)?;
    Ok((sync_recv, async_recv))
}

/// Checks that a freeze fails because something is under way.
#[track_caller]
pub fn is_busy(device: &Device, pid: u32) -> Result<(), Failure> {
    check_eq!(device.freeze(pid, true, Duration::ZERO), Err(Errno::EAGAIN));
    Ok(())
}

/// Checks that a call to the manager is refused because that is frozen.
#[track_caller]
pub fn call_is_refused(session: &Session) -> Result<(), Failure> {
    send(session, 0, 1, 0)?;
    let error = call_failure(session)?;
    check_eq!((error.command, error.param), (BR_FROZEN_REPLY, 0));
    Ok(())
}

/// A call that the target serves.
pub fn call_is_served(session: &Session, target: &Target) -> Result<(), Failure> {
    send(session, 0, 1, 0)?;
    target.does(Step::Take)?;
    target.does(Step::Reply)?;
    finish_call(session)
}

/// A thread of the test that freezes a process within a time, and its result.
pub fn freezer(device: &Arc<Device>, pid: u32, within: Duration) -> Worker<Result<(), Errno>> {
    let device = device.clone();
    Worker::start(move || Ok(device.freeze(pid, true, within)))
}

/// Sends a oneway message to the manager; returns what that tells the sender.
pub fn send_oneway(session: &Session, code: u32, flags: u32) -> Result<Vec<Return>, Failure> {
    send_oneway_with(session, code, flags, &Parcel::new())
}

/// The same with contents.
pub fn send_oneway_with(
    session: &Session,
    code: u32,
    flags: u32,
    parcel: &Parcel,
) -> Result<Vec<Return>, Failure> {
    let flags = flags | binder_client::uapi::TF_ONE_WAY;
    let mut commands = Commands::new();
    commands.transaction(0, code, flags, parcel);
    session.write(&commands)?;
    session.read_until(limits::wait(), Return::is_completion).map_err(Into::into)
}

/// Takes a reference to the manager, to which notifications can be asked for.
pub fn refer(session: &Session) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.acquire(0);
    Ok(session.write(&commands)?)
}
