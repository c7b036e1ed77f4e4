// SPDX-License-Identifier: GPL-2.0
//! The read buffer: its bounds, and what happens to work that cannot be written.

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::guard::{BadAddress, GuardedBuffer};
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::returns::{Return, Returns};
use binder_client::session::{Outcome, Raw, ReadTarget, Session, READ_SIZE};
use binder_client::uapi::*;
use binder_client::{check, check_eq, check_matches, limits, Errno};

use super::{nonblocking, nothing_waits, open_nonblocking, LARGEST};
use crate::core_support::*;

/// Queues `count` `BR_TRANSACTION_COMPLETE`s for the calling thread.
fn queue_completions(session: &Session, count: usize) -> Result<(), Failure> {
    for code in 0..count {
        send(session, 0, code as u32, TF_ONE_WAY)?;
    }
    Ok(())
}

/// One ioctl that only reads, to `target`.
fn read_to(session: &Session, target: ReadTarget<'_>, consumed: u64) -> Outcome {
    let mut raw = Raw::new(&[], target);
    raw.read_consumed = consumed;
    session.write_read_raw(raw)
}

pub fn first_word_is_noop(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    queue_completions(&session, 1)?;
    let outcome = session.write_read(&Commands::new(), 256);
    check_eq!(outcome.result, Ok(()));
    check_eq!(outcome.returns()?, [Return::Noop, Return::TransactionComplete]);
    check_eq!(outcome.read_consumed, 8);
    Ok(())
}

pub fn reading_on_writes_no_second_noop(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    queue_completions(&session, 1)?;
    let mut room = [0x55u8; 256];
    let outcome = read_to(&session, ReadTarget::Bytes(&mut room), 16);
    check_eq!((outcome.result, outcome.read_consumed), (Ok(()), 20));
    check_eq!(Returns::parse(&room[16..20])?, [Return::TransactionComplete]);
    Ok(())
}

pub fn returns_follow_what_is_consumed(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    queue_completions(&session, 2)?;
    let mut room = [0x55u8; 256];
    let outcome = read_to(&session, ReadTarget::Bytes(&mut room), 32);
    check_eq!((outcome.result, outcome.read_consumed), (Ok(()), 40));
    check!(room[..32] == [0x55; 32], "what is before stays");
    check!(room[40..] == [0x55; 216], "what is behind stays");
    Ok(())
}

pub fn room_of_less_than_a_word_is_a_fault(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    queue_completions(&session, 1)?;
    for size in 1..4 {
        let mut room = GuardedBuffer::new(size)?;
        let target = ReadTarget::Guarded(&mut room, size as u64);
        let outcome = read_to(&session, target, 0);
        let seen = (outcome.result, outcome.read_consumed);
        check_eq!(seen, (Err(Errno::EFAULT), 0), "room of {size} bytes");
    }
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    Ok(())
}

pub fn returns_are_not_written_past_the_room(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = nonblocking(env)?;
    queue_completions(&session, 1)?;
    for size in 1..4u64 {
        let mut room = GuardedBuffer::with_bytes(&[0x55; 64])?;
        let outcome = read_to(&session, ReadTarget::Guarded(&mut room, size), 0);
        check_eq!(outcome.result, Err(Errno::EFAULT), "room of {size} bytes");
        check!(
            room.to_vec()[size as usize..].iter().all(|&b| b == 0x55),
            "nothing is written behind {size} bytes"
        );
    }
    Ok(())
}

pub fn more_consumed_than_room_is_a_fault(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = nonblocking(env)?;
    queue_completions(&session, 1)?;
    for consumed in [101, 160, 1 << 40, u64::MAX] {
        let mut room = GuardedBuffer::with_bytes(&[0x55; 512])?;
        let outcome = read_to(&session, ReadTarget::Guarded(&mut room, 100), consumed);
        check_eq!(outcome.result, Err(Errno::EFAULT), "{consumed} consumed of 100");
        check!(room.to_vec() == [0x55; 512], "nothing is written");
    }
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    Ok(())
}

pub fn small_room_gets_no_item(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    for session in [env.session()?, nonblocking(env)?] {
        queue_completions(&session, 1)?;
        for size in [4, 8, 64, 3 + LARGEST] {
            let outcome = session.write_read(&Commands::new(), size);
            check_eq!(outcome.result, Ok(()), "room of {size} bytes");
            check_eq!(outcome.returns()?, [Return::Noop], "room of {size} bytes");
        }
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    }
    Ok(())
}

pub fn smallest_room_gets_one_item(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    queue_completions(&session, 3)?;
    let complete = Return::TransactionComplete;
    let outcome = session.write_read(&Commands::new(), 4 + LARGEST);
    check_eq!(outcome.returns()?, [Return::Noop, complete]);
    let outcome = session.write_read(&Commands::new(), 4 + LARGEST + 4);
    check_eq!(outcome.returns()?, [Return::Noop, complete, complete]);
    Ok(())
}

