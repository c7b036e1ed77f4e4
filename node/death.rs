// SPDX-License-Identifier: GPL-2.0

//! Death notifications: who holds a reference can learn that its object has died.

use kernel::{
    prelude::*,
    rbtree::{RBTree, RBTreeNode},
    sync::{Arc, LockedBy},
};

use super::{
    obituary::{News, Obituary, Queue},
    Node,
};
use crate::{
    ffi::{link::Link, task::WakeMode},
    process::{Process, Sched, Wakeup},
    stats::CountedDeath,
    thread::Thread,
    told::{self, Room, Told},
    work::Work,
};

/// One notification, asked for on one handle.
///
/// *Locking*: `state` by the `sched` lock of the holder (L3). The table in the node is
/// guarded by the `sched` lock of the node's owner; the two are never held together.
///
/// *Lifetime*: held by the handle, by the node until it has died, and by the queue or
/// table of the holder it is in. The cycles with node and process are cut when the
/// notification is cleared, or the handle goes.
pub(crate) struct Death {
    link: Link,
    holder: Arc<Process>,
    pub(crate) cookie: u64,
    _counted: CountedDeath,
    state: LockedBy<State, Sched>,
}

struct State {
    obituary: Obituary,
    /// Room in the holder's table of deaths that are told and not acknowledged.
    told: Option<Room<Death>>,
}

/// Deaths that the holder has read of and not acknowledged. Guarded by its `sched` lock.
pub(crate) type ToldDeaths = Told<Death>;

/// A notification with its place in the table of a node.
pub(crate) type Place = RBTreeNode<usize, Arc<Death>>;

/// Notifications of one node, by address. Guarded by the `sched` lock of its owner.
pub(super) type Registrations = RBTree<usize, Arc<Death>>;

impl Death {
    /// A notification with its place in a node's table, which is to be filled under the
    /// lock.
    pub(crate) fn new(holder: &Arc<Process>, cookie: u64) -> Result<(Arc<Self>, Place)> {
        let state = State {
            obituary: Obituary::new(),
            told: Some(told::room()?),
        };
        let death = Self {
            link: Link::new(),
            holder: holder.clone(),
            cookie,
            _counted: CountedDeath::new(),
            state: LockedBy::new(&holder.sched, state),
        };
        let death = Arc::new(death, GFP_KERNEL)?;
        let place = RBTreeNode::new(key(&death), death.clone(), GFP_KERNEL)?;
        Ok((death, place))
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// The node has died: tells the holder.
    pub(crate) fn fire(self: &Arc<Self>) {
        self.change(None, |obituary| obituary.fire());
    }

    /// `BC_CLEAR_DEATH_NOTIFICATION`, by `thread`, which is told if it serves calls.
    pub(crate) fn clear(self: &Arc<Self>, thread: &Arc<Thread>) {
        self.change(Some(thread), |obituary| obituary.clear());
    }

    /// `BC_DEAD_BINDER_DONE`, likewise.
    pub(crate) fn acknowledge(self: &Arc<Self>, thread: &Arc<Thread>) {
        self.change(Some(thread), |obituary| obituary.acknowledge());
    }

    fn change(
        self: &Arc<Self>,
        thread: Option<&Arc<Thread>>,
        event: impl FnOnce(&mut Obituary) -> Queue,
    ) {
        let looper = thread.filter(|thread| thread.is_looper());
        let wakeup = {
            let mut sched = self.holder.sched.lock();
            let queue = event(&mut self.state.access_mut(&mut sched).obituary);
            match (queue, looper) {
                (Queue::Not, _) => Wakeup::nobody(),
                _ if sched.is_dead() => Wakeup::nobody(),
                // In no queue, see the state machine; so there is a place for it.
                (Queue::Now, Some(thread)) => thread
                    .push_work(Work::Death(self.clone()), WakeMode::Async)
                    .unwrap_or_else(|work| sched.push(work)),
                (Queue::Now, None) => sched.push(Work::Death(self.clone())),
            }
        };
        wakeup.wake(&self.holder);
    }

    /// What the holder reads now, as the notification has left its queue.
    pub(crate) fn read(self: &Arc<Self>) -> News {
        let mut sched = self.holder.sched.lock();
        let state = self.state.access_mut(&mut sched);
        let news = state.obituary.read();
        let room = match news {
            News::Dead => state.told.take(),
            _ => None,
        };
        if let Some(room) = room {
            sched.told_deaths.insert(room, self.cookie, self);
        }
        news
    }

    /// Its state, under the lock of its holder.
    pub(crate) fn obituary(&self, sched: &Sched) -> Obituary {
        self.state.access(sched).obituary
    }

    /// The handle is gone: nothing is told any more.
    pub(crate) fn abandon(self: &Arc<Self>, node: &Node) {
        let registration = node.unregister_death(self);
        let (told, queued) = {
            let mut sched = self.holder.sched.lock();
            self.state.access_mut(&mut sched).obituary.abandon();
            let told = sched.told_deaths.remove(self.cookie, self);
            (told, sched.withdraw(&self.link))
        };
        drop((registration, told, queued));
    }
}

impl Node {
    /// Adds a notification, under the owner's lock. Gives the place back if the owner is
    /// dead: then it is to be fired at once.
    pub(crate) fn register_death(&self, sched: &mut Sched, place: Place) -> Option<Place> {
        if sched.is_dead() {
            return Some(place);
        }
        self.state(sched).deaths.insert(place)
    }

    /// Removes a notification. The result is to be dropped without a lock.
    pub(crate) fn unregister_death(&self, death: &Arc<Death>) -> Option<Place> {
        let mut sched = self.owner.sched.lock();
        self.state(&mut sched).deaths.remove_node(&key(death))
    }

    /// The owner has died: tells everybody who asked. One by one, because the list can
    /// change whenever the lock is released.
    pub(crate) fn fire_deaths(&self) {
        loop {
            let place = {
                let mut sched = self.owner.sched.lock();
                let deaths = &mut self.state(&mut sched).deaths;
                let first = deaths.cursor_front().map(|cursor| *cursor.current().0);
                first.and_then(|key| deaths.remove_node(&key))
            };
            let Some(place) = place else {
                return;
            };
            let (_, death) = place.to_key_value();
            death.fire();
        }
    }
}

fn key(death: &Arc<Death>) -> usize {
    Arc::as_ptr(death) as usize
}
