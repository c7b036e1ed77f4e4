// SPDX-License-Identifier: GPL-2.0

//! Which threads serve requests, and when the driver asks for one more.
//!
//! A thread says that it serves requests in one of two ways: `BC_ENTER_LOOPER` if the
//! program started it on its own account, `BC_REGISTER_LOOPER` if the driver asked for it
//! with `BR_SPAWN_LOOPER`. The driver asks for one thread at a time, and in total for as
//! many as the program allows with `BINDER_SET_MAX_THREADS`.
//!
//! Nothing depends on these commands being used correctly. A thread that misuses them is
//! marked, which shows in the log, and is served like any other. The counts are of requests,
//! not of threads: they do not fall when a thread exits.

/// The commands were misused; the thread is marked [`Looper::INVALID`] now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// `BC_REGISTER_LOOPER` by a thread that had entered.
    RegisterAfterEnter,
    /// `BC_REGISTER_LOOPER` while no thread was asked for.
    NotRequested,
    /// `BC_ENTER_LOOPER` by a thread that had registered.
    EnterAfterRegister,
}

/// What a thread said about itself.
///
/// Locking: guarded with the thread's other state. Only its own thread changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looper(u8);

impl Looper {
    /// The thread registered.
    pub(crate) const REGISTERED: u8 = 1;
    /// The thread entered.
    pub(crate) const ENTERED: u8 = 2;
    /// The thread said that it no longer serves requests. Has no consequence.
    pub(crate) const EXITED: u8 = 4;
    /// The thread misused the commands.
    pub(crate) const INVALID: u8 = 8;

    /// Of a thread that has said nothing.
    pub(crate) const fn new() -> Self {
        Self(0)
    }

    /// The bits above, as they appear in the state log.
    pub(crate) fn bits(self) -> u8 {
        self.0
    }

    /// Whether the thread said that it serves requests.
    #[inline]
    pub(crate) fn serves(self) -> bool {
        self.0 & (Self::REGISTERED | Self::ENTERED) != 0
    }

    /// `BC_ENTER_LOOPER`. Entering twice is harmless.
    ///
    /// # Errors
    ///
    /// [`Misuse::EnterAfterRegister`], for the log only: the thread has entered nevertheless.
    pub(crate) fn enter(&mut self) -> Result<(), Misuse> {
        let result = if self.0 & Self::REGISTERED != 0 {
            Err(Misuse::EnterAfterRegister)
        } else {
            Ok(())
        };
        self.finish(Self::ENTERED, result)
    }

    /// `BC_REGISTER_LOOPER`. Takes the outstanding request of `pool`, but not for a thread
    /// that had entered: the one that was asked for is still to come.
    ///
    /// # Errors
    ///
    /// For the log only: the thread has registered nevertheless.
    pub(crate) fn register(&mut self, pool: &mut Pool) -> Result<(), Misuse> {
        let result = if self.0 & Self::ENTERED != 0 {
            Err(Misuse::RegisterAfterEnter)
        } else {
            pool.take_request()
        };
        self.finish(Self::REGISTERED, result)
    }

    /// `BC_EXIT_LOOPER`.
    pub(crate) fn exit(&mut self) {
        self.0 |= Self::EXITED;
    }

    fn finish(&mut self, said: u8, result: Result<(), Misuse>) -> Result<(), Misuse> {
        self.0 |= said;
        if result.is_err() {
            self.0 |= Self::INVALID;
        }
        result
    }
}

/// Whether a process has a thread that waits for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// No thread waits.
    Nobody,
    /// At least one thread waits.
    Somebody,
}

/// The threads that the driver asks a process for.
///
/// # Invariants
///
/// * `started` has never been counted up from `max` or more, so it can not overflow.
///
/// Locking: guarded with the list of waiting threads of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pool {
    max: u32,
    requested: bool,
    started: u32,
}

impl Pool {
    /// Of a new process: it allows no thread to be asked for.
    pub(crate) const fn new() -> Self {
        Self {
            max: 0,
            requested: false,
            started: 0,
        }
    }

    /// `BINDER_SET_MAX_THREADS`: any number is accepted. What was asked for already counts,
    /// but a smaller number ends no thread.
    pub(crate) fn set_max(&mut self, max: u32) {
        self.max = max;
    }

    /// Threads that may be asked for in total.
    pub(crate) fn max(self) -> u32 {
        self.max
    }

    /// Requests to which no thread registered yet: 0 or 1.
    pub(crate) fn requested(self) -> u32 {
        u32::from(self.requested)
    }

    /// Threads that registered upon request.
    pub(crate) fn started(self) -> u32 {
        self.started
    }

    /// Whether to ask for a thread at the end of a read: the reader serves requests, it is
    /// about to be busy, and nobody else waits.
    #[inline]
    pub(crate) fn should_spawn(self, ready: Ready, reader: Looper) -> bool {
        ready == Ready::Nobody && !self.requested && self.started < self.max && reader.serves()
    }

    /// Notes that a thread is asked for, if [`Pool::should_spawn`]; says whether it is.
    #[inline]
    pub(crate) fn request_spawn(&mut self, ready: Ready, reader: Looper) -> bool {
        let spawn = self.should_spawn(ready, reader);
        self.requested |= spawn;
        spawn
    }

