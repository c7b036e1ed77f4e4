// SPDX-License-Identifier: GPL-2.0

//! Size classes of free ranges: two-level segregated fit.
//!
//! Sizes are counted in units of [`UNIT`] bytes. Class boundaries are 32 per power of
//! two, so that up to 64 units (512 bytes) each class holds one size, and above it the
//! sizes of a class differ by at most 3 %. A power of two is the largest size of its class:
//! a mapping of such a size stays in its class while its first small buffer comes and goes.
//! Two levels of bitmaps say which classes have ranges; finding the next class that has one
//! takes two word reads.

use super::{
    desc::{Descriptor, Descriptors, State},
    index::NONE,
};
use crate::shim::{AllocError, Chunk};

/// Granularity of sizes and offsets in bytes.
pub(super) const UNIT: u32 = 8;
/// log2 of the number of classes per power of two.
const FINE_BITS: u32 = 5;
const FINE: u32 = 1 << FINE_BITS;
/// Powers of two that are told apart: up to 2^19 units, the largest mapping.
const COARSE: u32 = 15;
/// Classes in total.
const CLASSES: usize = (COARSE * FINE) as usize;
/// Ranges of the class itself that are looked at before a larger class is used.
const GLANCE: u32 = 8;

/// Number of a size class.
type Class = u32;

/// The class that ranges of `size` bytes are in.
#[inline]
fn class_of(size: u32) -> Class {
    let units = (size / UNIT).saturating_sub(1);
    match units.checked_ilog2() {
        Some(high) if high >= FINE_BITS => {
            let shift = high - FINE_BITS;
            (shift + 1) * FINE + ((units >> shift) & (FINE - 1))
        }
        _ => units,
    }
}

/// Whether ranges of these two sizes are in the same class.
#[inline]
fn is_same_class(a: u32, b: u32) -> bool {
    // The number of low bits that make no difference depends on the highest bit.
    let (a, b) = ((a / UNIT).saturating_sub(1), (b / UNIT).saturating_sub(1));
    let high = a.max(FINE).ilog2();
    (a ^ b) >> (high - FINE_BITS) == 0
}

/// Heads of the lists of free ranges, one list per size class.
pub(super) type Heads = Chunk<u32, CLASSES>;

/// Allocates the heads, all lists being empty. May sleep.
pub(super) fn allocate_heads() -> Result<Heads, AllocError> {
    Chunk::new(|_| NONE)
}

/// The free ranges by size class.
///
/// # Invariants
///
/// * A bit of `fine` is set if and only if the list of that class is not empty.
/// * A bit of `coarse` is set if and only if that word of `fine` is not zero.
/// * Every range in a list is [`State::Free`] and of that list's class.
///
/// Lists are last-in first-out: memory that was used last is used first.
pub(super) struct Bins {
    coarse: u32,
    fine: [u32; COARSE as usize],
    heads: Option<Heads>,
}

impl Bins {
    /// Bins that can not take a range yet.
    pub(super) const fn new() -> Self {
        Self {
            coarse: 0,
            fine: [0; COARSE as usize],
            heads: None,
        }
    }

    /// Whether the heads are there.
    pub(super) fn is_ready(&self) -> bool {
        self.heads.is_some()
    }

    /// Bytes allocated for them.
    pub(super) fn bytes(&self) -> usize {
        self.heads.as_ref().map_or(0, |heads| size_of_val(&**heads))
    }

    /// Gives the bins their heads.
    pub(super) fn set_heads(&mut self, heads: Heads) {
        self.heads = Some(heads);
    }

    /// Forgets all ranges.
    pub(super) fn clear(&mut self) {
        self.coarse = 0;
        self.fine = [0; COARSE as usize];
        if let Some(heads) = self.heads.as_mut() {
            heads.fill(NONE);
        }
    }

    #[inline]
    fn head(&self, class: Class) -> u32 {
        let heads = self.heads.as_ref();
        let head = heads.and_then(|heads| heads.get(class as usize));
        head.copied().unwrap_or(NONE)
    }

    #[inline]
    fn set_head(&mut self, class: Class, at: u32) {
        let heads = self.heads.as_mut();
        if let Some(head) = heads.and_then(|heads| heads.get_mut(class as usize)) {
            *head = at;
        }
        let (word, bit) = (class / FINE, 1 << (class % FINE));
        let Some(fine) = self.fine.get_mut(word as usize) else {
            return;
        };
        if at != NONE {
            *fine |= bit;
            self.coarse |= 1 << word;
        } else {
            *fine &= !bit;
            if *fine == 0 {
                self.coarse &= !(1 << word);
            }
        }
    }

    /// Puts the free range `at` into the list of its class. O(1).
    #[inline]
    pub(super) fn insert<T, const N: usize>(&mut self, ranges: &mut Descriptors<T, N>, at: u32) {
        let class = class_of(ranges.size(at));
        let head = self.head(class);
        ranges.update(at, |range| {
            range.state = State::Free;
            range.link = head;
            range.back = NONE;
        });
        ranges.update(head, |range| range.back = at);
        self.set_head(class, at);
    }

