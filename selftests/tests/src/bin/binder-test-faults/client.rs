// SPDX-License-Identifier: GPL-2.0
//! A thread after its failure: take what is left for it, then prove that it
//! can call as if nothing had happened.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::ktap::Failure;
use binder_client::manager::answer_reference;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Outcome, Session};
use binder_client::{check, check_matches, fail, limits, Errno};

use crate::injector::Shot;
use crate::witness::{is_end, PING};

/// How long to wait for the outcome of a call that may never have been sent.
fn patience() -> Duration {
    limits::case() / 20
}

/// What an ioctl may say when something inside it failed, and what it must say
/// when nothing did.
pub fn check_result<T: std::fmt::Debug>(
    shot: &Shot,
    result: &Result<T, Errno>,
) -> Result<(), Failure> {
    if shot.fired() {
        check_matches!(result, Ok(_) | Err(Errno::ENOMEM | Errno::EFAULT));
    } else {
        check_matches!(result, Ok(_));
    }
    Ok(())
}

/// As [`check_result`] for `BINDER_WRITE_READ`.
pub fn check_outcome(shot: &Shot, outcome: &Outcome) -> Result<(), Failure> {
    check_result(shot, &outcome.result)
}

/// Reads what can be read at once.
pub fn drain(session: &Session) -> Result<Vec<Return>, Failure> {
    let mut all = Vec::new();
    while session.readable(Duration::ZERO)? {
        all.extend(take_batch(session, patience())?);
    }
    Ok(all)
}

/// Waits for something to read, then reads all there is.
///
/// An error of the thread's own command comes last, and no command is carried out before
/// it was read.
fn read_all(session: &Session, timeout: Duration) -> Result<Vec<Return>, Error> {
    let mut all = session.read(timeout)?;
    while session.readable(Duration::ZERO)? {
        all.extend(session.read(timeout)?);
    }
    Ok(all)
}

/// Reads what comes, answers references in it and frees what it delivers.
fn take_batch(session: &Session, timeout: Duration) -> Result<Vec<Return>, Error> {
    let batch = read_all(session, timeout)?;
    for &entry in &batch {
        answer_reference(session, entry)?;
        if let Return::Reply(incoming) = entry {
            session.received(incoming)?.free()?;
        }
    }
    Ok(batch)
}

/// Calls until a reply has this call's own data.
///
/// The call whose sending met the failure may be on its way, which refuses a
/// second one, or have its end still to come: both are no fault.
pub fn works(session: &Session) -> Result<(), Failure> {
    drain(session)?;
    for _ in 0..3 {
        if ping(session)? {
            return Ok(());
        }
    }
    fail!("the next call has no reply in three attempts")
}

fn ping(session: &Session) -> Result<bool, Failure> {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let own = NUMBER.fetch_add(1, Ordering::Relaxed).to_ne_bytes();
    let parcel = Parcel::from_bytes(own);
    let mut commands = Commands::new();
    commands.transaction(0, PING, 0, &parcel);
    session.write(&commands)?;
    loop {
        let batch = match read_all(session, patience()) {
            Ok(batch) => batch,
            Err(Error::Timeout(_)) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let (mut answered, mut refused, mut older) = (false, false, false);
        for entry in batch {
            answer_reference(session, entry)?;
            refused |= entry == Return::FailedReply;
            if let Return::Reply(incoming) = entry {
                let reply = session.received(incoming)?;
                answered |= reply.data() == own;
                older |= reply.data() != own;
                reply.free()?;
            }
        }
        if answered {
            return Ok(true);
        }
        if refused {
            if !older {
                // What stood in its way ends some time.
                let _ = take_batch(session, patience());
            }
            return Ok(false);
        }
    }
}

/// Waits for the end of a call that was sent without any failure.
pub fn succeeds(session: &Session) -> Result<(), Failure> {
    loop {
        let batch = take_batch(session, limits::wait())?;
        if let Some(end) = batch.iter().find(|entry| is_end(entry)) {
            check!(matches!(end, Return::Reply(_)), "a call without failures is answered");
            return Ok(());
        }
    }
}
