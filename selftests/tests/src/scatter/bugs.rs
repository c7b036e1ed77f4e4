// SPDX-License-Identifier: GPL-2.0
//! What went wrong in the field with objects, blocks and arrays, case by case.

use std::os::fd::{AsFd, AsRawFd};

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::parcel::{BufferIndex, Parcel};
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::uapi::{
    TransactionData, TransactionDataSg, BC_TRANSACTION_SG, FLAT_BINDER_FLAG_ACCEPTS_FDS,
    FLAT_BINDER_FLAG_TXN_SECURITY_CTX, TF_ONE_WAY,
};
use binder_client::{check, check_eq, Errno};
use nix::sys::mman::ProtFlags;

use crate::common::{block_at, child, open_files, parcel, pipe, still_open, Pair, CLOSED, OPEN};
use crate::stage::{acknowledge, failed_with, pending, refusal, refused, send, take, Node};

/// What nearly all of this ends with.
pub const INVALID: Errno = Errno::EINVAL;

/// Sends any head with any room for blocks.
pub fn send_head(pair: &Pair, head: TransactionData, buffers_size: u64) -> Result<(), Failure> {
    let transaction = TransactionData { target: pair.handle.into(), flags: TF_ONE_WAY, ..head };
    let mut commands = Commands::new();
    commands.command(BC_TRANSACTION_SG, &TransactionDataSg { transaction, buffers_size });
    Ok(pair.client.write(&commands)?)
}

pub fn bug_b44_parent_behind_the_last_object(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for parent in [1, 2, 5, 8, 16, 40] {
        let mut with_array = parcel();
        with_array.buffer([0; 64]);
        with_array.fd_array(BufferIndex(parent), 0, 1);
        pair.refuse(&with_array, INVALID)?;
        let mut with_child = parcel();
        with_child.buffer([0; 64]);
        with_child.child_buffer([0; 8], BufferIndex(parent), 0);
        pair.refuse(&with_child, INVALID)?;
    }
    Ok(())
}

pub fn bug_b45_offsets_size_that_is_no_multiple_of_eight(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let node = Node::new(0x9000, 9);
    let held = pair.stage.introduce(&pair.client, &pair.server, node)?;
    let mut parcel = parcel();
    parcel.binder(node.ptr, node.cookie).binder(node.ptr, node.cookie);
    for round in 0..10_000 {
        let offsets_size = 8 + [1, 4, 7][round % 3];
        let head = parcel.transaction_data(0, 1, 0);
        send_head(&pair, TransactionData { offsets_size, ..head }, 0)?;
        failed_with(refusal(&pair.client)?, INVALID)?;
    }
    check_eq!(pending(&pair.server)?, []);
    crate::stage::round_trip(&pair.server, held, &pair.client)?;
    let mut commands = Commands::new();
    commands.release(held);
    pair.server.write(&commands)?;
    check_eq!(
        pending(&pair.client)?,
        [Return::Release(node.name()), Return::Decrefs(node.name())],
        "one reference was left"
    );
    Ok(())
}

pub fn bug_b47_objects_that_overlap(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    // Two blocks at 8 and 48; offsets that make the second begin inside the first, come
    // first, or end behind the data.
    for (offsets, errno) in [
        ([8, 12], Errno::EFAULT),
        ([8, 44], Errno::EFAULT),
        ([48, 8], Errno::EFAULT),
        ([8, 8], Errno::EFAULT),
        ([8, 52], INVALID),
        ([8, 84], INVALID),
        ([8, 92], Errno::EFAULT),
    ] {
        let mut parcel = parcel();
        parcel.buffer([0; 16]);
        parcel.buffer([0; 16]);
        *parcel.offsets_mut() = offsets.to_vec();
        pair.refuse(&parcel, errno)?;
    }
    // An address that would land in the offsets, or in a block that is none of the sender's
    // business: only places inside the parent can be named.
    for offset in [u64::MAX - 7, u64::MAX - 15, u64::MAX - 31, (-40i64) as u64] {
        let mut parcel = parcel();
        let parent = parcel.buffer([0; 64]);
        parcel.child_buffer([0; 8], parent, offset);
        pair.refuse(&parcel, INVALID)?;
    }
    Ok(())
}

