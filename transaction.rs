// SPDX-License-Identifier: GPL-2.0

//! Transactions: calls, replies and oneway messages.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::Relaxed};

use kernel::{
    new_spinlock,
    prelude::*,
    sync::{Arc, SpinLock, UniqueArc},
    task::Kuid,
};

use crate::{
    allocation::Allocation,
    defs::{Return, TransactionFlags},
    error::{ExtendedError, TransactionError},
    ffi::{abi::binder_transaction_data, link::Link, task::WakeMode},
    node::Node,
    process::Process,
    stats::CountedTransaction,
    thread::Thread,
};

mod chain;
mod copy;
pub(crate) mod log;
mod objects;
mod receive;
mod reply;
mod security;
mod send;
mod show;
mod trace;

use self::chain::Chain;
pub(crate) use self::show::{BufferView, Carried, View};

/// What a thread asks for in a `BC_TRANSACTION` or `BC_REPLY`, as it was read once.
pub(crate) struct TransactionData {
    /// The handle of the target; meaningless in a reply.
    pub(crate) handle: u32,
    pub(crate) code: u32,
    pub(crate) flags: TransactionFlags,
    pub(crate) data: UserRange,
    pub(crate) offsets: UserRange,
    /// Room for scatter-gather buffers, in bytes.
    pub(crate) buffers_size: u64,
}

/// A range of the sender's memory; an allegation until it is copied.
#[derive(Clone, Copy)]
pub(crate) struct UserRange {
    pub(crate) address: u64,
    pub(crate) size: u64,
}

impl TransactionData {
    pub(crate) fn new(raw: binder_transaction_data, buffers_size: u64) -> Self {
        let (handle, data, offsets) = raw.addresses();
        Self {
            handle,
            code: raw.code,
            flags: TransactionFlags(raw.flags),
            data: UserRange {
                address: data,
                size: raw.data_size,
            },
            offsets: UserRange {
                address: offsets,
                size: raw.offsets_size,
            },
            buffers_size,
        }
    }
}

/// A call and its reply, or a oneway message.
///
/// *Semantics*: one object travels both ways. As a request it is in the queue of the
/// target, and, if it is a call, also in the stack of its sender. The thread that
/// takes the request of a call puts it into its own stack, and answers by putting
/// the outcome into it and queueing it to the sender.
///
/// *Locking*: `cargo` is a leaf (lock level L5). Everything else is fixed when the
/// object is made.
///
/// *Lifetime*: held by queue and stacks.
#[pin_data]
pub(crate) struct Transaction {
    link: Link,
    pub(crate) id: u32,
    /// Who waits for the reply; nobody for a oneway message.
    from: Option<Arc<Thread>>,
    /// What `from` was serving as it made the call: the way to the callers behind it.
    parent: Chain,
    code: u32,
    flags: TransactionFlags,
    sender_euid: Option<Kuid>,
    /// Of the target node, for the receiver.
    target: TargetName,
    /// The outcome is there, read or not: the caller gives nobody the right to call it
    /// back any more. Set before the caller's lock is taken to tell it, so that who
    /// holds that lock and sees the call unanswered can rely on it.
    over: AtomicBool,
    place: Place,
    /// It counts among the requests of its target that have not ended.
    outstanding: AtomicBool,
    /// Process and thread that sent a oneway message.
    sender: (i32, i32),
    /// When it was sent, in jiffies.
    started: usize,
    /// The thread that has taken the request of a call, 0 before.
    taker: AtomicI32,
    /// The id of the reply, 0 before.
    reply_id: AtomicU32,
    #[pin]
    cargo: SpinLock<Cargo>,
    _counted: CountedTransaction,
}

/// How the owner of a node knows it.
#[derive(Clone, Copy, Default)]
struct TargetName {
    ptr: u64,
    cookie: u64,
    id: u32,
}

/// Where the buffer of a request was made, for the state files.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The process.
    pid: i32,
    /// Where in its mapping.
    offset: u32,
}

/// What the transaction carries at the moment.
enum Cargo {
    Nothing,
    /// A buffer for whoever receives it.
    Buffer(Allocation),
    /// The reply, with what differs from the request.
    Reply(Reply),
    /// There will be no reply.
    Failure(Outcome),
}

/// A return that ends a call.
///
/// As aligned as what else a transaction carries, so that all of it moves in whole words.
#[derive(Clone, Copy)]
#[repr(align(8))]
struct Outcome(Return);

/// The parts of a reply that the request does not have.
struct Reply {
    buffer: Allocation,
    code: u32,
    flags: TransactionFlags,
    sender_euid: Kuid,
}

