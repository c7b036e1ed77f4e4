// SPDX-License-Identifier: GPL-2.0
//! Processes that are killed in the middle of everything.

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::{spawn_echo, spawn_manager, Answer};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, check_eq, check_matches, limits};

use crate::service::{self, client, number, ADD, CALL_BACK, ECHO, MAKE, SUM};
use crate::stage::actor_on;

const ROUNDS: usize = 12;

/// Calls for ever; every call must end in a reply or in a failure.
fn call_until_dead(session: &Session, calls: usize) -> Result<usize, Failure> {
    let parcel = Parcel::from_bytes([7; 500]);
    for done in 0..calls {
        crate::stage::send(session, 0, ECHO, 0, &parcel)?;
        match session.next_reply(limits::wait()) {
            Ok((answer, _)) => check!(answer.data() == parcel.data(), "the own reply"),
            Err(Error::Dead(_) | Error::Failed(_)) => return Ok(done),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(calls)
}

pub fn killed_servers_fail_the_calls_and_no_more(env: &Env) -> Result<(), Failure> {
    for round in 0..ROUNDS {
        let server = service::spawn(&env.device, 2)?;
        let path = env.device.clone();
        let clients: Vec<_> = (0..3)
            .map(|_| {
                let path = path.clone();
                Peer::spawn(move |channel| {
                    let session = Session::primed(&binder_client::device::Device::open(&path)?)?;
                    call_until_dead(&session, 1)?;
                    channel.signal()?;
                    call_until_dead(&session, usize::MAX)?;
                    Ok(())
                })
            })
            .collect::<Result<_, _>>()?;
        // Some of them, or all, are in the middle of calls.
        for client in clients.iter().take(1 + round % 3) {
            client.wait()?;
        }
        server.kill()?;
        for client in clients {
            finish(client)?;
        }
    }
    Ok(())
}

/// Waits for a client's end; it may still have something to tell before.
fn finish(client: Peer) -> Result<(), Failure> {
    match client.recv::<()>() {
        Ok(()) => client.join(),
        // The end itself: a success, as an error would be the failure itself.
        Err(Failure::Fail { seen, .. }) if seen == "it has ended already" => Ok(()),
        Err(failure) => Err(failure),
    }
}

pub fn killed_clients_leave_the_server_whole(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    for _ in 0..ROUNDS {
        let path = env.device.clone();
        let mut clients = Vec::new();
        for n in 0..2u64 {
            let path = path.clone();
            clients.push(Peer::spawn(move |channel| {
                let party = client(&path)?;
                let mut thread = party.thread();
                thread.set_timeout(Some(limits::wait()));
                for round in 0.. {
                    let parcel = Parcel::from_bytes(n.to_ne_bytes());
                    thread.call_oneway(0, ADD, &parcel, 0)?;
                    let made = thread.call(0, MAKE, &Parcel::new(), 0)?;
                    let handle = made.handle(0)?;
                    thread.queue().acquire(handle);
                    // Some buffers are never freed.
                    if round % 2 == 0 {
                        thread.recycle(made);
                    } else {
                        made.into_address();
                    }
                    if round == 2 {
                        channel.signal()?;
                    }
                    thread.call(handle, ECHO, &Parcel::from_bytes([1; 100]), 0)?.free()?;
                }
                Ok(())
            })?);
        }
        for client in &clients {
            client.wait()?;
        }
        for client in clients {
            client.kill()?;
        }
    }
    let party = client(&env.device)?;
    let mut thread = party.thread();
    thread.set_timeout(Some(limits::wait()));
    let start = std::time::Instant::now();
    while number(&mut thread, service::ALIVE)? != 0 {
        check!(start.elapsed() < limits::wait(), "all nodes are let go");
    }
    check!(number(&mut thread, SUM)? < 1 << 32, "it still counts");
    // The whole mapping of the service is free again: almost all of it in one.
    let parcel = Parcel::from_bytes(vec![1; (1 << 20) - 4096]);
    crate::stage::send(thread.session(), 0, SUM, 0, &parcel)?;
    check_matches!(thread.session().next_reply(limits::wait()), Ok(_));
    Ok(())
}

pub fn killed_processes_in_the_middle_of_callbacks(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    for _ in 0..ROUNDS {
        let path = env.device.clone();
        let caller = Peer::spawn(move |channel| {
            let party = client(&path)?;
            let mut thread = party.thread();
            thread.set_timeout(Some(limits::wait()));
            for round in 0.. {
                let mut parcel = Parcel::new();
                parcel.binder(0x500, 5).bytes(&[round as u8; 200]);
                let answer = thread.call(0, CALL_BACK, &parcel, 0)?;
                check_eq!(answer.data(), [round as u8; 200]);
                thread.recycle(answer);
                if round == 1 {
                    channel.signal()?;
                }
            }
            Ok(())
        })?;
        caller.wait()?;
        caller.kill()?;
        let session = Session::primed(&binder_client::device::Device::open(&env.device)?)?;
        check_eq!(call_until_dead(&session, 3)?, 3, "calls that the service answers");
    }
    Ok(())
}

pub fn killed_managers_are_replaced(env: &Env) -> Result<(), Failure> {
    let client = actor_on(&env.device, Some(1 << 16))?;
    let parcel = Parcel::from_bytes([3; 50]);
    for round in 0..ROUNDS {
        // One that never answers, with calls in its queue and one in its hands.
        let silent = spawn_manager(&env.device, |request| {
            request.channel.signal()?;
            Ok(Answer::Nothing)
        })?;
        crate::stage::send(&client, 0, 1, 0, &parcel)?;
        for _ in 0..round {
            crate::stage::send(&client, 0, 1, TF_ONE_WAY, &parcel)?;
        }
        silent.wait()?;
        silent.kill()?;
        check_matches!(client.next_reply(limits::wait()), Err(Error::Dead(_)));
        crate::stage::pending(&client)?.iter().try_for_each(|entry| match entry {
            Return::TransactionComplete => Ok(()),
            other => Err(Failure::new("a return", "a completion", other.name())),
        })?;
        let echo = spawn_echo(&env.device)?;
        crate::stage::send(&client, 0, 1, 0, &parcel)?;
        check_eq!(client.next_reply(limits::wait())?.0.data(), parcel.data());
        echo.kill()?;
    }
    Ok(())
}
