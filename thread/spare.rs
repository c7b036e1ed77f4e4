// SPDX-License-Identifier: GPL-2.0

//! What a command needs before it takes effect, most of it kept from the last one.
//!
//! All that can be lacking is found out in one section under the thread's lock; what is
//! not there is allocated after it. So the usual call allocates nothing, and a command
//! that lacks memory fails before it has done anything.

use kernel::{prelude::*, sync::Arc};

use super::Thread;
use crate::{
    defs::Return,
    error::{ExtendedError, TransactionError},
    ffi::work::{REQUEST, RESPONSE},
    stats::Kept,
    transaction::{NewTransaction, Transaction},
    work::Notice,
};

/// How many calls a thread may take part in at a time. Programs nest a few dozen at most;
/// without a limit, who calls back and forth for ever makes the kernel allocate more than
/// it does in one piece.
const DEEPEST: usize = 1024;

type Outcome<T> = core::result::Result<T, TransactionError>;

/// What is kept. Guarded by the thread's lock.
#[derive(Default)]
pub(super) struct Spare {
    notice: Option<KBox<Notice>>,
    transaction: Option<NewTransaction>,
}

impl Spare {
    /// Keeps a notice; gives back the one that was there, to be dropped after unlocking.
    pub(super) fn keep_notice(&mut self, notice: KBox<Notice>) -> Option<KBox<Notice>> {
        self.notice.replace(notice)
    }
}

/// What a call needs.
pub(crate) struct CallStart {
    /// The call that the thread serves at the moment.
    pub(crate) outer: Option<Arc<Transaction>>,
    pub(crate) notice: KBox<Notice>,
    pub(crate) transaction: NewTransaction,
}

impl Thread {
    /// Prepares a call. The stack has room for it then.
    ///
    /// # Errors
    ///
    /// `EPROTO` if the thread may not make a call now: it waits for another, or has not
    /// read the request or the outcome that is next in its queue. `ENOMEM`, also if it takes part in too
    /// many calls.
    pub(crate) fn begin_call(self: &Arc<Self>, id: u32) -> Outcome<CallStart> {
        let (outer, spare, has_room) = {
            let mut inner = self.inner.lock();
            if matches!(inner.queue.front_kind(), Some(REQUEST | RESPONSE)) {
                return Err(TransactionError::failed(EPROTO));
            }
            if inner.stack.len() >= DEEPEST {
                return Err(TransactionError::failed(ENOMEM));
            }
            inner.extended_error = ExtendedError::none(id);
            let has_room = inner.stack.capacity() > inner.stack.len();
            (
                inner.stack.last().cloned(),
                core::mem::take(&mut inner.spare),
                has_room,
            )
        };
        if outer.as_ref().is_some_and(|top| top.is_from(self)) {
            return Err(TransactionError::failed(EPROTO));
        }
        if !has_room {
            self.grow_stack()?;
        }
        let notice = or_new_notice(spare.notice)?;
        let transaction = match spare.transaction {
            Some(spare) => spare,
            None => Transaction::empty()?,
        };
        Ok(CallStart {
            outer,
            notice,
            transaction,
        })
    }

    /// Prepares a oneway message: the notice of its outcome.
    pub(crate) fn begin_oneway(&self, id: u32) -> Outcome<KBox<Notice>> {
        let spare = {
            let mut inner = self.inner.lock();
            inner.extended_error = ExtendedError::none(id);
            inner.spare.notice.take()
        };
        Ok(or_new_notice(spare)?)
    }

    /// Prepares a reply: the call that the thread serves, if it does, and the notice of
    /// the outcome, if there is memory for it.
    pub(crate) fn begin_reply(
        self: &Arc<Self>,
        id: u32,
    ) -> (Option<Arc<Transaction>>, Result<KBox<Notice>>) {
        let (top, spare) = {
            let mut inner = self.inner.lock();
            inner.extended_error = ExtendedError::none(id);
            (inner.stack.last().cloned(), inner.spare.notice.take())
        };
        (top.filter(|top| !top.is_from(self)), or_new_notice(spare))
    }

    /// Keeps a notice that is done with.
    pub(crate) fn recycle_notice(&self, notice: KBox<Notice>) {
        let surplus = self.inner.lock().spare.keep_notice(notice);
        drop(surplus);
    }

    /// Keeps the object of an ended call, if nobody else has it.
    pub(crate) fn recycle_transaction(&self, call: Arc<Transaction>) {
        if let Some(mut call) = Arc::into_unique_or_drop(call) {
            call.as_mut().reset();
            let surplus = self.inner.lock().spare.transaction.replace(call);
            drop(surplus);
        }
    }

    /// What the thread keeps for its next commands.
    pub(crate) fn kept(&self) -> Kept {
        let inner = self.inner.lock();
        Kept {
            transactions: inner.spare.transaction.is_some().into(),
            notices: inner.spare.notice.is_some().into(),
        }
    }

    /// Lets go of what is kept, at the end of the thread.
    pub(super) fn drop_spare(&self) {
        let spare = core::mem::take(&mut self.inner.lock().spare);
        drop(spare);
    }

    /// Makes room for one more transaction in the stack, if there is none.
    #[cold]
    pub(super) fn grow_stack(&self) -> Result {
        let needed = self.inner.lock().stack.len().saturating_add(1);
        let mut larger = KVec::with_capacity(needed.saturating_mul(2), GFP_KERNEL)?;
        {
            // Only the thread itself makes the stack longer, so the room still suffices.
            let mut inner = self.inner.lock();
            core::mem::swap(&mut inner.stack, &mut larger);
            for transaction in larger.drain_all() {
                let _ = inner.stack.push_within_capacity(transaction);
            }
        }
        drop(larger);
        Ok(())
    }
}

fn or_new_notice(spare: Option<KBox<Notice>>) -> Result<KBox<Notice>> {
    match spare {
        Some(notice) => Ok(notice),
        None => Notice::new(Return::TRANSACTION_COMPLETE),
    }
}