static LAST_ID: AtomicU32 = AtomicU32::new(0);

/// A number for logs and for the extended error. Never 0 before it wraps.
pub(crate) fn next_id() -> u32 {
    LAST_ID.fetch_add(1, Relaxed).wrapping_add(1)
}

/// The last number that was given.
fn newest_id() -> u32 {
    LAST_ID.load(Relaxed)
}

impl Transaction {
    /// An object without contents.
    pub(crate) fn empty() -> Result<Pin<UniqueArc<Self>>> {
        let init = pin_init!(Self {
            link: Link::new(),
            id: 0,
            from: None,
            parent: Chain::default(),
            code: 0,
            flags: TransactionFlags(0),
            sender_euid: None,
            target: TargetName::default(),
            over: AtomicBool::new(false),
            place: Place::default(),
            outstanding: AtomicBool::new(false),
            sender: (0, 0),
            started: 0,
            taker: AtomicI32::new(0),
            reply_id: AtomicU32::new(0),
            cargo <- new_spinlock!(Cargo::Nothing, "Transaction::cargo"),
            _counted: CountedTransaction::new(),
        });
        UniqueArc::pin_init(init, GFP_KERNEL)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Whether `thread` made this call.
    pub(crate) fn is_from(&self, thread: &Thread) -> bool {
        self.from
            .as_ref()
            .is_some_and(|from| core::ptr::eq(&**from, thread))
    }

    fn is_oneway(&self) -> bool {
        self.from.is_none()
    }

    /// Whether there is an outcome for the caller.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Puts the outcome in.
    fn conclude(&self, outcome: Cargo) {
        let before = core::mem::replace(&mut *self.cargo.lock(), outcome);
        self.over.store(true, Relaxed);
        self.discard(before);
    }

    /// Lets go of what the transaction carried. A request that was not delivered has ended.
    fn discard(&self, cargo: Cargo) {
        if let Cargo::Buffer(buffer) = &cargo {
            self.request_ends(&buffer.process);
        }
        drop(cargo);
    }

    /// The request is accepted by `target`, under its `sched` lock.
    fn request_begins(&self, target: &Process) {
        self.outstanding.store(true, Relaxed);
        target.request_begins();
    }

    /// The request has ended for `target`, which it was sent to; once more does nothing.
    /// Only who has taken it out of a queue or stack calls this.
    pub(crate) fn request_ends(&self, target: &Process) {
        if self.outstanding.load(Relaxed) {
            self.outstanding.store(false, Relaxed);
            self.trace_request_over();
            target.request_ends();
        }
    }

    fn unload(&self) -> Cargo {
        core::mem::replace(&mut *self.cargo.lock(), Cargo::Nothing)
    }

    /// Nobody will serve or answer this: frees its buffer, and if a caller waits, tells
    /// it.
    pub(crate) fn fail(this: Arc<Self>, error: TransactionError) {
        let id = this.id;
        Self::fail_with_id(this, id, error);
    }

    /// As [`Transaction::fail`], for a failure that another transaction (the reply) had.
    fn fail_with_id(this: Arc<Self>, id: u32, error: TransactionError) {
        let Some(from) = this.from.clone() else {
            return this.discard(this.unload());
        };
        this.conclude(Cargo::Failure(Outcome(error.code)));
        from.note_failure(ExtendedError::of(id, error));
        // If it serves another call at the moment, it is told when it has answered that.
        if let Ok(wakeup) = from.end_call(&this, WakeMode::Async) {
            drop(this);
            wakeup.wake(&from.process);
        }
    }

    /// The node that the message was sent to, as long as it is on its way.
    fn target_node(&self) -> Option<Arc<Node>> {
        match &mut *self.cargo.lock() {
            Cargo::Buffer(buffer) => buffer
                .contents()
                .target
                .as_ref()
                .map(|claim| claim.node().clone()),
            _ => None,
        }
    }

    /// Notes who sends it, of a oneway message that nobody else knows yet.
    fn set_sender(self: Pin<&mut Self>, sender: &Thread) {
        *self.project().sender = (sender.process.pid, sender.tid);
    }

    /// Makes the object of an ended call empty, for the next one.
    pub(crate) fn reset(self: Pin<&mut Self>) {
        let this = self.project();
        *this.from = None;
        *this.parent = Chain::default();
        this.over.store(false, Relaxed);
    }
}

/// A transaction object that is not shared yet.
pub(crate) type NewTransaction = Pin<UniqueArc<Transaction>>;
