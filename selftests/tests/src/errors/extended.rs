// SPDX-License-Identifier: GPL-2.0
//! The extended error of a thread.

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::{ExtendedError, BR_FAILED_REPLY, BR_OK, TF_ONE_WAY};
use binder_client::{check, check_eq, limits, Errno};

use crate::stage::worker::Worker;
use crate::stage::{pending, refused, reply, send, take, Node, Stage};

const RESET: ExtendedError = ExtendedError { id: 0, command: BR_OK, param: 0 };

pub fn reading_resets_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    check_eq!(client.device().extended_error()?, RESET, "at the start");
    let (_, extended) = refused(&client, 9, 0, &Parcel::new())?;
    check_eq!(extended.command, BR_FAILED_REPLY);
    check_eq!(client.device().extended_error()?, RESET);
    Ok(())
}

pub fn it_belongs_to_the_thread(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let other = client.clone();
    let worker = Worker::spawn()?;
    worker.run(move || send(&other, 9, 1, 0, &Parcel::new()))?;
    check_eq!(client.device().extended_error()?, RESET);
    let other = client.clone();
    let extended = worker.run(move || Ok(other.device().extended_error()?))?;
    check_eq!(extended.param, -(Errno::EINVAL as i32));
    Ok(())
}

pub fn next_command_replaces_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    send(&client, 9, 1, 0, &Parcel::new())?;
    check_eq!(pending(&client)?, [Return::FailedReply]);
    send(&client, 0, 99, TF_ONE_WAY, &Parcel::new())?;
    check_eq!(pending(&client)?, [Return::TransactionComplete]);
    let extended = client.device().extended_error()?;
    check_eq!((extended.command, extended.param), (BR_OK, 0));
    check!(extended.id != 0, "the id is that of the last transaction");
    Ok(())
}

pub fn its_id_tells_failures_apart(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let (_, first) = refused(&client, 9, 0, &Parcel::new())?;
    let (_, second) = refused(&client, 9, 0, &Parcel::new())?;
    check!(second.id > first.id, "{} is after {}", second.id, first.id);
    Ok(())
}

pub fn failed_reply_does_not_replace_an_unread_error(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, Node::new(1, 1))?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    take(&server)?.free()?;
    // A failure of the waiting thread that nobody has asked about.
    send(&client, 99, 1, TF_ONE_WAY, &Parcel::from_bytes([0; 16]))?;
    let mut parcel = Parcel::new();
    parcel.fd_number(-1);
    reply(&server, 0, &parcel)?;
    client.read_until(limits::wait(), |entry| *entry == Return::FailedReply)?;
    pending(&client)?;
    let extended = client.device().extended_error()?;
    check_eq!(extended.param, -(Errno::EINVAL as i32), "the first failure's");
    Ok(())
}
