// SPDX-License-Identifier: GPL-2.0

//! The last transactions, and the last that failed, for the state files.

use core::sync::atomic::{
    fence, AtomicI32, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use kernel::{
    fmt::{self, Write},
    prelude::*,
    sync::Arc,
};

use super::TransactionData;
use crate::{context::Context, error::TransactionError, thread::Thread};

/// Entries in each log.
const ENTRIES: usize = 32;

/// An entry that somebody is writing. As an id it would be the last before they wrap.
const BUSY: u32 = u32::MAX;

/// How often a reader tries to read an entry that is being written.
const TRIES: usize = 8;

/// Values of an entry, all of one transaction.
#[derive(Clone, Copy)]
struct Values {
    id: u32,
    kind: Kind,
    from: Origin,
    to: Destination,
    handle: u32,
    data: u32,
    offsets: u32,
    /// Return and errno, 0 if it was accepted.
    error: u64,
    context: usize,
}

/// The kind of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Call,
    Oneway,
    Reply,
}

/// Process and thread that sent a transaction, in one word.
#[derive(Clone, Copy)]
pub(crate) struct Origin(u64);

impl Origin {
    pub(crate) fn new(pid: i32, tid: i32) -> Self {
        Self(u64::from(pid as u32) << 32 | u64::from(tid as u32))
    }
}

/// Where a transaction goes; 0 is what is not known.
#[derive(Clone, Copy, Default)]
pub(super) struct Destination {
    pub(super) pid: i32,
    pub(super) tid: i32,
    /// Id of the node.
    pub(super) node: u32,
}

/// *Locking*: `done` is [`BUSY`] while an entry is written, and afterwards the id of its
/// transaction. Who finds it busy does not write; who reads and finds it changed,
/// reads again.
#[repr(align(64))]
struct Entry {
    done: AtomicU32,
    kind: AtomicU32,
    from: AtomicU64,
    to_pid: AtomicI32,
    to_tid: AtomicI32,
    node: AtomicU32,
    handle: AtomicU32,
    data: AtomicU32,
    offsets: AtomicU32,
    error: AtomicU64,
    /// Address of the context, which may be gone.
    context: AtomicUsize,
}

impl Entry {
    const fn new() -> Self {
        Self {
            done: AtomicU32::new(0),
            kind: AtomicU32::new(0),
            from: AtomicU64::new(0),
            to_pid: AtomicI32::new(0),
            to_tid: AtomicI32::new(0),
            node: AtomicU32::new(0),
            handle: AtomicU32::new(0),
            data: AtomicU32::new(0),
            offsets: AtomicU32::new(0),
            error: AtomicU64::new(0),
            context: AtomicUsize::new(0),
        }
    }

    #[inline]
    fn write(&self, values: Values) {
        if self.done.swap(BUSY, AcqRel) == BUSY {
            return;
        }
        fence(Release);
        self.kind.store(values.kind as u32, Relaxed);
        self.from.store(values.from.0, Relaxed);
        self.to_pid.store(values.to.pid, Relaxed);
        self.to_tid.store(values.to.tid, Relaxed);
        self.node.store(values.to.node, Relaxed);
        self.handle.store(values.handle, Relaxed);
        self.data.store(values.data, Relaxed);
        self.offsets.store(values.offsets, Relaxed);
        self.error.store(values.error, Relaxed);
        self.context.store(values.context, Relaxed);
        self.done.store(values.id, Release);
    }

    /// Nothing if the entry was never written or is being written all the time.
    fn read(&self) -> Option<Values> {
        for _ in 0..TRIES {
            let id = self.done.load(Acquire);
            let values = Values {
                id,
                kind: Kind::of(self.kind.load(Relaxed)),
                from: Origin(self.from.load(Relaxed)),
                to: Destination {
                    pid: self.to_pid.load(Relaxed),
                    tid: self.to_tid.load(Relaxed),
                    node: self.node.load(Relaxed),
                },
                handle: self.handle.load(Relaxed),
                data: self.data.load(Relaxed),
                offsets: self.offsets.load(Relaxed),
                error: self.error.load(Relaxed),
                context: self.context.load(Relaxed),
            };
            fence(Acquire);
            if id != BUSY && self.done.load(Relaxed) == id {
                return (id != 0).then_some(values);
            }
        }
        None
    }
}

