// SPDX-License-Identifier: GPL-2.0

//! A hash table whose links lie in the entries, and which grows by one bucket at a time.
//!
//! Entries are elements of an array and known by their position in it. Element `i` also
//! lends its `bucket` field to bucket `i`, so that the table needs no memory of its own
//! and has as many buckets as there are elements, which are never fewer than entries.
//!
//! This is linear hashing: with `b` buckets, of which `m` is the highest power of two
//! not above `b`, splitting bucket `b - m` makes bucket `b`. An insertion splits at most
//! one bucket, so there is never a moment at which the whole table is rehashed. Chains
//! have one entry on average: all operations are O(1) expected.

/// Says "no entry".
pub(super) const NONE: u32 = u32::MAX;

/// The array in which links and buckets lie.
pub(super) trait Entries {
    /// How many elements there are.
    fn capacity(&self) -> u32;
    /// Hash of the key of entry `at`.
    fn hash(&self, at: u32) -> u32;
    /// Entry that follows `at` in its chain.
    fn next(&self, at: u32) -> u32;
    /// Entry that follows `at` in its chain.
    fn next_mut(&mut self, at: u32) -> Option<&mut u32>;
    /// First entry of a bucket.
    fn first(&self, bucket: u32) -> u32;
    /// First entry of a bucket.
    fn first_mut(&mut self, bucket: u32) -> Option<&mut u32>;
}

/// Spreads a key over 32 bits; the low bits serve as bucket number.
#[inline]
pub(super) fn spread(key: u32) -> u32 {
    // The product's high bits depend on all bits of the key, its low bits do not.
    key.wrapping_mul(0x9E37_79B1).swap_bytes()
}

/// State of one hash table.
///
/// # Invariants
///
/// * Buckets `0..buckets` are in use, and an entry is in the chain of [`Index::place`].
/// * `buckets >= entries`, or all elements' buckets are in use.
/// * `mask` is the lowest power of two that is not below `buckets`, less one.
pub(super) struct Index {
    buckets: u32,
    mask: u32,
    entries: u32,
}

impl Index {
    /// A table without buckets.
    pub(super) const fn new() -> Self {
        Self {
            buckets: 0,
            mask: 0,
            entries: 0,
        }
    }

    /// Number of entries.
    pub(super) fn len(&self) -> u32 {
        self.entries
    }

    /// Bucket of a hash.
    #[inline]
    fn place(&self, hash: u32) -> u32 {
        let bucket = hash & self.mask;
        if bucket < self.buckets {
            bucket
        } else {
            bucket & (self.mask >> 1)
        }
    }

    /// Finds the entry with this hash for which `is_it` holds.
    #[inline]
    pub(super) fn find<E: Entries>(
        &self,
        entries: &E,
        hash: u32,
        is_it: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        if self.entries == 0 {
            return None;
        }
        let mut at = entries.first(self.place(hash));
        while at != NONE {
            if is_it(at) {
                return Some(at);
            }
            at = entries.next(at);
        }
        None
    }

    /// Makes `at`, which is in no chain, the first entry of its chain. Returns the entry
    /// that follows it now, for the caller to note in `at`.
    #[inline]
    #[must_use]
    pub(super) fn insert<E: Entries>(&mut self, entries: &mut E, hash: u32, at: u32) -> u32 {
        self.entries += 1;
        if self.entries > self.buckets && self.buckets < entries.capacity() {
            self.split(entries);
        }
        match entries.first_mut(self.place(hash)) {
            Some(first) => core::mem::replace(first, at),
            None => NONE,
        }
    }

    /// Removes entry `at`, which is followed by `after`, from its chain.
    #[inline]
    pub(super) fn remove<E: Entries>(&mut self, entries: &mut E, hash: u32, at: u32, after: u32) {
        self.entries -= 1;
        let mut link = entries.first_mut(self.place(hash));
        while let Some(here) = link {
            if *here == at {
                *here = after;
                return;
            }
            let here = *here;
            link = entries.next_mut(here);
        }
    }

    /// Puts one more bucket in use.
    #[cold]
    fn split<E: Entries>(&mut self, entries: &mut E) {
        let new = self.buckets;
        self.buckets += 1;
        self.mask |= new;
        set(entries.first_mut(new), NONE);
        let Some(high) = new.checked_ilog2() else {
            return;
        };
        let old = new - (1 << high);
        let mut at = entries.first(old);
        set(entries.first_mut(old), NONE);
        while at != NONE {
            let next = entries.next(at);
            let bucket = self.place(entries.hash(at));
            let first = entries.first(bucket);
            set(entries.next_mut(at), first);
            set(entries.first_mut(bucket), at);
            at = next;
        }
    }
}

fn set(link: Option<&mut u32>, to: u32) {
    if let Some(link) = link {
        *link = to;
    }
}
