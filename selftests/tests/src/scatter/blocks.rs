// SPDX-License-Identifier: GPL-2.0
//! Blocks without parents: where they arrive, and what is refused.

use binder_client::commands::Commands;
use binder_client::guard::{BadAddress, GuardedBuffer};
use binder_client::ktap::{Env, Failure};
use binder_client::object::Object;
use binder_client::parcel::{align8, Parcel};
use binder_client::returns::Return;
use binder_client::uapi::{
    BufferObject, TransactionDataSg, BC_TRANSACTION_SG, FLAT_BINDER_FLAG_TXN_SECURITY_CTX,
    TF_ONE_WAY,
};
use binder_client::{check, check_eq, limits, Errno};

use crate::common::{block, block_at, parcel, Pair};
use crate::stage::{failed_with, pending, refusal, reply, send, take, Node};

/// Bytes that differ from place to place.
fn pattern(length: usize, seed: u8) -> Vec<u8> {
    (0..length).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect()
}

/// Where the blocks of a received parcel begin.
fn room_of(received: &binder_client::buffer::Received) -> u64 {
    let head = received.incoming();
    head.buffer + align8(head.data_size) + head.offsets_size
}

pub fn block_arrives_in_the_receiver(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.buffer(*b"beside the data");
    let received = pair.deliver(&parcel)?;
    check_eq!(received.block(0)?, b"beside the data");
    check_eq!(block_at(&received, 0)?.buffer, room_of(&received));
    check_eq!(received.offsets(), parcel.offsets());
    Ok(())
}

pub fn blocks_lie_one_after_the_other(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    let lengths = [1, 8, 13, 0, 4096, 7, 64, 0, 3];
    for (seed, length) in lengths.into_iter().enumerate() {
        parcel.bytes(&[0xee; 4]).buffer(pattern(length, seed as u8));
    }
    parcel.bytes(b"tail");
    let received = pair.deliver(&parcel)?;
    let mut expected = room_of(&received);
    for (index, length) in lengths.into_iter().enumerate() {
        check_eq!(block_at(&received, index)?.buffer, expected, "block {index}");
        check_eq!(received.block(index)?, pattern(length, index as u8));
        expected += align8(length as u64);
    }
    check!(received.data().ends_with(b"tail"), "the data go on behind the objects");
    Ok(())
}

pub fn block_may_start_anywhere_at_the_sender(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let memory = pattern(64, 5);
    for shift in 0..9 {
        let mut parcel = parcel();
        let object = block(memory.as_ptr() as u64 + shift, 33);
        parcel.object(&Object::Buffer(object)).set_buffers_size(40);
        let received = pair.deliver(&parcel)?;
        let shift = shift as usize;
        check_eq!(received.block(0)?, &memory[shift..shift + 33], "shift {shift}");
    }
    Ok(())
}

pub fn block_of_many_pages_arrives(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for length in [4095, 4096, 4097, 100_000, 1_000_000] {
        let mut parcel = parcel();
        parcel.buffer(pattern(length, 9));
        let received = pair.deliver_call(&parcel)?;
        check!(received.block(0)? == pattern(length, 9), "{length} bytes");
        received.free()?;
        pair.answer()?;
    }
    Ok(())
}

pub fn empty_block_has_an_address(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.buffer([]);
    parcel.buffer(*b"12345678");
    parcel.buffer([]);
    let received = pair.deliver(&parcel)?;
    let room = room_of(&received);
    let at = |index| block_at(&received, index).map(|block| block.buffer - room);
    check_eq!((at(0)?, at(1)?, at(2)?), (0, 0, 8));
    Ok(())
}

pub fn empty_block_needs_no_room(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.buffer([]);
    // Also without the command that can have room.
    for command in ["plain", "scatter"] {
        let mut commands = Commands::new();
        let data = parcel.transaction_data(pair.handle, 1, TF_ONE_WAY);
        match command {
            "plain" => commands.command(binder_client::uapi::BC_TRANSACTION, &data),
            _ => commands.transaction(pair.handle, 1, TF_ONE_WAY, &parcel),
        };
        pair.client.write(&commands)?;
        check_eq!(pending(&pair.client)?, [Return::TransactionComplete], "{command}");
        let received = take(&pair.server)?;
        check_eq!(block_at(&received, 0)?.buffer, room_of(&received));
    }
    Ok(())
}

