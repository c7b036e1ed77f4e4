// SPDX-License-Identifier: GPL-2.0

//! The table of a process's buffers.

use kernel::{prelude::*, sync::Arc};

use super::Process;
use crate::{
    allocation::{layout::Layout, pages::Pages, Allocation, Contents},
    debug,
    error::TransactionError,
    ffi::trace,
    grow::{retry, Attempt, Request},
    range_alloc::{AllocFail, Allocated, GrowRequest, Kind, Label, RangeAlloc, Slot, State},
};

mod show;

/// What the space of a buffer is charged to.
pub(crate) use crate::range_alloc::Kind as BufferKind;

/// Descriptors in one allocation, so that it stays below a page.
const CHUNK: usize = 32;

type Ranges = RangeAlloc<Contents, CHUNK>;

/// The part of a process that its `buffers` lock guards.
pub(crate) struct Buffers {
    ranges: Ranges,
    /// The memory, from `mmap` to the end of the process.
    pages: Option<Arc<Pages>>,
}

impl Buffers {
    pub(super) const fn new() -> Self {
        Self {
            ranges: RangeAlloc::new(),
            pages: None,
        }
    }

    /// Whether there is a mapping, or was one.
    pub(super) fn is_mapped(&self) -> bool {
        self.pages.is_some()
    }

    /// The memory. The clone is to be dropped after unlocking.
    pub(super) fn pages(&self) -> Option<Arc<Pages>> {
        self.pages.clone()
    }

    /// User space gets the buffer, and may free it from now on.
    pub(crate) fn hand_over(&mut self, slot: &Slot, contents: Contents) {
        // The slot is ours until here, so it takes the payload and the new state.
        let _ = self.ranges.set_payload(slot.index, contents);
        let _ = self.ranges.mark_delivered(slot.index);
    }
}

impl Process {
    /// Makes the table ready for a mapping of `size` bytes, with that memory.
    pub(super) fn start_buffers(&self, size: usize, pages: Arc<Pages>) -> Result {
        let mut memory = Some(GrowRequest::first().allocate()?);
        let started = {
            let mut buffers = self.buffers.lock();
            let started = buffers.ranges.init(size, &mut memory);
            if started.is_ok() {
                buffers.pages = Some(pages);
            }
            started
        };
        drop(memory);
        started.map_err(|_| EBUSY)
    }

    /// Reserves a buffer and makes its memory resident. `id` is the transaction's, for logs.
    ///
    /// # Errors
    ///
    /// `BR_DEAD_REPLY` with `ESRCH` if there is no mapping (any more), `BR_FAILED_REPLY`
    /// with `ENOSPC` if there is no room, or with `ENOMEM`.
    pub(crate) fn allocate(
        self: &Arc<Self>,
        id: u32,
        layout: Layout,
        kind: BufferKind,
    ) -> Result<Allocation, TransactionError> {
        let label = Label {
            id,
            data: layout.data_size() as u32,
            offsets: layout.offsets_size() as u32,
        };
        let (allocated, pages) = self.reserve(layout.total(), kind, label)?;
        trace::transaction_alloc_buf(|| self.buffers.lock().traced(allocated.slot.index));
        let buffer = Allocation::new(self.clone(), pages, allocated, layout);
        buffer.make_resident().map_err(|error| {
            if error == ENOMEM {
                TransactionError::failed(ENOMEM)
            } else {
                TransactionError::dead(ESRCH)
            }
        })?;
        Ok(buffer)
    }

    fn reserve(
        &self,
        size: usize,
        kind: Kind,
        label: Label,
    ) -> Result<(Allocated, Arc<Pages>), TransactionError> {
        retry(|memory| {
            let mut buffers = self.buffers.lock();
            let Some(pages) = buffers.pages().filter(|pages| pages.is_mapped()) else {
                return Attempt::Done(Err(TransactionError::dead(ESRCH)));
            };
            buffers.ranges.install(memory);
            match buffers.ranges.alloc(size, kind, label) {
                Ok(allocated) => Attempt::Done(Ok((allocated, pages))),
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
        match self.begin_free(address) {
            Some(mut contents) => {
                contents.close_descriptors(self);
                contents.release(self);
            }
            None => debug::user_error!("frees {address:#x}, which is no buffer it may free"),
        }
    }

    /// Frees a buffer, wiped if that was asked for; returns what it kept alive. Of several
    /// callers only one gets something.
    fn begin_free(&self, address: u64) -> Option<Contents> {
        let (slot, pages, contents) = {
            let mut buffers = self.buffers.lock();
            let start = buffers.pages.as_ref()?.start() as u64;
            let offset = usize::try_from(address.checked_sub(start)?).ok()?;
            let index = buffers.ranges.begin_free_by_offset(offset).ok()?;
            let contents = buffers.ranges.take_payload(index)?;
            trace::transaction_buffer_release(|| buffers.traced(index));
            if !contents.clear {
                buffers.ranges.release(index);
                return Some(contents);
            }
            (buffers.ranges.slot(index)?, buffers.pages()?, contents)
        };
        wipe(&pages, &slot);
        self.buffers.lock().ranges.release(slot.index);
        Some(contents)
    }

    /// Frees a buffer that user space never got.
    pub(crate) fn discard(&self, pages: &Pages, slot: &Slot, contents: Contents) {
        if contents.clear {
            wipe(pages, slot);
        }
        {
            let mut buffers = self.buffers.lock();
            if contents.superseded {
                trace::transaction_update_buffer_release(|| buffers.traced(slot.index));
            } else {
                trace::transaction_failed_buffer_release(|| buffers.traced(slot.index));
            }
            buffers.ranges.release(slot.index);
        }
        contents.release(self);
    }

    /// Ends all buffers that user space holds; those on their way end with their
    /// transactions. No new ones can be made.
    pub(super) fn end_buffers(&self) {
        let pages = self.buffers.lock().pages.take();
        drop(pages);
        while let Some(contents) = self.pop_delivered() {
            contents.release(self);
        }
    }

    fn pop_delivered(&self) -> Option<Contents> {
        let mut buffers = self.buffers.lock();
        let is_delivered =
            |(slot, state, _): (Slot, State, _)| (state == State::Delivered).then_some(slot.index);
        let index = buffers.ranges.iter().find_map(is_delivered)?;
        let contents = buffers.ranges.take_payload(index);
        trace::transaction_buffer_release(|| buffers.traced(index));
        buffers.ranges.release(index);
        contents
    }
}

fn wipe(pages: &Pages, slot: &Slot) {
    // Fails at the first page that is not resident: the transaction was given up as it was
    // being made so, and nothing was written.
    let _ = pages.clear(slot.offset, slot.size);
}
