// SPDX-License-Identifier: GPL-2.0

//! The handles of a process: small numbers that stand for nodes of others.
//!
//! Handle to node is the path of every call and takes constant time. Node to handle,
//! which only new references need, goes through the tree of those who hold the node, see
//! [`crate::node::holders`]. Both and the pool of free numbers change together under one
//! lock, and what can be allocated is allocated before.

use kernel::{prelude::*, sync::Arc};

use super::Process;
use crate::{
    debug,
    defs::Strength,
    error::TransactionError,
    grow::{give_back, retry, Attempt, Request},
    id_pool::{self, Keep},
    id_table::{Agreement, IdTable, Lack},
    node::{
        death::Death,
        freeze::Freeze,
        holders::{HolderEntry, HolderRoom},
        Node, NodeClaim,
    },
    slot_table::{self, Slots},
    stats::CountedHandle,
};

mod show;

pub(crate) use self::show::HandleView;

/// Handles in one allocation.
const CHUNK: usize = 64;

/// The part of a process that its `handles` lock guards: lock level L2.
///
/// # Invariants
///
/// The node of each entry knows its number.
pub(crate) struct HandleTable {
    entries: IdTable<Handle, CHUNK>,
    dead: bool,
}

/// One reference to a node.
///
/// # Invariants
///
/// `strong_claim` is there if and only if `strong` is not 0; not both counts are 0.
pub(super) struct Handle {
    strong: u32,
    weak: u32,
    strong_claim: Option<NodeClaim>,
    /// Keeps the node's identity for as long as the handle exists.
    pub(super) weak_claim: NodeClaim,
    /// The notifications that were asked for; at most one of a kind.
    pub(super) death: Option<Arc<Death>>,
    pub(super) freeze: Option<Arc<Freeze>>,
    _counted: CountedHandle,
}

impl Drop for Handle {
    /// Not to be run under a spinlock.
    fn drop(&mut self) {
        if let Some(death) = self.death.take() {
            death.abandon(self.weak_claim.node());
        }
        if let Some(freeze) = self.freeze.take() {
            freeze.abandon();
        }
    }
}

/// What a removed handle leaves behind, to be dropped after unlocking.
#[derive(Default)]
struct Removed {
    handle: Option<Handle>,
    _holder: Option<HolderEntry>,
    /// The table was in disorder.
    is_retired: bool,
}

/// What a new handle needs before the table can take it.
enum Need {
    Entry(Arc<Node>),
    Ids(id_pool::GrowRequest),
    Slots(slot_table::GrowRequest<Handle, CHUNK>),
}

enum Got {
    Entry(NewEntry),
    Ids(id_pool::Block),
    Slots(Slots<Handle, CHUNK>),
}

struct NewEntry {
    weak_claim: NodeClaim,
    holder: HolderRoom,
}

impl Request for Need {
    type Grown = Got;

    fn allocate(self) -> core::result::Result<Got, crate::shim::AllocError> {
        Ok(match self {
            Need::Entry(node) => Got::Entry(NewEntry {
                holder: HolderRoom::new(GFP_KERNEL).map_err(|_| crate::shim::AllocError)?,
                weak_claim: node.claim(Strength::Weak, None),
            }),
            Need::Ids(request) => Got::Ids(request.allocate()?),
            Need::Slots(request) => Got::Slots(request.allocate()?),
        })
    }
}

impl HandleTable {
    pub(super) fn new() -> Self {
        Self {
            entries: IdTable::new(),
            dead: false,
        }
    }

    pub(super) fn get(&mut self, handle: u32) -> Option<&mut Handle> {
        self.entries.get_mut(handle)
    }

    /// Adds a count to an existing handle. Gives the claim back if it is not needed.
    ///
    /// # Errors
    ///
    /// The claim, if the handle is not there or stands for another node: the table and the
    /// holders of the node are in disorder.
    fn add_count(
        &mut self,
        handle: u32,
        claim: NodeClaim,
        strength: Strength,
    ) -> Result<Option<NodeClaim>, NodeClaim> {
        let stands_for = |entry: &&mut Handle| Arc::ptr_eq(entry.weak_claim.node(), claim.node());
        let Some(entry) = self.get(handle).filter(stands_for) else {
            return Err(claim);
        };
        match strength {
            Strength::Weak => {
                entry.weak = entry.weak.saturating_add(1);
                Ok(Some(claim))
            }
            Strength::Strong => {
                entry.strong = entry.strong.saturating_add(1);
                if entry.strong_claim.is_some() {
                    return Ok(Some(claim));
                }
                entry.strong_claim = Some(claim);
                Ok(None)
            }
        }
    }

