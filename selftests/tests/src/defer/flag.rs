// SPDX-License-Identifier: GPL-2.0
//! Where the flag has an effect and where not.

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::{TF_DEFER_COMPLETE, TF_ONE_WAY};
use binder_client::{check_eq, check_matches, limits, Errno};

use super::{echoes, pair, readable, serve};
use crate::stage::{failed_with, gets_nothing, pending, refusal, reply, send, take, Stage};

const DONE: Return = Return::TransactionComplete;

pub fn it_reaches_the_caller_with_the_reply(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    reply(&server, TF_DEFER_COMPLETE, &Parcel::from_bytes(*b"answer"))?;
    let (answer, _) = client.next_reply(limits::wait())?;
    check_eq!(answer.incoming().flags, TF_DEFER_COMPLETE);
    check_eq!(answer.data(), b"answer");
    Ok(())
}

pub fn it_reaches_the_server_with_a_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    send(&client, handle, 1, TF_DEFER_COMPLETE, &Parcel::new())?;
    check_eq!(take(&server)?.incoming().flags, TF_DEFER_COMPLETE);
    Ok(())
}

pub fn it_does_nothing_for_a_oneway_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let flags = TF_ONE_WAY | TF_DEFER_COMPLETE;
    send(&client, handle, 1, flags, &Parcel::new())?;
    readable(&client, true)?;
    check_eq!(pending(&client)?, [DONE]);
    check_eq!(take(&server)?.incoming().flags, flags);
    Ok(())
}

pub fn it_does_nothing_for_a_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    send(&client, handle, 1, TF_DEFER_COMPLETE, &Parcel::new())?;
    take(&server)?.free()?;
    gets_nothing(&client)?;
    reply(&server, 0, &Parcel::new())?;
    readable(&server, true)?;
    check_eq!(pending(&server)?, [DONE]);
    check_matches!(client.next_reply(limits::wait()), Ok(_));
    Ok(())
}

pub fn failed_reply_is_told_at_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    let mut parcel = Parcel::new();
    parcel.handle(4711);
    reply(&server, TF_DEFER_COMPLETE, &parcel)?;
    readable(&server, true)?;
    check_eq!(pending(&server)?, [DONE]);
    check_matches!(client.next_reply(limits::wait()), Err(Error::Failed(_)));
    Ok(())
}

pub fn refused_reply_is_told_at_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor()?;
    reply(&server, TF_DEFER_COMPLETE, &Parcel::new())?;
    readable(&server, true)?;
    failed_with(refusal(&server)?, Errno::EPROTO)
}

pub fn reply_to_the_dead_is_accepted(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    client.device().thread_exit()?;
    reply(&server, TF_DEFER_COMPLETE, &Parcel::new())?;
    check_eq!(pending(&server)?, [DONE]);
    echoes(&stage, &server)
}
