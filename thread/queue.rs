// SPDX-License-Identifier: GPL-2.0

//! What waits for one thread, and which of it is a reason to return.
//!
//! Pure: no kernel imports, tested on the host.
//!
//! A thread that has sent a call usually has nothing to do until the reply is
//! there. Returning to user space only to say `BR_TRANSACTION_COMPLETE` would
//! cost a system call, so such items are *deferred*: they are delivered in their
//! place in the order, but the thread may sleep while it has nothing else.
//!
//! Whether a thread *has* deferred items is a question about the queue (it is
//! not empty), never about the flag that says whether it may sleep.

use crate::ffi::link::{Queue, Queued};

/// The mark of an item in the queue that was pushed deferred.
pub(crate) const DEFERRED: u8 = 1;

/// What can wait for a thread.
pub(crate) trait Item: Queued {
    /// Whether the thread has to serve it: it stands above all calls that the thread
    /// waits for then.
    fn is_request(&self) -> bool;
}

/// The queue of one thread. Guarded by the thread's lock.
///
/// # Invariants
///
/// - `urgent` is false if and only if all items were pushed by
///   [`LocalQueue::push_deferred`] since the queue was last empty.
/// - `requests` is the number of items that are requests.
pub(crate) struct LocalQueue<W: Item> {
    items: Queue<W>,
    urgent: bool,
    requests: usize,
}

impl<W: Item> LocalQueue<W> {
    /// An empty queue.
    pub(crate) const fn new() -> Self {
        Self {
            items: Queue::new(),
            urgent: false,
            requests: 0,
        }
    }

    /// Appends an item that ends the thread's sleep.
    ///
    /// Gives `work` back if its object is queued somewhere already.
    pub(crate) fn push_immediate(&mut self, work: W) -> Result<(), W> {
        let is_request = work.is_request();
        self.items.push_back(work)?;
        self.urgent = true;
        self.requests = self.requests.saturating_add(usize::from(is_request));
        Ok(())
    }

    /// Appends an item that waits for another reason to return. Never a request.
    pub(crate) fn push_deferred(&mut self, work: W) -> Result<(), W> {
        self.items.push_back_marked(work, DEFERRED)
    }

    /// Takes the oldest item, deferred or not.
    pub(crate) fn pop_any(&mut self) -> Option<W> {
        let work = self.items.pop_front();
        if self.items.is_empty() {
            self.urgent = false;
        }
        if work.as_ref().is_some_and(Item::is_request) {
            self.requests = self.requests.saturating_sub(1);
        }
        work
    }

    /// The items, to be looked at. Those that were pushed deferred have the mark
    /// [`DEFERRED`].
    pub(crate) fn items(&self) -> &Queue<W> {
        &self.items
    }

    /// Whether there is a reason to return.
    pub(crate) fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// Whether nothing waits, deferred items included.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether something is to be served among what waits.
    pub(crate) fn has_request(&self) -> bool {
        self.requests != 0
    }

    /// The kind of the item that is read next, see [`Queued::into_raw`].
    pub(crate) fn front_kind(&self) -> Option<u8> {
        self.items.front_kind()
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_local_queue))]
mod tests {
    use super::*;
    use crate::{ffi::link::testing, testing::Vec};

    /// Requests have the numbers from here on.
    const REQUESTS: u32 = 100;

    impl Item for testing::Item {
        fn is_request(&self) -> bool {
            self.number() >= REQUESTS
        }
    }

    fn queue(items: &[(u32, bool)]) -> LocalQueue<testing::Item> {
        let mut queue = LocalQueue::new();
        for (number, is_deferred) in items {
            let item = testing::Item::new(*number);
            let pushed = if *is_deferred {
                queue.push_deferred(item)
            } else {
                queue.push_immediate(item)
            };
            assert!(pushed.is_ok());
        }
        queue
    }

    fn drain(queue: &mut LocalQueue<testing::Item>) -> Vec<u32> {
        core::iter::from_fn(|| queue.pop_any().map(|item| item.number())).collect()
    }

    #[test]
    fn deferred_items_are_no_reason_to_return_but_are_there() {
        let mut queue = queue(&[(1, true), (2, true)]);
        assert!(!queue.is_urgent());
        assert!(!queue.is_empty());
        assert_eq!(drain(&mut queue), [1, 2]);
        assert!(queue.is_empty());
    }

    #[test]
    fn order_is_kept_whatever_is_deferred() {
        let mut queue = queue(&[(1, true), (2, false), (3, true)]);
        assert!(queue.is_urgent());
        assert_eq!(drain(&mut queue), [1, 2, 3]);
        assert!(!queue.is_urgent());
    }

    #[test]
    fn what_is_left_after_an_urgent_item_is_still_urgent() {
        let mut queue = queue(&[(1, false), (2, true)]);
        assert_eq!(queue.pop_any().map(|item| item.number()), Some(1));
        assert!(queue.is_urgent());
        assert_eq!(drain(&mut queue), [2]);
    }

    #[test]
    fn an_emptied_queue_starts_anew() {
        let mut queue = queue(&[(1, false)]);
        assert_eq!(drain(&mut queue), [1]);
        assert!(queue.push_deferred(testing::Item::new(2)).is_ok());
        assert!(!queue.is_urgent());
    }

    #[test]
    fn requests_are_counted() {
        let mut queue = queue(&[
            (1, true),
            (REQUESTS, false),
            (2, false),
            (REQUESTS + 1, false),
        ]);
        for expected in [true, true, true, true, false] {
            assert_eq!(queue.has_request(), expected);
            queue.pop_any();
        }
    }

    #[test]
    fn a_refused_request_is_not_counted() {
        let (mut first, mut second) = (LocalQueue::new(), LocalQueue::new());
        let request = testing::Item::new(REQUESTS);
        assert!(first.push_immediate(request.clone()).is_ok());
        assert!(second.push_immediate(request).is_err());
        assert!(first.has_request() && !second.has_request());
    }
}
