// SPDX-License-Identifier: GPL-2.0

//! `BINDER_FREEZE`: no calls for a process that does not run.
//!
//! Who freezes a process (with its cgroup) first tells the driver, so that calls to it fail
//! instead of hanging. That succeeds only if nothing is under way: no request that waits or
//! is served, no reply that it has not read, no call of its own. All files that the process
//! has open are frozen, or none.
//!
//! Requests are counted, in [`Process::outstanding`]; the rest is looked for. Who waits for
//! an end sets [`Process::drains`] first, and whoever ends something looks there: the first
//! then sees that it has ended, or the second that it must be told.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use kernel::{
    prelude::*,
    sync::{Arc, CondVarTimeoutResult},
    time::{msecs_to_jiffies, Jiffies},
};

use super::Process;
use crate::{
    ffi::{
        abi::{binder_freeze_info, binder_frozen_status_info},
        user,
    },
    registry,
};

/// `BINDER_FREEZE`.
///
/// # Errors
///
/// `EINVAL` if the caller sees no process with this id that has a device open, `EAGAIN` if
/// something is under way, also after the time that was given for it to end, `ERESTARTSYS`
/// for a signal, `ENOMEM`.
pub(super) fn freeze(arg: u64) -> Result {
    let info: binder_freeze_info = user::read(arg)?;
    let targets = registry::opened_by(info.pid)?;
    if info.enable == 0 {
        targets.iter().for_each(|target| target.thaw());
        return Ok(());
    }
    targets.iter().for_each(|target| target.begin_freeze());
    let result = freeze_all(&targets, msecs_to_jiffies(info.timeout_ms));
    for target in &targets {
        target.drains.fetch_sub(1, SeqCst);
        match result {
            Ok(()) => target.tell_watchers(),
            Err(_) => target.thaw(),
        }
    }
    result
}

fn freeze_all(targets: &[Arc<Process>], mut left: Jiffies) -> Result {
    for target in targets {
        left = target.drain(left)?;
    }
    targets.iter().try_for_each(|target| target.finish_freeze())
}

/// `BINDER_GET_FROZEN_INFO`: what has come, and what is under way, in all files of a process
/// together.
///
/// # Errors
///
/// `EINVAL` as for [`freeze`], `ENOMEM`.
pub(super) fn frozen_info(arg: u64) -> Result {
    let mut info: binder_frozen_status_info = user::read(arg)?;
    (info.sync_recv, info.async_recv) = (0, 0);
    for target in &registry::opened_by(info.pid)? {
        let (refused_call, got_oneway) = target.sched.lock().freezer.arrived();
        info.sync_recv |= u32::from(refused_call) | u32::from(target.is_busy()) << 1;
        info.async_recv |= u32::from(got_oneway);
    }
    user::write(arg, &info)
}

impl Process {
    /// Whether the process is frozen, and was not only begun to be.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen.load(Relaxed)
    }

    fn begin_freeze(&self) {
        self.sched.lock().freezer.begin();
        self.drains.fetch_add(1, SeqCst);
    }

    /// Waits until all requests have ended and all replies were read, or for `left` jiffies.
    /// Returns what is left of these. Fails with `ERESTARTSYS`.
    fn drain(&self, mut left: Jiffies) -> Result<Jiffies> {
        loop {
            let seen = self.sched.lock().freezer.events();
            if left == 0 || !self.has_outstanding() {
                return Ok(left);
            }
            let mut sched = self.sched.lock();
            while left != 0 && sched.freezer.events() == seen {
                left = match self.drained.wait_interruptible_timeout(&mut sched, left) {
                    CondVarTimeoutResult::Woken { jiffies } => jiffies,
                    CondVarTimeoutResult::Timeout => 0,
                    CondVarTimeoutResult::Signal { .. } => return Err(ERESTARTSYS),
                };
            }
        }
    }

    /// Freezes the process if nothing is under way. Fails with `EAGAIN`.
    fn finish_freeze(&self) -> Result {
        if self.is_busy() {
            return Err(EAGAIN);
        }
        let mut sched = self.sched.lock();
        if !sched.freezer.finish() {
            return Err(EAGAIN);
        }
        // Under the lock, so that of two changes the same is the last for both.
        self.frozen.store(true, Relaxed);
        Ok(())
    }

    /// The process works again.
    fn thaw(&self) {
        {
            let mut sched = self.sched.lock();
            sched.freezer.thaw();
            self.frozen.store(false, Relaxed);
        }
        self.tell_watchers();
    }

    /// Whether there are requests that have not ended, or replies that were not read.
    fn has_outstanding(&self) -> bool {
        self.outstanding.load(SeqCst) != 0 || self.any_thread(|thread| thread.has_response())
    }

    /// Whether anything is under way.
    fn is_busy(&self) -> bool {
        self.outstanding.load(SeqCst) != 0
            || self.any_thread(|thread| thread.is_in_call() || thread.has_response())
    }

    /// A request to the process was accepted, under the `sched` lock.
    pub(crate) fn request_begins(&self) {
        self.outstanding.fetch_add(1, SeqCst);
    }

    /// A request has ended: delivered if it was oneway, answered or failed.
    #[inline]
    pub(crate) fn request_ends(&self) {
        if self.outstanding.fetch_sub(1, SeqCst) == 1 {
            self.note_end();
        }
    }

    /// Something has ended that a freezing may wait for. Not to be called under a lock.
    #[inline]
    pub(crate) fn note_end(&self) {
        if self.drains.load(SeqCst) != 0 {
            self.tell_drains();
        }
    }

    #[cold]
    fn tell_drains(&self) {
        // Who waits has this lock from its look until it sleeps.
        self.sched.lock().freezer.note_event();
        self.drained.notify_all();
    }
}
