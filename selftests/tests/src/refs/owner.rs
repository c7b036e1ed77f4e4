// SPDX-License-Identifier: GPL-2.0
//! What the owner of a node is told.

use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check_eq, check_matches, limits};

use crate::stage::duo::Duo;
use crate::stage::worker::Worker;
use crate::stage::{
    acknowledge, pending, reply, round_trip, send, set_nonblock, take, Node, Stage,
};

const NODE: Node = Node::new(0x1000, 0x11);
const OTHER: Node = Node::new(0x800, 0x22);
const DONE: Return = Return::TransactionComplete;

fn increfs(node: Node) -> Return {
    Return::Increfs(node.name())
}

fn acquire(node: Node) -> Return {
    Return::Acquire(node.name())
}

fn release(node: Node) -> Return {
    Return::Release(node.name())
}

fn decrefs(node: Node) -> Return {
    Return::Decrefs(node.name())
}

/// A parcel with one node.
fn with(node: Node, strength: Strength) -> Parcel {
    let mut parcel = Parcel::new();
    parcel.object(&node.object(strength));
    parcel
}

/// Commands of the owner.
fn confirm(
    session: &Session,
    build: impl for<'c> FnOnce(&'c mut Commands<'static>) -> &'c mut Commands<'static>,
) -> Result<Vec<Return>, Failure> {
    let mut commands = Commands::new();
    build(&mut commands);
    session.write(&commands)?;
    pending(session)
}

pub fn strong_node_is_announced_before_the_completion(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let told = duo.give(&with(NODE, Strength::Strong))?;
    check_eq!(told, [increfs(NODE), acquire(NODE), DONE]);
    Ok(())
}

pub fn weak_node_is_announced_before_the_completion(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let told = duo.give(&with(NODE, Strength::Weak))?;
    check_eq!(told, [increfs(NODE), DONE]);
    Ok(())
}

pub fn announcements_of_a_synchronous_call_come_with_its_reply(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    send(&duo.owner, duo.inbox, 1, 0, &with(NODE, Strength::Strong))?;
    check_eq!(duo.owner.readable(Duration::ZERO)?, false);
    let _request = take(&duo.client)?;
    reply(&duo.client, 0, &Parcel::new())?;
    let told = duo.owner.read(limits::wait())?;
    check_matches!(told[..], [Return::Increfs(_), Return::Acquire(_), DONE, Return::Reply(_)]);
    Ok(())
}

pub fn node_in_a_reply_is_announced_before_the_completion(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    send(&duo.owner, duo.inbox, 1, 0, &Parcel::new())?;
    let _request = take(&duo.client)?;
    reply(&duo.client, 0, &with(NODE, Strength::Strong))?;
    let told = duo.client.read(limits::wait())?;
    check_eq!(told, [increfs(NODE), acquire(NODE), DONE]);
    Ok(())
}

pub fn known_node_is_not_announced_again(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let parcel = with(NODE, Strength::Strong);
    let told = duo.give(&parcel)?;
    check_eq!(duo.give(&parcel)?, [DONE], "before it is confirmed");
    acknowledge(&duo.owner, &told)?;
    check_eq!(duo.give(&parcel)?, [DONE], "after it is confirmed");
    check_eq!(duo.give(&with(NODE, Strength::Weak))?, [DONE], "weakly");
    Ok(())
}

pub fn weak_node_becomes_strong(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let told = duo.give(&with(NODE, Strength::Weak))?;
    acknowledge(&duo.owner, &told)?;
    let told = duo.give(&with(NODE, Strength::Strong))?;
    check_eq!(told, [acquire(NODE), DONE]);
    Ok(())
}

pub fn several_nodes_are_announced_in_their_order(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = with(NODE, Strength::Strong);
    parcel.object(&OTHER.object(Strength::Strong));
    let told = duo.give(&parcel)?;
    let expected = [increfs(NODE), acquire(NODE), increfs(OTHER), acquire(OTHER), DONE];
    check_eq!(told, expected);
    Ok(())
}

pub fn last_drop_is_told_as_release_and_decrefs(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    check_eq!(pending(&duo.owner)?, []);
    duo.change(|commands| commands.release(handle))?;
    check_eq!(pending(&duo.owner)?, [release(NODE), decrefs(NODE)]);
    Ok(())
}

