// SPDX-License-Identifier: GPL-2.0

//! The life of one death notification.
//!
//! Pure: no kernel imports, tested on the host.
//!
//! ```text
//!            fire                read             BC_DEAD_BINDER_DONE
//!   Armed ---------> Queued ---------> Delivered ---------------------> Settled
//!     |                                                                    |
//!     |  BC_CLEAR_DEATH_NOTIFICATION      (in between: remembered until    |
//!     |                                    the acknowledgement)            |
//!     +-----------------------> Clearing <---------------------------------+
//!                                  | read: BR_CLEAR_DEATH_NOTIFICATION_DONE
//!                                  v
//!                                 Over
//! ```
//!
//! So the death is told at most once, the end of the notification exactly once if it was
//! asked for, and never between the news of the death and its acknowledgement.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The node lives, as far as the holder knows.
    Armed,
    /// `BR_DEAD_BINDER` waits to be read.
    Queued,
    /// It was read, and is not acknowledged.
    Delivered,
    /// It was acknowledged.
    Settled,
    /// `BR_CLEAR_DEATH_NOTIFICATION_DONE` waits to be read.
    Clearing,
    /// Nothing can happen any more.
    Over,
}

/// State of a death notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Obituary {
    phase: Phase,
    /// The holder wants no more of it.
    cleared: bool,
}

/// Whether the notification must be queued now, for the holder to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queue {
    Now,
    Not,
}

/// What the holder reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// `BR_DEAD_BINDER`; an acknowledgement will come.
    Dead,
    /// `BR_CLEAR_DEATH_NOTIFICATION_DONE`.
    Cleared,
    /// Nothing: the notification was abandoned while it waited.
    None,
}

impl Obituary {
    /// Of a notification that was just asked for.
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::Armed,
            cleared: false,
        }
    }

    /// What waits to be read, if it is queued.
    pub(crate) fn news(self) -> Option<News> {
        match self.phase {
            Phase::Queued => Some(News::Dead),
            Phase::Clearing => Some(News::Cleared),
            _ => None,
        }
    }

    /// Whether the holder has said that it wants no more of it.
    pub(crate) fn is_cleared(self) -> bool {
        self.cleared
    }

    /// The node has died.
    pub(crate) fn fire(&mut self) -> Queue {
        if self.phase != Phase::Armed {
            return Queue::Not;
        }
        self.phase = Phase::Queued;
        Queue::Now
    }

    /// The holder wants no more of it.
    pub(crate) fn clear(&mut self) -> Queue {
        self.cleared = true;
        self.end_if_cleared()
    }

    /// The holder acknowledges the death. Changes nothing if it was not told.
    pub(crate) fn acknowledge(&mut self) -> Queue {
        if self.phase != Phase::Delivered {
            return Queue::Not;
        }
        self.phase = Phase::Settled;
        self.end_if_cleared()
    }

    /// The notification has left its queue to be read.
    pub(crate) fn read(&mut self) -> News {
        match self.phase {
            Phase::Queued => {
                self.phase = Phase::Delivered;
                News::Dead
            }
            Phase::Clearing => {
                self.phase = Phase::Over;
                News::Cleared
            }
            _ => News::None,
        }
    }

    /// The handle is gone, and with it all interest in the notification.
    pub(crate) fn abandon(&mut self) {
        self.phase = Phase::Over;
    }

    fn end_if_cleared(&mut self) -> Queue {
        match self.phase {
            Phase::Armed | Phase::Settled if self.cleared => {
                self.phase = Phase::Clearing;
                Queue::Now
            }
            _ => Queue::Not,
        }
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_obituary))]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Fire,
        Clear,
        Acknowledge,
        Read,
    }

    /// Follows one sequence of events as a queue and a holder would live it.
    fn check(events: &[Event]) {
        let mut state = Obituary::new();
        let (mut queued, mut dead, mut cleared, mut unacknowledged) = (0, 0, 0, false);
        for event in events {
            let queue = match event {
                Event::Fire => state.fire(),
                Event::Clear => state.clear(),
                Event::Acknowledge => {
                    unacknowledged = false;
                    state.acknowledge()
                }
                Event::Read if queued == 0 => continue,
                Event::Read => {
                    queued -= 1;
                    match state.read() {
                        News::Dead => {
                            dead += 1;
                            unacknowledged = true;
                        }
                        News::Cleared => {
                            cleared += 1;
                            assert!(!unacknowledged, "cleared before acknowledged: {events:?}");
                        }
                        News::None => {}
                    }
                    continue;
                }
            };
            if queue == Queue::Now {
                queued += 1;
            }
            assert!(queued <= 1, "queued twice: {events:?}");
        }
        assert!(dead <= 1 && cleared <= 1, "told twice: {events:?}");
    }

    #[test]
    fn every_sequence_of_events_is_told_in_order_and_once() {
        const EVENTS: [Event; 4] = [Event::Fire, Event::Clear, Event::Acknowledge, Event::Read];
        const LENGTH: u32 = if cfg!(miri) { 4 } else { 8 };
        for number in 0..EVENTS.len().pow(LENGTH) {
            let mut rest = number;
            let mut events = [Event::Read; LENGTH as usize];
            for event in &mut events {
                *event = EVENTS[rest % EVENTS.len()];
                rest /= EVENTS.len();
            }
            check(&events);
        }
    }

    #[test]
    fn a_clear_while_the_death_is_told_waits_for_the_acknowledgement() {
        let mut state = Obituary::new();
        assert_eq!(state.fire(), Queue::Now);
        assert_eq!(state.read(), News::Dead);
        assert_eq!(state.clear(), Queue::Not);
        assert_eq!(state.acknowledge(), Queue::Now);
        assert_eq!(state.read(), News::Cleared);
        assert_eq!(state.read(), News::None);
    }

    #[test]
    fn an_abandoned_notification_is_silent() {
        let mut state = Obituary::new();
        assert_eq!(state.fire(), Queue::Now);
        state.abandon();
        assert_eq!(state.read(), News::None);
        assert_eq!(state.acknowledge(), Queue::Not);
    }
}
