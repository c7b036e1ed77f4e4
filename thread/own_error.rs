// SPDX-License-Identifier: GPL-2.0

//! The failure of a thread's own last command.
//!
//! The write loop stops at it, and the thread reads it after all that waits.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::defs::Return;

/// What went wrong with the last command of a thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnError {
    /// This return says it.
    Command(Return),
    /// `BR_ERROR` with this errno, negative.
    Errno(i32),
    /// A notice in the queue says it; only the write loop has to stop.
    Noticed,
}

const COMMAND: u64 = 1 << 32;
const ERRNO: u64 = 2 << 32;
const NOTICED: u64 = 3 << 32;

/// A place for one failure.
///
/// *Locking*: none. Only the task that the thread object stands for sets, reads and takes
/// it, all in its own system calls; it is atomic for the type system alone.
pub(super) struct OwnErrorSlot(AtomicU64);

impl OwnErrorSlot {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    pub(super) fn set(&self, error: OwnError) {
        let word = match error {
            OwnError::Command(code) => COMMAND | u64::from(code.0),
            OwnError::Errno(errno) => ERRNO | u64::from(errno as u32),
            OwnError::Noticed => NOTICED,
        };
        self.0.store(word, Relaxed);
    }

    pub(super) fn take(&self) -> Option<OwnError> {
        let word = self.0.load(Relaxed);
        self.0.store(0, Relaxed);
        let low = word as u32;
        match word & !u64::from(u32::MAX) {
            COMMAND => Some(OwnError::Command(Return(low))),
            ERRNO => Some(OwnError::Errno(low as i32)),
            NOTICED => Some(OwnError::Noticed),
            _ => None,
        }
    }

    /// A notice was read.
    pub(super) fn notice_read(&self) {
        if self.0.load(Relaxed) == NOTICED {
            self.0.store(0, Relaxed);
        }
    }
}
