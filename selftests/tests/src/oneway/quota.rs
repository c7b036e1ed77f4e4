// SPDX-License-Identifier: GPL-2.0
//! The share of the mapping that oneway calls may fill.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check_eq, check_matches, limits, Errno};

use super::oneway;
use crate::stage::{failed_with, pending, refused, reply, round_trip, send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 1);
const MAP: usize = 64 << 10;
const HALF: usize = MAP / 2;
const DONE: Return = Return::TransactionComplete;

/// A server with a mapping of `map` bytes, a client, its handle.
fn pair(stage: &Stage, map: usize) -> Result<(Session, Session, u32), Failure> {
    let (server, client) = (stage.actor_with_map(map)?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    Ok((server, client, handle))
}

/// A parcel of `length` bytes.
fn bytes(length: usize) -> Parcel {
    Parcel::from_bytes(vec![0x5a; length])
}

/// Checks that a oneway call has no room.
fn no_room(client: &Session, handle: u32, parcel: &Parcel) -> Result<(), Failure> {
    failed_with(refused(client, handle, TF_ONE_WAY, parcel)?, Errno::ENOSPC)
}

/// Receives and frees until the queue is empty; returns how many there were.
fn drain(server: &Session) -> Result<usize, Failure> {
    let mut count = 0;
    loop {
        let returns = pending(server)?;
        let mut commands = Commands::new();
        for entry in &returns {
            if let Return::Transaction(incoming) = entry {
                commands.free_buffer(incoming.buffer);
                count += 1;
            }
        }
        if returns.is_empty() {
            return Ok(count);
        }
        server.write(&commands)?;
    }
}

pub fn half_of_the_mapping_and_not_a_byte_more(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    no_room(&client, handle, &bytes(HALF + 1))?;
    check_eq!(oneway(&client, handle, 1, &bytes(HALF))?, DONE);
    no_room(&client, handle, &bytes(0))?;
    check_eq!(drain(&server)?, 1);
    check_eq!(oneway(&client, handle, 1, &bytes(HALF - 7))?, DONE, "rounded up");
    no_room(&client, handle, &bytes(0))
}

pub fn many_small_calls_fill_exactly_half(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    for round in 0..3 {
        for n in 0..HALF / 2048 {
            check_eq!(oneway(&client, handle, 1, &bytes(2048))?, DONE, "{round}.{n}");
        }
        no_room(&client, handle, &bytes(1))?;
        check_eq!(drain(&server)?, HALF / 2048);
    }
    Ok(())
}

pub fn empty_calls_use_eight_bytes_each(env: &Env) -> Result<(), Failure> {
    const SMALL: usize = 8192;
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, SMALL)?;
    let empty = Parcel::new();
    let count = SMALL / 2 / 8;
    let mut commands = Commands::new();
    for _ in 0..count {
        commands.transaction(handle, 1, TF_ONE_WAY, &empty);
    }
    for _ in 0..2 {
        client.write(&commands)?;
        check_eq!(pending(&client)?, vec![DONE; count]);
        no_room(&client, handle, &empty)?;
        check_eq!(drain(&server)?, count);
    }
    Ok(())
}

pub fn objects_and_offsets_count(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (_server, client, handle) = pair(&stage, MAP)?;
    let mut parcel = bytes(HALF - 24 - 8);
    parcel.binder(0x9000, 0);
    check_eq!(parcel.data().len() + 8, HALF);
    check_eq!(client_completion(&client, handle, &parcel)?, DONE);
    no_room(&client, handle, &bytes(0))?;
    let mut parcel = bytes(HALF - 24);
    parcel.binder(0x9000, 0);
    no_room(&client, handle, &parcel)
}

/// The completion of a oneway call that tells the client of a reference, too.
fn client_completion(client: &Session, handle: u32, parcel: &Parcel) -> Result<Return, Failure> {
    let mut commands = Commands::new();
    commands.transaction(handle, 1, TF_ONE_WAY, parcel);
    let returns = client.write_read(&commands, READ_SIZE).ok()?;
    check_matches!(returns[..], [Return::Increfs(_), Return::Acquire(_), _]);
    crate::stage::acknowledge(client, &returns)?;
    Ok(returns[2])
}

pub fn freed_calls_give_their_share_back(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    for _ in 0..4 {
        oneway(&client, handle, 1, &bytes(HALF / 4))?;
    }
    no_room(&client, handle, &bytes(8))?;
    for _ in 0..8 {
        take(&server)?.free()?;
        check_eq!(oneway(&client, handle, 1, &bytes(HALF / 4))?, DONE);
        no_room(&client, handle, &bytes(8))?;
    }
    Ok(())
}

pub fn synchronous_calls_have_the_other_half(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    oneway(&client, handle, 1, &bytes(HALF))?;
    let held = take(&server)?;
    round_trip(&client, handle, &server)?;
    send(&client, handle, 1, 0, &bytes(HALF))?;
    let request = take(&server)?;
    check_eq!(request.data().len(), HALF);
    reply(&server, 0, &bytes(0))?;
    client.next_reply(limits::wait())?.0.free()?;
    request.free()?;
    held.free()?;
    check_eq!(pending(&server)?, [DONE]);
    Ok(())
}

pub fn synchronous_calls_may_take_everything(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    send(&client, handle, 1, 0, &bytes(MAP))?;
    let request = take(&server)?;
    reply(&server, 0, &bytes(0))?;
    client.next_reply(limits::wait())?.0.free()?;
    no_room(&client, handle, &bytes(0))?;
    request.free()?;
    check_eq!(oneway(&client, handle, 1, &bytes(HALF))?, DONE);
    Ok(())
}

pub fn mapping_above_four_mib_counts_as_four(env: &Env) -> Result<(), Failure> {
    const MIB: usize = 1 << 20;
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 8 * MIB)?;
    no_room(&client, handle, &bytes(2 * MIB + 1))?;
    check_eq!(oneway(&client, handle, 1, &bytes(2 * MIB))?, DONE);
    take(&server)?.free()?;
    failed_with(refused(&client, handle, 0, &bytes(4 * MIB + 1))?, Errno::ENOSPC)
}

pub fn failed_call_gives_its_share_back(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (_server, client, handle) = pair(&stage, MAP)?;
    let mut parcel = bytes(HALF / 2);
    parcel.handle(55);
    for _ in 0..5 {
        failed_with(refused(&client, handle, TF_ONE_WAY, &parcel)?, Errno::EINVAL)?;
    }
    check_eq!(oneway(&client, handle, 1, &bytes(HALF))?, DONE);
    Ok(())
}

pub fn reply_with_the_oneway_bit_is_not_charged(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor()?;
    let client = stage.actor_with_map(MAP)?;
    let handle = stage.introduce(&server, &client, NODE)?;
    send(&client, handle, 1, 0, &bytes(0))?;
    take(&server)?.free()?;
    reply(&server, TF_ONE_WAY, &bytes(HALF + 8))?;
    check_eq!(pending(&server)?, [DONE]);
    let (answer, _) = client.next_reply(limits::wait())?;
    check_eq!(answer.data().len(), HALF + 8);
    Ok(())
}
