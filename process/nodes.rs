// SPDX-License-Identifier: GPL-2.0

//! The objects that a process offers.

use kernel::{
    prelude::*,
    rbtree::{Entry, RBTreeNode, RBTreeNodeReservation},
    sync::Arc,
};

use super::{Process, Sched, Wakeup};
use crate::{
    defs::{NodeFlags, Strength},
    ffi::{abi::binder_node_debug_info, user},
    node::{Node, NodeClaim},
    thread::Thread,
    work::Work,
};

/// How user space names an object of its own.
#[derive(Clone, Copy)]
pub(crate) struct NodeName {
    pub(crate) ptr: u64,
    pub(crate) cookie: u64,
    /// Used only if the node is new.
    pub(crate) flags: NodeFlags,
}

/// A node that is not in the table yet, with what its place in the table needs.
type NewNode = RBTreeNode<u64, Arc<Node>>;

/// Room in the table for a node.
type NodeRoom = RBTreeNodeReservation<u64, Arc<Node>>;

impl Process {
    /// Claims a node of this process, which is made if it is not there.
    ///
    /// `via` is the thread that gives it away.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the node has another cookie, `ENOMEM`.
    pub(crate) fn claim_node(
        self: &Arc<Self>,
        name: NodeName,
        strength: Strength,
        via: Option<&Thread>,
    ) -> Result<NodeClaim> {
        let existing = {
            let mut sched = self.sched.lock();
            claim_existing(&mut sched, name, strength, via)?
        };
        let (claim, wakeup) = match existing {
            Some(found) => found,
            None => {
                let node = Node::new(self, name.ptr, name.cookie, name.flags)?;
                let room = RBTreeNodeReservation::new(GFP_KERNEL)?;
                self.claim_new(node, room, name, strength, via)?
            }
        };
        wakeup.wake(self);
        Ok(claim)
    }

    fn claim_new(
        &self,
        new: Arc<Node>,
        room: NodeRoom,
        name: NodeName,
        strength: Strength,
        via: Option<&Thread>,
    ) -> Result<(NodeClaim, Wakeup)> {
        // Declared before the guard, so that it is dropped after it.
        let _unused;
        let mut sched = self.sched.lock();
        let node = match sched.nodes.entry(name.ptr) {
            Entry::Vacant(place) => {
                place.insert(new.clone(), room);
                new
            }
            // Another thread has made it meanwhile.
            Entry::Occupied(known) => {
                let known = known.get().clone();
                _unused = (new, room);
                if known.cookie != name.cookie {
                    return Err(EINVAL);
                }
                known
            }
        };
        Ok(node.claim_locked(&mut sched, strength, via))
    }

    /// Claims the node that becomes the object behind handle 0. Its user space is not
    /// told: it made the node so by itself.
    pub(crate) fn claim_manager_node(
        self: &Arc<Self>,
        ptr: u64,
        cookie: u64,
        flags: NodeFlags,
    ) -> Result<NodeClaim> {
        let name = NodeName { ptr, cookie, flags };
        let node = Node::new(self, ptr, cookie, flags)?;
        let new = RBTreeNode::new(ptr, node, GFP_KERNEL)?;
        let unused;
        let (claim, _) = {
            let mut sched = self.sched.lock();
            if sched.nodes.get(&ptr).is_none() {
                unused = None;
                sched.nodes.insert(new);
            } else {
                unused = Some(new);
            }
            let node = sched.nodes.get(&ptr).cloned().ok_or(EINVAL)?;
            if node.cookie != name.cookie {
                return Err(EINVAL);
            }
            node.force_known(&mut sched);
            node.claim_locked(&mut sched, Strength::Strong, None)
        };
        drop(unused);
        Ok(claim)
    }

    /// `BC_INCREFS_DONE`, `BC_ACQUIRE_DONE`.
    ///
    /// # Errors
    ///
    /// `ENOENT` if there is no such node, `EINVAL` if the cookie is another or nothing
    /// was to be acknowledged.
    pub(crate) fn acknowledge_node(&self, ptr: u64, cookie: u64, strength: Strength) -> Result {
        let node = self.sched.lock().nodes.get(&ptr).cloned().ok_or(ENOENT)?;
        if node.cookie != cookie {
            return Err(EINVAL);
        }
        node.acknowledge(strength)
    }

    /// `BINDER_GET_NODE_DEBUG_INFO`: the node with the smallest pointer above a given one.
    pub(super) fn node_debug_info(&self, arg: u64) -> Result {
        let asked: binder_node_debug_info = user::read(arg)?;
        let mut info = binder_node_debug_info::default();
        if let Some(above) = asked.ptr.checked_add(1) {
            let view = {
                let sched = self.sched.lock();
                let cursor = sched.nodes.cursor_lower_bound(&above);
                cursor.map(|cursor| cursor.current().1.view(&sched))
            };
            if let Some(view) = view {
                info = view.debug_info();
            }
        }
        user::write(arg, &info)
    }

    /// Queues work of the process again whose thread is gone before it was read.
    pub(crate) fn requeue(&self, work: Work) {
        let mut unplaced = Some(work);
        let wakeup = {
            let mut sched = self.sched.lock();
            match unplaced.take_if(|work| !sched.is_dead() && !work.is_queued()) {
                Some(work) => sched.push(work),
                None => Wakeup::nobody(),
            }
        };
        drop(unplaced);
        wakeup.wake(self);
    }

    /// Ends the nodes at the end of the process: what waits for them will not be served.
    pub(super) fn end_nodes(&self) {
        while let Some(node) = self.pop_node() {
            let (_, node) = node.to_key_value();
            while let Some(work) = self.cancel_oneway(&node) {
                work.cancel();
            }
            node.fire_deaths();
        }
    }

    fn pop_node(&self) -> Option<NewNode> {
        let mut sched = self.sched.lock();
        let first = *sched.nodes.cursor_front()?.current().0;
        sched.nodes.remove_node(&first)
    }

    fn cancel_oneway(&self, node: &Arc<Node>) -> Option<Work> {
        let mut sched = self.sched.lock();
        node.state(&mut sched).oneway.cancel()
    }
}

fn claim_existing(
    sched: &mut Sched,
    name: NodeName,
    strength: Strength,
    via: Option<&Thread>,
) -> Result<Option<(NodeClaim, Wakeup)>> {
    let Some(node) = sched.nodes.get(&name.ptr).cloned() else {
        return Ok(None);
    };
    if node.cookie != name.cookie {
        return Err(EINVAL);
    }
    Ok(Some(node.claim_locked(sched, strength, via)))
}
