// SPDX-License-Identifier: GPL-2.0

//! A thread: how it looks for work and waits is the driver's.
//!
//! `push_work`, `wakeup`, `request_return` and what a read does around the wait are copies
//! of what the driver's `thread.rs` and `thread/read.rs` do, as short as there.

use kernel::{
    alloc::KBox,
    sync::{Arc, SpinLock},
};
use loom::sync::atomic::{
    AtomicBool,
    AtomicUsize,
    Ordering::Relaxed, //
};

use crate::{
    ffi::task::{self, Task, WakeMode},
    process::{Process, Wakeup},
    work::{Notice, Work},
};

#[path = "../../../thread/looper.rs"]
pub(crate) mod looper;
#[cfg(not(feature = "planted"))]
#[path = "../../../thread/queue.rs"]
pub(crate) mod queue;
/// The same with a fault, see `build.rs`.
#[cfg(feature = "planted")]
pub(crate) mod queue {
    include!(concat!(env!("OUT_DIR"), "/queue.rs"));
}
#[path = "../../../thread/wait.rs"]
mod wait;

use queue::LocalQueue;
use wait::Search;

pub(crate) const NOT_READY: usize = usize::MAX;

/// A task as one open file knows it.
pub struct Thread {
    pub(crate) process: Arc<Process>,
    task: Arc<Task>,
    pub(crate) ready_at: AtomicUsize,
    return_now: AtomicBool,
    own_error: OwnErrorSlot,
    inner: SpinLock<Inner>,
}

struct Inner {
    queue: LocalQueue<Work>,
    stack: Vec<()>,
    asleep: bool,
    dead: bool,
    spare: Spare,
}

/// The thread's own commands do not fail.
struct OwnErrorSlot;

impl OwnErrorSlot {
    fn is_set(&self) -> bool {
        false
    }
}

struct Spare(Option<KBox<Notice>>);

impl Spare {
    fn keep_notice(&mut self, notice: KBox<Notice>) -> Option<KBox<Notice>> {
        self.0.replace(notice)
    }
}

/// Whether a thread serves its process or waits for a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It takes work of the process.
    Server,
    /// It waits for something of its own.
    Caller,
}

impl Thread {
    /// A thread of `process` that is `task`.
    pub fn new(process: &Arc<Process>, task: &Arc<Task>) -> Arc<Self> {
        Arc::new(Self {
            process: process.clone(),
            task: task.clone(),
            ready_at: AtomicUsize::new(NOT_READY),
            return_now: AtomicBool::new(false),
            own_error: OwnErrorSlot,
            inner: SpinLock::new(Inner {
                queue: LocalQueue::new(),
                stack: Vec::new(),
                asleep: false,
                dead: false,
                spare: Spare(None),
            }),
        })
    }

    /// Gives the thread work of its own, as whoever replies to it does.
    pub fn reply(self: &Arc<Self>, work: Work) {
        match self.push_work(work, WakeMode::Sync) {
            Ok(wakeup) => wakeup.wake(&self.process),
            Err(_) => unreachable!("it lives, and the work is new"),
        }
    }

    /// Notes that a command of the thread is complete, which may wait for a reply.
    pub fn defer(&self, work: Work) {
        let unplaced = self.inner.lock().queue.push_deferred(work);
        drop(unplaced);
    }

    /// Notes that a command of the thread is complete, which is a reason to return.
    pub fn complete(&self, work: Work) {
        let unplaced = self.inner.lock().queue.push_immediate(work);
        drop(unplaced);
    }

    /// One read that does not wait: the numbers of what it delivers.
    pub fn read_now(self: &Arc<Self>, role: Role) -> Vec<usize> {
        let search = Search {
            process: role == Role::Server && self.is_free(&self.inner.lock()),
            room: true,
        };
        let mut taken = Vec::new();
        while let Some(work) = self.try_work(search, &mut None) {
            taken.push(work.number());
        }
        self.return_now.store(false, Relaxed);
        taken
    }

    /// The thread leaves, as at `BINDER_THREAD_EXIT`: the numbers of what it has not read.
    pub fn exit(self: &Arc<Self>) -> Vec<usize> {
        let entry = {
            let mut sched = self.process.sched.lock();
            self.inner.lock().dead = true;
            sched.remove_ready(self)
        };
        drop(entry);
        let mut left = Vec::new();
        loop {
            let work = self.inner.lock().queue.pop_any();
            match work {
                Some(work) => left.push(work.number()),
                None => return left,
            }
        }
    }

    /// Makes the next read return at once.
    pub fn request_return(self: &Arc<Self>) {
        let wakeup = {
            let mut inner = self.inner.lock();
            self.return_now.store(true, Relaxed);
            self.wakeup(&mut inner, WakeMode::Async)
        };
        wakeup.wake(&self.process);
    }

    /// One read that waits: the numbers of what it delivers.
    ///
    /// # Errors
    ///
    /// `EINTR`.
    pub fn read(self: &Arc<Self>, role: Role) -> kernel::Result<Vec<usize>> {
        let search = Search {
            process: role == Role::Server,
            room: true,
        };
        let mut taken = Vec::new();
        if let Some(work) = self.wait_for_work(search)? {
            taken.push(work.number());
            // Without the process's work: one call at a time.
            let own = Search {
                process: false,
                ..search
            };
            while let Some(work) = self.try_work(own, &mut None) {
                taken.push(work.number());
            }
        }
        self.return_now.store(false, Relaxed);
        Ok(taken)
    }

    /// Whether the thread holds work that it has not read.
    pub fn has_own_work(&self) -> bool {
        !self.inner.lock().queue.is_empty()
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready_at.load(Relaxed) != NOT_READY
    }

    pub(crate) fn push_work(self: &Arc<Self>, work: Work, mode: WakeMode) -> Result<Wakeup, Work> {
        let mut inner = self.inner.lock();
        if inner.dead {
            return Err(work);
        }
        inner.queue.push_immediate(work)?;
        Ok(self.wakeup(&mut inner, mode))
    }

    fn wakeup(self: &Arc<Self>, inner: &mut Inner, mode: WakeMode) -> Wakeup {
        if core::mem::replace(&mut inner.asleep, false) {
            Wakeup::Thread(self.clone(), mode)
        } else {
            Wakeup::Nobody
        }
    }

    pub(crate) fn wake(&self, mode: WakeMode) {
        task::wake(&self.task, mode);
    }

    pub(crate) fn notify_poll(&self) {}
}
