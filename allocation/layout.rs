// SPDX-License-Identifier: GPL-2.0

//! Where the parts of a transaction lie in its buffer.
//!
//! Pure: no kernel imports, tested on the host.

/// The parts of a buffer, sizes in bytes: data, then the offsets of the objects in it,
/// then scatter-gather buffers, then the sender's security context. Each part starts at a
/// multiple of 8.
///
/// # Invariants
///
/// The sum of all parts, each rounded up to a multiple of 8, is at most [`LARGEST`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    data: u32,
    offsets: u32,
    buffers: u32,
    security: u32,
}

/// Why sizes make no buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BadLayout {
    /// They overflow, or are not multiples of 8 where they must be.
    Invalid,
    /// No mapping is that large.
    TooLarge,
}

/// No mapping is larger than this.
const LARGEST: u64 = 1 << 30;

/// The smallest buffer: also an empty transaction needs an address of its own.
const SMALLEST: usize = 8;

impl Layout {
    /// Lays out a transaction; all arguments in bytes.
    pub(crate) fn new(
        data: u64,
        offsets: u64,
        buffers: u64,
        security: usize,
    ) -> Result<Self, BadLayout> {
        if offsets % 8 != 0 || buffers % 8 != 0 {
            return Err(BadLayout::Invalid);
        }
        let total = align(data)
            .and_then(|end| end.checked_add(offsets))
            .and_then(|end| end.checked_add(buffers))
            .and_then(|end| end.checked_add(align(security as u64)?))
            .ok_or(BadLayout::Invalid)?;
        if total > LARGEST {
            return Err(BadLayout::TooLarge);
        }
        // INVARIANT: Just checked; so no part is too large for 32 bits either.
        Ok(Self {
            data: data as u32,
            offsets: offsets as u32,
            buffers: buffers as u32,
            security: security as u32,
        })
    }

    /// Bytes of data.
    pub(crate) fn data_size(&self) -> usize {
        self.data as usize
    }

    /// Bytes of offsets, a multiple of 8.
    pub(crate) fn offsets_size(&self) -> usize {
        self.offsets as usize
    }

    /// Bytes of the security context, 0 if there is none.
    pub(crate) fn security_size(&self) -> usize {
        self.security as usize
    }

    /// Where the offsets begin.
    pub(crate) fn offsets_at(&self) -> usize {
        (self.data_size() + 7) & !7
    }

    /// Where scatter-gather buffers begin.
    pub(crate) fn buffers_at(&self) -> usize {
        self.offsets_at() + self.offsets_size()
    }

    /// Where the security context begins, which is where the buffers end.
    pub(crate) fn security_at(&self) -> usize {
        self.buffers_at() + self.buffers as usize
    }

    /// All of it.
    pub(crate) fn total(&self) -> usize {
        let end = self.security_at() + self.security_size();
        ((end + 7) & !7).max(SMALLEST)
    }
}

fn align(size: u64) -> Option<u64> {
    Some(size.checked_add(7)? & !7)
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_layout))]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_each_other_aligned() {
        let layout = Layout::new(13, 16, 24, 5).expect("a valid layout");
        assert_eq!(layout.offsets_at(), 16);
        assert_eq!(layout.buffers_at(), 32);
        assert_eq!(layout.security_at(), 56);
        assert_eq!(layout.total(), 64);
        assert_eq!(layout.data_size(), 13);
    }

    #[test]
    fn an_empty_transaction_has_an_address() {
        assert_eq!(Layout::new(0, 0, 0, 0).map(|layout| layout.total()), Ok(8));
    }

    #[test]
    fn sizes_that_are_no_multiples_of_eight_are_invalid() {
        for odd in [1, 4, 7, 9, 8 * 5 + 4] {
            assert_eq!(Layout::new(8, odd, 0, 0), Err(BadLayout::Invalid));
            assert_eq!(Layout::new(8, 0, odd, 0), Err(BadLayout::Invalid));
        }
    }

    #[test]
    fn sums_that_overflow_are_invalid() {
        let huge = u64::MAX & !7;
        assert_eq!(Layout::new(u64::MAX, 0, 0, 0), Err(BadLayout::Invalid));
        assert_eq!(Layout::new(8, huge, 0, 0), Err(BadLayout::Invalid));
        assert_eq!(Layout::new(8, 8, huge, 0), Err(BadLayout::Invalid));
        assert_eq!(Layout::new(huge, 0, 0, 16), Err(BadLayout::Invalid));
    }

    #[test]
    fn more_than_any_mapping_is_too_large() {
        assert_eq!(Layout::new(LARGEST + 1, 0, 0, 0), Err(BadLayout::TooLarge));
        assert_eq!(Layout::new(1 << 40, 0, 0, 0), Err(BadLayout::TooLarge));
        assert!(Layout::new(LARGEST, 0, 0, 0).is_ok());
    }
}
