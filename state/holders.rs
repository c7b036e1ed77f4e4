// SPDX-License-Identifier: GPL-2.0

//! Who holds references to which node.
//!
//! A node does not know its holders, and nothing else needs to. So who shows nodes first
//! goes over all handles once.

use kernel::{alloc::flags::GFP_KERNEL_ACCOUNT, prelude::*, sync::Arc};

use super::sort::sort_by_key;
use crate::{
    node::Node,
    process::{HandleView, Process},
};

/// One handle, from the side of the node.
#[derive(Clone, Copy)]
pub(crate) struct Holder {
    /// Address of the node, to be compared only.
    node: usize,
    pub(crate) pid: i32,
    /// Whether it keeps the object alive.
    pub(crate) is_strong: bool,
}

/// All handles at one time, by node.
pub(crate) struct Holders {
    all: KVVec<Holder>,
    dead: KVVec<Arc<Node>>,
}

impl Holders {
    /// Collects the handles of `processes`. Fails with `ENOMEM`.
    pub(super) fn of_all(processes: &[Arc<Process>]) -> Result<Self> {
        let mut holders = Self {
            all: KVVec::new(),
            dead: KVVec::new(),
        };
        for process in processes {
            process.for_each_handle(|handle| holders.add(handle, process.pid))?;
        }
        let Self { all, dead } = &mut holders;
        sort_by_key(all, |holder| holder.node);
        sort_by_key(dead, address);
        Ok(holders)
    }

    fn add(&mut self, handle: &HandleView, pid: i32) -> Result {
        let holder = Holder {
            node: address(&handle.node),
            pid,
            is_strong: handle.strong != 0,
        };
        self.all.push(holder, GFP_KERNEL_ACCOUNT)?;
        if handle.node.owner.is_known_dead() {
            self.dead.push(handle.node.clone(), GFP_KERNEL_ACCOUNT)?;
        }
        Ok(())
    }

    /// The handles of `node`.
    pub(crate) fn of(&self, node: &Arc<Node>) -> &[Holder] {
        let node = address(node);
        let start = self.all.partition_point(|holder| holder.node < node);
        let from_start = self.all.get(start..).unwrap_or(&[]);
        let len = from_start.partition_point(|holder| holder.node == node);
        from_start.get(..len).unwrap_or(&[])
    }

    /// Nodes whose owner is dead and which somebody still has a handle of, each once.
    pub(super) fn dead_nodes(&self) -> DeadNodes<'_> {
        DeadNodes(&self.dead)
    }
}

fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node) as usize
}

/// See [`Holders::dead_nodes`].
#[derive(Clone, Copy)]
pub(super) struct DeadNodes<'a>(&'a [Arc<Node>]);

impl DeadNodes<'_> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> Iterator for DeadNodes<'a> {
    type Item = &'a Arc<Node>;

    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.0.split_first()?;
        let same = rest.partition_point(|node| address(node) == address(first));
        self.0 = rest.get(same..).unwrap_or(&[]);
        Some(first)
    }
}
