// SPDX-License-Identifier: GPL-2.0
//! What goes on: calls, messages and completions on their way.

use binder_client::commands::Commands;
use binder_client::ktap::{Driver, Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::state::{Item, Place, ProcessState, State, TransactionLine, Waiting};
use binder_client::uapi::{TF_DEFER_COMPLETE, TF_ONE_WAY};
use binder_client::{check, check_eq, check_matches, gettid, skip};

use super::{owner_of, Scene};
use crate::stage::{pending, reply, send, take, Node};

const NODE: Node = Node::new(0x7000_3000, 0x7000_4000);
const INNER: Node = Node::new(0x7000_5000, 0x7000_6000);

/// The call with `code` that a thread of this test takes part in as `role`.
fn part(state: &State, role: &str, code: u64) -> Option<TransactionLine> {
    let threads = state.of(std::process::id()).flat_map(|process| &process.threads);
    let mut lines = threads.flat_map(|thread| &thread.stack);
    lines.find(|line| line.role == role && line.code == code).cloned()
}

fn transactions(queue: &[Waiting]) -> Vec<&TransactionLine> {
    let line = |waiting: &'_ Waiting| matches!(waiting.item, Item::Transaction(_));
    let lines = queue.iter().filter(|waiting| line(waiting)).map(|waiting| &waiting.item);
    lines
        .filter_map(|item| if let Item::Transaction(line) = item { Some(line) } else { None })
        .collect()
}

/// All that waits for a process, for its threads first.
fn queue(process: &ProcessState) -> Vec<Waiting> {
    let threads = process.threads.iter().flat_map(|thread| &thread.queue);
    threads.chain(&process.queue).cloned().collect()
}

pub fn a_call_is_followed_on_its_way(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let me = (i32::try_from(std::process::id())?, gettid());
    send(&client, handle, 0xabc, 0x10, &Parcel::from_bytes([1; 20]))?;

    let state = scene.folder.state()?;
    let outgoing = part(&state, "outgoing", 0xabc).ok_or_else(missing)?;
    check_eq!((outgoing.from, outgoing.to, outgoing.flags), (me, (me.0, 0), 0x10));
    check_eq!(
        (outgoing.buffer, outgoing.is_oneway, outgoing.is_reply),
        (Place::Elsewhere, false, false)
    );
    let owner = owner_of(&state, NODE)?;
    let waiting = queue(owner);
    let [waiting] = transactions(&waiting)[..] else {
        return Err(missing());
    };
    check_eq!((waiting.id, waiting.role.as_str()), (outgoing.id, "pending"));
    let node = owner.nodes.iter().find(|line| line.ptr == NODE.ptr).map(|line| line.id);
    let offset = owner.buffers[0].offset;
    let place = Place::Here { node, data: 20, offsets: 0, offset };
    check_eq!(waiting.buffer, place);
    check_eq!(owner.buffers[0].id, outgoing.id);

    let call = take(&server)?;
    let state = scene.folder.state()?;
    let incoming = part(&state, "incoming", 0xabc).ok_or_else(missing)?;
    check_eq!((incoming.id, incoming.from, incoming.to), (outgoing.id, me, me));
    check_eq!(incoming.buffer, place);
    check_eq!(part(&state, "outgoing", 0xabc).map(|line| line.to), Some(me));

    call.free()?;
    let state = scene.folder.state()?;
    check_eq!(part(&state, "incoming", 0xabc).map(|line| line.buffer), Some(Place::Freed));

    reply(&server, 0, &Parcel::from_bytes([2; 9]))?;
    let state = scene.folder.state()?;
    check!(part(&state, "incoming", 0xabc).is_none() && part(&state, "outgoing", 0xabc).is_none());
    let all: Vec<Waiting> = state.of(std::process::id()).flat_map(queue).collect();
    let replies = transactions(&all);
    check_matches!(replies[..], [line] if line.is_reply && line.from == me && line.to == me
        && matches!(line.buffer, Place::Here { node: None, data: 9, offsets: 0, .. }));
    client.next_reply(binder_client::limits::wait())?.0.free()?;
    pending(&server)?;
    let state = scene.folder.transactions()?;
    check!(state.of(std::process::id()).next().is_none());
    Ok(())
}

fn missing() -> Failure {
    Failure::new("a call", "to be shown", "it is not")
}

pub fn a_call_in_a_call_is_shown_on_top(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client, third) =
        (scene.stage.actor()?, scene.stage.actor()?, scene.stage.actor()?);
    let outer = scene.stage.introduce(&server, &client, NODE)?;
    let inner = scene.stage.introduce(&third, &server, INNER)?;
    send(&client, outer, 1, 0, &Parcel::new())?;
    take(&server)?.free()?;
    send(&server, inner, 2, 0, &Parcel::new())?;
    let state = scene.folder.state()?;
    let threads = &owner_of(&state, NODE)?.threads;
    let stack: Vec<_> =
        threads[0].stack.iter().map(|line| (line.role.as_str(), line.code)).collect();
    check_eq!(stack, [("outgoing", 2), ("incoming", 1)]);
    Ok(())
}

