// SPDX-License-Identifier: GPL-2.0

//! The end of a thread: `BINDER_THREAD_EXIT`, or the end of its process.

use core::sync::atomic::Ordering::Relaxed;

use kernel::sync::Arc;

use super::Thread;
use crate::{error::TransactionError, transaction::Transaction, work::Work};

impl Thread {
    /// Ends everything the thread takes part in. Who waits for it is told at once.
    ///
    /// The thread is no longer in the table of its process. Idempotent.
    pub(crate) fn end(self: &Arc<Self>) {
        self.ended.store(true, Relaxed);
        let entry = {
            let mut sched = self.process.sched.lock();
            // Both under one lock: no work is handed to a dead thread.
            self.inner.lock().dead = true;
            sched.remove_ready(self)
        };
        drop(entry);
        self.end_stack();
        self.cancel_queue();
        self.drop_spare();
        self.notify_poll();
    }

    /// Calls that the thread serves fail; replies to those it made find nobody.
    fn end_stack(self: &Arc<Self>) {
        let mut stack = core::mem::take(&mut self.inner.lock().stack);
        while let Some(transaction) = stack.pop() {
            if !transaction.is_from(self) {
                transaction.request_ends(&self.process);
                Transaction::fail(transaction, TransactionError::DIED);
            }
        }
    }

    /// Undelivered transactions fail; what concerns the whole process goes back to it.
    fn cancel_queue(self: &Arc<Self>) {
        loop {
            let work = self.inner.lock().queue.pop_any();
            match work {
                None => return,
                Some(work @ (Work::Node(_) | Work::Death(_) | Work::Freeze(_))) => {
                    self.process.requeue(work)
                }
                Some(Work::NodeForSender(node)) => self.process.requeue(Work::Node(node)),
                Some(work) => work.cancel(),
            }
        }
    }
}

impl Work {
    /// Gives up on work that nobody will read.
    pub(crate) fn cancel(self) {
        match self {
            Work::Request(transaction) => Transaction::fail(transaction, TransactionError::DIED),
            Work::Response(transaction) => drop(transaction),
            Work::Node(node) | Work::NodeForSender(node) => drop(node),
            Work::Death(death) => drop(death),
            Work::Freeze(freeze) => drop(freeze),
            Work::Notice(notice) => drop(notice),
            Work::OwnError(error) => drop(error),
        }
    }
}