pub fn bug_b48_unaligned_offsets(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut whole = parcel();
    whole.buffer([0; 8]);
    let object = whole.data()[8..].to_vec();
    for offset in [1, 2, 3, 5] {
        let mut parcel = Parcel::new();
        parcel.bytes(&vec![0; offset]).bytes(&object).bytes(&[0; 16]);
        parcel.offsets_mut().push(offset as u64);
        parcel.set_buffers_size(64);
        pair.refuse(&parcel, INVALID)?;
    }
    Ok(())
}

pub fn bug_b49_mapping_is_not_writable(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let write = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let fresh = binder_client::device::Device::open_unmapped(&env.device)?;
    check_eq!(fresh.try_map(4096, write).map(drop), Err(Errno::EPERM));
    let mut region = fresh.try_map(4096, ProtFlags::PROT_READ)?;
    check_eq!(region.protect(write), Err(Errno::EACCES));
    pair.deliver(&parcel())?;
    Ok(())
}

pub fn bug_b50_each_object_is_released_once(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let node = Node::new(0x9000, 9);
    let mut parcel = Parcel::new();
    for _ in 0..4 {
        parcel.binder(node.ptr, node.cookie);
    }
    send(&pair.client, pair.handle, 1, TF_ONE_WAY, &parcel)?;
    acknowledge(&pair.client, &pending(&pair.client)?)?;
    let received = take(&pair.server)?;
    let held = received.handle(0)?;
    // Three of its own: what is left when the buffer is gone.
    let mut commands = Commands::new();
    commands.acquire(held).acquire(held).acquire(held);
    pair.server.write(&commands)?;
    received.free()?;
    check_eq!(pending(&pair.client)?, []);
    for left in [2, 1, 0] {
        let mut commands = Commands::new();
        commands.release(held);
        pair.server.write(&commands)?;
        let told = pending(&pair.client)?;
        check_eq!(told.is_empty(), left > 0, "{left} are left, told {told:?}");
    }
    Ok(())
}

pub fn bug_b51_empty_array_at_the_end_of_a_block(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for length in [0, 1, 4, 8, 9, 64] {
        let mut parcel = parcel();
        let parent = parcel.buffer(vec![0x5a; length]);
        parcel.fd_array(parent, length as u64, 0);
        parcel.buffer([1; 8]);
        let received = pair.deliver(&parcel)?;
        check_eq!(received.block(0)?, vec![0x5a; length]);
        check_eq!(received.block(2)?, [1; 8]);
    }
    Ok(())
}

pub fn bug_b53_huge_number_of_descriptors(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let before = open_files()?;
    let memory = write.as_raw_fd().to_ne_bytes().repeat(8);
    let counts = [1 << 62, (1 << 62) + 1, (1 << 30) + 1, u64::MAX / 4, 1 << 63, u64::MAX, 9];
    for count in counts {
        let mut parcel = parcel();
        let parent = parcel.buffer(memory.clone());
        parcel.fd_array(parent, 0, count);
        pair.refuse(&parcel, INVALID)?;
    }
    check_eq!(open_files()?, before);
    still_open(&read)
}

pub fn bug_b54_array_near_the_security_context(env: &Env) -> Result<(), Failure> {
    let flags = FLAT_BINDER_FLAG_TXN_SECURITY_CTX | FLAT_BINDER_FLAG_ACCEPTS_FDS;
    let pair = Pair::with(env, Node { flags, ..Node::new(0x3000, 3) })?;
    send(&pair.client, pair.handle, 1, TF_ONE_WAY, &parcel())?;
    if pending(&pair.client)? != [Return::TransactionComplete] {
        return Err(Failure::skip("no security module gives contexts to this driver"));
    }
    let context = take(&pair.server)?.security_context()?;
    for (tail, size) in [(1, 12), (3, 9), (7, 15)] {
        let mut odd = parcel();
        odd.bytes(&vec![0; tail]).set_buffers_size(size);
        pair.refuse(&odd, INVALID)?;
    }
    let (_read, write) = pipe()?;
    for tail in [1, 3, 7] {
        let mut full = parcel();
        let fds = write.as_raw_fd().to_ne_bytes().repeat(4);
        let parent = full.buffer(fds);
        full.fd_array(parent, 12, 1).bytes(&vec![0; tail]);
        let seen = pair.deliver(&full)?.security_context()?;
        check!(seen == context, "{context:?} with {tail} bytes behind, not {seen:?}");
        let mut beyond = parcel();
        let parent = beyond.buffer([0; 16]);
        beyond.fd_array(parent, 16, 1).bytes(&vec![0; tail]);
        pair.refuse(&beyond, INVALID)?;
    }
    Ok(())
}

