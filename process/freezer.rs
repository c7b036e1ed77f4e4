// SPDX-License-Identifier: GPL-2.0

//! Whether a process is frozen, and what arrived since.
//!
//! Pure: no kernel imports, tested on the host.
//!
//! ```text
//!              begin               finish
//!   Thawed ------------> Draining ---------> Frozen
//!      ^                    |                   |
//!      +------- thaw -------+------- thaw ------+
//! ```
//!
//! From the start of the draining on, calls are refused, so that there is an end to it.
//! Only the end of it is told to those who watch.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Thawed,
    /// New calls are refused, and old ones waited for.
    Draining,
    Frozen,
}

/// The state of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Freezer {
    phase: Phase,
    refused_call: bool,
    got_oneway: bool,
    /// How often something has ended that a freezing waits for. Wraps.
    events: u32,
}

/// What becomes of a message to a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Admission {
    /// The process works.
    Awake,
    /// It is frozen, or about to be.
    Frozen,
}

impl Freezer {
    /// Of a process that works.
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::Thawed,
            refused_call: false,
            got_oneway: false,
            events: 0,
        }
    }

    /// A freezing begins; more than one may go on at a time. What arrived is counted anew.
    pub(crate) fn begin(&mut self) {
        if self.phase == Phase::Thawed {
            self.phase = Phase::Draining;
        }
        self.forget();
    }

    /// A freezing has found nothing under way. False if the process was thawed meanwhile.
    pub(crate) fn finish(&mut self) -> bool {
        if self.phase == Phase::Thawed {
            return false;
        }
        self.phase = Phase::Frozen;
        true
    }

    /// The process works again: it was thawed, or could not be frozen.
    pub(crate) fn thaw(&mut self) {
        self.phase = Phase::Thawed;
        self.forget();
    }

    fn forget(&mut self) {
        self.refused_call = false;
        self.got_oneway = false;
    }

    /// A call arrives. If the process is [`Admission::Frozen`] it is to be refused.
    pub(crate) fn admit_call(&mut self) -> Admission {
        let admission = self.admission();
        self.refused_call |= admission == Admission::Frozen;
        admission
    }

    /// A oneway message arrives; it is taken in any case.
    pub(crate) fn admit_oneway(&mut self) -> Admission {
        let admission = self.admission();
        self.got_oneway |= admission == Admission::Frozen;
        admission
    }

    fn admission(self) -> Admission {
        match self.phase {
            Phase::Thawed => Admission::Awake,
            Phase::Draining | Phase::Frozen => Admission::Frozen,
        }
    }

    /// Whether calls were refused, and oneway messages came, since the last freezing began.
    pub(crate) fn arrived(self) -> (bool, bool) {
        (self.refused_call, self.got_oneway)
    }

    /// Something has ended that a freezing may wait for.
    pub(crate) fn note_event(&mut self) {
        self.events = self.events.wrapping_add(1);
    }

    /// To be compared with a later value.
    pub(crate) fn events(self) -> u32 {
        self.events
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_freezer))]
mod tests {
    use super::*;

    #[test]
    fn calls_are_refused_from_the_beginning_on() {
        let mut freezer = Freezer::new();
        assert_eq!(freezer.admit_call(), Admission::Awake);
        assert_eq!(freezer.admit_oneway(), Admission::Awake);
        assert_eq!(freezer.arrived(), (false, false));
        freezer.begin();
        assert_eq!(freezer.admit_call(), Admission::Frozen);
        assert_eq!(freezer.arrived(), (true, false));
        assert!(freezer.finish());
        assert_eq!(freezer.admit_oneway(), Admission::Frozen);
        assert_eq!(freezer.arrived(), (true, true));
    }

    #[test]
    fn what_arrived_is_counted_from_the_last_freezing_on() {
        let mut freezer = Freezer::new();
        freezer.begin();
        assert!(freezer.finish());
        freezer.admit_call();
        freezer.begin();
        assert_eq!(freezer.arrived(), (false, false));
        freezer.admit_oneway();
        freezer.thaw();
        assert_eq!(freezer.arrived(), (false, false));
        assert_eq!(freezer.admit_call(), Admission::Awake);
    }

    #[test]
    fn a_process_thawed_meanwhile_does_not_become_frozen() {
        let mut freezer = Freezer::new();
        freezer.begin();
        freezer.thaw();
        assert!(!freezer.finish());
        assert_eq!(freezer.admit_call(), Admission::Awake);
    }

    #[test]
    fn of_two_freezings_at_once_both_succeed() {
        let mut freezer = Freezer::new();
        freezer.begin();
        freezer.begin();
        assert!(freezer.finish());
        assert!(freezer.finish());
        assert_eq!(freezer.admit_call(), Admission::Frozen);
    }
}
