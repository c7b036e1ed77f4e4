// SPDX-License-Identifier: GPL-2.0

//! The table of a process's buffers.

use kernel::{prelude::*, sync::Arc};

use super::Process;
use crate::{
    allocation::{layout::Layout, Allocation, Contents},
    debug,
    error::TransactionError,
    grow::{retry, Attempt, Request},
    range_alloc::{AllocFail, Allocated, GrowRequest, Kind, RangeAlloc, Slot, State},
};

/// What the space of a buffer is charged to.
pub(crate) use crate::range_alloc::Kind as BufferKind;

/// Descriptors in one allocation, so that it stays below a page.
const CHUNK: usize = 32;

type Ranges = RangeAlloc<Contents, CHUNK>;

/// The part of a process that its `buffers` lock guards.
pub(crate) struct Buffers {
    ranges: Ranges,
    dead: bool,
}

impl Buffers {
    pub(super) const fn new() -> Self {
        Self {
            ranges: RangeAlloc::new(),
            dead: false,
        }
    }

    /// User space gets the buffer, and may free it from now on.
    pub(crate) fn hand_over(&mut self, slot: &Slot, contents: Contents) {
        // The slot is ours until here, so it takes the payload and the new state.
        let _ = self.ranges.set_payload(slot.index, contents);
        let _ = self.ranges.mark_delivered(slot.index);
    }
}

impl Process {
    /// Makes the table ready for a mapping of `size` bytes.
    pub(super) fn start_buffers(&self, size: usize) -> Result {
        let mut memory = Some(GrowRequest::first().allocate()?);
        let started = self.buffers.lock().ranges.init(size, &mut memory);
        drop(memory);
        started.map_err(|_| EBUSY)
    }

    /// Reserves a buffer and makes its memory resident.
    ///
    /// # Errors
    ///
    /// `BR_DEAD_REPLY` with `ESRCH` if there is no mapping (any more), `BR_FAILED_REPLY`
    /// with `ENOSPC` if there is no room, or with `ENOMEM`.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        layout: Layout,
        kind: BufferKind,
    ) -> Result<Allocation, TransactionError> {
        let pages = self.pages().map_err(TransactionError::dead)?;
        let allocated = self.reserve(layout.total(), kind)?;
        let slot = allocated.slot;
        let buffer = Allocation::new(self.clone(), allocated, layout);
        pages
            .make_resident(slot.offset, slot.size, self)
            .map_err(|error| {
                if error == ENOMEM {
                    TransactionError::failed(ENOMEM)
                } else {
                    TransactionError::dead(ESRCH)
                }
            })?;
        Ok(buffer)
    }

    fn reserve(&self, size: usize, kind: Kind) -> Result<Allocated, TransactionError> {
        retry(|memory| {
            let mut buffers = self.buffers.lock();
            if buffers.dead {
                return Attempt::Done(Err(TransactionError::DIED));
            }
            buffers.ranges.install(memory);
            match buffers.ranges.alloc(size, kind) {
                Ok(allocated) => Attempt::Done(Ok(allocated)),
                Err(AllocFail::NeedDescriptors(request)) => Attempt::Grow(request),
                Err(AllocFail::NotMapped) => Attempt::Done(Err(TransactionError::dead(ESRCH))),
                Err(_) => Attempt::Done(Err(TransactionError::failed(ENOSPC))),
            }
        })?
    }

    /// `BC_FREE_BUFFER`: user space has done with the buffer at `address`.
    ///
    /// An address that is no buffer which user space may free is ignored.
    pub(crate) fn free_buffer(&self, address: u64) {
        let offset = address.wrapping_sub(self.mapping_start());
        let Some(contents) = self.begin_free(offset) else {
            debug::user_error!("frees {address:#x}, which is no buffer it may free");
            return;
        };
        contents.release(self);
    }

    /// Frees the buffer at `offset` unless its memory must be wiped before; returns what
    /// it kept alive. Of several callers only one gets something.
    fn begin_free(&self, offset: u64) -> Option<Contents> {
        let mut buffers = self.buffers.lock();
        let offset = usize::try_from(offset).ok()?;
        let index = buffers.ranges.begin_free_by_offset(offset).ok()?;
        let slot = buffers.ranges.slot(index)?;
        let contents = buffers.ranges.take_payload(index)?;
        if !contents.clear {
            buffers.ranges.release(index);
            return Some(contents);
        }
        drop(buffers);
        self.wipe(&slot);
        self.buffers.lock().ranges.release(index);
        Some(contents)
    }

    fn wipe(&self, slot: &Slot) {
        if let Some(pages) = self.pages_even_if_unmapped() {
            // Fails at the first page that is not there, which holds nothing to wipe; a
            // page that was never made resident is the last that was looked at.
            let _ = pages.clear(slot.offset, slot.size);
        }
    }

    /// Frees a buffer that user space never got.
    pub(crate) fn discard(&self, slot: &Slot, contents: Contents) {
        if contents.clear {
            self.wipe(slot);
        }
        let released = self.buffers.lock().ranges.release(slot.index);
        drop(released);
        contents.release(self);
    }

    /// Ends all buffers that user space holds; those on their way end with their
    /// transactions.
    pub(super) fn end_buffers(&self) {
        self.buffers.lock().dead = true;
        loop {
            let contents = {
                let mut buffers = self.buffers.lock();
                let next = buffers
                    .ranges
                    .iter()
                    .find_map(|(slot, state, _)| (state == State::Delivered).then_some(slot.index));
                match next {
                    None => return,
                    Some(index) => {
                        let contents = buffers.ranges.take_payload(index);
                        let released = buffers.ranges.release(index);
                        drop(buffers);
                        drop(released);
                        contents
                    }
                }
            };
            if let Some(contents) = contents {
                contents.release(self);
            }
        }
    }
}
