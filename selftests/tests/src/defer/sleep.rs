// SPDX-License-Identifier: GPL-2.0
//! Threads that sleep for their next call with a deferred completion.

use std::sync::Arc;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_DEFER_COMPLETE;
use binder_client::{check, check_eq, check_matches, limits, Errno};
use nix::sys::signal::Signal;

use super::pair;
use crate::stage::worker::{asleep_in_ioctl, Worker};
use crate::stage::{send, set_nonblock, Stage};

const DONE: Return = Return::TransactionComplete;
const CALLS: u64 = 50;

/// A manager that frees, replies and reads on in one ioctl, and tells after
/// [`CALLS`] calls how many ioctls that took.
fn counting_manager(env: &Env, flags: u32) -> Result<Peer, Failure> {
    let path = env.device.clone();
    let peer = Peer::spawn(move |channel| {
        let device = Device::open(&path)?;
        become_manager(&device)?;
        channel.signal()?;
        let ioctls = serve_calls(&device, flags)?;
        channel.send(&ioctls)?;
        channel.wait()
    })?;
    peer.wait()?;
    Ok(peer)
}

fn serve_calls(device: &Arc<Device>, flags: u32) -> Result<u64, Failure> {
    let session = Session::primed(device)?;
    let mut commands = Commands::new();
    commands.enter_looper();
    session.write(&commands)?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    let (mut served, mut before) = (0, 0);
    while served < CALLS {
        let outcome = session.write_read(&commands, READ_SIZE);
        commands.clear();
        for entry in outcome.ok()? {
            if let Return::Transaction(incoming) = entry {
                served += 1;
                if served == 1 {
                    before = device.ioctls();
                }
                commands.free_buffer(incoming.buffer).reply(flags, &parcel);
            }
        }
    }
    let taken = device.ioctls() - before;
    session.write(&commands)?;
    Ok(taken)
}

/// Makes the calls and returns the manager's number of ioctls between the
/// first and the last.
fn ioctls_for_calls(env: &Env, flags: u32) -> Result<u64, Failure> {
    let manager = counting_manager(env, flags)?;
    let client = env.session()?;
    for _ in 0..CALLS {
        send(&client, 0, 1, 0, &Parcel::new())?;
        client.next_reply(limits::wait())?.0.free()?;
    }
    manager.recv()
}

pub fn server_makes_one_ioctl_per_call(env: &Env) -> Result<(), Failure> {
    check_eq!(ioctls_for_calls(env, TF_DEFER_COMPLETE)?, CALLS - 1);
    Ok(())
}

pub fn server_without_the_flag_makes_two_ioctls_per_call(env: &Env) -> Result<(), Failure> {
    check_eq!(ioctls_for_calls(env, 0)?, 2 * (CALLS - 1));
    Ok(())
}

/// A thread of the server that answers with the flag and sleeps for more.
struct Sleeper {
    server: Session,
    client: Session,
    handle: u32,
    thread: Worker,
    read: crate::stage::worker::Pending<binder_client::session::Outcome>,
    _stage: Stage,
}

impl Sleeper {
    fn new(env: &Env) -> Result<Self, Failure> {
        let stage = Stage::new(env)?;
        let (server, client, handle) = pair(&stage)?;
        let thread = Worker::spawn()?;
        let (session, caller) = (server.clone(), client.clone());
        send(&caller, handle, 1, 0, &Parcel::new())?;
        thread.run(move || {
            let session = Session::primed(session.device())?;
            session.next_transaction(limits::wait())?.0.free()?;
            Ok(())
        })?;
        set_nonblock(&server, false)?;
        let session = server.clone();
        let read = thread.start(move || {
            let parcel = Parcel::new();
            let mut commands = Commands::new();
            commands.reply(TF_DEFER_COMPLETE, &parcel);
            session.write_read(&commands, READ_SIZE)
        })?;
        client.next_reply(limits::wait())?.0.free()?;
        Ok(Sleeper { server, client, handle, thread, read, _stage: stage })
    }
}

pub fn read_sleeps_in_spite_of_it(env: &Env) -> Result<(), Failure> {
    let sleeper = Sleeper::new(env)?;
    sleeper.thread.wait_asleep()?;
    check!(sleeper.read.now().is_none(), "the read has not returned");
    send(&sleeper.client, sleeper.handle, 7, 0, &Parcel::new())?;
    let returns = sleeper.read.wait()?.ok()?;
    check_matches!(returns[..], [DONE, Return::Transaction(incoming)] if incoming.code == 7);
    Ok(())
}

pub fn flush_ends_the_sleep_and_delivers_it(env: &Env) -> Result<(), Failure> {
    let sleeper = Sleeper::new(env)?;
    sleeper.thread.wait_asleep()?;
    sleeper.server.device().flush()?;
    check_eq!(sleeper.read.wait()?.ok()?, [DONE]);
    Ok(())
}

pub fn sleeping_thread_is_chosen_for_work(env: &Env) -> Result<(), Failure> {
    let sleeper = Sleeper::new(env)?;
    sleeper.thread.wait_asleep()?;
    send(&sleeper.client, sleeper.handle, 8, 0, &Parcel::new())?;
    // This thread finds nothing in the process's queue: it went to the sleeper.
    set_nonblock(&sleeper.server, true)?;
    check_eq!(crate::stage::pending(&sleeper.server)?, []);
    let returns = sleeper.read.wait()?.ok()?;
    check_matches!(returns[..], [DONE, Return::Transaction(_)]);
    Ok(())
}

