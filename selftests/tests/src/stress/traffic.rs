// SPDX-License-Identifier: GPL-2.0
//! Mixed traffic between processes that all live.

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::thread::BinderThread;
use binder_client::{check, check_eq, limits};

use crate::service::{self, client, number, ADD, ALIVE, CALL_BACK, ECHO, MAKE, SUM};

const CLIENTS: usize = 3;
const THREADS: usize = 2;

/// Runs `body` in each thread of each client process, with a number of its own.
fn in_all_clients(
    env: &Env,
    body: fn(&mut BinderThread, u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut clients = Vec::new();
    for process in 0..CLIENTS {
        let path = env.device.clone();
        clients.push(Peer::spawn(move |_| {
            let party = client(&path)?;
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    let party = party.clone();
                    let number = (process * THREADS + thread) as u64;
                    std::thread::spawn(move || {
                        let mut thread = party.thread();
                        thread.set_timeout(Some(limits::wait()));
                        body(&mut thread, number)?;
                        Ok(thread.flush()?)
                    })
                })
                .collect();
            for thread in threads {
                let result: Result<(), Failure> = match thread.join() {
                    Ok(result) => result,
                    Err(_) => Err(Failure::new("a client's thread", "its end", "a panic")),
                };
                result?;
            }
            Ok(())
        })?);
    }
    clients.into_iter().try_for_each(Peer::join)
}

/// Data that depends on the client and the round.
fn pattern(client: u64, round: u64) -> Vec<u8> {
    let length = (client * 131 + round * 977) % 3000;
    (0..length).map(|at| (at ^ (client * 17) ^ (round * 29)) as u8).collect()
}

fn echo(thread: &mut BinderThread, data: Vec<u8>) -> Result<(), Failure> {
    let parcel = Parcel::from_bytes(data);
    let answer = thread.call(0, ECHO, &parcel, 0)?;
    check!(answer.data() == parcel.data(), "the reply to this very call");
    thread.recycle(answer);
    Ok(())
}

pub fn many_clients_get_their_own_replies(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    in_all_clients(env, |thread, client| {
        (0..60).try_for_each(|round| echo(thread, pattern(client, round)))
    })
}

pub fn oneway_calls_arrive_once_and_in_order(env: &Env) -> Result<(), Failure> {
    const CALLS: u64 = 60;
    let _service = service::spawn(&env.device, 2)?;
    in_all_clients(env, |thread, client| {
        for round in 0..CALLS {
            let value = client * 1000 + round;
            let parcel = Parcel::from_bytes(value.to_ne_bytes());
            let done = thread.call_oneway(0, ADD, &parcel, 0)?;
            check_eq!(done, Return::TransactionComplete);
        }
        Ok(())
    })?;
    let clients = (CLIENTS * THREADS) as u64;
    let expected: u64 =
        (0..clients).flat_map(|client| (0..CALLS).map(move |round| client * 1000 + round)).sum();
    // A oneway call of one's own is behind all others of the node.
    let party = client(&env.device)?;
    let mut thread = party.thread();
    thread.set_timeout(Some(limits::wait()));
    let start = std::time::Instant::now();
    loop {
        let sum = number(&mut thread, SUM)?;
        if sum == expected {
            return Ok(());
        }
        check!(sum < expected, "no call counts twice: {sum} of {expected}");
        check!(start.elapsed() < limits::wait(), "all calls arrive: {sum} of {expected}");
    }
}

pub fn callbacks_of_many_clients_find_their_way(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    in_all_clients(env, |thread, client| {
        for round in 0..25 {
            let data = pattern(client, round);
            let mut parcel = Parcel::new();
            parcel.binder(0x100 + client, 7).bytes(&data);
            let answer = thread.call(0, CALL_BACK, &parcel, 0)?;
            check!(answer.data() == data, "what the own node echoed");
            thread.recycle(answer);
        }
        Ok(())
    })
}

pub fn nodes_that_come_and_go_are_all_released(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    in_all_clients(env, |thread, _| {
        let mut held = Vec::new();
        for _ in 0..25 {
            let answer = thread.call(0, MAKE, &Parcel::new(), 0)?;
            let handle = answer.handle(0)?;
            thread.queue().acquire(handle);
            thread.recycle(answer);
            held.push(handle);
            if held.len() > 4 {
                let handle = held.remove(1);
                let answer = thread.call(handle, ECHO, &Parcel::from_bytes(*b"node"), 0)?;
                check_eq!(answer.data(), b"node");
                thread.recycle(answer);
                thread.queue().release(handle);
            }
        }
        Ok(())
    })?;
    // The clients are gone, and with them what they still held.
    let party = client(&env.device)?;
    let mut thread = party.thread();
    thread.set_timeout(Some(limits::wait()));
    let start = std::time::Instant::now();
    loop {
        let alive = number(&mut thread, ALIVE)?;
        if alive == 0 {
            return Ok(());
        }
        check!(start.elapsed() < limits::wait(), "{alive} nodes are still held");
    }
}

pub fn large_and_small_calls_share_the_mapping(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    in_all_clients(env, |thread, client| {
        for round in 0..12 {
            // The sum of all that can be under way stays below the mapping.
            let length = if round % 3 == 0 { 100_000 } else { 40 * round };
            echo(thread, vec![(client * 16 + round) as u8; length as usize])?;
        }
        Ok(())
    })
}

pub fn threads_that_come_and_go_leave_nothing(env: &Env) -> Result<(), Failure> {
    let _service = service::spawn(&env.device, 2)?;
    in_all_clients(env, |thread, client| {
        for round in 0..20 {
            let party = thread.party().clone();
            let short = std::thread::spawn(move || -> Result<(), Failure> {
                let mut thread = party.thread();
                thread.set_timeout(Some(limits::wait()));
                echo(&mut thread, pattern(client, round))?;
                thread.flush()?;
                Ok(party.device().thread_exit()?)
            });
            match short.join() {
                Ok(result) => result?,
                Err(_) => return Err(Failure::new("a short thread", "its end", "a panic")),
            }
        }
        Ok(())
    })
}
