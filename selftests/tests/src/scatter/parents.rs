// SPDX-License-Identifier: GPL-2.0
//! Addresses of blocks in other blocks.

use binder_client::ktap::{Env, Failure};
use binder_client::object::Object;
use binder_client::parcel::{BufferIndex, Parcel};
use binder_client::uapi::BufferObject;
use binder_client::{check, check_eq, Errno};

use crate::common::{address_in, array, block, block_at, child, parcel, Pair};

/// Memory that blocks are sent from.
const MEMORY: [u8; 64] = [0xaa; 64];

/// Room for all blocks of an example.
const ROOM: u64 = 8192;

/// A block of an example: its size and the place of its address.
type Shape = (u64, Option<(u64, u64)>);

/// A parcel with blocks of these shapes.
fn shaped(shapes: &[Shape]) -> Parcel {
    let mut parcel = parcel();
    for &(length, parent) in shapes {
        let address = MEMORY.as_ptr() as u64;
        let object = match parent {
            None => block(address, length),
            Some((parent, offset)) => child(address, length, parent, offset),
        };
        parcel.object(&Object::Buffer(object));
    }
    parcel.set_buffers_size(ROOM);
    parcel
}

/// Sends blocks that must arrive with each address in its place, and with nothing
/// else changed.
fn arrive(pair: &Pair, shapes: &[Shape]) -> Result<(), Failure> {
    let received = pair.deliver(&shaped(shapes))?;
    let mut expected: Vec<_> =
        shapes.iter().map(|&(length, _)| vec![0xaa; length as usize]).collect();
    for (index, &(_, parent)) in shapes.iter().enumerate() {
        if let Some((parent, offset)) = parent {
            let address = block_at(&received, index)?.buffer.to_ne_bytes();
            let offset = offset as usize;
            expected[parent as usize][offset..offset + 8].copy_from_slice(&address);
        }
    }
    for (index, expected) in expected.iter().enumerate() {
        check_eq!(&received.block(index)?, expected, "block {index} of {shapes:?}");
    }
    Ok(())
}

fn refuse(pair: &Pair, shapes: &[Shape]) -> Result<(), Failure> {
    pair.refuse(&shaped(shapes), Errno::EINVAL)
}

pub fn address_goes_into_the_parent(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = parcel();
    let mut bytes = [0xee; 32];
    // What the sender has at this place never arrives.
    bytes[8..16].copy_from_slice(&0xdead_beef_u64.to_ne_bytes());
    let parent = parcel.buffer(bytes);
    parcel.child_buffer(*b"the child", parent, 8);
    let received = pair.deliver(&parcel)?;
    let bytes = received.block(0)?;
    check_eq!(&bytes[..8], [0xee; 8]);
    check_eq!(&bytes[16..], [0xee; 16]);
    let address = address_in(&received, 0, 8)?;
    check_eq!(address, block_at(&received, 1)?.buffer);
    check_eq!(received.bytes_at(address, 9)?, b"the child");
    Ok(())
}

pub fn address_stands_at_a_multiple_of_four(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for offset in 0..=16 {
        let shapes = [(24, None), (8, Some((0, offset)))];
        if offset % 4 == 0 {
            arrive(&pair, &shapes)?;
        } else {
            refuse(&pair, &shapes)?;
        }
    }
    Ok(())
}

pub fn address_may_end_with_the_parent(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for length in [8, 12, 16, 20, 24] {
        arrive(&pair, &[(length, None), (8, Some((0, length - 8)))])?;
    }
    Ok(())
}

pub fn parent_needs_room_for_the_address(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for length in 0..24 {
        refuse(&pair, &[(length, None), (8, Some((0, length.saturating_sub(4) & !3)))])?;
    }
    for offset in [17, 24, 1 << 32, 1 << 63, u64::MAX - 7, u64::MAX] {
        refuse(&pair, &[(24, None), (8, Some((0, offset)))])?;
    }
    Ok(())
}

pub fn parent_at_the_start_of_the_data_has_children(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut parcel = Parcel::new();
    let parent = parcel.buffer([0; 16]);
    let first = parcel.child_buffer(*b"one", parent, 0);
    parcel.child_buffer(*b"two", first, 0);
    let mut short = parcel;
    // The second child does not fit into three bytes: a tree of two.
    pair.refuse(&short, Errno::EINVAL)?;
    short = Parcel::new();
    let parent = short.buffer([0; 16]);
    short.child_buffer(*b"one", parent, 0);
    short.child_buffer(*b"two", parent, 8);
    short.fd_array(parent, 16, 0);
    let received = pair.deliver(&short)?;
    check_eq!(received.bytes_at(address_in(&received, 0, 0)?, 3)?, b"one");
    check_eq!(received.bytes_at(address_in(&received, 0, 8)?, 3)?, b"two");
    Ok(())
}

