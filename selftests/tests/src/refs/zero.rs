// SPDX-License-Identifier: GPL-2.0
//! Handle 0: the manager's node.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::{become_manager, spawn_manager, Answer};
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::{BC_ACQUIRE, BC_INCREFS, TF_ONE_WAY};
use binder_client::{check_eq, Errno};

use crate::stage::{actor_on, dead_with, exchange, failed_with, no_manager, refused, Stage};

/// A manager that replies with its own node.
fn spawn_revealing(env: &Env) -> Result<Peer, Failure> {
    spawn_manager(&env.device, |_| {
        let mut parcel = Parcel::new();
        parcel.binder(0, 0);
        Ok(Answer::Reply(parcel))
    })
}

/// The number by which the manager's node arrives; its reference is taken.
fn revealed(client: &Session) -> Result<u32, Failure> {
    let (answer, _) = exchange(client, 0, 1, 0, &Parcel::new())?;
    let handle = answer.handle(0)?;
    let mut commands = Commands::new();
    commands.acquire(handle);
    client.write(&commands)?;
    answer.free()?;
    Ok(handle)
}

/// A oneway call to the broker with one handle in it.
fn with_handle(strength: Strength, handle: u32) -> Parcel {
    let mut parcel = Parcel::new();
    parcel.object(&Object::Handle { strength, handle, cookie: 0, flags: 0 });
    parcel
}

fn accepted(client: &Session, parcel: &Parcel) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.transaction(0, 99, TF_ONE_WAY, parcel);
    let returns = client.write_read(&commands, READ_SIZE).ok()?;
    check_eq!(returns, [binder_client::returns::Return::TransactionComplete]);
    Ok(())
}

pub fn calls_to_zero_need_no_reference(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    check_eq!(stage.echo(&client, b"a")?, b"a");
    let mut commands = Commands::new();
    commands.release(0).decrefs(0);
    client.write(&commands)?;
    check_eq!(stage.echo(&client, b"b")?, b"b");
    Ok(())
}

pub fn reference_to_zero_is_made_by_acquiring_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let parcel = with_handle(Strength::Strong, 0);
    let mut commands = Commands::new();
    commands.acquire(0);
    client.write(&commands)?;
    accepted(&client, &parcel)?;
    let mut commands = Commands::new();
    commands.release(0);
    client.write(&commands)?;
    failed_with(refused(&client, 0, TF_ONE_WAY, &parcel)?, Errno::EINVAL)
}

pub fn weak_reference_to_zero_is_made_by_increfs(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let mut commands = Commands::new();
    commands.increfs(0);
    client.write(&commands)?;
    accepted(&client, &with_handle(Strength::Weak, 0))?;
    let strong = with_handle(Strength::Strong, 0);
    failed_with(refused(&client, 0, TF_ONE_WAY, &strong)?, Errno::EINVAL)?;
    check_eq!(stage.echo(&client, b"callable all the same")?, b"callable all the same");
    Ok(())
}

pub fn zero_as_an_object_needs_a_reference(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    for strength in [Strength::Strong, Strength::Weak] {
        let parcel = with_handle(strength, 0);
        failed_with(refused(&client, 0, TF_ONE_WAY, &parcel)?, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn manager_cannot_refer_to_itself_as_zero(env: &Env) -> Result<(), Failure> {
    let manager = actor_on(&env.device, Some(4096))?;
    become_manager(manager.device())?;
    for command in [BC_INCREFS, BC_ACQUIRE] {
        let mut commands = Commands::new();
        commands.enter_looper();
        let before = commands.len() as u64;
        commands.command(command, &0u32);
        let outcome = manager.write_read(&commands, 0);
        let seen = (outcome.result, outcome.write_consumed);
        check_eq!(seen, (Err(Errno::EINVAL), before));
    }
    Ok(())
}

pub fn without_a_manager_nothing_is_made(env: &Env) -> Result<(), Failure> {
    let client = actor_on(&env.device, Some(4096))?;
    no_manager(&client)?;
    let mut commands = Commands::new();
    commands.increfs(0).acquire(0).release(0).decrefs(0);
    client.write(&commands)?;
    let seen = refused(&client, 0, 0, &Parcel::new())?;
    dead_with(seen, -(Errno::EINVAL as i32))
}

pub fn managers_node_arrives_as_zero(env: &Env) -> Result<(), Failure> {
    let _manager = spawn_revealing(env)?;
    let client = actor_on(&env.device, Some(1 << 16))?;
    check_eq!(revealed(&client)?, 0);
    check_eq!(revealed(&client)?, 0, "again");
    Ok(())
}

pub fn managers_node_gets_another_number_where_zero_is_taken(env: &Env) -> Result<(), Failure> {
    let first = spawn_revealing(env)?;
    let client = actor_on(&env.device, Some(1 << 16))?;
    check_eq!(revealed(&client)?, 0);
    first.kill()?;
    let _second = spawn_revealing(env)?;
    // Zero as a target is the manager of now; as a name it is still taken.
    check_eq!(revealed(&client)?, 1);
    let mut commands = Commands::new();
    commands.release(0);
    client.write(&commands)?;
    check_eq!(revealed(&client)?, 1, "the number is kept");
    Ok(())
}
