// SPDX-License-Identifier: GPL-2.0
//! How long a transaction keeps a file open.

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::uapi::{TF_ACCEPT_FDS, TF_ONE_WAY};
use binder_client::{check_matches, limits, Errno};

use super::{closed_everywhere, connected, files, pair, parcel, pipe, still_open};
use crate::stage::{failed_with, refused, reply, send, take, Stage};

pub fn sender_may_close_at_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, TF_ONE_WAY, &parcel(&[&write]))?;
    drop(write);
    still_open(&read)?;
    let call = take(&server)?;
    let mut received = files(&call)?;
    connected(&mut read, &mut received[0])?;
    drop(received);
    closed_everywhere(&read)
}

pub fn sender_may_die_before_the_delivery(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, 0, &parcel(&[&write]))?;
    drop(write);
    drop(client);
    let request = take(&server)?;
    connected(&mut read, &mut files(&request)?[0])
}

pub fn freeing_the_buffer_leaves_the_descriptor_open(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, TF_ONE_WAY, &parcel(&[&write]))?;
    let call = take(&server)?;
    let mut received = files(&call)?;
    call.free()?;
    connected(&mut read, &mut received[0])
}

pub fn refused_transaction_lets_the_file_go(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (_server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    let mut parcel = parcel(&[&write, &write]);
    parcel.handle(4711);
    failed_with(refused(&client, handle, 0, &parcel)?, Errno::EINVAL)?;
    still_open(&read)?;
    drop(write);
    closed_everywhere(&read)
}

fn receiver_ends(env: &Env, flags: u32) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    for _ in 0..if flags == TF_ONE_WAY { 3 } else { 1 } {
        send(&client, handle, 1, flags, &parcel(&[&write]))?;
    }
    drop(write);
    still_open(&read)?;
    drop(server);
    closed_everywhere(&read)?;
    if flags != TF_ONE_WAY {
        check_matches!(client.next_reply(limits::wait()), Err(Error::Dead(_)));
    }
    Ok(())
}

pub fn undelivered_call_lets_the_file_go_with_the_receiver(env: &Env) -> Result<(), Failure> {
    receiver_ends(env, 0)
}

pub fn undelivered_oneway_call_lets_the_file_go_with_the_receiver(
    env: &Env,
) -> Result<(), Failure> {
    receiver_ends(env, TF_ONE_WAY)
}

pub fn undelivered_reply_lets_the_file_go_with_the_caller(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    send(&client, handle, 1, TF_ACCEPT_FDS, &Parcel::new())?;
    take(&server)?.free()?;
    reply(&server, 0, &parcel(&[&write]))?;
    drop(write);
    still_open(&read)?;
    drop(client);
    closed_everywhere(&read)
}
