// SPDX-License-Identifier: GPL-2.0

//! `BC_REPLY`: a thread answers the call it serves.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{prelude::*, sync::Arc, task::Kuid};

use super::{
    copy::Terms,
    log::{Destination, Kind},
    next_id, Cargo, Reply, Transaction, TransactionData,
};
use crate::{
    defs::{Return, TransactionFlags},
    error::TransactionError,
    ffi::task::WakeMode,
    process::BufferKind,
    reports::{self, Route},
    thread::{NotEnded, Thread},
    work::{Notice, Work},
};

/// Whether the completion of a reply makes the replier return.
#[derive(Clone, Copy)]
enum Completion {
    Immediate,
    /// It waits for the next call, as `TF_DEFER_COMPLETE` asks.
    Deferred,
}

impl Thread {
    /// Carries out a `BC_REPLY`.
    pub(crate) fn reply(self: &Arc<Self>, data: &TransactionData) {
        let id = next_id();
        let (call, notice) = self.begin_reply(id);
        let Some(call) = call else {
            let error = TransactionError::failed(EPROTO);
            let route = Route {
                is_reply: true,
                ..Default::default()
            };
            self.log_failure(id, Kind::Reply, data, Destination::default(), error);
            reports::report(self, data, route, error.code);
            return self.set_error(id, error);
        };
        match notice {
            Ok(notice) => self.reply_to(call, id, notice, data),
            Err(error) => {
                self.log_failure(id, Kind::Reply, data, destination(&call), error.into());
                self.give_up(call, id, error.into());
            }
        }
    }

    fn reply_to(
        self: &Arc<Self>,
        call: Arc<Transaction>,
        id: u32,
        notice: KBox<Notice>,
        data: &TransactionData,
    ) {
        call.trace_reply(id, data);
        match self.make_reply(&call, id, data) {
            Ok(reply) => {
                call.reply_id.store(id, Relaxed);
                self.log(id, Kind::Reply, data, destination(&call));
                call.conclude(Cargo::Reply(reply));
                let below = self.complete_call(notice, Completion::of(data.flags));
                hand_back(call);
                self.settle(below);
            }
            Err(error) => {
                self.log_failure(id, Kind::Reply, data, destination(&call), error);
                reports::report(self, data, route(&call), error.code);
                self.recycle_notice(notice);
                self.give_up(call, id, error);
            }
        }
    }

    /// The caller gets no reply. For the replier the call is complete; it is stopped all
    /// the same.
    fn give_up(self: &Arc<Self>, call: Arc<Transaction>, id: u32, error: TransactionError) {
        let (top, below) = {
            let mut inner = self.inner.lock();
            inner.push_error(Return::TRANSACTION_COMPLETE, 0);
            (inner.stack.pop(), inner.stack.last().cloned())
        };
        drop(top);
        call.request_ends(&self.process);
        self.stop_writing();
        Transaction::fail_with_id(call, id, error);
        self.settle(below);
    }

    /// Copies the reply into the caller's process.
    fn make_reply(
        &self,
        call: &Transaction,
        id: u32,
        data: &TransactionData,
    ) -> Result<Reply, TransactionError> {
        // Only oneway messages have no sender, and they are in no stack.
        let from = call.from.as_ref().filter(|from| !from.is_dead());
        let from = from.ok_or(TransactionError::DIED)?;
        let terms = Terms {
            accepts_files: call.flags.has(TransactionFlags::ACCEPT_FDS),
            kind: BufferKind::Sync,
            id,
        };
        let buffer = self.copy_transaction(data, &from.process, &terms, &[])?;
        let (code, flags, sender_euid) = (data.code, data.flags, Kuid::current_euid());
        Ok(Reply {
            buffer,
            code,
            flags,
            sender_euid,
        })
    }

    /// The call that the thread serves is answered: off the stack, and the completion in
    /// the queue, in one step. So the failure of a call below cannot come in between, and
    /// the caller cannot answer to the reply before.
    ///
    /// Returns what is below it.
    fn complete_call(
        &self,
        mut notice: KBox<Notice>,
        completion: Completion,
    ) -> Option<Arc<Transaction>> {
        notice.code = Return::TRANSACTION_COMPLETE;
        let work = Work::Notice(notice);
        let (call, below, unplaced) = {
            let mut inner = self.inner.lock();
            let call = inner.stack.pop();
            let unplaced = match completion {
                Completion::Immediate => inner.queue.push_immediate(work),
                Completion::Deferred => inner.queue.push_deferred(work),
            };
            (call, inner.stack.last().cloned(), unplaced)
        };
        if let Some(call) = &call {
            call.request_ends(&self.process);
        }
        drop((call, unplaced));
        if matches!(completion, Completion::Immediate) {
            self.notify_poll();
        }
        below
    }

    /// The call `below` the one that this thread has done with may have ended meanwhile,
    /// see [`NotEnded::Later`].
    pub(super) fn settle(self: &Arc<Self>, below: Option<Arc<Transaction>>) {
        if let Some(call) = below.filter(|call| call.is_from(self) && call.is_over()) {
            // The thread itself runs, so there is nobody to wake but who polls.
            if let Ok(wakeup) = self.end_call(&call, WakeMode::Async) {
                wakeup.wake(&self.process);
            }
        }
    }
}

impl Completion {
    fn of(flags: TransactionFlags) -> Self {
        if flags.has(TransactionFlags::DEFER_COMPLETE) {
            Self::Deferred
        } else {
            Self::Immediate
        }
    }
}

/// Where the reply to `call` goes, for the log.
#[inline]
fn destination(call: &Transaction) -> Destination {
    call.from
        .as_ref()
        .map_or(Destination::default(), |from| Destination {
            pid: from.process.pid,
            tid: from.tid,
            node: 0,
        })
}

/// Where the reply to `call` goes, for a report.
fn route(call: &Transaction) -> Route {
    let from = call.from.as_ref();
    Route {
        to_pid: from.map(|from| from.process.pid),
        to_tid: from.map(|from| from.tid),
        is_reply: true,
    }
}

/// Gives an answered call back to its caller.
fn hand_back(call: Arc<Transaction>) {
    let Some(from) = call.from.clone() else {
        return;
    };
    match from.end_call(&call, WakeMode::Sync) {
        Ok(wakeup) => {
            // The caller can use the object again if it is the only one to have it.
            drop(call);
            wakeup.wake(&from.process);
        }
        // It died meanwhile, which is no concern of the replier.
        Err(NotEnded::ThreadIsDead) => drop(call.unload()),
        Err(NotEnded::Later) => {}
    }
}
