// SPDX-License-Identifier: GPL-2.0
//! Oneway calls whose sender, receiver or thread goes away.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::{check_eq, check_matches, limits};

use super::oneway;
use crate::stage::worker::Worker;
use crate::stage::{pending, pending_news, set_nonblock, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 1);
const DONE: Return = Return::TransactionComplete;

pub fn calls_survive_their_senders_end(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    for code in 0..4 {
        oneway(&client, handle, code, &Parcel::from_bytes([code as u8]))?;
    }
    drop(client);
    for code in 0..4 {
        let call = take(&server)?;
        check_eq!((call.incoming().code, call.data()), (code, vec![code as u8]));
        call.free()?;
    }
    // The calls kept the node; now its last user is gone.
    server.read_until(limits::wait(), |entry| matches!(entry, Return::Decrefs(_)))?;
    Ok(())
}

pub fn calls_to_a_dead_process_are_dead(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    // The end of the server is known when a call that it got is answered with it.
    crate::stage::send(&client, handle, 1, 0, &Parcel::new())?;
    take(&server)?.into_address();
    drop(server);
    check_matches!(client.next_reply(limits::wait()), Err(_));
    let start = std::time::Instant::now();
    // Its threads end before its nodes: a call may still slip in between.
    while oneway(&client, handle, 2, &Parcel::new())? != Return::DeadReply {
        if start.elapsed() > limits::wait() {
            return Err(Failure::new("a call to a dead process", "BR_DEAD_REPLY", "success"));
        }
    }
    check_eq!(pending(&client)?, []);
    Ok(())
}

pub fn queued_calls_vanish_with_their_receiver(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let mut parcel = Parcel::new();
    parcel.binder(0x4000, 4);
    for code in 0..5 {
        let mut commands = Commands::new();
        commands.transaction(handle, code, binder_client::uapi::TF_ONE_WAY, &parcel);
        client.write(&commands)?;
    }
    let returns = pending(&client)?;
    crate::stage::acknowledge(&client, &returns)?;
    take(&server)?.into_address();
    drop(server);
    // What the calls carried is let go: the one that was read and those that were not.
    let rest = client.read_until(limits::wait(), |entry| matches!(entry, Return::Decrefs(_)))?;
    check_matches!(rest[..], [Return::Release(_), Return::Decrefs(_)]);
    check_eq!(pending_news(&client)?, []);
    Ok(())
}

pub fn last_reference_may_go_while_calls_are_queued(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    for code in 0..3 {
        oneway(&client, handle, code, &Parcel::new())?;
    }
    let mut commands = Commands::new();
    commands.release(handle);
    client.write(&commands)?;
    for code in 0..3 {
        let call = take(&server)?;
        check_eq!(call.incoming().code, code);
        call.free()?;
    }
    let returns = pending(&server)?;
    check_eq!(returns, [Return::Release(NODE.name()), Return::Decrefs(NODE.name())]);
    Ok(())
}

pub fn thread_that_exits_with_an_undelivered_call_frees_it(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor_with_map(64 << 10)?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let sleeper = Worker::spawn()?;
    let session = server.clone();
    sleeper.run(move || Ok(Session::primed(session.device()).map(drop)?))?;
    set_nonblock(&server, false)?;
    let session = server.clone();
    // No room for a call: it stays in the queue of the thread that was woken.
    let read = sleeper.start(move || session.write_read(&Commands::new(), 8))?;
    sleeper.wait_asleep()?;
    let parcel = Parcel::from_bytes(vec![0; 20 << 10]);
    check_eq!(oneway(&client, handle, 1, &parcel)?, DONE);
    check_eq!(read.wait()?.ok()?, []);
    set_nonblock(&server, true)?;
    let session = server.clone();
    sleeper.run(move || Ok(session.device().thread_exit()?))?;
    check_eq!(oneway(&client, handle, 2, &parcel)?, DONE, "its room is free again");
    check_eq!(take(&server)?.incoming().code, 2, "the next call is delivered");
    Ok(())
}
