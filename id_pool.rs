// SPDX-License-Identifier: GPL-2.0

//! Small numbers to be handed out, the lowest free one first.
//!
//! An [`IdPool`] is a bitmap under a tree of summaries, 64 children per node. A summary
//! has two bits for each child: "all of its ids are used" and "one of its ids is used".
//! The first leads to the lowest free id, the second to the highest used one, without a
//! scan of the bitmap:
//!
//! | operation                                              | words read or written    |
//! |--------------------------------------------------------|--------------------------|
//! | [`IdPool::find`], [`IdPool::alloc`]                    | O(log64 capacity)        |
//! | [`IdPool::reserve`], [`IdPool::release`]               | O(log64 capacity)        |
//! | [`IdPool::next_used`]                                  | O(log64 capacity)        |
//! | [`IdPool::highest`]                                    | one load                 |
//! | [`IdPool::install`], [`IdPool::shrink`]                | O(log64 capacity)        |
//! | [`IdPool::len`], [`IdPool::capacity`], [`IdPool::contains`] | O(1)                |
//!
//! The first 64 ids need no allocation. Beyond, capacity comes and goes in steps of 4096
//! ids, 512 bytes each plus one part in 20 for summaries and pointers; nothing is moved or
//! copied, and no allocation is larger than 1.5 KiB. With [`MAX_IDS`] the tree has four levels.
//!
//! # Growing and shrinking
//!
//! A pool usually lives under a spinlock, so it neither allocates nor frees. To grow, take
//! [`IdPool::grow_request`] under the lock, allocate without it, and pass the result to
//! [`IdPool::install`] under the lock; [`grow::retry`](crate::grow::retry) is that loop. To
//! shrink, drop what [`IdPool::shrink`] returns after unlocking.
//!
//! # Examples
//!
//! ```ignore
//! let mut pool = IdPool::new();
//! assert_eq!(pool.alloc(1), Some(1));
//! assert_eq!(pool.alloc(0), Some(0));
//! assert_eq!(pool.reserve(7), Ok(()));
//! assert_eq!(pool.highest(), Some(7));
//! assert_eq!(pool.release(1), Ok(()));
//! assert_eq!(pool.alloc(0), Some(1));
//!
//! while pool.alloc(0).is_some() {}
//! assert_eq!(pool.len(), 64);
//! let memory = pool.grow_request().ok_or(ENOSPC)?.allocate()?;
//! pool.install(&mut Some(memory));
//! assert_eq!(pool.alloc(0), Some(64));
//! ```

mod node;
mod tree;

use self::{node::Seek, tree::Tree};
use crate::{grow::Request, shim::AllocError};

pub(crate) use self::tree::Block;

/// Ids that need no allocation.
pub(crate) const INLINE_IDS: u32 = 64;
/// Ids by which the capacity grows and shrinks.
pub(crate) const STEP: u32 = 4096;
/// Largest capacity.
pub(crate) const MAX_IDS: u32 = 1 << 24;

/// An id can not be reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReserveError {
    /// It is used.
    Used,
    /// The capacity does not reach it: grow first.
    OutOfRange,
}

/// An id can not be released because it is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotUsed;

/// A pool of ids.
///
/// # Invariants
///
/// * `used` is the number of ids in use.
/// * `top` is one above the highest id in use, or 0.
/// * While the tree has no block, `inline` says which of the first 64 ids are used;
///   otherwise `inline` is zero and the tree says it.
///
/// Locking: none of its own.
///
/// Lifetime: ids in use hold no memory and need not be released.
pub(crate) struct IdPool {
    inline: u64,
    used: u32,
    top: u32,
    tree: Tree,
}

/// What a pool lacks; see [`IdPool::grow_request`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct GrowRequest(tree::Request);

impl Request for GrowRequest {
    type Grown = Block;

    fn allocate(self) -> Result<Block, AllocError> {
        self.0.allocate()
    }
}

impl IdPool {
    /// An empty pool with room for [`INLINE_IDS`].
    pub(crate) const fn new() -> Self {
        Self {
            inline: 0,
            used: 0,
            top: 0,
            tree: Tree::new(),
        }
    }

