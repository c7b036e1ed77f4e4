// SPDX-License-Identifier: GPL-2.0

//! Nodes in the state files.

use core::{
    fmt::{self, Write},
    sync::atomic::Ordering::Relaxed,
};

use kernel::sync::Arc;

use super::{refcount::Refcount, Node};
use crate::{
    ffi::abi::binder_node_debug_info,
    process::Sched,
    state::{Holders, Listing, Output, Pointer, Prefix, Style},
};

/// A node at one time.
pub(crate) struct NodeView {
    pub(crate) node: Arc<Node>,
    told: Refcount,
    strong: usize,
    weak: usize,
    /// A oneway message is out: others may wait for its end.
    pub(crate) is_busy: bool,
}

impl Node {
    /// The node, under the lock of its owner.
    pub(crate) fn view(self: &Arc<Self>, sched: &Sched) -> NodeView {
        let state = self.state.access(sched);
        NodeView {
            node: self.clone(),
            told: state.told,
            strong: self.strong.load(Relaxed),
            weak: state.weak,
            is_busy: state.oneway.is_busy(),
        }
    }

    /// Prints a node that is in no table any more.
    pub(crate) fn show(
        self: &Arc<Self>,
        out: &mut Output,
        style: Style,
        holders: &Holders,
    ) -> fmt::Result {
        let view = {
            let sched = self.owner.sched.lock();
            self.view(&sched)
        };
        view.show(out, style, holders)
    }

    /// Prints the oneway messages that wait.
    pub(crate) fn show_waiting(
        &self,
        out: &mut Output,
        style: Style,
        listing: &mut Listing,
    ) -> fmt::Result {
        let prefix = Prefix {
            indent: "    ",
            transaction: "pending async transaction",
        };
        listing.show(out, style, prefix, |listing| {
            let sched = self.owner.sched.lock();
            let waiting = self.state.access(&sched).oneway.waiting();
            listing.collect(waiting, &self.owner, &sched, 0);
        })
    }
}

impl NodeView {
    /// What its owner is told of it, as `BINDER_GET_NODE_DEBUG_INFO` does.
    pub(crate) fn debug_info(&self) -> binder_node_debug_info {
        binder_node_debug_info {
            ptr: self.node.ptr,
            cookie: self.node.cookie,
            has_strong_ref: self.told.has_strong().into(),
            has_weak_ref: self.told.has_weak().into(),
        }
    }

    /// Prints the line of the node.
    ///
    /// The claims of handles are told apart from the others here: the driver counts all
    /// claims of a kind together.
    pub(crate) fn show(&self, out: &mut Output, style: Style, holders: &Holders) -> fmt::Result {
        let node = &self.node;
        let handles = holders.of(node);
        let strong_handles = handles.iter().filter(|holder| holder.is_strong).count();
        let (ptr, cookie) = (
            Pointer(node.ptr, style.pointers),
            Pointer(node.cookie, style.pointers),
        );
        write!(
            out,
            "  node {}: u{ptr} c{cookie} hs {} hw {} ls {} lw {} is {strong_handles} iw {} tr 0",
            node.id,
            u8::from(self.told.has_strong()),
            u8::from(self.told.has_weak()),
            self.strong.saturating_sub(strong_handles),
            self.weak.saturating_sub(handles.len()),
            handles.len(),
        )?;
        if !handles.is_empty() {
            out.write_str(" proc")?;
        }
        for holder in handles {
            write!(out, " {}", holder.pid)?;
        }
        out.write_str("\n")
    }
}
