// SPDX-License-Identifier: GPL-2.0

//! The failure of a thread's own last command.
//!
//! It waits in the queue like all that the thread is to read, and stops the write loop
//! until it was read. That it has its place in memory from the start is why it can always
//! be told.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kernel::prelude::*;

use super::{Inner, Thread};
use crate::{
    defs::Return,
    error::{ExtendedError, TransactionError},
    ffi::link::Link,
    work::Work,
};

/// A failure, or the place for one.
pub(crate) struct OwnError {
    pub(crate) link: Link,
    pub(crate) code: Return,
    /// What `BR_ERROR` carries: an errno, negative.
    pub(super) errno: i32,
}

impl OwnError {
    /// A place; to be made without any lock.
    pub(super) fn new() -> Result<KBox<Self>> {
        let error = Self {
            link: Link::new(),
            code: Return::OK,
            errno: 0,
        };
        Ok(KBox::new(error, GFP_KERNEL)?)
    }
}

/// Whether a failure was not read yet.
///
/// *Locking*: none. Only the task that the thread object stands for sets and clears it, in
/// its own system calls; it is atomic for the type system alone.
pub(super) struct Stopped(AtomicBool);

impl Stopped {
    pub(super) const fn no() -> Self {
        Self(AtomicBool::new(false))
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Inner {
    /// Queues a failure.
    pub(crate) fn push_error(&mut self, code: Return, errno: i32) {
        // The write loop carries out nothing before the last failure was read, and its
        // place was given back.
        if let Some(mut error) = self.error.take() {
            error.code = code;
            error.errno = errno;
            // In no queue, for it was in its place.
            let _ = self.queue.push_immediate(Work::OwnError(error));
        }
    }
}

impl Thread {
    /// The thread's own command failed with a return that says so.
    pub(crate) fn set_error(&self, id: u32, error: TransactionError) {
        {
            let mut inner = self.inner.lock();
            inner.push_error(error.code, 0);
            inner.extended_error = ExtendedError::of(id, error);
        }
        self.stop_writing();
    }

    /// The thread's own command failed, and has no return of its own for that.
    pub(super) fn set_errno(&self, error: Error) {
        self.inner
            .lock()
            .push_error(Return::ERROR, error.to_errno());
        self.stop_writing();
    }

    /// A failure was queued: nothing more is written before it was read.
    pub(crate) fn stop_writing(&self) {
        self.stopped.0.store(true, Relaxed);
        self.notify_poll();
    }

    /// A failure is read: gives its place back.
    pub(super) fn error_read(&self, error: KBox<OwnError>) {
        let surplus = self.inner.lock().error.replace(error);
        self.stopped.0.store(false, Relaxed);
        drop(surplus);
    }
}
