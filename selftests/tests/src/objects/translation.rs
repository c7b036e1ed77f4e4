// SPDX-License-Identifier: GPL-2.0
//! Nodes become handles, and handles of one's own nodes become nodes.

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{FlatObject, TF_ONE_WAY, TYPE_HANDLE};
use binder_client::{check_eq, check_matches, limits, Errno};

use crate::stage::duo::Duo;
use crate::stage::{acknowledge, failed_with, pending, reply, round_trip, send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 0x11);
const OTHER: Node = Node::new(0x2000, 0x22);

/// The handle object of a number as it is received.
fn handle(strength: Strength, handle: u32, flags: u32) -> Object {
    Object::Handle { strength, handle, cookie: 0, flags }
}

/// A parcel with one object.
fn with(object: Object) -> Parcel {
    let mut parcel = Parcel::new();
    parcel.object(&object);
    parcel
}

/// Sends one object oneway and returns what arrives. The buffer is freed.
fn carried(
    from: &Session,
    target: u32,
    to: &Session,
    object: Object,
) -> Result<Vec<Object>, Failure> {
    send(from, target, 1, TF_ONE_WAY, &with(object))?;
    acknowledge(from, &pending(from)?)?;
    let received = take(to)?;
    let objects = received.objects()?;
    received.free()?;
    Ok(objects)
}

/// An owner, a receiver with a handle of [`NODE`], and the receiver's handle
/// of another node of the owner, to send to.
fn with_way_back(stage: &Stage, strength: Strength) -> Result<(Duo, u32, u32), Failure> {
    let duo = Duo::new(stage)?;
    let held = duo.hand_over(&[NODE], strength)?[0];
    let back = duo.hand_over_one(Node::new(0x7000, 7))?;
    Ok((duo, held, back))
}

fn strong_and_weak(env: &Env, strength: Strength) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for (n, flags) in [0, 0x7f, 0xdead_0000].into_iter().enumerate() {
        let node = Node { flags, ..Node::new(0x5000 + n as u64, u64::MAX) };
        let mut parcel = Parcel::new();
        parcel.object(&node.object(strength));
        acknowledge(&duo.owner, &duo.give(&parcel)?)?;
        let received = take(&duo.client)?;
        check_eq!(received.objects()?, [handle(strength, 1, flags)]);
        check_eq!(received.data()[12..].to_vec(), [0u8; 12], "no word of the owner's addresses");
        received.free()?;
        pending(&duo.owner)?;
    }
    Ok(())
}

pub fn strong_node_becomes_a_strong_handle(env: &Env) -> Result<(), Failure> {
    strong_and_weak(env, Strength::Strong)
}

pub fn weak_node_becomes_a_weak_handle(env: &Env) -> Result<(), Failure> {
    strong_and_weak(env, Strength::Weak)
}

pub fn handle_is_passed_on_to_a_third_process(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let held = duo.hand_over_one(NODE)?;
    let third = stage.actor()?;
    let to_third = stage.introduce(&third, &duo.client, OTHER)?;
    let object = handle(Strength::Strong, held, 5);
    send(&duo.client, to_third, 1, TF_ONE_WAY, &with(object))?;
    let received = take(&third)?;
    check_eq!(received.objects()?, [handle(Strength::Strong, 1, 5)]);
    let mut commands = Commands::new();
    commands.release(held);
    duo.client.write(&commands)?;
    round_trip(&third, 1, &duo.owner)
}

pub fn handle_returns_to_its_owner_as_the_node(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, held, back) = with_way_back(&stage, Strength::Strong)?;
    let object = handle(Strength::Strong, held, 0x99);
    let seen = carried(&duo.client, back, &duo.owner, object)?;
    let node = Node { flags: 0x99, ..NODE };
    check_eq!(seen, [node.object(Strength::Strong)]);
    check_eq!(pending(&duo.owner)?, [], "it is still held");
    Ok(())
}

