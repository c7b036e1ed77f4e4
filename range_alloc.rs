// SPDX-License-Identifier: GPL-2.0

//! Which part of a mapping holds which buffer.
//!
//! A [`RangeAlloc`] cuts the mapping of one process into ranges. It knows nothing of pages
//! and never touches the mapping; all it knows lies in descriptors of its own. It is a
//! two-level segregated-fit allocator ([`bins`]):
//!
//! | operation                                  | cost                                 |
//! |--------------------------------------------|--------------------------------------|
//! | [`RangeAlloc::alloc`]                      | O(1); see [`bins`] for the last try  |
//! | [`RangeAlloc::release`]                    | O(1), merges with free neighbours    |
//! | [`RangeAlloc::begin_free_by_offset`]       | O(1) expected                        |
//! | oneway quota, spam detection               | O(1) expected                        |
//! | [`RangeAlloc::pop_any`]                    | O(1)                                 |
//! | [`RangeAlloc::iter`]                       | O(ranges), for teardown and logs     |
//!
//! Offsets and sizes are multiples of 8 bytes, and a range is split exactly. Placement is
//! compact: a buffer comes from the smallest size class that has a range for it, which was
//! used most recently, from its low end. So the upper part of the mapping stays
//! untouched while there is room below.
//!
//! # Life of a buffer
//!
//! ```text
//!  alloc()           mark_delivered()           begin_free_by_offset()
//! --------> Reserved ----------------> Delivered ---------------------> Freeing
//!              |        release()                        release()         |
//!              `----------------------> (free) <---------------------------'
//! ```
//!
//! # Memory
//!
//! Nothing here allocates or frees but [`GrowRequest::allocate`] and the drop of what
//! [`RangeAlloc::install`] leaves or [`RangeAlloc::trim`] returns; both happen without a lock. See
//! [`grow`](crate::grow) for the pattern.

mod bins;
mod desc;
mod index;
mod oneway_budget;
mod payload;
mod request;
#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
mod tests;
mod types;
mod walk;

use self::{
    bins::{Bins, UNIT},
    desc::{hash_of, Descriptor, Descriptors},
    index::{Index, NONE},
    oneway_budget::OnewayBudget,
};
use core::ops::Range;

pub(crate) use self::{
    desc::State,
    oneway_budget::Spam,
    request::{GrowRequest, Growth},
    types::{AllocFail, Allocated, FreeError, InitError, Kind, Label, Released, Slot, WrongState},
};

/// Largest mapping in bytes; what is mapped beyond is not used.
pub(crate) const MAX_MAPPING: usize = 4 << 20;

/// The ranges of one mapping; the driver keeps a `T` with each buffer.
///
/// `N` is the number of descriptors in one allocation, a power of two such that they
/// fit into 4 KiB.
///
/// # Invariants
///
/// * The ranges cover the mapping without gap or overlap, linked in order of address.
/// * No two free ranges are neighbours.
/// * All free ranges are in `bins`, all buffers are in `by_offset`.
///
/// Locking: none of its own; the owner has it under a spinlock.
///
/// Lifetime: as long as the process that owns the mapping. Dropping it drops all payloads,
/// so empty it with [`RangeAlloc::pop_any`] first.
pub(crate) struct RangeAlloc<T, const N: usize = 32> {
    /// Bytes that are managed, 0 before [`RangeAlloc::init`].
    size: u32,
    /// Bytes in free ranges.
    free: u32,
    ranges: Descriptors<T, N>,
    /// Range at offset 0.
    first: u32,
    bins: Bins,
    by_offset: Index,
    oneway: OnewayBudget,
}

impl<T, const N: usize> RangeAlloc<T, N> {
    /// An allocator without a mapping. Allocates nothing.
    pub(crate) const fn new() -> Self {
        Self {
            size: 0,
            free: 0,
            ranges: Descriptors::new(),
            first: NONE,
            bins: Bins::new(),
            by_offset: Index::new(),
            oneway: OnewayBudget::new(),
        }
    }

    /// Starts to manage a mapping of `size` bytes, of which at most [`MAX_MAPPING`] are used.
    /// `memory` is what [`GrowRequest::first`] allocated; it is left in place on failure.
    ///
    /// # Errors
    ///
    /// See [`InitError`]; nothing has changed then.
    pub(crate) fn init(
        &mut self,
        size: usize,
        memory: &mut Option<Growth<T, N>>,
    ) -> Result<(), InitError> {
        let size = size.min(MAX_MAPPING) as u32 & !(UNIT - 1);
        if self.size != 0 {
            return Err(InitError::Mapped);
        }
        if size == 0 {
            return Err(InitError::TooSmall);
        }
        self.install(memory);
        if !self.bins.is_ready() || !self.ranges.has_spare() {
            return Err(InitError::NoMemory);
        }
        self.size = size;
        self.start();
        Ok(())
    }