impl Kind {
    fn of(number: u32) -> Self {
        let kinds = [Self::Call, Self::Oneway, Self::Reply];
        let found = kinds.into_iter().find(|kind| *kind as u32 == number);
        found.unwrap_or(Self::Call)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Call => "call ",
            Self::Oneway => "async",
            Self::Reply => "reply",
        }
    }
}

/// Which of the two logs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    /// Of all transactions.
    All,
    /// Of those that failed.
    Failed,
}

static ALL: [Entry; ENTRIES] = [const { Entry::new() }; ENTRIES];
static FAILED: [Entry; ENTRIES] = [const { Entry::new() }; ENTRIES];
static NEXT_FAILED: AtomicUsize = AtomicUsize::new(0);

impl Thread {
    /// Enters a transaction of this thread into the log.
    #[inline]
    pub(super) fn log(&self, id: u32, kind: Kind, data: &TransactionData, to: Destination) {
        // Ids follow each other, so that they lead around the ring without a counter
        // of its own.
        ALL[id as usize % ENTRIES].write(self.log_values(id, kind, data, to));
    }

    /// Enters one that failed into both logs.
    #[cold]
    pub(super) fn log_failure(
        &self,
        id: u32,
        kind: Kind,
        data: &TransactionData,
        to: Destination,
        error: TransactionError,
    ) {
        let mut values = self.log_values(id, kind, data, to);
        values.error = u64::from(error.code.0) << 32 | u64::from(error.errno as u32);
        ALL[id as usize % ENTRIES].write(values);
        FAILED[NEXT_FAILED.fetch_add(1, Relaxed) % ENTRIES].write(values);
    }

    #[inline]
    fn log_values(&self, id: u32, kind: Kind, data: &TransactionData, to: Destination) -> Values {
        Values {
            id,
            kind,
            from: self.origin,
            to,
            handle: data.handle,
            data: data.data.size as u32,
            offsets: data.offsets.size as u32,
            error: 0,
            context: Arc::as_ptr(&self.process.context) as usize,
        }
    }
}

/// Prints a log, the oldest entry first. `name_of` finds the name of the context at an
/// address, if there is one.
pub(crate) fn show<'a>(
    log: Log,
    out: &mut dyn Write,
    name_of: impl Fn(usize) -> Option<&'a Context>,
) -> fmt::Result {
    let (ring, oldest) = match log {
        Log::All => (&ALL, super::newest_id().wrapping_add(1) as usize),
        Log::Failed => (&FAILED, NEXT_FAILED.load(Relaxed)),
    };
    let (newer, older) = ring.split_at(oldest % ENTRIES);
    for entry in [older, newer].into_iter().flatten() {
        if let Some(values) = entry.read() {
            show_entry(out, values, name_of(values.context))?;
        }
    }
    Ok(())
}

fn show_entry(out: &mut dyn Write, values: Values, context: Option<&Context>) -> fmt::Result {
    let Values {
        id,
        kind,
        to,
        handle,
        data,
        offsets,
        ..
    } = values;
    let (from_pid, from_tid) = halves(values.from.0);
    let (to_pid, to_tid, node) = (to.pid, to.tid, to.node);
    write!(
        out,
        "{id}: {} from {from_pid}:{from_tid} to {to_pid}:{to_tid} context ",
        kind.name()
    )?;
    match context {
        Some(context) => out.write_fmt(fmt!("{}", context.display_name()))?,
        None => out.write_str("-")?,
    }
    let (code, errno) = halves(values.error);
    let code = code as u32;
    writeln!(
        out,
        " node {node} handle {handle} size {data}:{offsets} ret {code}/{errno} l=0"
    )
}

fn halves(word: u64) -> (i32, i32) {
    ((word >> 32) as i32, word as i32)
}