pub fn weak_handle_returns_to_its_owner_as_a_weak_node(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, held, back) = with_way_back(&stage, Strength::Weak)?;
    let object = handle(Strength::Weak, held, 0);
    let seen = carried(&duo.client, back, &duo.owner, object)?;
    check_eq!(seen, [NODE.object(Strength::Weak)]);
    Ok(())
}

pub fn strong_handle_may_be_sent_weakly(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, held, back) = with_way_back(&stage, Strength::Strong)?;
    let object = handle(Strength::Weak, held, 0);
    let seen = carried(&duo.client, back, &duo.owner, object)?;
    check_eq!(seen, [NODE.object(Strength::Weak)]);
    let third = stage.actor()?;
    let to_third = stage.introduce(&third, &duo.client, OTHER)?;
    let seen = carried(&duo.client, to_third, &third, object)?;
    check_eq!(seen, [handle(Strength::Weak, 1, 0)]);
    Ok(())
}

pub fn weak_handle_may_not_be_sent_strongly(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, held, back) = with_way_back(&stage, Strength::Weak)?;
    let parcel = with(handle(Strength::Strong, held, 0));
    send(&duo.client, back, 1, TF_ONE_WAY, &parcel)?;
    failed_with(crate::stage::refusal(&duo.client)?, Errno::EINVAL)
}

pub fn same_node_twice_is_one_handle(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::new();
    for strength in [Strength::Strong, Strength::Weak, Strength::Strong] {
        parcel.object(&NODE.object(strength));
    }
    let told = duo.give(&parcel)?;
    check_eq!(told.len(), 3, "one announcement of each kind: {told:?}");
    acknowledge(&duo.owner, &told)?;
    let received = take(&duo.client)?;
    let expected = [Strength::Strong, Strength::Weak, Strength::Strong];
    check_eq!(received.objects()?, expected.map(|strength| handle(strength, 1, 0)));
    received.free()?;
    let gone = [Return::Release(NODE.name()), Return::Decrefs(NODE.name())];
    check_eq!(pending(&duo.owner)?, gone);
    Ok(())
}

pub fn other_cookie_for_a_known_node_is_refused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    duo.hand_over_one(NODE)?;
    for strength in [Strength::Strong, Strength::Weak] {
        let wrong = Node::new(NODE.ptr, NODE.cookie + 1);
        let mut parcel = Parcel::new();
        parcel.object(&OTHER.object(strength)).object(&wrong.object(strength));
        failed_with(duo.give_refused(&parcel)?, Errno::EINVAL)?;
    }
    check_eq!(pending(&duo.owner)?, []);
    check_eq!(duo.hand_over_one(Node::new(0x3000, 3))?, 2, "no number was used up");
    Ok(())
}

pub fn refused_transaction_leaves_no_reference_behind(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::new();
    parcel.binder(NODE.ptr, 1).binder(OTHER.ptr, 1).binder(NODE.ptr, 2);
    for _ in 0..3 {
        failed_with(duo.give_refused(&parcel)?, Errno::EINVAL)?;
    }
    check_eq!(pending(&duo.owner)?, []);
    check_eq!(pending(&duo.client)?, []);
    // As new: another cookie, the lowest number, the announcements.
    check_eq!(duo.hand_over_one(Node::new(NODE.ptr, 9))?, 1);
    duo.change(|commands| commands.release(1))?;
    check_eq!(pending(&duo.owner)?.len(), 2);
    Ok(())
}

pub fn unknown_handle_in_the_data_is_refused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for number in [duo.inbox + 1, 64, 1 << 20, u32::MAX] {
        for strength in [Strength::Strong, Strength::Weak] {
            let parcel = with(handle(strength, number, 0));
            failed_with(duo.give_refused(&parcel)?, Errno::EINVAL)?;
        }
    }
    Ok(())
}

pub fn upper_half_of_a_handle_is_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, held, back) = with_way_back(&stage, Strength::Strong)?;
    let object = FlatObject {
        kind: TYPE_HANDLE,
        flags: 0,
        binder: u64::from(held) | 0xffff_ffff_0000_0000,
        cookie: u64::MAX,
    };
    let mut parcel = with(handle(Strength::Strong, held, 0));
    *parcel.data_mut() = bytes_of(&object);
    send(&duo.client, back, 1, TF_ONE_WAY, &parcel)?;
    check_eq!(pending(&duo.client)?, [Return::TransactionComplete]);
    check_eq!(take(&duo.owner)?.objects()?, [NODE.object(Strength::Strong)]);
    Ok(())
}

