// SPDX-License-Identifier: GPL-2.0

//! Blocks: what travels beside the data (`BINDER_TYPE_PTR`), and what may be written
//! into them: addresses of other blocks, and descriptors (`BINDER_TYPE_FDA`).
//!
//! Pure: no kernel imports, tested on the host. All decisions are taken on what the sender
//! said once; they are kept here, where neither side can change them.
//!
//! The blocks of a parcel lie one after the other in its buffer, each at a multiple of 8.
//! What is written into a block instead of the sender's bytes, its *patches*, must come
//! in ascending order, and only into the block that was named last or into one of those
//! that it hangs from. So patches never overlap, and a block is closed for good when
//! an object does not hang from it.

use core::ops::Range;

use super::place::Refusal;

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
mod tests;

/// The size of an address in a block.
const ADDRESS: u64 = size_of::<u64>() as u64;
/// The size of a descriptor in a block.
const DESCRIPTOR: u64 = size_of::<u32>() as u64;

/// What is written into a block begins at multiples of this many bytes.
const ALIGNMENT: u32 = 4;

/// A place in a block, as a sender names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// The number of the object in the parcel that is the block.
    pub(crate) object: u64,
    /// Bytes from the start of the block.
    pub(crate) offset: u64,
}

/// A block that a sender wants to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockRequest {
    /// The number of the object in the parcel.
    pub(crate) object: u32,
    /// Where the sender has it.
    pub(crate) source: u64,
    /// Its size in bytes.
    pub(crate) length: u64,
    /// Where its address is to be written.
    pub(crate) parent: Option<Place>,
}

/// Descriptors that a sender wants to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArrayRequest {
    /// Where they are.
    pub(crate) place: Place,
    /// How many.
    pub(crate) count: u64,
}

/// A block of a parcel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    object: u32,
    /// Where in the buffer it lies.
    at: u32,
    length: u32,
    source: u64,
    parent: Option<Parent>,
    /// Its first and last patch, in ascending order: places in the list, or [`NONE`].
    first: u32,
    last: u32,
}

/// No patch.
const NONE: u32 = u32::MAX;

/// Where the address of a block is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Parent {
    /// Which of the blocks.
    block: u32,
    offset: u32,
}

/// Something in a block that the receiver gets instead of the sender's bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patch {
    /// Where in its block.
    offset: u32,
    what: Substitute,
    /// The next one of the same block, or [`NONE`].
    next: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Substitute {
    /// The address of what is at this place of the buffer.
    Address(u32),
    /// So many bytes of descriptors, which have no numbers before the delivery.
    Descriptors(u32),
}

/// Descriptors that may be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Array {
    /// Where the sender has the first.
    pub(crate) source: u64,
    /// Where in the buffer the first goes.
    pub(crate) at: usize,
    pub(crate) count: usize,
    pub(crate) patch: Patch,
}

/// The block that was named last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Open {
    /// Which of the blocks.
    block: u32,
    /// Below this offset nothing may be written any more.
    floor: u64,
}

/// The rules for the blocks of one parcel.
///
/// The caller keeps the lists of the blocks and patches that it was given, and passes them
/// back each time, complete and in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Scatter {
    /// Where in the buffer the room for blocks is that is left.
    room: Range<u32>,
    open: Option<Open>,
}

impl Block {
    /// Where in the buffer it lies.
    pub(crate) fn at(&self) -> usize {
        self.at as usize
    }
}

impl Patch {
    /// A patch that is going to be the next of the list, and is the last of its block.
    fn new(
        blocks: &mut [Block],
        patches: &mut [Patch],
        block: u32,
        offset: u32,
        what: Substitute,
    ) -> Result<Self, Refusal> {
        let index = u32::try_from(patches.len()).map_err(|_| Refusal::Invalid)?;
        let block = blocks.get_mut(block as usize).ok_or(Refusal::Invalid)?;
        match patches.get_mut(block.last as usize) {
            Some(last) => last.next = index,
            None => block.first = index,
        }
        block.last = index;
        Ok(Self {
            offset,
            what,
            next: NONE,
        })
    }
}

impl Scatter {
    /// The rules for blocks that lie at `room` of a buffer, whose start is a multiple
    /// of 8.
    pub(crate) fn new(room: Range<u32>) -> Self {
        Self { room, open: None }
    }

    /// Places one more block. The patch, if there is one, writes its address.
    pub(crate) fn block(
        &mut self,
        blocks: &mut [Block],
        patches: &mut [Patch],
        request: &BlockRequest,
    ) -> Result<(Block, Option<Patch>), Refusal> {
        let (at, length) = self.take_room(request.length)?;
        let parent = match request.parent {
            Some(place) => Some(self.open_for_address(blocks, place)?),
            None => None,
        };
        self.open = Some(Open {
            block: u32::try_from(blocks.len()).map_err(|_| Refusal::Invalid)?,
            floor: 0,
        });
        let block = Block {
            object: request.object,
            at,
            length,
            source: request.source,
            parent,
            first: NONE,
            last: NONE,
        };
        let Some(Parent { block: of, offset }) = parent else {
            return Ok((block, None));
        };
        let patch = Patch::new(blocks, patches, of, offset, Substitute::Address(at))?;
        Ok((block, Some(patch)))
    }

