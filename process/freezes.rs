// SPDX-License-Identifier: GPL-2.0

//! Freeze notifications: those that a process asks for, on its handles, and those that
//! others ask for about it.

use kernel::{prelude::*, sync::Arc};

use super::Process;
use crate::{
    debug,
    node::freeze::{Freeze, Place},
};

/// What became of a notification that was asked for.
enum Registered {
    /// Its owner lives, and has it in its table.
    Yes,
    /// The owner is dead, of which there is nothing to tell.
    OwnerIsDead(#[allow(dead_code)] Place),
    /// There is no such handle, or it has a notification.
    Refused(#[allow(dead_code)] Place),
}

/// What a process asks for. Unlike the commands of death notifications these fail the
/// ioctl if they do not fit.
impl Process {
    /// `BC_REQUEST_FREEZE_NOTIFICATION`: `cookie` is told whether the process of the object
    /// behind the handle is frozen, now and whenever that changes.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such handle or it has a notification, `ENOMEM`.
    pub(crate) fn request_freeze(self: &Arc<Self>, handle: u32, cookie: u64) -> Result {
        let owner = self.owner_of(handle).ok_or(EINVAL)?;
        let (freeze, place) = Freeze::new(self, &owner, cookie)?;
        match self.register_freeze(handle, &freeze, place) {
            Registered::Yes => freeze.tell(),
            Registered::OwnerIsDead(_) => {}
            Registered::Refused(_) => {
                debug::user_error!("asks for freezes of handle {handle}, in vain");
                return Err(EINVAL);
            }
        }
        Ok(())
    }

    /// Registers a notification, in handle and owner in one step. A place that is not
    /// needed is given back, to be dropped without a lock.
    fn register_freeze(&self, handle: u32, freeze: &Arc<Freeze>, place: Place) -> Registered {
        let mut table = self.handles.lock();
        let free = |entry: &&mut super::handles::Handle| {
            // The handle may have been used again, for the object of another process.
            entry.freeze.is_none() && Arc::ptr_eq(&entry.weak_claim.node().owner, freeze.owner())
        };
        let Some(entry) = table.get(handle).filter(free) else {
            return Registered::Refused(place);
        };
        entry.freeze = Some(freeze.clone());
        let mut owner = freeze.owner().sched.lock();
        if owner.is_dead() {
            return Registered::OwnerIsDead(place);
        }
        // The address of a new object is in no table.
        let _ = owner.watchers.insert(place);
        Registered::Yes
    }

    fn owner_of(&self, handle: u32) -> Option<Arc<Process>> {
        let mut table = self.handles.lock();
        let entry = table.get(handle)?;
        Some(entry.weak_claim.node().owner.clone())
    }

    /// `BC_CLEAR_FREEZE_NOTIFICATION`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if there is no such handle, or it has no notification with this cookie.
    pub(crate) fn clear_freeze(&self, handle: u32, cookie: u64) -> Result {
        let taken = {
            let mut table = self.handles.lock();
            let entry = table.get(handle).ok_or(EINVAL)?;
            entry.freeze.take_if(|freeze| freeze.cookie == cookie)
        };
        let Some(freeze) = taken else {
            debug::user_error!("clears a freeze of handle {handle} that it did not ask for");
            return Err(EINVAL);
        };
        drop(freeze.owner().unwatch(&freeze));
        freeze.clear();
        Ok(())
    }

    /// `BC_FREEZE_NOTIFICATION_DONE`. Fails with `EINVAL` if no such state was told.
    pub(crate) fn acknowledge_freeze(&self, cookie: u64) -> Result {
        let told = self.sched.lock().told_freezes.take(cookie);
        let Some((freeze, told)) = told else {
            debug::user_error!("acknowledges a freeze {cookie:#x} it was not told");
            return Err(EINVAL);
        };
        freeze.acknowledge(told);
        Ok(())
    }

    /// Forgets the states that were told, at the end of the process.
    pub(super) fn end_told_freezes(&self) {
        while self.take_told_freeze() {}
    }

    fn take_told_freeze(&self) -> bool {
        let told = self.sched.lock().told_freezes.take_any();
        told.is_some()
    }
}

/// What others ask for about a process.
impl Process {
    /// Tells everybody who watches how it is now. One by one, because the table can change
    /// whenever the lock is released.
    pub(super) fn tell_watchers(&self) {
        let mut from = 0;
        while let Some(freeze) = self.watcher_from(from) {
            freeze.tell();
            match freeze.key().checked_add(1) {
                Some(next) => from = next,
                None => return,
            }
        }
    }

    fn watcher_from(&self, key: usize) -> Option<Arc<Freeze>> {
        let sched = self.sched.lock();
        let cursor = sched.watchers.cursor_lower_bound(&key)?;
        Some(cursor.current().1.clone())
    }

    /// Removes a notification. The result is to be dropped without a lock.
    pub(crate) fn unwatch(&self, freeze: &Arc<Freeze>) -> Option<Place> {
        self.sched.lock().watchers.remove_node(&freeze.key())
    }

    /// Lets go of all who watch, at the end of the process. Nobody comes anew.
    pub(super) fn end_watchers(&self) {
        let watchers = core::mem::take(&mut self.sched.lock().watchers);
        drop(watchers);
    }
}
