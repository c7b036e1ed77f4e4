// SPDX-License-Identifier: GPL-2.0
//! A process is killed while others have to do with it.

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check_eq, limits, Errno};

use super::{node_owner, take_node};
use crate::core_support::*;

pub fn waiting_request_of_a_killed_server_is_dead(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.kill()?;
    call_ends_dead(&session)
}

pub fn request_being_served_by_a_killed_server_is_dead(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    server.kill()?;
    call_ends_dead(&session)
}

pub fn request_taken_but_not_read_is_dead(env: &Env) -> Result<(), Failure> {
    // The sleeping thread is picked for the request, but stopped before it can
    // read it.
    let server = manager(&env.device, |session, channel| {
        channel.signal()?;
        session.write_read(&Commands::new(), 8);
        channel.signal()?;
        channel.wait()
    })?;
    server.wait()?;
    asleep_in_ioctl(server.pid(), server.pid())?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    server.kill()?;
    call_ends_dead(&session)
}

pub fn every_caller_of_a_killed_server_is_told(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.wait()
    })?;
    let callers = (0..4)
        .map(|_| {
            client(&env.device, |session, channel| {
                send(session, 0, 1, 0)?;
                channel.signal()?;
                call_ends_dead(session)
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    callers.iter().try_for_each(Peer::wait)?;
    server.kill()?;
    callers.into_iter().try_for_each(Peer::join)
}

/// A caller that is killed while the manager, this process, serves it.
fn killed_while_served(env: &Env) -> Result<Session, Failure> {
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
    caller.kill()?;
    Ok(session)
}

pub fn reply_to_a_killed_caller_completes(env: &Env) -> Result<(), Failure> {
    let session = killed_while_served(env)?;
    reply(&session)?;
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    // The thread is free for the next one.
    let next = client(&env.device, |session, _| call(session, 0, 2))?;
    check_eq!(serve_one(&session)?, 2);
    next.join()
}

/// A caller that is killed before the manager, this process, reads its call.
fn killed_before_read(env: &Env, flags: u32) -> Result<Session, Failure> {
    let caller = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 7, flags)?;
        channel.signal()?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    caller.signal()?;
    caller.wait()?;
    caller.kill()?;
    Ok(Session::primed(&device)?)
}

pub fn request_of_a_killed_caller_is_still_delivered(env: &Env) -> Result<(), Failure> {
    let session = killed_before_read(env, 0)?;
    check_eq!(receive(&session)?.incoming().code, 7);
    reply(&session)?;
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    Ok(())
}

pub fn oneway_call_of_a_killed_caller_is_still_delivered(env: &Env) -> Result<(), Failure> {
    let session = killed_before_read(env, TF_ONE_WAY)?;
    check_eq!(receive(&session)?.incoming().code, 7);
    Ok(())
}

pub fn queued_oneway_calls_die_with_the_target(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    for code in 0..20 {
        send(&session, 0, code, TF_ONE_WAY)?;
    }
    server.kill()?;
    let all = session.read_until(limits::wait(), |_| true)?;
    check_eq!(all, [Return::TransactionComplete; 20]);
    // Nothing of them is left for the next manager.
    let next = manager(&env.device, |session, _| {
        check_eq!(receive(session)?.incoming().code, 99);
        Ok(())
    })?;
    send(&session, 0, 99, TF_ONE_WAY)?;
    next.join()
}

/// This process as the manager, with a handle whose owner has been killed.
fn orphan(env: &Env) -> Result<(Session, u32), Failure> {
    let owner = node_owner(env, |_, channel| channel.wait())?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    let handle = take_node(&session, &owner)?;
    owner.kill()?;
    Ok((session, handle))
}

/// Sends until the driver has noticed the death.
fn until_dead(session: &Session, handle: u32, flags: u32) -> Result<(), Failure> {
    until("a call to the dead owner fails at once", || {
        send(session, handle, 1, flags)?;
        let all = session.read_until(limits::wait(), |_| true)?;
        let last = session.device().extended_error()?;
        // While the owner is dying, it is its memory that is gone.
        let told = (last.command, last.param) == (BR_DEAD_REPLY, -(Errno::EINVAL as i32));
        Ok(all == [Return::DeadReply] && told)
    })
}

pub fn handle_of_a_killed_owner_is_dead(env: &Env) -> Result<(), Failure> {
    let (session, handle) = orphan(env)?;
    for _ in 0..3 {
        send(&session, handle, 1, 0)?;
        call_ends_dead(&session)?;
    }
    until_dead(&session, handle, TF_ONE_WAY)?;
    send(&session, handle, 1, 0)?;
    let error = call_failure(&session)?;
    let expected = (BR_DEAD_REPLY, -(Errno::EINVAL as i32));
    check_eq!((error.command, error.param), expected);
    Ok(())
}

pub fn oneway_call_to_a_killed_owner_is_dead(env: &Env) -> Result<(), Failure> {
    let (session, handle) = orphan(env)?;
    until_dead(&session, handle, TF_ONE_WAY)
}

pub fn references_to_a_killed_owner_can_be_dropped(env: &Env) -> Result<(), Failure> {
    let (session, handle) = orphan(env)?;
    until_dead(&session, handle, TF_ONE_WAY)?;
    let mut commands = Commands::new();
    commands.increfs(handle).acquire(handle);
    commands.release(handle).release(handle).decrefs(handle);
    session.write(&commands)?;
    // Now it is nobody's handle.
    send(&session, handle, 1, 0)?;
    let error = call_failure(&session)?;
    check_eq!((error.command, error.param), (BR_FAILED_REPLY, -(Errno::EINVAL as i32)));
    Ok(())
}

pub fn file_kept_by_a_child_keeps_no_call_waiting(env: &Env) -> Result<(), Failure> {
    let server = Peer::spawn(|channel| {
        let device = Device::open(&env.device)?;
        become_manager(&device)?;
        // A grandchild that holds the file and outlives the manager.
        let keeper = Peer::spawn_inheriting(|channel| channel.wait())?;
        channel.send(&keeper.pid())?;
        channel.wait()?;
        std::mem::forget(keeper);
        Ok(())
    })?;
    server.recv::<i32>()?;
    let session = env.session()?;
    server.signal()?;
    server.join()?;
    send(&session, 0, 1, 0)?;
    // Either way: its memory is gone, or the keeper has gone with it.
    call_ends_dead(&session)
}

pub fn closed_file_ends_its_calls(env: &Env) -> Result<(), Failure> {
    // The process lives on, only its file is closed.
    let server = Peer::spawn(|channel| {
        let device = Device::open(&env.device)?;
        become_manager(&device)?;
        let session = Session::primed(&device)?;
        channel.signal()?;
        receive(&session)?.into_address();
        drop((session, device));
        channel.wait()
    })?;
    server.wait()?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    call_ends_dead(&session)?;
    server.signal()?;
    server.join()
}
