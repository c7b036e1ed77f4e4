// SPDX-License-Identifier: GPL-2.0
//! `BINDER_GET_EXTENDED_ERROR`: what it says after each kind of failure.

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::guard::BadAddress;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check, check_eq, limits, Errno};

use crate::core_support::*;

const NOTHING: ExtendedError = ExtendedError { id: 0, command: BR_OK, param: 0 };

/// Checks the error of a call that is about to fail.
#[track_caller]
fn failure_is(session: &Session, command: u32, errno: Errno) -> Result<(), Failure> {
    let error = call_failure(session)?;
    let seen = (error.command, -error.param);
    check_eq!(seen, (command, errno as i32), "extended error {error:?}");
    check!(error.id != 0, "the failed transaction has an id");
    Ok(())
}

/// Sends one transaction whose description is `data`.
fn send_data(session: &Session, data: &TransactionData) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.command(BC_TRANSACTION, data);
    Ok(session.write(&commands)?)
}

pub fn new_thread_has_no_error(env: &Env) -> Result<(), Failure> {
    check_eq!(env.open()?.extended_error()?, NOTHING);
    Ok(())
}

pub fn reading_resets_it(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 0, 0)?;
    check_eq!(call_failure(&session)?.command, BR_FAILED_REPLY);
    check_eq!(session.device().extended_error()?, NOTHING);
    Ok(())
}

pub fn success_leaves_only_an_id(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    // A failure of before is forgotten with the next command.
    send(&session, NO_HANDLE, 0, 0)?;
    session.read_until(limits::wait(), |entry| *entry == Return::FailedReply)?;
    call(&session, 0, 1)?;
    let error = session.device().extended_error()?;
    check!(error.id != 0, "the last transaction has an id");
    check_eq!((error.command, error.param), (BR_OK, 0));
    Ok(())
}

pub fn each_thread_has_its_own(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 0, 0)?;
    let device = session.device().clone();
    let other = Worker::start(move || Ok(device.extended_error()?));
    check_eq!(other.join()?, NOTHING);
    check_eq!(call_failure(&session)?.command, BR_FAILED_REPLY);
    Ok(())
}

pub fn ids_differ_from_call_to_call(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 0, 0)?;
    let first = call_failure(&session)?.id;
    send(&session, NO_HANDLE, 0, 0)?;
    let second = call_failure(&session)?.id;
    check!(first != second, "two transactions have different ids");
    Ok(())
}

pub fn bad_address_is_a_fault(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for bad in BadAddress::ALL {
        let seen = device.ioctl_bad_address(BINDER_GET_EXTENDED_ERROR, bad);
        check_eq!(seen, Err(Errno::EFAULT), "with {bad:?}");
    }
    Ok(())
}

pub fn no_manager_is_dead_einval(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    until("there is no manager", || {
        send(&session, 0, 1, 0)?;
        Ok(call_failure(&session)?.param == -(Errno::EINVAL as i32))
    })?;
    send(&session, 0, 1, 0)?;
    failure_is(&session, BR_DEAD_REPLY, Errno::EINVAL)
}

pub fn manager_without_mapping_is_dead_esrch(env: &Env) -> Result<(), Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open_unmapped(&env.device)?;
        become_manager(&device)?;
        channel.signal()?;
        channel.wait()
    })?;
    peer.wait()?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    failure_is(&session, BR_DEAD_REPLY, Errno::ESRCH)
}

