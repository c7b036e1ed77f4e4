// SPDX-License-Identifier: GPL-2.0

//! What the owner of a node is told about references to it.
//!
//! The driver counts the claims on a node: handles of other processes, messages on their
//! way, requests being served. The owner learns nothing of the numbers, but whether there
//! is any strong and any weak claim, so that its object lives as long as somebody may call
//! it:
//!
//! | told            | when                          | answered with       |
//! |-----------------|-------------------------------|---------------------|
//! | `BR_INCREFS`    | the first claim appeared      | `BC_INCREFS_DONE`   |
//! | `BR_ACQUIRE`    | the first strong one appeared | `BC_ACQUIRE_DONE`   |
//! | `BR_RELEASE`    | the last strong one is gone   |                     |
//! | `BR_DECREFS`    | the last claim is gone        |                     |
//!
//! Telling is asynchronous: a change queues the node as work, and only when a thread of the
//! owner reads that work it is decided, by [`Refcount::step`], what is true by then. Several
//! changes in between become one notice or none.
//!
//! An unanswered notice is itself a claim. Otherwise the owner might read "acquire"
//! and "release" in two threads and act on them in the wrong order.

/// Whether there are claims on a node, without those of unanswered notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Claims {
    /// There is at least one strong claim.
    pub(crate) strong: bool,
    /// There is at least one weak claim. A strong claim counts as weak, whatever this says.
    pub(crate) weak: bool,
}

/// The notices of one delivery. They are written in the order of the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Actions {
    /// Tell `BR_INCREFS`.
    pub(crate) increfs: bool,
    /// Tell `BR_ACQUIRE`.
    pub(crate) acquire: bool,
    /// Tell `BR_RELEASE`.
    pub(crate) release: bool,
    /// Tell `BR_DECREFS`.
    pub(crate) decrefs: bool,
}

impl Actions {
    /// Whether there is nothing to tell.
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

/// An answer came to which there is no unanswered notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NothingPending;

/// What the owner of a node has been told and has answered.
///
/// # Invariants
///
/// * `has_strong` implies `has_weak`.
/// * An unanswered notice implies what it told.
///
/// Locking: none of its own; it is guarded with the claims that are passed to it. It is a
/// plain value, so that a delivery that failed can be undone by putting the old one back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Refcount {
    has_strong: bool,
    has_weak: bool,
    pending_strong: bool,
    pending_weak: bool,
}

impl Refcount {
    /// Of a new node: the owner has been told nothing.
    pub(crate) const fn new() -> Self {
        Self {
            has_strong: false,
            has_weak: false,
            pending_strong: false,
            pending_weak: false,
        }
    }

    /// Takes it that the owner knows of a strong and a weak claim, without telling it. For
    /// the context manager, whose node exists because it asked for it.
    pub(crate) fn force(&mut self) {
        self.has_strong = true;
        self.has_weak = true;
    }

    /// Whether the owner has been told of a strong claim, and not of its end.
    pub(crate) fn has_strong(self) -> bool {
        self.has_strong
    }

    /// Whether the owner has been told of a claim, and not of its end.
    pub(crate) fn has_weak(self) -> bool {
        self.has_weak
    }

    /// Claims together with those of unanswered notices.
    #[inline]
    fn all(self, claims: Claims) -> Claims {
        let strong = claims.strong || self.pending_strong;
        Claims {
            strong,
            weak: claims.weak || self.pending_weak || strong,
        }
    }

    /// Whether the owner has to be told something: the node must be queued as work, unless
    /// it is queued already.
    #[inline]
    pub(crate) fn needs_work(self, claims: Claims) -> bool {
        let all = self.all(claims);
        all.strong != self.has_strong || all.weak != self.has_weak
    }

    /// Delivers: returns what to tell the owner now, and takes it as told.
    pub(crate) fn step(&mut self, claims: Claims) -> Actions {
        let all = self.all(claims);
        let actions = Actions {
            increfs: all.weak && !self.has_weak,
            acquire: all.strong && !self.has_strong,
            release: !all.strong && self.has_strong,
            decrefs: !all.weak && self.has_weak,
        };
        self.pending_weak |= actions.increfs;
        self.pending_strong |= actions.acquire;
        self.has_weak = all.weak;
        self.has_strong = all.strong;
        actions
    }

    /// The owner answered `BR_INCREFS`. Ask [`Refcount::needs_work`] afterwards.
    ///
    /// # Errors
    ///
    /// [`NothingPending`] if it was not told or has answered already; nothing changes.
    pub(crate) fn ack_increfs(&mut self) -> Result<(), NothingPending> {
        answer(&mut self.pending_weak)
    }

    /// The owner answered `BR_ACQUIRE`. Ask [`Refcount::needs_work`] afterwards.
    ///
    /// # Errors
    ///
    /// [`NothingPending`] if it was not told or has answered already; nothing changes.
    pub(crate) fn ack_acquire(&mut self) -> Result<(), NothingPending> {
        answer(&mut self.pending_strong)
    }

    /// Whether nobody has a claim and the owner knows it: the node can be removed.
    pub(crate) fn removable(self, claims: Claims) -> bool {
        self.is_unclaimed(claims) && !self.has_strong && !self.has_weak
    }

    /// Whether nobody has a claim. A node whose owner is dead can be removed then, because
    /// there is nobody to be told.
    pub(crate) fn is_unclaimed(self, claims: Claims) -> bool {
        !self.all(claims).weak
    }
}

#[inline]
fn answer(pending: &mut bool) -> Result<(), NothingPending> {
    if core::mem::take(pending) {
        Ok(())
    } else {
        Err(NothingPending)
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_refcount))]
mod tests {
    use super::*;
    use crate::testing::Vec;

