// SPDX-License-Identifier: GPL-2.0
//! Arguments: values, bad addresses, numbers that do not exist.

use binder_client::commands::Commands;
use binder_client::guard::{BadAddress, GuardedBuffer};
use binder_client::ktap::{Env, Failure};
use binder_client::limits;
use binder_client::session::Session;
use binder_client::uapi::*;
use binder_client::{check_eq, Errno};

use crate::core_support::{call, client, manager, serve_for_ever};

pub fn version_is_written_whatever_the_input(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for input in [0, -1, 7, i32::MAX] {
        let mut version = Version { protocol_version: input };
        device.ioctl(BINDER_VERSION, &mut version)?;
        check_eq!(version.protocol_version, CURRENT_PROTOCOL_VERSION);
    }
    Ok(())
}

pub fn version_to_a_bad_address_is_a_fault(env: &Env) -> Result<(), Failure> {
    every_bad_address_is_a_fault(env, BINDER_VERSION)
}

fn every_bad_address_is_a_fault(env: &Env, request: u32) -> Result<(), Failure> {
    let device = env.open()?;
    for bad in BadAddress::ALL {
        let seen = device.ioctl_bad_address(request, bad);
        check_eq!(seen, Err(Errno::EFAULT), "ioctl {request:#x} with {bad:?}");
    }
    check_eq!(device.version()?, CURRENT_PROTOCOL_VERSION);
    Ok(())
}

pub fn max_threads_takes_any_number(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for threads in [0, 1, 15, u32::MAX, 0] {
        device.set_max_threads(threads)?;
    }
    Ok(())
}

pub fn max_threads_from_a_bad_address_is_a_fault(env: &Env) -> Result<(), Failure> {
    every_bad_address_is_a_fault(env, BINDER_SET_MAX_THREADS)
}

pub fn other_ioctls_with_a_bad_address_are_a_fault(env: &Env) -> Result<(), Failure> {
    every_bad_address_is_a_fault(env, BINDER_WRITE_READ)?;
    every_bad_address_is_a_fault(env, BINDER_GET_EXTENDED_ERROR)?;
    every_bad_address_is_a_fault(env, BINDER_ENABLE_ONEWAY_SPAM_DETECTION)
}

pub fn argument_may_end_at_a_forbidden_page(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for (request, expected) in [
        (BINDER_VERSION, CURRENT_PROTOCOL_VERSION.to_ne_bytes().to_vec()),
        (BINDER_SET_MAX_THREADS, vec![0; 4]),
        (BINDER_ENABLE_ONEWAY_SPAM_DETECTION, vec![0; 4]),
    ] {
        let mut argument = GuardedBuffer::new(ioc_size(request))?;
        device.ioctl_guarded(request, &mut argument)?;
        check_eq!(argument.to_vec(), expected, "argument of ioctl {request:#x}");
    }
    let mut argument = GuardedBuffer::new(ioc_size(BINDER_GET_EXTENDED_ERROR))?;
    device.ioctl_guarded(BINDER_GET_EXTENDED_ERROR, &mut argument)?;
    Ok(())
}

pub fn argument_over_a_forbidden_page_is_a_fault(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for request in [BINDER_GET_EXTENDED_ERROR, BINDER_ENABLE_ONEWAY_SPAM_DETECTION] {
        let mut argument = GuardedBuffer::new(ioc_size(request) - 1)?;
        let seen = device.ioctl_guarded(request, &mut argument);
        check_eq!(seen, Err(Errno::EFAULT), "ioctl {request:#x}");
    }
    Ok(())
}

fn every_number_is_invalid(env: &Env, numbers: &[u32]) -> Result<(), Failure> {
    let device = env.open()?;
    for &number in numbers {
        // Longer than any size that a number can announce.
        let mut argument = [[0u8; 4096]; 4];
        let seen = device.ioctl(number, &mut argument);
        check_eq!(seen, Err(Errno::EINVAL), "ioctl {number:#x}");
        let seen = device.ioctl_bad_address(number, BadAddress::Null);
        check_eq!(seen, Err(Errno::EINVAL), "ioctl {number:#x} without argument");
    }
    check_eq!(device.version()?, CURRENT_PROTOCOL_VERSION);
    Ok(())
}

