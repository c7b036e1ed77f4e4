// SPDX-License-Identifier: GPL-2.0

//! Where in the data of a parcel its objects may stand.
//!
//! Pure: no kernel imports, tested on the host.

/// Why a parcel is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Not all of the data can be copied in order: `EFAULT`.
    Fault,
    /// Something stands where it may not: `EINVAL`.
    Invalid,
}

/// The size of the smallest object, in bytes.
pub(crate) const SMALLEST_OBJECT: usize = 24;

/// Goes through the data from one object to the next.
///
/// Objects are aligned to 4 bytes, complete, and do not overlap; their offsets ascend.
///
/// # Invariants
///
/// `done <= size`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DataCursor {
    /// All before is copied or belongs to an object.
    done: usize,
    size: usize,
}

impl DataCursor {
    /// A cursor at the start of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        // INVARIANT: No size is below zero.
        Self { done: 0, size }
    }

    /// Where the bytes begin that were not dealt with yet.
    pub(crate) fn done(&self) -> usize {
        self.done
    }

    /// What is left, in bytes.
    pub(crate) fn left(&self) -> usize {
        self.size.saturating_sub(self.done)
    }

    /// Bytes between here and an object that is said to be at `offset`. They are copied
    /// before anything else is asked about that object.
    pub(crate) fn gap_before(&self, offset: u64) -> Result<usize, Refusal> {
        let offset = usize::try_from(offset).map_err(|_| Refusal::Fault)?;
        if offset > self.size {
            return Err(Refusal::Fault);
        }
        offset.checked_sub(self.done).ok_or(Refusal::Fault)
    }

    /// Passes a gap, which [`DataCursor::gap_before`] gave. An object may be read here
    /// then: [`SMALLEST_OBJECT`] bytes at least are there.
    pub(crate) fn enter(&mut self, gap: usize) -> Result<(), Refusal> {
        let start = self.done.checked_add(gap).ok_or(Refusal::Invalid)?;
        let left = self.size.checked_sub(start).ok_or(Refusal::Invalid)?;
        if start % align_of::<u32>() != 0 || left < SMALLEST_OBJECT {
            return Err(Refusal::Invalid);
        }
        // INVARIANT: `start` was just subtracted from `size`.
        self.done = start;
        Ok(())
    }

    /// Passes the object of `size` bytes that begins here.
    pub(crate) fn pass(&mut self, size: usize) -> Result<(), Refusal> {
        if size > self.left() {
            return Err(Refusal::Invalid);
        }
        // INVARIANT: No more is passed than was left.
        self.done = self.done.saturating_add(size);
        Ok(())
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_place))]
mod tests {
    use super::*;

    /// Passes objects of given offset and size.
    fn walk(size: usize, objects: &[(u64, usize)]) -> Result<usize, Refusal> {
        let mut cursor = DataCursor::new(size);
        for &(offset, size) in objects {
            let gap = cursor.gap_before(offset)?;
            cursor.enter(gap)?;
            cursor.pass(size)?;
        }
        Ok(cursor.left())
    }

    #[test]
    fn objects_follow_each_other() {
        assert_eq!(walk(100, &[(4, 24), (28, 40), (68, 32)]), Ok(0));
        assert_eq!(walk(101, &[(0, 24), (48, 24)]), Ok(29));
        assert_eq!(walk(0, &[]), Ok(0));
    }

    #[test]
    fn order_is_asked_before_alignment() {
        assert_eq!(walk(100, &[(24, 24), (23, 24)]), Err(Refusal::Fault));
        assert_eq!(walk(100, &[(24, 24), (49, 24)]), Err(Refusal::Invalid));
        assert_eq!(walk(100, &[(101, 24)]), Err(Refusal::Fault));
        assert_eq!(walk(100, &[(u64::MAX, 24)]), Err(Refusal::Fault));
    }

    #[test]
    fn objects_are_complete() {
        for offset in [77, 80, 99, 100] {
            assert_eq!(walk(100, &[(offset, 24)]), Err(Refusal::Invalid));
        }
        assert_eq!(walk(100, &[(64, 40)]), Err(Refusal::Invalid));
        assert_eq!(walk(104, &[(64, 40)]), Ok(0));
    }
}
