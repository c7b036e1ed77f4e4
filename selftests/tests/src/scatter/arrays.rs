// SPDX-License-Identifier: GPL-2.0
//! Arrays of descriptors in blocks.

use std::os::fd::{AsFd, AsRawFd};

use binder_client::error::Error;
use binder_client::guard::GuardedBuffer;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Object;
use binder_client::parcel::{BufferIndex, Parcel};
use binder_client::returns::Return;
use binder_client::uapi::{FdArrayObject, TF_ACCEPT_FDS, TF_ONE_WAY};
use binder_client::{check, check_eq, check_matches, limits, Errno};
use nix::fcntl::{fcntl, FcntlArg};

use crate::common::{
    address_in, array, block, block_at, borrow, child, closed_everywhere, connected, numbers,
    open_files, own, parcel, pipe, with_free, Pair, CLOSED,
};
use crate::stage::{failed_with, pending, refused, reply, round_trip, send, take};

/// The bytes of an array.
fn bytes_of(fds: &[i32]) -> Vec<u8> {
    fds.iter().flat_map(|fd| fd.to_ne_bytes()).collect()
}

/// A parcel with one block of 32 bytes, and an array by hand in it. All numbers in
/// the block are those of the standard input.
fn with(array: FdArrayObject) -> Parcel {
    let mut parcel = parcel();
    parcel.buffer(bytes_of(&[0; 8]));
    parcel.object(&Object::FdArray(array));
    parcel
}

pub fn files_of_an_array_arrive(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (mut read1, write1) = pipe()?;
    let (mut read2, write2) = pipe()?;
    let mut parcel = parcel();
    parcel.fds(&[write1.as_fd(), write2.as_fd(), write1.as_fd()]);
    let received = pair.deliver(&parcel)?;
    let seen = numbers(&received, 0, 0, 3)?;
    let sent = [write1.as_raw_fd() as u32, write2.as_raw_fd() as u32];
    check!(seen.iter().all(|number| !sent.contains(number)), "new numbers, not {seen:?}");
    check!(seen[0] != seen[2], "one file sent twice has two numbers");
    connected(&mut read1, &mut borrow(seen[0])?)?;
    connected(&mut read2, &mut borrow(seen[1])?)?;
    connected(&mut read1, &mut borrow(seen[2])?)
}

pub fn descriptors_of_an_array_are_closed_on_exec(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (_read, write) = pipe()?;
    fcntl(&write, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))?;
    let mut parcel = parcel();
    parcel.fds(&[write.as_fd()]);
    let received = pair.deliver(&parcel)?;
    let number = numbers(&received, 0, 0, 1)?[0];
    let link = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
    let flags = link.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    check!(flags.is_some_and(|flags| flags & 0o2_000_000 != 0), "O_CLOEXEC in {link:?}");
    Ok(())
}

pub fn arrays_and_addresses_share_a_block(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (mut read, write) = pipe()?;
    let fd = write.as_raw_fd();
    let mut bytes = vec![0x77; 48];
    for at in [4, 8, 24, 36] {
        bytes[at..at + 4].copy_from_slice(&fd.to_ne_bytes());
    }
    let mut parcel = parcel();
    let parent = parcel.buffer(bytes);
    parcel.fd_array(parent, 4, 2);
    let inner = parcel.child_buffer(bytes_of(&[fd, 7, fd]), parent, 16);
    parcel.fd_array(inner, 0, 1).fd_array(inner, 8, 1);
    parcel.fd_array(parent, 24, 1).fd_array(parent, 28, 0).fd_array(parent, 36, 1);
    let received = pair.deliver(&parcel)?;
    check_eq!(address_in(&received, 0, 16)?, block_at(&received, 2)?.buffer);
    let mut all = numbers(&received, 0, 4, 2)?;
    all.extend(numbers(&received, 0, 24, 1)?);
    all.extend(numbers(&received, 0, 36, 1)?);
    all.extend(numbers(&received, 2, 0, 1)?);
    all.extend(numbers(&received, 2, 8, 1)?);
    for number in &all {
        connected(&mut read, &mut borrow(*number)?)?;
    }
    all.dedup();
    check_eq!(all.len(), 6);
    check_eq!(numbers(&received, 2, 4, 1)?, [7], "what is between the arrays");
    let bytes = received.block(0)?;
    for rest in [0..4, 12..16, 28..36, 40..48] {
        check!(bytes[rest.clone()].iter().all(|&byte| byte == 0x77), "bytes {rest:?}");
    }
    Ok(())
}

pub fn array_and_single_descriptor_travel_together(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (mut read, write) = pipe()?;
    let mut parcel = parcel();
    parcel.fd(&write).fds(&[write.as_fd()]);
    parcel.fd(&write);
    let received = pair.deliver(&parcel)?;
    let objects = received.objects()?;
    for index in [0, 3] {
        let Object::Fd { fd, .. } = objects[index] else {
            return Err(Failure::new("an object", "a descriptor", format!("{objects:?}")));
        };
        connected(&mut read, &mut own(fd)?)?;
    }
    connected(&mut read, &mut borrow(numbers(&received, 1, 0, 1)?[0])?)
}

