// SPDX-License-Identifier: GPL-2.0
//! Handles: their numbers and their counts.

use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::{check_eq, limits, Errno};

use crate::stage::duo::Duo;
use crate::stage::{dead_with, failed_with, pending, refused, round_trip, send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 0x11);

fn nodes(range: std::ops::Range<u64>) -> Vec<Node> {
    range.map(|n| Node::new(0x1000 + n * 8, n)).collect()
}

/// Checks that a handle is unknown.
fn unknown(duo: &Duo, handle: u32) -> Result<(), Failure> {
    failed_with(refused(&duo.client, handle, 0, &Parcel::new())?, Errno::EINVAL)
}

pub fn numbers_start_at_one_and_are_dense(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    check_eq!(duo.hand_over(&nodes(0..5), Strength::Strong)?, [1, 2, 3, 4, 5]);
    check_eq!(duo.hand_over(&nodes(5..8), Strength::Weak)?, [6, 7, 8]);
    Ok(())
}

pub fn each_process_numbers_for_itself(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    duo.hand_over(&nodes(0..5), Strength::Strong)?;
    let second = stage.actor()?;
    check_eq!(stage.introduce(&duo.owner, &second, nodes(4..5)[0])?, 1);
    Ok(())
}

pub fn same_node_has_the_same_number(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    check_eq!(duo.hand_over(&nodes(0..3), Strength::Strong)?, [1, 2, 3]);
    check_eq!(duo.hand_over(&nodes(0..3), Strength::Strong)?, [1, 2, 3]);
    check_eq!(duo.hand_over(&nodes(1..2), Strength::Weak)?, [2]);
    Ok(())
}

pub fn lowest_free_number_is_reused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    duo.hand_over(&nodes(0..8), Strength::Strong)?;
    duo.change(|commands| commands.release(6).release(2).release(4))?;
    check_eq!(duo.hand_over(&nodes(10..14), Strength::Strong)?, [2, 4, 6, 9]);
    Ok(())
}

pub fn number_is_free_only_when_both_counts_are_gone(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    duo.hand_over(&nodes(0..1), Strength::Strong)?;
    duo.change(|commands| commands.increfs(1).release(1))?;
    check_eq!(duo.hand_over(&nodes(1..2), Strength::Strong)?, [2]);
    duo.change(|commands| commands.decrefs(1))?;
    check_eq!(duo.hand_over(&nodes(2..3), Strength::Strong)?, [1]);
    Ok(())
}

pub fn counts_are_counted(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    duo.change(|commands| commands.acquire(handle).acquire(handle))?;
    duo.change(|commands| commands.release(handle).release(handle))?;
    round_trip(&duo.client, handle, &duo.owner)?;
    duo.change(|commands| commands.release(handle))?;
    unknown(&duo, handle)
}

pub fn underflow_is_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    duo.change(|commands| commands.decrefs(handle).decrefs(handle))?;
    round_trip(&duo.client, handle, &duo.owner)?;
    duo.change(|commands| {
        commands.increfs(handle).release(handle).release(handle).release(handle)
    })?;
    check_eq!(pending(&duo.owner)?, [Return::Release(NODE.name())]);
    duo.change(|commands| commands.decrefs(handle).decrefs(handle))?;
    check_eq!(pending(&duo.owner)?, [Return::Decrefs(NODE.name())]);
    check_eq!(pending(&duo.client)?, []);
    Ok(())
}

pub fn unknown_handles_are_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for handle in [1, 63, 64, 65, 4096, 1 << 31, u32::MAX] {
        duo.change(|commands| {
            commands.increfs(handle).acquire(handle).release(handle).decrefs(handle)
        })?;
        unknown(&duo, handle)?;
    }
    check_eq!(duo.hand_over_one(NODE)?, 1);
    Ok(())
}

pub fn weak_handle_cannot_be_acquired(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over(&[NODE], Strength::Weak)?[0];
    duo.change(|commands| commands.acquire(handle))?;
    check_eq!(pending(&duo.owner)?, [], "the owner hears of no strong reference");
    unknown(&duo, handle)?;
    duo.change(|commands| commands.decrefs(handle))?;
    check_eq!(pending(&duo.owner)?, [Return::Decrefs(NODE.name())]);
    Ok(())
}

pub fn weak_handle_cannot_be_called(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over(&[NODE], Strength::Weak)?[0];
    unknown(&duo, handle)?;
    let oneway = binder_client::uapi::TF_ONE_WAY;
    failed_with(refused(&duo.client, handle, oneway, &Parcel::new())?, Errno::EINVAL)
}

pub fn strong_object_makes_a_weak_handle_strong(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over(&[NODE], Strength::Weak)?[0];
    check_eq!(duo.hand_over_one(NODE)?, handle);
    round_trip(&duo.client, handle, &duo.owner)?;
    duo.change(|commands| commands.release(handle))?;
    check_eq!(pending(&duo.owner)?, [Return::Release(NODE.name())]);
    unknown(&duo, handle)
}

pub fn handle_of_a_dead_node_can_be_released(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let Duo { owner, client, .. } = Duo::new(&stage)?;
    let handle = stage.introduce(&owner, &client, NODE)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    take(&owner)?.into_address();
    drop(owner);
    binder_client::check_matches!(client.next_reply(limits::wait()), Err(_));
    // The owner held a node of the client's: this is the last news of it.
    client.read_until(limits::wait(), |entry| matches!(entry, Return::Decrefs(_)))?;
    let mut commands = binder_client::commands::Commands::new();
    commands.acquire(handle).release(handle).release(handle);
    client.write(&commands)?;
    failed_with(refused(&client, handle, 0, &Parcel::new())?, Errno::EINVAL)?;
    let third = stage.actor()?;
    check_eq!(stage.introduce(&third, &client, NODE)?, handle);
    send(&client, handle, 1, 0, &Parcel::new())?;
    take(&third)?.into_address();
    drop(third);
    binder_client::check_matches!(client.next_reply(limits::wait()), Err(_));
    let seen = refused(&client, handle, 0, &Parcel::new())?;
    dead_with(seen, seen.1.param)
}
