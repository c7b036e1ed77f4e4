// SPDX-License-Identifier: GPL-2.0
//! Failures while a call is sent or its reply is received.

use std::fs::File;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::session::{Raw, ReadTarget, Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, limits};

use crate::client::{check_outcome, check_result, drain, succeeds, works};
use crate::injector::sweep;
use crate::witness::{Witness, KEEP, PING, TAKE};

/// Handles that fit without more memory than a process starts with, nearly.
const MANY: u64 = 62;

/// A thread that has called nothing yet sends `parcel`.
fn sweep_call(
    env: &Env,
    flags: u32,
    prepare: impl Fn(&Session) -> Result<(), Failure>,
    parcel: impl Fn() -> Result<Parcel, Failure>,
) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let session = Session::new(&env.open()?);
        prepare(&session)?;
        let parcel = parcel()?;
        let mut commands = Commands::new();
        commands.transaction(0, TAKE, flags, &parcel);
        let raw = Raw::new(commands.as_bytes(), ReadTarget::None);
        let outcome = shot.fire(|| session.write_read_raw(raw))?;
        check_outcome(shot, &outcome)?;
        if !shot.fired() && flags & TF_ONE_WAY == 0 {
            succeeds(&session)?;
        }
        works(&session)?;
        drop(session);
        witness.check_clean()
    })?;
    witness.check_empty()
}

fn nothing(_session: &Session) -> Result<(), Failure> {
    Ok(())
}

pub fn first_call(env: &Env) -> Result<(), Failure> {
    sweep_call(env, 0, nothing, || Ok(Parcel::from_bytes(*b"hello")))
}

pub fn oneway_call(env: &Env) -> Result<(), Failure> {
    sweep_call(env, TF_ONE_WAY, nothing, || Ok(Parcel::from_bytes(*b"hello")))
}

pub fn large_call(env: &Env) -> Result<(), Failure> {
    sweep_call(env, 0, nothing, || Ok(Parcel::from_bytes(vec![7u8; 100_000])))
}

pub fn call_with_new_nodes(env: &Env) -> Result<(), Failure> {
    sweep_call(env, 0, nothing, || {
        let mut parcel = Parcel::new();
        parcel.binder(0x1000, 1).weak_binder(0x2000, 2).binder(0x1000, 1);
        Ok(parcel)
    })
}

pub fn call_beyond_sixty_four_handles(env: &Env) -> Result<(), Failure> {
    let keep_many = |session: &Session| {
        let mut parcel = Parcel::new();
        for n in 1..=MANY {
            parcel.binder(n << 12, n);
        }
        let mut commands = Commands::new();
        commands.transaction(0, KEEP, 0, &parcel);
        session.write(&commands)?;
        succeeds(session)
    };
    sweep_call(env, 0, keep_many, || {
        let mut parcel = Parcel::new();
        for n in MANY + 1..=MANY + 4 {
            parcel.binder(n << 12, n);
        }
        Ok(parcel)
    })
}

pub fn call_with_descriptors(env: &Env) -> Result<(), Failure> {
    let file = File::open("/dev/null")?;
    sweep_call(env, 0, nothing, || {
        let mut parcel = Parcel::new();
        parcel.fd(&file).fd(&file);
        Ok(parcel)
    })
}

pub fn call_with_buffers_and_a_descriptor_array(env: &Env) -> Result<(), Failure> {
    let file = File::open("/dev/null")?;
    sweep_call(env, 0, nothing, || {
        let number = std::os::fd::AsRawFd::as_raw_fd(&file);
        let mut bytes = [0u8; 16];
        bytes[8..12].copy_from_slice(&number.to_ne_bytes());
        bytes[12..].copy_from_slice(&number.to_ne_bytes());
        let mut parcel = Parcel::new();
        let parent = parcel.buffer(bytes);
        parcel.child_buffer(vec![3u8; 5000], parent, 0);
        parcel.fd_array(parent, 8, 2);
        Ok(parcel)
    })
}

/// The reply is there before the read that meets the failure.
pub fn reading_of_a_reply(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let session = env.session()?;
        let parcel = Parcel::from_bytes(*b"hello");
        let mut commands = Commands::new();
        commands.transaction(0, PING, 0, &parcel);
        session.write(&commands)?;
        check!(session.readable(limits::wait())?, "a reply comes");
        let mut room = [0u8; READ_SIZE];
        let raw = Raw::new(&[], ReadTarget::Bytes(&mut room));
        let outcome = shot.fire(|| session.write_read_raw(raw))?;
        check_outcome(shot, &outcome)?;
        works(&session)?;
        drop(session);
        witness.check_clean()
    })?;
    witness.check_empty()
}

/// A freed buffer is free, or the command was not carried out: then the same
/// command works later.
pub fn freeing_of_a_buffer(env: &Env) -> Result<(), Failure> {
    let _witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let session = env.session()?;
        let parcel = Parcel::from_bytes(vec![1u8; 9000]);
        let mut commands = Commands::new();
        commands.transaction(0, PING, 0, &parcel);
        session.write(&commands)?;
        let (reply, _) = session.next_reply(limits::wait())?;
        let mut free = Commands::new();
        free.free_buffer(reply.into_address());
        let raw = Raw::new(free.as_bytes(), ReadTarget::None);
        let outcome = shot.fire(|| session.write_read_raw(raw))?;
        check_outcome(shot, &outcome)?;
        session.write(&free)?;
        works(&session)
    })
}

pub fn death_request(env: &Env) -> Result<(), Failure> {
    let witness = Witness::spawn(&env.device)?;
    sweep(|shot| {
        let session = Session::new(&env.open()?);
        let mut commands = Commands::new();
        commands.increfs(0).acquire(0).request_death(0, 0xd00d);
        let raw = Raw::new(commands.as_bytes(), ReadTarget::None);
        let outcome = shot.fire(|| session.write_read_raw(raw))?;
        check_outcome(shot, &outcome)?;
        drain(&session)?;
        let mut undo = Commands::new();
        undo.clear_death(0, 0xd00d).release(0).decrefs(0);
        session.write(&undo)?;
        works(&session)?;
        drop(session);
        witness.check_clean()
    })
}

pub fn becoming_the_manager(env: &Env) -> Result<(), Failure> {
    let path = env.second_device()?;
    sweep(|shot| {
        let device = binder_client::device::Device::open(path)?;
        let result = shot.fire(|| device.set_context_mgr())?;
        check_result(shot, &result)?;
        match device.set_context_mgr() {
            Ok(()) => check!(result.is_err(), "there is one manager"),
            Err(_) => check!(result.is_ok() || shot.fired(), "the role is free"),
        }
        drop(device);
        // The role is free again whatever happened.
        binder_client::manager::become_manager(&*binder_client::device::Device::open(path)?)?;
        Ok(())
    })
}
