// SPDX-License-Identifier: GPL-2.0

//! The life of one freeze notification.
//!
//! Pure: no kernel imports, tested on the host.
//!
//! ```text
//!            watch, change             read: BR_FROZEN_BINDER
//!    Quiet ---------------> Queued ---------------------------> Delivered
//!      ^                      |  ^                                  |
//!      |   nothing new        |  |  changed meanwhile, or cleared   |
//!      +----------------------+  +----------------------------------+
//!      |                                                            |
//!      +----------------- BC_FREEZE_NOTIFICATION_DONE --------------+
//! ```
//!
//! `BC_CLEAR_FREEZE_NOTIFICATION` lets the next thing that is read be
//! `BR_CLEAR_FREEZE_NOTIFICATION_DONE`, which is the last. So at most one state is out that
//! is not acknowledged, no state is told twice in a row, the last one is always told, and
//! the end exactly once if it was asked for.
//!
//! The state that is told is that at the time of reading: events come with it.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The holder knows all.
    Quiet,
    /// Something waits to be read.
    Queued,
    /// `BR_FROZEN_BINDER` was read, and is not acknowledged.
    Delivered,
    /// Nothing can happen any more.
    Over,
}

/// Whether the notification must be in a queue, for the holder to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queue {
    /// It is to be queued.
    Now,
    /// It may be taken out again: there is nothing to tell any more.
    NoMore,
    /// It is as it should be.
    AsItIs,
}

/// What the holder reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum News {
    /// `BR_FROZEN_BINDER`; an acknowledgement will come.
    State(bool),
    /// `BR_CLEAR_FREEZE_NOTIFICATION_DONE`.
    Cleared,
    /// Nothing: it is as it was told last, or the notification was abandoned.
    None,
}

/// State of a freeze notification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrozenNotice {
    phase: Phase,
    /// What the holder was told last.
    told: Option<bool>,
    /// The holder wants no more of it.
    cleared: bool,
}

impl FrozenNotice {
    /// Of a notification that was just asked for.
    pub(crate) const fn new() -> Self {
        Self {
            phase: Phase::Quiet,
            told: None,
            cleared: false,
        }
    }

    /// Whether the holder has said that it wants no more of it.
    pub(crate) fn is_cleared(self) -> bool {
        self.cleared
    }

    /// The object is frozen, or not: at the beginning, and when that changes.
    pub(crate) fn change(&mut self, frozen: bool) -> Queue {
        let is_news = !self.cleared && self.told != Some(frozen);
        match self.phase {
            Phase::Quiet if is_news => self.enqueue(),
            Phase::Queued if !is_news && !self.cleared => Queue::NoMore,
            _ => Queue::AsItIs,
        }
    }

    /// It was taken out of its queue, as [`Queue::NoMore`] has allowed.
    pub(crate) fn withdrawn(&mut self) {
        if self.phase == Phase::Queued {
            self.phase = Phase::Quiet;
        }
    }

    /// The holder wants no more of it.
    pub(crate) fn clear(&mut self) -> Queue {
        self.cleared = true;
        match self.phase {
            Phase::Quiet => self.enqueue(),
            _ => Queue::AsItIs,
        }
    }

    /// The holder acknowledges the state that it was told.
    pub(crate) fn acknowledge(&mut self, frozen: bool) -> Queue {
        if self.phase != Phase::Delivered {
            return Queue::AsItIs;
        }
        self.phase = Phase::Quiet;
        if self.cleared {
            return self.enqueue();
        }
        self.change(frozen)
    }

    /// The notification has left its queue to be read.
    pub(crate) fn read(&mut self, frozen: bool) -> News {
        if self.phase != Phase::Queued {
            return News::None;
        }
        if self.cleared {
            self.phase = Phase::Over;
            return News::Cleared;
        }
        if self.told == Some(frozen) {
            self.phase = Phase::Quiet;
            return News::None;
        }
        self.told = Some(frozen);
        self.phase = Phase::Delivered;
        News::State(frozen)
    }

    /// The handle is gone, and with it all interest in the notification.
    pub(crate) fn abandon(&mut self) {
        self.phase = Phase::Over;
    }

