// SPDX-License-Identifier: GPL-2.0
//! What buffers keep alive.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::{check_eq, Errno};

use crate::stage::duo::Duo;
use crate::stage::{
    acknowledge, failed_with, pending, refused, reply, round_trip, send, take, Node, Stage,
};

const NODE: Node = Node::new(0x1000, 0x11);
const OTHER: Node = Node::new(0x2000, 0x22);

fn gone(node: Node) -> [Return; 2] {
    [Return::Release(node.name()), Return::Decrefs(node.name())]
}

pub fn handle_in_a_buffer_lives_as_long_as_the_buffer(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::new();
    parcel.binder(NODE.ptr, NODE.cookie);
    acknowledge(&duo.owner, &duo.give(&parcel)?)?;
    let received = take(&duo.client)?;
    let handle = received.handle(0)?;
    round_trip(&duo.client, handle, &duo.owner)?;
    check_eq!(pending(&duo.owner)?, []);
    received.free()?;
    check_eq!(pending(&duo.owner)?, gone(NODE));
    failed_with(refused(&duo.client, handle, 0, &Parcel::new())?, Errno::EINVAL)
}

pub fn undelivered_call_keeps_its_node_and_its_objects(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let (handle, other) = (duo.hand_over_one(NODE)?, duo.hand_over_one(OTHER)?);
    let mut parcel = Parcel::new();
    parcel.handle(other);
    send(&duo.client, handle, 1, 0, &parcel)?;
    duo.change(|commands| commands.release(handle).release(other))?;
    let request = take(&duo.owner)?;
    check_eq!(request.incoming().ptr, NODE.ptr);
    reply(&duo.owner, 0, &Parcel::new())?;
    check_eq!(pending(&duo.owner)?, [Return::TransactionComplete]);
    request.free()?;
    let mut told = pending(&duo.owner)?;
    told.sort_by_key(|entry| (entry.name() == "BR_DECREFS", format!("{entry:?}")));
    check_eq!(told.len(), 4, "both nodes are let go: {told:?}");
    Ok(())
}

pub fn delivered_call_keeps_its_node(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    send(&duo.client, handle, 1, 0, &Parcel::new())?;
    let request = take(&duo.owner)?;
    duo.change(|commands| commands.release(handle))?;
    reply(&duo.owner, 0, &Parcel::new())?;
    check_eq!(pending(&duo.owner)?, [Return::TransactionComplete]);
    request.free()?;
    check_eq!(pending(&duo.owner)?, gone(NODE));
    Ok(())
}

pub fn buffer_drops_only_what_it_took(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    let mut parcel = Parcel::new();
    for _ in 0..3 {
        parcel.binder(NODE.ptr, NODE.cookie);
        parcel.weak_binder(NODE.ptr, NODE.cookie);
    }
    acknowledge(&duo.owner, &duo.give(&parcel)?)?;
    take(&duo.client)?.free()?;
    check_eq!(pending(&duo.owner)?, []);
    round_trip(&duo.client, handle, &duo.owner)?;
    duo.change(|commands| commands.release(handle))?;
    check_eq!(pending(&duo.owner)?, gone(NODE));
    Ok(())
}

pub fn weak_object_in_a_buffer_keeps_the_weak_count(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    let mut parcel = Parcel::new();
    parcel.object(&NODE.object(Strength::Weak));
    check_eq!(duo.give(&parcel)?, [Return::TransactionComplete]);
    let held = take(&duo.client)?;
    let mut commands = Commands::new();
    commands.release(handle);
    duo.client.write(&commands)?;
    check_eq!(pending(&duo.owner)?, [Return::Release(NODE.name())]);
    held.free()?;
    check_eq!(pending(&duo.owner)?, [Return::Decrefs(NODE.name())]);
    Ok(())
}