/// The state letter of a process, as in `/proc/PID/stat`.
fn state(pid: i32) -> Result<char, Failure> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = text.rsplit(") ").next().and_then(|rest| rest.chars().next());
    Ok(after_name.unwrap_or('?'))
}

/// Waits until a process is stopped.
fn stopped(pid: i32) -> Result<(), Failure> {
    let start = std::time::Instant::now();
    while state(pid)? != 'T' {
        if start.elapsed() > limits::wait() {
            return Err(Failure::new("a process", "to stop", "it runs"));
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// The whole life of a manager that answers one call with the flag and tells
/// what its next read gave.
fn answer_and_sleep(device: &Arc<Device>, channel: &Channel) -> Result<(), Failure> {
    let session = Session::primed(device)?;
    session.next_transaction(limits::wait())?.0.free()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.reply(TF_DEFER_COMPLETE, &parcel);
    let outcome = session.write_read(&commands, READ_SIZE);
    let names: Vec<_> = outcome.returns()?.iter().map(Return::name).collect();
    channel.send(&(outcome.result == Err(Errno::EINTR), names))?;
    channel.wait()
}

pub fn signal_ends_the_sleep_and_delivers_it(env: &Env) -> Result<(), Failure> {
    let path = env.device.clone();
    let manager = Peer::spawn(|channel| {
        let device = Device::open(&path)?;
        become_manager(&device)?;
        channel.signal()?;
        answer_and_sleep(&device, channel)
    })?;
    manager.wait()?;
    let client = env.session()?;
    send(&client, 0, 1, 0, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    asleep_in_ioctl(manager.pid())?;
    // Stopping interrupts the sleep like any signal, and needs no handler.
    manager.kill_with(Signal::SIGSTOP)?;
    stopped(manager.pid())?;
    manager.kill_with(Signal::SIGCONT)?;
    let (interrupted, names) = manager.recv::<(bool, Vec<String>)>()?;
    check_eq!(
        (interrupted, names.last().map(String::as_str)),
        (false, Some("BR_TRANSACTION_COMPLETE"))
    );
    Ok(())
}

pub fn many_threads_lose_nothing(env: &Env) -> Result<(), Failure> {
    const THREADS: usize = 3;
    /// Rounds of each client, fewer on a slow machine: thousands together.
    const ROUNDS: usize = 1000;
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    set_nonblock(&server, false)?;
    let mut servers = Vec::new();
    for _ in 0..THREADS {
        let session = server.clone();
        let worker = Worker::spawn()?;
        let end = worker.start(move || serve_until_flushed(&session))?;
        servers.push((worker, end));
    }
    let mut clients = Vec::new();
    for n in 0..THREADS + 1 {
        let client = client.clone();
        let worker = Worker::spawn()?;
        let end = worker.start(move || -> Result<usize, Failure> {
            let start = std::time::Instant::now();
            for round in 0..ROUNDS {
                if start.elapsed() > limits::wait() / 3 {
                    return Ok(round);
                }
                let parcel = Parcel::from_bytes([n as u8, round as u8]);
                send(&client, handle, 1, 0, &parcel)?;
                let (answer, _) = client.next_reply(limits::wait())?;
                check_eq!(answer.data(), parcel.data());
                answer.free()?;
            }
            Ok(ROUNDS)
        })?;
        clients.push((worker, end));
    }
    let mut rounds = 0;
    for (_, end) in clients {
        rounds += end.wait()??;
    }
    // A flush wakes them; with nothing to tell, they stop.
    let start = std::time::Instant::now();
    let mut totals = Totals::default();
    for (_, end) in servers {
        let part = loop {
            server.device().flush()?;
            if let Some(part) = end.now() {
                break part?;
            }
            if start.elapsed() > limits::wait() {
                return Err(Failure::new("a serving thread", "to end", "it sleeps"));
            }
            std::thread::yield_now();
        };
        totals.calls += part.calls;
        totals.completions += part.completions;
    }
    check_eq!((totals.calls, totals.completions), (rounds, rounds));
    Ok(())
}

#[derive(Default)]
struct Totals {
    calls: usize,
    completions: usize,
}

/// Echoes with the flag until a read returns without any news.
fn serve_until_flushed(session: &Session) -> Result<Totals, Failure> {
    let session = Session::primed(session.device())?;
    let mut totals = Totals::default();
    let mut parcel;
    let mut request: Option<(u64, Vec<u8>)> = None;
    loop {
        let mut commands = Commands::new();
        if let Some((address, data)) = request.take() {
            parcel = Parcel::from_bytes(data);
            commands.free_buffer(address).reply(TF_DEFER_COMPLETE, &parcel);
        }
        let returns = session.write_read(&commands, READ_SIZE).ok()?;
        let mut news = false;
        for entry in returns {
            match entry {
                Return::Transaction(incoming) => {
                    let received = session.received(incoming)?;
                    let data = received.data();
                    request = Some((received.into_address(), data));
                    totals.calls += 1;
                    news = true;
                }
                Return::TransactionComplete => {
                    totals.completions += 1;
                    news = true;
                }
                _ => {}
            }
        }
        if !news {
            return Ok(totals);
        }
    }
}
