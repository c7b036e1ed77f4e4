// SPDX-License-Identifier: GPL-2.0

//! Processes: one open file of a binder device.
//!
//! A Unix process that opens a device twice is two processes to the driver.
//!
//! # Locks
//!
//! Taken downwards only, never two of one level at a time, and nothing sleeps,
//! allocates, copies to or from user space, wakes anybody or drops an owner under a
//! spinlock:
//!
//! | level | lock                    | kind  |
//! |-------|-------------------------|-------|
//! | L1    | `Context::manager`      | mutex |
//! | L2    | `Process::handles`      | spin  |
//! | L3    | `Process::sched`        | spin  |
//! | L4    | `Thread::inner`         | spin  |
//! | L5    | `Process::buffers`, `Process::threads`, `Transaction::cargo` | spin |
//!
//! The levels hold across processes: L2 of one may enclose L3 of another.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};

use kernel::{
    c_str,
    cred::Credential,
    mm::Mm,
    new_condvar, new_spinlock,
    prelude::*,
    rbtree::RBTree,
    static_lock_class,
    sync::{aref::ARef, poll::PollCondVarBox, Arc, ArcBorrow, CondVar, SpinLock},
    task::Task,
};

use crate::{
    allocation::pages::current_mm,
    context::Context,
    registry,
    stats::{CountedProcess, Counters},
    thread::Thread,
};

mod buffers;
mod deaths;
mod freeze;
pub(crate) mod freezer;
mod freezes;
mod handles;
mod ioctl;
mod lifecycle;
mod mapping;
mod nodes;
mod scheduler;
mod show;
mod threads;

use self::handles::HandleTable;
pub(crate) use self::{
    buffers::{BufferKind, Buffers},
    handles::HandleView,
    nodes::NodeName,
    scheduler::{Sched, Wakeup},
};

/// An open file of a binder device.
///
/// *Semantics*: see the module. Only the process that opened the file can use it.
/// *Locking*: see the module; fields without a lock are fixed at `open`, or set once.
/// *Lifetime*: held by the file, by its threads and nodes, and by buffers in it. The
/// cycles among these are cut in [`Process::release`], at the last close.
#[pin_data]
pub(crate) struct Process {
    pub(crate) context: Arc<Context>,
    /// The leader of the thread group that opened the file.
    pub(crate) task: ARef<Task>,
    /// Its id in the initial pid namespace.
    pub(crate) pid: i32,
    /// Its place in the order of all that were ever opened.
    serial: u64,
    /// Credentials of the opener, for the security modules.
    pub(crate) cred: ARef<Credential>,
    /// The address space of the opener.
    pub(crate) mm: ARef<Mm>,
    /// Threads by task id. Lock level L5.
    #[pin]
    threads: SpinLock<RBTree<i32, Arc<Thread>>>,
    /// Lock level L2.
    #[pin]
    handles: SpinLock<HandleTable>,
    /// Lock level L3.
    #[pin]
    pub(crate) sched: SpinLock<Sched>,
    /// Lock level L5.
    #[pin]
    pub(crate) buffers: SpinLock<Buffers>,
    /// Who polls for work that any thread may take.
    poll_queue: PollCondVarBox,
    /// Whether anybody has ever polled the file; a hint that spares others a lock.
    polled: AtomicBool,
    /// A poll had no memory for its thread: threads to come tell the process's pollers.
    threads_poll_here: AtomicBool,
    /// Whether the thread pool has a limit above 0; a hint that spares the common
    /// process without pool a lock.
    has_pool: AtomicBool,
    /// Whether the process, as a sender, is told that it floods a target.
    reports_spam: AtomicBool,
    /// Set when the file is closed; `sched` has the authoritative word.
    dead: AtomicBool,
    /// Set while the process is frozen. Changed under the lock of `sched`.
    frozen: AtomicBool,
    /// Requests that were accepted and have not ended. See [`freeze`].
    outstanding: AtomicUsize,
    /// How many freezings wait for the end of what is under way.
    drains: AtomicU32,
    /// Where they wait, with `sched`.
    #[pin]
    drained: CondVar,
    /// What ended threads counted. Changed under the lock of `threads`.
    pub(crate) counters: Counters,
    _counted: CountedProcess,
}

impl Process {
    fn new(context: ArcBorrow<'_, Context>, cred: &Credential) -> Result<Arc<Self>> {
        let current = kernel::current!();
        let leader = current.group_leader();
        let (task, pid): (ARef<Task>, i32) = (leader.into(), leader.pid());
        let (context, cred): (Arc<Context>, ARef<Credential>) = (context.into(), cred.into());
        let mm = current_mm()?;
        let poll_queue = PollCondVarBox::new(c_str!("Process::poll_queue"), static_lock_class!())?;
        Arc::pin_init(
            pin_init!(Self {
                context,
                task,
                pid,
                serial: registry::next_serial(),
                cred,
                mm,
                threads <- new_spinlock!(RBTree::new(), "Process::threads"),
                handles <- new_spinlock!(HandleTable::new(), "Process::handles"),
                sched <- new_spinlock!(Sched::new(), "Process::sched"),
                buffers <- new_spinlock!(Buffers::new(), "Process::buffers"),
                poll_queue,
                polled: AtomicBool::new(false),
                threads_poll_here: AtomicBool::new(false),
                has_pool: AtomicBool::new(false),
                reports_spam: AtomicBool::new(false),
                dead: AtomicBool::new(false),
                frozen: AtomicBool::new(false),
                outstanding: AtomicUsize::new(0),
                drains: AtomicU32::new(0),
                drained <- new_condvar!("Process::drained"),
                counters: Counters::new(),
                _counted: CountedProcess::new(),
            }),
            GFP_KERNEL,
        )
    }

    /// Its place in the order of all processes that were ever opened.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// Wakes whoever polls the file for work of the process.
    pub(crate) fn notify_poll(&self) {
        self.poll_queue.notify_all();
    }

    /// A read has taken what it could: tells those who poll of what is left. Who is told
    /// of changes only (`EPOLLET`) reads once for each, and would leave it.
    pub(crate) fn notify_poll_of_rest(&self) {
        if self.polled.load(Relaxed) && self.sched.lock().has_work() {
            self.notify_poll();
        }
    }

    /// Whether a new thread may have to tell those who poll the process, too.
    pub(crate) fn threads_poll_here(&self) -> bool {
        self.threads_poll_here.load(Relaxed)
    }

    /// Whether reads have to look at the thread pool at all.
    pub(crate) fn pool_may_grow(&self) -> bool {
        self.has_pool.load(Relaxed)
    }

    /// Whether the process is told, as a sender, that it floods a target.
    pub(crate) fn wants_spam_reports(&self) -> bool {
        self.reports_spam.load(Relaxed)
    }

    /// Whether the process is over, as far as one can tell without its lock.
    pub(crate) fn is_known_dead(&self) -> bool {
        self.dead.load(Relaxed)
    }
}
