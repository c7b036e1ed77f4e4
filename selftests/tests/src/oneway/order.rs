// SPDX-License-Identifier: GPL-2.0
//! The queue of each node.

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::{check_eq, limits};

use super::oneway;
use crate::stage::worker::Worker;
use crate::stage::{pending, reply, round_trip, send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 1);
const OTHER: Node = Node::new(0x2000, 2);
const DONE: Return = Return::TransactionComplete;

pub fn oneway_call_completes_without_a_reader(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    check_eq!(oneway(&client, handle, 1, &Parcel::new())?, DONE);
    check_eq!(oneway(&client, handle, 2, &Parcel::new())?, DONE);
    Ok(())
}

pub fn calls_to_one_node_arrive_in_order(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    for code in 0..100 {
        let parcel = Parcel::from_bytes(vec![code as u8; code as usize]);
        check_eq!(oneway(&client, handle, code, &parcel)?, DONE);
    }
    for code in 0..100 {
        let call = take(&server)?;
        check_eq!(call.incoming().code, code);
        check_eq!(call.data(), vec![code as u8; code as usize]);
        call.free()?;
    }
    check_eq!(pending(&server)?, []);
    Ok(())
}

pub fn only_one_call_of_a_node_is_out_at_a_time(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    for code in 0..5 {
        oneway(&client, handle, code, &Parcel::new())?;
    }
    let other = Worker::spawn()?;
    for code in 0..5 {
        let call = take(&server)?;
        check_eq!(call.incoming().code, code);
        check_eq!(pending(&server)?, [], "while call {code} is not freed");
        let session = server.clone();
        check_eq!(other.run(move || pending(&session))?, [], "for another thread");
        call.free()?;
    }
    Ok(())
}

pub fn order_holds_over_many_threads(env: &Env) -> Result<(), Failure> {
    const CALLS: u32 = 60;
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    // Blocking readers: the driver wakes any of them.
    crate::stage::set_nonblock(&server, false)?;
    let (sender, seen) = std::sync::mpsc::channel();
    for _ in 0..4 {
        let (session, sender) = (server.clone(), sender.clone());
        let worker = Worker::spawn()?;
        worker.start(move || loop {
            let Ok(call) = take(&session) else { return };
            let code = call.incoming().code;
            if sender.send(code).is_err() || call.free().is_err() {
                return;
            }
        })?;
    }
    for code in 0..CALLS {
        check_eq!(oneway(&client, handle, code, &Parcel::new())?, DONE);
    }
    for code in 0..CALLS {
        check_eq!(seen.recv_timeout(limits::wait())?, code);
    }
    Ok(())
}

pub fn calls_of_two_clients_to_one_node_are_one_queue(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor()?;
    let clients = [stage.actor()?, stage.actor()?];
    let number = stage.publish(&server, NODE, binder_client::object::Strength::Strong)?;
    let handles = [stage.obtain(&clients[0], number)?, stage.obtain(&clients[1], number)?];
    let from = [0, 1, 1, 0, 1, 0, 0, 1];
    for (code, &from) in from.iter().enumerate() {
        oneway(&clients[from], handles[from], code as u32, &Parcel::new())?;
    }
    for code in 0..from.len() {
        let call = take(&server)?;
        check_eq!(call.incoming().code, code as u32);
        check_eq!(pending(&server)?, []);
        call.free()?;
    }
    Ok(())
}

pub fn other_nodes_are_not_blocked(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let other = stage.introduce(&server, &client, OTHER)?;
    oneway(&client, handle, 1, &Parcel::new())?;
    oneway(&client, handle, 2, &Parcel::new())?;
    oneway(&client, other, 3, &Parcel::new())?;
    let first = take(&server)?;
    check_eq!(first.incoming().code, 1);
    let third = take(&server)?;
    check_eq!((third.incoming().code, third.incoming().ptr), (3, OTHER.ptr));
    check_eq!(pending(&server)?, []);
    third.free()?;
    check_eq!(pending(&server)?, [], "the other node's end frees nothing here");
    first.free()?;
    check_eq!(take(&server)?.incoming().code, 2);
    Ok(())
}

pub fn synchronous_calls_are_not_blocked(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    oneway(&client, handle, 1, &Parcel::new())?;
    let first = take(&server)?;
    oneway(&client, handle, 2, &Parcel::new())?;
    for _ in 0..3 {
        round_trip(&client, handle, &server)?;
    }
    first.free()?;
    check_eq!(take(&server)?.incoming().code, 2);
    Ok(())
}

pub fn unfreed_call_holds_back_exactly_its_own_queue(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    let other = stage.introduce(&server, &client, OTHER)?;
    oneway(&client, handle, 0, &Parcel::new())?;
    let unfreed = take(&server)?;
    for code in 1..=3 {
        oneway(&client, handle, code, &Parcel::new())?;
    }
    round_trip(&client, handle, &server)?;
    oneway(&client, other, 9, &Parcel::new())?;
    let elsewhere = take(&server)?;
    check_eq!(elsewhere.incoming().code, 9);
    elsewhere.free()?;
    check_eq!(pending(&server)?, [], "the three wait");
    unfreed.free()?;
    let next = take(&server)?;
    check_eq!(next.incoming().code, 1);
    check_eq!(pending(&server)?, [], "exactly one more");
    Ok(())
}

pub fn replying_without_freeing_does_not_advance_the_queue(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    oneway(&client, handle, 1, &Parcel::new())?;
    oneway(&client, handle, 2, &Parcel::new())?;
    let first = take(&server)?;
    send(&client, handle, 5, 0, &Parcel::new())?;
    let request = take(&server)?;
    check_eq!(request.incoming().code, 5);
    reply(&server, 0, &Parcel::new())?;
    request.free()?;
    check_eq!(pending(&server)?, [DONE]);
    first.free()?;
    check_eq!(take(&server)?.incoming().code, 2);
    Ok(())
}

pub fn each_of_many_nodes_has_one_call_out(env: &Env) -> Result<(), Failure> {
    const NODES: u64 = 40;
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let mut handles = Vec::new();
    for n in 1..=NODES {
        handles.push(stage.introduce(&server, &client, Node::new(n * 16, n))?);
    }
    for round in 0..2 {
        for &handle in &handles {
            oneway(&client, handle, round, &Parcel::new())?;
        }
    }
    let mut held = Vec::new();
    for n in 1..=NODES {
        let call = take(&server)?;
        check_eq!((call.incoming().code, call.incoming().cookie), (0, n));
        held.push(call);
    }
    check_eq!(pending(&server)?, []);
    for call in held.drain(..).rev() {
        let cookie = call.incoming().cookie;
        call.free()?;
        let next = take(&server)?;
        check_eq!((next.incoming().code, next.incoming().cookie), (1, cookie));
    }
    Ok(())
}
