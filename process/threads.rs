// SPDX-License-Identifier: GPL-2.0

//! The threads of a process.

use kernel::{prelude::*, rbtree::RBTreeNode, sync::Arc};

use super::Process;
use crate::{
    ffi::task::{has_ended, Current},
    stats::{Counters, Kept},
    thread::Thread,
};

impl Process {
    /// The thread object of the running task, made if it is not there.
    ///
    /// # Errors
    ///
    /// `EINVAL` in another process than the one that opened the file, `ENOMEM`.
    pub(crate) fn current_thread(self: &Arc<Self>) -> Result<Arc<Thread>> {
        let current = Current::get();
        if !current.belongs_to(&self.task) {
            return Err(EINVAL);
        }
        let known = self.threads.lock().get(&current.tid()).cloned();
        match known {
            Some(thread) if current.is(&thread.task) => Ok(thread),
            known => {
                // The id is used again: its earlier owner is dead.
                if let Some(stale) = known {
                    self.end_thread(&stale);
                }
                self.add_thread(&current)
            }
        }
    }

    /// The thread object of the running task, if there is one.
    pub(super) fn known_thread(&self) -> Option<Arc<Thread>> {
        let current = Current::get();
        let known = self.threads.lock().get(&current.tid()).cloned();
        known.filter(|thread| current.is(&thread.task))
    }

    fn add_thread(self: &Arc<Self>, current: &Current) -> Result<Arc<Thread>> {
        if self.sched.lock().wants_sweep() {
            self.sweep();
        }
        self.reserve_ready()?;
        let made = Thread::new(self, current.tid(), current.to_task()).and_then(|thread| {
            let entry = RBTreeNode::new(thread.tid, thread.clone(), GFP_KERNEL)?;
            Ok((thread, entry))
        });
        let (thread, entry) = made.inspect_err(|_| self.sched.lock().uncount_thread())?;
        // Only the task itself adds its thread, so there is none to be replaced.
        let replaced = self.threads.lock().insert(entry);
        drop(replaced);
        Ok(thread)
    }

    /// Ends threads whose tasks have ended without `BINDER_THREAD_EXIT`: nothing tells a
    /// module of that. They would keep their callers waiting, and their tasks from being
    /// freed, until the last close.
    ///
    /// Done when the number of threads has doubled, so that it costs each a fixed time.
    fn sweep(&self) {
        self.for_each_thread(|thread| {
            if has_ended(&thread.task) {
                self.end_thread(thread);
            }
        });
        self.sched.lock().swept();
    }

    /// Makes room for one more thread in the ready list, so that becoming ready cannot
    /// fail.
    fn reserve_ready(&self) -> Result {
        let missing = self.sched.lock().count_thread();
        let Some(capacity) = missing else {
            return Ok(());
        };
        match KVec::with_capacity(capacity, GFP_KERNEL) {
            Ok(larger) => {
                let old = self.sched.lock().grow_ready(larger);
                drop(old);
                Ok(())
            }
            Err(error) => {
                self.sched.lock().uncount_thread();
                Err(error.into())
            }
        }
    }

    /// `BINDER_THREAD_EXIT`: forgets the running task. Its next ioctl makes a new object.
    pub(super) fn exit_thread(self: &Arc<Self>) -> Result {
        let thread = self.current_thread()?;
        self.end_thread(&thread);
        Ok(())
    }

    fn end_thread(&self, thread: &Arc<Thread>) {
        let entry = {
            let mut threads = self.threads.lock();
            // Its id may be used again, and be in the table for another task.
            let known = threads.get(&thread.tid);
            let is_known = known.is_some_and(|known| Arc::ptr_eq(known, thread));
            let entry = is_known.then(|| threads.remove_node(&thread.tid)).flatten();
            if entry.is_some() {
                self.counters.absorb(&thread.counters);
            }
            entry
        };
        if entry.is_some() {
            self.sched.lock().uncount_thread();
        }
        drop(entry);
        thread.end();
    }

    /// Calls `visit` on each thread, in order of id, with no lock held.
    pub(super) fn for_each_thread(&self, mut visit: impl FnMut(&Arc<Thread>)) {
        let mut next = i32::MIN;
        while let Some(thread) = self.thread_from(next) {
            visit(&thread);
            match thread.tid.checked_add(1) {
                Some(above) => next = above,
                None => return,
            }
        }
    }

    /// Whether `holds` is true of any thread; called with no lock held.
    pub(super) fn any_thread(&self, holds: impl Fn(&Thread) -> bool) -> bool {
        let mut any = false;
        self.for_each_thread(|thread| any = any || holds(thread));
        any
    }

    fn thread_from(&self, tid: i32) -> Option<Arc<Thread>> {
        let threads = self.threads.lock();
        let cursor = threads.cursor_lower_bound(&tid)?;
        let (_, thread) = cursor.current();
        Some(thread.clone())
    }

    /// Adds what all threads of the process, ended ones included, have counted. Returns
    /// what they keep.
    ///
    /// A thread that ends at the same time may be counted twice or not at all.
    pub(crate) fn add_counters_to(&self, sum: &Counters) -> Kept {
        let mut kept = Kept::default();
        self.for_each_thread(|thread| {
            sum.absorb(&thread.counters);
            kept.add(thread.kept());
        });
        sum.absorb(&self.counters);
        kept
    }

    /// Ends all threads, at the end of the process.
    pub(super) fn end_threads(&self) {
        while let Some(thread) = self.thread_from(i32::MIN) {
            self.end_thread(&thread);
        }
    }
}
