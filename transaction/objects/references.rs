// SPDX-License-Identifier: GPL-2.0

//! References: objects of the sender, and handles.

use kernel::{prelude::*, security, sync::Arc};

use super::Translator;
use crate::{
    allocation::HeldObject,
    defs::{NodeFlags, ObjectType, Strength},
    error::TransactionError,
    ffi::{abi::flat_binder_object, trace},
    node::NodeClaim,
    process::NodeName,
};

impl Translator<'_> {
    /// An object of the sender becomes a handle of the receiver.
    pub(super) fn local(
        &mut self,
        object: flat_binder_object,
        strength: Strength,
    ) -> Result<(), TransactionError> {
        self.buffer.reserve_object()?;
        let name = NodeName {
            ptr: object.pointer(),
            cookie: object.cookie,
            flags: NodeFlags(object.flags),
        };
        let claim = self
            .thread
            .process
            .claim_node(name, strength, Some(self.thread))?;
        self.check_transfer()?;
        let (id, ptr) = (self.terms.id as c_int, name.ptr);
        let node = claim.node().id as c_int;
        let handle = self.give_handle(object, claim, strength)?;
        trace::transaction_node_to_ref(|| (id, node, ptr, handle as c_int, handle));
        Ok(())
    }

    /// A handle of the sender becomes one of the receiver, or, if the object is the
    /// receiver's own, the object itself.
    pub(super) fn remote(
        &mut self,
        object: flat_binder_object,
        strength: Strength,
    ) -> Result<(), TransactionError> {
        self.buffer.reserve_object()?;
        let process = &self.thread.process;
        let claim = process
            .claim_behind(object.handle(), strength)
            .ok_or(EINVAL)?;
        self.check_transfer()?;
        if !Arc::ptr_eq(&claim.node().owner, &self.buffer.process) {
            return self.pass_on(object, claim, strength);
        }
        let kind = match strength {
            Strength::Strong => ObjectType::BINDER,
            Strength::Weak => ObjectType::WEAK_BINDER,
        };
        let (ptr, cookie) = (claim.node().ptr, claim.node().cookie);
        let (id, handle) = (self.terms.id as c_int, object.handle());
        trace::transaction_ref_to_node(|| {
            (id, handle as c_int, handle, claim.node().id as c_int, ptr)
        });
        self.buffer.hold(HeldObject::Node(claim))?;
        self.put(&object.become_type(kind.0, ptr, cookie))
    }

    /// A handle of the sender becomes one of the receiver.
    fn pass_on(
        &mut self,
        object: flat_binder_object,
        claim: NodeClaim,
        strength: Strength,
    ) -> Result<(), TransactionError> {
        let (id, node) = (self.terms.id as c_int, claim.node().id as c_int);
        let from = object.handle();
        let to = self.give_handle(object, claim, strength)?;
        trace::transaction_ref_to_ref(|| (id, node, from as c_int, from, to as c_int, to));
        Ok(())
    }

    /// Says which handle of the receiver it is.
    fn give_handle(
        &mut self,
        object: flat_binder_object,
        claim: NodeClaim,
        strength: Strength,
    ) -> Result<u32, TransactionError> {
        let receiver = self.buffer.process.clone();
        let handle = receiver.add_handle(claim, strength).map_err(|error| {
            if error == ESRCH {
                TransactionError::DIED
            } else {
                TransactionError::failed(error)
            }
        })?;
        self.buffer.hold(HeldObject::Handle(handle, strength))?;
        let kind = match strength {
            Strength::Strong => ObjectType::HANDLE,
            Strength::Weak => ObjectType::WEAK_HANDLE,
        };
        self.put(&object.become_type(kind.0, handle.into(), 0))?;
        Ok(handle)
    }

    /// Asks whether references may go from sender to receiver.
    fn check_transfer(&self) -> Result {
        let (from, to) = (&self.thread.process.cred, &self.buffer.process.cred);
        security::binder_transfer_binder(from, to).map_err(|_| EPERM)
    }
}