pub fn empty_block_is_not_read(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for bad in BadAddress::ALL {
        let mut parcel = parcel();
        parcel.object(&Object::Buffer(block(bad.address(), 0))).set_buffers_size(0);
        let received = pair.deliver(&parcel)?;
        check_eq!(block_at(&received, 0)?.buffer, room_of(&received));
    }
    Ok(())
}

pub fn block_travels_in_a_call_and_its_reply(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut request = parcel();
    request.buffer(*b"request");
    send(&pair.client, pair.handle, 1, 0, &request)?;
    let received = take(&pair.server)?;
    check_eq!(received.block(0)?, b"request");
    let mut answer = parcel();
    answer.buffer(*b"answer");
    reply(&pair.server, 0, &answer)?;
    let (received, _) = pair.client.next_reply(limits::wait())?;
    check_eq!(received.block(0)?, b"answer");
    Ok(())
}

pub fn blocks_and_references_travel_together(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.binder(0x9000, 9).buffer(*b"one");
    parcel.weak_binder(0x9008, 8).buffer(*b"two");
    send(&pair.client, pair.handle, 1, TF_ONE_WAY, &parcel)?;
    let received = take(&pair.server)?;
    check_eq!(received.block(1)?, b"one");
    check_eq!(received.block(3)?, b"two");
    let objects = received.objects()?;
    check!(matches!(objects[0], Object::Handle { .. }), "a handle, not {:?}", objects[0]);
    check!(matches!(objects[2], Object::Handle { .. }), "a handle, not {:?}", objects[2]);
    Ok(())
}

pub fn other_fields_of_a_block_are_not_touched(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let memory = pattern(16, 1);
    let object = BufferObject {
        flags: 0xffff_fffe,
        parent: u64::MAX,
        parent_offset: 0x0123_4567_89ab_cdef,
        ..block(memory.as_ptr() as u64, 16)
    };
    let mut parcel = parcel();
    parcel.object(&Object::Buffer(object)).set_buffers_size(16);
    let received = pair.deliver(&parcel)?;
    let seen = block_at(&received, 0)?;
    check_eq!(seen, BufferObject { buffer: seen.buffer, ..object });
    Ok(())
}

pub fn room_may_be_larger_than_the_blocks(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for extra in [8, 64, 4096] {
        let mut parcel = parcel();
        parcel.buffer(*b"small");
        parcel.set_buffers_size(8 + extra);
        check_eq!(pair.deliver(&parcel)?.block(0)?, b"small");
    }
    let mut parcel = Parcel::from_bytes(*b"no object at all");
    parcel.set_buffers_size(1000);
    check_eq!(pair.deliver(&parcel)?.data(), b"no object at all");
    Ok(())
}

pub fn room_must_be_a_multiple_of_eight(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for size in [1, 4, 7, 9, 12, 15, 4097] {
        let mut parcel = parcel();
        parcel.set_buffers_size(size);
        pair.refuse(&parcel, Errno::EINVAL)?;
        parcel.buffer([1]);
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn block_larger_than_the_room_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let memory = pattern(64, 1);
    let address = memory.as_ptr() as u64;
    for length in [25, 32, 1 << 20, 1 << 32, 1 << 63, u64::MAX - 7, u64::MAX] {
        let mut parcel = parcel();
        parcel.object(&Object::Buffer(block(address, length))).set_buffers_size(24);
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    // The second one has what the first one leaves, rounded up.
    for (first, second, fits) in [(1, 16, true), (8, 16, true), (9, 9, false), (17, 1, false)] {
        let mut parcel = parcel();
        parcel.object(&Object::Buffer(block(address, first)));
        parcel.object(&Object::Buffer(block(address, second))).set_buffers_size(24);
        if fits {
            pair.deliver(&parcel)?;
        } else {
            pair.refuse(&parcel, Errno::EINVAL)?;
        }
    }
    Ok(())
}

pub fn block_without_room_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.buffer([1; 8]);
    let mut commands = Commands::new();
    let data = parcel.transaction_data(pair.handle, 1, TF_ONE_WAY);
    commands.command(binder_client::uapi::BC_TRANSACTION, &data);
    pair.client.write(&commands)?;
    failed_with(refusal(&pair.client)?, Errno::EINVAL)
}

pub fn absurd_room_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let parcel = parcel();
    let transaction = parcel.transaction_data(pair.handle, 1, TF_ONE_WAY);
    for size in [u64::MAX - 7, u64::MAX - 15, 1 << 63, 1 << 62, 1 << 32, 1 << 31, 1 << 22] {
        let mut commands = Commands::new();
        let sg = TransactionDataSg { transaction, buffers_size: size };
        commands.command(BC_TRANSACTION_SG, &sg);
        pair.client.write(&commands)?;
        let (seen, extended) = refusal(&pair.client)?;
        check_eq!(seen, Return::FailedReply, "{size:#x}");
        let errno = Errno::from_raw(-extended.param);
        check!(
            matches!(errno, Errno::EINVAL | Errno::ENOSPC),
            "EINVAL or ENOSPC for {size:#x}, not {errno}"
        );
    }
    check_eq!(pending(&pair.server)?, []);
    pair.room_is_free()
}

