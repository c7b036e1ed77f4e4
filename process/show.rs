// SPDX-License-Identifier: GPL-2.0

//! Processes in the state files.

use core::fmt::{self, Write};

use kernel::{prelude::*, sync::Arc};

use super::{handles::HandleView, Process, Sched};
use crate::{
    ffi::pointer::Hashed,
    node::show::NodeView,
    state::{Holders, Listing, Output, Prefix, Scope, Style, PIECE},
    stats::Counters,
    thread::StackPiece,
    work::Work,
};

impl Process {
    /// Prints all of the process, or what is busy. If that is nothing, prints nothing.
    pub(crate) fn show(
        self: &Arc<Self>,
        out: &mut Output,
        style: Style,
        holders: &Holders,
    ) -> fmt::Result {
        let start = out.len();
        let mut listing = Listing::new().map_err(|_| fmt::Error)?;
        self.show_name(out)?;
        let body = out.len();
        self.show_threads(out, style, &mut listing)?;
        self.show_nodes(out, style, holders, &mut listing)?;
        if style.scope == Scope::All {
            self.visit_handles(|handle| show_handle(out, handle))?;
            self.show_figures(out)?;
        }
        self.show_buffers(out)?;
        self.show_todo(out, style, &mut listing)?;
        let (deaths, freezes) = {
            let sched = self.sched.lock();
            (
                !sched.told_deaths.is_empty(),
                !sched.told_freezes.is_empty(),
            )
        };
        if deaths {
            out.write_str("  has delivered dead binder\n")?;
        }
        if freezes {
            out.write_str("  has delivered freeze binder\n")?;
        }
        if style.scope == Scope::Busy && out.len() == body {
            out.truncate(start);
        }
        Ok(())
    }

    fn show_name(&self, out: &mut Output) -> fmt::Result {
        writeln!(out, "proc {}", self.pid)?;
        out.write_fmt(fmt!("context {}\n", self.context.display_name()))
    }

    fn show_threads(&self, out: &mut Output, style: Style, listing: &mut Listing) -> fmt::Result {
        let mut piece = StackPiece::with_capacity(PIECE, GFP_KERNEL).map_err(|_| fmt::Error)?;
        let mut result = Ok(());
        self.for_each_thread(|thread| {
            if result.is_ok() {
                result = thread.show(out, style, listing, &mut piece);
            }
        });
        result
    }

    fn show_nodes(
        &self,
        out: &mut Output,
        style: Style,
        holders: &Holders,
        listing: &mut Listing,
    ) -> fmt::Result {
        self.for_each_node(|view| {
            if style.scope == Scope::Busy && !view.is_busy {
                return Ok(());
            }
            view.show(out, style, holders)?;
            if view.is_busy {
                view.node.show_waiting(out, style, listing)?;
            }
            Ok(())
        })
    }

    /// Calls `visit` on each node, in order of its pointer, with no lock held.
    fn for_each_node(&self, mut visit: impl FnMut(&NodeView) -> fmt::Result) -> fmt::Result {
        let mut piece = KVec::with_capacity(PIECE, GFP_KERNEL).map_err(|_| fmt::Error)?;
        let mut from = Some(0);
        while let Some(ptr) = from {
            piece.clear();
            from = copy_nodes(&self.sched.lock(), ptr, &mut piece);
            piece.iter().try_for_each(&mut visit)?;
        }
        Ok(())
    }

    fn visit_handles(&self, mut visit: impl FnMut(&HandleView) -> fmt::Result) -> fmt::Result {
        let visited = self.for_each_handle(|handle| visit(handle).map_err(|_| ENOMEM));
        visited.map_err(|_| fmt::Error)
    }

    fn show_buffers(&self, out: &mut Output) -> fmt::Result {
        let visited = self.for_each_buffer(|buffer| {
            let (data, offsets, extra) = buffer.sizes;
            let state = if buffer.is_delivered {
                "delivered"
            } else {
                "active"
            };
            let (id, offset) = (buffer.id, buffer.offset);
            writeln!(
                out,
                "  buffer {id}: {offset:x} size {data}:{offsets}:{extra} {state}"
            )
            .map_err(|_| ENOMEM)
        });
        visited.map_err(|_| fmt::Error)
    }

