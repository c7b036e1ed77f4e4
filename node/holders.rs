// SPDX-License-Identifier: GPL-2.0

//! Who refers to a node, and by which handle.
//!
//! A process finds the handle it has of a node here, and not in a tree of all its handles:
//! most nodes have one holder or a few, so that a process may hold a million handles and
//! still find, add and drop each in the same time.

use kernel::rbtree::{RBTree, RBTreeNode, RBTreeNodeReservation};

use super::Node;
use crate::process::Process;

/// Handles of one node by the address of their process. Guarded by the `sched` lock of the
/// node's owner.
///
/// # Invariants
///
/// An entry is there as long as the handle is in the table of its process; both change in one
/// step, under the `handles` lock of that process.
pub(super) type Holders = RBTree<usize, u32>;

/// Room for an entry.
pub(crate) type HolderRoom = RBTreeNodeReservation<usize, u32>;

/// An entry that was taken out, to be dropped without a lock.
pub(crate) type HolderEntry = RBTreeNode<usize, u32>;

/// To be called under the `handles` lock of the holder.
impl Node {
    /// The handle by which a process refers to the node.
    pub(crate) fn handle_of(&self, holder: &Process) -> Option<u32> {
        let sched = self.owner.sched.lock();
        self.state.access(&sched).holders.get(&key(holder)).copied()
    }

    /// Notes the handle of a process that has none of the node yet.
    pub(crate) fn add_holder(&self, holder: &Process, room: HolderRoom, handle: u32) {
        let entry = room.into_node(key(holder), handle);
        let mut sched = self.owner.sched.lock();
        self.state(&mut sched).holders.insert(entry);
    }

    /// Forgets the handle of a process.
    pub(crate) fn remove_holder(&self, holder: &Process) -> Option<HolderEntry> {
        let mut sched = self.owner.sched.lock();
        self.state(&mut sched).holders.remove_node(&key(holder))
    }
}

fn key(holder: &Process) -> usize {
    core::ptr::from_ref(holder) as usize
}
