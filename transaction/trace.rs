// SPDX-License-Identifier: GPL-2.0

//! What events tell of transactions.

use core::sync::atomic::Ordering::Relaxed;

use kernel::prelude::*;

use super::{Transaction, TransactionData};
use crate::{ffi::trace, node::NodeClaim};

/// A call or oneway message to `target` is about to be made, for thread `tid` or, if that is
/// 0, for any of its process.
#[inline(always)]
pub(super) fn trace_request(id: u32, data: &TransactionData, target: &NodeClaim, tid: i32) {
    trace::transaction(|| {
        let node = target.node();
        let (id, number) = (id as c_int, node.id as c_int);
        (id, number, node.owner.pid, tid, 0, data.code, data.flags.0)
    });
}

impl Transaction {
    /// A reply is about to be given to the caller.
    #[inline(always)]
    pub(super) fn trace_reply(&self, id: u32, data: &TransactionData) {
        trace::transaction(|| {
            let (pid, tid) = self.caller();
            (id as c_int, 0, pid, tid, 1, data.code, data.flags.0)
        });
    }

    /// A call or oneway message has ended.
    #[inline(always)]
    pub(super) fn trace_request_over(&self) {
        trace::txn_latency_free(|| {
            let (from, taker) = (self.caller(), self.taker.load(Relaxed));
            let (id, to) = (self.id as c_int, self.place.pid);
            (id, from.0, from.1, to, taker, self.code, self.flags.0)
        });
    }

    /// The reply to this call was delivered.
    #[inline(always)]
    pub(super) fn trace_reply_over(&self, id: u32) {
        trace::txn_latency_free(|| {
            let (to, taker) = (self.caller(), self.taker.load(Relaxed));
            (
                id as c_int,
                self.place.pid,
                taker,
                to.0,
                to.1,
                self.code,
                self.flags.0,
            )
        });
    }

    /// Process and thread that sent it.
    fn caller(&self) -> (i32, i32) {
        match &self.from {
            Some(from) => (from.process.pid, from.tid),
            None => self.sender,
        }
    }
}
