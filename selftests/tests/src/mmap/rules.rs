// SPDX-License-Identifier: GPL-2.0
//! Who may map, how, and how often.

use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::peer::Peer;
use binder_client::{check, check_eq, Errno};
use nix::sys::mman::ProtFlags;

use super::{map, maps};
use crate::core_support::{call, manager, serve_for_ever};

const PAGE: usize = 4096;
const WRITABLE: [ProtFlags; 2] =
    [ProtFlags::PROT_WRITE, ProtFlags::PROT_READ.union(ProtFlags::PROT_WRITE)];

pub fn writable_mapping_is_refused(env: &Env) -> Result<(), Failure> {
    let device = Device::open_unmapped(&env.device)?;
    for protection in WRITABLE {
        let seen = device.try_map(PAGE, protection).map(drop);
        check_eq!(seen, Err(Errno::EPERM), "mapping with {protection:?}");
    }
    Ok(())
}

pub fn refused_mapping_leaves_room_for_the_right_one(env: &Env) -> Result<(), Failure> {
    let device = Device::open_unmapped(&env.device)?;
    let seen = device.try_map(PAGE, WRITABLE[1]).map(drop);
    check_eq!(seen, Err(Errno::EPERM));
    device.map(PAGE)?;
    // Refused also when there is one: the access is looked at first.
    let seen = device.try_map(PAGE, WRITABLE[1]).map(drop);
    check_eq!(seen, Err(Errno::EPERM));
    Ok(())
}

pub fn mapping_is_read_only_and_private(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    let lines = maps(&device)?;
    check_eq!(lines.len(), 1, "the lines {lines:?}");
    let access = lines[0].split(' ').nth(1);
    check_eq!(access, Some("r--p"), "access in {}", lines[0]);
    Ok(())
}

pub fn mapping_cannot_be_made_writable(env: &Env) -> Result<(), Failure> {
    let device = Device::open_unmapped(&env.device)?;
    let mut region = map(&device, PAGE)?;
    for protection in WRITABLE {
        check_eq!(region.protect(protection), Err(Errno::EACCES));
    }
    Ok(())
}

pub fn second_mapping_is_busy(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for length in [PAGE, 1 << 20] {
        check_eq!(map_error(&device, length), Err(Errno::EBUSY));
    }
    Ok(())
}

fn map_error(device: &Device, length: usize) -> Result<(), Errno> {
    device.try_map(length, ProtFlags::PROT_READ).map(drop)
}

pub fn mapping_after_munmap_is_busy(env: &Env) -> Result<(), Failure> {
    let device = Device::open_unmapped(&env.device)?;
    drop(map(&device, PAGE)?);
    check_eq!(maps(&device)?, Vec::<String>::new());
    check_eq!(map_error(&device, PAGE), Err(Errno::EBUSY));
    Ok(())
}

pub fn child_cannot_map(env: &Env) -> Result<(), Failure> {
    let device = Device::open_unmapped(&env.device)?;
    let child = Peer::spawn_inheriting(|_| {
        check_eq!(map_error(&device, PAGE), Err(Errno::EINVAL));
        Ok(())
    })?;
    child.join()?;
    device.map(PAGE)?;
    let child = Peer::spawn_inheriting(|_| {
        check_eq!(map_error(&device, PAGE), Err(Errno::EINVAL));
        Ok(())
    })?;
    child.join()
}

pub fn mapping_is_not_inherited_over_fork(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    check_eq!(maps(&device)?.len(), 1);
    let child = Peer::spawn_inheriting(|_| {
        check_eq!(maps(&device)?, Vec::<String>::new());
        Ok(())
    })?;
    child.join()
}

pub fn fork_does_not_disturb_the_parent(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    call(&session, 0, 1)?;
    Peer::spawn_inheriting(|_| Ok(()))?.join()?;
    Peer::spawn(|_| Ok(()))?.join()?;
    // The reply arrives in the mapping.
    call(&session, 0, 2)
}

pub fn each_file_has_a_mapping_of_its_own(env: &Env) -> Result<(), Failure> {
    let first = env.open()?;
    let second = env.open()?;
    check_eq!(maps(&first)?.len(), 2);
    let addresses = [&first, &second].map(|device| device.mapping().map(|m| m.address()));
    check!(addresses[0] != addresses[1], "two addresses");
    Ok(())
}