    /// Places descriptors. None at all may stand anywhere, and are not looked at further.
    pub(crate) fn array(
        &mut self,
        blocks: &mut [Block],
        patches: &mut [Patch],
        request: &ArrayRequest,
    ) -> Result<Option<Array>, Refusal> {
        let ArrayRequest { place, count } = *request;
        let (index, block) = self.reopen(blocks, place)?;
        let size = count.checked_mul(DESCRIPTOR).ok_or(Refusal::Invalid)?;
        let floor = place.offset.checked_add(size).ok_or(Refusal::Invalid)?;
        self.open = Some(Open {
            block: index,
            floor,
        });
        if count == 0 {
            return Ok(None);
        }
        let offset = fits(block, place.offset, size)?;
        let source = block.source.wrapping_add(place.offset);
        if offset % ALIGNMENT != 0 || source % DESCRIPTOR != 0 {
            return Err(Refusal::Invalid);
        }
        let at = block.at().saturating_add(offset as usize);
        // What fits into a block is not larger than its 32 bits.
        let what = Substitute::Descriptors(size as u32);
        Ok(Some(Array {
            source,
            at,
            count: count as usize,
            patch: Patch::new(blocks, patches, index, offset, what)?,
        }))
    }

    /// Takes room for `length` bytes. Returns where it is, and the length in 32 bits.
    fn take_room(&mut self, length: u64) -> Result<(u32, u32), Refusal> {
        let at = self.room.start;
        let left = self.room.end.saturating_sub(at);
        let length = u32::try_from(length).map_err(|_| Refusal::Invalid)?;
        if length > left {
            return Err(Refusal::Invalid);
        }
        let next = at
            .checked_add(length)
            .and_then(|end| end.checked_next_multiple_of(8));
        self.room.start = next.ok_or(Refusal::Invalid)?.min(self.room.end);
        Ok((at, length))
    }

    fn open_for_address(&self, blocks: &[Block], place: Place) -> Result<Parent, Refusal> {
        let (index, block) = self.reopen(blocks, place)?;
        let offset = fits(block, place.offset, ADDRESS)?;
        if offset % ALIGNMENT != 0 {
            return Err(Refusal::Invalid);
        }
        Ok(Parent {
            block: index,
            offset,
        })
    }

    /// The block of `place`, if it may still be written there.
    ///
    /// It is looked for from the block that was named last upwards. A block that is left
    /// on the way is never looked at again, so all of this takes no more steps than there
    /// are objects.
    fn reopen<'b>(&self, blocks: &'b [Block], place: Place) -> Result<(u32, &'b Block), Refusal> {
        let named = blocks
            .binary_search_by_key(&place.object, |block| u64::from(block.object))
            .map_err(|_| Refusal::Invalid)?;
        let Open { block, mut floor } = self.open.ok_or(Refusal::Invalid)?;
        let mut index = block;
        while index as usize != named {
            let left = blocks.get(index as usize).ok_or(Refusal::Invalid)?;
            let parent = left.parent.ok_or(Refusal::Invalid)?;
            floor = u64::from(parent.offset).saturating_add(ADDRESS);
            index = parent.block;
        }
        if place.offset < floor {
            return Err(Refusal::Invalid);
        }
        let block = blocks.get(named).ok_or(Refusal::Invalid)?;
        Ok((index, block))
    }
}

/// The offset, if `size` bytes there are inside the block.
fn fits(block: &Block, offset: u64, size: u64) -> Result<u32, Refusal> {
    match offset.checked_add(size) {
        Some(end) if end <= u64::from(block.length) => Ok(offset as u32),
        _ => Err(Refusal::Invalid),
    }
}

/// One step of filling the blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Bytes of the sender.
    Copy { at: usize, source: u64, len: usize },
    /// The address of what is at `of` in the buffer.
    Address { at: usize, of: usize },
}

/// Says how blocks are filled, from the start of the first to the end of the last, so that
/// no byte that is patched is ever copied.
///
/// Stops at the first error of `carry_out`.
pub(crate) fn fill<E>(
    blocks: &[Block],
    patches: &[Patch],
    mut carry_out: impl FnMut(Step) -> Result<(), E>,
) -> Result<(), E> {
    for block in blocks {
        let (mut done, mut next) = (0, block.first);
        while let Some(patch) = patches.get(next as usize) {
            next = patch.next;
            copy(block, done..patch.offset, &mut carry_out)?;
            let size = match patch.what {
                Substitute::Descriptors(size) => size,
                Substitute::Address(of) => {
                    let at = block.at().saturating_add(patch.offset as usize);
                    let of = of as usize;
                    carry_out(Step::Address { at, of })?;
                    ADDRESS as u32
                }
            };
            done = patch.offset.saturating_add(size);
        }
        copy(block, done..block.length, &mut carry_out)?;
    }
    Ok(())
}

fn copy<E>(
    block: &Block,
    part: Range<u32>,
    carry_out: &mut impl FnMut(Step) -> Result<(), E>,
) -> Result<(), E> {
    if part.is_empty() {
        return Ok(());
    }
    carry_out(Step::Copy {
        at: block.at().saturating_add(part.start as usize),
        source: block.source.wrapping_add(u64::from(part.start)),
        len: part.len(),
    })
}
