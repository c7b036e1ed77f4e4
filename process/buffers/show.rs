// SPDX-License-Identifier: GPL-2.0

//! Buffers in the state files.

use kernel::prelude::*;

use super::Buffers;
use crate::{
    process::Process,
    range_alloc::{Label, Slot, State},
    state::PIECE,
    transaction::BufferView,
};

/// Figures of the buffers of a process, in bytes unless said otherwise.
#[derive(Default)]
pub(crate) struct BufferFigures {
    /// Number of buffers.
    pub(crate) buffers: usize,
    pub(crate) size: usize,
    pub(crate) free: usize,
    pub(crate) free_oneway: usize,
    /// Number of resident pages, and of pages of the mapping.
    pub(crate) pages: (usize, usize),
}

/// A buffer, with its parts: data, offsets, and all that is behind them.
pub(crate) struct Shown {
    pub(crate) id: u32,
    pub(crate) offset: usize,
    pub(crate) sizes: (usize, usize, usize),
    pub(crate) is_delivered: bool,
}

impl Shown {
    fn of((slot, state, label): (Slot, State, Label)) -> Self {
        let (data, offsets) = (label.data as usize, label.offsets as usize);
        let before = data.next_multiple_of(8).saturating_add(offsets);
        // An empty transaction has a buffer for the sake of its address.
        let extra = if before == 0 && slot.size == 8 {
            0
        } else {
            slot.size.saturating_sub(before)
        };
        Self {
            id: label.id,
            offset: slot.offset,
            sizes: (data, offsets, extra),
            is_delivered: state != State::Reserved,
        }
    }
}

impl Buffers {
    /// What events tell of a buffer: its transaction, and the sizes of its parts.
    pub(super) fn traced(&self, index: u32) -> (c_int, usize, usize, usize) {
        self.ranges.labelled(index).map_or((0, 0, 0, 0), |buffer| {
            let Shown { id, sizes, .. } = Shown::of(buffer);
            (id as c_int, sizes.0, sizes.1, sizes.2)
        })
    }

    /// Looks at descriptors from `from` on, as many as there is room for. Returns the one
    /// to go on with.
    fn copy_piece(&self, from: u32, piece: &mut KVec<Shown>) -> Option<u32> {
        let end = u32::try_from(self.ranges.descriptors()).unwrap_or(u32::MAX);
        let stop = end.min(from.saturating_add(PIECE as u32));
        for index in from..stop {
            if let Some(buffer) = self.ranges.labelled(index) {
                let _ = piece.push_within_capacity(Shown::of(buffer));
            }
        }
        (stop < end).then_some(stop)
    }
}

impl Process {
    /// Calls `visit` on each buffer, in no order, with no lock held.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what `visit` fails with.
    pub(crate) fn for_each_buffer(&self, mut visit: impl FnMut(&Shown) -> Result) -> Result {
        let mut piece = KVec::with_capacity(PIECE, GFP_KERNEL)?;
        let mut from = Some(0);
        while let Some(index) = from {
            piece.clear();
            from = self.buffers.lock().copy_piece(index, &mut piece);
            piece.iter().try_for_each(&mut visit)?;
        }
        Ok(())
    }

    /// The buffer of transaction `id` at `offset` in the mapping, if it is still there.
    ///
    /// May be called under locks of higher levels.
    pub(crate) fn find_buffer(&self, offset: u32, id: u32) -> Option<BufferView> {
        let buffers = self.buffers.lock();
        let (slot, _) = buffers.ranges.find(offset as usize)?;
        let (_, _, label) = buffers.ranges.labelled(slot.index)?;
        (label.id == id).then_some(BufferView {
            node: 0,
            data: label.data as usize,
            offsets: label.offsets as usize,
            offset,
        })
    }

    /// Figures of the buffers.
    pub(crate) fn buffer_figures(&self) -> BufferFigures {
        let (mut figures, pages) = {
            let buffers = self.buffers.lock();
            let figures = BufferFigures {
                buffers: buffers.ranges.buffers(),
                size: buffers.ranges.size(),
                free: buffers.ranges.free_space(),
                free_oneway: buffers.ranges.free_oneway_space(),
                pages: (0, 0),
            };
            (figures, buffers.pages())
        };
        if let Some(pages) = pages {
            figures.pages = pages.count();
        }
        figures
    }
}
