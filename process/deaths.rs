// SPDX-License-Identifier: GPL-2.0

//! Death notifications that a process asks for, on its handles.

use kernel::{prelude::*, sync::Arc};

use super::Process;
use crate::{
    debug,
    node::death::{Death, Place},
    thread::Thread,
};

/// What became of a notification that was asked for.
enum Registered {
    /// The node lives; it has the notification.
    Yes,
    /// The node is dead: the notification is to be fired.
    NodeIsDead(#[allow(dead_code)] Place),
    /// There is no such handle, or it has a notification.
    Refused(#[allow(dead_code)] Place),
}

impl Process {
    /// `BC_REQUEST_DEATH_NOTIFICATION`: `cookie` is told when the object behind the handle
    /// dies, at once if it is dead. A handle that is not there or has a notification is
    /// only logged.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn request_death(self: &Arc<Self>, handle: u32, cookie: u64) -> Result {
        let (death, place) = Death::new(self, cookie)?;
        match self.register_death(handle, &death, place) {
            Registered::Yes => {}
            Registered::NodeIsDead(_) => death.fire(),
            Registered::Refused(_) => {
                debug::user_error!("asks for the death of handle {handle}, in vain")
            }
        }
        Ok(())
    }

    /// Registers a notification, in handle and node in one step. A place that is not
    /// needed is given back, to be dropped without a lock.
    fn register_death(&self, handle: u32, death: &Arc<Death>, place: Place) -> Registered {
        let mut table = self.handles.lock();
        let Some(entry) = table.get(handle).filter(|entry| entry.death.is_none()) else {
            return Registered::Refused(place);
        };
        let node = entry.weak_claim.node().clone();
        entry.death = Some(death.clone());
        let mut owner = node.owner.sched.lock();
        match node.register_death(&mut owner, place) {
            None => Registered::Yes,
            Some(place) => Registered::NodeIsDead(place),
        }
    }

    /// `BC_CLEAR_DEATH_NOTIFICATION`, by `thread`. One that does not fit is only logged.
    pub(crate) fn clear_death(&self, handle: u32, cookie: u64, thread: &Arc<Thread>) {
        let taken = {
            let mut table = self.handles.lock();
            table.get(handle).and_then(|entry| {
                let death = entry.death.take_if(|death| death.cookie == cookie)?;
                Some((death, entry.weak_claim.node().clone()))
            })
        };
        let Some((death, node)) = taken else {
            debug::user_error!("clears a death of handle {handle} that it did not ask for");
            return;
        };
        drop(node.unregister_death(&death));
        death.clear(thread);
    }

    /// `BC_DEAD_BINDER_DONE`. Fails with `ENOENT` if no such death was told.
    pub(crate) fn acknowledge_death(&self, cookie: u64, thread: &Arc<Thread>) -> Result {
        let told = self.sched.lock().told_deaths.take(cookie);
        let (death, _) = told.ok_or(ENOENT)?;
        death.acknowledge(thread);
        Ok(())
    }

    /// Forgets the deaths that were told, at the end of the process.
    pub(crate) fn end_told_deaths(&self) {
        while self.take_told_death() {}
    }

    fn take_told_death(&self) -> bool {
        let told = self.sched.lock().told_deaths.take_any();
        told.is_some()
    }
}
