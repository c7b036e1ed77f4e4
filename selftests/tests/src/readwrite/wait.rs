// SPDX-License-Identifier: GPL-2.0
//! Reads that wait, reads that do not, and reads that a signal ends.
//!
//! The signals are stop and continue: they end a wait in the kernel and need
//! no handler.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check, check_eq, check_matches, gettid, limits, Errno};
use nix::sys::signal::Signal;

use super::{nonblocking, nothing_waits, open_nonblocking, wrote, WORD};
use crate::core_support::*;

pub fn non_blocking_read_finds_nothing(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    for size in [4, 16, 80, 4096] {
        let outcome = session.write_read(&Commands::new(), size);
        let seen = (outcome.result, outcome.read_consumed);
        check_eq!(seen, (Err(Errno::EAGAIN), 0), "room of {size} bytes");
    }
    Ok(())
}

pub fn non_blocking_read_finds_work(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = nonblocking(env)?;
    send(&session, 0, 1, TF_ONE_WAY)?;
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    check_eq!(outcome.returns()?, [Return::Noop, Return::TransactionComplete]);
    nothing_waits(&session)
}

pub fn non_blocking_write_is_done_though_nothing_is_read(env: &Env) -> Result<(), Failure> {
    let session = nonblocking(env)?;
    let mut commands = Commands::new();
    commands.enter_looper().free_buffer(0);
    let outcome = session.write_read(&commands, READ_SIZE);
    wrote(&outcome, Err(Errno::EAGAIN), 2 * WORD + 8)?;
    check_eq!(outcome.read_consumed, 0);
    Ok(())
}

pub fn non_blocking_read_returns_a_deferred_completion(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.wait()?;
        serve_one(session).map(drop)
    })?;
    let session = nonblocking(env)?;
    send(&session, 0, 1, 0)?;
    let outcome = session.write_read(&Commands::new(), READ_SIZE);
    check_eq!(outcome.result, Ok(()));
    check_eq!(outcome.returns()?, [Return::Noop, Return::TransactionComplete]);
    nothing_waits(&session)?;
    server.signal()?;
    finish_call(&session)?;
    server.join()
}

pub fn new_threads_first_read_finds_nothing(env: &Env) -> Result<(), Failure> {
    let session = Session::new(&open_nonblocking(env)?);
    nothing_waits(&session)?;
    session.device().thread_exit()?;
    nothing_waits(&session)
}

pub fn new_threads_first_read_waits(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 4, TF_ONE_WAY)
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let reader =
        Worker::start(move || Ok(Session::new(&device).write_read(&Commands::new(), READ_SIZE)));
    reader.asleep()?;
    client.signal()?;
    let all = reader.join()?.ok()?;
    check_matches!(all[..], [Return::Transaction(incoming)] if incoming.code == 4);
    client.join()
}

pub fn read_waits_for_work(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.send(&gettid())?;
        let all = session.write_read(&Commands::new(), READ_SIZE).ok()?;
        check_matches!(all[..], [Return::Transaction(incoming)] if incoming.code == 5);
        Ok(())
    })?;
    let tid = server.recv::<i32>()?;
    asleep_in_ioctl(server.pid(), tid)?;
    let session = env.session()?;
    send(&session, 0, 5, TF_ONE_WAY)?;
    server.join()
}

pub fn write_and_read_waits_after_writing(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| serve_one(session).map(drop))?;
    let session = env.session()?;
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    let outcome = session.write_read(&commands, READ_SIZE);
    let all = outcome.returns()?;
    check_matches!(all[..], [Return::Noop, Return::TransactionComplete, Return::Reply(_)]);
    server.join()
}

/// Ends the wait of a child's only thread by a signal.
fn interrupt(child: &Peer) -> Result<(), Failure> {
    asleep_in_ioctl(child.pid(), child.pid())?;
    child.kill_with(Signal::SIGSTOP)?;
    child.kill_with(Signal::SIGCONT)
}

pub fn signal_interrupts_a_read(env: &Env) -> Result<(), Failure> {
    let reader = client(&env.device, |session, channel| {
        channel.signal()?;
        let outcome = session.write_read(&Commands::new(), READ_SIZE);
        let seen = (outcome.result, outcome.read_consumed);
        check_eq!(seen, (Err(Errno::EINTR), 0));
        Ok(())
    })?;
    reader.wait()?;
    interrupt(&reader)?;
    reader.join()
}

pub fn commands_before_a_signal_stay_done(env: &Env) -> Result<(), Failure> {
    let reader = client(&env.device, |session, channel| {
        let mut commands = Commands::new();
        commands.enter_looper().free_buffer(0);
        channel.signal()?;
        let outcome = session.write_read(&commands, READ_SIZE);
        wrote(&outcome, Err(Errno::EINTR), 2 * WORD + 8)
    })?;
    reader.wait()?;
    interrupt(&reader)?;
    reader.join()
}

/// A manager that answers when told, and a child that reads until the answer.
fn call_through_a_signal(
    env: &Env,
    first: impl FnOnce(Result<Vec<Return>, Errno>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()?;
        reply(session)
    })?;
    let caller = client(&env.device, |session, channel| {
        send(session, 0, 1, 0)?;
        channel.signal()?;
        let outcome = session.write_read(&Commands::new(), READ_SIZE);
        let result = outcome.result;
        let returns = outcome.returns()?;
        first(result.map(|()| returns))?;
        channel.signal()?;
        finish_call(session)
    })?;
    server.wait()?;
    caller.wait()?;
    interrupt(&caller)?;
    caller.wait()?;
    server.signal()?;
    caller.join()?;
    server.join()
}

pub fn reply_comes_after_a_signal(env: &Env) -> Result<(), Failure> {
    call_through_a_signal(env, |_| Ok(()))
}

pub fn completion_is_told_instead_of_the_signal(env: &Env) -> Result<(), Failure> {
    call_through_a_signal(env, |first| {
        check_eq!(first, Ok(vec![Return::Noop, Return::TransactionComplete]));
        Ok(())
    })
}

pub fn work_is_not_lost_to_signals(env: &Env) -> Result<(), Failure> {
    const ROUNDS: u32 = 40;
    let server = manager(&env.device, |session, channel| {
        let mut expected = 0;
        while expected < ROUNDS {
            let outcome = session.write_read(&Commands::new(), READ_SIZE);
            if outcome.result == Err(Errno::EINTR) {
                continue;
            }
            for entry in outcome.ok()? {
                if let Return::Transaction(incoming) = entry {
                    check_eq!(incoming.code, expected);
                    drop(session.received(incoming)?);
                    expected += 1;
                    channel.signal()?;
                }
            }
        }
        Ok(())
    })?;
    let session = env.session()?;
    for code in 0..ROUNDS {
        // Both at once, in either order, as the processors have it.
        if code % 2 == 0 {
            asleep_in_ioctl(server.pid(), server.pid())?;
        }
        server.kill_with(Signal::SIGSTOP)?;
        send(&session, 0, code, TF_ONE_WAY)?;
        server.kill_with(Signal::SIGCONT)?;
        server.wait()?;
    }
    check!(session.readable(limits::wait())?, "the completions are there");
    server.join()
}
