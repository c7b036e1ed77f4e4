// SPDX-License-Identifier: GPL-2.0

//! Nodes: the objects that a process offers to others.

use core::sync::atomic::{
    AtomicU32, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use kernel::{
    prelude::*,
    rbtree::RBTreeNode,
    sync::{Arc, LockedBy},
};

use crate::{
    defs::{NodeFlags, Strength},
    ffi::link::Link,
    process::{Process, Sched, Wakeup},
    stats::CountedNode,
    thread::Thread,
    work::Work,
};

pub(crate) mod death;
pub(crate) mod freeze;
pub(crate) mod frozen_notice;
pub(crate) mod holders;
pub(crate) mod obituary;
pub(crate) mod oneway;
#[allow(dead_code)]
pub(crate) mod refcount;
pub(crate) mod show;

use self::{
    death::Registrations,
    holders::Holders,
    oneway::OnewayQueue,
    refcount::{Actions, Claims, Refcount},
};

/// An object of a process, named by a pointer and a cookie of its user space.
///
/// *Semantics*: others hold it by *claims*. Each handle counts as a weak claim and,
/// while it has strong counts, as a strong one; each buffer that names the object
/// holds claims until it is freed. The owner is told when the first claim of a kind
/// appears and when the last one is gone.
///
/// *Locking*: `state` by the owner's `sched` lock. `strong` is atomic; it changes
/// between 0 and 1 under that lock only, so that who holds the lock and sees 0 (or
/// not 0) can act on it. All other changes need no lock.
///
/// *Lifetime*: held by the owner's table while anybody has a claim or user space
/// believes so, and by whoever points to it.
pub(crate) struct Node {
    /// Place in a queue of the process or of any thread.
    link: Link,
    /// Place in the queue of the thread that gives the node away.
    sender_link: Link,
    /// A number for logs.
    pub(crate) id: u32,
    pub(crate) ptr: u64,
    pub(crate) cookie: u64,
    pub(crate) flags: NodeFlags,
    pub(crate) owner: Arc<Process>,
    strong: AtomicUsize,
    _counted: CountedNode,
    state: LockedBy<State, Sched>,
}

/// The part of a node that the owner's `sched` lock guards.
pub(crate) struct State {
    /// Weak claims; a strong claim is not counted here.
    weak: usize,
    told: Refcount,
    deaths: Registrations,
    holders: Holders,
    pub(crate) oneway: OnewayQueue,
}

/// A number for a new node. Never 0 before it wraps.
fn next_id() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Relaxed).wrapping_add(1)
}

