// SPDX-License-Identifier: GPL-2.0

//! A context: one binder device, the world that its handles live in.

use kernel::str::{BStr, CStr, CString};
use kernel::sync::{Arc, Mutex};
use kernel::{new_mutex, prelude::*, security, task::Kuid};

use crate::{
    defs::{NodeFlags, Strength},
    error::TransactionError,
    node::{Node, NodeClaim},
    process::Process,
};

/// A binder device.
///
/// *Semantics*: processes of one context can reach each other; its manager is the
/// object behind handle 0 of each of them.
/// *Lifetime*: held by the device and by each process that opened it.
#[pin_data]
pub(crate) struct Context {
    pub(crate) name: CString,
    /// Lock level L1. Taken before any lock of a process or thread.
    #[pin]
    manager: Mutex<Manager>,
}

struct Manager {
    /// The manager's node, kept alive by this claim while there is a manager.
    node: Option<NodeClaim>,
    /// Who the first manager was: a later one must be the same user.
    uid: Option<Kuid>,
}

impl Context {
    /// A context without manager. `name` is for logs and reports.
    pub(crate) fn new(name: &CStr) -> Result<Arc<Self>> {
        let name = name.to_cstring()?;
        Arc::pin_init(
            pin_init!(Self {
                name,
                manager <- new_mutex!(Manager { node: None, uid: None }, "Context::manager"),
            }),
            GFP_KERNEL,
        )
    }

    /// The name, to be printed.
    pub(crate) fn display_name(&self) -> &BStr {
        BStr::from_bytes(self.name.to_bytes())
    }

    /// Makes a node of `process` the object behind handle 0.
    ///
    /// # Errors
    ///
    /// `EBUSY` while there is a manager, what the security module says, `EPERM` if
    /// another user was manager before, `EINVAL` if the process uses pointer 0 with
    /// another cookie, `ENOMEM`.
    pub(crate) fn set_manager(
        &self,
        process: &Arc<Process>,
        ptr: u64,
        cookie: u64,
        flags: NodeFlags,
    ) -> Result {
        let mut manager = self.manager.lock();
        if manager.node.is_some() {
            return Err(EBUSY);
        }
        security::binder_set_context_mgr(&process.cred)?;
        let euid = Kuid::current_euid();
        if manager.uid.is_some_and(|uid| uid != euid) {
            return Err(EPERM);
        }
        let claim = process.claim_manager_node(ptr, cookie, flags)?;
        manager.uid = Some(euid);
        manager.node = Some(claim);
        Ok(())
    }

    /// Ends the role of `process` if it is the manager.
    pub(crate) fn unset_manager(&self, process: &Process) {
        let claim = {
            let mut manager = self.manager.lock();
            match &manager.node {
                Some(claim) if core::ptr::eq(&*claim.node().owner, process) => manager.node.take(),
                _ => None,
            }
        };
        drop(claim);
    }

    /// Claims the manager's node for a transaction of `sender` to handle 0.
    pub(crate) fn claim_manager(
        &self,
        sender: &Process,
    ) -> core::result::Result<NodeClaim, TransactionError> {
        let node = self.manager_node().ok_or(TransactionError::dead(EINVAL))?;
        // The process must not call itself, through whichever of its files.
        if node.owner.pid == sender.pid {
            return Err(TransactionError::failed(EINVAL));
        }
        node.try_claim_strong()
            .ok_or(TransactionError::dead(EINVAL))
    }

    /// The manager's node.
    pub(crate) fn manager_node(&self) -> Option<Arc<Node>> {
        self.manager
            .lock()
            .node
            .as_ref()
            .map(|claim| claim.node().clone())
    }

    /// Whether `node` is the manager's.
    pub(crate) fn is_manager_node(&self, node: &Arc<Node>) -> bool {
        let manager = self.manager.lock();
        manager
            .node
            .as_ref()
            .is_some_and(|claim| Arc::ptr_eq(claim.node(), node))
    }

    /// Claims the manager's node for a handle of `process`, as `BC_ACQUIRE` and
    /// `BC_INCREFS` of handle 0 do.
    pub(crate) fn claim_manager_for_handle(
        &self,
        process: &Process,
        strength: Strength,
    ) -> Result<NodeClaim> {
        let node = self.manager_node().ok_or(ENOENT)?;
        if core::ptr::eq(&*node.owner, process) {
            return Err(EINVAL);
        }
        Ok(node.claim(strength, None))
    }
}
