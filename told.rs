// SPDX-License-Identifier: GPL-2.0

//! News that a process has read and not acknowledged yet, by cookie.

use kernel::{
    prelude::*,
    rbtree::{RBTree, RBTreeNode, RBTreeNodeReservation},
    sync::Arc,
};

/// Cookies need not be unique, so the address tells equal ones apart.
type Key = (u64, usize);

/// Room for one entry, to be had before the lock is taken.
pub(crate) type Room<T> = RBTreeNodeReservation<Key, Arc<T>>;

/// An entry that was taken out, to be dropped without a lock.
pub(crate) type Entry<T> = RBTreeNode<Key, Arc<T>>;

/// Notifications of one kind. Guarded by the `sched` lock of the process.
pub(crate) struct Told<T>(RBTree<Key, Arc<T>>);

/// Fails with `ENOMEM`.
pub(crate) fn room<T>() -> Result<Room<T>> {
    RBTreeNodeReservation::new(GFP_KERNEL)
}

impl<T> Told<T> {
    /// Nothing was told.
    pub(crate) fn new() -> Self {
        Self(RBTree::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a notification, which is not there yet.
    pub(crate) fn insert(&mut self, room: Room<T>, cookie: u64, item: &Arc<T>) {
        self.0
            .insert(room.into_node(key(cookie, item), item.clone()));
    }

    /// Takes out `item`, if it is there.
    pub(crate) fn remove(&mut self, cookie: u64, item: &Arc<T>) -> Option<Entry<T>> {
        self.0.remove_node(&key(cookie, item))
    }

    /// Takes out any notification with the cookie.
    pub(crate) fn take(&mut self, cookie: u64) -> Option<(Arc<T>, Entry<T>)> {
        let cursor = self.0.cursor_lower_bound(&(cookie, 0))?;
        let (key, item) = cursor.current();
        if key.0 != cookie {
            return None;
        }
        let (key, item) = (*key, item.clone());
        Some((item, self.0.remove_node(&key)?))
    }

    /// Takes out any notification.
    pub(crate) fn take_any(&mut self) -> Option<Entry<T>> {
        let first = *self.0.cursor_front()?.current().0;
        self.0.remove_node(&first)
    }
}

fn key<T>(cookie: u64, item: &Arc<T>) -> Key {
    (cookie, Arc::as_ptr(item) as usize)
}
