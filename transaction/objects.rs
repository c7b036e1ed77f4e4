// SPDX-License-Identifier: GPL-2.0

//! The objects in a transaction: what names something in the sender comes to name the
//! same thing in the receiver.
//!
//! Each object is read from the sender once. All is decided on that copy; the receiver's
//! memory is only written, and never holds a name that was not translated.

use kernel::{prelude::*, security, sync::Arc};

use super::{copy::Terms, TransactionData, UserRange};
use crate::{
    allocation::{Allocation, HeldObject},
    defs::{NodeFlags, ObjectType, Strength},
    error::TransactionError,
    ffi::{abi::flat_binder_object, files::take_file, user},
    node::NodeClaim,
    process::{NodeName, Process},
    thread::Thread,
};

use kernel::transmute::AsBytes;

/// Offsets that are read at once.
const OFFSETS: usize = 16;
const OFFSET_SIZE: usize = size_of::<u64>();

/// Copies the data of a transaction and translates the objects in it.
pub(super) struct Translator<'a> {
    thread: &'a Thread,
    data: &'a TransactionData,
    buffer: &'a mut Allocation,
    terms: &'a Terms,
    /// Everything before it is copied.
    cursor: usize,
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        thread: &'a Thread,
        data: &'a TransactionData,
        buffer: &'a mut Allocation,
        terms: &'a Terms,
    ) -> Self {
        Self {
            thread,
            data,
            buffer,
            terms,
            cursor: 0,
        }
    }

    /// Copies everything. What was translated before a failure is held by the buffer, and
    /// goes with it.
    pub(super) fn run(mut self) -> Result<(), TransactionError> {
        let layout = self.buffer.layout;
        let mut done = 0;
        while done < layout.offsets_size() {
            let mut chunk = [0u8; OFFSETS * OFFSET_SIZE];
            let len = (layout.offsets_size() - done).min(chunk.len());
            let chunk = chunk.get_mut(..len).ok_or(EFAULT)?;
            user::read_bytes(self.data.offsets.address.wrapping_add(done as u64), chunk)?;
            self.buffer
                .write(layout.offsets_at().saturating_add(done), chunk)?;
            for offset in chunk.chunks_exact(OFFSET_SIZE) {
                let offset = offset
                    .try_into()
                    .map(u64::from_ne_bytes)
                    .map_err(|_| EFAULT)?;
                self.object(offset)?;
            }
            done = done.saturating_add(len);
        }
        Ok(self.copy_until(layout.data_size())?)
    }

    /// Copies what lies between the last object and `end`, as it is.
    fn copy_until(&mut self, end: usize) -> Result {
        let size = end.checked_sub(self.cursor).ok_or(EFAULT)? as u64;
        let address = self.data.data.address.wrapping_add(self.cursor as u64);
        self.buffer
            .copy_in(self.cursor, UserRange { address, size })?;
        self.cursor = end;
        Ok(())
    }

    /// Translates the object at `offset`.
    ///
    /// Fails with `EFAULT` if it begins before the end of the last one or behind the data,
    /// with `EINVAL` if it is not aligned, not complete or unknown, and as its type says.
    fn object(&mut self, offset: u64) -> Result<(), TransactionError> {
        let offset = usize::try_from(offset).map_err(|_| EFAULT)?;
        if offset > self.buffer.layout.data_size() {
            return Err(EFAULT.into());
        }
        self.copy_until(offset)?;
        let end = offset
            .checked_add(size_of::<flat_binder_object>())
            .ok_or(EINVAL)?;
        if offset % align_of::<u32>() != 0 || end > self.buffer.layout.data_size() {
            return Err(EINVAL.into());
        }
        let object: flat_binder_object =
            user::read(self.data.data.address.wrapping_add(offset as u64))?;
        self.buffer.reserve_object()?;
        let translated = match ObjectType(object.kind()) {
            ObjectType::BINDER => self.local(object, Strength::Strong)?,
            ObjectType::WEAK_BINDER => self.local(object, Strength::Weak)?,
            ObjectType::HANDLE => self.remote(object, Strength::Strong)?,
            ObjectType::WEAK_HANDLE => self.remote(object, Strength::Weak)?,
            ObjectType::FD => self.file(object, offset)?,
            _ => return Err(EINVAL.into()),
        };
        self.buffer.write(offset, translated.as_bytes())?;
        self.cursor = end;
        Ok(())
    }

    fn receiver(&self) -> Arc<Process> {
        self.buffer.process.clone()
    }

    /// An object of the sender becomes a handle of the receiver.
    fn local(
        &mut self,
        object: flat_binder_object,
        strength: Strength,
    ) -> Result<flat_binder_object, TransactionError> {
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
        self.give_handle(object, claim, strength)
    }

    /// A handle of the sender becomes one of the receiver, or, if the object is the
    /// receiver's own, the object itself.
    fn remote(
        &mut self,
        object: flat_binder_object,
        strength: Strength,
    ) -> Result<flat_binder_object, TransactionError> {
        let process = &self.thread.process;
        let claim = process
            .claim_behind(object.handle(), strength)
            .ok_or(EINVAL)?;
        self.check_transfer()?;
        if !Arc::ptr_eq(&claim.node().owner, &self.buffer.process) {
            return self.give_handle(object, claim, strength);
        }
        let kind = match strength {
            Strength::Strong => ObjectType::BINDER,
            Strength::Weak => ObjectType::WEAK_BINDER,
        };
        let (ptr, cookie) = (claim.node().ptr, claim.node().cookie);
        self.buffer.hold(HeldObject::Node(claim))?;
        Ok(object.become_type(kind.0, ptr, cookie))
    }

    fn give_handle(
        &mut self,
        object: flat_binder_object,
        claim: NodeClaim,
        strength: Strength,
    ) -> Result<flat_binder_object, TransactionError> {
        let handle = self
            .receiver()
            .add_handle(claim, strength)
            .map_err(|error| {
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
        Ok(object.become_type(kind.0, handle.into(), 0))
    }

    /// A file of the sender, which gets a number in the receiver when it is delivered.
    fn file(
        &mut self,
        object: flat_binder_object,
        offset: usize,
    ) -> Result<flat_binder_object, TransactionError> {
        if !self.terms.accepts_files {
            return Err(EPERM.into());
        }
        let file = take_file(object.handle())?;
        let (from, to) = (&self.thread.process.cred, &self.buffer.process.cred);
        security::binder_transfer_file(from, to, &file).map_err(|_| EPERM)?;
        let number_at = offset.saturating_add(core::mem::offset_of!(
            crate::ffi::abi::binder_fd_object,
            __bindgen_anon_1
        ));
        self.buffer.send_file(file, number_at)?;
        Ok(object.become_type(ObjectType::FD.0, 0, object.cookie))
    }

    /// Asks whether references may go from sender to receiver.
    fn check_transfer(&self) -> Result {
        let (from, to) = (&self.thread.process.cred, &self.buffer.process.cred);
        security::binder_transfer_binder(from, to).map_err(|_| EPERM)
    }
}