pub fn unreadable_block_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let guarded = GuardedBuffer::with_bytes(&[7; 5000])?;
    let mut bad = vec![(guarded.address(), 5001), (guarded.end() - 1, 2), (guarded.end(), 1)];
    bad.extend(BadAddress::ALL.map(|bad| (bad.address(), 16)));
    for (address, length) in bad {
        let mut parcel = parcel();
        parcel.object(&Object::Buffer(block(address, length))).set_buffers_size(8192);
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    let mut parcel = parcel();
    parcel.object(&Object::Buffer(block(guarded.address(), 5000))).set_buffers_size(8192);
    check_eq!(pair.deliver(&parcel)?.block(0)?, [7; 5000]);
    Ok(())
}

pub fn block_cut_off_by_the_data_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for missing in [1, 4, 8, 16, 17, 36, 39] {
        let mut parcel = parcel();
        parcel.buffer([1; 8]);
        let length = parcel.data().len() - missing;
        parcel.data_mut().truncate(length);
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    for missing in [1, 8, 9, 28] {
        let mut parcel = parcel();
        parcel.fds(&[]);
        let length = parcel.data().len() - missing;
        parcel.data_mut().truncate(length);
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    Ok(())
}

pub fn unreadable_object_is_refused(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut whole = parcel();
    whole.buffer([]);
    // The object begins in memory that can be read and ends behind it.
    for missing in [1, 8, 16, 17, 39] {
        let bytes = &whole.data()[..whole.data().len() - missing];
        let guarded = GuardedBuffer::with_bytes(bytes)?;
        let mut transaction = whole.transaction_data(pair.handle, 1, TF_ONE_WAY);
        transaction.buffer = guarded.address();
        let mut commands = Commands::new();
        let sg = TransactionDataSg { transaction, buffers_size: 0 };
        commands.command(BC_TRANSACTION_SG, &sg);
        pair.client.write(&commands)?;
        failed_with(refusal(&pair.client)?, Errno::EINVAL)?;
    }
    check_eq!(pending(&pair.server)?, []);
    Ok(())
}

pub fn refused_parcel_leaves_nothing_behind(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    parcel.binder(0x9000, 9).buffer(pattern(1000, 3));
    parcel.binder(0x9008, 8).weak_binder(0x9000, 9).handle(4711);
    for _ in 0..100 {
        pair.refuse(&parcel, Errno::EINVAL)?;
    }
    check_eq!(pending(&pair.client)?, [], "the owner of the nodes hears nothing");
    pair.room_is_free()?;
    // The first handle is free: none was left.
    let mut parcel = Parcel::new();
    parcel.binder(0x9000, 9);
    send(&pair.client, pair.handle, 1, TF_ONE_WAY, &parcel)?;
    check_eq!(take(&pair.server)?.handle(0)?, 1);
    Ok(())
}

pub fn blocks_do_not_reach_the_security_context(env: &Env) -> Result<(), Failure> {
    let node = Node { flags: FLAT_BINDER_FLAG_TXN_SECURITY_CTX, ..Node::new(0x3000, 3) };
    let pair = Pair::with(env, node)?;
    let mut plain = parcel();
    plain.set_buffers_size(24);
    send(&pair.client, pair.handle, 1, TF_ONE_WAY, &plain)?;
    if pending(&pair.client)? != [Return::TransactionComplete] {
        return Err(Failure::skip("no security module gives contexts to this driver"));
    }
    let context = take(&pair.server)?.security_context()?;
    check!(context.is_some(), "a context");
    let mut full = parcel();
    full.buffer([0xff; 24]);
    check_eq!(pair.deliver(&full)?.security_context()?, context);
    full.buffer([0xff; 1]);
    full.set_buffers_size(24);
    pair.refuse(&full, Errno::EINVAL)
}