pub fn oneway_messages_wait_at_their_node(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let me = (i32::try_from(std::process::id())?, gettid());
    for code in 1..=3 {
        send(&client, handle, code, TF_ONE_WAY, &Parcel::from_bytes([0; 4]))?;
        check_eq!(pending(&client)?, [Return::TransactionComplete]);
    }
    let state = scene.folder.state()?;
    let owner = owner_of(&state, NODE)?;
    let waiting = queue(owner);
    let first = transactions(&waiting);
    check_matches!(first[..], [line] if line.code == 1 && line.is_oneway && line.from == me);
    let node = owner.nodes.iter().find(|line| line.ptr == NODE.ptr).ok_or_else(missing)?;
    let behind = transactions(&node.waiting);
    check_eq!(behind.iter().map(|line| line.code).collect::<Vec<_>>(), [2, 3]);
    check!(behind.iter().all(|line| line.role == "pending async" && line.from == me));
    // A node with a message out is busy.
    let busy = scene.folder.transactions()?;
    check!(owner_of(&busy, NODE).is_ok());
    Ok(())
}

pub fn completions_that_wait_are_shown(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let completions = |state: &State| -> Vec<bool> {
        let waiting = state.of(std::process::id()).flat_map(queue);
        let complete = waiting.filter(|waiting| waiting.item == Item::Complete);
        complete.map(|waiting| waiting.is_deferred).collect()
    };
    // Of a oneway message: a reason to return.
    send(&client, handle, 1, TF_ONE_WAY, &Parcel::new())?;
    check_eq!(completions(&scene.folder.state()?), [false]);
    pending(&client)?;
    check!(completions(&scene.folder.state()?).is_empty());
    // Of a call: not by itself.
    send(&client, handle, 1, 0, &Parcel::new())?;
    let state = scene.folder.state()?;
    check_eq!(completions(&state).len(), 1);
    if state.processes.iter().any(|process| process.figures.is_some()) {
        check_eq!(completions(&state), [true]);
    }
    Ok(())
}

/// This project's driver only: the C driver defers no completion of a reply.
pub fn a_deferred_completion_of_a_reply_is_shown_as_such(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    if env.driver == Driver::C {
        skip!("the C driver defers no completion of a reply");
    }
    for (flags, is_deferred) in [(0, false), (TF_DEFER_COMPLETE, true)] {
        send(&client, handle, 1, 0, &Parcel::new())?;
        take(&server)?.free()?;
        reply(&server, flags, &Parcel::new())?;
        let state = scene.folder.state()?;
        let own = queue(owner_of(&state, NODE)?);
        check_eq!(own, [Waiting { item: Item::Complete, is_deferred }]);
        client.next_reply(binder_client::limits::wait())?.0.free()?;
        pending(&server)?;
    }
    Ok(())
}

pub fn a_long_queue_is_shown_completely(env: &Env) -> Result<(), Failure> {
    const MESSAGES: u32 = 500;
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    for code in 0..MESSAGES {
        send(&client, handle, code, TF_ONE_WAY, &Parcel::new())?;
        pending(&client)?;
    }
    let state = scene.folder.state()?;
    let owner = owner_of(&state, NODE)?;
    let node = owner.nodes.iter().find(|line| line.ptr == NODE.ptr).ok_or_else(missing)?;
    let codes: Vec<u64> = transactions(&node.waiting).iter().map(|line| line.code).collect();
    check_eq!(codes, (1..u64::from(MESSAGES)).collect::<Vec<_>>());
    check_eq!(owner.buffers.len(), MESSAGES as usize);
    Ok(())
}

pub fn only_busy_processes_are_in_transactions(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client, idle) = (scene.stage.actor()?, scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    scene.stage.introduce(&idle, &client, INNER)?;
    pending(&server)?;
    pending(&idle)?;
    check!(scene.folder.transactions()?.of(std::process::id()).next().is_none());
    send(&client, handle, 1, 0, &Parcel::new())?;
    let busy = scene.folder.transactions()?;
    check_eq!(busy.of(std::process::id()).count(), 2);
    // Nodes and handles are not shown, nor is what is idle.
    let mut own = busy.of(std::process::id());
    check!(own.all(|process| process.refs.is_empty()
        && process.nodes.is_empty()
        && process.figures.is_none()));
    let mut commands = Commands::new();
    commands.increfs(handle);
    client.write(&commands)?;
    Ok(())
}
