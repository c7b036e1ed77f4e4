// SPDX-License-Identifier: GPL-2.0

//! Threads: one task that talks to the driver through one open file.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use kernel::{
    c_str, new_spinlock,
    prelude::*,
    static_lock_class,
    sync::{aref::ARef, poll::PollCondVarBox, Arc, SetOnce, SpinLock},
    task::Task,
};

use crate::{
    defs::Return,
    error::ExtendedError,
    ffi::task::{self, WakeMode},
    process::{Process, Wakeup},
    stats::{CountedThread, Counters},
    transaction::{log::Origin, Transaction},
    work::{Notice, Work},
};

mod commands;
mod exit;
#[allow(dead_code)]
pub(crate) mod looper;
mod own_error;
mod poll;
pub(crate) mod queue;
mod read;
mod returns;
mod show;
mod spare;
mod wait;

pub(crate) use self::own_error::OwnError;
use self::own_error::Stopped;
pub(crate) use self::read::{Blocking, Flow};
use self::spare::Spare;
use self::{looper::Looper, queue::LocalQueue};
pub(crate) use self::{returns::ReturnWriter, show::StackPiece, spare::CallStart};

/// [`Thread::ready_at`] of a thread that is not in the ready list.
pub(crate) const NOT_READY: usize = usize::MAX;

/// A task as one open file knows it.
///
/// *Semantics*: made at the first ioctl or poll of the task that needs it, gone at
/// `BINDER_THREAD_EXIT`, when the file is closed, or when the task is found to be
/// dead and its id used again.
///
/// *Locking*: `inner` is lock level L4. `ready_at` is guarded by the `sched` lock of
/// the process; it is atomic so that the thread itself may look without it.
///
/// *Lifetime*: held by the process's table, by transactions it takes part in and by
/// whoever is about to wake it.
#[pin_data]
pub(crate) struct Thread {
    pub(crate) tid: i32,
    pub(crate) process: Arc<Process>,
    /// Both ids, for the log.
    pub(crate) origin: Origin,
    pub(crate) task: ARef<Task>,
    /// Index in the process's ready list, or [`NOT_READY`].
    pub(crate) ready_at: AtomicUsize,
    poll_queue: SetOnce<PollCondVarBox>,
    /// There once was no memory for `poll_queue`: who polled then waits at the process's queue.
    polls_process: AtomicBool,
    /// The next read returns at once, whatever there is (set by `flush`, under the lock).
    return_now: AtomicBool,
    stopped: Stopped,
    /// What the thread does, counted by itself.
    pub(crate) counters: Counters,
    _counted: CountedThread,
    /// Set at the end of the thread, for those who only want to know.
    ended: AtomicBool,
    #[pin]
    pub(crate) inner: SpinLock<Inner>,
}

/// The part of a thread that its lock guards.
pub(crate) struct Inner {
    pub(crate) queue: LocalQueue<Work>,
    /// Transactions the thread takes part in, the innermost last: calls it waits for
    /// and calls it serves.
    pub(crate) stack: KVec<Arc<Transaction>>,
    extended_error: ExtendedError,
    /// The place for a failure, unless one is in the queue.
    error: Option<KBox<OwnError>>,
    looper: Looper,
    /// The thread sleeps and whoever gives it work must wake it.
    asleep: bool,
    pub(crate) dead: bool,
    spare: Spare,
}

/// Why a call was not ended.
pub(crate) enum NotEnded {
    /// Nobody waits for it.
    ThreadIsDead,
    /// The caller serves, or is about to read, a request that was made to answer it. The
    /// caller ends the call itself when it has done with that, see `Thread::settle`: told
    /// before, it would take the outcome for that of a call that it makes meanwhile.
    Later,
}

impl Thread {
    /// A thread object for the running task.
    pub(crate) fn new(process: &Arc<Process>, tid: i32, task: ARef<Task>) -> Result<Arc<Self>> {
        let process = process.clone();
        let error = OwnError::new()?;
        let origin = Origin::new(process.pid, tid);
        let thread = Arc::pin_init(
            pin_init!(Self {
                tid,
                origin,
                process,
                task,
                ready_at: AtomicUsize::new(NOT_READY),
                poll_queue: SetOnce::new(),
                polls_process: AtomicBool::new(process.threads_poll_here()),
                return_now: AtomicBool::new(false),
                stopped: Stopped::no(),
                counters: Counters::new(),
                _counted: CountedThread::new(),
                ended: AtomicBool::new(false),
                inner <- new_spinlock!(Inner {
                    queue: LocalQueue::new(),
                    stack: KVec::new(),
                    extended_error: ExtendedError::none(0),
                    error: Some(error),
                    looper: Looper::new(),
                    asleep: false,
                    dead: false,
                    spare: Spare::default(),
                }, "Thread::inner"),
            }),
            GFP_KERNEL,
        )?;
        Ok(thread)
    }

    /// The extended error of the last failure, which is forgotten.
    pub(crate) fn take_extended_error(&self) -> ExtendedError {
        let mut inner = self.inner.lock();
        core::mem::replace(&mut inner.extended_error, ExtendedError::none(0))
    }

    /// Whether the thread is gone; what is sent to it is lost.
    pub(crate) fn is_dead(&self) -> bool {
        self.ended.load(Relaxed)
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.ready_at.load(Relaxed) != NOT_READY
    }

