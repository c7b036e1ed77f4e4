// SPDX-License-Identifier: GPL-2.0
//! Becoming the context manager.

use binder_client::device::Device;
use binder_client::guard::BadAddress;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::{become_manager, become_manager_with_flags};
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check_eq, check_matches, limits, Errno};
use nix::unistd::{seteuid, Uid};

use crate::core_support::{client, finish_call, manager, receive, reply, send, until};

/// A user who is not the one that the tests run as.
const OTHER_USER: Uid = Uid::from_raw(12_345);

pub fn second_manager_is_busy(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let device = env.open()?;
    check_eq!(device.set_context_mgr(), Err(Errno::EBUSY));
    let node = FlatObject::default();
    check_eq!(device.set_context_mgr_ext(&node), Err(Errno::EBUSY));
    Ok(())
}

pub fn manager_again_is_busy(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    become_manager(&device)?;
    check_eq!(device.set_context_mgr(), Err(Errno::EBUSY));
    let node = FlatObject::default();
    check_eq!(device.set_context_mgr_ext(&node), Err(Errno::EBUSY));
    check_eq!(env.open()?.set_context_mgr(), Err(Errno::EBUSY));
    Ok(())
}

pub fn manager_of_another_device_is_independent(env: &Env) -> Result<(), Failure> {
    let second = env.second_device()?;
    let one = manager(&env.device, |session, _| {
        check_eq!(receive(session)?.incoming().code, 1);
        reply(session)
    })?;
    let other = manager(second, |session, _| {
        check_eq!(receive(session)?.incoming().code, 2);
        reply(session)
    })?;
    let here = env.session()?;
    let there = Session::primed(&Device::open(second)?)?;
    send(&there, 0, 2, 0)?;
    send(&here, 0, 1, 0)?;
    finish_call(&here)?;
    finish_call(&there)?;
    one.join()?;
    other.join()
}

pub fn other_user_is_refused(env: &Env) -> Result<(), Failure> {
    // The first manager's user is remembered when it is gone.
    manager(&env.device, |_, _| Ok(()))?.join()?;
    let device = env.open()?;
    until("the manager of before is gone", || {
        let probe = Peer::spawn(|channel| {
            let device = Device::open(&env.device)?;
            seteuid(OTHER_USER)?;
            let busy = device.set_context_mgr() == Err(Errno::EBUSY);
            channel.send(&busy)
        })?;
        Ok(!probe.recv::<bool>()?)
    })?;
    seteuid(OTHER_USER)?;
    check_eq!(device.set_context_mgr(), Err(Errno::EPERM));
    let node = FlatObject::default();
    check_eq!(device.set_context_mgr_ext(&node), Err(Errno::EPERM));
    seteuid(Uid::from_raw(0))?;
    check_eq!(device.set_context_mgr(), Ok(()));
    Ok(())
}

pub fn busy_is_told_before_the_wrong_user(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let device = env.open()?;
    seteuid(OTHER_USER)?;
    check_eq!(device.set_context_mgr(), Err(Errno::EBUSY));
    Ok(())
}

pub fn slot_is_free_after_close(env: &Env) -> Result<(), Failure> {
    for _ in 0..3 {
        let peer = manager(&env.device, |session, _| {
            check_eq!(receive(session)?.incoming().code, 9);
            reply(session)
        })?;
        let session = env.session()?;
        send(&session, 0, 9, 0)?;
        finish_call(&session)?;
        peer.join()?;
    }
    Ok(())
}

pub fn argument_of_set_context_mgr_is_ignored(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    until("there is no manager", || {
        Ok(device.ioctl_bad_address(BINDER_SET_CONTEXT_MGR, BadAddress::Kernel) == Ok(()))
    })?;
    check_eq!(device.set_context_mgr(), Err(Errno::EBUSY));
    Ok(())
}

pub fn ext_from_a_bad_address_is_a_fault(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for bad in BadAddress::ALL {
        let seen = device.ioctl_bad_address(BINDER_SET_CONTEXT_MGR_EXT, bad);
        check_eq!(seen, Err(Errno::EFAULT), "with {bad:?}");
    }
    // Nothing was taken by the failures.
    become_manager_with_flags(&device, 0)?;
    Ok(())
}

fn manager_with_node(env: &Env, node: FlatObject) -> Result<(u64, u64), Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open(&env.device)?;
        until("there is no manager", || match device.set_context_mgr_ext(&node) {
            Err(Errno::EBUSY) => Ok(false),
            result => Ok(result.map(|()| true)?),
        })?;
        let session = Session::primed(&device)?;
        channel.signal()?;
        let request = receive(&session)?;
        channel.send(&(request.incoming().ptr, request.incoming().cookie))?;
        reply(&session)
    })?;
    peer.wait()?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    finish_call(&session)?;
    peer.recv()
}

pub fn ext_names_pointer_and_cookie_of_the_node(env: &Env) -> Result<(), Failure> {
    let node = FlatObject {
        kind: TYPE_BINDER,
        flags: 0,
        binder: 0x1111_2222_3333_4440,
        cookie: 0x5555_6666_7777_8888,
    };
    check_eq!(manager_with_node(env, node)?, (node.binder, node.cookie));
    Ok(())
}

pub fn ext_does_not_look_at_the_object_type(env: &Env) -> Result<(), Failure> {
    let node = FlatObject { kind: 0xffff_ffff, ..Default::default() };
    check_eq!(manager_with_node(env, node)?, (0, 0));
    Ok(())
}

pub fn manager_is_not_asked_for_references(env: &Env) -> Result<(), Failure> {
    let peer = manager(&env.device, |session, channel| {
        // The call comes first: no BR_INCREFS, no BR_ACQUIRE.
        let first = session.read(limits::wait())?;
        check_matches!(first[..], [Return::Transaction(_)]);
        reply(session)?;
        channel.wait()
    })?;
    let caller = client(&env.device, |session, _| {
        send(session, 0, 1, 0)?;
        finish_call(session)
    })?;
    caller.join()?;
    peer.signal()?;
    peer.join()
}
