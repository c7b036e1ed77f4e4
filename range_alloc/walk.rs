// SPDX-License-Identifier: GPL-2.0

//! Walking over all ranges: teardown, the shrinker, and the state log.

use super::{slot_of, Label, RangeAlloc, Slot, State};
use core::ops::Range;

/// Buffers in order of address; see [`RangeAlloc::iter`].
pub(crate) struct Iter<'a, T, const N: usize> {
    owner: &'a RangeAlloc<T, N>,
    at: u32,
}

impl<'a, T, const N: usize> Iterator for Iter<'a, T, N> {
    type Item = (Slot, State, Option<&'a T>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let at = self.at;
            let range = self.owner.ranges.get(at)?;
            self.at = range.next;
            if range.state.is_buffer() {
                let slot = slot_of(at, range.offset, range.size);
                return Some((slot, range.state, range.payload.as_ref()));
            }
        }
    }
}

/// Free ranges in order of address; see [`RangeAlloc::idle_ranges`].
pub(crate) struct IdleRanges<'a, T, const N: usize> {
    owner: &'a RangeAlloc<T, N>,
    at: u32,
}

impl<T, const N: usize> Iterator for IdleRanges<'_, T, N> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let range = self.owner.ranges.get(self.at)?;
            self.at = range.next;
            if range.state == State::Free {
                let start = range.offset as usize;
                return Some(start..start + range.size as usize);
            }
        }
    }
}

impl<T, const N: usize> RangeAlloc<T, N> {
    /// The buffer with this index, if it is one. So all buffers can be seen in pieces, by
    /// counting up to [`RangeAlloc::descriptors`], in no order.
    pub(crate) fn labelled(&self, index: u32) -> Option<(Slot, State, Label)> {
        let range = self.ranges.buffer(index)?;
        let slot = slot_of(index, range.offset, range.size);
        Some((slot, range.state, range.label))
    }

    /// All buffers with state and payload, in order of address.
    pub(crate) fn iter(&self) -> Iter<'_, T, N> {
        Iter {
            owner: self,
            at: self.first,
        }
    }

    /// All free ranges, in bytes of the mapping, in order of address.
    pub(crate) fn idle_ranges(&self) -> IdleRanges<'_, T, N> {
        IdleRanges {
            owner: self,
            at: self.first,
        }
    }

    /// Releases the buffer with the lowest address, whatever its state, and returns it with
    /// what was kept with it. `None` if there is no buffer. O(1).
    pub(crate) fn pop_any(&mut self) -> Option<(Slot, Option<T>)> {
        // Free ranges are no neighbours, so this looks at two ranges at most.
        let slot = self.iter().next()?.0;
        let released = self.release(slot.index)?;
        Some((slot, released.payload))
    }
}
