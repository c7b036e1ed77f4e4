// SPDX-License-Identifier: GPL-2.0
//! Replies that fail: the replier is done, the caller is told.

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::guard::BadAddress;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{TransactionData, BC_REPLY, BR_DEAD_REPLY, BR_FAILED_REPLY, BR_OK};
use binder_client::{check, check_eq, limits, Errno};

use crate::stage::{failed_with, pending, refusal, reply, round_trip, send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 0x11);

/// A client whose call is being served.
struct Served {
    stage: Stage,
    server: Session,
    client: Session,
    handle: u32,
}

impl Served {
    fn new(env: &Env, map: usize) -> Result<Self, Failure> {
        let stage = Stage::new(env)?;
        let (server, client) = (stage.actor()?, stage.actor_with_map(map)?);
        let handle = stage.introduce(&server, &client, NODE)?;
        let served = Served { stage, server, client, handle };
        served.call()?;
        Ok(served)
    }

    fn call(&self) -> Result<(), Failure> {
        send(&self.client, self.handle, 1, 0, &Parcel::new())?;
        take(&self.server)?.free()?;
        Ok(())
    }

    /// Checks both sides after a reply that was refused, and that calls work.
    fn failed(&self, expected: Errno) -> Result<(), Failure> {
        check_eq!(pending(&self.server)?, [Return::TransactionComplete]);
        let seen = self.client.next_reply(limits::wait());
        let Err(Error::Failed(extended)) = seen else {
            return Err(Failure::new("the call", "BR_FAILED_REPLY", format!("{seen:?}")));
        };
        let told = (extended.command, extended.param);
        check_eq!(told, (BR_FAILED_REPLY, -(expected as i32)));
        check_eq!(pending(&self.client)?, []);
        round_trip(&self.client, self.handle, &self.server)
    }
}

/// A reply with any head.
fn reply_head(session: &Session, head: &TransactionData) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.command(BC_REPLY, head);
    Ok(session.write(&commands)?)
}

pub fn bad_object_fails_the_call(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    let mut parcel = Parcel::new();
    parcel.handle(4711);
    reply(&served.server, 0, &parcel)?;
    served.failed(Errno::EINVAL)
}

pub fn unreadable_data_fails_the_call(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    for bad in BadAddress::ALL {
        let head = TransactionData { data_size: 100, buffer: bad.address(), ..Default::default() };
        reply_head(&served.server, &head)?;
        served.failed(Errno::EFAULT)?;
        served.call()?;
    }
    Ok(())
}

pub fn bad_offsets_fail_the_call(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    let mut parcel = Parcel::new();
    parcel.binder(0x3000, 3);
    let head = TransactionData { offsets_size: 7, ..parcel.transaction_data(0, 0, 0) };
    reply_head(&served.server, &head)?;
    served.failed(Errno::EINVAL)?;
    served.call()?;
    parcel.offsets_mut()[0] = 4;
    reply(&served.server, 0, &parcel)?;
    served.failed(Errno::EINVAL)
}

pub fn too_large_a_reply_fails_the_call(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 14)?;
    reply(&served.server, 0, &Parcel::from_bytes(vec![0; (1 << 14) + 1]))?;
    served.failed(Errno::ENOSPC)
}

pub fn caller_without_a_mapping_gets_a_dead_reply(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    served.client.device().unmap()?;
    reply(&served.server, 0, &Parcel::from_bytes(*b"nowhere to put it"))?;
    check_eq!(pending(&served.server)?, [Return::TransactionComplete]);
    let seen = served.client.next_reply(limits::wait());
    let Err(Error::Dead(extended)) = seen else {
        return Err(Failure::new("the call", "BR_DEAD_REPLY", format!("{seen:?}")));
    };
    let told = (extended.command, extended.param);
    check_eq!(told, (BR_DEAD_REPLY, -(Errno::ESRCH as i32)));
    Ok(())
}

pub fn failed_reply_leaves_the_replier_without_an_error(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    served.server.device().extended_error()?;
    let mut parcel = Parcel::new();
    parcel.handle(4711);
    reply(&served.server, 0, &parcel)?;
    let extended = served.server.device().extended_error()?;
    check_eq!((extended.command, extended.param), (BR_OK, 0));
    check!(extended.id != 0, "the id is that of the reply");
    served.failed(Errno::EINVAL)
}

pub fn failed_reply_ends_the_transaction(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    let mut parcel = Parcel::new();
    parcel.handle(4711);
    reply(&served.server, 0, &parcel)?;
    check_eq!(pending(&served.server)?, [Return::TransactionComplete]);
    reply(&served.server, 0, &Parcel::new())?;
    failed_with(refusal(&served.server)?, Errno::EPROTO)?;
    check_eq!(served.stage.echo(&served.server, b"free")?, b"free");
    Ok(())
}

pub fn failed_nested_reply_fails_only_the_nested_call(env: &Env) -> Result<(), Failure> {
    let served = Served::new(env, 1 << 16)?;
    let third = served.stage.actor()?;
    let to_third = served.stage.introduce(&third, &served.server, Node::new(0x99, 9))?;
    send(&served.server, to_third, 2, 0, &Parcel::new())?;
    take(&third)?.free()?;
    let mut parcel = Parcel::new();
    parcel.handle(4711);
    reply(&third, 0, &parcel)?;
    let seen = served.server.next_reply(limits::wait());
    check!(matches!(seen, Err(Error::Failed(_))), "the nested call fails: {seen:?}");
    reply(&served.server, 0, &Parcel::from_bytes(*b"even so"))?;
    check_eq!(served.client.next_reply(limits::wait())?.0.data(), b"even so");
    Ok(())
}
