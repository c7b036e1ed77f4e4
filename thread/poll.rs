// SPDX-License-Identifier: GPL-2.0

//! `poll(2)` and epoll.
//!
//! Each thread that polls has a wait queue of its own, for what is queued to it,
//! and registers with one of the process as well, for work that any thread may
//! take. Both are freed after an RCU grace period, once all waiters have been told,
//! so that an epoll set that outlives the thread touches only live memory.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{
    bindings::{__poll_t, POLLIN},
    fs::File,
    prelude::*,
    sync::{poll::PollTable, Arc},
};

use super::Thread;

impl Thread {
    /// Registers the caller with the thread's queue, then says whether a read would return
    /// at once. Deferred items alone are no reason.
    ///
    /// The caller is registered with the queue of the process already.
    pub(crate) fn poll(self: &Arc<Self>, file: &File, table: &PollTable<'_>) -> Result<__poll_t> {
        match self.poll_queue() {
            Ok(queue) => table.register_wait(file, queue),
            // Without a queue of its own it listens to that of the process.
            Err(_) => self.polls_process.store(true, Relaxed),
        }
        Ok(if self.has_work() { POLLIN } else { 0 })
    }
}