/// Directions as in a command number.
const NONE: u32 = 0;
const WRITE: u32 = 1;
const READ: u32 = 2;
const BOTH: u32 = 3;

pub fn unknown_numbers_are_invalid(env: &Env) -> Result<(), Failure> {
    let mut numbers = vec![0, 1, 0x6209, 0x0000_ffff, 0x3fff_ffff];
    for number in [0u8, 2, 4, 10, 18, 19, 64, 255] {
        for dir in [NONE, WRITE, READ, BOTH] {
            numbers.push(ioc(dir, b'b', number.into(), 4));
            numbers.push(ioc(dir, b'b', number.into(), 12));
        }
    }
    for group in [b'a', b'c', b'r'] {
        numbers.push(ioc(BOTH, group, 9, 4));
    }
    every_number_is_invalid(env, &numbers)
}

pub fn declared_but_unused_numbers_are_invalid(env: &Env) -> Result<(), Failure> {
    every_number_is_invalid(env, &[BINDER_SET_IDLE_TIMEOUT, BINDER_SET_IDLE_PRIORITY])
}

/// Every ioctl there is: direction, number, size.
const KNOWN: [(u32, u32, usize); 14] = [
    (BOTH, 1, 48),
    (WRITE, 5, 4),
    (WRITE, 7, 4),
    (WRITE, 8, 4),
    (BOTH, 9, 4),
    (BOTH, 11, 24),
    (BOTH, 12, 24),
    (WRITE, 13, 24),
    (WRITE, 14, 12),
    (BOTH, 15, 12),
    (WRITE, 16, 4),
    (BOTH, 17, 12),
    (WRITE, 3, 8),
    (WRITE, 6, 4),
];

pub fn wrong_sizes_are_invalid(env: &Env) -> Result<(), Failure> {
    let mut numbers = Vec::new();
    for (dir, number, size) in KNOWN {
        for wrong in [0, size - 1, size + 1, size + 4, size * 2] {
            numbers.push(ioc(dir, b'b', number, wrong));
        }
    }
    every_number_is_invalid(env, &numbers)
}

pub fn wrong_directions_are_invalid(env: &Env) -> Result<(), Failure> {
    let mut numbers = Vec::new();
    for (dir, number, size) in KNOWN {
        for wrong in [NONE, WRITE, READ, BOTH] {
            if wrong != dir {
                numbers.push(ioc(wrong, b'b', number, size));
            }
        }
    }
    every_number_is_invalid(env, &numbers)
}

pub fn thread_exit_ignores_its_argument(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for bad in BadAddress::ALL {
        check_eq!(device.ioctl_bad_address(BINDER_THREAD_EXIT, bad), Ok(()));
    }
    Ok(())
}

pub fn thread_exit_of_a_new_thread_is_harmless(env: &Env) -> Result<(), Failure> {
    let device = env.open()?;
    for _ in 0..3 {
        device.thread_exit()?;
    }
    Ok(())
}

pub fn thread_works_after_thread_exit(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = env.session()?;
    for code in 0..3 {
        call(&session, 0, code)?;
        session.device().thread_exit()?;
    }
    // The new thread is a fresh one: no error and nothing to read is left.
    check_eq!(session.device().extended_error()?.command, BR_OK);
    check_eq!(session.readable(limits::quiet())?, false);
    Ok(())
}

pub fn oneway_spam_detection_takes_any_number(env: &Env) -> Result<(), Failure> {
    // A process of its own: whatever the setting, calls go on.
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let peer = client(&env.device, |session, _| {
        for value in [1u32, 0, u32::MAX, 1] {
            session.device().ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut { value })?;
            call(&Session::new(session.device()), 0, 1)?;
        }
        Ok(session.write(&Commands::new())?)
    })?;
    peer.join()
}