pub fn tree_of_blocks_arrives(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    arrive(
        &pair,
        &[
            (40, None),
            (8, Some((0, 0))),
            (24, Some((0, 16))),
            (8, Some((2, 0))),
            (8, Some((2, 16))),
            (0, Some((4, 0))),
            (3, Some((0, 32))),
            (16, None),
            (1, Some((7, 8))),
        ],
    )
}

pub fn addresses_must_ascend(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for second in [0, 4, 8, 12] {
        refuse(&pair, &[(40, None), (8, Some((0, 8))), (8, Some((0, second)))])?;
        // Also when there is something below the first child.
        let below = (1, Some((1, 0)));
        refuse(&pair, &[(40, None), (8, Some((0, 8))), below, (8, Some((0, second)))])?;
    }
    arrive(&pair, &[(40, None), (8, Some((0, 8))), (8, Some((0, 16)))])
}

pub fn closed_blocks_stay_closed(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let tree = [(40, None), (40, Some((0, 0))), (40, Some((1, 0))), (40, Some((0, 8)))];
    for (parent, open) in [(0, true), (1, false), (2, false), (3, true)] {
        let mut shapes = tree.to_vec();
        shapes.push((8, Some((parent, 24))));
        if open {
            arrive(&pair, &shapes)?;
        } else {
            refuse(&pair, &shapes)?;
        }
        // A new tree closes all that was there.
        shapes.insert(4, (8, None));
        refuse(&pair, &shapes)?;
    }
    Ok(())
}

pub fn parent_must_be_an_earlier_block(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for parent in [1, 2, 3, 100, 1 << 32, 1 << 61, u64::MAX] {
        refuse(&pair, &[(40, None), (40, Some((parent, 0))), (40, None)])?;
    }
    refuse(&pair, &[(40, Some((0, 0)))])?;
    // Other objects are no parents, whatever they look like.
    let mut parcel = parcel();
    let handle = pair.handle;
    parcel.handle(handle).object(&Object::Buffer(child(MEMORY.as_ptr() as u64, 8, 0, 0)));
    parcel.set_buffers_size(ROOM);
    pair.refuse(&parcel, Errno::EINVAL)?;
    let mut parcel = crate::common::parcel();
    parcel.buffer([0; 32]);
    parcel.object(&Object::FdArray(array(0, 0, 0)));
    parcel.child_buffer([1], BufferIndex(1), 0);
    pair.refuse(&parcel, Errno::EINVAL)
}

pub fn empty_parent_has_no_children(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    refuse(&pair, &[(0, None), (8, Some((0, 0)))])?;
    refuse(&pair, &[(0, None), (0, Some((0, 0)))])
}

pub fn same_block_twice_is_copied_twice(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let received = pair.deliver(&shaped(&[(16, None), (16, None), (16, None)]))?;
    let addresses = [0, 1, 2].map(|index| block_at(&received, index).map(|block| block.buffer));
    let [Ok(first), Ok(second), Ok(third)] = addresses else {
        return Err(Failure::new("objects", "three blocks", "others"));
    };
    check_eq!((second - first, third - second), (16, 16));
    // The same object at one offset twice is none.
    let mut parcel = shaped(&[(16, None)]);
    parcel.offsets_mut().push(8);
    pair.refuse(&parcel, Errno::EFAULT)
}

pub fn deep_chain_arrives(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let mut shapes = vec![(16, None)];
    // Down, each in the first half of the one above; then up, in the second halves.
    shapes.extend((0..200).map(|n| (16, Some((n, 0)))));
    shapes.extend((0..200).rev().map(|n| (8, Some((n, 8)))));
    arrive(&pair, &shapes)?;
    shapes.push((8, Some((150, 8))));
    refuse(&pair, &shapes)
}

pub fn wide_tree_arrives(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let memory = vec![0x55u8; 8 * 1000];
    let mut parcel = parcel();
    parcel.object(&Object::Buffer(block(memory.as_ptr() as u64, 8000)));
    for n in 0..1000 {
        parcel.object(&Object::Buffer(child(memory.as_ptr() as u64, 8, 0, n * 8)));
    }
    parcel.set_buffers_size(16_000);
    let received = pair.deliver(&parcel)?;
    let bytes = received.block(0)?;
    let objects = received.objects()?;
    for (word, object) in bytes.chunks_exact(8).zip(&objects[1..]) {
        let Object::Buffer(BufferObject { buffer, .. }) = object else {
            return Err(Failure::new("an object", "a block", format!("{object:?}")));
        };
        check!(word == buffer.to_ne_bytes(), "{word:?} is {buffer:#x}");
    }
    Ok(())
}