pub fn unknown_handle_is_failed_einval(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    for handle in [1, NO_HANDLE, i32::MAX as u32, u32::MAX] {
        send(&session, handle, 0, 0)?;
        failure_is(&session, BR_FAILED_REPLY, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn reply_to_nobody_is_failed_eproto(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    reply(&session)?;
    failure_is(&session, BR_FAILED_REPLY, Errno::EPROTO)
}

pub fn second_call_at_a_time_is_failed_eproto(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, channel| {
        channel.wait()?;
        serve_one(session).map(drop)
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    send(&session, 0, 2, 0)?;
    failure_is(&session, BR_FAILED_REPLY, Errno::EPROTO)?;
    // The first one is as if nothing had been.
    server.signal()?;
    finish_call(&session)
}

pub fn call_past_a_waiting_request_is_failed_eproto(env: &Env) -> Result<(), Failure> {
    // The manager's thread waits in a call of its own to the node of a client,
    // who calls back: the request waits in that thread's own queue.
    let client = Peer::spawn(|channel| {
        channel.wait()?;
        let session = Session::primed(&Device::open(&env.device)?)?;
        let mut parcel = Parcel::new();
        parcel.binder(0x10, 0x20);
        let mut commands = Commands::new();
        commands.transaction(0, 1, 0, &parcel);
        session.write(&commands)?;
        let nested = receive(&session)?;
        check_eq!(nested.incoming().code, 2);
        send(&session, 0, 3, 0)?;
        channel.signal()?;
        channel.wait()
    })?;
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    client.signal()?;
    let request = receive(&session)?;
    let handle = request.handle(0)?;
    send(&session, handle, 2, 0)?;
    client.wait()?;
    // It has not been read yet.
    send(&session, handle, 4, 0)?;
    failure_is_behind_a_request(&session)
}

/// As [`failure_is`] for a failure that is told behind a request.
fn failure_is_behind_a_request(session: &Session) -> Result<(), Failure> {
    let error = session.device().extended_error()?;
    let expected = (BR_FAILED_REPLY, -(Errno::EPROTO as i32));
    check_eq!((error.command, error.param), expected);
    let told = |entry: &Return| *entry == Return::FailedReply;
    session.read_until(limits::wait(), told)?;
    Ok(())
}

pub fn too_much_data_is_failed_enospc(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    let parcel = Parcel::from_bytes(vec![0u8; (1 << 20) + 1]);
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    session.write(&commands)?;
    failure_is(&session, BR_FAILED_REPLY, Errno::ENOSPC)?;
    // One that fits is taken.
    call(&session, 0, 2)
}

pub fn uneven_offsets_size_is_failed_einval(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    let bytes = [0u8; 64];
    for size in [1, 4, 7, 9, 12, 31] {
        let data = TransactionData {
            offsets_size: size,
            offsets: bytes.as_ptr() as u64,
            ..transaction_data(0, &bytes)
        };
        send_data(&session, &data)?;
        failure_is(&session, BR_FAILED_REPLY, Errno::EINVAL)?;
    }
    call(&session, 0, 1)
}

pub fn unreadable_data_is_failed_efault(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    for bad in BadAddress::ALL {
        let data =
            TransactionData { data_size: 100, buffer: bad.address(), ..transaction_data(0, &[]) };
        send_data(&session, &data)?;
        failure_is(&session, BR_FAILED_REPLY, Errno::EFAULT)?;
    }
    call(&session, 0, 1)
}

pub fn unreadable_offsets_are_failed_efault(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    for bad in BadAddress::ALL {
        let data = TransactionData {
            offsets_size: 8,
            offsets: bad.address(),
            ..transaction_data(0, &[0; 64])
        };
        send_data(&session, &data)?;
        failure_is(&session, BR_FAILED_REPLY, Errno::EFAULT)?;
    }
    call(&session, 0, 1)
}

pub fn manager_calling_itself_is_failed_einval(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    become_manager(&device)?;
    let session = Session::primed(&device)?;
    for flags in [0, TF_ONE_WAY] {
        send(&session, 0, 1, flags)?;
        failure_is(&session, BR_FAILED_REPLY, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn other_file_of_the_manager_calling_it_is_failed_einval(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    become_manager(&device)?;
    let session = env.session()?;
    for flags in [0, TF_ONE_WAY] {
        send(&session, 0, 1, flags)?;
        failure_is(&session, BR_FAILED_REPLY, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn failed_reply_is_told_to_the_caller(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        let _request = receive(session)?;
        let data = TransactionData {
            data_size: 100,
            buffer: BadAddress::Kernel.address(),
            ..Default::default()
        };
        let mut commands = Commands::new();
        commands.command(BC_REPLY, &data);
        session.write(&commands)?;
        // The replier only learns that it is rid of the call.
        check_eq!(session.read(limits::wait())?, [Return::TransactionComplete]);
        Ok(())
    })?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    failure_is(&session, BR_FAILED_REPLY, Errno::EFAULT)?;
    server.join()
}

pub fn failed_oneway_call_is_told_too(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    send(&session, NO_HANDLE, 1, TF_ONE_WAY)?;
    check_eq!(session.read(limits::wait())?, [Return::FailedReply]);
    let error = session.device().extended_error()?;
    check_eq!(error.command, BR_FAILED_REPLY);
    check_eq!(error.param, -(Errno::EINVAL as i32));
    Ok(())
}
