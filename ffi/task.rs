// SPDX-License-Identifier: GPL-2.0

//! Sleeping and waking without a wait queue.
//!
//! A binder thread is one task, and only that task ever sleeps on its behalf.
//! The list of a wait queue, its lock and its entry would be pure overhead, so
//! the sleeper publishes its task state and the waker hands the task to the
//! scheduler directly:
//!
//! ```text
//! sleeper                                waker
//!   Sleep::prepare()   (state = asleep)    publish work under the thread's lock
//!   look for work under the lock           unlock
//!   none: sleep.schedule()                 wake(task)
//! ```
//!
//! The wake-up cannot be lost: the sleeper changes its state before it looks, so
//! either it sees the work, or the waker sees (or ends) the sleep.

use core::{
    ptr,
    sync::atomic::{fence, Ordering::SeqCst},
};

use kernel::{
    bindings,
    prelude::*,
    sync::aref::ARef,
    task::{Task, TASK_FREEZABLE, TASK_INTERRUPTIBLE},
};

/// Whether the waker is about to sleep, so that the woken task may take its CPU.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakeMode {
    /// The waker waits for the woken task (a call, or a reply and the next read).
    Sync,
    /// The waker goes on.
    Async,
}

/// `WF_SYNC` of the scheduler, which `default_wake_function()` accepts. It is
/// private to `kernel/sched/sched.h`; `__wake_up_sync()` passes the same bit.
const WF_SYNC: c_int = 0x10;

/// Ends the sleep of `task` if it sleeps interruptibly.
pub(crate) fn wake(task: &Task, mode: WakeMode) {
    let mut entry = bindings::wait_queue_entry {
        private: task.as_ptr().cast(),
        ..Default::default()
    };
    let flags = match mode {
        WakeMode::Sync => WF_SYNC,
        WakeMode::Async => 0,
    };
    // SAFETY: The function reads nothing of the entry but `private`, which is a
    // task that the caller's reference keeps alive.
    unsafe {
        bindings::default_wake_function(
            &mut entry,
            TASK_INTERRUPTIBLE as c_uint,
            flags,
            ptr::null_mut(),
        )
    };
}

fn set_state(state: c_uint) {
    let task = Task::current_raw();
    // SAFETY: `__state` of the running task may be set by that task; the C side
    // accesses it with single loads and stores as well.
    unsafe { ptr::write_volatile(&raw mut (*task).__state, state) };
}

/// The running task is marked as asleep, but still runs.
///
/// Dropping it marks the task as running again. Nothing that may sleep can be
/// called while it exists.
pub(crate) struct Sleep(());

impl Sleep {
    /// Marks the running task as asleep until somebody wakes it or signals it.
    pub(crate) fn prepare() -> Self {
        set_state((TASK_INTERRUPTIBLE | TASK_FREEZABLE) as c_uint);
        // Orders the state before the look for work, against the waker's
        // publication of work before its look at the state.
        fence(SeqCst);
        Self(())
    }

    /// Gives up the CPU; returns when the task was woken.
    pub(crate) fn schedule(self) {
        // SAFETY: We are in process context and hold no spinlock: callers look
        // for work in a scope of their own.
        unsafe { bindings::schedule() };
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        set_state(bindings::TASK_RUNNING);
    }
}

/// Thread id and process of the running task.
pub(crate) struct Current {
    task: *mut bindings::task_struct,
}

impl Current {
    /// The running task.
    pub(crate) fn get() -> Self {
        Self {
            task: Task::current_raw(),
        }
    }

    /// Its id in the initial pid namespace.
    pub(crate) fn tid(&self) -> i32 {
        // SAFETY: The running task is valid and its pid never changes.
        unsafe { (*self.task).pid }
    }

    /// Whether it is `task`.
    pub(crate) fn is(&self, task: &Task) -> bool {
        ptr::eq(self.task, task.as_ptr())
    }

    /// Whether it belongs to the process whose leader is `leader`.
    pub(crate) fn belongs_to(&self, leader: &Task) -> bool {
        // SAFETY: The running task is valid; its group leader can change only by
        // an exec of this very task.
        ptr::eq(unsafe { (*self.task).group_leader }, leader.as_ptr())
    }

    /// Whether it is the last of its process, and about to end.
    pub(crate) fn ends_its_process(&self) -> bool {
        // SAFETY: The running task is valid, and has its signal structure until it is
        // reaped. The counter is atomic; it is 0 from when the last thread has begun to
        // exit.
        unsafe { ptr::read_volatile(&raw const (*(*self.task).signal).live.counter) == 0 }
    }

    /// Whether a signal waits for it.
    pub(crate) fn signal_pending(&self) -> bool {
        // SAFETY: The running task is valid.
        unsafe { bindings::signal_pending(self.task) != 0 }
    }

    /// A counted reference.
    pub(crate) fn to_task(&self) -> ARef<Task> {
        // SAFETY: `task_struct` and `Task` have one layout, and the running task
        // is alive for this borrow.
        ARef::from(unsafe { &*self.task.cast::<Task>() })
    }
}

/// Whether `task` has ended. A task that lives may end at any time.
pub(crate) fn has_ended(task: &Task) -> bool {
    let task = task.as_ptr();
    // SAFETY: The reference keeps the task valid; the C side writes the field with single
    // stores.
    unsafe { ptr::read_volatile(&raw const (*task).exit_state) != 0 }
}

/// The nice value of `task` at this moment.
pub(crate) fn nice_of(task: &Task) -> i32 {
    /// `DEFAULT_PRIO`: the static priority of a task with nice value 0.
    const DEFAULT: i32 = 120;
    // SAFETY: `task` is kept alive by the reference; the value may change meanwhile, and
    // any value that was there will do.
    let priority = unsafe { (&raw const (*task.as_ptr()).static_prio).read_volatile() };
    priority.wrapping_sub(DEFAULT)
}

/// The thread group id of `task` as the running task's pid namespace sees it; 0
/// when it is not visible there.
pub(crate) fn tgid_seen_by_current(task: &Task) -> i32 {
    // SAFETY: `task` is kept alive by the reference; a null namespace means that
    // of the running task.
    unsafe { bindings::task_tgid_nr_ns(task.as_ptr(), ptr::null_mut()) }
}
