// SPDX-License-Identifier: GPL-2.0
//! Looper commands where they make no sense: logged, and nothing breaks.

use binder_client::check_eq;
use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::session::Session;
use binder_client::uapi::*;

use super::{caller, looper, managing, served_and_asked};
use crate::core_support::*;

/// Issues `commands`, each consumed, and serves two calls afterwards.
fn served_after(env: &Env, commands: &[u32]) -> Result<(), Failure> {
    let caller = caller(env)?;
    let session = Session::primed(&managing(env)?)?;
    let mut all = Commands::new();
    for &command in commands {
        all.word(command);
    }
    session.write(&all)?;
    for code in 0..2 {
        served_and_asked(&session, &caller, code)?;
    }
    Ok(())
}

pub fn register_without_request_is_harmless(env: &Env) -> Result<(), Failure> {
    served_after(env, &[BC_REGISTER_LOOPER])?;
    served_after(env, &[BC_REGISTER_LOOPER; 3])
}

pub fn register_after_enter_is_harmless(env: &Env) -> Result<(), Failure> {
    served_after(env, &[BC_ENTER_LOOPER, BC_REGISTER_LOOPER])
}

pub fn register_after_enter_takes_no_request(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    device.set_max_threads(2)?;
    let session = Session::primed(&device)?;
    looper(&session, BC_ENTER_LOOPER)?;
    check_eq!(served_and_asked(&session, &caller, 1)?, true);
    looper(&session, BC_REGISTER_LOOPER)?;
    // The request is still open: no second one.
    check_eq!(served_and_asked(&session, &caller, 2)?, false);
    let other = device.clone();
    Worker::start(move || looper(&Session::new(&other), BC_REGISTER_LOOPER)).join()?;
    check_eq!(served_and_asked(&session, &caller, 3)?, true);
    Ok(())
}

pub fn enter_after_register_is_harmless(env: &Env) -> Result<(), Failure> {
    served_after(env, &[BC_REGISTER_LOOPER, BC_ENTER_LOOPER])
}

pub fn enter_twice_is_harmless(env: &Env) -> Result<(), Failure> {
    served_after(env, &[BC_ENTER_LOOPER, BC_ENTER_LOOPER])
}

pub fn exit_without_enter_is_harmless(env: &Env) -> Result<(), Failure> {
    served_after(env, &[BC_EXIT_LOOPER, BC_EXIT_LOOPER])
}

pub fn exited_looper_still_works(env: &Env) -> Result<(), Failure> {
    served_after(env, &[BC_ENTER_LOOPER, BC_EXIT_LOOPER])?;
    served_after(env, &[BC_ENTER_LOOPER, BC_EXIT_LOOPER, BC_ENTER_LOOPER])
}

pub fn misuse_does_not_spoil_the_count(env: &Env) -> Result<(), Failure> {
    let caller = caller(env)?;
    let device = managing(env)?;
    for _ in 0..4 {
        let device = device.clone();
        Worker::start(move || looper(&Session::new(&device), BC_REGISTER_LOOPER)).join()?;
    }
    device.set_max_threads(1)?;
    let session = Session::primed(&device)?;
    looper(&session, BC_ENTER_LOOPER)?;
    check_eq!(served_and_asked(&session, &caller, 1)?, true);
    check_eq!(served_and_asked(&session, &caller, 2)?, false);
    Ok(())
}