    fn show_todo(
        self: &Arc<Self>,
        out: &mut Output,
        style: Style,
        listing: &mut Listing,
    ) -> fmt::Result {
        let prefix = Prefix {
            indent: "  ",
            transaction: "pending transaction",
        };
        listing.show(out, style, prefix, |listing| {
            let sched = self.sched.lock();
            listing.collect(sched.todo(), self, &sched, 0);
        })
    }

    /// What the C driver has no lines for.
    fn show_figures(&self, out: &mut Output) -> fmt::Result {
        let handles = self.handle_figures();
        write!(out, "  handles: used {}, highest ", handles.used)?;
        match handles.highest {
            Some(highest) => write!(out, "{highest}")?,
            None => out.write_str("none")?,
        }
        writeln!(
            out,
            ", capacity {}, bytes {}",
            handles.capacity, handles.bytes
        )?;
        let buffers = self.buffer_figures();
        let (resident, pages) = buffers.pages;
        writeln!(
            out,
            "  space: size {}, free {}, free oneway {}, buffers {}, pages {resident} of {pages}",
            buffers.size, buffers.free, buffers.free_oneway, buffers.buffers,
        )
    }

    /// Prints the numbers of the process.
    pub(crate) fn show_stats(&self, out: &mut Output) -> fmt::Result {
        self.show_name(out)?;
        let (threads, ready, pool) = {
            let sched = self.sched.lock();
            (sched.threads(), sched.ready_threads(), sched.pool)
        };
        let buffers = self.buffer_figures();
        let (resident, pages) = buffers.pages;
        writeln!(out, "  threads: {threads}")?;
        let (requested, started, max) = (pool.requested(), pool.started(), pool.max());
        writeln!(out, "  requested threads: {requested}+{started}/{max}")?;
        writeln!(out, "  ready threads {ready}")?;
        writeln!(out, "  free async space {}", buffers.free_oneway)?;
        let mut nodes = 0_usize;
        self.for_each_node(|_| {
            nodes = nodes.saturating_add(1);
            Ok(())
        })?;
        writeln!(out, "  nodes: {nodes}")?;
        self.show_handle_sums(out)?;
        writeln!(out, "  buffers: {}", buffers.buffers)?;
        // Pages stay until the process ends, so all of them are active.
        writeln!(
            out,
            "  pages: {resident}:0:{}",
            pages.saturating_sub(resident)
        )?;
        writeln!(out, "  pages high watermark: {resident}")?;
        writeln!(out, "  pending transactions: {}", self.count_pending())?;
        self.show_figures(out)?;
        let sum = Counters::new();
        self.add_counters_to(&sum);
        sum.show(out, "  ")
    }

    fn show_handle_sums(&self, out: &mut Output) -> fmt::Result {
        let (mut handles, mut strong, mut weak) = (0_u64, 0_u64, 0_u64);
        self.visit_handles(|handle| {
            handles = handles.saturating_add(1);
            strong = strong.saturating_add(handle.strong.into());
            weak = weak.saturating_add(handle.weak.into());
            Ok(())
        })?;
        writeln!(out, "  refs: {handles} s {strong} w {weak}")
    }

    /// How many transactions wait for any thread of the process. More than a few thousand
    /// are not counted.
    fn count_pending(&self) -> usize {
        /// Looking at one is a few loads.
        const MOST: usize = 4096;
        let mut pending = 0_usize;
        let mut left = MOST;
        self.sched.lock().todo().visit(None, |work, _| {
            if matches!(work, Work::Request(_)) {
                pending = pending.saturating_add(1);
            }
            left = left.saturating_sub(1);
            left != 0
        });
        pending
    }
}

/// Copies nodes whose pointer is at least `from`, as many as there is room for. Returns the
/// pointer to go on with.
fn copy_nodes(sched: &Sched, from: u64, piece: &mut KVec<NodeView>) -> Option<u64> {
    let mut from = from;
    loop {
        let cursor = sched.nodes.cursor_lower_bound(&from)?;
        let (ptr, node) = cursor.current();
        if piece.push_within_capacity(node.view(sched)).is_err() {
            return Some(*ptr);
        }
        from = ptr.checked_add(1)?;
    }
}

fn show_handle(out: &mut Output, handle: &HandleView) -> fmt::Result {
    let HandleView {
        number,
        node,
        strong,
        weak,
        death,
    } = handle;
    let dead = if node.owner.is_known_dead() {
        "dead "
    } else {
        ""
    };
    writeln!(
        out,
        "  ref {number}: desc {number} {dead}node {} s {strong} w {weak} d {}",
        node.id,
        Hashed(*death),
    )
}
