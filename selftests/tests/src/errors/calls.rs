// SPDX-License-Identifier: GPL-2.0
//! Calls that fail at once.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::spawn_echo;
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{BC_ACQUIRE_RESULT, BC_ATTEMPT_ACQUIRE, TF_ONE_WAY};
use binder_client::{check_eq, check_matches, limits, Errno};

use crate::stage::{
    actor_on, dead_with, failed_with, no_manager, pending, refused, round_trip, send, take, Node,
    Stage,
};

const NODE: Node = Node::new(0x1000, 0x11);
const INVALID: i32 = -(Errno::EINVAL as i32);
const GONE: i32 = -(Errno::ESRCH as i32);

/// Both kinds of calls.
const KINDS: [u32; 2] = [0, TF_ONE_WAY];

pub fn unknown_handle_is_invalid(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    for handle in [1, 2, 64, 1 << 31, u32::MAX] {
        for flags in KINDS {
            failed_with(refused(&client, handle, flags, &Parcel::new())?, Errno::EINVAL)?;
        }
    }
    Ok(())
}

pub fn no_manager_is_dead(env: &Env) -> Result<(), Failure> {
    let client = actor_on(&env.device, Some(4096))?;
    no_manager(&client)?;
    for flags in KINDS {
        dead_with(refused(&client, 0, flags, &Parcel::new())?, INVALID)?;
    }
    Ok(())
}

pub fn manager_that_died_is_dead(env: &Env) -> Result<(), Failure> {
    let manager = spawn_echo(&env.device)?;
    let client = actor_on(&env.device, Some(4096))?;
    send(&client, 0, 1, 0, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    manager.kill()?;
    let manager = spawn_echo(&env.device)?;
    send(&client, 0, 1, 0, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    drop(manager);
    Ok(())
}

pub fn dead_owner_is_dead(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let held = stage.introduce(&client, &server, NODE)?;
    check_eq!(held, 1);
    drop(server);
    // It held a node of the client's, the last thing that it lets go.
    client.read_until(limits::wait(), |entry| matches!(entry, Return::Decrefs(_)))?;
    for flags in KINDS {
        let seen = refused(&client, handle, flags, &Parcel::new())?;
        dead_with(seen, INVALID)?;
    }
    Ok(())
}

/// Checks that calls to `server`, which has no mapping, are dead.
fn unmapped(client: &Session, handle: u32) -> Result<(), Failure> {
    for flags in KINDS {
        for parcel in [Parcel::new(), Parcel::from_bytes([1; 100])] {
            dead_with(refused(client, handle, flags, &parcel)?, GONE)?;
        }
    }
    Ok(())
}

pub fn target_without_a_mapping_is_dead(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor_without_map()?, stage.actor()?);
    // A oneway call announces the node: the server cannot receive a reply.
    let mut parcel = Parcel::new();
    parcel.object(&NODE.object(Strength::Strong)).u32(7);
    send(&server, 0, crate::stage::PUT, TF_ONE_WAY, &parcel)?;
    pending(&server)?;
    let handle = stage.obtain(&client, 7)?;
    unmapped(&client, handle)?;
    server.device().map(1 << 16)?;
    round_trip(&client, handle, &server)
}

pub fn target_that_unmapped_is_dead(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    round_trip(&client, handle, &server)?;
    server.device().unmap()?;
    unmapped(&client, handle)?;
    check_eq!(server.device().map(1 << 16), Err(Errno::EBUSY));
    Ok(())
}

pub fn target_that_unmapped_a_part_is_dead(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    round_trip(&client, handle, &server)?;
    let _rest = server.device().unmap_part(1 << 19, 4096)?;
    unmapped(&client, handle)
}

pub fn too_much_data_is_no_space(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor_with_map(1 << 14)?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let parcel = Parcel::from_bytes(vec![1; (1 << 14) + 1]);
    for flags in KINDS {
        failed_with(refused(&client, handle, flags, &parcel)?, Errno::ENOSPC)?;
    }
    round_trip(&client, handle, &server)
}

pub fn failed_call_is_not_seen_by_the_server(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let mut parcel = Parcel::from_bytes(*b"12345678");
    parcel.handle(4711);
    for flags in KINDS {
        failed_with(refused(&client, handle, flags, &parcel)?, Errno::EINVAL)?;
    }
    check_eq!(pending(&server)?, []);
    round_trip(&client, handle, &server)
}

pub fn failed_call_takes_no_room(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor_with_map(1 << 14)?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let mut parcel = Parcel::from_bytes(vec![1; 12 << 10]);
    parcel.handle(4711);
    for _ in 0..5 {
        failed_with(refused(&client, handle, 0, &parcel)?, Errno::EINVAL)?;
    }
    send(&client, handle, 1, 0, &Parcel::from_bytes(vec![2; 1 << 14]))?;
    check_eq!(take(&server)?.data(), vec![2; 1 << 14]);
    Ok(())
}

pub fn many_failures_in_a_row_leave_nothing_behind(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor_with_map(1 << 14)?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    for n in 0..300u32 {
        let mut parcel = Parcel::from_bytes(vec![1; n as usize]);
        parcel.binder(0x5000 + u64::from(n) * 8, 1).handle(100 + n);
        let flags = KINDS[n as usize % 2];
        failed_with(refused(&client, handle, flags, &parcel)?, Errno::EINVAL)?;
    }
    check_eq!(pending(&client)?, []);
    check_eq!(stage.introduce(&client, &server, NODE)?, 1);
    round_trip(&client, handle, &server)
}

pub fn unsupported_commands_are_invalid(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let mut first = Commands::new();
    first.command(BC_ACQUIRE_RESULT, &0i32);
    let mut second = Commands::new();
    second.command(BC_ATTEMPT_ACQUIRE, &[0u32; 2]);
    for commands in [first, second] {
        let outcome = client.write_read(&commands, 0);
        check_eq!((outcome.result, outcome.write_consumed), (Err(Errno::EINVAL), 0));
    }
    Ok(())
}

pub fn caller_without_a_mapping_may_send(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor_without_map()?);
    let number = stage.publish(&server, NODE, Strength::Strong)?;
    check_matches!(number, 1);
    send(&client, 0, 99, TF_ONE_WAY, &Parcel::from_bytes(*b"x"))?;
    check_eq!(pending(&client)?, [Return::TransactionComplete]);
    Ok(())
}
