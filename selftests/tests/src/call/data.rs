// SPDX-License-Identifier: GPL-2.0
//! What a call carries: data, code, flags, names.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{TransactionData, BC_REPLY, TF_ONE_WAY};
use binder_client::{check, check_eq, limits, Errno};

use super::{pair, NODE};
use crate::stage::{
    exchange, failed_with, pending, refused, reply, round_trip, send, take, Node, Stage,
};

const MIB: usize = 1 << 20;

/// Bytes that differ from place to place and from length to length.
fn pattern(length: usize) -> Vec<u8> {
    let byte = |at: usize| ((at * 31) ^ (at >> 8) ^ length) as u8;
    (0..length).map(byte).collect()
}

/// Sends `length` bytes there and back.
fn carry(client: &Session, handle: u32, server: &Session, length: usize) -> Result<(), Failure> {
    let parcel = Parcel::from_bytes(pattern(length));
    send(client, handle, 1, 0, &parcel)?;
    let request = take(server)?;
    check_eq!(request.incoming().data_size, length as u64);
    check!(request.data() == parcel.data(), "{length} bytes arrive unchanged");
    reply(server, 0, &parcel)?;
    request.free()?;
    check_eq!(pending(server)?, [Return::TransactionComplete]);
    let (answer, _) = client.next_reply(limits::wait())?;
    check!(answer.data() == parcel.data(), "{length} bytes come back unchanged");
    Ok(answer.free()?)
}

pub fn data_of_every_small_size_arrives_unchanged(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    for length in (0..=65).chain([127, 128, 129, 1000]) {
        carry(&client, handle, &server, length)?;
    }
    Ok(())
}

pub fn data_around_page_borders_arrives_unchanged(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    for length in [4088, 4095, 4096, 4097, 8191, 8192, 8200, 65535, 65536, 65537] {
        carry(&client, handle, &server, length)?;
    }
    Ok(())
}

pub fn one_mib_of_data_arrives_unchanged(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor_with_map(4 * MIB)?;
    let client = stage.actor_with_map(4 * MIB)?;
    let handle = stage.introduce(&server, &client, NODE)?;
    carry(&client, handle, &server, MIB)?;
    carry(&client, handle, &server, MIB + 8192)
}

pub fn the_whole_mapping_takes_one_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor_with_map(64 << 10)?;
    let client = stage.actor_with_map(64 << 10)?;
    let handle = stage.introduce(&server, &client, NODE)?;
    carry(&client, handle, &server, 64 << 10)?;
    let parcel = Parcel::from_bytes(pattern((64 << 10) + 1));
    failed_with(refused(&client, handle, 0, &parcel)?, Errno::ENOSPC)?;
    carry(&client, handle, &server, 64 << 10)
}

pub fn code_and_unknown_flags_reach_the_server(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let parcel = Parcel::new();
    for (code, flags) in [(0, 0), (u32::MAX, !TF_ONE_WAY), (0x8000_0001, 0x5a5a_5a5a)] {
        send(&client, handle, code, flags, &parcel)?;
        let request = take(&server)?;
        check_eq!((request.incoming().code, request.incoming().flags), (code, flags));
        reply(&server, 0, &parcel)?;
        client.next_reply(limits::wait())?.0.free()?;
        request.free()?;
        check_eq!(pending(&server)?, [Return::TransactionComplete]);
    }
    Ok(())
}

pub fn code_and_unknown_flags_of_a_reply_reach_the_client(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    let parcel = Parcel::new();
    for (code, flags) in [(0, 0), (u32::MAX, 0xffff_ff5c), (7, 0x5a5a_5a08)] {
        send(&client, handle, 1, 0, &parcel)?;
        let request = take(&server)?;
        let mut commands = Commands::new();
        commands.reply_with_code(code, flags, &parcel);
        server.write(&commands)?;
        let (answer, _) = client.next_reply(limits::wait())?;
        check_eq!((answer.incoming().code, answer.incoming().flags), (code, flags));
        answer.free()?;
        request.free()?;
        check_eq!(pending(&server)?, [Return::TransactionComplete]);
    }
    Ok(())
}

pub fn request_names_the_node_and_its_cookie(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor()?;
    let client = stage.actor()?;
    for node in [Node::new(1, u64::MAX), Node::new(u64::MAX - 1, 0), NODE] {
        let handle = stage.introduce(&server, &client, node)?;
        send(&client, handle, 1, 0, &Parcel::new())?;
        let request = take(&server)?;
        let told = (request.incoming().ptr, request.incoming().cookie);
        check_eq!(told, (node.ptr, node.cookie));
        reply(&server, 0, &Parcel::new())?;
        client.next_reply(limits::wait())?.0.free()?;
    }
    Ok(())
}

pub fn reply_names_no_node_and_no_sender(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let (answer, _) = exchange(&client, 0, 99, 0, &Parcel::from_bytes(*b"x"))?;
    let told = *answer.incoming();
    check_eq!((told.ptr, told.cookie, told.sender_pid), (0, 0, 0));
    Ok(())
}

pub fn target_and_cookie_of_a_reply_are_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    let _request = take(&server)?;
    let data = TransactionData {
        target: u64::MAX,
        cookie: u64::MAX,
        sender_pid: -1,
        sender_euid: 77,
        code: 5,
        ..Default::default()
    };
    let mut commands = Commands::new();
    commands.command(BC_REPLY, &data);
    server.write(&commands)?;
    let (answer, _) = client.next_reply(limits::wait())?;
    let told = *answer.incoming();
    check_eq!((told.ptr, told.cookie, told.code, told.sender_pid), (0, 0, 5, 0));
    check!(told.sender_euid != 77, "the sender's word on its user does not count");
    Ok(())
}

pub fn buffer_stays_readable_until_it_is_freed(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, server, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::from_bytes(*b"keep me"))?;
    let kept = take(&server)?;
    reply(&server, 0, &Parcel::new())?;
    check_eq!(pending(&server)?, [Return::TransactionComplete]);
    client.next_reply(limits::wait())?.0.free()?;
    for _ in 0..10 {
        round_trip(&client, handle, &server)?;
    }
    check_eq!(kept.data(), b"keep me");
    drop(client);
    check_eq!(kept.data(), b"keep me", "after the client is gone");
    Ok(())
}