    /// Gives the thread work that ends its sleep; gives it back if the thread is dead.
    ///
    /// May be called under a `sched` lock. The wake-up is for after the unlock.
    pub(crate) fn push_work(self: &Arc<Self>, work: Work, mode: WakeMode) -> Result<Wakeup, Work> {
        let mut inner = self.inner.lock();
        if inner.dead {
            return Err(work);
        }
        inner.queue.push_immediate(work)?;
        Ok(self.wakeup(&mut inner, mode))
    }

    /// Gives the thread a request that was made, directly or through others, to answer
    /// `call`, for which it waits; gives the request back if it does not any more.
    pub(crate) fn push_callback(
        self: &Arc<Self>,
        request: Work,
        call: &Transaction,
    ) -> Result<Wakeup, Work> {
        let mut inner = self.inner.lock();
        if inner.dead || call.is_over() {
            return Err(request);
        }
        inner.queue.push_immediate(request)?;
        Ok(self.wakeup(&mut inner, WakeMode::Sync))
    }

    /// Gives the thread work that is delivered with the next thing it returns for.
    ///
    /// For the thread itself: what it pushes cannot be queued elsewhere, and it is
    /// not dead.
    pub(crate) fn push_deferred_work(&self, work: Work) {
        let unplaced = self.inner.lock().queue.push_deferred(work);
        drop(unplaced);
    }

    /// Gives the thread itself the outcome of a command of its own.
    pub(crate) fn push_notice(&self, notice: KBox<Notice>) {
        let unplaced = self.inner.lock().queue.push_immediate(Work::Notice(notice));
        drop(unplaced);
        self.notify_poll();
    }

    /// What is to be done after unlocking, now that the thread has something to do.
    fn wakeup(self: &Arc<Self>, inner: &mut Inner, mode: WakeMode) -> Wakeup {
        if core::mem::replace(&mut inner.asleep, false) {
            Wakeup::Thread(self.clone(), mode)
        } else if self.is_polled() {
            Wakeup::ThreadPollers(self.clone())
        } else {
            Wakeup::Nobody
        }
    }

    /// Makes the next read return at once; `flush` does this to all threads.
    pub(crate) fn request_return(self: &Arc<Self>) {
        let wakeup = {
            let mut inner = self.inner.lock();
            self.return_now.store(true, Relaxed);
            self.wakeup(&mut inner, WakeMode::Async)
        };
        wakeup.wake(&self.process);
    }

    /// The thread returns to user space, as `flush` asked.
    pub(crate) fn clear_return_request(&self) {
        if self.return_now.load(Relaxed) {
            self.return_now.store(false, Relaxed);
        }
    }

    /// Wakes the task and whoever polls for it. Not to be called under a spinlock.
    pub(crate) fn wake(&self, mode: WakeMode) {
        task::wake(&self.task, mode);
        self.notify_poll();
    }

    pub(crate) fn notify_poll(&self) {
        if let Some(queue) = self.poll_queue.as_ref() {
            queue.notify_all();
        }
        // Also if there is a queue by now: who could not register there will not do so again.
        if self.polls_process.load(Relaxed) {
            self.process.notify_poll();
        }
    }

    fn is_polled(&self) -> bool {
        self.poll_queue.as_ref().is_some() || self.polls_process.load(Relaxed)
    }

    /// The poll queue, made at the first poll of the thread.
    fn poll_queue(&self) -> Result<&PollCondVarBox> {
        if self.poll_queue.as_ref().is_none() {
            let queue = PollCondVarBox::new(c_str!("Thread::poll_queue"), static_lock_class!())?;
            self.poll_queue.populate(queue);
        }
        self.poll_queue.as_ref().ok_or(ENOMEM)
    }
}

/// The calls that a thread makes and serves.
impl Thread {
    /// A call of this thread failed: the first failure that is not read yet stays.
    pub(crate) fn note_failure(&self, error: ExtendedError) {
        let mut inner = self.inner.lock();
        if inner.extended_error.code == Return::OK {
            inner.extended_error = error;
        }
    }

    /// Whether it makes or serves a call.
    pub(crate) fn is_in_call(&self) -> bool {
        !self.inner.lock().stack.is_empty()
    }

    /// Whether the outcome of a call waits to be read.
    pub(crate) fn has_response(&self) -> bool {
        let mut found = false;
        self.inner.lock().queue.items().visit(None, |work, _| {
            found = matches!(work, Work::Response(_));
            !found
        });
        found
    }

    /// Whether the thread has said that it serves calls.
    pub(crate) fn is_looper(&self) -> bool {
        self.inner.lock().looper.serves()
    }

    /// Ends a call of this thread: takes it off the stack and queues its outcome, which
    /// is in it already.
    pub(crate) fn end_call(
        self: &Arc<Self>,
        call: &Arc<Transaction>,
        mode: WakeMode,
    ) -> Result<Wakeup, NotEnded> {
        let mut inner = self.inner.lock();
        if inner.dead {
            return Err(NotEnded::ThreadIsDead);
        }
        let is_top = inner.stack.last().is_some_and(|top| Arc::ptr_eq(top, call));
        if !is_top || inner.queue.has_request() {
            return Err(NotEnded::Later);
        }
        if let Some(call) = inner.stack.pop() {
            // It was in no queue: its request was taken before it could be answered.
            let _ = inner.queue.push_immediate(Work::Response(call));
        }
        Ok(self.wakeup(&mut inner, mode))
    }
}
