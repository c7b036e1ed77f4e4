// SPDX-License-Identifier: GPL-2.0

//! All processes of all contexts, for the files that show the state of the driver.
//!
//! The lock is a mutex that is taken at open, at the last close and by readers of those
//! files, never for a command. It is held for no longer than it takes to copy the list.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use kernel::{
    fmt::{self, Write},
    prelude::*,
    rbtree::{RBTree, RBTreeNode},
    sync::Arc,
};

use crate::{
    ffi::{global::PROCESSES, task::tgid_seen_by_current},
    process::Process,
    state::files,
    stats::{self, Counters, Kept},
};

/// The list, in the order of opening.
pub(crate) struct Processes {
    by_serial: Option<RBTree<u64, Arc<Process>>>,
    len: usize,
    /// What processes counted that are gone.
    counters: Counters,
}

impl Processes {
    /// Nothing was opened yet.
    pub(crate) const fn new() -> Self {
        Self {
            by_serial: None,
            len: 0,
            counters: Counters::new(),
        }
    }

    fn tree(&mut self) -> &mut RBTree<u64, Arc<Process>> {
        self.by_serial.get_or_insert_with(RBTree::new)
    }
}

/// A number for a new process.
pub(crate) fn next_serial() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Relaxed)
}

/// Adds a process that was just opened. Fails with `ENOMEM`.
pub(crate) fn enter(process: &Arc<Process>) -> Result {
    let entry = RBTreeNode::new(process.serial(), process.clone(), GFP_KERNEL)?;
    files::enter(process)?;
    let replaced = {
        let mut list = PROCESSES.lock();
        list.len = list.len.saturating_add(1);
        list.tree().insert(entry)
    };
    // Serial numbers are unique.
    drop(replaced);
    Ok(())
}

/// Removes a process at its last close. Its threads have ended.
pub(crate) fn leave(process: &Process) {
    let entry = {
        let mut list = PROCESSES.lock();
        let entry = list.tree().remove_node(&process.serial());
        if entry.is_some() {
            list.len = list.len.saturating_sub(1);
            list.counters.absorb(&process.counters);
        }
        entry
    };
    if entry.is_some() {
        files::leave(process);
    }
    drop(entry);
}

/// The open files of the process that the caller knows by `pid`.
///
/// # Errors
///
/// `EINVAL` if there is none, `ENOMEM`.
pub(crate) fn opened_by(pid: u32) -> Result<KVVec<Arc<Process>>> {
    let mut found = snapshot()?;
    // Id 0 is that of all that the caller cannot see.
    let is_meant =
        |process: &Process| pid != 0 && tgid_seen_by_current(&process.task) as u32 == pid;
    found.retain(|process| is_meant(process));
    if found.is_empty() {
        return Err(EINVAL);
    }
    Ok(found)
}

/// All processes there are, the newest first. To be dropped without a lock.
///
/// # Errors
///
/// `ENOMEM`.
pub(crate) fn snapshot() -> Result<KVVec<Arc<Process>>> {
    let mut all = KVVec::new();
    loop {
        let needed = {
            let mut list = PROCESSES.lock();
            if all.capacity() >= list.len {
                let mut next = list.tree().cursor_back_mut();
                while let Some(cursor) = next {
                    // There is room for all.
                    let _ = all.push_within_capacity(cursor.current().1.clone());
                    next = cursor.move_prev();
                }
                return Ok(all);
            }
            list.len
        };
        // Not under the lock: an allocation may have to wait for memory.
        all.reserve(needed, GFP_KERNEL)?;
    }
}

/// Calls `visit` on each process, in the order of opening, until it returns false; on none if
/// the list is in use at the moment. Never sleeps.
///
/// `visit` must not drop the last pointer to a process.
pub(crate) fn try_for_each(mut visit: impl FnMut(&Process) -> bool) {
    if let Some(mut list) = PROCESSES.try_lock() {
        for process in list.tree().values() {
            if !visit(process) {
                return;
            }
        }
    }
}

/// Prints what was counted in all, by all threads of all processes there are and were.
///
/// Processes do not come or go meanwhile, so that nothing is counted twice.
pub(crate) fn show_totals(out: &mut dyn Write) -> core::result::Result<(), fmt::Error> {
    let sum = Counters::new();
    let mut kept = Kept::default();
    {
        let mut list = PROCESSES.lock();
        sum.absorb(&list.counters);
        for process in list.tree().values() {
            kept.add(process.add_counters_to(&sum));
        }
    }
    sum.show(out, "")?;
    stats::show_objects(out, &sum, kept)
}
