// SPDX-License-Identifier: GPL-2.0
//! Many deaths at moments that nobody chose. What they look for shows in the
//! kernel's log; here they see that those who live go on.

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::{check, check_eq, limits};

use super::{node, send_parcel};
use crate::core_support::*;

const ROUNDS: usize = 12;

/// A client that calls, with nodes, until it is killed.
fn restless(env: &Env) -> Result<binder_client::peer::Peer, Failure> {
    client(&env.device, |session, channel| {
        channel.signal()?;
        loop {
            send_parcel(session, 0, &node(), 0)?;
            finish_call(session)?;
        }
    })
}

pub fn killed_clients_do_not_hurt_the_server(env: &Env) -> Result<(), Failure> {
    let _server = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    for round in 0..ROUNDS as u32 {
        let clients = [restless(env)?, restless(env)?];
        for client in &clients {
            client.wait()?;
        }
        call(&session, 0, round)?;
        for client in clients {
            client.kill()?;
        }
    }
    call(&session, 0, 99)
}

pub fn killed_servers_do_not_hurt_the_client(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    for round in 0..ROUNDS {
        let server = manager(&env.device, |session, _| serve_for_ever(session))?;
        for _ in 0..round % 4 {
            send_parcel(&session, 0, &node(), 0)?;
            finish_call(&session)?;
        }
        send_parcel(&session, 0, &node(), 0)?;
        server.kill()?;
        // It was fast enough, or it was not.
        match session.next_reply(limits::wait()) {
            Ok(_) | Err(Error::Dead(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

pub fn exiting_threads_do_not_hurt_the_server(env: &Env) -> Result<(), Failure> {
    let _server = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    for _ in 0..ROUNDS {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let device = session.device().clone();
                Worker::start(move || {
                    let session = Session::primed(&device)?;
                    send_parcel(&session, 0, &node(), 0)?;
                    // While the server replies.
                    Ok(device.thread_exit()?)
                })
            })
            .collect();
        for thread in threads {
            thread.join()?;
        }
    }
    call(&session, 0, 1)
}

pub fn replies_race_with_killed_callers(env: &Env) -> Result<(), Failure> {
    // The callers are forked first: they find the manager when they are told.
    let callers = (0..ROUNDS)
        .map(|_| {
            client(&env.device, |session, channel| {
                channel.wait()?;
                send(session, 0, 1, 0)?;
                finish_call(session)?;
                channel.wait()
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    for (round, caller) in callers.into_iter().enumerate() {
        caller.signal()?;
        receive(&session)?;
        let kill = |caller: &binder_client::peer::Peer| {
            caller.kill_with(nix::sys::signal::Signal::SIGKILL)
        };
        // The signal is on its way when the reply is sent, or just after.
        if round % 2 == 0 {
            kill(&caller)?;
            reply(&session)?;
        } else {
            reply(&session)?;
            kill(&caller)?;
        }
        let all = session.read(limits::wait())?;
        check_eq!(all, [Return::TransactionComplete], "round {round}");
        caller.kill()?;
    }
    check!(!session.readable(limits::quiet())?, "nothing else is left");
    Ok(())
}
