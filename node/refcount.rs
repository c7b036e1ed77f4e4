// SPDX-License-Identifier: GPL-2.0

//! What the owner of a node believes about references to it.
//!
//! Pure: no kernel imports, tested on the host.
//!
//! The owner's user space keeps an object alive while the driver says that somebody
//! refers to it. It is told when references of a kind appear (`BR_INCREFS` for weak,
//! `BR_ACQUIRE` for strong) and acknowledges that; it is told when the last one is gone
//! (`BR_DECREFS`, `BR_RELEASE`). An appearance that is not acknowledged counts as a
//! reference itself: else the owner could be told to let go of what it has not yet taken.

/// What has been told and what is not acknowledged yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Refcount {
    has_strong: bool,
    has_weak: bool,
    pending_strong: bool,
    pending_weak: bool,
}

/// Messages to be delivered now, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Actions {
    pub(crate) increfs: bool,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
    pub(crate) decrefs: bool,
}

/// There was nothing to acknowledge.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NothingPending;

impl Refcount {
    /// Of a node that nobody was told of.
    pub(crate) const fn new() -> Self {
        Self {
            has_strong: false,
            has_weak: false,
            pending_strong: false,
            pending_weak: false,
        }
    }

    /// Whether there are references that count, given those of others.
    fn wanted(&self, strong: bool, weak: bool) -> (bool, bool) {
        let strong = strong || self.pending_strong;
        // Who holds an object strongly holds its identity as well.
        (strong, weak || strong || self.pending_weak)
    }

    /// Whether the owner must be told something.
    pub(crate) fn needs_work(&self, strong: bool, weak: bool) -> bool {
        self.wanted(strong, weak) != (self.has_strong, self.has_weak)
    }

    /// What the owner must be told, which it then counts as told.
    pub(crate) fn step(&mut self, strong: bool, weak: bool) -> Actions {
        let (strong, weak) = self.wanted(strong, weak);
        let actions = Actions {
            increfs: weak && !self.has_weak,
            acquire: strong && !self.has_strong,
            release: !strong && self.has_strong,
            decrefs: !weak && self.has_weak,
        };
        self.pending_weak |= actions.increfs;
        self.pending_strong |= actions.acquire;
        self.has_strong = strong;
        self.has_weak = weak;
        actions
    }

    /// `BC_INCREFS_DONE`.
    pub(crate) fn ack_increfs(&mut self) -> Result<(), NothingPending> {
        take(&mut self.pending_weak)
    }

    /// `BC_ACQUIRE_DONE`.
    pub(crate) fn ack_acquire(&mut self) -> Result<(), NothingPending> {
        take(&mut self.pending_strong)
    }

    /// Whether nobody refers to the node and its owner knows that.
    pub(crate) fn removable(&self, strong: bool, weak: bool) -> bool {
        self.wanted(strong, weak) == (false, false) && !self.has_strong && !self.has_weak
    }

    /// Counts as told without a message and without an acknowledgement.
    pub(crate) fn force(&mut self) {
        self.has_strong = true;
        self.has_weak = true;
    }
}

fn take(pending: &mut bool) -> Result<(), NothingPending> {
    if core::mem::replace(pending, false) {
        Ok(())
    } else {
        Err(NothingPending)
    }
}