    const NONE: Claims = Claims {
        strong: false,
        weak: false,
    };
    const WEAK: Claims = Claims {
        strong: false,
        weak: true,
    };
    const STRONG: Claims = Claims {
        strong: true,
        weak: false,
    };

    fn actions(list: [bool; 4]) -> Actions {
        let [increfs, acquire, release, decrefs] = list;
        Actions {
            increfs,
            acquire,
            release,
            decrefs,
        }
    }

    #[test]
    fn a_strong_reference_comes_and_goes() {
        let mut count = Refcount::new();
        assert!(count.removable(NONE) && !count.needs_work(NONE));
        assert!(count.needs_work(STRONG));
        assert_eq!(count.step(STRONG), actions([true, true, false, false]));
        assert!(!count.needs_work(STRONG));
        // Gone again before the owner answered: it is not told yet.
        assert!(!count.needs_work(NONE) && !count.removable(NONE));
        assert_eq!(count.ack_increfs(), Ok(()));
        assert!(!count.needs_work(NONE));
        assert_eq!(count.ack_acquire(), Ok(()));
        assert!(count.needs_work(NONE));
        assert_eq!(count.step(NONE), actions([false, false, true, true]));
        assert!(count.removable(NONE));
    }

    #[test]
    fn a_weak_reference_becomes_strong_and_weak_again() {
        let mut count = Refcount::new();
        assert_eq!(count.step(WEAK), actions([true, false, false, false]));
        assert_eq!(count.ack_acquire(), Err(NothingPending));
        assert_eq!(count.step(STRONG), actions([false, true, false, false]));
        assert_eq!(count.ack_acquire(), Ok(()));
        assert_eq!(count.step(WEAK), actions([false, false, true, false]));
        assert_eq!(count.ack_increfs(), Ok(()));
        assert_eq!(count.ack_increfs(), Err(NothingPending));
        assert_eq!(count.step(NONE), actions([false, false, false, true]));
    }

    #[test]
    fn what_went_before_delivery_is_not_told() {
        let mut count = Refcount::new();
        assert!(count.needs_work(STRONG));
        assert!(count.step(NONE).is_empty());
        assert!(count.removable(NONE));
    }

    #[test]
    fn the_manager_is_told_nothing() {
        let mut count = Refcount::new();
        count.force();
        let both = Claims {
            strong: true,
            weak: true,
        };
        assert!(!count.needs_work(both) && count.step(both).is_empty());
        assert_eq!(count.ack_acquire(), Err(NothingPending));
        assert_eq!(count.step(NONE), actions([false, false, true, true]));
    }

    /// A node, its claims, and all that its owner can know.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct World {
        count: Refcount,
        claims: Claims,
        strong: bool,
        weak: bool,
        owes_acquire: bool,
        owes_increfs: bool,
    }

    impl World {
        fn deliver(&mut self) {
            let told = self.count.step(self.claims);
            // Nothing is told twice, and a strong reference not without a weak one.
            assert!(!(told.increfs && self.weak));
            self.weak |= told.increfs;
            assert!(!(told.acquire && self.strong));
            assert!(!told.acquire || self.weak);
            self.strong |= told.acquire;
            self.owes_increfs |= told.increfs;
            self.owes_acquire |= told.acquire;
            // Nothing is taken back before the owner has answered.
            if told.release {
                assert!(self.strong && !self.owes_acquire);
                self.strong = false;
            }
            if told.decrefs {
                assert!(self.weak && !self.strong && !self.owes_increfs);
                self.weak = false;
            }
        }

        fn answer(&mut self) -> [Self; 2] {
            let (mut increfs, mut acquire) = (*self, *self);
            assert_eq!(increfs.count.ack_increfs().is_ok(), self.owes_increfs);
            increfs.owes_increfs = false;
            assert_eq!(acquire.count.ack_acquire().is_ok(), self.owes_acquire);
            acquire.owes_acquire = false;
            [increfs, acquire]
        }

        fn successors(mut self) -> Vec<Self> {
            let mut next = Vec::new();
            for bits in 0..4 {
                let claims = Claims {
                    strong: bits & 1 != 0,
                    weak: bits & 2 != 0,
                };
                next.push(Self { claims, ..self });
            }
            next.extend(self.answer());
            // Work is delivered if queued; it may be queued without need.
            self.deliver();
            next.push(self);
            next
        }

        fn check(self) {
            assert_eq!(self.count.has_strong(), self.strong);
            assert_eq!(self.count.has_weak(), self.weak);
            assert!(!self.strong || self.weak);
            if !self.count.needs_work(self.claims) && !self.owes_acquire && !self.owes_increfs {
                // The owner knows what is so.
                assert_eq!(self.strong, self.claims.strong);
                assert_eq!(self.weak, self.claims.strong || self.claims.weak);
            }
            let mut end = self;
            end.claims = NONE;
            end = end.answer()[0].answer()[1];
            end.deliver();
            assert!(end.count.removable(NONE));
        }
    }

    /// Visits every state that any sequence of events of any length can reach.
    #[test]
    fn all_sequences() {
        let start = World {
            count: Refcount::new(),
            claims: NONE,
            strong: false,
            weak: false,
            owes_acquire: false,
            owes_increfs: false,
        };
        let mut seen = Vec::from_iter([start]);
        let mut todo = Vec::from_iter([start]);
        while let Some(world) = todo.pop() {
            world.check();
            for next in world.successors() {
                if !seen.contains(&next) {
                    seen.push(next);
                    todo.push(next);
                }
            }
        }
        // Seven states of the machine, each with four combinations of claims.
        assert_eq!(seen.len(), 28);
    }
}