    /// Makes a handle; the number is free and its entry has room. Gives the claim back
    /// if the handle has no use for it.
    fn occupy(
        &mut self,
        process: &Process,
        id: u32,
        new: NewEntry,
        claim: NodeClaim,
        strength: Strength,
    ) -> Option<NodeClaim> {
        let (strong, weak, strong_claim, surplus) = match strength {
            Strength::Strong => (1, 0, Some(claim), None),
            Strength::Weak => (0, 1, None, Some(claim)),
        };
        new.weak_claim.node().add_holder(process, new.holder, id);
        let handle = Handle {
            strong,
            weak,
            strong_claim,
            weak_claim: new.weak_claim,
            death: None,
            freeze: None,
            _counted: CountedHandle::new(),
        };
        // The number is free and has its slot: it was just found, under this lock.
        let _ = self.entries.set(id, handle);
        surplus
    }

    /// Removes the handle if it has no counts left.
    fn remove_if_unused(&mut self, process: &Process, handle: u32) -> Removed {
        let is_used = |entry: &Handle| entry.strong != 0 || entry.weak != 0;
        if self.entries.get(handle).is_none_or(is_used) {
            return Removed::default();
        }
        let Some(removed) = self.entries.remove(handle) else {
            return Removed::default();
        };
        let holder = removed.value.weak_claim.node().remove_holder(process);
        Removed {
            handle: Some(removed.value),
            _holder: holder,
            is_retired: removed.agreement == Agreement::Retired,
        }
    }
}

/// References of others' nodes, as they come in and go.
impl Process {
    /// Gives the process one more count on the node that `claim` holds, and says under
    /// which handle.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, `ESRCH` if the process is dead, or `EINVAL` if the table is in disorder.
    pub(crate) fn add_handle(&self, claim: NodeClaim, strength: Strength) -> Result<u32> {
        let node = claim.node().clone();
        let lowest = if self.context.is_manager_node(&node) {
            0
        } else {
            1
        };
        let mut claim = Some(claim);
        let mut new = None;
        // Filled under the lock, dropped after it.
        let (mut surplus, mut stray, mut lost) = (None, None, None);
        let handle = retry(|memory| {
            let mut table = self.handles.lock();
            if table.dead {
                return Attempt::Done(Err(ESRCH));
            }
            if let Some(got) = memory.take() {
                *memory = table.install(got, &mut new);
            }
            let existing = node.handle_of(self);
            if let (Some(handle), Some(claim)) = (existing, claim.take_if(|_| existing.is_some())) {
                return Attempt::Done(match table.add_count(handle, claim, strength) {
                    Ok(unneeded) => {
                        surplus = unneeded;
                        Ok(handle)
                    }
                    Err(claim) => {
                        surplus = Some(claim);
                        lost = node.remove_holder(self);
                        Err(EINVAL)
                    }
                });
            }
            if new.is_none() {
                return Attempt::Grow(Need::Entry(node.clone()));
            }
            let id = match table.entries.find(lowest) {
                Ok(id) => id,
                Err(Lack::Ids(request)) => return Attempt::Grow(Need::Ids(request)),
                Err(Lack::Slots(request)) => return Attempt::Grow(Need::Slots(request)),
                Err(Lack::Full) => return Attempt::Done(Err(ENOMEM)),
                Err(Lack::Retired(handle)) => {
                    let holder = handle.weak_claim.node().remove_holder(self);
                    stray = Some((handle, holder));
                    return Attempt::Done(Err(EINVAL));
                }
            };
            if let (Some(new), Some(claim)) = (new.take(), claim.take()) {
                surplus = table.occupy(self, id, new, claim, strength);
            }
            Attempt::Done(Ok(id))
        })
        .map_err(|_| ENOMEM)?;
        if stray.is_some() {
            debug::warn_once!("a handle was in use that the table of numbers did not know");
        }
        if lost.is_some() {
            debug::warn_once!("a node knew a handle that the table had not, or had for another");
        }
        handle
    }

    /// `BC_INCREFS`, `BC_ACQUIRE`: one more count on a handle.
    ///
    /// Handle 0 becomes a reference to the manager if there is none yet. A handle that
    /// cannot be counted is only logged.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the manager asks for handle 0: it would refer to itself.
    pub(crate) fn inc_handle(&self, handle: u32, strength: Strength) -> Result {
        if handle == 0 {
            match self.context.claim_manager_for_handle(self, strength) {
                Ok(claim) => {
                    if !matches!(self.add_handle(claim, strength), Ok(0)) {
                        debug::user_error!("takes a reference to handle 0, which is not free");
                    }
                    return Ok(());
                }
                Err(error) if error == EINVAL => return Err(EINVAL),
                Err(_) => {}
            }
        }
        if self.inc_existing(handle, strength).is_none() {
            debug::user_error!("takes a reference to handle {handle}, which is not there");
        }
        Ok(())
    }

