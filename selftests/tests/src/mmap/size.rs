// SPDX-License-Identifier: GPL-2.0
//! What of the mapping is used, and what a party without one can do.

use std::collections::BTreeSet;

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check, check_eq, limits, Errno};
use nix::sys::signal::Signal;
use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::Pid;

use super::{answer, call_is_dead, manager_with_region, map, next_request};
use crate::core_support::*;

const PAGE: usize = 4096;
const USABLE: usize = 4 << 20;

pub fn buffers_lie_inside_the_mapping(env: &Env) -> Result<(), Failure> {
    let server = manager_with_region(env, 1 << 20, |session, region, _| {
        for _ in 0..4 {
            let request = next_request(session)?;
            let end = region.address() + region.length() as u64;
            check!(request.buffer >= region.address(), "data {request:?}");
            check_eq!(request.buffer % 8, 0, "alignment of the data");
            let after = request.buffer + request.data_size.next_multiple_of(8);
            if request.offsets_size > 0 {
                check_eq!(request.offsets, after, "the offsets follow the data");
            }
            check!(after + request.offsets_size <= end, "end of {request:?}");
            answer(session, &request)?;
        }
        Ok(())
    })?;
    let session = env.session()?;
    for size in [0usize, 1, 4097, 100_000] {
        let mut parcel = Parcel::from_bytes(vec![1u8; size]);
        parcel.binder(1, 2);
        let mut commands = Commands::new();
        commands.transaction(0, 1, 0, &parcel);
        session.write(&commands)?;
        finish_call(&session)?;
    }
    server.join()
}

pub fn empty_parcels_have_addresses_of_their_own(env: &Env) -> Result<(), Failure> {
    const COUNT: usize = 5;
    let server = manager(&env.device, |session, _| {
        let mut held = Vec::new();
        for _ in 0..COUNT {
            let request = receive(session)?;
            check_eq!(request.incoming().data_size, 0);
            reply(session)?;
            held.push(request);
        }
        let addresses: BTreeSet<u64> = held.iter().map(|r| r.incoming().buffer).collect();
        check_eq!(addresses.len(), COUNT, "addresses {addresses:?}");
        Ok(())
    })?;
    let session = env.session()?;
    for _ in 0..COUNT {
        call(&session, 0, 1)?;
    }
    server.join()
}

/// Sends `size` bytes to the manager and checks how that goes.
#[track_caller]
fn send_bytes(session: &Session, size: usize, flags: u32, fits: bool) -> Result<(), Failure> {
    let parcel = Parcel::from_bytes(vec![7u8; size]);
    let mut commands = Commands::new();
    commands.transaction(0, 1, flags, &parcel);
    session.write(&commands)?;
    if !fits {
        let error = call_failure(session)?;
        let expected = (BR_FAILED_REPLY, -(Errno::ENOSPC as i32));
        check_eq!((error.command, error.param), expected, "{size} bytes");
    } else if flags & TF_ONE_WAY != 0 {
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    } else {
        finish_call(session)?;
    }
    Ok(())
}

/// A manager with a mapping of `length` bytes that answers everything.
fn answering(env: &Env, length: usize) -> Result<Peer, Failure> {
    manager_with_region(env, length, |session, _region, _| loop {
        let request = next_request(session)?;
        if request.flags & TF_ONE_WAY == 0 {
            answer(session, &request)?;
        } else {
            let mut commands = Commands::new();
            commands.free_buffer(request.buffer);
            session.write(&commands)?;
        }
    })
}

pub fn mapping_is_rounded_up_to_pages(env: &Env) -> Result<(), Failure> {
    let _server = answering(env, 100)?;
    let session = env.session()?;
    send_bytes(&session, PAGE, 0, true)?;
    send_bytes(&session, PAGE + 1, 0, false)
}

