// SPDX-License-Identifier: GPL-2.0
//! The manager dies, and another one comes.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::uapi::{BR_DEAD_REPLY, TF_ONE_WAY};
use binder_client::{check_eq, Errno};

use crate::core_support::*;

pub fn calls_after_the_managers_death_are_dead(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    call(&session, 0, 1)?;
    server.kill()?;
    until("a call says that there is no manager", || {
        send(&session, 0, 1, 0)?;
        let error = call_failure(&session)?;
        // While it is dying, a call may be queued and then die with it.
        Ok((error.command, error.param) == (BR_DEAD_REPLY, -(Errno::EINVAL as i32)))
    })
}

pub fn new_manager_serves_old_clients(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    for code in 0..3 {
        let server = manager(&env.device, |session, channel| {
            serve_one(session)?;
            channel.wait()
        })?;
        call(&session, 0, code)?;
        server.kill()?;
    }
    Ok(())
}

pub fn new_manager_is_another_node(env: &Env) -> Result<(), Failure> {
    // A reference to the old one by handle 0 does not turn into one to the new.
    let old = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    let mut commands = Commands::new();
    commands.acquire(0);
    session.write(&commands)?;
    old.kill()?;
    let new = manager(&env.device, |session, _| serve_for_ever(session))?;
    // A call to handle 0 goes to whoever is the manager.
    call(&session, 0, 1)?;
    let mut commands = Commands::new();
    commands.release(0);
    session.write(&commands)?;
    call(&session, 0, 2)?;
    new.kill()
}

pub fn managers_come_and_go(env: &Env) -> Result<(), Failure> {
    for _ in 0..10 {
        manager(&env.device, |_, channel| channel.wait())?.kill()?;
    }
    Ok(())
}

pub fn unread_calls_do_not_reach_the_new_manager(env: &Env) -> Result<(), Failure> {
    let old = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    send(&session, 0, 1, TF_ONE_WAY)?;
    send(&session, 0, 2, 0)?;
    old.kill()?;
    call_ends_dead(&session)?;
    let new = manager(&env.device, |session, _| {
        check_eq!(serve_one(session)?, 3);
        Ok(())
    })?;
    call(&session, 0, 3)?;
    new.join()
}
