// SPDX-License-Identifier: GPL-2.0

//! What waits in a queue.

use core::fmt::{self, Write};

use kernel::prelude::*;

use super::{output::Pointer, Output, Style, PIECE};
use crate::{
    defs::Return,
    ffi::link::Queued,
    node::obituary::News,
    process::{Process, Sched},
    thread::queue::DEFERRED,
    transaction::{Carried, View},
    work::{Work, WorkQueue},
};

/// An item, as it was under the lock.
enum Item {
    Transaction(View),
    Error(Return),
    Complete(Return),
    Node { id: u32, ptr: u64, cookie: u64 },
    Death(Option<News>, Cleared),
    Freeze(Cleared),
}

/// Whether the end of a death notification was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cleared {
    Yes,
    No,
}

impl Cleared {
    fn if_so(is_cleared: bool) -> Self {
        if is_cleared {
            Self::Yes
        } else {
            Self::No
        }
    }
}

struct Waiting {
    item: Item,
    mark: u8,
}

/// How the lines of a list begin.
#[derive(Clone, Copy)]
pub(crate) struct Prefix {
    pub(crate) indent: &'static str,
    /// Of a transaction, after the indent.
    pub(crate) transaction: &'static str,
}

/// A list of what waits in a queue, made in pieces.
///
/// Memory for one piece; can be used for one queue after the other.
pub(crate) struct Listing {
    piece: KVec<Waiting>,
    /// The last item that was printed, to go on behind it. It is not moved between queues
    /// as long as it is found in the same one; when it was taken, so was all before it.
    last: Option<Work>,
    /// There is more in the queue.
    more: bool,
}

impl Listing {
    /// Fails with `ENOMEM`.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            piece: KVec::with_capacity(PIECE, GFP_KERNEL)?,
            last: None,
            more: false,
        })
    }

    /// Prints a queue of `process`.
    ///
    /// `look` is to take the locks that guard the queue and to pass it to
    /// [`Listing::collect`], once each time it is called.
    pub(crate) fn show(
        &mut self,
        out: &mut Output,
        style: Style,
        prefix: Prefix,
        mut look: impl FnMut(&mut Self),
    ) -> fmt::Result {
        self.last = None;
        loop {
            self.piece.clear();
            self.more = false;
            let before = self.last.clone_counted();
            look(self);
            // Not under the lock: it may be the last pointer to what it points to.
            drop(before);
            for waiting in &self.piece {
                waiting.show(out, style, prefix)?;
            }
            if !self.more {
                return Ok(());
            }
            if self.last.is_none() {
                return writeln!(out, "{}... more, not shown", prefix.indent);
            }
        }
    }

    /// Copies the next piece of `queue`, which is one of `process`. `sched` is that process's,
    /// locked; `tid` the thread whose queue it is, 0 if it is that of all threads.
    pub(crate) fn collect(
        &mut self,
        queue: &WorkQueue,
        process: &Process,
        sched: &Sched,
        tid: i32,
    ) {
        let after = self.last.clone_counted();
        // What the piece ends with if there is more: an item that can be held, and found
        // again. Notices cannot.
        let mut anchor = None;
        let (piece, more) = (&mut self.piece, &mut self.more);
        queue.visit(after.as_ref().map(Queued::link), |work, mark| {
            let waiting = Waiting {
                item: Item::of(work, process, sched, tid),
                mark,
            };
            if piece.push_within_capacity(waiting).is_err() {
                *more = true;
                return false;
            }
            if let Some(counted) = work.counted() {
                anchor = Some((counted, piece.len()));
            }
            true
        });
        let anchor = anchor.filter(|_| *more);
        if let Some((_, len)) = &anchor {
            piece.truncate(*len);
        }
        // The caller has another pointer to the old one.
        self.last = anchor.map(|(work, _)| work);
    }
}

/// A second pointer to the same item.
trait CloneCounted {
    fn clone_counted(&self) -> Self;
}

impl CloneCounted for Option<Work> {
    fn clone_counted(&self) -> Self {
        self.as_ref().and_then(Work::counted)
    }
}

impl Item {
    fn of(work: &Work, process: &Process, sched: &Sched, tid: i32) -> Self {
        match work {
            Work::Request(transaction) => Self::Transaction(transaction.view_queued(process, tid)),
            Work::Response(transaction) => match transaction.carried_outcome(process, tid) {
                Carried::Reply(view) => Self::Transaction(view),
                Carried::Failure(code) => Self::Error(code),
            },
            Work::Node(node) | Work::NodeForSender(node) => Self::Node {
                id: node.id,
                ptr: node.ptr,
                cookie: node.cookie,
            },
            Work::Death(death) => {
                let obituary = death.obituary(sched);
                Self::Death(obituary.news(), Cleared::if_so(obituary.is_cleared()))
            }
            Work::Freeze(freeze) => Self::Freeze(Cleared::if_so(freeze.is_cleared(sched))),
            Work::Notice(notice) => Self::Complete(notice.code),
            Work::OwnError(error) => Self::Error(error.code),
        }
    }
}

impl Waiting {
    fn show(&self, out: &mut Output, style: Style, prefix: Prefix) -> fmt::Result {
        let indent = prefix.indent;
        match &self.item {
            Item::Transaction(view) => {
                write!(out, "{indent}{}", prefix.transaction)?;
                view.show(out)?;
            }
            Item::Error(code) => write!(out, "{indent}transaction error: {}", code.0)?,
            Item::Complete(Return::TRANSACTION_COMPLETE) => {
                write!(out, "{indent}transaction complete")?;
            }
            Item::Complete(code) => write!(out, "{indent}transaction complete as {:#x}", code.0)?,
            Item::Node { id, ptr, cookie } => {
                let (ptr, cookie) = (
                    Pointer(*ptr, style.pointers),
                    Pointer(*cookie, style.pointers),
                );
                write!(out, "{indent}node work {id}: u{ptr} c{cookie}")?;
            }
            Item::Death(news, cleared) => {
                let what = match (news, cleared) {
                    (Some(News::Cleared), _) => "has cleared death notification",
                    (_, Cleared::Yes) => "has cleared dead binder",
                    (_, Cleared::No) => "has dead binder",
                };
                write!(out, "{indent}{what}")?;
            }
            Item::Freeze(Cleared::No) => write!(out, "{indent}has frozen binder")?,
            Item::Freeze(Cleared::Yes) => {
                write!(out, "{indent}has cleared freeze notification")?;
            }
        }
        out.write_str(if self.mark == DEFERRED {
            " deferred\n"
        } else {
            "\n"
        })
    }
}