pub fn release_is_told_while_weak_references_remain(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    duo.change(|commands| commands.increfs(handle).release(handle))?;
    check_eq!(pending(&duo.owner)?, [release(NODE)]);
    duo.change(|commands| commands.decrefs(handle))?;
    check_eq!(pending(&duo.owner)?, [decrefs(NODE)]);
    Ok(())
}

pub fn second_holder_keeps_the_node(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let second = stage.actor()?;
    let handle = duo.hand_over_one(NODE)?;
    let other = stage.introduce(&duo.owner, &second, NODE)?;
    duo.change(|commands| commands.release(handle))?;
    check_eq!(pending(&duo.owner)?, []);
    round_trip(&second, other, &duo.owner)?;
    let mut commands = Commands::new();
    commands.release(other);
    second.write(&commands)?;
    check_eq!(pending(&duo.owner)?, [release(NODE), decrefs(NODE)]);
    Ok(())
}

pub fn unconfirmed_node_is_not_released(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let told = duo.give(&with(NODE, Strength::Strong))?;
    take(&duo.client)?.free()?;
    check_eq!(pending(&duo.owner)?, [], "nobody holds it, but it is not confirmed");
    acknowledge(&duo.owner, &told)?;
    let mut gone = pending(&duo.owner)?;
    gone.sort_by_key(|entry| entry.name());
    check_eq!(gone, [decrefs(NODE), release(NODE)]);
    Ok(())
}

pub fn confirmations_count_one_by_one(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    duo.give(&with(NODE, Strength::Strong))?;
    take(&duo.client)?.free()?;
    let (ptr, cookie) = (NODE.ptr, NODE.cookie);
    let told = confirm(&duo.owner, |commands| commands.acquire_done(ptr, cookie))?;
    check_eq!(told, [release(NODE)]);
    let told = confirm(&duo.owner, |commands| commands.acquire_done(ptr, cookie))?;
    check_eq!(told, [], "confirmed twice");
    let told = confirm(&duo.owner, |commands| commands.increfs_done(ptr, cookie))?;
    check_eq!(told, [decrefs(NODE)]);
    Ok(())
}

pub fn wrong_confirmations_are_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let told = duo.give(&with(NODE, Strength::Strong))?;
    take(&duo.client)?.free()?;
    for (ptr, cookie) in [(NODE.ptr, 0), (NODE.ptr + 8, NODE.cookie), (0, 0)] {
        let told = confirm(&duo.owner, |commands| {
            commands.increfs_done(ptr, cookie).acquire_done(ptr, cookie)
        })?;
        check_eq!(told, [], "{ptr:#x}, {cookie:#x}");
    }
    acknowledge(&duo.owner, &told)?;
    check_eq!(pending(&duo.owner)?.len(), 2, "released after the right ones");
    let (ptr, cookie) = (NODE.ptr, NODE.cookie);
    let told = confirm(&duo.owner, |commands| {
        commands.increfs_done(ptr, cookie).acquire_done(ptr, cookie)
    })?;
    check_eq!(told, [], "the node is gone");
    Ok(())
}

pub fn forgotten_node_may_come_back_with_another_cookie(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for cookie in [1, 2, u64::MAX, 0] {
        let node = Node::new(NODE.ptr, cookie);
        let handle = duo.hand_over_one(node)?;
        check_eq!(handle, 1);
        duo.change(|commands| commands.release(handle))?;
        check_eq!(pending(&duo.owner)?, [release(node), decrefs(node)]);
    }
    Ok(())
}

pub fn reference_taken_again_before_the_news_is_read_tells_nothing(
    env: &Env,
) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    duo.change(|commands| commands.release(handle))?;
    let told = duo.give(&with(NODE, Strength::Strong))?;
    check_eq!(told, [DONE]);
    take(&duo.client)?.free()?;
    check_eq!(pending(&duo.owner)?, [release(NODE), decrefs(NODE)]);
    Ok(())
}

pub fn thread_that_exits_leaves_the_news_to_the_others(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let (owner, inbox) = (duo.owner.clone(), duo.inbox);
    Worker::spawn()?.run(move || {
        send(&owner, inbox, 1, TF_ONE_WAY, &with(NODE, Strength::Strong))?;
        Ok(owner.device().thread_exit()?)
    })?;
    check_eq!(pending(&duo.owner)?, [increfs(NODE), acquire(NODE)]);
    Ok(())
}