pub fn array_in_a_call_and_its_reply(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (mut read, write) = pipe()?;
    let mut parcel = parcel();
    parcel.fds(&[write.as_fd()]);
    send(&pair.client, pair.handle, 1, TF_ACCEPT_FDS, &parcel)?;
    let request = take(&pair.server)?;
    connected(&mut read, &mut borrow(numbers(&request, 0, 0, 1)?[0])?)?;
    reply(&pair.server, 0, &parcel)?;
    let (answer, _) = pair.client.next_reply(limits::wait())?;
    connected(&mut read, &mut borrow(numbers(&answer, 0, 0, 1)?[0])?)
}

pub fn array_object_is_not_touched(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let object = FdArrayObject { pad: 0x1234_5678, ..array(2, 0, 4) };
    let received = pair.deliver(&with(object))?;
    check_eq!(received.objects()?[1], Object::FdArray(object));
    Ok(())
}

pub fn empty_array_may_stand_anywhere(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for offset in [0, 3, 31, 32, 33, 1 << 32, u64::MAX] {
        let received = pair.deliver(&with(array(0, 0, offset)))?;
        check_eq!(received.block(0)?, bytes_of(&[0; 8]), "offset {offset}");
    }
    // But nothing may come before it afterwards.
    let mut parcel = with(array(0, 0, 8));
    parcel.object(&Object::FdArray(array(0, 0, 7)));
    pair.refuse(&parcel, Errno::EINVAL)
}

pub fn empty_array_needs_no_permission(env: &Env) -> Result<(), Failure> {
    let pair = Pair::with(env, CLOSED)?;
    pair.deliver(&with(array(0, 0, 0)))?;
    Ok(())
}

pub fn node_without_permission_gets_no_array(env: &Env) -> Result<(), Failure> {
    let pair = Pair::with(env, CLOSED)?;
    for flags in [0, TF_ONE_WAY, TF_ACCEPT_FDS] {
        let seen = refused(&pair.client, pair.handle, flags, &with(array(1, 0, 0)))?;
        failed_with(seen, Errno::EPERM)?;
    }
    check_eq!(pending(&pair.server)?, []);
    Ok(())
}

/// Answers a call by a reply that must be refused.
fn refused_reply(pair: &Pair, flags: u32, parcel: &Parcel, errno: Errno) -> Result<(), Failure> {
    send(&pair.client, pair.handle, 1, flags, &Parcel::new())?;
    take(&pair.server)?.free()?;
    reply(&pair.server, 0, parcel)?;
    check_eq!(pending(&pair.server)?, [Return::TransactionComplete]);
    match pair.client.next_reply(limits::wait()) {
        Err(Error::Failed(extended)) => check_eq!(extended.param, -(errno as i32)),
        other => return Err(Failure::new("the call", "a failure", format!("{other:?}"))),
    }
    Ok(())
}

pub fn reply_with_an_array_needs_the_callers_permission(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    refused_reply(&pair, 0, &with(array(1, 0, 0)), Errno::EPERM)?;
    let mut bad = parcel();
    bad.buffer([1; 8]);
    bad.set_buffers_size(0);
    refused_reply(&pair, 0, &bad, Errno::EINVAL)?;
    round_trip(&pair.client, pair.handle, &pair.server)
}

pub fn bad_descriptors_are_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for bad in [-1, i32::MAX, i32::MIN, 100_000] {
        for at in [0, 1, 40, 99] {
            let mut fds = vec![0; 100];
            fds[at] = bad;
            let mut parcel = parcel();
            let block = parcel.buffer(bytes_of(&fds));
            parcel.fd_array(block, 0, 100);
            pair.refuse(&parcel, Errno::EBADF)?;
        }
    }
    Ok(())
}

pub fn array_outside_its_parent_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    pair.deliver(&with(array(8, 0, 0)))?;
    pair.deliver(&with(array(1, 0, 28)))?;
    for (count, offset) in [
        (9, 0),
        (8, 4),
        (1, 32),
        (2, 28),
        (1, 1 << 32),
        (1, u64::MAX - 3),
        (2, u64::MAX - 3),
        (1 << 30, 0),
    ] {
        pair.refuse(&with(array(count, 0, offset)), Errno::EINVAL)?;
    }
    // No array is in an empty block.
    let mut parcel = parcel();
    let empty = parcel.buffer([]);
    parcel.fd_array(empty, 0, 1);
    pair.refuse(&parcel, Errno::EINVAL)
}

pub fn unaligned_array_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for offset in [1, 2, 3, 5] {
        pair.refuse(&with(array(1, 0, offset)), Errno::EINVAL)?;
    }
    // At the sender's as well, whether the sum is aligned or not.
    let memory = [0u64; 8];
    for shift in [1, 2, 3] {
        for offset in [0, 4 - shift] {
            let mut parcel = parcel();
            parcel.object(&Object::Buffer(block(memory.as_ptr() as u64 + shift, 32)));
            parcel.object(&Object::FdArray(array(1, 0, offset))).set_buffers_size(32);
            pair.refuse(&parcel, Errno::EINVAL)?;
        }
    }
    Ok(())
}

