// SPDX-License-Identifier: GPL-2.0
//! What comes when: completions, replies, failures, ends.

use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::spawn_echo;
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::READ_SIZE;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, check_eq, check_matches, limits};

use super::{pair, NODE};
use crate::stage::worker::Worker;
use crate::stage::{actor_on, pending, reply, round_trip, send, take, Node, Stage};

pub fn two_files_of_one_process_can_call_each_other(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let back = stage.introduce(&client, &server, Node::new(0x77, 0))?;
    round_trip(&client, handle, &server)?;
    round_trip(&server, back, &client)
}

pub fn completion_and_reply_come_in_one_read(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    send(&client, 0, 99, 0, &Parcel::new())?;
    let returns = client.read(limits::wait())?;
    check_matches!(returns[..], [Return::TransactionComplete, Return::Reply(_)]);
    Ok(())
}

pub fn completion_of_a_call_is_no_reason_to_return(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    check!(
        !client.readable(Duration::ZERO)?,
        "a call that is only accepted leaves nothing to read"
    );
    let _request = take(&server)?;
    reply(&server, 0, &Parcel::new())?;
    let returns = client.read(limits::wait())?;
    check_matches!(returns[..], [Return::TransactionComplete, Return::Reply(_)]);
    Ok(())
}

pub fn completion_of_a_reply_is_ready_at_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    let _request = take(&server)?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(0, &parcel);
    let outcome = server.write_read(&commands, READ_SIZE);
    check_eq!(outcome.ok()?, [Return::TransactionComplete]);
    Ok(())
}

pub fn client_makes_one_ioctl_per_call(env: &Env) -> Result<(), Failure> {
    let _echo = spawn_echo(&env.device)?;
    let client = env.session()?;
    let parcel = Parcel::from_bytes(*b"count me");
    let mut free = None;
    let before = client.device().ioctls();
    for _ in 0..20 {
        let mut commands = Commands::new();
        if let Some(address) = free.take() {
            commands.free_buffer(address);
        }
        commands.transaction(0, 1, 0, &parcel);
        let returns = client.write_read(&commands, READ_SIZE).ok()?;
        let [Return::TransactionComplete, Return::Reply(incoming)] = returns[..] else {
            return Err(Failure::new("a call", "its reply in one ioctl", format!("{returns:?}")));
        };
        let answer = client.received(incoming)?;
        check_eq!(answer.data(), parcel.data());
        free = Some(answer.into_address());
    }
    check_eq!(client.device().ioctls() - before, 20, "ioctls for 20 calls");
    Ok(())
}

pub fn failed_command_stops_the_write_buffer(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(99, 1, 0, &parcel);
    let first = commands.len();
    commands.transaction(handle, 2, TF_ONE_WAY, &parcel);
    let outcome = client.write_read(&commands, READ_SIZE);
    check_eq!(outcome.write_consumed, first as u64);
    check_eq!(outcome.ok()?, [Return::FailedReply]);
    commands.consume(first);
    client.write(&commands)?;
    check_eq!(pending(&client)?, [Return::TransactionComplete]);
    check_eq!(take(&server)?.incoming().code, 2);
    Ok(())
}

pub fn undelivered_failure_blocks_further_commands(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let parcel = Parcel::new();
    send(&client, 99, 1, 0, &parcel)?;
    let mut commands = Commands::new();
    commands.transaction(handle, 2, TF_ONE_WAY, &parcel);
    let outcome = client.write_read(&commands, 0);
    check_eq!((outcome.result, outcome.write_consumed), (Ok(()), 0));
    check_eq!(pending(&client)?, [Return::FailedReply]);
    check_eq!(pending(&server)?, []);
    Ok(())
}

pub fn threads_of_a_client_call_independently(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let workers = [Worker::spawn()?, Worker::spawn()?];
    for (code, worker) in workers.iter().enumerate() {
        let client = client.clone();
        worker.run(move || send(&client, handle, code as u32, 0, &Parcel::new()))?;
    }
    // One thread can serve the second call only after it answered the first.
    let others = [Worker::spawn()?, Worker::spawn()?];
    for (code, worker) in others.iter().enumerate() {
        let server = server.clone();
        let request = worker.run(move || Ok(*take(&server)?.incoming()))?;
        check_eq!(request.code, code as u32);
    }
    // The replies go out in the opposite order.
    for (code, worker) in others.iter().enumerate().rev() {
        let server = server.clone();
        worker.run(move || reply(&server, 0, &Parcel::from_bytes([code as u8])))?;
    }
    for (code, worker) in workers.iter().enumerate() {
        let client = client.clone();
        let data = worker.run(move || Ok(client.next_reply(limits::wait())?.0.data()))?;
        check_eq!(data, [code as u8], "reply of the thread's own call");
    }
    Ok(())
}

pub fn request_survives_its_senders_end(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor()?;
    let number = stage.publish(&server, NODE, Strength::Strong)?;
    let path = env.device.clone();
    let client = Peer::spawn(|channel| {
        let client = actor_on(&path, Some(4096))?;
        let handle = stage.obtain(&client, number)?;
        send(&client, handle, 1, 0, &Parcel::from_bytes(*b"from the dead"))?;
        channel.signal()?;
        channel.wait()
    })?;
    client.wait()?;
    client.kill()?;
    let request = take(&server)?;
    check_eq!(request.data(), b"from the dead");
    reply(&server, 0, &Parcel::new())?;
    check_eq!(pending(&server)?, [Return::TransactionComplete], "the reply is accepted");
    check_eq!(stage.echo(&server, b"still works")?, b"still works");
    Ok(())
}

pub fn callers_learn_of_the_servers_end(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    for served in [false, true] {
        let (client, server, handle) = pair(&stage)?;
        send(&client, handle, 1, 0, &Parcel::new())?;
        if served {
            take(&server)?.into_address();
        }
        drop(server);
        check_matches!(client.next_reply(limits::wait()), Err(Error::Dead(_)));
        check_eq!(pending(&client)?, [], "told exactly once");
    }
    Ok(())
}
