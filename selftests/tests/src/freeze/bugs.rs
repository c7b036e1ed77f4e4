// SPDX-License-Identifier: GPL-2.0
//! Faults of Binder drivers that have to do with freezing, each as a case.

use std::time::Duration;

use binder_client::ktap::{Env, Failure};
use binder_client::{check_eq, limits, Errno};

use super::notify::{clear, done, next, nothing, state, watch, watched, COOKIE};
use super::*;

pub fn bug_b29_unread_notification_goes_with_its_handle(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    session.write(Commands::new().release(0))?;
    nothing(&session)?;
    // And with its process.
    watch(&session)?;
    drop(session);
    let other = env.session()?;
    watch(&other)?;
    check_eq!(next(&other)?, state(true));
    Ok(())
}

pub fn bug_b32_unacknowledged_notification_goes_with_its_process(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    drop(session);
    let other = env.session()?;
    watch(&other)?;
    check_eq!(next(&other)?, state(true));
    Ok(())
}

pub fn bug_b34_same_cookie_again_while_the_end_waits(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    clear(&session)?;
    session.write(Commands::new().request_freeze(0, COOKIE))?;
    done(&session)?;
    let mut seen = vec![next(&session)?];
    if seen[0] == state(true) {
        done(&session)?;
    }
    seen.push(next(&session)?);
    if seen[1] == state(true) {
        done(&session)?;
    }
    seen.sort_by_key(|entry| *entry == state(true));
    check_eq!(seen, [Return::ClearFreezeNotificationDone(COOKIE), state(true)]);
    thaw(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(false));
    Ok(())
}

pub fn bug_b35_state_asked_for_during_a_freeze_is_not_frozen(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    target.does(Step::Take)?;
    let waiting = freezer(session.device(), target.pid(), 10 * limits::wait());
    waiting.asleep()?;
    let watcher = env.session()?;
    watch(&watcher)?;
    check_eq!(next(&watcher)?, state(false));
    done(&watcher)?;
    thaw(session.device(), target.pid())?;
    target.does(Step::Reply)?;
    finish_call(&session)?;
    check_eq!(waiting.join()?, Err(Errno::EAGAIN));
    nothing(&watcher)
}

pub fn bug_b36_handles_that_go_with_their_notification(env: &Env) -> Result<(), Failure> {
    const ROUNDS: usize = 20_000;
    let _target = Target::manager(env)?;
    let session = env.session()?;
    for _ in 0..ROUNDS {
        let mut commands = Commands::new();
        commands.acquire(0).request_freeze(0, COOKIE).release(0);
        session.write(&commands)?;
    }
    nothing(&session)
}

pub fn bug_b30_frozen_process_with_many_nodes_is_killed(env: &Env) -> Result<(), Failure> {
    const NODES: u64 = 300;
    let target = manager(&env.device, |session, channel| {
        let request = receive(session)?;
        let mut parcel = Parcel::new();
        for number in 1..=NODES {
            parcel.binder(number * 16, number);
        }
        reply_with(session, &parcel)?;
        drop(request);
        channel.wait()
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    let (received, _) = session.next_reply(limits::wait())?;
    let mut commands = Commands::new();
    for index in 0..NODES as usize {
        let handle = received.handle(index)?;
        commands.acquire(handle).request_freeze(handle, u64::from(handle));
    }
    session.write(&commands)?;
    let pid = target.pid() as u32;
    let device = session.device().clone();
    let freezing = Worker::start(move || {
        let mut rounds = 0;
        while device.freeze(pid, rounds % 2 == 0, Duration::ZERO) != Err(Errno::EINVAL) {
            rounds += 1;
        }
        Ok(rounds)
    });
    // Read what is told meanwhile, and acknowledge it.
    let mut told = 0;
    while told < NODES {
        let mut answers = Commands::new();
        for entry in session.read(limits::wait())? {
            if let Return::FrozenBinder(info) = entry {
                answers.freeze_done(info.cookie);
                told += 1;
            }
        }
        session.write(&answers)?;
    }
    target.kill()?;
    let rounds = freezing.join()?;
    binder_client::check!(rounds > 1, "some rounds before the end, not {rounds}");
    Ok(())
}

pub fn bug_b37_message_is_gone_while_its_sender_is_told(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    let device = session.device().clone();
    let pid = target.pid();
    let toggling = Worker::start(move || {
        for round in 0..200 {
            let _ = device.freeze(pid, round % 2 == 0, Duration::ZERO);
        }
        Ok(device.freeze(pid, false, Duration::ZERO)?)
    });
    for code in 0..100 {
        send_oneway(&session, code, 0)?;
        check_eq!(target.does(Step::Take)?, code);
    }
    toggling.join()
}
