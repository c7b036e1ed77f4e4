// SPDX-License-Identifier: GPL-2.0
//! Many who put handles into one table at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Barrier};

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::session::Session;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, check_eq};

use crate::stage::worker::{Pending, Worker};
use crate::stage::{acknowledge, pending, take, Node, Stage};

/// Those who send.
const SENDERS: u64 = 8;
/// Calls of each of them.
const CALLS: u64 = 40;
/// Nodes in each call.
const NODES: u64 = 10;
/// The node by which the receiver is reached.
const INBOX: Node = Node::new(0xf000, 0xf001);

/// A thread that sends, and what comes of it.
type Running = (Worker, Pending<Result<(), Failure>>);

/// Sends nodes in calls of [`NODES`], and confirms what is to be confirmed.
fn send_all(session: &Session, inbox: u32, nodes: &[Node]) -> Result<(), Failure> {
    for part in nodes.chunks(NODES as usize) {
        let mut parcel = Parcel::new();
        for node in part {
            parcel.object(&node.object(Strength::Strong));
        }
        let mut commands = Commands::new();
        commands.transaction(inbox, 1, TF_ONE_WAY, &parcel);
        session.write(&commands)?;
        acknowledge(session, &pending(session)?)?;
    }
    Ok(())
}

/// Takes calls until `calls` have come. Returns the handles of each call; the receiver
/// has one reference of each.
fn receive(client: &Session, calls: u64) -> Result<Vec<Vec<u32>>, Failure> {
    let mut all = Vec::new();
    for _ in 0..calls {
        let received = take(client)?;
        let mut commands = Commands::new();
        let mut handles = Vec::new();
        for object in received.objects()? {
            let Object::Handle { handle, .. } = object else {
                return Err(Failure::new(
                    "a node that was sent",
                    "a handle",
                    format!("{object:?}"),
                ));
            };
            commands.acquire(handle);
            handles.push(handle);
        }
        client.write(&commands)?;
        received.free()?;
        all.push(handles);
    }
    Ok(all)
}

/// Lets a thread for each session send at the same moment, each the nodes of its list.
fn start(
    inboxes: Vec<(Session, u32)>,
    nodes: impl Fn(u64) -> Vec<Node>,
) -> Result<Vec<Running>, Failure> {
    let barrier = Arc::new(Barrier::new(inboxes.len()));
    let mut running = Vec::new();
    for (number, (session, inbox)) in (0..).zip(inboxes) {
        let (barrier, nodes) = (barrier.clone(), nodes(number));
        let worker = Worker::spawn()?;
        let result = worker.start(move || {
            barrier.wait();
            send_all(&session, inbox, &nodes)
        })?;
        running.push((worker, result));
    }
    Ok(running)
}

/// Lets many processes send to `client` at the same moment. Their nodes have the same names
/// and are different ones.
fn start_processes(stage: &Stage, client: &Session) -> Result<Vec<Running>, Failure> {
    let mut inboxes = Vec::new();
    for _ in 0..SENDERS {
        let sender = stage.actor()?;
        let inbox = stage.introduce(client, &sender, INBOX)?;
        inboxes.push((sender, inbox));
    }
    start(inboxes, |_| (1..CALLS * NODES + 1).map(|n| Node::new(n * 16, n)).collect())
}

fn finish(running: Vec<Running>) -> Result<(), Failure> {
    for (_worker, result) in running {
        result.wait()??;
    }
    Ok(())
}

pub fn eight_processes_add_at_once_without_gaps(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let running = start_processes(&stage, &client)?;
    let seen: Vec<u32> = receive(&client, SENDERS * CALLS)?.into_iter().flatten().collect();
    finish(running)?;
    let all = (SENDERS * CALLS * NODES) as u32;
    let distinct: BTreeSet<u32> = seen.iter().copied().collect();
    check_eq!(seen.len() as u32, all);
    check!(distinct == (1..all + 1).collect(), "{all} numbers from 1 on, each once");
    Ok(())
}

pub fn eight_threads_send_the_same_nodes_and_each_has_one_number(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (client, owner) = (stage.actor()?, stage.actor()?);
    let inbox = stage.introduce(&client, &owner, INBOX)?;
    let mut inboxes = Vec::new();
    for _ in 0..SENDERS {
        inboxes.push((Session::primed(owner.device())?, inbox));
    }
    // In two orders, so that a node is new to several threads at once, and known to others.
    let all = CALLS * NODES;
    let nodes = |thread: u64| {
        let numbers = (0..all).map(|n| (n + thread % 2 * NODES) % all + 1);
        numbers.map(|n| Node::new(n * 16, n)).collect()
    };
    let running = start(inboxes, nodes)?;
    let calls = receive(&client, SENDERS * CALLS)?;
    finish(running)?;
    let mut count = BTreeMap::<u32, u64>::new();
    for handle in calls.into_iter().flatten() {
        *count.entry(handle).or_default() += 1;
    }
    let numbers: Vec<u32> = count.keys().copied().collect();
    check_eq!(numbers, (1..all as u32 + 1).collect::<Vec<_>>());
    check!(count.values().all(|&times| times == SENDERS), "each {SENDERS} times: {count:?}");
    Ok(())
}

pub fn numbers_are_added_and_dropped_at_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let client = stage.actor()?;
    let running = start_processes(&stage, &client)?;
    // Each call is let go as soon as the next one is there, in one write.
    let mut last: Vec<u32> = Vec::new();
    for _ in 0..SENDERS * CALLS {
        let new = receive(&client, 1)?.remove(0);
        check!(
            new.iter().all(|handle| !last.contains(handle)),
            "{new:?} although {last:?} are held"
        );
        let mut commands = Commands::new();
        for handle in &last {
            commands.release(*handle);
        }
        client.write(&commands)?;
        last = new;
    }
    finish(running)?;
    let mut commands = Commands::new();
    for handle in &last {
        commands.release(*handle);
    }
    client.write(&commands)?;
    // All are free, so that the next one is the first.
    let owner = stage.actor()?;
    check_eq!(stage.introduce(&owner, &client, Node::new(1, 1))?, 1);
    Ok(())
}
