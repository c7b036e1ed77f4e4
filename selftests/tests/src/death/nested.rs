// SPDX-License-Identifier: GPL-2.0
//! Chains of calls, from the first through the middle (the manager) to the
//! last (a process whose node the manager has), in which somebody is killed.

use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::{check_eq, limits};

use super::{node, node_owner, send_parcel, take_node};
use crate::core_support::*;

/// The processes of a chain in which the last one is serving.
struct Chain {
    first: Peer,
    middle: Peer,
    last: Peer,
}

/// Builds a chain. Each process ends its part with its closure: the first and
/// the middle while they wait for a reply, the last while it serves.
fn chain(
    env: &Env,
    first: impl FnOnce(&Session) -> Result<(), Failure>,
    middle: impl FnOnce(&Session) -> Result<(), Failure>,
    last: impl FnOnce(&Session, &Channel) -> Result<(), Failure>,
) -> Result<Chain, Failure> {
    // The middle tells the others when to go on, by way of this process.
    let last = node_owner(env, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        last(session, channel)
    })?;
    let middle = manager(&env.device, |session, channel| {
        let published = receive(session)?;
        let handle = published.handle(0)?;
        let mut commands = binder_client::commands::Commands::new();
        commands.acquire(handle);
        session.write(&commands)?;
        drop(published);
        channel.signal()?;
        let _request = receive(session)?;
        send(session, handle, 2, 0)?;
        middle(session)
    })?;
    last.signal()?;
    middle.wait()?;
    let first = client(&env.device, |session, _| {
        send(session, 0, 1, 0)?;
        first(session)
    })?;
    last.wait()?;
    Ok(Chain { first, middle, last })
}

/// Replies and checks that this is told complete, whoever waits for it.
fn reply_completes(session: &Session) -> Result<(), Failure> {
    reply(session)?;
    let complete = |entry: &Return| *entry == Return::TransactionComplete;
    session.read_until(limits::wait(), complete)?;
    Ok(())
}

/// Waits for good, until killed.
fn stay(_: &Session) -> Result<(), Failure> {
    loop {
        std::thread::park();
    }
}

fn stay_serving(session: &Session, _: &Channel) -> Result<(), Failure> {
    stay(session)
}

pub fn killed_last_of_a_chain_is_told_to_the_middle(env: &Env) -> Result<(), Failure> {
    let middle = |session: &Session| {
        call_ends_dead(session)?;
        reply_completes(session)
    };
    let chain = chain(env, finish_call, middle, stay_serving)?;
    chain.last.kill()?;
    chain.middle.join()?;
    chain.first.join()
}

pub fn killed_middle_of_a_chain_is_told_to_the_first(env: &Env) -> Result<(), Failure> {
    let chain = chain(env, call_ends_dead, stay, stay_serving)?;
    chain.middle.kill()?;
    chain.first.join()
}

pub fn killed_middle_lets_the_last_complete(env: &Env) -> Result<(), Failure> {
    let chain = chain(env, call_ends_dead, stay, |session, channel| {
        channel.wait()?;
        reply_completes(session)
    })?;
    chain.middle.kill()?;
    chain.last.signal()?;
    chain.last.join()?;
    chain.first.join()
}

pub fn killed_first_of_a_chain_lets_the_others_complete(env: &Env) -> Result<(), Failure> {
    let middle = |session: &Session| {
        finish_call(session)?;
        reply_completes(session)
    };
    let chain = chain(env, stay, middle, |session, channel| {
        channel.wait()?;
        reply_completes(session)
    })?;
    chain.first.kill()?;
    chain.last.signal()?;
    chain.last.join()?;
    chain.middle.join()
}

pub fn two_killed_at_once_are_told_to_the_first(env: &Env) -> Result<(), Failure> {
    let chain = chain(env, call_ends_dead, stay, stay_serving)?;
    let stop = nix::sys::signal::Signal::SIGKILL;
    chain.last.kill_with(stop)?;
    chain.middle.kill_with(stop)?;
    chain.first.join()
}

pub fn caller_killed_with_a_nested_call_waiting(env: &Env) -> Result<(), Failure> {
    // The manager, this process, calls back a caller who does not read that.
    let caller = client(&env.device, |session, channel| {
        channel.wait()?;
        send_parcel(session, 0, &node(), 0)?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    caller.signal()?;
    let request = receive(&session)?;
    send(&session, request.handle(0)?, 2, 0)?;
    caller.kill()?;
    call_ends_dead(&session)?;
    drop(request);
    // The outer call has lost its caller, too.
    reply_completes(&session)
}

pub fn nested_call_into_a_killed_first_is_dead(env: &Env) -> Result<(), Failure> {
    let owner = node_owner(env, |session, channel| {
        send(session, 0, 5, 0)?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    let handle = take_node(&session, &owner)?;
    let request = receive(&session)?;
    check_eq!(request.incoming().code, 5);
    owner.kill()?;
    for _ in 0..3 {
        send(&session, handle, 6, 0)?;
        call_ends_dead(&session)?;
    }
    reply_completes(&session)
}
