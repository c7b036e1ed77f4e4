// SPDX-License-Identifier: GPL-2.0
//! The deferred completion among other work, without any sleep.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::{TF_DEFER_COMPLETE, TF_ONE_WAY};
use binder_client::{check_eq, check_matches, limits};

use super::{echoes, pair, readable, serve};
use crate::stage::{pending, reply, send, take, Node, Stage};

const DONE: Return = Return::TransactionComplete;
const DEFER: u32 = TF_DEFER_COMPLETE;

pub fn deferred_completion_is_not_readable(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    reply(&server, DEFER, &Parcel::new())?;
    readable(&server, false)?;
    client.next_reply(limits::wait())?;
    send(&client, handle, 2, TF_ONE_WAY, &Parcel::new())?;
    readable(&server, true)
}

pub fn completion_without_the_flag_is_readable(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    reply(&server, !DEFER & 0xffff_fffe, &Parcel::new())?;
    readable(&server, true)?;
    check_eq!(pending(&server)?, [DONE]);
    Ok(())
}

pub fn read_that_does_not_wait_returns_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(DEFER, &parcel);
    let returns = server.write_read(&commands, READ_SIZE).ok()?;
    check_eq!(returns, [DONE]);
    check_eq!(pending(&server)?, [], "once");
    Ok(())
}

pub fn read_that_must_not_block_hands_out_the_completion_of_a_call(
    env: &Env,
) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    readable(&client, false)?;
    check_eq!(pending(&client)?, [DONE], "instead of EAGAIN");
    take(&server)?.free()?;
    reply(&server, 0, &Parcel::new())?;
    check_matches!(pending(&client)?[..], [Return::Reply(_)]);
    Ok(())
}

/// One call is answered with the flag; what the next read gives after that.
fn answered_then(
    env: &Env,
    next: impl FnOnce(&Session, u32) -> Result<(), Failure>,
) -> Result<Vec<Return>, Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    reply(&server, DEFER, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    next(&client, handle)?;
    server.read(limits::wait()).map_err(Failure::from)
}

pub fn next_call_comes_after_it_in_the_same_read(env: &Env) -> Result<(), Failure> {
    let returns = answered_then(env, |client, handle| send(client, handle, 2, 0, &Parcel::new()))?;
    check_matches!(returns[..], [DONE, Return::Transaction(incoming)] if incoming.code == 2);
    Ok(())
}

pub fn next_oneway_call_comes_after_it_in_the_same_read(env: &Env) -> Result<(), Failure> {
    let returns =
        answered_then(env, |client, handle| send(client, handle, 3, TF_ONE_WAY, &Parcel::new()))?;
    check_matches!(returns[..], [DONE, Return::Transaction(incoming)] if incoming.code == 3);
    Ok(())
}

pub fn process_work_that_was_there_before_comes_after_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let second = stage.actor()?;
    let to_server = stage.introduce(&server, &second, Node::new(0x2000, 2))?;
    serve(&client, handle, &server)?;
    send(&second, to_server, 4, 0, &Parcel::new())?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(DEFER, &parcel);
    let returns = server.write_read(&commands, READ_SIZE).ok()?;
    check_matches!(returns[..], [DONE, Return::Transaction(incoming)] if incoming.code == 4);
    Ok(())
}

pub fn announcements_of_nodes_come_before_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    let mut parcel = Parcel::new();
    parcel.binder(0x9000, 9);
    reply(&server, DEFER, &parcel)?;
    let (answer, _) = client.next_reply(limits::wait())?;
    check_eq!(answer.handle(0)?, 2);
    let returns = pending(&server)?;
    check_matches!(returns[..], [Return::Increfs(_), Return::Acquire(_), DONE]);
    Ok(())
}

pub fn completion_of_a_nested_reply_comes_before_the_outer_reply(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let back = stage.introduce(&client, &server, Node::new(0x3000, 3))?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    take(&server)?.free()?;
    send(&server, back, 2, 0, &Parcel::new())?;
    take(&client)?.free()?;
    reply(&client, DEFER, &Parcel::from_bytes(*b"inner"))?;
    readable(&client, false)?;
    check_eq!(server.next_reply(limits::wait())?.0.data(), b"inner");
    reply(&server, 0, &Parcel::from_bytes(*b"outer"))?;
    let returns = client.read(limits::wait())?;
    check_matches!(returns[..], [DONE, Return::Reply(_)]);
    Ok(())
}

pub fn completions_of_nested_replies_pile_up(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let back = stage.introduce(&client, &server, Node::new(0x3000, 3))?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    take(&server)?.free()?;
    let mut completions = 0;
    for code in 0..5 {
        send(&server, back, code, 0, &Parcel::new())?;
        let (request, returns) = client.next_transaction(limits::wait())?;
        completions += returns.iter().filter(|&entry| *entry == DONE).count();
        request.free()?;
        reply(&client, DEFER, &Parcel::new())?;
        server.next_reply(limits::wait())?.0.free()?;
    }
    reply(&server, 0, &Parcel::new())?;
    let (_, returns) = client.next_reply(limits::wait())?;
    completions += returns.iter().filter(|&entry| *entry == DONE).count();
    check_eq!(completions, 6, "one for the call and one for each reply");
    check_eq!(pending(&client)?, []);
    Ok(())
}

pub fn thread_exit_forgets_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    serve(&client, handle, &server)?;
    reply(&server, DEFER, &Parcel::new())?;
    server.device().thread_exit()?;
    let server = Session::primed(server.device())?;
    check_eq!(pending(&server)?, []);
    echoes(&stage, &server)
}