    /// Makes all of the mapping one free range; all descriptors are spare.
    fn start(&mut self) {
        self.free = self.size;
        self.oneway.init(self.size);
        self.first = NONE;
        let whole = self.ranges.use_spare(|range| {
            range.offset = 0;
            range.size = self.size;
            range.prev = NONE;
            range.next = NONE;
        });
        if let Some(at) = whole {
            self.bins.insert(&mut self.ranges, at);
            self.first = at;
        }
    }

    /// Bytes that are managed; 0 before [`RangeAlloc::init`].
    pub(crate) fn size(&self) -> usize {
        self.size as usize
    }

    /// Bytes that no buffer occupies.
    pub(crate) fn free_space(&self) -> usize {
        self.free as usize
    }

    /// Bytes that oneway requests may still take.
    pub(crate) fn free_oneway_space(&self) -> usize {
        self.oneway.free() as usize
    }

    /// Number of buffers.
    pub(crate) fn buffers(&self) -> usize {
        self.by_offset.len() as usize
    }

    /// Number of ranges, used and free, that the present descriptors suffice for.
    pub(crate) fn descriptors(&self) -> usize {
        self.ranges.capacity()
    }

    /// Allocates a buffer of `size` bytes, rounded up to 8, at least 8.
    ///
    /// # Errors
    ///
    /// See [`AllocFail`]; nothing has changed then.
    pub(crate) fn alloc(
        &mut self,
        size: usize,
        kind: Kind,
        label: Label,
    ) -> Result<Allocated, AllocFail<T, N>> {
        let size = self.rounded(size)?;
        if kind != Kind::Sync && size > self.oneway.free() {
            return Err(AllocFail::OnewayQuota);
        }
        let found = self.bins.find(&self.ranges, size);
        let at = found.ok_or(AllocFail::NoSpace)?;
        if !self.ranges.has_spare() {
            return Err(AllocFail::NeedDescriptors(self.request(kind)));
        }
        let (sender, spam) = match kind {
            Kind::Sync => (NONE, Spam::No),
            Kind::Oneway { sender } => match self.oneway.charge(sender, size) {
                Some(charged) => charged,
                None => return Err(AllocFail::NeedDescriptors(self.request(kind))),
            },
        };
        let slot = self
            .carve(at, size, sender, label)
            .ok_or(AllocFail::NoSpace)?;
        Ok(Allocated { slot, spam })
    }

    /// Size of a buffer for `size` bytes.
    #[inline]
    fn rounded(&self, size: usize) -> Result<u32, AllocFail<T, N>> {
        if self.size == 0 {
            return Err(AllocFail::NotMapped);
        }
        if size > self.size as usize {
            return Err(AllocFail::TooBig);
        }
        Ok((size as u32).max(1).next_multiple_of(UNIT))
    }

    /// Makes the low end of the free range `at` a buffer.
    #[inline]
    fn carve(&mut self, at: u32, size: u32, sender: u32, label: Label) -> Option<Slot> {
        let range = self.ranges.get(at)?;
        let (offset, prev, whole) = (range.offset, range.prev, range.size);
        if whole == size {
            return self.convert(at, (offset, size), sender, label);
        }
        let buffer = self.ranges.spare();
        self.bins
            .resize(&mut self.ranges, at, whole - size, |rest| {
                rest.offset = offset + size;
                rest.prev = buffer;
            });
        self.set_next(prev, buffer);
        let link = self
            .by_offset
            .insert(&mut self.ranges, hash_of(offset), buffer);
        self.ranges.use_spare(|range| {
            range.offset = offset;
            range.size = size;
            range.prev = prev;
            range.next = at;
            range.link = link;
            range.sender = sender;
            range.label = label;
            range.state = State::Reserved;
        })?;
        self.free -= size;
        Some(slot_of(buffer, offset, size))
    }

    /// Makes the free range `at` a buffer.
    fn convert(
        &mut self,
        at: u32,
        (offset, size): (u32, u32),
        sender: u32,
        label: Label,
    ) -> Option<Slot> {
        self.bins.remove(&mut self.ranges, at);
        let link = self.by_offset.insert(&mut self.ranges, hash_of(offset), at);
        self.ranges.update(at, |range| {
            range.link = link;
            range.sender = sender;
            range.label = label;
            range.state = State::Reserved;
        });
        self.free -= size;
        Some(slot_of(at, offset, size))
    }

    /// Sets what follows range `at`; what follows [`NONE`] is the first range.
    #[inline]
    fn set_next(&mut self, at: u32, next: u32) {
        match self.ranges.get_mut(at) {
            Some(range) => range.next = next,
            None => self.first = next,
        }
    }

