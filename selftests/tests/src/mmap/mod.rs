// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-mmap`.

use std::os::fd::AsFd;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::{Incoming, Return};
use binder_client::session::Session;
use binder_client::uapi::BR_DEAD_REPLY;
use binder_client::{check_eq, limits, Errno, Region};
use nix::sys::mman::ProtFlags;

use crate::core_support::{call_failure, send};

pub mod change;
pub mod rules;
pub mod size;

/// Maps as clients do.
fn map(device: &Device, length: usize) -> Result<Region, Failure> {
    Ok(device.try_map(length, ProtFlags::PROT_READ)?)
}

/// A manager that holds its mapping itself, so that it can spoil it.
fn manager_with_region(
    env: &Env,
    length: usize,
    body: impl FnOnce(&Session, Region, &Channel) -> Result<(), Failure>,
) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open_unmapped(&env.device)?;
        let region = map(&device, length)?;
        become_manager(&device)?;
        let session = Session::primed(&device)?;
        channel.signal()?;
        body(&session, region, channel)
    })?;
    peer.wait()?;
    Ok(peer)
}

/// The next request, whose buffer stays where it is.
fn next_request(session: &Session) -> Result<Incoming, Failure> {
    let wanted = |entry: &Return| matches!(entry, Return::Transaction(_));
    let all = session.read_until(limits::wait(), wanted)?;
    match all.last() {
        Some(Return::Transaction(incoming)) => Ok(*incoming),
        other => Err(Failure::new("a read", "BR_TRANSACTION", format!("{other:?}"))),
    }
}

/// Replies to a request and frees its buffer by its address.
fn answer(session: &Session, request: &Incoming) -> Result<(), Failure> {
    let parcel = Default::default();
    let mut commands = Commands::new();
    commands.free_buffer(request.buffer).reply(0, &parcel);
    Ok(session.write(&commands)?)
}

/// Checks that a call to the manager finds its mapping gone.
#[track_caller]
fn call_is_dead(session: &Session) -> Result<(), Failure> {
    send(session, 0, 1, 0)?;
    let error = call_failure(session)?;
    let expected = (BR_DEAD_REPLY, -(Errno::ESRCH as i32));
    check_eq!((error.command, error.param), expected);
    Ok(())
}

/// The lines of `/proc/self/maps` that name the device.
fn maps(device: &Device) -> Result<Vec<String>, Failure> {
    let target = std::fs::read_link(format!("/proc/self/fd/{}", number(device)))?;
    let target = target.display().to_string();
    let text = std::fs::read_to_string("/proc/self/maps")?;
    let lines = text.lines().filter(|line| line.ends_with(&target));
    Ok(lines.map(str::to_owned).collect())
}

fn number(device: &Device) -> i32 {
    use std::os::fd::AsRawFd;
    device.as_fd().as_raw_fd()
}