pub fn end_of_the_holder_releases_the_node(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    duo.change(|commands| commands.acquire(handle).acquire(handle).increfs(handle))?;
    let Duo { owner, client, .. } = duo;
    drop(client);
    let told = owner.read_until(limits::wait(), |entry| *entry == decrefs(NODE))?;
    check_eq!(told, [release(NODE), decrefs(NODE)]);
    Ok(())
}

pub fn sender_is_told_though_another_thread_was_to_tell(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    // The news waits for a thread that does not read for now.
    let other = Worker::spawn()?;
    let (owner, inbox) = (duo.owner.clone(), duo.inbox);
    other.run(move || send(&owner, inbox, 1, TF_ONE_WAY, &with(NODE, Strength::Strong)))?;
    let told = duo.give(&with(NODE, Strength::Strong))?;
    check_eq!(told.clone(), [increfs(NODE), acquire(NODE), DONE]);
    let owner = duo.owner.clone();
    check_eq!(other.run(move || pending(&owner))?, [DONE], "the other thread");
    // Both threads' news is confirmed once, and the node can go.
    acknowledge(&duo.owner, &told)?;
    for _ in 0..2 {
        take(&duo.client)?.free()?;
    }
    check_eq!(pending(&duo.owner)?, [release(NODE), decrefs(NODE)]);
    Ok(())
}

pub fn node_without_references_is_gone_though_its_news_waits(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let other = Worker::spawn()?;
    let (owner, inbox) = (duo.owner.clone(), duo.inbox);
    other.run(move || send(&owner, inbox, 1, TF_ONE_WAY, &with(NODE, Strength::Weak)))?;
    take(&duo.client)?.free()?;
    // Nobody refers to it, and its owner was told nothing: the pointer is free.
    let again = Node { cookie: NODE.cookie + 1, ..NODE };
    check_eq!(duo.give(&with(again, Strength::Weak))?, [increfs(again), DONE]);
    let owner = duo.owner.clone();
    check_eq!(other.run(move || pending(&owner))?, [DONE], "the thread with the old news");
    Ok(())
}

pub fn news_that_is_no_more_makes_nothing_readable(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    duo.change(|commands| commands.release(handle))?;
    check_eq!(duo.owner.readable(limits::wait())?, true, "the last reference is gone");
    // Another thread gives the node away again before anybody has read that.
    let (owner, inbox) = (duo.owner.clone(), duo.inbox);
    Worker::spawn()?.run(move || {
        send(&owner, inbox, 1, TF_ONE_WAY, &with(NODE, Strength::Strong))?;
        check_eq!(owner.read(limits::wait())?, [DONE]);
        Ok(())
    })?;
    check_eq!(duo.owner.readable(Duration::ZERO)?, false, "there is nothing to tell");
    check_eq!(pending(&duo.owner)?, []);
    Ok(())
}

pub fn thread_with_news_that_is_no_more_serves_on(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handle = duo.hand_over_one(NODE)?;
    let server = Worker::spawn()?;
    let owner = duo.owner.clone();
    server.run(move || Ok(Session::primed(owner.device()).map(drop)?))?;
    set_nonblock(&duo.owner, false)?;
    // It is woken for news that its buffer has no room for.
    let owner = duo.owner.clone();
    let read = server.start(move || owner.write_read(&Commands::new(), 32).ok())?;
    server.wait_asleep()?;
    duo.change(|commands| commands.release(handle))?;
    check_eq!(read.wait()??, []);
    // By the time it reads on, there is nothing to tell.
    set_nonblock(&duo.owner, true)?;
    check_eq!(duo.give(&with(NODE, Strength::Strong))?, [DONE]);
    let received = take(&duo.client)?;
    let again = match received.objects()?.first() {
        Some(Object::Handle { handle, .. }) => *handle,
        other => return Err(Failure::new("the node", "a handle", format!("{other:?}"))),
    };
    set_nonblock(&duo.owner, false)?;
    let owner = duo.owner.clone();
    let read = server.start(move || owner.write_read(&Commands::new(), READ_SIZE).ok())?;
    server.wait_asleep()?;
    send(&duo.client, again, 5, TF_ONE_WAY, &Parcel::new())?;
    let told = read.wait()??;
    check_matches!(told[..], [Return::Transaction(incoming)] if incoming.code == 5);
    Ok(())
}
