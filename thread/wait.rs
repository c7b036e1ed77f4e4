// SPDX-License-Identifier: GPL-2.0

//! How a thread finds work, and sleeps when there is none.
//!
//! Work reaches a thread in two ways: somebody puts it in the thread's own queue,
//! or it waits in the queue of the process for a thread that has nothing else to
//! do. Looking at both and registering as ready is one step under both locks, so
//! that no work arrives unseen in between; and work of the process is moved behind
//! what the thread already has, so that it is never delivered ahead of it.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{prelude::*, sync::Arc};

use super::{Inner, Thread};
use crate::{
    ffi::task::{Current, Sleep},
    process::Sched,
    work::{Notice, Work},
};

/// How a read looks for work.
#[derive(Clone, Copy)]
pub(super) struct Search {
    /// The thread may take work of the process.
    pub(super) process: bool,
    /// There is room for an item; else only find out that there is one.
    pub(super) room: bool,
}

/// What a look for work found.
enum Found {
    /// This.
    Work(Work),
    /// A reason to return, but nothing to deliver.
    Return,
    /// Nothing. The thread is marked so that new work wakes it.
    Nothing,
}

impl Thread {
    /// Takes the next item without waiting, deferred items included. Keeps the notice that
    /// the read is `done` with for later.
    pub(super) fn try_work(
        self: &Arc<Self>,
        search: Search,
        done: &mut Option<KBox<Notice>>,
    ) -> Option<Work> {
        let (local, surplus) = {
            let mut inner = self.inner.lock();
            let surplus = done
                .take()
                .and_then(|notice| inner.spare.keep_notice(notice));
            (inner.queue.pop_any(), surplus)
        };
        drop(surplus);
        if local.is_some() || !search.process {
            return local;
        }
        let mut sched = self.process.sched.lock();
        sched.pop()
    }

    /// Waits for an item.
    ///
    /// Returns nothing when the thread is asked to return, or when there is no room.
    /// Deferred items are returned instead of `EINTR`.
    pub(super) fn wait_for_work(self: &Arc<Self>, search: Search) -> Result<Option<Work>> {
        loop {
            let sleep = Sleep::prepare();
            match self.look(search) {
                Found::Work(work) => return Ok(Some(work)),
                Found::Return => return Ok(None),
                Found::Nothing if Current::get().signal_pending() => {
                    drop(sleep);
                    return self.interrupted(search);
                }
                Found::Nothing => sleep.schedule(),
            }
        }
    }

    /// One look at all places that have work for this thread.
    fn look(self: &Arc<Self>, search: Search) -> Found {
        match self.look_in_own_queue(search) {
            found @ Found::Work(_) => {
                self.leave_ready_list();
                return found;
            }
            found if !search.process => return found,
            // Before it returns with nothing, it looks further.
            Found::Return | Found::Nothing => {}
        }
        let mut sched = self.process.sched.lock();
        let mut inner = self.inner.lock();
        let takes_more = sched.has_work() && !inner.queue.is_urgent();
        if !takes_more && !self.must_return(&inner) {
            inner.asleep = true;
            sched.add_ready(self);
            return Found::Nothing;
        }
        inner.asleep = false;
        let entry = sched.remove_ready(self);
        let found = if takes_more {
            inner.take_from_process(&mut sched, search)
        } else {
            inner.take(search)
        };
        drop(inner);
        drop(sched);
        drop(entry);
        found
    }

    /// Whether a read has something to return for, apart from work of the process. To be
    /// asked under the lock, as all that changes it is done under it.
    pub(super) fn must_return(&self, inner: &Inner) -> bool {
        inner.has_reason_to_return() || self.return_now.load(Relaxed)
    }

    /// Whether the thread may take work of the process: it waits for no reply and serves no
    /// call, and has nothing to read but deferred items.
    pub(super) fn is_free(&self, inner: &Inner) -> bool {
        inner.stack.is_empty() && !inner.queue.is_urgent()
    }

    /// Whether a read has something to return for.
    pub(super) fn has_work(&self) -> bool {
        let (has_own, is_free) = {
            let inner = self.inner.lock();
            (self.must_return(&inner), self.is_free(&inner))
        };
        has_own || (is_free && self.process.sched.lock().has_work())
    }

    fn look_in_own_queue(&self, search: Search) -> Found {
        let mut inner = self.inner.lock();
        if self.must_return(&inner) {
            inner.asleep = false;
            return inner.take(search);
        }
        // Overwritten under both locks if the process's work is looked at as well.
        inner.asleep = !search.process;
        Found::Nothing
    }

    /// A signal ends the wait: deliver what there is, else `EINTR`.
    fn interrupted(self: &Arc<Self>, search: Search) -> Result<Option<Work>> {
        self.leave_ready_list();
        let mut inner = self.inner.lock();
        inner.asleep = false;
        if inner.queue.is_empty() {
            return Err(EINTR);
        }
        Ok(if search.room {
            inner.queue.pop_any()
        } else {
            None
        })
    }

    /// Takes the thread out of the ready list if it still is there: nobody has picked
    /// it, so it would be handed work while it runs.
    pub(super) fn leave_ready_list(&self) {
        if self.is_ready() {
            let entry = self.process.sched.lock().remove_ready(self);
            drop(entry);
        }
    }
}

impl Inner {
    /// Whether the thread has something to read that is not deferred.
    pub(super) fn has_reason_to_return(&self) -> bool {
        self.queue.is_urgent() || self.dead
    }

    fn take(&mut self, search: Search) -> Found {
        if !search.room {
            return Found::Return;
        }
        match self.queue.pop_any() {
            Some(work) => Found::Work(work),
            None => Found::Return,
        }
    }

    /// Moves the process's next work behind the thread's own and takes the first.
    fn take_from_process(&mut self, sched: &mut Sched, search: Search) -> Found {
        if !search.room {
            return Found::Return;
        }
        let Some(work) = sched.pop() else {
            return Found::Return;
        };
        if self.queue.is_empty() {
            return Found::Work(work);
        }
        // The item has just left its queue, so that it can enter this one.
        let _ = self.queue.push_immediate(work);
        self.take(search)
    }
}
