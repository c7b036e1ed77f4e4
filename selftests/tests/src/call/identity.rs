// SPDX-License-Identifier: GPL-2.0
//! The sender's process and user, as the receiver's namespaces name them.

use std::path::Path;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::{become_manager, serve, spawn_manager, Answer, Request};
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check_eq, limits, Errno};
use nix::sched::{unshare, CloneFlags};
use nix::unistd::{getpid, setresgid, setresuid, Gid, Uid};

/// The number of an id that has no name in a namespace.
const UNNAMED: u32 = u32::MAX;

/// Tells the test the sender's process and user as they were told.
fn tell(request: &mut Request<'_>) -> Result<Answer, Failure> {
    let told = *request.received().incoming();
    request.channel.send(&(told.sender_pid, told.sender_euid))?;
    Ok(Answer::Reply(Parcel::new()))
}

/// A manager that tells what it sees, after `prepare`.
fn teller(
    path: &Path,
    prepare: impl FnOnce(&Channel) -> Result<(), Failure>,
) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open(path)?;
        become_manager(&device)?;
        prepare(channel)?;
        channel.signal()?;
        serve(&device, channel, tell)
    })?;
    peer.wait()?;
    Ok(peer)
}

/// Calls the manager once.
fn call(session: &Session, flags: u32) -> Result<(), Failure> {
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(0, 1, flags, &parcel);
    session.write(&commands)?;
    if flags & TF_ONE_WAY == 0 {
        session.next_reply(limits::wait())?.0.free()?;
    } else {
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    }
    Ok(())
}

/// Leaves a namespace, or skips the case where that is not possible.
fn leave(flags: CloneFlags) -> Result<(), Failure> {
    match unshare(flags) {
        Err(Errno::EPERM | Errno::EINVAL | Errno::ENOSPC) => {
            Err(Failure::skip("the kernel makes no such namespace for us"))
        }
        result => Ok(result?),
    }
}

pub fn sender_is_named_by_process_and_effective_user(env: &Env) -> Result<(), Failure> {
    let manager = spawn_manager(&env.device, tell)?;
    let session = env.session()?;
    call(&session, 0)?;
    let expected = (getpid().as_raw(), nix::unistd::geteuid().as_raw());
    check_eq!(manager.recv::<(i32, u32)>()?, expected);
    Ok(())
}

pub fn changed_effective_user_is_told(env: &Env) -> Result<(), Failure> {
    let manager = spawn_manager(&env.device, tell)?;
    let session = env.session()?;
    let root = Uid::from_raw(0);
    let other = Uid::from_raw(1234);
    if setresuid(root, other, root).is_err() {
        return Err(Failure::skip("needs root"));
    }
    call(&session, 0)?;
    check_eq!(manager.recv::<(i32, u32)>()?, (getpid().as_raw(), 1234));
    setresuid(root, root, root)?;
    call(&session, 0)?;
    check_eq!(manager.recv::<(i32, u32)>()?, (getpid().as_raw(), 0));
    Ok(())
}

pub fn oneway_call_names_the_user_but_no_process(env: &Env) -> Result<(), Failure> {
    let manager = spawn_manager(&env.device, tell)?;
    let session = env.session()?;
    call(&session, TF_ONE_WAY)?;
    let expected = (0, nix::unistd::geteuid().as_raw());
    check_eq!(manager.recv::<(i32, u32)>()?, expected);
    Ok(())
}

pub fn user_without_a_name_in_the_receivers_namespace_is_minus_one(
    env: &Env,
) -> Result<(), Failure> {
    let manager = teller(&env.device, |_| leave(CloneFlags::CLONE_NEWUSER))?;
    let session = env.session()?;
    call(&session, 0)?;
    check_eq!(manager.recv::<(i32, u32)>()?, (getpid().as_raw(), UNNAMED));
    Ok(())
}

pub fn user_is_translated_to_the_receivers_namespace(env: &Env) -> Result<(), Failure> {
    let manager = teller(&env.device, |_| {
        leave(CloneFlags::CLONE_NEWUSER)?;
        // Root outside is user 7 inside.
        std::fs::write("/proc/self/uid_map", "7 0 1")?;
        Ok(())
    })?;
    let session = env.session()?;
    call(&session, 0)?;
    check_eq!(manager.recv::<(i32, u32)>()?, (getpid().as_raw(), 7));
    let root = Uid::from_raw(0);
    let group = Gid::from_raw(0);
    setresgid(group, group, group)?;
    setresuid(root, Uid::from_raw(55), root)?;
    call(&session, 0)?;
    check_eq!(manager.recv::<(i32, u32)>()?, (getpid().as_raw(), UNNAMED));
    Ok(())
}

/// Runs `body` in a process that is the first of its own pid namespace.
fn in_pid_namespace(body: impl FnOnce(&Channel) -> Result<(), Failure>) -> Result<Peer, Failure> {
    Peer::spawn(|channel| {
        leave(CloneFlags::CLONE_NEWPID)?;
        // The namespace is that of the children.
        Peer::spawn(|_| body(channel))?.join()
    })
}

pub fn sender_outside_of_the_receivers_pid_namespace_is_zero(env: &Env) -> Result<(), Failure> {
    let path = env.device.clone();
    let manager = in_pid_namespace(|channel| {
        let device = Device::open(&path)?;
        become_manager(&device)?;
        channel.signal()?;
        serve(&device, channel, tell)
    })?;
    manager.wait()?;
    let session = env.session()?;
    call(&session, 0)?;
    check_eq!(manager.recv::<(i32, u32)>()?.0, 0);
    Ok(())
}

pub fn sender_in_a_pid_namespace_is_named_by_its_outer_number(env: &Env) -> Result<(), Failure> {
    let path = env.device.clone();
    let manager = spawn_manager(&path, tell)?;
    let client = in_pid_namespace(|channel| {
        // /proc is still that of the outer namespace.
        let outer = std::fs::read_link("/proc/self")?;
        channel.send(&outer.to_string_lossy())?;
        check_eq!(getpid().as_raw(), 1, "own number inside");
        let session = Session::primed(&Device::open(&path)?)?;
        call(&session, 0)
    })?;
    let outer: String = client.recv()?;
    let (pid, _) = manager.recv::<(i32, u32)>()?;
    check_eq!(pid.to_string(), outer);
    client.join()
}

pub fn sender_in_the_same_pid_namespace_is_named_by_its_inner_number(
    env: &Env,
) -> Result<(), Failure> {
    let path = env.device.clone();
    let peer = in_pid_namespace(|_| {
        let manager = spawn_manager(&path, tell)?;
        let session = Session::primed(&Device::open(&path)?)?;
        call(&session, 0)?;
        check_eq!(manager.recv::<(i32, u32)>()?.0, 1);
        Ok(())
    })?;
    peer.join()
}
