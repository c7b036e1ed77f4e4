// SPDX-License-Identifier: GPL-2.0

//! The order of oneway messages to one node.
//!
//! At most one oneway message of a node is out at a time; the others wait here
//! until its buffer is freed. So messages of one node arrive in the order they
//! were sent, however many threads serve them.

use crate::{
    ffi::link::Queued,
    work::{Work, WorkQueue},
};

/// Oneway messages of one node. Guarded by the `sched` lock of the node's owner.
pub(crate) struct OnewayQueue {
    busy: bool,
    waiting: WorkQueue,
}

impl OnewayQueue {
    pub(crate) const fn new() -> Self {
        Self {
            busy: false,
            waiting: WorkQueue::new(),
        }
    }

    /// Gives `work` back if it is the message that may go out, else keeps it.
    pub(crate) fn submit(&mut self, work: Work) -> Option<Work> {
        if !self.busy {
            self.busy = true;
            return Some(work);
        }
        self.waiting.push_back(work).err()
    }

    /// The message that was out is done with; the next one may go out.
    pub(crate) fn advance(&mut self) -> Option<Work> {
        let next = self.waiting.pop_front();
        self.busy = next.is_some();
        next
    }

    /// Takes the first of the waiting messages that is `wanted`. Looks at all before it.
    pub(crate) fn take_first(&mut self, wanted: impl Fn(&Work) -> bool) -> Option<Work> {
        let mut found = None;
        self.waiting.visit(None, |work, _| {
            found = wanted(work).then(|| work.counted()).flatten();
            found.is_none()
        });
        // Not the last pointer: the queue has another.
        self.waiting.remove(found?.link())
    }

    /// Whether a message is out.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy
    }

    /// The messages that wait, to be looked at.
    pub(crate) fn waiting(&self) -> &WorkQueue {
        &self.waiting
    }

    /// Takes one waiting message, for the death of the owner.
    pub(crate) fn cancel(&mut self) -> Option<Work> {
        self.waiting.pop_front()
    }
}