    /// Takes the free range `at` out of the list of its class. O(1).
    #[inline]
    pub(super) fn remove<T, const N: usize>(&mut self, ranges: &mut Descriptors<T, N>, at: u32) {
        let Some((size, link, back)) = ranges.get(at).map(|r| (r.size, r.link, r.back)) else {
            return;
        };
        ranges.update(link, |range| range.back = back);
        if back == NONE {
            self.set_head(class_of(size), link);
        } else {
            ranges.update(back, |range| range.link = link);
        }
    }

    /// Changes the free range `at`, to which `change` gives another size. O(1), and mostly
    /// nothing but that: a large range that loses or gains a little stays in its class.
    #[inline]
    pub(super) fn resize<T, const N: usize>(
        &mut self,
        ranges: &mut Descriptors<T, N>,
        at: u32,
        size: u32,
        change: impl FnOnce(&mut Descriptor<T>),
    ) {
        let Some(range) = ranges.get_mut(at) else {
            return;
        };
        if is_same_class(range.size, size) {
            range.size = size;
            change(range);
            return;
        }
        change(range);
        self.reclassify(ranges, at, size);
    }

    fn reclassify<T, const N: usize>(
        &mut self,
        ranges: &mut Descriptors<T, N>,
        at: u32,
        size: u32,
    ) {
        self.remove(ranges, at);
        ranges.update(at, |range| range.size = size);
        self.insert(ranges, at);
    }

    /// Finds a free range of at least `size` bytes, and leaves it in its list.
    ///
    /// O(1): a few ranges of the class of `size` are looked at, then the first range of
    /// the next larger class that has any is taken. Only when the request would fail is
    /// the rest of the class searched, so that it fails only if no range is large enough.
    /// Such a class has at most as many ranges as fit into the mapping with 512 bytes
    /// each.
    #[inline]
    pub(super) fn find<T, const N: usize>(
        &self,
        ranges: &Descriptors<T, N>,
        size: u32,
    ) -> Option<u32> {
        let class = class_of(size);
        if self.head(class) != NONE {
            return self.find_among(ranges, class, size);
        }
        Some(self.head(self.class_above(class)?))
    }

    /// [`Bins::find`] if there are ranges of the class of `size`.
    fn find_among<T, const N: usize>(
        &self,
        ranges: &Descriptors<T, N>,
        class: Class,
        size: u32,
    ) -> Option<u32> {
        let mut at = self.head(class);
        for _ in 0..GLANCE {
            if at == NONE {
                break;
            }
            if ranges.size(at) >= size {
                return Some(at);
            }
            at = ranges.link(at);
        }
        if let Some(larger) = self.class_above(class) {
            return Some(self.head(larger));
        }
        while at != NONE {
            if ranges.size(at) >= size {
                return Some(at);
            }
            at = ranges.link(at);
        }
        None
    }

    /// The smallest class above `class` that has ranges.
    #[inline]
    fn class_above(&self, class: Class) -> Option<Class> {
        const ABOVE_BIT_0: u32 = u32::MAX - 1;
        let (word, bit) = (class / FINE, class % FINE);
        let here = self.fine.get(word as usize)? & (ABOVE_BIT_0 << bit);
        if here != 0 {
            return Some(word * FINE + here.trailing_zeros());
        }
        let above = self.coarse & (ABOVE_BIT_0 << word);
        if above == 0 {
            return None;
        }
        let word = above.trailing_zeros();
        let fine = self.fine.get(word as usize)?;
        Some(word * FINE + fine.trailing_zeros())
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
impl Bins {
    /// Number of free ranges; checks the invariants.
    pub(super) fn count<T, const N: usize>(&self, ranges: &Descriptors<T, N>) -> usize {
        let mut count = 0;
        for class in 0..CLASSES as u32 {
            let (mut at, mut back) = (self.head(class), NONE);
            let fine = self.fine[(class / FINE) as usize];
            assert_eq!(at != NONE, fine & (1 << (class % FINE)) != 0);
            assert_eq!(fine != 0, self.coarse & (1 << (class / FINE)) != 0);
            while let Some(range) = ranges.get(at) {
                assert_eq!((range.state, range.back), (State::Free, back));
                assert_eq!(class_of(range.size), class);
                back = at;
                at = range.link;
                count += 1;
            }
            assert_eq!(at, NONE);
        }
        count
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_bins))]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn classes_are_ordered_and_narrow() {
        assert_eq!(class_of(8), 0);
        assert_eq!(class_of(32 * UNIT), 31);
        assert_eq!(class_of(33 * UNIT), 32);
        assert_eq!(class_of(4 << 20) as usize, CLASSES - 1);
        let mut last = 0;
        let mut first_of_class = 1;
        for units in 1..=1_u32 << 19 {
            let class = class_of(units * UNIT);
            assert!(class == last || class == last + 1);
            if class != last {
                first_of_class = units;
            }
            assert!((units - first_of_class) * FINE <= units);
            last = class;
        }
        assert!((last as usize) < CLASSES);
        for a in (8..70_000).step_by(8) {
            for b in [
                (a - 8).max(8),
                a,
                a + 8,
                a + 16,
                a + a / 32,
                2 * a,
                (a / 2 / 8 * 8).max(8),
            ] {
                assert_eq!(is_same_class(a, b), class_of(a) == class_of(b));
            }
        }
    }
}
