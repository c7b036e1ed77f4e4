// SPDX-License-Identifier: GPL-2.0

//! What waits for one thread, and which of it is a reason to return.
//!
//! A thread that has sent a call usually has nothing to do until the reply is
//! there. Returning to user space only to say `BR_TRANSACTION_COMPLETE` would
//! cost a system call, so such items are *deferred*: they are delivered in their
//! place in the order, but the thread may sleep while it has nothing else.
//!
//! Whether a thread *has* deferred items is a question about the queue (it is
//! not empty), never about the flag that says whether it may sleep.

use crate::work::{Work, WorkQueue};

/// The queue of one thread. Guarded by the thread's lock.
///
/// # Invariants
///
/// `urgent` is false if and only if all items were pushed by
/// [`LocalQueue::push_deferred`] since the queue was last empty.
pub(crate) struct LocalQueue {
    items: WorkQueue,
    urgent: bool,
}

impl LocalQueue {
    /// An empty queue.
    pub(crate) const fn new() -> Self {
        Self {
            items: WorkQueue::new(),
            urgent: false,
        }
    }

    /// Appends an item that ends the thread's sleep.
    ///
    /// Gives `work` back if its object is queued somewhere already.
    pub(crate) fn push_immediate(&mut self, work: Work) -> Result<(), Work> {
        self.items.push_back(work)?;
        self.urgent = true;
        Ok(())
    }

    /// Appends an item that waits for another reason to return.
    pub(crate) fn push_deferred(&mut self, work: Work) -> Result<(), Work> {
        self.items.push_back(work)
    }

    /// Takes the oldest item, deferred or not.
    pub(crate) fn pop_any(&mut self) -> Option<Work> {
        let work = self.items.pop_front();
        if self.items.is_empty() {
            self.urgent = false;
        }
        work
    }

    /// Whether there is a reason to return.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Whether nothing waits, deferred items included.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether a request is the next thing to be read.
    pub(crate) fn request_is_first(&self) -> bool {
        Work::request_is_first(&self.items)
    }
}
