// SPDX-License-Identifier: GPL-2.0

//! Handles in the state files.

use kernel::{prelude::*, sync::Arc};

use super::{Handle, HandleTable};
use crate::{node::Node, process::Process, state::PIECE};

/// A handle at one time.
pub(crate) struct HandleView {
    pub(crate) number: u32,
    pub(crate) node: Arc<Node>,
    pub(crate) strong: u32,
    pub(crate) weak: u32,
    /// Address of the death notification, 0 if there is none; to be hashed.
    pub(crate) death: usize,
}

/// Figures of a handle table.
pub(crate) struct HandleFigures {
    pub(crate) used: u32,
    pub(crate) highest: Option<u32>,
    pub(crate) capacity: u32,
    /// Of the pool and of the table, without the two trees.
    pub(crate) bytes: usize,
}

impl HandleView {
    fn of(number: u32, handle: &Handle) -> Self {
        Self {
            number,
            node: handle.weak_claim.node().clone(),
            strong: handle.strong,
            weak: handle.weak,
            death: handle
                .death
                .as_ref()
                .map_or(0, |death| Arc::as_ptr(death) as usize),
        }
    }
}

impl HandleTable {
    /// Copies handles from number `from` on, as many as there is room for. Returns the number
    /// to go on with.
    fn copy_piece(&self, from: u32, piece: &mut KVec<HandleView>) -> Option<u32> {
        let mut next = Some(from);
        while piece.len() < piece.capacity() {
            let number = self.entries.ids().next_used(next?)?;
            if let Some(handle) = self.entries.get(number) {
                let _ = piece.push_within_capacity(HandleView::of(number, handle));
            }
            next = number.checked_add(1);
        }
        next
    }
}

impl Process {
    /// Calls `visit` on each handle, in order of number, with no lock held.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, and what `visit` fails with.
    pub(crate) fn for_each_handle(&self, mut visit: impl FnMut(&HandleView) -> Result) -> Result {
        let mut piece = KVec::with_capacity(PIECE, GFP_KERNEL)?;
        let mut from = Some(0);
        while let Some(number) = from {
            piece.clear();
            from = self.handles.lock().copy_piece(number, &mut piece);
            piece.iter().try_for_each(&mut visit)?;
        }
        Ok(())
    }

    /// Figures of the table.
    pub(crate) fn handle_figures(&self) -> HandleFigures {
        let table = self.handles.lock();
        HandleFigures {
            used: table.entries.ids().len(),
            highest: table.entries.ids().highest(),
            capacity: table.entries.ids().capacity(),
            bytes: table.entries.bytes(),
        }
    }
}
