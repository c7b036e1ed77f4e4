// SPDX-License-Identifier: GPL-2.0

//! Threads: one task that talks to the driver through one open file.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use kernel::{
    c_str, new_spinlock,
    prelude::*,
    static_lock_class,
    sync::{aref::ARef, poll::PollCondVarBox, Arc, SetOnce, SpinLock},
    task::Task,
};

use crate::{
    defs::Return,
    error::{ExtendedError, TransactionError},
    ffi::task::{self, WakeMode},
    process::{Process, Wakeup},
    transaction::{NewTransaction, Transaction},
    work::{Notice, Work},
};

mod commands;
mod exit;
#[allow(dead_code)]
pub(crate) mod looper;
mod poll;
mod queue;
mod read;
mod returns;
mod wait;

pub(crate) use self::read::{Blocking, Flow};
pub(crate) use self::returns::ReturnWriter;
use self::{looper::Looper, queue::LocalQueue};

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
    pub(crate) task: ARef<Task>,
    /// Index in the process's ready list, or [`NOT_READY`].
    pub(crate) ready_at: AtomicUsize,
    poll_queue: SetOnce<PollCondVarBox>,
    #[pin]
    pub(crate) inner: SpinLock<Inner>,
}

/// The part of a thread that its lock guards.
pub(crate) struct Inner {
    pub(crate) queue: LocalQueue,
    /// Transactions the thread takes part in, the innermost last: calls it waits for
    /// and calls it serves.
    pub(crate) stack: KVec<Arc<Transaction>>,
    /// The error of the thread's own last command; the write loop stops at it.
    pub(crate) error: Option<Return>,
    extended_error: ExtendedError,
    looper: Looper,
    /// The thread sleeps and whoever gives it work must wake it.
    asleep: bool,
    /// The next read returns at once, whatever there is (set by `flush`).
    return_now: bool,
    pub(crate) dead: bool,
    spare: Spare,
}

/// What is kept from one command to the next, so that the usual call allocates
/// nothing.
#[derive(Default)]
struct Spare {
    notice: Option<KBox<Notice>>,
    transaction: Option<NewTransaction>,
}

impl Thread {
    /// A thread object for the running task.
    pub(crate) fn new(process: &Arc<Process>, tid: i32, task: ARef<Task>) -> Result<Arc<Self>> {
        let process = process.clone();
        let thread = Arc::pin_init(
            pin_init!(Self {
                tid,
                process,
                task,
                ready_at: AtomicUsize::new(NOT_READY),
                poll_queue: SetOnce::new(),
                inner <- new_spinlock!(Inner {
                    queue: LocalQueue::new(),
                    stack: KVec::new(),
                    error: None,
                    extended_error: ExtendedError::none(0),
                    looper: Looper::new(),
                    asleep: false,
                    return_now: false,
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

    /// Sets what `BINDER_GET_EXTENDED_ERROR` says next.
    pub(crate) fn set_extended_error(&self, error: ExtendedError) {
        self.inner.lock().extended_error = error;
    }

    /// Whether the thread is gone; what is sent to it is lost.
    pub(crate) fn is_dead(&self) -> bool {
        self.inner.lock().dead
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
        let asleep = core::mem::replace(&mut inner.asleep, false);
        if asleep || self.poll_queue.as_ref().is_some() {
            Wakeup::thread(self.clone(), mode)
        } else {
            Wakeup::nobody()
        }
    }

    /// Makes the next read return at once; `flush` does this to all threads.
    pub(crate) fn request_return(self: &Arc<Self>) {
        let wakeup = {
            let mut inner = self.inner.lock();
            inner.return_now = true;
            self.wakeup(&mut inner, WakeMode::Async)
        };
        wakeup.wake(&self.process);
    }

    /// The thread has returned to user space, as `flush` asked.
    pub(crate) fn clear_return_request(&self) {
        self.inner.lock().return_now = false;
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

/// What is kept between commands.
impl Thread {
    pub(crate) fn take_spare_transaction(&self) -> Option<NewTransaction> {
        self.inner.lock().spare.transaction.take()
    }

    pub(crate) fn keep_spare_transaction(&self, spare: NewTransaction) {
        let surplus = self.inner.lock().spare.transaction.replace(spare);
        drop(surplus);
    }

    /// A notice for a command's outcome, from the spare one if there is.
    pub(crate) fn reserve_notice(&self) -> Result<KBox<Notice>> {
        let spare = self.inner.lock().spare.notice.take();
        match spare {
            Some(notice) => Ok(notice),
            None => Notice::new(Return::TRANSACTION_COMPLETE),
        }
    }

    /// Keeps what a command did not need, or has done with, for the next one.
    pub(crate) fn recycle_notice(&self, notice: KBox<Notice>) {
        let surplus = self.inner.lock().spare.notice.replace(notice);
        drop(surplus);
    }
}

/// The calls that a thread makes and serves.
impl Thread {
    /// Makes room for one more transaction in the stack.
    pub(crate) fn grow_stack(&self) -> Result {
        let needed = {
            let inner = self.inner.lock();
            let needed = inner.stack.len().saturating_add(1);
            if inner.stack.capacity() >= needed {
                return Ok(());
            }
            needed
        };
        let mut larger = KVec::with_capacity(needed.saturating_mul(2), GFP_KERNEL)?;
        {
            // Only the thread itself makes the stack longer, so the room still suffices.
            let mut inner = self.inner.lock();
            core::mem::swap(&mut inner.stack, &mut larger);
            for transaction in larger.drain_all() {
                let _ = inner.stack.push_within_capacity(transaction);
            }
        }
        drop(larger);
        Ok(())
    }

    /// A call of this thread failed: the first failure that is not read yet stays.
    pub(crate) fn note_failure(&self, error: ExtendedError) {
        let mut inner = self.inner.lock();
        if inner.extended_error.code == Return::OK {
            inner.extended_error = error;
        }
    }

    /// The error of the thread's own command, to be read after all that waits.
    pub(crate) fn set_error(&self, id: u32, error: TransactionError) {
        {
            let mut inner = self.inner.lock();
            inner.extended_error = ExtendedError::of(id, error);
            inner.error = Some(error.code);
        }
        self.notify_poll();
    }

    /// The innermost transaction of the stack.
    pub(crate) fn top_of_stack(&self) -> Option<Arc<Transaction>> {
        self.inner.lock().stack.last().cloned()
    }

    /// Ends a call of this thread: takes it off the stack and queues its outcome, which
    /// is in it already.
    ///
    /// # Errors
    ///
    /// `BR_DEAD_REPLY` if the thread is dead, `BR_FAILED_REPLY` with `EPROTO` if it does
    /// not wait for this call at the moment.
    pub(crate) fn end_call(
        self: &Arc<Self>,
        call: &Arc<Transaction>,
        mode: WakeMode,
    ) -> Result<Wakeup, TransactionError> {
        let mut inner = self.inner.lock();
        if inner.dead {
            return Err(TransactionError::DIED);
        }
        if !inner.stack.last().is_some_and(|top| Arc::ptr_eq(top, call)) {
            return Err(TransactionError::failed(EPROTO));
        }
        if let Some(call) = inner.stack.pop() {
            // It was in no queue: its request was taken before it could be answered.
            let _ = inner.queue.push_immediate(Work::Response(call));
        }
        Ok(self.wakeup(&mut inner, mode))
    }
}