    /// A strong count can be added only to a handle that has one.
    fn inc_existing(&self, handle: u32, strength: Strength) -> Option<()> {
        let mut table = self.handles.lock();
        let entry = table.get(handle)?;
        match strength {
            Strength::Strong if entry.strong == 0 => return None,
            Strength::Strong => entry.strong = entry.strong.checked_add(1)?,
            Strength::Weak => entry.weak = entry.weak.checked_add(1)?,
        }
        Some(())
    }

    /// `BC_RELEASE`, `BC_DECREFS`. The handle goes with its last count.
    pub(crate) fn dec_handle(&self, handle: u32, strength: Strength) {
        if self.drop_count(handle, strength).is_none() {
            debug::user_error!("drops a reference to handle {handle} that it has not");
        }
    }

    /// Drops a count; says nothing if it is not there, as for a buffer whose counts user
    /// space has dropped itself, or whose process has ended.
    pub(crate) fn drop_count(&self, handle: u32, strength: Strength) -> Option<()> {
        let (claim, removed) = self.take_count(handle, strength)?;
        let (was_removed, is_retired) = (removed.handle.is_some(), removed.is_retired);
        drop((claim, removed));
        if was_removed {
            give_back(|| self.handles.lock().entries.shrink_ids(Keep::OneSpare));
            give_back(|| self.handles.lock().entries.shrink_slots(Keep::OneSpare));
        }
        if is_retired {
            debug::warn_once!("a handle was in use that the table of numbers had free");
        }
        Some(())
    }

    /// How many more handles there is room for than are in use, in whole chunks.
    pub(crate) fn spare_handles(&self) -> usize {
        self.handles.lock().entries.spare()
    }

    /// Gives back the room for these. Returns for how many it was. Allocates nothing.
    pub(crate) fn give_back_handles(&self) -> usize {
        let mut chunks = 0_usize;
        give_back(|| {
            let chunk = self.handles.lock().entries.shrink_slots(Keep::Nothing);
            chunks = chunks.saturating_add(usize::from(chunk.is_some()));
            chunk
        });
        give_back(|| self.handles.lock().entries.shrink_ids(Keep::Nothing));
        chunks.saturating_mul(CHUNK)
    }

    fn take_count(&self, handle: u32, strength: Strength) -> Option<(Option<NodeClaim>, Removed)> {
        let mut table = self.handles.lock();
        let entry = table.get(handle)?;
        let mut claim = None;
        match strength {
            Strength::Strong => {
                entry.strong = entry.strong.checked_sub(1)?;
                if entry.strong == 0 {
                    claim = entry.strong_claim.take();
                }
            }
            Strength::Weak => entry.weak = entry.weak.checked_sub(1)?,
        }
        let removed = table.remove_if_unused(self, handle);
        Some((claim, removed))
    }

    /// Claims the node behind a handle for a transaction to it.
    pub(crate) fn claim_target(&self, handle: u32) -> Result<NodeClaim, TransactionError> {
        self.claim_behind(handle, Strength::Strong)
            .ok_or(TransactionError::failed(EINVAL))
    }

    /// Claims the node behind a handle; strongly only if the handle has strong counts.
    pub(crate) fn claim_behind(&self, handle: u32, strength: Strength) -> Option<NodeClaim> {
        let mut table = self.handles.lock();
        let entry = table.get(handle)?;
        match strength {
            Strength::Strong => entry.strong_claim.as_ref()?.node().try_claim_strong(),
            Strength::Weak => Some(entry.weak_claim.again()),
        }
    }

    /// Drops all handles, at the end of the process.
    pub(super) fn end_handles(&self) {
        self.handles.lock().dead = true;
        while let Some(handle) = self.pop_handle() {
            drop(handle);
        }
    }

    fn pop_handle(&self) -> Option<(Option<Handle>, Option<HolderEntry>)> {
        let mut table = self.handles.lock();
        let handle = table.entries.pop_highest()?;
        let node = handle.as_ref().map(|handle| handle.weak_claim.node());
        let holder = node.and_then(|node| node.remove_holder(self));
        Some((handle, holder))
    }
}

impl HandleTable {
    /// Installs what was allocated. Gives back what is not needed any more.
    fn install(&mut self, got: Got, new: &mut Option<NewEntry>) -> Option<Got> {
        match got {
            Got::Entry(entry) => new.replace(entry).map(Got::Entry),
            Got::Ids(memory) => {
                let mut memory = Some(memory);
                self.entries.install_ids(&mut memory);
                memory.map(Got::Ids)
            }
            Got::Slots(memory) => {
                let mut memory = Some(memory);
                self.entries.install_slots(&mut memory);
                memory.map(Got::Slots)
            }
        }
    }
}