    /// Ids that the pool has room for: all are below this number.
    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        self.tree.capacity().max(INLINE_IDS)
    }

    /// Number of ids in use.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.used
    }

    /// Whether no id is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Bytes that are allocated, beside the pool itself.
    pub(crate) fn bytes(&self) -> usize {
        self.tree.bytes()
    }

    /// Whether `id` is in use.
    #[inline]
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.word(id) & (1 << (id % 64)) != 0
    }

    /// The word of the bitmap that `id` is in; zero if out of range.
    #[inline]
    fn word(&self, id: u32) -> u64 {
        if !self.tree.is_empty() {
            self.tree.word(id / 64)
        } else if id < INLINE_IDS {
            self.inline
        } else {
            0
        }
    }

    /// The lowest free id that is not below `from`. Does not take it.
    ///
    /// `None` if there is none within the capacity.
    #[inline]
    pub(crate) fn find(&self, from: u32) -> Option<u32> {
        if !self.tree.is_empty() {
            return self.tree.next(from, Seek::Free);
        }
        let free = !self.inline & from_bit(from)?;
        (free != 0).then(|| free.trailing_zeros())
    }

    /// Takes the lowest free id that is not below `from`.
    ///
    /// `None` if there is none within the capacity: grow and try again.
    #[inline]
    pub(crate) fn alloc(&mut self, from: u32) -> Option<u32> {
        let id = self.find(from)?;
        self.reserve(id).ok()?;
        Some(id)
    }

    /// Takes a given id.
    ///
    /// # Errors
    ///
    /// See [`ReserveError`].
    #[inline]
    pub(crate) fn reserve(&mut self, id: u32) -> Result<(), ReserveError> {
        if id >= self.capacity() {
            return Err(ReserveError::OutOfRange);
        }
        let was_free = if self.tree.is_empty() {
            let before = self.inline;
            self.inline |= 1 << id;
            before != self.inline
        } else {
            self.tree.set(id)
        };
        if !was_free {
            return Err(ReserveError::Used);
        }
        self.used += 1;
        self.top = self.top.max(id + 1);
        Ok(())
    }

    /// Gives an id back.
    ///
    /// # Errors
    ///
    /// [`NotUsed`] if it is not in use; nothing changes.
    #[inline]
    pub(crate) fn release(&mut self, id: u32) -> Result<(), NotUsed> {
        let was_used = if !self.tree.is_empty() {
            self.tree.clear(id)
        } else if id < INLINE_IDS {
            let before = self.inline;
            self.inline &= !(1 << id);
            before != self.inline
        } else {
            false
        };
        if !was_used {
            return Err(NotUsed);
        }
        self.used -= 1;
        if id + 1 == self.top {
            self.top = self.top_below(id);
        }
        Ok(())
    }

    /// The highest id in use. One load.
    #[inline]
    pub(crate) fn highest(&self) -> Option<u32> {
        self.top.checked_sub(1)
    }

    /// What `top` is if no id from `id` on is in use. Most times the next lower one is in the
    /// same word.
    fn top_below(&self, id: u32) -> u32 {
        let lower = self.word(id) & !(u64::MAX << (id % 64));
        match lower.checked_ilog2() {
            Some(bit) => id / 64 * 64 + bit + 1,
            None => self.tree.highest().map_or(0, |id| id + 1),
        }
    }

    /// The lowest id in use that is not below `from`.
    pub(crate) fn next_used(&self, from: u32) -> Option<u32> {
        if !self.tree.is_empty() {
            return self.tree.next(from, Seek::Used);
        }
        let used = self.inline & from_bit(from)?;
        (used != 0).then(|| used.trailing_zeros())
    }

    /// All ids in use, in ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut from = Some(0);
        core::iter::from_fn(move || {
            let id = self.next_used(from?)?;
            from = id.checked_add(1);
            Some(id)
        })
    }

    /// What to allocate for [`STEP`] more ids; `None` if the pool can not grow.
    pub(crate) fn grow_request(&self) -> Option<GrowRequest> {
        self.tree.request().map(GrowRequest)
    }

    /// Takes memory, if there is any, into use.
    ///
    /// Leaves it, to be dropped without a lock, if it does not fit any more because another
    /// thread grew or shrunk the pool since the request was made.
    pub(crate) fn install(&mut self, memory: &mut Option<Block>) {
        let was_inline = self.tree.is_empty();
        self.tree.install(memory);
        if was_inline && !self.tree.is_empty() {
            let first = core::mem::take(&mut self.inline);
            self.tree.change(0, |_| first);
        }
    }

    /// Removes capacity, if more is unused than is worth keeping; see [`Keep`].
    ///
    /// Drop the result without a lock. One call removes one step: use
    /// [`grow::give_back`](crate::grow::give_back) to remove all in short lock sections.
    #[inline]
    pub(crate) fn shrink(&mut self, keep: Keep) -> Option<Block> {
        if self.tree.capacity() <= self.least_capacity(keep) {
            return None;
        }
        if self.tree.capacity() == STEP {
            self.inline = self.tree.word(0);
        }
        self.tree.detach()
    }

    /// The capacity of the tree down to which the pool may shrink now.
    #[inline]
    fn least_capacity(&self, keep: Keep) -> u32 {
        if keep == Keep::OneSpare && self.tree.capacity() <= 2 * STEP {
            return 2 * STEP;
        }
        let needed = self.highest().map_or(0, |id| id + 1);
        match keep {
            Keep::OneSpare => needed.next_multiple_of(STEP) + STEP,
            Keep::Nothing if needed <= INLINE_IDS => 0,
            Keep::Nothing => needed.next_multiple_of(STEP),
        }
    }
}

/// How much unused capacity [`IdPool::shrink`] keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// One step above the highest id in use. So a pool whose use goes up and down around
    /// the end of a step does not allocate and free each time: at least [`STEP`] ids
    /// lie between growing and shrinking. For use at each release.
    OneSpare,
    /// Nothing. For use under memory pressure.
    Nothing,
}

/// A word with all bits from `from` up; `None` if `from` is beyond the word.
#[inline]
fn from_bit(from: u32) -> Option<u64> {
    u64::MAX.checked_shl(from)
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
mod tests;