pub fn bug_b56_blocks_eight_bytes_too_many(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for count in [1, 2, 5] {
        for length in [8, 13, 64] {
            let mut parcel = parcel();
            for _ in 0..count {
                parcel.buffer(vec![1; length]);
            }
            pair.deliver(&parcel)?;
            let right = parcel.buffers_size();
            parcel.set_buffers_size(right - 8);
            pair.refuse(&parcel, INVALID)?;
        }
    }
    Ok(())
}

pub fn bug_b57_sizes_that_overflow(env: &Env) -> Result<(), Failure> {
    let flags = FLAT_BINDER_FLAG_TXN_SECURITY_CTX;
    for node in [CLOSED, Node { flags, ..Node::new(0x3000, 3) }] {
        let pair = Pair::with(env, node)?;
        let parcel = parcel();
        let sizes = [u64::MAX, u64::MAX - 7, u64::MAX - 15, u64::MAX / 2 + 1, 1 << 62];
        for size in sizes {
            for (data_size, offsets_size, buffers_size) in [
                (size, 0, 0),
                (8, 0, size & !7),
                (8, size & !7, 0),
                (8, size & !7, size & !7),
                (size, size & !7, size & !7),
                (size, 0, (!size).wrapping_add(9) & !7),
                (16, 8, u64::MAX - 23),
            ] {
                let head = parcel.transaction_data(0, 1, 0);
                let head = TransactionData { data_size, offsets_size, ..head };
                send_head(&pair, head, buffers_size)?;
                let (seen, extended) = refusal(&pair.client)?;
                check_eq!(seen, Return::FailedReply, "{data_size:#x} {buffers_size:#x}");
                let errno = Errno::from_raw(-extended.param);
                check!(
                    matches!(errno, INVALID | Errno::ENOSPC | Errno::EOPNOTSUPP),
                    "EINVAL or ENOSPC for {data_size:#x} {offsets_size:#x} {buffers_size:#x}, \
                     not {errno}"
                );
            }
        }
        check_eq!(pending(&pair.server)?, []);
        pair.deliver_if_possible()?;
    }
    Ok(())
}

impl Pair {
    /// Some drivers refuse all that goes to a node that wants a context.
    fn deliver_if_possible(&self) -> Result<(), Failure> {
        send(&self.client, self.handle, 1, TF_ONE_WAY, &parcel())?;
        if pending(&self.client)? == [Return::TransactionComplete] {
            take(&self.server)?.free()?;
        }
        Ok(())
    }
}

pub fn bug_b59_array_to_a_node_that_takes_none(env: &Env) -> Result<(), Failure> {
    let pair = Pair::with(env, CLOSED)?;
    let (read, write) = pipe()?;
    let before = open_files()?;
    let mut with_array = parcel();
    with_array.fds(&[write.as_fd(), write.as_fd()]);
    let mut single = parcel();
    single.fd(&write);
    for parcel in [with_array, single] {
        for flags in [0, TF_ONE_WAY] {
            failed_with(refused(&pair.client, pair.handle, flags, &parcel)?, Errno::EPERM)?;
            check_eq!(open_files()?, before);
        }
    }
    still_open(&read)?;
    drop(write);
    crate::common::closed_everywhere(&read)
}

