// SPDX-License-Identifier: GPL-2.0

//! What a thread has said about itself, and the growth of the thread pool.
//!
//! Pure: no kernel imports, tested on the host.

/// The looper commands a thread has sent. Guarded by the thread's lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Looper {
    bits: u8,
}

const REGISTERED: u8 = 0x01;
const ENTERED: u8 = 0x02;
const EXITED: u8 = 0x04;
const INVALID: u8 = 0x08;

/// A looper command that makes no sense where it stands. Told to nobody but the
/// log: the thread goes on to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Misuse;

impl Looper {
    /// A thread that has said nothing.
    pub(crate) const fn new() -> Self {
        Self { bits: 0 }
    }

    /// `BC_ENTER_LOOPER`: a thread that the application made.
    pub(crate) fn enter(&mut self) -> Result<(), Misuse> {
        let misuse = self.has(REGISTERED);
        self.bits |= ENTERED;
        self.check(misuse)
    }

    /// `BC_REGISTER_LOOPER`: a thread made on request of the driver.
    ///
    /// Uses up the outstanding request, unless the thread is one of the application's.
    pub(crate) fn register(&mut self, pool: &mut Pool) -> Result<(), Misuse> {
        let misuse = self.has(ENTERED) || !pool.answer();
        self.bits |= REGISTERED;
        self.check(misuse)
    }

    /// `BC_EXIT_LOOPER`: the thread will read no more.
    pub(crate) fn exit(&mut self) {
        self.bits |= EXITED;
    }

    /// Whether the thread serves calls, in either way.
    pub(crate) fn is_looper(&self) -> bool {
        self.has(REGISTERED | ENTERED)
    }

    fn has(&self, any: u8) -> bool {
        self.bits & any != 0
    }

    fn check(&mut self, misuse: bool) -> Result<(), Misuse> {
        if misuse {
            self.bits |= INVALID;
            return Err(Misuse);
        }
        Ok(())
    }
}

/// The growth of a process's thread pool. Guarded by the process's `sched` lock.
///
/// # Invariants
///
/// At most one request is outstanding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pool {
    max: u32,
    requested: bool,
    started: u32,
}

impl Pool {
    /// A pool that does not grow.
    pub(crate) const fn new() -> Self {
        Self {
            max: 0,
            requested: false,
            started: 0,
        }
    }

    /// Sets how many threads the driver may ask for in total. Any value is allowed;
    /// threads that were started stay.
    pub(crate) fn set_max(&mut self, max: u32) {
        self.max = max;
    }

    /// Whether the pool could grow, as a cheap first check.
    pub(crate) fn can_grow(&self) -> bool {
        !self.requested && self.started < self.max
    }

    /// Asks for one more thread: the caller must deliver `BR_SPAWN_LOOPER`.
    pub(crate) fn request(&mut self) {
        self.requested = true;
    }

    /// A thread came. Returns whether one was asked for.
    fn answer(&mut self) -> bool {
        if !self.requested {
            return false;
        }
        self.requested = false;
        self.started = self.started.saturating_add(1);
        true
    }
}
