// SPDX-License-Identifier: GPL-2.0

//! A table from small numbers to values.
//!
//! A [`SlotTable`] maps the ids of an [`IdPool`](crate::id_pool::IdPool) to values: an
//! array of optional values in chunks. Looking up an id costs two to four loads, whatever
//! the number of ids; nothing is ever moved, and no allocation exceeds a page.
//!
//! | operation                                              | cost |
//! |--------------------------------------------------------|------|
//! | [`SlotTable::get`], [`SlotTable::set`], [`SlotTable::take`] | O(1) |
//! | [`SlotTable::install`], [`SlotTable::shrink`]          | O(1) |
//!
//! # Examples
//!
//! ```ignore
//! let mut table = SlotTable::<KBox<Entry>, 64>::new();
//! let memory = table.grow_request().ok_or(ENOSPC)?.allocate()?;
//! table.install(&mut Some(memory));
//! assert!(table.set(3, entry).is_ok());
//! assert!(table.get(3).is_some());
//! let entry = table.take(3);
//! ```

use crate::{
    chunked::{ChunkRequest, Chunked, Storage},
    grow::Request,
    shim::AllocError,
};
use core::marker::PhantomData;

/// A table from ids to values, `N` slots per chunk: a power of two such that a chunk fits
/// into 4 KiB.
///
/// # Invariants
///
/// * `used` is the number of slots that hold a value.
///
/// Locking: none of its own.
///
/// Lifetime: dropping the table drops all values, so empty it first if that must not happen
/// under a lock.
pub(crate) struct SlotTable<T, const N: usize> {
    slots: Chunked<Option<T>, N>,
    used: usize,
}

/// What a table lacks; see [`SlotTable::grow_request`].
pub(crate) struct GrowRequest<T, const N: usize> {
    chunk: ChunkRequest<N>,
    kind: PhantomData<fn() -> T>,
}

/// Memory for `N` slots, to be passed to [`SlotTable::install`].
pub(crate) struct Slots<T, const N: usize>(Storage<Option<T>, N>);

impl<T, const N: usize> Request for GrowRequest<T, N> {
    type Grown = Slots<T, N>;

    fn allocate(self) -> Result<Slots<T, N>, AllocError> {
        self.chunk.allocate(|_| None).map(Slots)
    }
}

impl<T, const N: usize> SlotTable<T, N> {
    /// A table without slots. Allocates nothing.
    pub(crate) const fn new() -> Self {
        Self {
            slots: Chunked::new(),
            used: 0,
        }
    }

    /// Number of slots: ids below this can be set.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// Number of slots that hold a value.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Whether no slot holds a value.
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes that are allocated, beside the table itself.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// The value at `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.slots.get(id as usize)?.as_ref()
    }

    /// The value at `id`.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.slots.get_mut(id as usize)?.as_mut()
    }

    /// Puts a value into the empty slot `id`.
    ///
    /// # Errors
    ///
    /// Gives the value back if there is no such slot or if it holds a value.
    #[inline]
    pub(crate) fn set(&mut self, id: u32, value: T) -> Result<(), T> {
        match self.slots.get_mut(id as usize) {
            Some(slot) if slot.is_none() => {
                *slot = Some(value);
                self.used += 1;
                Ok(())
            }
            _ => Err(value),
        }
    }

    /// Takes the value out of slot `id`.
    #[inline]
    pub(crate) fn take(&mut self, id: u32) -> Option<T> {
        let value = self.slots.get_mut(id as usize)?.take()?;
        self.used -= 1;
        Some(value)
    }

    /// What to allocate for `N` more slots; `None` if the table can not grow.
    pub(crate) fn grow_request(&self) -> Option<GrowRequest<T, N>> {
        let chunk = self.slots.request()?;
        Some(GrowRequest {
            chunk,
            kind: PhantomData,
        })
    }

    /// Takes memory, if there is any, into use.
    ///
    /// Leaves it, to be dropped without a lock, if it does not fit any more because another
    /// thread grew or shrunk the table since the request was made.
    pub(crate) fn install(&mut self, memory: &mut Option<Slots<T, N>>) {
        if let Some(slots) = memory.take() {
            *memory = self.slots.install(slots.0).err().map(Slots);
        }
    }

    /// Removes the last `N` slots if that leaves at least `keep` slots, and if they are
    /// empty. Looks at the last `N` slots.
    ///
    /// Drop the result without a lock. One call removes one chunk: use
    /// [`grow::give_back`](crate::grow::give_back) to remove all in short lock sections.
    pub(crate) fn shrink(&mut self, keep: usize) -> Option<Slots<T, N>> {
        let left = self.capacity().checked_sub(N)?;
        let is_empty = |at| self.slots.get(at).is_some_and(Option::is_none);
        if left < keep || !(left..left + N).all(is_empty) {
            return None;
        }
        self.slots.detach().map(Slots)
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_slot_table))]
mod tests {
    use super::*;

    fn grown(chunks: usize) -> SlotTable<u32, 4> {
        let mut table = SlotTable::new();
        for _ in 0..chunks {
            table.install(&mut table.grow_request().unwrap().allocate().ok());
        }
        table
    }

    #[test]
    fn holds_one_value_per_id() {
        let mut table = grown(2);
        assert_eq!((table.capacity(), table.len()), (8, 0));
        assert_eq!(table.set(5, 50), Ok(()));
        assert_eq!(table.set(5, 51), Err(51));
        assert_eq!(table.set(8, 80), Err(80));
        assert_eq!(table.set(u32::MAX, 80), Err(80));
        assert_eq!(
            (table.get(5), table.get(4), table.get(8)),
            (Some(&50), None, None)
        );
        *table.get_mut(5).unwrap() += 1;
        assert_eq!(
            (table.take(5), table.take(5), table.len()),
            (Some(51), None, 0)
        );
    }

    #[test]
    fn shrinks_down_to_what_is_used_or_kept() {
        let mut table = grown(5);
        assert_eq!(table.set(9, 90), Ok(()));
        assert!(table.shrink(17).is_none());
        assert!(table.shrink(16).is_some());
        assert!(table.shrink(0).is_some());
        assert!(table.shrink(0).is_none());
        assert_eq!((table.capacity(), table.get(9)), (12, Some(&90)));
        assert_eq!(table.take(9), Some(90));
        crate::grow::give_back(|| table.shrink(0));
        assert_eq!((table.capacity(), table.bytes()), (0, 0));
    }

    #[test]
    fn outdated_memory_is_given_back() {
        let mut table = grown(0);
        let mut late = table.grow_request().unwrap().allocate().ok();
        table.install(&mut table.grow_request().unwrap().allocate().ok());
        table.install(&mut late);
        assert!(late.is_some());
        assert_eq!(table.capacity(), 4);
    }
}