pub fn bug_b61_manager_does_not_refer_to_itself(env: &Env) -> Result<(), Failure> {
    let manager = crate::stage::actor_on(&env.device, Some(4096))?;
    crate::stage::no_manager(&manager)?;
    manager.device().set_context_mgr()?;
    for _ in 0..3 {
        for strength in [Strength::Weak, Strength::Strong] {
            let mut commands = Commands::new();
            commands.take_ref(strength, 0);
            let outcome = manager.write_read(&commands, 0);
            check_eq!((outcome.result, outcome.write_consumed), (Err(INVALID), 0));
            let mut commands = Commands::new();
            commands.drop_ref(strength, 0);
            manager.write(&commands)?;
        }
        check_eq!(pending(&manager)?, []);
    }
    // Another process can still call it.
    let device = env.device.clone();
    let client = Peer::spawn(move |_| {
        let client = crate::stage::actor_on(&device, Some(4096))?;
        crate::stage::exchange(&client, 0, 1, 0, &Parcel::new())?.0.free()?;
        Ok(())
    })?;
    take(&manager)?.free()?;
    crate::stage::reply(&manager, 0, &Parcel::new())?;
    client.join()
}

pub fn bug_b64_same_object_twice(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.binder(0x9000, 9).buffer([1; 8]);
    parcel.weak_binder(0x9000, 9);
    send(&pair.client, pair.handle, 1, TF_ONE_WAY, &parcel)?;
    acknowledge(&pair.client, &pending(&pair.client)?)?;
    let received = take(&pair.server)?;
    check_eq!(received.handle(0)?, received.handle(2)?);
    received.free()?;
    check_eq!(pending(&pair.client)?.len(), 2, "strong and weak end together");
    parcel.binder(0x9000, 10);
    pair.refuse(&parcel, INVALID)?;
    check_eq!(pending(&pair.client)?, []);
    Ok(())
}

pub fn bug_b65_binder_file_over_itself(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let device = pair.server.device().clone();
    let mut single = parcel();
    single.fd(&*device);
    let mut with_array = parcel();
    with_array.fds(&[device.as_fd()]);
    for parcel in [single, with_array] {
        for flags in [0, TF_ONE_WAY] {
            send(&pair.client, pair.handle, 1, flags, &parcel)?;
            let seen = pending(&pair.client)?;
            // Where it was accepted it must not stay: nothing would ever end it.
            for entry in pending(&pair.server)? {
                if let Return::Transaction(incoming) = entry {
                    drop(pair.server.received(incoming)?);
                }
            }
            check_eq!(seen, [Return::FailedReply]);
            let errno = Errno::from_raw(-pair.client.device().extended_error()?.param);
            check_eq!(errno, Errno::EPERM);
        }
    }
    // To others it may go.
    let third = pair.stage.actor()?;
    let inbox = pair.stage.introduce(&third, &pair.client, OPEN)?;
    let mut parcel = parcel();
    parcel.fds(&[device.as_fd()]);
    send(&pair.client, inbox, 1, TF_ONE_WAY, &parcel)?;
    take(&third)?.free()?;
    Ok(())
}

pub fn bug_b67_free_buffer_misuse(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let mut parcel = parcel();
    let parent = parcel.buffer([7; 32]);
    parcel.child_buffer([8; 16], parent, 0);
    parcel.fds(&[write.as_fd()]);
    let received = pair.deliver(&parcel)?;
    drop(write);
    let head = *received.incoming();
    let others = [
        0,
        8,
        head.buffer + 8,
        head.buffer - 8,
        head.offsets,
        block_at(&received, 0)?.buffer,
        block_at(&received, 2)?.buffer,
        u64::MAX,
        u64::MAX - 7,
        child(0, 0, 0, 0).buffer,
    ];
    for address in others {
        let mut commands = Commands::new();
        commands.free_buffer(address);
        pair.server.write(&commands)?;
        // Of another process.
        pair.client.write(&commands)?;
    }
    still_open(&read)?;
    check_eq!(&received.block(0)?[8..], [7; 24]);
    // Twice in one write: the second finds nothing, also if the number is used again.
    let mut commands = Commands::new();
    commands.free_buffer(head.buffer).free_buffer(head.buffer);
    received.into_address();
    pair.server.write(&commands)?;
    crate::common::closed_now(&read)?;
    pair.room_is_free()
}
