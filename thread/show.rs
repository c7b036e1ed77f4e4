// SPDX-License-Identifier: GPL-2.0

//! Threads in the state files.

use core::{
    fmt::{self, Write},
    sync::atomic::Ordering::Relaxed,
};

use kernel::{prelude::*, sync::Arc};

use super::{Inner, Thread};
use crate::{
    state::{Listing, Output, Prefix, Scope, Style, PIECE},
    transaction::View,
};

/// The bits of the looper state that the state machine does not know of.
const WAITING: u8 = 0x10;
const POLLED: u8 = 0x20;

/// Transactions of a stack, each with the way the thread takes part in it.
pub(crate) type StackPiece = KVec<(&'static str, View)>;

impl Thread {
    /// Prints the thread, the calls it makes and serves, the innermost first, and what waits
    /// for it. Prints nothing if only what is busy is wanted, and nothing is.
    pub(crate) fn show(
        self: &Arc<Self>,
        out: &mut Output,
        style: Style,
        listing: &mut Listing,
        piece: &mut StackPiece,
    ) -> fmt::Result {
        let start = out.len();
        let looper = {
            let inner = self.inner.lock();
            self.looper_bits(&inner)
        };
        let (tid, wants_return) = (self.tid, u8::from(self.return_now.load(Relaxed)));
        writeln!(
            out,
            "  thread {tid}: l {looper:02x} need_return {wants_return} tr 0"
        )?;
        let body = out.len();
        self.show_stack(out, piece)?;
        let prefix = Prefix {
            indent: "    ",
            transaction: "pending transaction",
        };
        listing.show(out, style, prefix, |listing| {
            let sched = self.process.sched.lock();
            let inner = self.inner.lock();
            listing.collect(inner.queue.items(), &self.process, &sched, tid);
        })?;
        if style.scope == Scope::Busy && out.len() == body {
            out.truncate(start);
        }
        Ok(())
    }

    fn looper_bits(&self, inner: &Inner) -> u8 {
        let mut bits = inner.looper.bits();
        if inner.asleep {
            bits |= WAITING;
        }
        if self.is_polled() {
            bits |= POLLED;
        }
        bits
    }

    fn show_stack(&self, out: &mut Output, piece: &mut StackPiece) -> fmt::Result {
        // All at this place of the stack and above it are printed.
        let mut printed = usize::MAX;
        loop {
            piece.clear();
            {
                let inner = self.inner.lock();
                let below = inner.stack.get(..printed.min(inner.stack.len()));
                for transaction in below.unwrap_or(&[]).iter().rev().take(PIECE) {
                    // There is room for a piece.
                    let _ = piece.push_within_capacity(self.view_of(transaction));
                }
                printed = below.unwrap_or(&[]).len().saturating_sub(PIECE);
            }
            for (part, view) in piece.iter() {
                write!(out, "    {part} transaction")?;
                view.show(out)?;
                out.write_str("\n")?;
            }
            if printed == 0 {
                return Ok(());
            }
        }
    }
}
