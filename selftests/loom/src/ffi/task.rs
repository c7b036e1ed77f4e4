// SPDX-License-Identifier: GPL-2.0

//! The kernel's sleep as `ffi/task.rs` uses it.
//!
//! `schedule()` gives up the CPU only if the task's state still says so then, decided under
//! the run queue's lock. A wake-up looks at the state under the same lock, after a barrier
//! against what the waker has written before.

use core::cell::RefCell;
use std::sync::Arc;

use loom::sync::{
    atomic::{
        fence, AtomicBool, AtomicUsize,
        Ordering::{Relaxed, SeqCst},
    },
    Condvar, Mutex,
};

const RUNNING: usize = 0;
const ASLEEP: usize = 1;

/// See the driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeMode {
    Sync,
    Async,
}

/// What a task does wrong, so that a test can show that it would be noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// It is marked as asleep after it has looked for work, not before.
    LateMark,
}

/// A task of the kernel.
#[derive(Debug)]
pub struct Task {
    state: AtomicUsize,
    run_queue: Mutex<()>,
    woken: Condvar,
    signal: AtomicBool,
    mistake: Mistake,
}

impl Task {
    /// A task that runs.
    pub fn new(mistake: Mistake) -> Arc<Self> {
        Arc::new(Self {
            state: AtomicUsize::new(RUNNING),
            run_queue: Mutex::new(()),
            woken: Condvar::new(),
            signal: AtomicBool::new(false),
            mistake,
        })
    }

    /// Sends it a signal.
    pub fn signal(&self) {
        self.signal.store(true, SeqCst);
        wake(self, WakeMode::Async);
    }
}

loom::thread_local! {
    static CURRENT: RefCell<Option<Arc<Task>>> = RefCell::new(None);
}

/// Makes `task` the running task of the calling thread.
pub fn enter(task: &Arc<Task>) {
    CURRENT.with(|current| *current.borrow_mut() = Some(task.clone()));
}

fn current() -> Arc<Task> {
    CURRENT
        .with(|current| current.borrow().clone())
        .expect("a thread that has entered a task")
}

/// Ends the sleep of `task` if it sleeps.
pub fn wake(task: &Task, _mode: WakeMode) {
    let held = task.run_queue.lock().expect("no holder panicked");
    fence(SeqCst);
    if task.state.load(Relaxed) == ASLEEP {
        task.state.store(RUNNING, Relaxed);
        task.woken.notify_one();
    }
    drop(held);
}

/// The running task is marked as asleep, but still runs.
pub(crate) struct Sleep(Arc<Task>);

impl Sleep {
    pub(crate) fn prepare() -> Self {
        let task = current();
        if task.mistake != Mistake::LateMark {
            mark(&task);
        }
        Self(task)
    }

    pub(crate) fn schedule(self) {
        let task = &self.0;
        if task.mistake == Mistake::LateMark {
            mark(task);
        }
        let mut held = task.run_queue.lock().expect("no holder panicked");
        while task.state.load(Relaxed) == ASLEEP {
            held = task.woken.wait(held).expect("no holder panicked");
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        // A model that has failed is gone.
        if !std::thread::panicking() {
            self.0.state.store(RUNNING, Relaxed);
        }
    }
}

fn mark(task: &Task) {
    task.state.store(ASLEEP, Relaxed);
    fence(SeqCst);
}

/// The running task.
pub(crate) struct Current(Arc<Task>);

impl Current {
    pub(crate) fn get() -> Self {
        Self(current())
    }

    pub(crate) fn signal_pending(&self) -> bool {
        self.0.signal.load(SeqCst)
    }
}
