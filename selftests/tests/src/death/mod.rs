// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-death`.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::answer_reference;
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{PtrCookie, TF_ONE_WAY};
use binder_client::{check_eq, limits};

use crate::core_support::*;

pub mod held;
pub mod manager;
pub mod nested;
pub mod process;
pub mod storm;
pub mod thread;

/// The node that the parties of these cases send around.
const NODE: PtrCookie = PtrCookie { ptr: 0x1000, cookie: 0x2000 };

/// A parcel with that node.
fn node() -> Parcel {
    let mut parcel = Parcel::new();
    parcel.binder(NODE.ptr, NODE.cookie);
    parcel
}

/// Sends `parcel` to `handle` in an ioctl that does not read.
fn send_parcel(session: &Session, handle: u32, parcel: &Parcel, flags: u32) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.transaction(handle, 1, flags, parcel);
    Ok(session.write(&commands)?)
}

/// Sends the node to the manager oneway and answers the reference returns.
fn publish(session: &Session) -> Result<(), Failure> {
    send_parcel(session, 0, &node(), TF_ONE_WAY)?;
    let complete = |entry: &Return| *entry == Return::TransactionComplete;
    for entry in session.read_until(limits::wait(), complete)? {
        answer_reference(session, entry)?;
    }
    Ok(())
}

/// A child that publishes its node when told, then runs `body`.
fn node_owner(
    env: &Env,
    body: impl FnOnce(&Session, &Channel) -> Result<(), Failure>,
) -> Result<Peer, Failure> {
    client(&env.device, |session, channel| {
        channel.wait()?;
        publish(session)?;
        body(session, channel)
    })
}

/// Lets a [`node_owner`] publish its node and takes a strong reference to it.
fn take_node(session: &Session, owner: &Peer) -> Result<u32, Failure> {
    owner.signal()?;
    let request = receive(session)?;
    let handle = request.handle(0)?;
    let mut commands = Commands::new();
    commands.acquire(handle);
    session.write(&commands)?;
    Ok(handle)
}

/// Reads until nobody refers to the own node any more.
fn node_is_released(session: &Session) -> Result<(), Failure> {
    let mut strong = None;
    let mut weak = None;
    while weak != Some(false) || strong == Some(true) {
        for entry in session.read(limits::wait())? {
            answer_reference(session, entry)?;
            let (which, held, node) = match entry {
                Return::Increfs(node) => (&mut weak, true, node),
                Return::Acquire(node) => (&mut strong, true, node),
                Return::Release(node) => (&mut strong, false, node),
                Return::Decrefs(node) => (&mut weak, false, node),
                _ => continue,
            };
            check_eq!(node, NODE);
            *which = Some(held);
        }
    }
    Ok(())
}