pub fn array_before_the_last_patch_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for (offset, works) in [(0, false), (8, false), (12, false), (16, true), (28, true)] {
        // Behind an array.
        let mut parcel = with(array(2, 0, 8));
        parcel.object(&Object::FdArray(array(1, 0, offset)));
        // Behind an address.
        let mut other = crate::common::parcel();
        let parent = other.buffer(bytes_of(&[0; 8]));
        other.child_buffer([], parent, 8);
        other.fd_array(parent, offset, 1);
        for parcel in [parcel, other] {
            if works {
                pair.deliver(&parcel)?;
            } else {
                pair.refuse(&parcel, Errno::EINVAL)?;
            }
        }
    }
    Ok(())
}

pub fn array_without_a_parent_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for count in [0, 1] {
        let mut alone = parcel();
        alone.object(&Object::FdArray(array(count, 0, 0))).set_buffers_size(64);
        pair.refuse(&alone, Errno::EINVAL)?;
        for parent in [1, 2, 1 << 32, u64::MAX] {
            pair.refuse(&with(array(count, parent, 0)), Errno::EINVAL)?;
        }
        // The parent was closed by another block.
        let mut closed = parcel();
        let parent = closed.buffer(bytes_of(&[0; 8]));
        closed.buffer([]);
        closed.fd_array(parent, 0, count);
        pair.refuse(&closed, Errno::EINVAL)?;
        // Another object is no parent.
        let mut other = parcel();
        other.handle(pair.handle).fd_array(BufferIndex(0), 0, count);
        pair.refuse(&other, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn unreadable_array_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let guarded = GuardedBuffer::with_bytes(&bytes_of(&[0; 100]))?;
    for count in [101, 132, 200] {
        let mut parcel = parcel();
        parcel.object(&Object::Buffer(block(guarded.address(), 4 * count)));
        parcel.object(&Object::FdArray(array(count, 0, 0))).set_buffers_size(4096);
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn request_without_free_numbers_fails_the_call(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let mut parcel = parcel();
    parcel.fds(&[write.as_fd(), write.as_fd()]);
    send(&pair.client, pair.handle, 1, 0, &parcel)?;
    drop(write);
    let seen = with_free(0, || pending(&pair.server))?;
    check_eq!(seen, [], "what the server sees");
    check_matches!(pair.client.next_reply(limits::wait()), Err(Error::Failed(_)));
    closed_everywhere(&read)?;
    round_trip(&pair.client, pair.handle, &pair.server)
}

pub fn reply_without_free_numbers_fails_the_call(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let mut parcel = parcel();
    parcel.fds(&[write.as_fd(), write.as_fd(), write.as_fd()]);
    send(&pair.client, pair.handle, 1, TF_ACCEPT_FDS, &Parcel::new())?;
    take(&pair.server)?.free()?;
    reply(&pair.server, 0, &parcel)?;
    drop(write);
    check_eq!(pending(&pair.server)?, [Return::TransactionComplete]);
    let seen = with_free(2, || pending(&pair.client))?;
    check_eq!(seen, [Return::TransactionComplete, Return::FailedReply]);
    closed_everywhere(&read)?;
    round_trip(&pair.client, pair.handle, &pair.server)
}

pub fn half_placed_array_takes_its_numbers_back(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let mut parcel = parcel();
    parcel.fd(&write).fds(&[write.as_fd(), write.as_fd()]);
    parcel.fd(&write).buffer([3; 100]);
    send(&pair.client, pair.handle, 1, 0, &parcel)?;
    drop(write);
    let before = open_files()?;
    for _ in 0..2 {
        check_eq!(with_free(2, || pending(&pair.server))?, [], "what the server sees");
        check_eq!(open_files()?, before);
    }
    check_matches!(pair.client.next_reply(limits::wait()), Err(Error::Failed(_)));
    closed_everywhere(&read)?;
    pair.room_is_free()
}

pub fn large_array_arrives(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (mut read, write) = pipe()?;
    let before = open_files()?;
    let mut parcel = parcel();
    let outer = parcel.buffer(vec![0; 16]);
    let fds = vec![write.as_raw_fd(); 500];
    let memory = bytes_of(&fds);
    parcel.object(&Object::Buffer(child(memory.as_ptr() as u64, 2000, outer.0, 0)));
    parcel.fd_array(BufferIndex(1), 0, 500).set_buffers_size(2016);
    let received = pair.deliver(&parcel)?;
    check_eq!(open_files()?, before + 500);
    let seen = numbers(&received, 1, 0, 500)?;
    connected(&mut read, &mut borrow(seen[499])?)?;
    received.free()?;
    check_eq!(open_files()?, before);
    Ok(())
}