/// The bytes of a flat object with any values.
fn bytes_of(object: &FlatObject) -> Vec<u8> {
    let mut bytes = object.kind.to_ne_bytes().to_vec();
    bytes.extend(object.flags.to_ne_bytes());
    bytes.extend(object.binder.to_ne_bytes());
    bytes.extend(object.cookie.to_ne_bytes());
    bytes
}

pub fn handle_of_a_dead_node_may_be_passed_on(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let Duo { owner, client, .. } = Duo::new(&stage)?;
    let held = stage.introduce(&owner, &client, NODE)?;
    let third = stage.actor()?;
    let to_third = stage.introduce(&third, &client, OTHER)?;
    send(&client, held, 1, 0, &Parcel::new())?;
    take(&owner)?.into_address();
    drop(owner);
    check_matches!(client.next_reply(limits::wait()), Err(Error::Dead(_)));
    // The owner held a node of the client's: this is the last news of it.
    client.read_until(limits::wait(), |entry| matches!(entry, Return::Decrefs(_)))?;
    let object = handle(Strength::Strong, held, 0);
    send(&client, to_third, 1, TF_ONE_WAY, &with(object))?;
    check_eq!(pending(&client)?, [Return::TransactionComplete]);
    let received = take(&third)?;
    check_eq!(received.objects()?, [handle(Strength::Strong, 1, 0)]);
    send(&third, 1, 1, 0, &Parcel::new())?;
    check_matches!(third.next_reply(limits::wait()), Err(Error::Dead(_)));
    Ok(())
}

pub fn objects_in_a_reply_are_translated(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, held, back) = with_way_back(&stage, Strength::Strong)?;
    send(&duo.client, back, 1, 0, &with(handle(Strength::Strong, held, 0)))?;
    let request = take(&duo.owner)?;
    check_eq!(request.objects()?, [NODE.object(Strength::Strong)]);
    let mut answer = Parcel::new();
    answer.object(&NODE.object(Strength::Weak)).object(&OTHER.object(Strength::Strong));
    answer.handle(duo.inbox);
    reply(&duo.owner, 0, &answer)?;
    let (received, _) = duo.client.next_reply(limits::wait())?;
    let objects = received.objects()?;
    check_eq!(objects[0], handle(Strength::Weak, held, 0));
    check_matches!(objects[1], Object::Handle { strength: Strength::Strong, .. });
    check_matches!(objects[2], Object::Binder { ptr: 0xf000, cookie: 0xf001, .. });
    Ok(())
}

pub fn refused_reply_leaves_no_reference_behind(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (duo, _, back) = with_way_back(&stage, Strength::Strong)?;
    send(&duo.client, back, 1, 0, &Parcel::new())?;
    take(&duo.owner)?.free()?;
    let mut answer = Parcel::new();
    answer.object(&OTHER.object(Strength::Strong)).handle(12345);
    reply(&duo.owner, 0, &answer)?;
    check_eq!(pending(&duo.owner)?, [Return::TransactionComplete]);
    check_matches!(duo.client.next_reply(limits::wait()), Err(Error::Failed(_)));
    check_eq!(duo.hand_over_one(Node::new(OTHER.ptr, 77))?, 3);
    Ok(())
}

pub fn bytes_around_objects_are_not_touched(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::from_bytes(*b"before--");
    parcel.binder(1, 2).bytes(b"between-between-").binder(3, 4).bytes(b"after");
    duo.give(&parcel)?;
    let received = take(&duo.client)?;
    let data = received.data();
    check_eq!(&data[..8], b"before--");
    check_eq!(&data[32..48], b"between-between-");
    check_eq!(&data[72..], b"after");
    check_eq!(received.offsets(), [8, 48]);
    Ok(())
}