    fn enqueue(&mut self) -> Queue {
        self.phase = Phase::Queued;
        Queue::Now
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_frozen_notice))]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Freeze,
        Thaw,
        Clear,
        Acknowledge,
        Read,
    }

    /// A holder and a queue, as they live with one notification.
    struct World {
        notice: FrozenNotice,
        queued: bool,
        frozen: bool,
        told: Option<bool>,
        unacknowledged: bool,
        cleared: bool,
        over: bool,
    }

    impl World {
        fn new() -> Self {
            let mut world = Self {
                notice: FrozenNotice::new(),
                queued: false,
                frozen: false,
                told: None,
                unacknowledged: false,
                cleared: false,
                over: false,
            };
            let queue = world.notice.change(false);
            world.follow(queue);
            world
        }

        fn follow(&mut self, queue: Queue) {
            match queue {
                Queue::Now => {
                    assert!(!self.queued, "queued twice");
                    self.queued = true;
                }
                Queue::NoMore => {
                    assert!(self.queued, "taken out of no queue");
                    self.queued = false;
                    self.notice.withdrawn();
                }
                Queue::AsItIs => {}
            }
        }

        fn meet(&mut self, event: Event) {
            let queue = match event {
                Event::Freeze | Event::Thaw => {
                    self.frozen = matches!(event, Event::Freeze);
                    self.notice.change(self.frozen)
                }
                Event::Clear if self.cleared => return,
                Event::Clear => {
                    self.cleared = true;
                    self.notice.clear()
                }
                Event::Acknowledge if !self.unacknowledged => return,
                Event::Acknowledge => {
                    self.unacknowledged = false;
                    self.notice.acknowledge(self.frozen)
                }
                Event::Read if !self.queued => return,
                Event::Read => return self.read(),
            };
            self.follow(queue);
        }

        fn read(&mut self) {
            self.queued = false;
            match self.notice.read(self.frozen) {
                News::State(frozen) => {
                    assert!(
                        !self.unacknowledged,
                        "told before the last was acknowledged"
                    );
                    assert_ne!(self.told, Some(frozen), "told twice");
                    assert!(!self.cleared, "told after it was cleared");
                    self.told = Some(frozen);
                    self.unacknowledged = true;
                }
                News::Cleared => {
                    assert!(self.cleared && !self.over && !self.unacknowledged);
                    self.over = true;
                }
                News::None => {}
            }
        }

        /// The holder does what a good one does, until there is nothing left to do.
        fn settle(&mut self) {
            for _ in 0..3 {
                self.meet(Event::Read);
                self.meet(Event::Acknowledge);
            }
            assert!(!self.queued && !self.unacknowledged, "it comes to an end");
            assert_eq!(
                self.over, self.cleared,
                "the end is told if it was asked for"
            );
            assert!(
                self.cleared || self.told == Some(self.frozen),
                "the last state is told"
            );
        }
    }

    #[test]
    fn every_sequence_of_events_is_told_in_order_and_to_its_end() {
        const EVENTS: [Event; 5] = [
            Event::Freeze,
            Event::Thaw,
            Event::Clear,
            Event::Acknowledge,
            Event::Read,
        ];
        const LENGTH: u32 = if cfg!(miri) { 4 } else { 7 };
        for number in 0..EVENTS.len().pow(LENGTH) {
            let mut rest = number;
            let mut world = World::new();
            for _ in 0..LENGTH {
                world.meet(EVENTS[rest % EVENTS.len()]);
                rest /= EVENTS.len();
            }
            world.settle();
        }
    }

    #[test]
    fn a_change_back_leaves_nothing_to_read() {
        let mut notice = FrozenNotice::new();
        assert_eq!(notice.change(false), Queue::Now);
        assert_eq!(notice.read(false), News::State(false));
        assert_eq!(notice.acknowledge(false), Queue::AsItIs);
        assert_eq!(notice.change(true), Queue::Now);
        assert_eq!(notice.change(false), Queue::NoMore);
        // It could not be taken out of its queue.
        assert_eq!(notice.read(false), News::None);
        assert_eq!(notice.change(true), Queue::Now);
    }

    #[test]
    fn of_a_dead_object_only_the_end_is_told() {
        let mut notice = FrozenNotice::new();
        assert_eq!(notice.clear(), Queue::Now);
        assert_eq!(notice.read(false), News::Cleared);
        assert_eq!(notice.read(false), News::None);
    }

    #[test]
    fn an_abandoned_notification_is_silent() {
        let mut notice = FrozenNotice::new();
        assert_eq!(notice.change(true), Queue::Now);
        notice.abandon();
        assert_eq!(notice.read(true), News::None);
        assert_eq!(notice.change(false), Queue::AsItIs);
    }
}
