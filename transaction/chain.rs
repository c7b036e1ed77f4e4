// SPDX-License-Identifier: GPL-2.0

//! The way from a nested call to the callers behind it.

use kernel::sync::Arc;

use super::Transaction;
use crate::{process::Process, thread::Thread};

/// A thread that waits, directly or through others, for the sender of a call.
pub(super) struct Waiting {
    pub(super) thread: Arc<Thread>,
    /// What it waits for.
    pub(super) call: Arc<Transaction>,
}

/// The call that the sender of a call was serving, if any.
#[derive(Default)]
pub(super) struct Chain(Option<Arc<Transaction>>);

impl Chain {
    /// The chain of a call made while serving `outer`.
    pub(super) fn behind(outer: Option<Arc<Transaction>>) -> Self {
        Self(outer)
    }

    /// The nearest thread of `process` among those that wait, directly or through
    /// others, for the sender: it can take the call, for it has nothing else to do.
    ///
    /// It may stop waiting at any time.
    pub(super) fn nearest_thread(&self, process: &Process) -> Option<Waiting> {
        let mut next = self.0.as_ref();
        while let Some(call) = next {
            match &call.from {
                Some(from) if core::ptr::eq(&*from.process, process) && waits(from, call) => {
                    return Some(Waiting {
                        thread: from.clone(),
                        call: call.clone(),
                    });
                }
                _ => next = call.parent.0.as_ref(),
            }
        }
        None
    }
}

fn waits(thread: &Thread, call: &Transaction) -> bool {
    !thread.is_dead() && !call.is_over()
}

impl Drop for Chain {
    /// Nesting can be deep: dropping one call after the other keeps the stack flat.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(call) = next {
            next = Arc::into_unique_or_drop(call)
                .and_then(|mut call| call.as_mut().project().parent.0.take());
        }
    }
}
