// SPDX-License-Identifier: GPL-2.0
//! A Binder file works only in the process that opened it.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::peer::Peer;
use binder_client::uapi::*;
use binder_client::{check_eq, Errno};

use crate::core_support::{call, manager, serve_for_ever, Worker};

pub fn foreign_process_cannot_write_or_read(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let child = Peer::spawn_inheriting(|_| {
        let mut commands = Commands::new();
        commands.enter_looper();
        let written = session.write_read(&commands, 0);
        check_eq!(written.result, Err(Errno::EINVAL));
        check_eq!(written.write_consumed, 0);
        // Does not block either.
        let read = session.write_read(&Commands::new(), 256);
        check_eq!(read.result, Err(Errno::EINVAL));
        check_eq!(read.read_consumed, 0);
        Ok(())
    })?;
    child.join()
}

pub fn foreign_process_cannot_change_the_party(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    let child = Peer::spawn_inheriting(|_| {
        check_eq!(device.thread_exit(), Err(Errno::EINVAL));
        check_eq!(device.extended_error().map(drop), Err(Errno::EINVAL));
        check_eq!(device.set_max_threads(3), Err(Errno::EINVAL));
        let spam = device.enable_oneway_spam_detection(true);
        check_eq!(spam, Err(Errno::EINVAL));
        Ok(())
    })?;
    child.join()
}

pub fn foreign_process_cannot_become_manager(env: &Env) -> Result<(), Failure> {
    // While there is one, and while there is none.
    let device = env.open()?;
    let child = Peer::spawn_inheriting(|_| {
        check_eq!(device.set_context_mgr(), Err(Errno::EINVAL));
        let node = FlatObject::default();
        check_eq!(device.set_context_mgr_ext(&node), Err(Errno::EINVAL));
        Ok(())
    })?;
    child.join()?;
    become_manager(&device)?;
    Ok(())
}

pub fn owner_is_unharmed_by_a_foreign_process(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    call(&session, 0, 1)?;
    let child = Peer::spawn_inheriting(|_| {
        for _ in 0..3 {
            let _ = session.device().thread_exit();
            let _ = session.write_read(&Commands::new(), 0);
        }
        Ok(())
    })?;
    child.join()?;
    // The child's copy of the file is closed; ours goes on.
    call(&session, 0, 2)
}

pub fn thread_of_the_owner_is_no_stranger(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    Worker::start(move || call(&session, 0, 3)).join()
}
