// SPDX-License-Identifier: GPL-2.0
//! Freezing and thawing while calls come and go.

use std::time::{Duration, Instant};

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::session::Session;
use binder_client::{check, check_eq, limits, Errno};

use super::*;

/// Calls until the time is over; says how many were served and how many refused.
fn calls(session: &Session, time: Duration) -> Result<(u32, u32), Failure> {
    let (mut served, mut refused) = (0, 0);
    let start = Instant::now();
    while start.elapsed() < time {
        send(session, 0, 1, 0)?;
        match session.next_reply(limits::wait()) {
            Ok(_) => served += 1,
            Err(Error::Frozen(_)) => refused += 1,
            Err(error) => return Err(error.into()),
        }
    }
    Ok((served, refused))
}

pub fn every_call_is_served_or_refused(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| serve_for_ever(session))?;
    let time = limits::wait() / 20;
    let callers = (0..2)
        .map(|_| env.session().map(|session| Worker::start(move || calls(&session, time))))
        .collect::<Result<Vec<_>, _>>()?;
    let device = env.open()?;
    let pid = server.pid() as u32;
    let (mut frozen, mut busy) = (0, 0);
    while !callers.iter().all(Worker::ended) {
        match device.freeze(pid, true, Duration::from_millis(frozen % 3)) {
            Ok(()) => frozen += 1,
            Err(Errno::EAGAIN) => busy += 1,
            Err(error) => return Err(error.into()),
        }
        thaw(&device, pid)?;
    }
    for caller in callers {
        caller.join()?;
    }
    check!(frozen > 0, "it was frozen at times ({busy} times it was busy)");
    let session = env.session()?;
    call(&session, 0, 1)?;
    // Nothing is left over that would keep it from freezing.
    check_eq!(device.freeze(pid, true, limits::wait()), Ok(()));
    call_is_refused(&session)
}

pub fn two_who_freeze_agree(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let device = env.open()?;
    let pid = target.pid();
    let workers = [0, 1].map(|first| {
        let device = device.clone();
        Worker::start(move || {
            for round in 0..2000 {
                match device.freeze(pid, (round + first) % 2 == 0, Duration::ZERO) {
                    Ok(()) | Err(Errno::EAGAIN) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(())
        })
    });
    for worker in workers {
        worker.join()?;
    }
    let session = env.session()?;
    freeze(&device, pid)?;
    call_is_refused(&session)?;
    thaw(&device, pid)?;
    call_is_served(&session, &target)
}

pub fn last_state_is_told_whatever_comes_before(env: &Env) -> Result<(), Failure> {
    let (target, session) = super::notify::watched(env)?;
    let flags = nix::fcntl::OFlag::O_RDWR | nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(&**session.device(), nix::fcntl::FcntlArg::F_SETFL(flags))?;
    let device = env.open()?;
    let pid = target.pid();
    for round in 0..20 {
        let device = device.clone();
        let toggling = Worker::start(move || {
            for step in 0..101 {
                device.freeze(pid, (step + round) % 2 == 0, Duration::ZERO)?;
            }
            Ok(())
        });
        let mut told = None;
        let ends_frozen = round % 2 == 0;
        while !toggling.ended() || session.readable(Duration::ZERO)? {
            if !session.readable(Duration::from_millis(1))? {
                continue;
            }
            // What made it readable is gone if the state has changed back meanwhile.
            let outcome = session.write_read(&Commands::new(), 4096);
            if outcome.result == Err(Errno::EAGAIN) {
                continue;
            }
            for entry in outcome.ok()? {
                if let Return::FrozenBinder(info) = entry {
                    check!(told != Some(info.is_frozen), "no state twice in a row");
                    told = Some(info.is_frozen);
                    super::notify::done(&session)?;
                }
            }
        }
        toggling.join()?;
        if let Some(told) = told {
            check_eq!(told, u32::from(ends_frozen), "the last state");
        }
        thaw(session.device(), pid)?;
        if ends_frozen {
            check_eq!(super::notify::next(&session)?, super::notify::state(false));
            super::notify::done(&session)?;
        }
    }
    Ok(())
}
