// SPDX-License-Identifier: GPL-2.0
//! The ioctls through the entry of 32-bit programs: the same structures.

use binder_client::commands::Commands;
use binder_client::compat::{ioctl32, ioctl32_number};
use binder_client::ktap::{Env, Failure};
use binder_client::manager::spawn_echo;
use binder_client::parcel::Parcel;
use binder_client::uapi::{
    ExtendedError, Version, WriteRead, BINDER_GET_EXTENDED_ERROR, BINDER_SET_CONTEXT_MGR,
    BINDER_SET_MAX_THREADS, BINDER_THREAD_EXIT, BINDER_VERSION, BINDER_WRITE_READ, BR_NOOP,
    BR_REPLY, BR_TRANSACTION_COMPLETE, CURRENT_PROTOCOL_VERSION,
};
use binder_client::{check_eq, skip, Errno};

/// Skips where the kernel runs no 32-bit programs.
fn need_32_bit(env: &Env) -> Result<(), Failure> {
    let mut version = Version::default();
    if ioctl32(&*env.open()?, BINDER_VERSION, &mut version) == Err(Errno::ENOSYS) {
        skip!("this kernel runs no 32-bit programs");
    }
    Ok(())
}

pub fn compat_version_is_the_same(env: &Env) -> Result<(), Failure> {
    need_32_bit(env)?;
    let mut version = Version::default();
    check_eq!(ioctl32(&*env.open()?, BINDER_VERSION, &mut version), Ok(()));
    check_eq!(version.protocol_version, CURRENT_PROTOCOL_VERSION);
    Ok(())
}

pub fn compat_small_ioctls_work(env: &Env) -> Result<(), Failure> {
    need_32_bit(env)?;
    let device = env.open()?;
    check_eq!(ioctl32(&*device, BINDER_SET_MAX_THREADS, &mut 15u32), Ok(()));
    check_eq!(ioctl32(&*device, BINDER_SET_CONTEXT_MGR, &mut 0i32), Ok(()));
    check_eq!(ioctl32(&*device, BINDER_SET_CONTEXT_MGR, &mut 0i32), Err(Errno::EBUSY));
    check_eq!(ioctl32(&*device, BINDER_THREAD_EXIT, &mut 0i32), Ok(()));
    let mut error = ExtendedError::default();
    check_eq!(ioctl32(&*device, BINDER_GET_EXTENDED_ERROR, &mut error), Ok(()));
    check_eq!(error.id, 0);
    Ok(())
}

pub fn compat_unknown_number_is_invalid(env: &Env) -> Result<(), Failure> {
    need_32_bit(env)?;
    check_eq!(ioctl32(&*env.open()?, 0xc004_62ff, &mut 0u32), Err(Errno::EINVAL));
    Ok(())
}

pub fn compat_bad_address_is_a_fault(env: &Env) -> Result<(), Failure> {
    need_32_bit(env)?;
    let device = env.open()?;
    check_eq!(ioctl32_number(&*device, BINDER_WRITE_READ, 8), Err(Errno::EFAULT));
    Ok(())
}

pub fn compat_call_is_answered(env: &Env) -> Result<(), Failure> {
    need_32_bit(env)?;
    let _echo = spawn_echo(&env.device)?;
    let device = env.open()?;
    let parcel = Parcel::from_bytes(*b"thirty-two");
    let mut commands = Commands::new();
    commands.transaction(0, 1, 0, &parcel);
    let write = commands.as_bytes();
    let mut read = [0u8; 256];
    let mut argument = WriteRead {
        write_size: write.len() as u64,
        write_buffer: write.as_ptr() as u64,
        read_size: read.len() as u64,
        read_buffer: read.as_mut_ptr() as u64,
        ..WriteRead::default()
    };
    let mut words = Vec::new();
    // A new thread's first read may return at once, so there may be a second.
    for _ in 0..3 {
        check_eq!(ioctl32(&*device, BINDER_WRITE_READ, &mut argument), Ok(()));
        check_eq!(argument.write_consumed, write.len() as u64);
        let room = read.get(..argument.read_consumed as usize).unwrap_or(&[]);
        words.extend(
            room.chunks_exact(4)
                .map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])),
        );
        if words.contains(&BR_REPLY) {
            break;
        }
        argument.write_size = write.len() as u64;
        argument.read_consumed = 0;
    }
    check_eq!(words.first(), Some(&BR_NOOP));
    check_eq!(words.contains(&BR_TRANSACTION_COMPLETE), true);
    check_eq!(words.contains(&BR_REPLY), true);
    Ok(())
}
