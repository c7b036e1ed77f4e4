// SPDX-License-Identifier: GPL-2.0
//! What the dead held is released: seen by the owner of the node in question,
//! who is told when nobody refers to it, and by room that comes back.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check_eq, limits};

use super::{node, node_is_released, publish, send_parcel, NODE};
use crate::core_support::*;

/// Kills the manager after it has taken hold of this process's node with
/// `hold`, and waits until the node is released.
fn released_after(
    env: &Env,
    hold: impl FnOnce(&Session, binder_client::buffer::Received) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let holder = manager(&env.device, |session, channel| {
        let request = receive(session)?;
        hold(session, request)?;
        channel.signal()?;
        channel.wait()
    })?;
    let session = env.session()?;
    publish(&session)?;
    holder.wait()?;
    check_eq!(session.readable(limits::quiet())?, false, "it is held");
    holder.kill()?;
    node_is_released(&session)
}

pub fn references_of_a_killed_holder_are_released(env: &Env) -> Result<(), Failure> {
    released_after(env, |session, request| {
        let handle = request.handle(0)?;
        let mut commands = Commands::new();
        commands.acquire(handle).acquire(handle).increfs(handle);
        commands.free_buffer(request.into_address());
        Ok(session.write(&commands)?)
    })
}

pub fn buffers_of_a_killed_holder_are_released(env: &Env) -> Result<(), Failure> {
    released_after(env, |_, request| {
        request.into_address();
        Ok(())
    })
}

/// A manager that turns the reference it gets into a weak one.
fn weak_holder(env: &Env) -> Result<Peer, Failure> {
    manager(&env.device, |session, channel| {
        let request = receive(session)?;
        channel.wait()?;
        let mut commands = Commands::new();
        commands.increfs(request.handle(0)?);
        commands.free_buffer(request.into_address());
        session.write(&commands)?;
        channel.signal()?;
        channel.wait()
    })
}

pub fn weak_references_of_a_killed_holder_are_released(env: &Env) -> Result<(), Failure> {
    let holder = weak_holder(env)?;
    let session = env.session()?;
    publish(&session)?;
    holder.signal()?;
    holder.wait()?;
    // With the buffer the strong reference has gone, the weak one stays.
    check_eq!(session.read(limits::wait())?, [Return::Release(NODE)]);
    check_eq!(session.readable(limits::quiet())?, false, "it is held");
    holder.kill()?;
    check_eq!(session.read(limits::wait())?, [Return::Decrefs(NODE)]);
    Ok(())
}

pub fn strong_reference_that_nobody_was_told_of_is_not_released(env: &Env) -> Result<(), Failure> {
    // As before, but the owner reads only when there is no more than the weak
    // reference.
    let holder = weak_holder(env)?;
    let session = env.session()?;
    send_parcel(&session, 0, &node(), TF_ONE_WAY)?;
    holder.signal()?;
    holder.wait()?;
    let all = session.read(limits::wait())?;
    check_eq!(all.as_slice(), [Return::Increfs(NODE), Return::TransactionComplete]);
    binder_client::manager::answer_reference(&session, all[0])?;
    check_eq!(session.readable(limits::quiet())?, false, "it is held");
    holder.kill()?;
    check_eq!(session.read(limits::wait())?, [Return::Decrefs(NODE)]);
    Ok(())
}

/// What the owner of a node has been told of it, in order.
#[derive(Debug, Default)]
struct Told {
    weak: Vec<bool>,
    strong: Vec<bool>,
}

/// Notes and answers a reference return; others are ignored.
fn note(session: &Session, told: &mut [Told], entry: Return) -> Result<(), Failure> {
    binder_client::manager::answer_reference(session, entry)?;
    let (node, strong, held) = match entry {
        Return::Increfs(node) => (node, false, true),
        Return::Decrefs(node) => (node, false, false),
        Return::Acquire(node) => (node, true, true),
        Return::Release(node) => (node, true, false),
        _ => return Ok(()),
    };
    let told = &mut told[usize::try_from(node.cookie)?];
    let list = if strong { &mut told.strong } else { &mut told.weak };
    list.push(held);
    Ok(())
}