pub fn one_page_takes_one_page_of_data(env: &Env) -> Result<(), Failure> {
    let _server = answering(env, PAGE)?;
    let session = env.session()?;
    for _ in 0..3 {
        send_bytes(&session, PAGE, 0, true)?;
        send_bytes(&session, PAGE + 1, 0, false)?;
        send_bytes(&session, PAGE - 7, 0, true)?;
    }
    Ok(())
}

pub fn half_of_the_mapping_is_for_oneway_calls(env: &Env) -> Result<(), Failure> {
    let _server = answering(env, 2 * PAGE)?;
    let session = env.session()?;
    send_bytes(&session, PAGE + 1, TF_ONE_WAY, false)?;
    send_bytes(&session, PAGE, TF_ONE_WAY, true)?;
    send_bytes(&session, PAGE + 1, TF_ONE_WAY, false)
}

pub fn only_four_megabytes_are_used(env: &Env) -> Result<(), Failure> {
    let _server = answering(env, 2 * USABLE)?;
    let session = env.session()?;
    send_bytes(&session, USABLE + 8, 0, false)?;
    send_bytes(&session, USABLE, 0, true)?;
    send_bytes(&session, USABLE / 2 + 8, TF_ONE_WAY, false)?;
    send_bytes(&session, USABLE / 2, TF_ONE_WAY, true)
}

/// A child that touches its own mapping at `offset` must get a bus error.
#[track_caller]
fn touch_is_a_bus_error(env: &Env, length: usize, offset: usize) -> Result<(), Failure> {
    let child = Peer::spawn(|channel| {
        let device = Device::open_unmapped(&env.device)?;
        let region = map(&device, length)?;
        channel.signal()?;
        region.copy_out(offset, 1);
        Ok(())
    })?;
    child.wait()?;
    let end = waitpid(Pid::from_raw(child.pid()), None)?;
    let seen = match end {
        WaitStatus::Signaled(_, signal, _) => Some(signal),
        _ => None,
    };
    check_eq!(seen, Some(Signal::SIGBUS), "the end of the child ({end:?})");
    Ok(())
}

pub fn untouched_page_is_a_bus_error(env: &Env) -> Result<(), Failure> {
    touch_is_a_bus_error(env, 4 * PAGE, 0)?;
    touch_is_a_bus_error(env, 4 * PAGE, 3 * PAGE)
}

pub fn page_beyond_four_megabytes_is_a_bus_error(env: &Env) -> Result<(), Failure> {
    touch_is_a_bus_error(env, 2 * USABLE, USABLE)?;
    touch_is_a_bus_error(env, 2 * USABLE, 2 * USABLE - 1)
}

pub fn party_without_mapping_cannot_be_called(env: &Env) -> Result<(), Failure> {
    let server = Peer::spawn(|channel| {
        let device = Device::open_unmapped(&env.device)?;
        binder_client::manager::become_manager(&device)?;
        channel.signal()?;
        channel.wait()?;
        // From here on it can.
        device.map(PAGE)?;
        let session = Session::primed(&device)?;
        channel.signal()?;
        serve_one(&session).map(drop)
    })?;
    server.wait()?;
    let session = env.session()?;
    call_is_dead(&session)?;
    call_is_dead(&session)?;
    server.signal()?;
    server.wait()?;
    call(&session, 0, 5)?;
    server.join()
}

pub fn party_without_mapping_can_send(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        check_eq!(receive(session)?.data(), b"from nowhere");
        Ok(())
    })?;
    let session = Session::primed(&Device::open_unmapped(&env.device)?)?;
    let parcel = Parcel::from_bytes(*b"from nowhere");
    let mut commands = Commands::new();
    commands.transaction(0, 1, TF_ONE_WAY, &parcel);
    session.write(&commands)?;
    check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
    server.join()
}

pub fn reply_to_a_party_without_mapping_is_dead(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        serve_one(session)?;
        // The replier only learns that it is rid of the call.
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
        Ok(())
    })?;
    let session = Session::primed(&Device::open_unmapped(&env.device)?)?;
    call_is_dead(&session)?;
    server.join()
}
