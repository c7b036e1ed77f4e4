// SPDX-License-Identifier: GPL-2.0

//! Transactions in the state files.

use core::{
    fmt::{self, Write},
    sync::atomic::Ordering::Relaxed,
};

use kernel::sync::Arc;

use super::{Cargo, Transaction};
use crate::{
    allocation::Allocation,
    defs::{Return, TransactionFlags},
    ffi::{pointer::Hashed, task::nice_of, time::milliseconds_since},
    process::Process,
    thread::Thread,
};

/// A transaction at one time.
pub(crate) struct View {
    id: u32,
    address: usize,
    from: (i32, i32),
    to: (i32, i32),
    code: u32,
    flags: TransactionFlags,
    nice: i32,
    kind: Kind,
    elapsed: usize,
    buffer: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Call,
    Oneway,
    Reply,
}

/// The buffer of a transaction.
enum Place {
    /// In another process than the one that is shown.
    Elsewhere,
    /// It is freed.
    Freed,
    Here(BufferView),
}

/// A buffer at one time.
#[derive(Clone, Copy)]
pub(crate) struct BufferView {
    /// The node that the transaction was sent to, 0 if it is a reply.
    pub(crate) node: u32,
    pub(crate) data: usize,
    pub(crate) offsets: usize,
    pub(crate) offset: u32,
}

/// The outcome of a call, on its way to the caller.
pub(crate) enum Carried {
    Reply(View),
    Failure(Return),
}

impl BufferView {
    fn of(buffer: &Allocation, node: u32) -> Self {
        Self {
            node,
            data: buffer.layout.data_size(),
            offsets: buffer.layout.offsets_size(),
            offset: buffer.offset(),
        }
    }
}

impl Transaction {
    /// As the thread sees it that has sent it and waits for the outcome.
    pub(crate) fn view_outgoing(&self) -> View {
        self.view(self.taker.load(Relaxed), Place::Elsewhere)
    }

    /// As the thread sees it that serves it, in `process`.
    pub(crate) fn view_incoming(&self, process: &Process) -> View {
        let buffer = process.find_buffer(self.place.offset, self.id);
        let place = match buffer {
            Some(mut buffer) => {
                buffer.node = self.target.id;
                Place::Here(buffer)
            }
            None => Place::Freed,
        };
        self.view(self.taker.load(Relaxed), place)
    }

    /// As it waits for a thread of `process`, which is to be thread `tid` or, if that is 0,
    /// any.
    pub(crate) fn view_queued(&self, _process: &Process, tid: i32) -> View {
        let place = match &*self.cargo.lock() {
            Cargo::Buffer(buffer) => Place::Here(BufferView::of(buffer, self.target.id)),
            _ => Place::Freed,
        };
        self.view(tid, place)
    }

    /// The outcome that it carries to thread `tid` of `process`.
    pub(crate) fn carried_outcome(&self, process: &Process, tid: i32) -> Carried {
        let (code, flags, buffer) = match &*self.cargo.lock() {
            Cargo::Reply(reply) => (reply.code, reply.flags, BufferView::of(&reply.buffer, 0)),
            Cargo::Failure(outcome) => return Carried::Failure(outcome.0),
            _ => return Carried::Failure(Return::OK),
        };
        let replier = (self.place.pid, self.taker.load(Relaxed));
        Carried::Reply(View {
            id: self.reply_id.load(Relaxed),
            from: replier,
            to: (process.pid, tid),
            code,
            flags,
            kind: Kind::Reply,
            ..self.view(tid, Place::Here(buffer))
        })
    }

    fn view(&self, to_tid: i32, buffer: Place) -> View {
        let (from, kind) = match &self.from {
            Some(from) => ((from.process.pid, from.tid), Kind::Call),
            None => (self.sender, Kind::Oneway),
        };
        View {
            id: self.id,
            address: core::ptr::from_ref(self) as usize,
            from,
            to: (self.place.pid, to_tid),
            code: self.code,
            flags: self.flags,
            nice: self.from.as_ref().map_or(0, |from| nice_of(&from.task)),
            kind,
            elapsed: milliseconds_since(self.started),
            buffer,
        }
    }
}

impl View {
    /// Prints all but what it begins with and the end of the line.
    pub(crate) fn show(&self, out: &mut dyn Write) -> fmt::Result {
        let Self { id, code, nice, .. } = self;
        let ((from_pid, from_tid), (to_pid, to_tid)) = (self.from, self.to);
        write!(
            out,
            " {id}: {} from {from_pid}:{from_tid} to {to_pid}:{to_tid} code {code:x} flags {:x} \
             pri {nice} a{} r{} elapsed {}ms",
            Hashed(self.address),
            self.flags.0,
            u8::from(self.kind == Kind::Oneway),
            u8::from(self.kind == Kind::Reply),
            self.elapsed,
        )?;
        match &self.buffer {
            Place::Elsewhere => Ok(()),
            Place::Freed => out.write_str(" buffer free"),
            Place::Here(buffer) => {
                if buffer.node != 0 {
                    write!(out, " node {}", buffer.node)?;
                }
                let (data, offsets, offset) = (buffer.data, buffer.offsets, buffer.offset);
                write!(out, " size {data}:{offsets} offset {offset:x}")
            }
        }
    }
}

impl Thread {
    /// How the thread takes part in `transaction`, which is in its stack.
    pub(crate) fn view_of(&self, transaction: &Arc<Transaction>) -> (&'static str, View) {
        if transaction.is_from(self) {
            ("outgoing", transaction.view_outgoing())
        } else {
            ("incoming", transaction.view_incoming(&self.process))
        }
    }
}