pub fn small_room_waits_for_work(env: &Env) -> Result<(), Failure> {
    let client = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, TF_ONE_WAY)
    })?;
    let device = env.open()?;
    binder_client::manager::become_manager(&device)?;
    let reader = Worker::start(move || {
        let session = Session::primed(&device)?;
        let small = session.write_read(&Commands::new(), 16);
        Ok((small, session.write_read(&Commands::new(), READ_SIZE)))
    });
    reader.asleep()?;
    client.signal()?;
    let (small, large) = reader.join()?;
    check_eq!(small.result, Ok(()));
    check_eq!(small.returns()?, [Return::Noop]);
    // The request is still there.
    check_matches!(large.ok()?[..], [Return::Transaction(_)]);
    Ok(())
}

pub fn room_far_too_large_does_no_harm(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    for size in [1 << 20, 1 << 40] {
        queue_completions(&session, 1)?;
        let mut room = GuardedBuffer::new(64)?;
        let outcome = read_to(&session, ReadTarget::Guarded(&mut room, size), 0);
        check_eq!((outcome.result, outcome.read_consumed), (Ok(()), 8));
        let all = [Return::Noop, Return::TransactionComplete];
        check_eq!(Returns::parse(&room.to_vec()[..8])?, all);
    }
    Ok(())
}

pub fn bad_read_buffer_is_a_fault_at_once(env: &Env) -> Result<(), Failure> {
    // There is nothing to read: it must not wait for something first.
    let session = env.session()?;
    for bad in [BadAddress::Null, BadAddress::Kernel] {
        let outcome = read_to(&session, ReadTarget::Bad(bad, 256), 0);
        let seen = (outcome.result, outcome.read_consumed);
        check_eq!(seen, (Err(Errno::EFAULT), 0), "reading to {bad:?}");
    }
    Ok(())
}

pub fn bad_read_buffer_takes_nothing_away(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = nonblocking(env)?;
    queue_completions(&session, 2)?;
    for bad in [BadAddress::Null, BadAddress::Kernel] {
        let outcome = read_to(&session, ReadTarget::Bad(bad, 256), 0);
        check_eq!(outcome.result, Err(Errno::EFAULT), "reading to {bad:?}");
    }
    let complete = Return::TransactionComplete;
    check_eq!(session.read(limits::wait())?, [complete, complete]);
    nothing_waits(&session)
}

/// Reads a request to a buffer that has room for a part of it only.
fn fail_to_read_request(session: &Session, have: usize) -> Result<(), Failure> {
    check!(session.readable(limits::wait())?, "a request is there");
    let mut room = GuardedBuffer::new(have)?;
    let outcome = read_to(session, ReadTarget::Guarded(&mut room, 4096), 0);
    check_eq!(outcome.result, Err(Errno::EFAULT), "{have} bytes of room");
    Ok(())
}

pub fn call_that_cannot_be_delivered_fails(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        for have in [4, 8, 70] {
            fail_to_read_request(session, have)?;
        }
        // The thread is as free as before.
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    for code in 0..3 {
        send(&session, 0, code, 0)?;
        let seen = session.next_reply(limits::wait()).map(drop);
        check_matches!(seen, Err(Error::Failed(_)));
    }
    call(&session, 0, 9)?;
    server.join()
}

pub fn oneway_queue_goes_on_after_a_failed_delivery(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        fail_to_read_request(session, 4)?;
        check_eq!(receive(session)?.incoming().code, 2);
        Ok(())
    })?;
    let session = env.session()?;
    send(&session, 0, 1, TF_ONE_WAY)?;
    send(&session, 0, 2, TF_ONE_WAY)?;
    let all = session.read(limits::wait())?;
    check_matches!(all[..], [Return::TransactionComplete, Return::TransactionComplete]);
    server.join()
}

pub fn small_room_with_work_of_the_process_is_no_reason_to_wait(env: &Env) -> Result<(), Failure> {
    let sender = client(&env.device, |session, channel| {
        channel.wait()?;
        send(session, 0, 1, TF_ONE_WAY)?;
        channel.signal()
    })?;
    let device = open_nonblocking(env)?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    sender.signal()?;
    sender.wait()?;
    let outcome = session.write_read(&Commands::new(), LARGEST);
    check_eq!((outcome.result, outcome.read_consumed), (Ok(()), 4));
    receive(&session)?;
    let outcome = session.write_read(&Commands::new(), LARGEST);
    check_eq!(outcome.result, Err(Errno::EAGAIN));
    sender.join()
}
