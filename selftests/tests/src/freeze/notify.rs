// SPDX-License-Identifier: GPL-2.0
//! Freeze notifications: asked for, told, acknowledged, cleared.

use binder_client::ktap::{Env, Failure};
use binder_client::session::Session;
use binder_client::uapi::FrozenStateInfo;
use binder_client::{check_eq, limits, Errno};

use super::*;

/// What the notifications of these cases are told by.
pub const COOKIE: u64 = 0x77;

/// A manager, and a process that watches it and has read its first state.
pub fn watched(env: &Env) -> Result<(Target, Session), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    watch(&session)?;
    check_eq!(next(&session)?, state(false));
    done(&session)?;
    Ok((target, session))
}

/// Asks for a notification about the manager.
pub fn watch(session: &Session) -> Result<(), Failure> {
    refer(session)?;
    Ok(session.write(Commands::new().request_freeze(0, COOKIE))?)
}

/// The return that tells a state.
pub fn state(frozen: bool) -> Return {
    Return::FrozenBinder(FrozenStateInfo { cookie: COOKIE, is_frozen: frozen.into(), reserved: 0 })
}

const CLEARED: Return = Return::ClearFreezeNotificationDone(COOKIE);

/// The next return, which must be the only one that there is.
#[track_caller]
pub fn next(session: &Session) -> Result<Return, Failure> {
    let mut all = session.read(limits::wait())?;
    all.retain(|entry| *entry != Return::Noop);
    check_eq!(all.len(), 1, "returns in {all:?}");
    Ok(all[0])
}

/// Checks that there is nothing to read.
#[track_caller]
pub fn nothing(session: &Session) -> Result<(), Failure> {
    check_eq!(session.readable(std::time::Duration::ZERO)?, false, "something to read");
    Ok(())
}

pub fn done(session: &Session) -> Result<(), Failure> {
    Ok(session.write(Commands::new().freeze_done(COOKIE))?)
}

pub fn clear(session: &Session) -> Result<(), Failure> {
    Ok(session.write(Commands::new().clear_freeze(0, COOKIE))?)
}

/// Checks that a command fails the ioctl and is not consumed.
#[track_caller]
fn refused(session: &Session, commands: &Commands<'_>) -> Result<(), Failure> {
    let outcome = session.write_read(commands, 0);
    check_eq!((outcome.result, outcome.write_consumed), (Err(Errno::EINVAL), 0));
    Ok(())
}

pub fn state_is_told_at_the_beginning(env: &Env) -> Result<(), Failure> {
    let (target, awake) = watched(env)?;
    nothing(&awake)?;
    freeze(awake.device(), target.pid())?;
    let late = env.session()?;
    watch(&late)?;
    check_eq!(next(&late)?, state(true));
    Ok(())
}

pub fn changes_are_told(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    for _ in 0..3 {
        freeze(session.device(), target.pid())?;
        check_eq!(next(&session)?, state(true));
        done(&session)?;
        nothing(&session)?;
        thaw(session.device(), target.pid())?;
        check_eq!(next(&session)?, state(false));
        done(&session)?;
    }
    nothing(&session)
}

pub fn state_that_is_known_is_not_told_again(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    thaw(session.device(), target.pid())?;
    nothing(&session)?;
    freeze(session.device(), target.pid())?;
    thaw(session.device(), target.pid())?;
    nothing(&session)?;
    freeze(session.device(), target.pid())?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    done(&session)?;
    nothing(&session)
}

pub fn change_waits_for_the_acknowledgement(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    thaw(session.device(), target.pid())?;
    nothing(&session)?;
    done(&session)?;
    check_eq!(next(&session)?, state(false));
    done(&session)?;
    nothing(&session)
}

pub fn change_and_back_before_the_acknowledgement_is_not_told(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    thaw(session.device(), target.pid())?;
    freeze(session.device(), target.pid())?;
    done(&session)?;
    nothing(&session)
}

pub fn unread_state_is_told_as_it_is_when_read(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    watch(&session)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    Ok(())
}

pub fn failed_freeze_is_not_told(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    send_oneway(&session, 1, 0)?;
    is_busy(session.device(), target.pid())?;
    nothing(&session)?;
    target.does(Step::Take)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    Ok(())
}

pub fn clear_is_answered(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    clear(&session)?;
    check_eq!(next(&session)?, CLEARED);
    freeze(session.device(), target.pid())?;
    nothing(&session)
}

pub fn clear_replaces_what_is_not_read(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    clear(&session)?;
    check_eq!(next(&session)?, CLEARED);
    nothing(&session)
}

pub fn clear_waits_for_the_acknowledgement(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    clear(&session)?;
    thaw(session.device(), target.pid())?;
    nothing(&session)?;
    done(&session)?;
    check_eq!(next(&session)?, CLEARED);
    nothing(&session)
}

pub fn cleared_notification_can_be_asked_for_again(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    clear(&session)?;
    check_eq!(next(&session)?, CLEARED);
    session.write(Commands::new().request_freeze(0, COOKIE))?;
    check_eq!(next(&session)?, state(false));
    done(&session)?;
    freeze(session.device(), target.pid())?;
    check_eq!(next(&session)?, state(true));
    Ok(())
}

pub fn commands_that_do_not_fit_fail_the_ioctl(env: &Env) -> Result<(), Failure> {
    let (_target, session) = watched(env)?;
    refused(&session, Commands::new().request_freeze(NO_HANDLE, 1))?;
    refused(&session, Commands::new().request_freeze(0, 2))?;
    refused(&session, Commands::new().clear_freeze(NO_HANDLE, COOKIE))?;
    refused(&session, Commands::new().clear_freeze(0, COOKIE + 1))?;
    refused(&session, Commands::new().freeze_done(COOKIE))?;
    refused(&session, Commands::new().freeze_done(9))?;
    clear(&session)?;
    check_eq!(next(&session)?, CLEARED);
    refused(&session, Commands::new().clear_freeze(0, COOKIE))
}

pub fn bug_b32_dead_object_has_no_state(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    refer(&session)?;
    let pid = target.pid();
    target.kill()?;
    until("the process is gone", || {
        Ok(session.device().frozen_info(pid).map(drop) == Err(Errno::EINVAL))
    })?;
    session.write(Commands::new().request_freeze(0, COOKIE))?;
    nothing(&session)?;
    clear(&session)?;
    check_eq!(next(&session)?, CLEARED);
    Ok(())
}

pub fn end_of_the_object_is_not_a_thaw(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    let pid = target.pid();
    freeze(session.device(), pid)?;
    check_eq!(next(&session)?, state(true));
    done(&session)?;
    target.kill()?;
    until("the process is gone", || {
        Ok(session.device().frozen_info(pid).map(drop) == Err(Errno::EINVAL))
    })?;
    nothing(&session)?;
    clear(&session)?;
    check_eq!(next(&session)?, CLEARED);
    Ok(())
}

pub fn notification_survives_its_thread(env: &Env) -> Result<(), Failure> {
    let (target, session) = watched(env)?;
    freeze(session.device(), target.pid())?;
    session.device().thread_exit()?;
    check_eq!(Session::primed(session.device()).map(|s| next(&s))??, state(true));
    Ok(())
}
