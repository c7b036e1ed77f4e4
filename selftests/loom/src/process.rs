// SPDX-License-Identifier: GPL-2.0

//! A process: its scheduler, which is the driver's.

use kernel::{
    alloc::KVec,
    sync::{Arc, SpinLock},
};

use crate::{ffi::task::WakeMode, work::Work};

#[path = "../../../process/freezer.rs"]
pub(crate) mod freezer;
#[path = "../../../process/scheduler.rs"]
mod scheduler;

pub(crate) use scheduler::{Sched, Wakeup};

/// One opened file.
pub struct Process {
    pub(crate) sched: SpinLock<Sched>,
}

impl Process {
    /// A process in which at most `threads` threads can be ready.
    pub fn new(threads: usize) -> Arc<Self> {
        let mut sched = Sched::new();
        drop(sched.grow_ready(KVec::with_room(threads)));
        Arc::new(Self {
            sched: SpinLock::new(sched),
        })
    }

    /// Gives the process work, as a caller of one of its objects does.
    pub fn push(&self, work: Work) {
        let wakeup = self.sched.lock().push_with(work, WakeMode::Sync);
        wakeup.wake(self);
    }

    /// Takes work that no thread has.
    pub fn take(&self) -> Option<Work> {
        self.sched.lock().pop()
    }

    /// Whether work waits that no thread has.
    pub fn has_work(&self) -> bool {
        self.sched.lock().has_work()
    }

    /// Nobody polls.
    pub(crate) fn notify_poll(&self) {}
}
