// SPDX-License-Identifier: GPL-2.0

//! Which thread of a process gets which work.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{
    prelude::*,
    rbtree::{RBTree, RBTreeNode},
    sync::Arc,
};

use crate::{
    ffi::{link::Link, task::WakeMode},
    node::{
        death::ToldDeaths,
        freeze::{ToldFreezes, Watchers},
        Node,
    },
    process::{freezer::Freezer, Process},
    thread::{looper::Pool, Thread, NOT_READY},
    work::{Work, WorkQueue},
};

/// Number of threads from which on those that have ended are looked for.
const FIRST_SWEEP: usize = 32;

/// The part of a process that its `sched` lock guards: lock level L3.
///
/// # Invariants
///
/// - A thread is in `ready` at index `i` if and only if its `ready_at` is `i`.
/// - `todo` is empty while `ready` is not: a ready thread is handed the work.
pub(crate) struct Sched {
    todo: WorkQueue,
    ready: KVec<Arc<Thread>>,
    /// Threads there are or are about to be; `ready` has room for all of them.
    threads: usize,
    /// So many are there when those whose tasks have ended are looked for again.
    sweep_at: usize,
    pub(super) nodes: RBTree<u64, Arc<Node>>,
    /// Deaths that were read and not acknowledged.
    pub(crate) told_deaths: ToldDeaths,
    /// Freezes that were read and not acknowledged.
    pub(crate) told_freezes: ToldFreezes,
    /// Who wants to know when the process is frozen.
    pub(super) watchers: Watchers,
    pub(crate) freezer: Freezer,
    pub(super) pool: Pool,
    dead: bool,
}

/// What is to be woken once all spinlocks are released.
///
/// Wait-queue and run-queue locks are never taken under a lock of the driver; the
/// counted pointer keeps the thread alive until then.
#[must_use = "work was queued for somebody who may be asleep"]
pub(crate) enum Wakeup {
    /// Nobody sleeps.
    Nobody,
    /// This thread, which sleeps in a read, and whoever polls for it.
    Thread(Arc<Thread>, WakeMode),
    /// Whoever polls for this thread. The task is not woken: it may sleep elsewhere in the
    /// kernel, for reasons of its own.
    ThreadPollers(Arc<Thread>),
    /// Whoever polls the process's file.
    Pollers,
}

impl Wakeup {
    pub(crate) fn nobody() -> Self {
        Self::Nobody
    }

    /// Does it. `process` is the process that the work was queued to.
    pub(crate) fn wake(self, process: &Process) {
        match self {
            Self::Nobody => {}
            Self::Thread(thread, mode) => thread.wake(mode),
            Self::ThreadPollers(thread) => thread.notify_poll(),
            Self::Pollers => process.notify_poll(),
        }
    }
}

impl Sched {
    pub(super) fn new() -> Self {
        Self {
            todo: WorkQueue::new(),
            ready: KVec::new(),
            threads: 0,
            sweep_at: FIRST_SWEEP,
            nodes: RBTree::new(),
            told_deaths: ToldDeaths::new(),
            told_freezes: ToldFreezes::new(),
            watchers: Watchers::new(),
            freezer: Freezer::new(),
            pool: Pool::new(),
            dead: false,
        }
    }

