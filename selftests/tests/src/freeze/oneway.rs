// SPDX-License-Identifier: GPL-2.0
//! Oneway messages to a frozen process, and those that take the place of others.

use std::os::fd::AsFd;

use binder_client::ktap::{Env, Failure};
use binder_client::manager::answer_reference;
use binder_client::object::Object;
use binder_client::peer::Peer;
use binder_client::uapi::{FlatObject, PtrCookie, FLAT_BINDER_FLAG_ACCEPTS_FDS, TF_UPDATE_TXN};
use binder_client::{check, check_eq, limits};

use super::*;

/// What the sender of a message to a frozen process is told.
const WAITS: [Return; 1] = [Return::TransactionPendingFrozen];

pub fn oneway_message_to_a_frozen_process_waits(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    check_eq!(send_oneway(&session, 7, 0)?, WAITS);
    check_eq!(info(session.device(), target.pid())?, (2, 1));
    thaw(session.device(), target.pid())?;
    check_eq!(info(session.device(), target.pid())?, (2, 0));
    check_eq!(target.does(Step::Take)?, 7);
    check_eq!(send_oneway(&session, 8, 0)?, [Return::TransactionComplete]);
    Ok(())
}

/// Sends messages to a frozen process and says which it reads afterwards. The first is of
/// another kind, so that those behind it wait.
fn survivors(env: &Env, messages: &[(u32, u32)]) -> Result<Vec<u32>, Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    check_eq!(send_oneway(&session, 1000, 0)?, WAITS);
    for &(code, flags) in messages {
        check_eq!(send_oneway(&session, code, flags)?, WAITS);
    }
    thaw(session.device(), target.pid())?;
    send_oneway(&session, 2000, 0)?;
    check_eq!(target.does(Step::Take)?, 1000);
    let mut read = Vec::new();
    loop {
        match target.does(Step::Take)? {
            2000 => return Ok(read),
            code => read.push(code),
        }
    }
}

pub fn update_takes_the_place_of_the_last_one(env: &Env) -> Result<(), Failure> {
    let updates = [(1, TF_UPDATE_TXN), (2, 0), (1, TF_UPDATE_TXN), (1, TF_UPDATE_TXN)];
    check_eq!(survivors(env, &updates)?, [2, 1]);
    Ok(())
}

pub fn update_replaces_only_its_like(env: &Env) -> Result<(), Failure> {
    // Other code; no update; other flags.
    let messages = [(1, TF_UPDATE_TXN), (2, TF_UPDATE_TXN), (3, 0), (3, TF_UPDATE_TXN)];
    check_eq!(survivors(env, &messages)?, [1, 2, 3, 3]);
    let other = binder_client::uapi::TF_CLEAR_BUF;
    let messages = [(1, TF_UPDATE_TXN), (1, TF_UPDATE_TXN | other), (1, TF_UPDATE_TXN)];
    check_eq!(survivors(env, &messages)?, [1, 1]);
    Ok(())
}

pub fn update_of_another_sender_replaces_nothing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    send_oneway(&session, 1000, 0)?;
    send_oneway(&session, 1, TF_UPDATE_TXN)?;
    let other = client(&env.device, |session, _| {
        check_eq!(send_oneway(session, 1, TF_UPDATE_TXN)?, WAITS);
        Ok(())
    })?;
    other.join()?;
    thaw(session.device(), target.pid())?;
    check_eq!(target.does(Step::Take)?, 1000);
    check_eq!(target.does(Step::Take)?, 1);
    check_eq!(target.does(Step::Take)?, 1);
    Ok(())
}

pub fn update_that_can_go_out_replaces_nothing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    check_eq!(send_oneway(&session, 1, TF_UPDATE_TXN)?, WAITS);
    check_eq!(send_oneway(&session, 1, TF_UPDATE_TXN)?, WAITS);
    thaw(session.device(), target.pid())?;
    check_eq!(target.does(Step::Take)?, 1);
    check_eq!(target.does(Step::Take)?, 1);
    freeze(session.device(), target.pid())
}

pub fn update_of_an_awake_process_replaces_nothing(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    for _ in 0..3 {
        let told = send_oneway(&session, 1, TF_UPDATE_TXN)?;
        check_eq!(told, [Return::TransactionComplete]);
    }
    for _ in 0..3 {
        check_eq!(target.does(Step::Take)?, 1);
    }
    Ok(())
}

/// A manager that does nothing.
fn manager_that_takes_files(env: &Env) -> Result<Peer, Failure> {
    let path = env.device.clone();
    let target = Peer::spawn(|channel| {
        let device = Device::open(&path)?;
        let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
        let object = FlatObject { flags, ..Default::default() };
        let start = std::time::Instant::now();
        // The C driver lets the manager of the case before go some time after its close.
        while let Err(errno) = device.set_context_mgr_ext(&object) {
            check!(start.elapsed() < limits::wait(), "to become the manager: {errno}");
            std::thread::yield_now();
        }
        channel.signal()?;
        channel.wait()
    })?;
    target.wait()?;
    Ok(target)
}

pub fn bug_b39_replaced_messages_release_what_they_held(env: &Env) -> Result<(), Failure> {
    let target = manager_that_takes_files(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid() as u32)?;
    send_oneway(&session, 1000, 0)?;
    let (read, write) = nix::unistd::pipe()?;
    let node = PtrCookie { ptr: 0x1000, cookie: 0x2000 };
    let mut parcel = Parcel::new();
    parcel.binder(node.ptr, node.cookie);
    parcel.object(&Object::Fd { fd: std::os::fd::AsRawFd::as_raw_fd(&write) as u32, cookie: 0 });
    for _ in 0..100 {
        for entry in send_oneway_with(&session, 1, TF_UPDATE_TXN, &parcel)? {
            answer_reference(&session, entry)?;
        }
    }
    // All but one are gone: the room for oneway messages was enough for one at a time.
    target.kill()?;
    drop(write);
    check!(
        nix::poll::poll(
            &mut [nix::poll::PollFd::new(read.as_fd(), nix::poll::PollFlags::POLLIN)],
            u16::try_from(limits::wait().as_millis()).unwrap_or(u16::MAX)
        )? == 1,
        "the files of all messages are closed"
    );
    let mut byte = [0];
    check_eq!(nix::unistd::read(&read, &mut byte)?, 0, "bytes before the end of the pipe");
    // The node is released, strong and weak, once.
    let mut seen = Vec::new();
    while !seen.contains(&Return::Decrefs(node)) {
        seen.extend(session.read(limits::wait())?.into_iter().filter(|r| *r != Return::Noop));
    }
    check_eq!(seen, [Return::Release(node), Return::Decrefs(node)]);
    Ok(())
}

pub fn replaced_messages_give_their_room_back(env: &Env) -> Result<(), Failure> {
    let target = Target::manager(env)?;
    let session = env.session()?;
    freeze(session.device(), target.pid())?;
    send_oneway(&session, 1000, 0)?;
    // Together far more than there is room for.
    let parcel = Parcel::from_bytes(vec![1; 64 << 10]);
    for _ in 0..100 {
        check_eq!(send_oneway_with(&session, 1, TF_UPDATE_TXN, &parcel)?, WAITS);
    }
    thaw(session.device(), target.pid())?;
    check_eq!(target.does(Step::Take)?, 1000);
    check_eq!(target.does(Step::Take)?, 1);
    freeze(session.device(), target.pid())
}
