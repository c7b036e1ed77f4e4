// SPDX-License-Identifier: GPL-2.0
//! The list of offsets, and the addresses and sizes of both parts.

use binder_client::commands::Commands;
use binder_client::guard::{BadAddress, GuardedBuffer};
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::{TransactionData, BC_TRANSACTION, TF_ONE_WAY};
use binder_client::{check, check_eq, Errno};

use crate::stage::duo::Duo;
use crate::stage::{acknowledge, failed_with, pending, refusal, take, Stage};

/// Two nodes, at 0 and 24.
fn two_nodes() -> Parcel {
    let mut parcel = Parcel::new();
    parcel.binder(0x1000, 1).binder(0x2000, 2);
    parcel
}

/// A parcel with these offsets must fail, and leave nothing behind.
fn refused(env: &Env, offsets: &[u64], expected: Errno) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = two_nodes();
    *parcel.offsets_mut() = offsets.to_vec();
    failed_with(duo.give_refused(&parcel)?, expected)?;
    check_eq!(pending(&duo.client)?, []);
    acknowledge(&duo.owner, &duo.give(&two_nodes())?)?;
    check_eq!(take(&duo.client)?.handle(0)?, 1, "the first number is free");
    Ok(())
}

/// Sends a head with any values; returns how it ended.
fn send_head(duo: &Duo, head: TransactionData) -> Result<(), Failure> {
    let head = TransactionData { target: duo.inbox.into(), flags: TF_ONE_WAY, ..head };
    let mut commands = Commands::new();
    commands.command(BC_TRANSACTION, &head);
    Ok(duo.owner.write(&commands)?)
}

pub fn objects_may_start_at_every_multiple_of_four(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for shift in [4, 8, 12, 20] {
        let mut parcel = two_nodes();
        let mut data = vec![0xee; shift];
        data.extend_from_slice(parcel.data());
        *parcel.data_mut() = data;
        parcel.offsets_mut().iter_mut().for_each(|offset| *offset += shift as u64);
        acknowledge(&duo.owner, &duo.give(&parcel)?)?;
        let received = take(&duo.client)?;
        check_eq!((received.handle(0)?, received.handle(1)?), (1, 2), "shift {shift}");
        check!(received.data()[..shift].iter().all(|&byte| byte == 0xee));
        received.free()?;
    }
    Ok(())
}

pub fn unaligned_offset_is_refused(env: &Env) -> Result<(), Failure> {
    for offset in [1, 2, 3, 5] {
        refused(env, &[offset], Errno::EINVAL)?;
    }
    Ok(())
}

pub fn overlapping_objects_are_refused(env: &Env) -> Result<(), Failure> {
    refused(env, &[0, 20], Errno::EFAULT)?;
    refused(env, &[0, 4], Errno::EFAULT)
}

pub fn repeated_offset_is_refused(env: &Env) -> Result<(), Failure> {
    refused(env, &[0, 0], Errno::EFAULT)
}

pub fn decreasing_offsets_are_refused(env: &Env) -> Result<(), Failure> {
    refused(env, &[24, 0], Errno::EFAULT)
}

pub fn offset_beyond_the_data_is_refused(env: &Env) -> Result<(), Failure> {
    for offset in [52, 4096, 1 << 32, u64::MAX - 3] {
        refused(env, &[0, offset], Errno::EFAULT)?;
    }
    Ok(())
}

pub fn object_cut_off_by_the_end_is_refused(env: &Env) -> Result<(), Failure> {
    refused(env, &[0, 28], Errno::EINVAL)?;
    refused(env, &[0, 44], Errno::EINVAL)
}

pub fn object_in_empty_data_is_refused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::new();
    parcel.offsets_mut().push(0);
    failed_with(duo.give_refused(&parcel)?, Errno::EINVAL)
}

pub fn unknown_type_is_refused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for kind in [0u32, 1, 0x7362_2a84, 0x8562_2a73, u32::MAX] {
        let mut parcel = two_nodes();
        parcel.data_mut()[24..28].copy_from_slice(&kind.to_ne_bytes());
        failed_with(duo.give_refused(&parcel)?, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn size_of_the_list_must_be_a_multiple_of_eight(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let parcel = two_nodes();
    for offsets_size in [1, 4, 7, 9, 12, 15] {
        let head = TransactionData { offsets_size, ..parcel.transaction_data(0, 1, 0) };
        send_head(&duo, head)?;
        failed_with(refusal(&duo.owner)?, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn absurd_sizes_are_refused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let parcel = two_nodes();
    let sizes = [u64::MAX, u64::MAX - 7, u64::MAX - 15, 1 << 63, 1 << 62, 1 << 32, 1 << 31];
    for size in sizes {
        for (data_size, offsets_size) in [(size, 0), (48, size & !7), (size, size & !7)] {
            let head =
                TransactionData { data_size, offsets_size, ..parcel.transaction_data(0, 1, 0) };
            send_head(&duo, head)?;
            let (seen, extended) = refusal(&duo.owner)?;
            check_eq!(seen, Return::FailedReply, "{data_size:#x} {offsets_size:#x}");
            let errno = Errno::from_raw(-extended.param);
            check!(
                matches!(errno, Errno::EINVAL | Errno::ENOSPC),
                "EINVAL or ENOSPC for {data_size:#x} {offsets_size:#x}, not {errno}"
            );
        }
    }
    check_eq!(pending(&duo.client)?, []);
    Ok(())
}

pub fn unreadable_data_is_a_fault(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for bad in BadAddress::ALL {
        let head = TransactionData { data_size: 64, buffer: bad.address(), ..Default::default() };
        send_head(&duo, head)?;
        failed_with(refusal(&duo.owner)?, Errno::EFAULT)?;
    }
    check_eq!(pending(&duo.client)?, []);
    Ok(())
}

pub fn unreadable_offsets_are_a_fault(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let parcel = two_nodes();
    for bad in BadAddress::ALL {
        let head = TransactionData { offsets: bad.address(), ..parcel.transaction_data(0, 1, 0) };
        send_head(&duo, head)?;
        failed_with(refusal(&duo.owner)?, Errno::EFAULT)?;
    }
    let guarded = GuardedBuffer::with_bytes(&[0; 8])?;
    let head = TransactionData {
        offsets: guarded.address(),
        offsets_size: 16,
        ..parcel.transaction_data(0, 1, 0)
    };
    send_head(&duo, head)?;
    failed_with(refusal(&duo.owner)?, Errno::EFAULT)
}

pub fn unreadable_middle_of_the_data_is_a_fault(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let guarded = GuardedBuffer::with_bytes(&[7; 10_000])?;
    for excess in [1, 100, 5000] {
        let head = TransactionData {
            data_size: 10_000 + excess,
            buffer: guarded.address(),
            ..Default::default()
        };
        send_head(&duo, head)?;
        failed_with(refusal(&duo.owner)?, Errno::EFAULT)?;
    }
    let head =
        TransactionData { data_size: 10_000, buffer: guarded.address(), ..Default::default() };
    send_head(&duo, head)?;
    check_eq!(pending(&duo.owner)?, [Return::TransactionComplete]);
    check_eq!(take(&duo.client)?.data(), vec![7; 10_000]);
    Ok(())
}

pub fn address_of_nothing_is_not_looked_at(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    for bad in BadAddress::ALL {
        let head =
            TransactionData { buffer: bad.address(), offsets: bad.address(), ..Default::default() };
        send_head(&duo, head)?;
        check_eq!(pending(&duo.owner)?, [Return::TransactionComplete]);
        take(&duo.client)?.free()?;
    }
    Ok(())
}
