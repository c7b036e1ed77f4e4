// SPDX-License-Identifier: GPL-2.0
//! A mapping that is taken away, moved or resized while the party lives.

use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::session::Session;
use binder_client::{check, check_eq, Region};
use nix::sys::mman::ProtFlags;

use super::{answer, call_is_dead, manager_with_region, map, next_request};
use crate::core_support::*;

const PAGE: usize = 4096;
const LENGTH: usize = 16 * PAGE;

/// A server that serves one call, then spoils its mapping: calls before that
/// succeed, calls afterwards are dead, and nothing revives it.
fn lost_after(
    env: &Env,
    spoil: impl FnOnce(Region) -> Result<Option<Region>, Failure>,
) -> Result<(), Failure> {
    let server = manager_with_region(env, LENGTH, |session, region, channel| {
        let request = next_request(session)?;
        answer(session, &request)?;
        let _rest = spoil(region)?;
        channel.signal()?;
        channel.wait()
    })?;
    let session = env.session()?;
    call(&session, 0, 1)?;
    server.wait()?;
    call_is_dead(&session)?;
    call_is_dead(&session)?;
    server.signal()?;
    server.join()
}

pub fn munmap_is_noticed(env: &Env) -> Result<(), Failure> {
    lost_after(env, |region| {
        drop(region);
        Ok(None)
    })
}

pub fn munmap_of_the_last_page_is_noticed(env: &Env) -> Result<(), Failure> {
    lost_after(env, |mut region| {
        region.unmap_part(LENGTH - PAGE, PAGE)?;
        Ok(Some(region))
    })
}

pub fn munmap_of_a_middle_page_is_noticed(env: &Env) -> Result<(), Failure> {
    lost_after(env, |mut region| {
        region.unmap_part(5 * PAGE, PAGE)?;
        Ok(Some(region))
    })
}

pub fn moved_mapping_is_lost(env: &Env) -> Result<(), Failure> {
    lost_after(env, |mut region| {
        let before = region.address();
        region.relocate()?;
        check!(region.address() != before, "it moved");
        Ok(Some(region))
    })
}

pub fn shrunk_mapping_is_lost(env: &Env) -> Result<(), Failure> {
    lost_after(env, |mut region| {
        region.resize(LENGTH - 4 * PAGE)?;
        Ok(Some(region))
    })
}

pub fn grown_mapping_is_not_used_further(env: &Env) -> Result<(), Failure> {
    let server = manager_with_region(env, PAGE, |session, mut region, channel| {
        // Where there is no room behind it, the kernel refuses: the same to us.
        let _ = region.resize(2 * PAGE);
        channel.signal()?;
        let request = next_request(session)?;
        check_eq!(request.data_size, PAGE as u64);
        check_eq!(request.buffer, region.address());
        answer(session, &request)
    })?;
    server.wait()?;
    let session = env.session()?;
    for (size, fits) in [(PAGE + 1, false), (PAGE, true)] {
        let parcel = binder_client::parcel::Parcel::from_bytes(vec![1u8; size]);
        let mut commands = binder_client::commands::Commands::new();
        commands.transaction(0, 1, 0, &parcel);
        session.write(&commands)?;
        match fits {
            true => finish_call(&session)?,
            false => drop(call_failure(&session)?),
        }
    }
    server.join()
}

pub fn caller_that_unmaps_gets_a_dead_reply(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        let _request = receive(session)?;
        channel.signal()?;
        channel.wait()?;
        reply(session)
    })?;
    let device = Device::open_unmapped(&env.device)?;
    let region = map(&device, LENGTH)?;
    let session = Session::primed(&device)?;
    send(&session, 0, 1, 0)?;
    server.wait()?;
    drop(region);
    server.signal()?;
    let error = call_failure(&session)?;
    check_eq!(error.command, binder_client::uapi::BR_DEAD_REPLY);
    check_eq!(error.param, -(binder_client::Errno::ESRCH as i32));
    server.join()
}

pub fn server_that_unmaps_can_still_reply_and_free(env: &Env) -> Result<(), Failure> {
    let server = manager_with_region(env, LENGTH, |session, region, _| {
        let request = next_request(session)?;
        drop(region);
        answer(session, &request)
    })?;
    let session = env.session()?;
    call(&session, 0, 1)?;
    server.join()
}

pub fn queued_request_survives_munmap(env: &Env) -> Result<(), Failure> {
    let server = manager_with_region(env, LENGTH, |session, region, channel| {
        channel.wait()?;
        drop(region);
        // Its data is lost, but the call itself can be answered.
        let request = next_request(session)?;
        answer(session, &request)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    server.signal()?;
    finish_call(&session)?;
    server.join()
}

pub fn access_to_the_mapping_does_not_matter_to_the_driver(env: &Env) -> Result<(), Failure> {
    let server = manager_with_region(env, LENGTH, |session, mut region, channel| {
        region.protect(ProtFlags::PROT_NONE)?;
        channel.signal()?;
        let request = next_request(session)?;
        region.protect(ProtFlags::PROT_READ)?;
        let offset = usize::try_from(request.buffer - region.address()).unwrap_or(0);
        check_eq!(region.copy_out(offset, 5), b"hello");
        answer(session, &request)
    })?;
    server.wait()?;
    let session = env.session()?;
    let parcel = binder_client::parcel::Parcel::from_bytes(*b"hello");
    let mut commands = binder_client::commands::Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    finish_call(&session)?;
    server.join()
}