    /// Whether the file was closed: nobody will read work of this process.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn set_dead(&mut self) {
        self.dead = true;
    }

    /// Gives work to a ready thread, or to whichever asks first.
    ///
    /// The caller has checked that the process is not dead.
    pub(crate) fn push(&mut self, work: Work) -> Wakeup {
        self.push_with(work, WakeMode::Async)
    }

    /// As [`Sched::push`], with a say in how the thread is woken.
    pub(crate) fn push_with(&mut self, mut work: Work, mode: WakeMode) -> Wakeup {
        while let Some(thread) = self.ready.pop() {
            thread.ready_at.store(NOT_READY, Relaxed);
            match thread.push_work(work, mode) {
                Ok(wakeup) => return wakeup,
                // It died as it waited; a dead thread is not ready again.
                Err(back) => work = back,
            }
        }
        // Cannot be queued elsewhere: the caller owns it.
        let _ = self.todo.push_back(work);
        Wakeup::Pollers
    }

    /// Takes work that no thread has taken yet.
    pub(crate) fn pop(&mut self) -> Option<Work> {
        self.todo.pop_front()
    }

    /// Whether work waits for a thread.
    pub(crate) fn has_work(&self) -> bool {
        !self.todo.is_empty()
    }

    /// Takes back the work that is queued through `link`, if no thread has it yet.
    pub(crate) fn withdraw(&mut self, link: &Link) -> Option<Work> {
        self.todo.remove(link)
    }

    /// Adds `thread` to those that wait for work. It must look for work again, under
    /// this lock, before it sleeps.
    pub(crate) fn add_ready(&mut self, thread: &Arc<Thread>) {
        if thread.is_ready() {
            return;
        }
        let index = self.ready.len();
        // Room was reserved when the thread was made, see `reserve_ready`.
        if self.ready.push_within_capacity(thread.clone()).is_ok() {
            thread.ready_at.store(index, Relaxed);
        }
    }

    /// Takes `thread` out of those that wait. The result is to be dropped after
    /// unlocking.
    pub(crate) fn remove_ready(&mut self, thread: &Thread) -> Option<Arc<Thread>> {
        let index = thread.ready_at.load(Relaxed);
        if index >= self.ready.len() {
            return None;
        }
        thread.ready_at.store(NOT_READY, Relaxed);
        let last = self.ready.pop()?;
        match self.ready.get_mut(index) {
            None => Some(last),
            Some(slot) => {
                last.ready_at.store(index, Relaxed);
                Some(core::mem::replace(slot, last))
            }
        }
    }

    /// The work that no thread has taken yet, to be looked at.
    pub(crate) fn todo(&self) -> &WorkQueue {
        &self.todo
    }

    /// How many threads wait for work.
    pub(super) fn ready_threads(&self) -> usize {
        self.ready.len()
    }

    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether a thread waits for work.
    pub(crate) fn has_ready_thread(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Counts a new thread. Says how large the ready list must become for it, if it is
    /// too small.
    pub(super) fn count_thread(&mut self) -> Option<usize> {
        self.threads = self.threads.saturating_add(1);
        (self.ready.capacity() < self.threads).then(|| self.threads.saturating_mul(2))
    }

    /// Whether there are twice as many threads as after the last sweep.
    pub(super) fn wants_sweep(&self) -> bool {
        self.threads >= self.sweep_at
    }

    /// All threads were looked at.
    pub(super) fn swept(&mut self) {
        self.sweep_at = self.threads.saturating_mul(2).max(FIRST_SWEEP);
    }

    /// Takes back [`Sched::count_thread`].
    pub(super) fn uncount_thread(&mut self) {
        self.threads = self.threads.saturating_sub(1);
    }

    /// The growth of the thread pool.
    pub(crate) fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// Moves the ready list to `larger`; gives the old storage back, to be dropped
    /// after unlocking.
    pub(super) fn grow_ready(&mut self, mut larger: KVec<Arc<Thread>>) -> KVec<Arc<Thread>> {
        if larger.capacity() <= self.ready.capacity() {
            return larger;
        }
        core::mem::swap(&mut self.ready, &mut larger);
        for thread in larger.drain_all() {
            // Larger than what is moved into it.
            let _ = self.ready.push_within_capacity(thread);
        }
        larger
    }

    /// Takes `node` out of the table. The result is to be dropped after unlocking.
    pub(crate) fn remove_node(&mut self, node: &Arc<Node>) -> Option<RBTreeNode<u64, Arc<Node>>> {
        let known = self.nodes.get(&node.ptr)?;
        if !Arc::ptr_eq(known, node) {
            return None;
        }
        self.nodes.remove_node(&node.ptr)
    }
}
