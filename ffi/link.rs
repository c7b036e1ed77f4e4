// SPDX-License-Identifier: GPL-2.0

//! Intrusive queues of a closed set of work kinds.
//!
//! Whatever can wait in a queue embeds a [`Link`]; the queue owns a counted
//! pointer to each member. Pushing, popping and removing take constant time,
//! allocate nothing and therefore cannot fail for want of memory, which is what
//! allows them under a spinlock and on paths that must not fail (the death of a
//! process, the reply to a call).

use core::{
    cell::UnsafeCell,
    ffi::c_void,
    marker::PhantomData,
    mem::ManuallyDrop,
    ptr::{self, NonNull},
    sync::atomic::{
        AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

/// A place in a queue, embedded in each object that can be queued.
///
/// # Invariants
///
/// - `home` is null while the object is in no queue, else the queue's identity.
/// - While `home` is not null, `place` is accessed only by whoever holds that
///   queue by `&mut`, and `place.object` owns one reference to the object that
///   embeds this link, so the link stays where it is and alive.
pub(crate) struct Link {
    home: AtomicPtr<c_void>,
    place: UnsafeCell<Place>,
}

struct Place {
    prev: *const Link,
    next: *const Link,
    object: *const c_void,
    kind: u8,
    mark: u8,
}

// SAFETY: `home` is atomic and by the invariants `place` is reached only through
// the one queue the link is in, under that queue's lock.
unsafe impl Send for Link {}
// SAFETY: As above.
unsafe impl Sync for Link {}

impl Link {
    /// A link that is in no queue.
    pub(crate) const fn new() -> Self {
        // INVARIANT: In no queue.
        Self {
            home: AtomicPtr::new(ptr::null_mut()),
            place: UnsafeCell::new(Place {
                prev: ptr::null(),
                next: ptr::null(),
                object: ptr::null(),
                kind: 0,
                mark: 0,
            }),
        }
    }

    /// Whether some queue holds the object.
    ///
    /// Exact only under the locks of all queues the object may be in.
    pub(crate) fn is_queued(&self) -> bool {
        !self.home.load(Relaxed).is_null()
    }
}

/// Work that queues can hold: an enum whose variants own counted pointers.
///
/// # Safety
///
/// For each value `w`, with `(object, kind) = w.into_raw()`:
/// - `w.link()` is embedded in the object that `w` owns a reference to, and stays
///   valid until `from_raw(object, kind)` has been called and its result dropped;
/// - `from_raw` gives back the reference that `into_raw` gave up.
pub(crate) unsafe trait Queued: Sized {
    /// The link through which this work is queued.
    fn link(&self) -> &Link;

    /// Gives up the reference and says which variant it was.
    fn into_raw(self) -> (*const c_void, u8);

    /// Takes the reference back.
    ///
    /// # Safety
    ///
    /// The arguments come from one call of [`Queued::into_raw`], for which this
    /// is the first and only call whose result is dropped or changed. Until then others may
    /// be looked at, as long as nobody drops or changes that one.
    unsafe fn from_raw(object: *const c_void, kind: u8) -> Self;
}

/// A first-in first-out queue of work.
///
/// It is meant to be a field of the data of a spinlock. It never drops work while
/// it is used; dropping the queue itself drops what is left.
///
/// # Invariants
///
/// `head` and `tail` are the ends of a doubly linked list of links whose `home`
/// is this queue, or both are null.
pub(crate) struct Queue<W: Queued> {
    head: *const Link,
    tail: *const Link,
    identity: QueueId,
    _owns: PhantomData<W>,
}

/// Tells queues apart. One byte, because a zero-sized type has no address.
struct QueueId(UnsafeCell<u8>);

// SAFETY: The queue owns its members, and they are reached through `&mut` only.
unsafe impl<W: Queued + Send> Send for Queue<W> {}
// SAFETY: A shared queue gives no access to its members.
unsafe impl<W: Queued + Send> Sync for Queue<W> {}

impl<W: Queued> Queue<W> {
    /// An empty queue.
    pub(crate) const fn new() -> Self {
        Self {
            head: ptr::null(),
            tail: ptr::null(),
            identity: QueueId(UnsafeCell::new(0)),
            _owns: PhantomData,
        }
    }

    /// Whether nothing waits here.
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    fn id(&self) -> *mut c_void {
        self.identity.0.get().cast()
    }

    /// Appends `work`, or gives it back if its object already waits somewhere.
    pub(crate) fn push_back(&mut self, work: W) -> Result<(), W> {
        self.push_back_marked(work, 0)
    }

    /// As [`Queue::push_back`], with a mark for [`Queue::visit`] to show.
    #[inline]
    pub(crate) fn push_back_marked(&mut self, work: W, mark: u8) -> Result<(), W> {
        let link: *const Link = work.link();
        // SAFETY: `work` owns a reference to the object around `link`.
        let claimed = unsafe { &(*link).home }
            .compare_exchange(ptr::null_mut(), self.id(), Acquire, Relaxed)
            .is_ok();
        if !claimed {
            return Err(work);
        }
        let (object, kind) = work.into_raw();
        // INVARIANT: `home` was just set to this queue, and `object` owns the
        // reference that keeps the link alive.
        // SAFETY: The link is in this queue and we hold the queue by `&mut`.
        unsafe {
            *(*link).place.get() = Place {
                prev: self.tail,
                next: ptr::null(),
                object,
                kind,
                mark,
            };
        }
        match NonNull::new(self.tail.cast_mut()) {
            // SAFETY: The tail is in this queue, see the invariants.
            Some(tail) => unsafe { (*tail.as_ref().place.get()).next = link },
            None => self.head = link,
        }
        self.tail = link;
        Ok(())
    }

    /// Takes the oldest work.
    pub(crate) fn pop_front(&mut self) -> Option<W> {
        let head = NonNull::new(self.head.cast_mut())?;
        // SAFETY: The head is in this queue.
        Some(unsafe { self.unlink(head.as_ptr()) })
    }

    /// The kind of the oldest work, as [`Queued::into_raw`] named it.
    pub(crate) fn front_kind(&self) -> Option<u8> {
        let head = NonNull::new(self.head.cast_mut())?;
        // SAFETY: The head is in this queue, which we hold, and is not modified.
        Some(unsafe { (*head.as_ref().place.get()).kind })
    }

    /// Shows `visit` the work behind `after`, or all of it if `after` does not wait here, the
    /// oldest first, with its mark; until `visit` returns false.
    pub(crate) fn visit(&self, after: Option<&Link>, mut visit: impl FnMut(&W, u8) -> bool) {
        let is_here = |link: &&Link| link.home.load(Relaxed) == self.id();
        let mut next = match after.filter(is_here) {
            // SAFETY: The link is in this queue, which we hold, so nobody changes it.
            Some(link) => unsafe { (*link.place.get()).next },
            None => self.head,
        };
        while let Some(link) = NonNull::new(next.cast_mut()) {
            // SAFETY: As above; members of the list are in this queue.
            let (object, kind, mark) = unsafe {
                let place = &*link.as_ref().place.get();
                next = place.next;
                (place.object, place.kind, place.mark)
            };
            // SAFETY: The pair is from the `into_raw` of `push_back`. The reference stays
            // with the queue, for this one is never dropped and only lent for looking.
            let work = ManuallyDrop::new(unsafe { W::from_raw(object, kind) });
            if !visit(&work, mark) {
                return;
            }
        }
    }

    /// Takes the work that is queued here through `link`, if there is any.
    pub(crate) fn remove(&mut self, link: &Link) -> Option<W> {
        if link.home.load(Relaxed) != self.id() {
            return None;
        }
        // SAFETY: Only holders of this queue change a `home` that names it.
        Some(unsafe { self.unlink(link) })
    }

    /// Takes `link` out of the list and turns it back into work.
    ///
    /// # Safety
    ///
    /// `link` is in this queue.
    unsafe fn unlink(&mut self, link: *const Link) -> W {
        // SAFETY: By the caller's promise and the invariants the link is alive
        // and `place` is ours to access.
        let (prev, next, object, kind) = unsafe {
            let place = &*(*link).place.get();
            (place.prev, place.next, place.object, place.kind)
        };
        match NonNull::new(prev.cast_mut()) {
            // SAFETY: Neighbours are in this queue.
            Some(prev) => unsafe { (*prev.as_ref().place.get()).next = next },
            None => self.head = next,
        }
        match NonNull::new(next.cast_mut()) {
            // SAFETY: Neighbours are in this queue.
            Some(next) => unsafe { (*next.as_ref().place.get()).prev = prev },
            None => self.tail = prev,
        }
        // The next queue may be under another lock: what was read of `place` here comes
        // before what is written to it there.
        // SAFETY: `object` still owns its reference, so the link is alive.
        unsafe { (*link).home.store(ptr::null_mut(), Release) };
        // SAFETY: `push_back` got the pair from `into_raw`, and the link has just
        // left the queue, so this is the only `from_raw` for it.
        unsafe { W::from_raw(object, kind) }
    }
}

impl<W: Queued> Drop for Queue<W> {
    fn drop(&mut self) {
        while let Some(work) = self.pop_front() {
            drop(work);
        }
    }
}

/// Queueable items for the tests of queues on the host.
#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
pub(crate) mod testing {
    use super::*;
    use crate::testing::{is_last, share, Shared};

    /// An object that can be queued.
    pub(crate) struct Object {
        link: Link,
        number: u32,
    }

    /// A counted pointer to one.
    #[derive(Clone)]
    pub(crate) struct Item(Shared<Object>);

    impl Item {
        pub(crate) fn new(number: u32) -> Self {
            Self(share(Object {
                link: Link::new(),
                number,
            }))
        }

        pub(crate) fn number(&self) -> u32 {
            self.0.number
        }

        /// Drops the pointer and says whether it was the only one.
        pub(crate) fn is_last(self) -> bool {
            is_last(self.0)
        }
    }

    // SAFETY: `Shared` does not move the object with the link, and gives back the reference
    // that it gave up.
    unsafe impl Queued for Item {
        fn link(&self) -> &Link {
            &self.0.link
        }

        fn into_raw(self) -> (*const c_void, u8) {
            let kind = self.0.number as u8;
            (Shared::into_raw(self.0).cast(), kind)
        }

        unsafe fn from_raw(object: *const c_void, _kind: u8) -> Self {
            // SAFETY: The caller passes what `into_raw` returned, once.
            Self(unsafe { Shared::from_raw(object.cast()) })
        }
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_link))]
mod tests {
    use super::{testing::Item, *};
    use crate::testing::Vec;

    #[test]
    fn items_leave_in_the_order_they_came() {
        let mut queue = Queue::new();
        for number in 0..5 {
            assert!(queue.push_back(Item::new(number)).is_ok());
        }
        for number in 0..5 {
            assert_eq!(queue.front_kind(), Some(number as u8));
            assert_eq!(queue.pop_front().map(|item| item.number()), Some(number));
        }
        assert!(queue.is_empty());
        assert!(queue.pop_front().is_none());
    }

    #[test]
    fn an_object_is_in_one_queue_at_most() {
        let (mut first, mut second) = (Queue::new(), Queue::new());
        let item = Item::new(1);
        assert!(first.push_back(item.clone()).is_ok());
        assert!(item.link().is_queued());
        assert!(first.push_back(item.clone()).is_err());
        assert!(second.push_back(item.clone()).is_err());
        assert!(second.remove(item.link()).is_none());
        assert!(first.pop_front().is_some());
        assert!(second.push_back(item.clone()).is_ok());
    }

    #[test]
    fn removal_works_at_both_ends_and_in_between() {
        for removed in 0..3 {
            let items = [Item::new(0), Item::new(1), Item::new(2)];
            let mut queue = Queue::new();
            for item in &items {
                assert!(queue.push_back(item.clone()).is_ok());
            }
            let gone = queue.remove(items[removed].link());
            assert_eq!(gone.map(|item| item.number()), Some(removed as u32));
            assert!(queue.push_back(items[removed].clone()).is_ok());
            let mut expected = Vec::from_iter([0, 1, 2]);
            expected.retain(|number| *number != removed as u32);
            expected.push(removed as u32);
            let left = core::iter::from_fn(|| queue.pop_front().map(|item| item.number()));
            assert_eq!(left.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_visit_goes_on_behind_where_it_stopped() {
        let mut queue = Queue::new();
        let items = [0, 1, 2, 3].map(Item::new);
        for item in &items {
            assert!(queue.push_back_marked(item.clone(), 9).is_ok());
        }
        let seen = |queue: &Queue<Item>, after: Option<&Link>, most: usize| {
            let mut seen = Vec::new();
            queue.visit(after, |item, mark| {
                assert_eq!(mark, 9);
                seen.push(item.number());
                seen.len() < most
            });
            seen
        };
        assert_eq!(seen(&queue, None, 2), Vec::from_iter([0, 1]));
        assert_eq!(
            seen(&queue, Some(items[1].link()), 9),
            Vec::from_iter([2, 3])
        );
        assert!(queue.pop_front().is_some());
        assert!(queue.pop_front().is_some());
        // Taken meanwhile, and all before it as well.
        assert_eq!(
            seen(&queue, Some(items[1].link()), 9),
            Vec::from_iter([2, 3])
        );
        assert_eq!(seen(&queue, Some(items[3].link()), 9), Vec::from_iter([]));
        drop(queue);
        assert!(items.into_iter().all(Item::is_last));
    }

    #[test]
    fn a_queue_owns_what_is_in_it() {
        let item = Item::new(7);
        let mut queue = Queue::new();
        assert!(queue.push_back(item.clone()).is_ok());
        drop(queue);
        assert!(!item.link().is_queued());
        let mut queue = Queue::new();
        assert!(queue.push_back(item.clone()).is_ok());
        assert!(!item.is_last());
        assert!(queue.pop_front().is_some_and(Item::is_last));
    }
}
