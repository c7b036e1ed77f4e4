// SPDX-License-Identifier: GPL-2.0

//! Freeze notifications: who holds a reference can learn when the object's process is
//! frozen and when it works again.

use kernel::{
    prelude::*,
    rbtree::{RBTree, RBTreeNode},
    sync::{Arc, LockedBy},
};

use super::frozen_notice::{FrozenNotice, News, Queue};
use crate::{
    ffi::link::Link,
    process::{Process, Sched, Wakeup},
    stats::CountedFreeze,
    told::{self, Room, Told},
    work::Work,
};

/// One notification, asked for on one handle.
///
/// *Locking*: `state` by the `sched` lock of the holder (L3). The table of watchers is
/// guarded by the `sched` lock of the owner; the two are never held together.
///
/// *Lifetime*: held by the handle, by the owner of the node as long as it lives, and by the
/// queue or table of the holder it is in. The cycles with the processes are cut when the
/// notification is cleared, or the handle goes.
pub(crate) struct Freeze {
    link: Link,
    holder: Arc<Process>,
    /// The process of the object.
    owner: Arc<Process>,
    pub(crate) cookie: u64,
    _counted: CountedFreeze,
    state: LockedBy<State, Sched>,
}

struct State {
    notice: FrozenNotice,
    /// Room in the holder's table of states that are told and not acknowledged; it is used
    /// while one is.
    told: Option<Room<Freeze>>,
}

/// States that the holder has read and not acknowledged. Guarded by its `sched` lock.
pub(crate) type ToldFreezes = Told<Freeze>;

/// A notification with its place among those who watch a process.
pub(crate) type Place = RBTreeNode<usize, Arc<Freeze>>;

/// Who watches a process, by address. Guarded by its `sched` lock.
pub(crate) type Watchers = RBTree<usize, Arc<Freeze>>;

impl Freeze {
    /// A notification about the objects of `owner`, with its place there, which is to be
    /// filled under the lock.
    pub(crate) fn new(
        holder: &Arc<Process>,
        owner: &Arc<Process>,
        cookie: u64,
    ) -> Result<(Arc<Self>, Place)> {
        let state = State {
            notice: FrozenNotice::new(),
            told: Some(told::room()?),
        };
        let freeze = Self {
            link: Link::new(),
            holder: holder.clone(),
            owner: owner.clone(),
            cookie,
            _counted: CountedFreeze::new(),
            state: LockedBy::new(&holder.sched, state),
        };
        let freeze = Arc::new(freeze, GFP_KERNEL)?;
        let place = RBTreeNode::new(freeze.key(), freeze.clone(), GFP_KERNEL)?;
        Ok((freeze, place))
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// The process that the notification is about.
    pub(crate) fn owner(&self) -> &Arc<Process> {
        &self.owner
    }

    /// Tells the holder how it is with the owner, if it does not know.
    pub(crate) fn tell(self: &Arc<Self>) {
        self.change(|notice, frozen| notice.change(frozen));
    }

    /// `BC_CLEAR_FREEZE_NOTIFICATION`.
    pub(crate) fn clear(self: &Arc<Self>) {
        self.change(|notice, _| notice.clear());
    }

    /// `BC_FREEZE_NOTIFICATION_DONE`; `told` is where the notification was found.
    pub(crate) fn acknowledge(self: &Arc<Self>, told: told::Entry<Self>) {
        let room = told.into_reservation();
        let unused = {
            let mut sched = self.holder.sched.lock();
            self.state.access_mut(&mut sched).told.replace(room)
        };
        drop(unused);
        self.change(|notice, frozen| notice.acknowledge(frozen));
    }

    fn change(self: &Arc<Self>, event: impl FnOnce(&mut FrozenNotice, bool) -> Queue) {
        let withdrawn;
        let wakeup = {
            let mut sched = self.holder.sched.lock();
            // Under the lock, so that of two changes the later one is seen last.
            let frozen = self.owner.is_frozen();
            let queue = event(&mut self.state.access_mut(&mut sched).notice, frozen);
            withdrawn = self.withdraw(&mut sched, queue);
            match queue {
                // In no queue, see the state machine; so there is a place for it.
                Queue::Now if !sched.is_dead() => sched.push(Work::Freeze(self.clone())),
                _ => Wakeup::nobody(),
            }
        };
        drop(withdrawn);
        wakeup.wake(&self.holder);
    }

    /// Takes the notification back if there is nothing to tell, so that a file does not
    /// become readable for nothing. In the queue of a thread it stays.
    fn withdraw(&self, sched: &mut Sched, queue: Queue) -> Option<Work> {
        if queue != Queue::NoMore {
            return None;
        }
        let work = sched.withdraw(&self.link)?;
        self.state.access_mut(sched).notice.withdrawn();
        Some(work)
    }

    /// What the holder reads now, as the notification has left its queue.
    pub(crate) fn read(self: &Arc<Self>) -> News {
        let mut sched = self.holder.sched.lock();
        let frozen = self.owner.is_frozen();
        let state = self.state.access_mut(&mut sched);
        let news = state.notice.read(frozen);
        let room = match news {
            News::State(_) => state.told.take(),
            _ => None,
        };
        if let Some(room) = room {
            sched.told_freezes.insert(room, self.cookie, self);
        }
        news
    }

    /// Whether the holder wants no more of it; under the lock of the holder.
    pub(crate) fn is_cleared(&self, sched: &Sched) -> bool {
        self.state.access(sched).notice.is_cleared()
    }

    /// The handle is gone: nothing is told any more.
    pub(crate) fn abandon(self: &Arc<Self>) {
        let registration = self.owner.unwatch(self);
        let (told, queued) = {
            let mut sched = self.holder.sched.lock();
            self.state.access_mut(&mut sched).notice.abandon();
            let told = sched.told_freezes.remove(self.cookie, self);
            (told, sched.withdraw(&self.link))
        };
        drop((registration, told, queued));
    }

    /// What it is found by among those who watch its owner.
    pub(crate) fn key(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self) as usize
    }
}