impl Node {
    /// A node without claims that is in no table yet.
    pub(crate) fn new(
        owner: &Arc<Process>,
        ptr: u64,
        cookie: u64,
        flags: NodeFlags,
    ) -> Result<Arc<Self>> {
        let node = Self {
            link: Link::new(),
            sender_link: Link::new(),
            id: next_id(),
            ptr,
            cookie,
            flags,
            owner: owner.clone(),
            strong: AtomicUsize::new(0),
            _counted: CountedNode::new(),
            state: LockedBy::new(
                &owner.sched,
                State {
                    weak: 0,
                    told: Refcount::new(),
                    deaths: Registrations::new(),
                    holders: Holders::new(),
                    oneway: OnewayQueue::new(),
                },
            ),
        };
        Ok(Arc::new(node, GFP_KERNEL)?)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn sender_link(&self) -> &Link {
        &self.sender_link
    }

    /// Access to the state under the owner's `sched` lock.
    pub(crate) fn state<'a>(&'a self, sched: &'a mut Sched) -> &'a mut State {
        self.state.access_mut(sched)
    }

    /// Adds a strong claim if there is one already; needs no lock.
    pub(crate) fn try_claim_strong(self: &Arc<Self>) -> Option<NodeClaim> {
        self.strong
            .fetch_update(Acquire, Relaxed, |n| {
                if n == 0 {
                    None
                } else {
                    n.checked_add(1)
                }
            })
            .ok()?;
        Some(NodeClaim {
            node: self.clone(),
            strength: Strength::Strong,
        })
    }

    /// Adds a claim. Takes the owner's `sched` lock, so not to be called with one.
    ///
    /// `via` is the owner's thread that gives the object away at this moment: it is
    /// told before it learns that the command is complete, so that its own
    /// reference is not the last one when it lets go.
    pub(crate) fn claim(self: &Arc<Self>, strength: Strength, via: Option<&Thread>) -> NodeClaim {
        if strength == Strength::Strong {
            if let Some(claim) = self.try_claim_strong() {
                return claim;
            }
        }
        let (claim, wakeup) = {
            let mut sched = self.owner.sched.lock();
            self.claim_locked(&mut sched, strength, via)
        };
        wakeup.wake(&self.owner);
        claim
    }

    /// Adds a claim under the owner's lock. The wake-up is for after the unlock.
    pub(crate) fn claim_locked(
        self: &Arc<Self>,
        sched: &mut Sched,
        strength: Strength,
        via: Option<&Thread>,
    ) -> (NodeClaim, Wakeup) {
        match strength {
            Strength::Strong => {
                self.strong.fetch_add(1, Relaxed);
            }
            Strength::Weak => {
                let state = self.state(sched);
                state.weak = state.weak.saturating_add(1);
            }
        }
        let wakeup = self.announce(sched, via);
        (
            NodeClaim {
                node: self.clone(),
                strength,
            },
            wakeup,
        )
    }

    /// Takes a claim back. Takes the owner's lock if it may be the last.
    fn unclaim(self: &Arc<Self>, strength: Strength) {
        if strength == Strength::Strong
            && self
                .strong
                .fetch_update(Release, Relaxed, |n| if n > 1 { Some(n - 1) } else { None })
                .is_ok()
        {
            return;
        }
        let (removed, wakeup) = {
            let mut sched = self.owner.sched.lock();
            match strength {
                Strength::Strong => {
                    self.strong.fetch_sub(1, Release);
                }
                Strength::Weak => {
                    let state = self.state(&mut sched);
                    state.weak = state.weak.saturating_sub(1);
                }
            }
            let wakeup = self.announce(&mut sched, None);
            (self.remove_if_unused(&mut sched), wakeup)
        };
        wakeup.wake(&self.owner);
        drop(removed);
    }

    /// Whether there are claims of each kind; exact under the owner's lock.
    fn claims(&self, sched: &mut Sched) -> Claims {
        let strong = self.strong.load(Acquire) != 0;
        let weak = self.state(sched).weak != 0;
        Claims { strong, weak }
    }

    /// Queues the node if its owner must be told something, and takes it back if that is
    /// no more so: a file must not be readable for nothing.
    fn announce(self: &Arc<Self>, sched: &mut Sched, via: Option<&Thread>) -> Wakeup {
        let claims = self.claims(sched);
        if sched.is_dead() {
            return Wakeup::nobody();
        }
        if !self.state(sched).told.needs_work(claims) {
            self.withdraw_news(sched);
            return Wakeup::nobody();
        }
        match via {
            Some(thread) => {
                // Waiting behind other work of the process it could come too late; and in
                // the queue of another thread it is out of reach.
                let work = match sched.withdraw(&self.link) {
                    Some(work) => work,
                    None if self.link.is_queued() => Work::NodeForSender(self.clone()),
                    None => Work::Node(self.clone()),
                };
                thread.push_deferred_work(work);
                Wakeup::nobody()
            }
            None if self.link.is_queued() => Wakeup::nobody(),
            None => sched.push(Work::Node(self.clone())),
        }
    }

    /// Takes the node out of the process's queue. In the queue of a thread it stays, which
    /// will find nothing to tell.
    fn withdraw_news(self: &Arc<Self>, sched: &mut Sched) {
        if self.link.is_queued() {
            // Not the last reference: the caller has one.
            drop(sched.withdraw(&self.link));
        }
    }

    /// What user space of the owner is to be told now, as the node leaves a queue.
    ///
    /// Takes the owner's `sched` lock.
    pub(crate) fn deliver(self: &Arc<Self>) -> Actions {
        let (actions, removed) = {
            let mut sched = self.owner.sched.lock();
            let claims = self.claims(&mut sched);
            let actions = self.state(&mut sched).told.step(claims);
            // A change since it left the queue has put it there again.
            self.withdraw_news(&mut sched);
            (actions, self.remove_if_unused(&mut sched))
        };
        drop(removed);
        actions
    }

    /// User space acknowledges `BR_ACQUIRE` or `BR_INCREFS`.
    ///
    /// Fails with `EINVAL` if nothing was to be acknowledged.
    pub(crate) fn acknowledge(self: &Arc<Self>, strength: Strength) -> Result {
        let (result, removed, wakeup) = {
            let mut sched = self.owner.sched.lock();
            let told = &mut self.state(&mut sched).told;
            let result = match strength {
                Strength::Strong => told.ack_acquire(),
                Strength::Weak => told.ack_increfs(),
            };
            let wakeup = self.announce(&mut sched, None);
            (result, self.remove_if_unused(&mut sched), wakeup)
        };
        wakeup.wake(&self.owner);
        drop(removed);
        result.map_err(|_| EINVAL)
    }

    /// The oneway message that was out is done with: lets the next one go out.
    ///
    /// At the end of the owner whoever ends the node takes the waiting messages one by
    /// one; taking the next here, on the way out of the last, would be a recursion as deep
    /// as the queue is long.
    pub(crate) fn advance_oneway(&self) {
        let wakeup = {
            let mut sched = self.owner.sched.lock();
            if sched.is_dead() {
                return;
            }
            match self.state(&mut sched).oneway.advance() {
                Some(work) => sched.push(work),
                None => Wakeup::nobody(),
            }
        };
        wakeup.wake(&self.owner);
    }

    /// Makes both counts known to user space without a message, as the manager's
    /// node needs it: nobody asked its owner for it.
    pub(crate) fn force_known(&self, sched: &mut Sched) {
        self.state(sched).told.force();
    }

    /// Takes the node out of its owner's table when nobody needs it there.
    ///
    /// The result is to be dropped after unlocking.
    fn remove_if_unused(self: &Arc<Self>, sched: &mut Sched) -> Option<RBTreeNode<u64, Arc<Node>>> {
        let claims = self.claims(sched);
        // If it is still in a queue, there will be nothing to tell.
        if !self.state(sched).told.removable(claims) {
            return None;
        }
        sched.remove_node(self)
    }
}

/// A claim on a node, taken back when it is dropped.
///
/// Dropping may take the owner's `sched` lock: never under a spinlock of that level
/// or below.
pub(crate) struct NodeClaim {
    node: Arc<Node>,
    strength: Strength,
}

impl NodeClaim {
    /// Another weak claim. While there is this claim, which is at least weak, the owner has
    /// nothing new to hear, so that nobody is to be woken.
    ///
    /// Takes the owner's `sched` lock.
    pub(crate) fn again(&self) -> Self {
        let node = self.node.clone();
        {
            let mut sched = node.owner.sched.lock();
            let state = node.state(&mut sched);
            state.weak = state.weak.saturating_add(1);
        }
        Self {
            node,
            strength: Strength::Weak,
        }
    }

    /// The claimed node.
    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }
}

impl Drop for NodeClaim {
    fn drop(&mut self) {
        self.node.unclaim(self.strength);
    }
}