    /// Takes back a request that user space did not get to read.
    pub(crate) fn cancel_request(&mut self) {
        self.requested = false;
    }

    fn take_request(&mut self) -> Result<(), Misuse> {
        if !core::mem::take(&mut self.requested) {
            return Err(Misuse::NotRequested);
        }
        self.started = self.started.saturating_add(1);
        Ok(())
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_looper))]
mod tests {
    use super::*;

    fn entered() -> Looper {
        let mut looper = Looper::new();
        assert_eq!(looper.enter(), Ok(()));
        looper
    }

    fn allowing(max: u32) -> Pool {
        let mut pool = Pool::new();
        pool.set_max(max);
        pool
    }

    #[test]
    fn a_thread_is_asked_for_and_registers() {
        let mut pool = allowing(1);
        assert!(pool.request_spawn(Ready::Nobody, entered()));
        assert_eq!((pool.requested(), pool.started()), (1, 0));
        let mut new = Looper::new();
        assert!(!new.serves());
        assert_eq!(new.register(&mut pool), Ok(()));
        assert_eq!((pool.requested(), pool.started()), (0, 1));
        assert_eq!((new.serves(), new.bits()), (true, Looper::REGISTERED));
        assert!(!pool.request_spawn(Ready::Nobody, new));
    }

    #[test]
    fn nobody_is_asked_for_without_need() {
        let mut pool = allowing(5);
        assert!(!pool.request_spawn(Ready::Somebody, entered()));
        assert!(!pool.request_spawn(Ready::Nobody, Looper::new()));
        assert!(pool.request_spawn(Ready::Nobody, entered()));
        // One at a time.
        assert!(!pool.request_spawn(Ready::Nobody, entered()));
        pool.cancel_request();
        assert!(pool.request_spawn(Ready::Nobody, entered()));
    }

    #[test]
    fn no_thread_is_asked_for_by_default() {
        assert!(!Pool::new().should_spawn(Ready::Nobody, entered()));
    }

    #[test]
    fn any_limit_is_accepted() {
        let mut pool = allowing(u32::MAX);
        pool.started = u32::MAX - 1;
        assert!(pool.request_spawn(Ready::Nobody, entered()));
        assert_eq!(Looper::new().register(&mut pool), Ok(()));
        assert_eq!(pool.started(), u32::MAX);
        assert!(!pool.should_spawn(Ready::Nobody, entered()));
    }

    #[test]
    fn a_lower_limit_does_not_revoke_a_request() {
        let mut pool = allowing(2);
        assert!(pool.request_spawn(Ready::Nobody, entered()));
        pool.set_max(0);
        assert_eq!(Looper::new().register(&mut pool), Ok(()));
        assert!(!pool.should_spawn(Ready::Nobody, entered()));
        pool.set_max(2);
        assert!(pool.should_spawn(Ready::Nobody, entered()));
    }

    #[test]
    fn registering_unasked_is_marked() {
        let mut pool = allowing(5);
        let mut looper = Looper::new();
        assert_eq!(looper.register(&mut pool), Err(Misuse::NotRequested));
        assert_eq!(looper.bits(), Looper::REGISTERED | Looper::INVALID);
        assert_eq!((pool.requested(), pool.started()), (0, 0));
        assert!(looper.serves());
    }

    #[test]
    fn registering_after_entering_leaves_the_request() {
        let mut pool = allowing(5);
        let mut looper = entered();
        assert!(pool.request_spawn(Ready::Nobody, looper));
        assert_eq!(looper.register(&mut pool), Err(Misuse::RegisterAfterEnter));
        assert_eq!((pool.requested(), pool.started()), (1, 0));
        assert_eq!(looper.bits(), 1 | 2 | 8);
    }

    #[test]
    fn entering_after_registering_is_marked_and_entering_twice_is_not() {
        let mut pool = allowing(5);
        let mut looper = entered();
        assert_eq!((looper.enter(), looper.bits()), (Ok(()), Looper::ENTERED));
        assert!(pool.request_spawn(Ready::Nobody, looper));
        let mut looper = Looper::new();
        assert_eq!(looper.register(&mut pool), Ok(()));
        assert_eq!(looper.enter(), Err(Misuse::EnterAfterRegister));
        assert_eq!(looper.bits(), 1 | 2 | 8);
    }

    #[test]
    fn exiting_changes_nothing_else() {
        let mut looper = entered();
        looper.exit();
        assert_eq!((looper.serves(), looper.bits()), (true, 2 | 4));
    }

    /// Every sequence of five commands, with and without a request.
    #[test]
    fn all_sequences() {
        for sequence in 0..4_u32.pow(5) {
            let mut pool = allowing(2);
            let mut looper = Looper::new();
            let mut before = looper.bits();
            for place in 0..5 {
                let started = pool.started();
                match sequence / 4_u32.pow(place) % 4 {
                    0 => drop(looper.enter()),
                    1 => drop(looper.register(&mut pool)),
                    2 => looper.exit(),
                    _ => drop(pool.request_spawn(Ready::Nobody, entered())),
                }
                assert!(pool.requested() <= 1 && pool.started() <= 2);
                assert!(pool.started() - started <= 1);
                assert_eq!(looper.bits() & before, before);
                before = looper.bits();
            }
            assert!(looper.serves() || looper.bits() & Looper::INVALID == 0);
        }
    }
}
