// SPDX-License-Identifier: GPL-2.0
//! How long a transaction keeps a file open.

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::uapi::{TF_ACCEPT_FDS, TF_ONE_WAY};
use binder_client::{check_eq, check_matches, limits, Errno};

use super::{closed_everywhere, connected, files, pair, parcel, pipe, still_open, OPEN};
use crate::stage::{failed_with, pending, pending_news, refused, reply, send, take, Node, Stage};

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

pub fn bug_b65_file_in_flight_to_its_owner_does_not_keep_it_alive(
    env: &Env,
) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let number = 1000;
    let (read, write) = pipe()?;
    // The queue of the owner holds the owner's own file, and a pipe that tells
    // when that queue is dropped. A driver may refuse such a file.
    let peer = Peer::spawn(|channel| {
        let owner = stage.actor()?;
        stage.publish_as(&owner, OPEN, Strength::Strong, number)?;
        let sender = stage.actor()?;
        let handle = stage.obtain(&sender, number)?;
        send(&sender, handle, 1, TF_ONE_WAY, &parcel(&[&**owner.device(), &write]))?;
        let accepted = pending(&sender)? == [Return::TransactionComplete];
        channel.send(&accepted)?;
        channel.wait()
    })?;
    drop(write);
    if peer.recv::<bool>()? {
        still_open(&read)?;
    }
    peer.kill()?;
    closed_everywhere(&read)
}

pub fn process_ends_though_another_has_its_file(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let keeper = stage.actor()?;
    stage.publish_as(&keeper, OPEN, Strength::Strong, 1000)?;
    let peer = Peer::spawn(|channel| {
        let owner = stage.actor()?;
        stage.publish_as(&owner, Node::new(0x99, 0), Strength::Strong, 1001)?;
        let handle = stage.obtain(&owner, 1000)?;
        send(&owner, handle, 1, TF_ONE_WAY, &parcel(&[&**owner.device()]))?;
        channel.signal()?;
        channel.wait()
    })?;
    peer.wait()?;
    let request = take(&keeper)?;
    let kept = files(&request)?;
    let handle = stage.obtain(&keeper, 1001)?;
    let mut commands = Commands::new();
    keeper.write(commands.request_death(handle, 7))?;
    check_eq!(pending_news(&keeper)?, []);
    peer.kill()?;
    let told = keeper.read_until(limits::wait(), |entry| matches!(entry, Return::DeadBinder(_)))?;
    check_matches!(told.last(), Some(Return::DeadBinder(7)));
    drop(kept);
    Ok(())
}
