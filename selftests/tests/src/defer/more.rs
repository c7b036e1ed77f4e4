// SPDX-License-Identifier: GPL-2.0
//! Room, blocks, and several replies; a process that ends with a completion unread.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::{TransactionDataSg, BC_REPLY_SG, TF_DEFER_COMPLETE};
use binder_client::{check_eq, check_matches, limits};

use super::{echoes, pair, readable, serve};
use crate::stage::{pending, reply, send, take, Stage};

/// Room for a `BR_NOOP` and one item of the largest kind, but not for a completion before it.
const ONE: usize = 4 + 76;

pub fn buffer_too_small_for_both_holds_the_completion(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    reply(&server, TF_DEFER_COMPLETE, &Parcel::new())?;
    let other = stage.actor()?;
    let again = stage.introduce(&server, &other, super::NODE)?;
    pending(&server)?;
    serve(&other, again, &server)?;
    reply(&server, TF_DEFER_COMPLETE, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    send(&client, handle, 2, 0, &Parcel::new())?;
    let first = server.write_read(&Commands::new(), ONE).ok()?;
    check_eq!(first, [Return::TransactionComplete]);
    let next = server.write_read(&Commands::new(), ONE).ok()?;
    check_matches!(next[..], [Return::Transaction(incoming)] if incoming.code == 2);
    Ok(())
}

pub fn reply_with_blocks_is_deferred_as_well(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    let parcel = Parcel::from_bytes(*b"in blocks");
    let data = TransactionDataSg {
        transaction: parcel.transaction_data(0, 0, TF_DEFER_COMPLETE),
        buffers_size: 64,
    };
    let mut commands = Commands::new();
    commands.command(BC_REPLY_SG, &data);
    server.write(&commands)?;
    readable(&server, false)?;
    check_eq!(client.next_reply(limits::wait())?.0.data(), b"in blocks");
    send(&client, handle, 5, 0, &Parcel::new())?;
    let all = server.read(limits::wait())?;
    check_matches!(
        all[..],
        [Return::TransactionComplete, Return::Transaction(incoming)]
            if incoming.code == 5
    );
    Ok(())
}

pub fn replies_in_one_write_complete_one_by_one(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    // The server calls back while it serves, and is called again meanwhile: it serves two.
    let node = crate::stage::Node::new(0x9000, 9);
    let back = stage.introduce(&client, &server, node)?;
    serve(&client, handle, &server)?;
    send(&server, back, 1, 0, &Parcel::new())?;
    take(&client)?.free()?;
    send(&client, handle, 2, 0, &Parcel::new())?;
    let nested = server.read_until(limits::wait(), |it| matches!(it, Return::Transaction(_)))?;
    check_matches!(nested.last(), Some(Return::Transaction(incoming)) if incoming.code == 2);
    // The inner one deferred, and what cannot be answered yet is refused at once.
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(TF_DEFER_COMPLETE, &parcel).reply(TF_DEFER_COMPLETE, &parcel);
    server.write(&commands)?;
    let told = pending(&server)?;
    check_eq!(told, [Return::TransactionComplete, Return::FailedReply]);
    Ok(())
}

pub fn end_of_the_file_with_a_completion_unread(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    for _ in 0..20 {
        let (server, client, handle) = pair(&stage)?;
        serve(&client, handle, &server)?;
        reply(&server, TF_DEFER_COMPLETE, &Parcel::from_bytes(*b"last words"))?;
        drop(server);
        check_eq!(client.next_reply(limits::wait())?.0.data(), b"last words");
        echoes(&stage, &client)?;
    }
    Ok(())
}

pub fn call_handed_to_the_waiting_thread_comes_after_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    // The server waits for its own call, on which the client calls it back.
    let node = crate::stage::Node::new(0x9000, 9);
    let back = stage.introduce(&client, &server, node)?;
    serve(&client, handle, &server)?;
    send(&server, back, 1, 0, &Parcel::new())?;
    take(&client)?.free()?;
    send(&client, handle, 2, 0, &Parcel::new())?;
    take(&server)?.free()?;
    reply(&server, TF_DEFER_COMPLETE, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    send(&client, handle, 3, 0, &Parcel::new())?;
    let all = server.read(limits::wait())?;
    check_matches!(
        all[..],
        [Return::TransactionComplete, Return::Transaction(incoming)]
            if incoming.code == 3
    );
    Ok(())
}
