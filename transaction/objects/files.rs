// SPDX-License-Identifier: GPL-2.0

//! Files: single ones, and arrays of them in a block.

use core::mem::offset_of;

use kernel::{prelude::*, security};

use super::{
    scatter::{Array, ArrayRequest, Place},
    Translator,
};
use crate::{
    allocation::files::Keeper,
    defs::ObjectType,
    error::TransactionError,
    ffi::{
        abi::{binder_fd_array_object, binder_fd_object, flat_binder_object},
        files::{is_file_of, take_file},
        trace, user,
    },
};

/// Descriptors of an array that are read at once.
const AT_ONCE: usize = 32;
const DESCRIPTOR: usize = size_of::<u32>();

impl Translator<'_> {
    /// A file of the sender, which gets a number in the receiver when it is delivered.
    pub(super) fn file(&mut self, object: flat_binder_object) -> Result<(), TransactionError> {
        let within = offset_of!(binder_fd_object, __bindgen_anon_1);
        let at = self.cursor.done().saturating_add(within);
        self.take(object.handle(), at, Keeper::UserSpace)?;
        self.put(&object.become_type(ObjectType::FD.0, 0, object.cookie))
    }

    /// An array of files, whose numbers go into a block when it is delivered. The object
    /// itself stays as it is.
    pub(super) fn file_array(
        &mut self,
        object: binder_fd_array_object,
    ) -> Result<(), TransactionError> {
        let request = ArrayRequest {
            place: Place {
                object: object.parent,
                offset: object.parent_offset,
            },
            count: object.num_fds,
        };
        let blocks = self.blocks.as_mut().ok_or(EINVAL)?;
        if let Some(array) = blocks.add_array(&request)? {
            self.take_array(&array)?;
        }
        self.put(&object)
    }

    /// Takes the files of an array. Each descriptor is read once.
    fn take_array(&mut self, array: &Array) -> Result {
        let mut done = 0;
        while done < array.count {
            let mut chunk = [0u8; AT_ONCE * DESCRIPTOR];
            let count = array.count.saturating_sub(done).min(AT_ONCE);
            let chunk = chunk.get_mut(..count * DESCRIPTOR).ok_or(EINVAL)?;
            let offset = done.saturating_mul(DESCRIPTOR);
            let source = array.source.wrapping_add(offset as u64);
            user::read_bytes(source, chunk).map_err(|_| EINVAL)?;
            let places = (array.at.saturating_add(offset)..).step_by(DESCRIPTOR);
            for (number, at) in chunk.chunks_exact(DESCRIPTOR).zip(places) {
                let number = number.try_into().map(u32::from_ne_bytes);
                self.take(number.map_err(|_| EINVAL)?, at, Keeper::Buffer)?;
            }
            done = done.saturating_add(count);
        }
        Ok(())
    }

    /// Takes the file behind a descriptor of the sender, whose number in the receiver goes
    /// to `at`.
    fn take(&mut self, descriptor: u32, at: usize, keeper: Keeper) -> Result {
        if !self.terms.accepts_files {
            return Err(EPERM);
        }
        let file = take_file(descriptor)?;
        let id = self.terms.id;
        trace::transaction_fd_send(|| (id as c_int, descriptor as c_int, at));
        if is_file_of(&file, &self.buffer.process) {
            // The queue of a process would keep the file open that has to be closed before
            // the queue goes.
            return Err(EPERM);
        }
        let (from, to) = (&self.thread.process.cred, &self.buffer.process.cred);
        security::binder_transfer_file(from, to, &file).map_err(|_| EPERM)?;
        self.buffer.send_file(file, at, keeper)
    }
}