    /// The buffer with this index.
    pub(crate) fn slot(&self, index: u32) -> Option<Slot> {
        let range = self.ranges.buffer(index)?;
        Some(slot_of(index, range.offset, range.size))
    }

    /// Lets user space free the buffer from now on.
    ///
    /// # Errors
    ///
    /// [`WrongState`] if the buffer is not [`State::Reserved`].
    pub(crate) fn mark_delivered(&mut self, index: u32) -> Result<(), WrongState> {
        match self.ranges.get_mut(index) {
            Some(range) if range.state == State::Reserved => {
                range.state = State::Delivered;
                Ok(())
            }
            _ => Err(WrongState),
        }
    }

    /// Finds the buffer that starts at `offset`, whatever its state. O(1) expected.
    pub(crate) fn find(&self, offset: usize) -> Option<(Slot, State)> {
        let offset = u32::try_from(offset).ok()?;
        let is_it = |at| self.ranges.get(at).is_some_and(|r| r.offset == offset);
        let at = self.by_offset.find(&self.ranges, hash_of(offset), is_it)?;
        let range = self.ranges.get(at)?;
        Some((slot_of(at, offset, range.size), range.state))
    }

    /// Starts to free the buffer that user space knows at `offset`, and returns its index.
    ///
    /// Of several callers only the first wins. It cleans up without the lock and then
    /// calls [`RangeAlloc::release`].
    ///
    /// # Errors
    ///
    /// See [`FreeError`].
    pub(crate) fn begin_free_by_offset(&mut self, offset: usize) -> Result<u32, FreeError> {
        let (slot, state) = self.find(offset).ok_or(FreeError::NotFound)?;
        match state {
            State::Delivered => {
                let freeing = |range: &mut Descriptor<T>| range.state = State::Freeing;
                self.ranges.update(slot.index, freeing);
                Ok(slot.index)
            }
            State::Reserved => Err(FreeError::NotDelivered),
            _ => Err(FreeError::BeingFreed),
        }
    }

    /// Makes a buffer of any state a free range, merged with its neighbours. O(1).
    ///
    /// Returns `None`, and changes nothing, if there is no such buffer.
    pub(crate) fn release(&mut self, index: u32) -> Option<Released<T>> {
        let range = self.ranges.buffer_mut(index)?;
        let (offset, size, sender) = (range.offset, range.size, range.sender);
        let (prev, next, link) = (range.prev, range.next, range.link);
        let payload = range.payload.take();
        self.by_offset
            .remove(&mut self.ranges, hash_of(offset), index, link);
        if sender != NONE {
            self.oneway.refund(sender, size);
        }
        self.free += size;
        Some(Released {
            slot: slot_of(index, offset, size),
            payload,
            idle: self.merge(index, (prev, next), (offset, size)),
        })
    }

    /// Makes range `at` free, together with its free neighbours, and returns the extent of
    /// what is free there. A free neighbour grows and `at` goes, so that the lists of free
    /// ranges change as little as possible.
    #[inline]
    fn merge(
        &mut self,
        at: u32,
        (prev, next): (u32, u32),
        (mut start, mut size): (u32, u32),
    ) -> Range<usize> {
        let below = self.ranges.free_size(prev).unwrap_or(0);
        let above = self.ranges.free_size(next).unwrap_or(0);
        start -= below;
        size += below + above;
        match (below, above) {
            (0, 0) => self.bins.insert(&mut self.ranges, at),
            (0, _) => {
                self.bins.resize(&mut self.ranges, next, size, |range| {
                    range.offset = start;
                    range.prev = prev;
                });
                self.set_next(prev, next);
                self.ranges.put_spare(at);
            }
            (_, 0) => self.extend(prev, size, at, next),
            (_, _) => {
                self.bins.remove(&mut self.ranges, next);
                let after = self.ranges.get(next).map_or(NONE, |range| range.next);
                self.ranges.put_spare(at);
                self.extend(prev, size, next, after);
            }
        }
        start as usize..(start + size) as usize
    }

    /// Lets the free range `at` extend to `size`, over range `last`, which `next` follows.
    #[inline]
    fn extend(&mut self, at: u32, size: u32, last: u32, next: u32) {
        let ranges = &mut self.ranges;
        self.bins
            .resize(ranges, at, size, |range| range.next = next);
        ranges.update(next, |range| range.prev = at);
        ranges.put_spare(last);
    }
}

#[inline]
fn slot_of(index: u32, offset: u32, size: u32) -> Slot {
    Slot {
        index,
        offset: offset as usize,
        size: size as usize,
    }
}