pub fn references_change_while_they_are_announced(env: &Env) -> Result<(), Failure> {
    const COUNT: u64 = 60;
    let holder = manager(&env.device, |session, channel| {
        let mut handles = Vec::new();
        for _ in 0..COUNT {
            let request = receive(session)?;
            let handle = request.handle(0)?;
            let mut commands = Commands::new();
            commands.increfs(handle);
            commands.free_buffer(request.into_address());
            session.write(&commands)?;
            handles.push(handle);
            channel.signal()?;
        }
        channel.wait()?;
        let mut commands = Commands::new();
        for handle in handles {
            commands.decrefs(handle);
        }
        session.write(&commands)?;
        channel.signal()?;
        channel.wait()
    })?;
    let session = env.session()?;
    let mut told: Vec<Told> = (0..COUNT).map(|_| Told::default()).collect();
    for number in 0..COUNT {
        let mut parcel = Parcel::new();
        parcel.binder(0x1000 + 16 * number, number);
        send_parcel(&session, 0, &parcel, TF_ONE_WAY)?;
        let complete = |entry: &Return| *entry == Return::TransactionComplete;
        for entry in session.read_until(limits::wait(), complete)? {
            note(&session, &mut told, entry)?;
        }
        holder.wait()?;
        while session.readable(std::time::Duration::ZERO)? {
            for entry in session.read(limits::wait())? {
                note(&session, &mut told, entry)?;
            }
        }
        let seen = &told[usize::try_from(number)?];
        check_eq!(&seen.weak, &[true], "node {number} is held weakly: {seen:?}");
    }
    holder.signal()?;
    holder.wait()?;
    let released = |told: &[Told]| told.iter().all(|told| told.weak.last() == Some(&false));
    while !released(&told) {
        for entry in session.read(limits::wait())? {
            note(&session, &mut told, entry)?;
        }
    }
    for (number, told) in told.iter().enumerate() {
        check_eq!(&told.weak, &[true, false], "node {number}");
        let strong: &[bool] = if told.strong.is_empty() { &[] } else { &[true, false] };
        check_eq!(told.strong.as_slice(), strong, "node {number}");
    }
    Ok(())
}

pub fn unread_requests_of_a_killed_target_release_their_nodes(env: &Env) -> Result<(), Failure> {
    let target = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    // One in the queue of the process, the others in the node's.
    for _ in 0..3 {
        publish(&session)?;
    }
    check_eq!(session.readable(limits::quiet())?, false, "it is held");
    target.kill()?;
    node_is_released(&session)
}

pub fn unread_reply_of_a_killed_caller_releases_its_nodes(env: &Env) -> Result<(), Failure> {
    let caller = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, 0)?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    caller.signal()?;
    receive(&session)?;
    reply_with(&session, &node())?;
    let complete = |entry: &Return| *entry == Return::TransactionComplete;
    for entry in session.read_until(limits::wait(), complete)? {
        binder_client::manager::answer_reference(&session, entry)?;
    }
    check_eq!(session.readable(limits::quiet())?, false, "it is held");
    caller.kill()?;
    node_is_released(&session)
}

pub fn node_of_a_call_to_nobody_is_released(env: &Env) -> Result<(), Failure> {
    // The call dies with its target: nobody has the node then, and whatever was
    // told of references is taken back.
    let target = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    send_parcel(&session, 0, &node(), 0)?;
    target.kill()?;
    let dead = |entry: &Return| *entry == Return::DeadReply;
    let mut all = session.read_until(limits::wait(), dead)?;
    let held = |all: &[Return]| {
        let count = |wanted: Return| all.iter().filter(|entry| **entry == wanted).count();
        count(Return::Increfs(NODE)) > count(Return::Decrefs(NODE))
    };
    for entry in all.clone() {
        binder_client::manager::answer_reference(&session, entry)?;
    }
    while held(&all) {
        let batch = session.read(limits::wait())?;
        for &entry in &batch {
            binder_client::manager::answer_reference(&session, entry)?;
        }
        all.extend(batch);
    }
    Ok(())
}

pub fn oneway_room_comes_back_after_failures(env: &Env) -> Result<(), Failure> {
    const SIZE: usize = 300 << 10;
    // Half of the mapping's megabyte is for oneway calls: one of these fits.
    let server = manager(&env.device, |session, _| {
        for _ in 0..3 {
            check_eq!(receive(session)?.incoming().data_size, SIZE as u64);
        }
        Ok(())
    })?;
    let session = env.session()?;
    let good = Parcel::from_bytes(vec![1u8; SIZE]);
    let mut bad = Parcel::from_bytes(vec![1u8; SIZE]);
    bad.offsets_mut().push(1);
    for _ in 0..3 {
        send_parcel(&session, 0, &bad, TF_ONE_WAY)?;
        check_eq!(call_failure(&session)?.command, BR_FAILED_REPLY);
        until("the buffer of before is freed", || {
            send_parcel(&session, 0, &good, TF_ONE_WAY)?;
            let all = session.read_until(limits::wait(), |_| true)?;
            Ok(all == [Return::TransactionComplete])
        })?;
    }
    server.join()?;
    // The same with senders that die.
    let server = manager(&env.device, |session, _| {
        for _ in 0..3 {
            receive(session)?;
        }
        Ok(())
    })?;
    for _ in 0..3 {
        let sender: Peer = client(&env.device, |session, channel| {
            let good = Parcel::from_bytes(vec![1u8; SIZE]);
            until("the buffer of before is freed", || {
                send_parcel(session, 0, &good, TF_ONE_WAY)?;
                let all = session.read_until(limits::wait(), |_| true)?;
                Ok(all == [Return::TransactionComplete])
            })?;
            channel.signal()?;
            channel.wait()
        })?;
        sender.wait()?;
        sender.kill()?;
    }
    server.join()
}
