// SPDX-License-Identifier: GPL-2.0

//! The objects in a transaction: what names something in the sender comes to name the
//! same thing in the receiver.
//!
//! Each object is read from the sender once. What may stand where is decided on that copy
//! ([`place`], [`scatter`]); the receiver's memory is only written, and never holds a
//! name that was not translated.

use kernel::{prelude::*, transmute::AsBytes};

use super::{copy::Terms, TransactionData, UserRange};
use crate::{
    allocation::Allocation,
    defs::{ObjectType, Strength},
    error::TransactionError,
    ffi::{
        abi::{binder_buffer_object, binder_fd_array_object, flat_binder_object},
        user,
    },
    thread::Thread,
};

mod blocks;
mod files;
mod place;
mod references;
mod scatter;

use self::{
    blocks::Blocks,
    place::{DataCursor, Refusal, SMALLEST_OBJECT},
};

/// Offsets that are read at once.
const OFFSETS: usize = 16;
const OFFSET_SIZE: usize = size_of::<u64>();

const _: () = assert!(SMALLEST_OBJECT == size_of::<flat_binder_object>());

/// Copies the data of a transaction and translates the objects in it.
pub(super) struct Translator<'a> {
    thread: &'a Thread,
    data: &'a TransactionData,
    buffer: &'a mut Allocation,
    terms: &'a Terms,
    cursor: DataCursor,
    /// From the first block on.
    blocks: Option<Blocks>,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Fault => EFAULT,
            Refusal::Invalid => EINVAL,
        }
    }
}

impl From<Refusal> for TransactionError {
    fn from(refusal: Refusal) -> Self {
        Error::from(refusal).into()
    }
}

impl<'a> Translator<'a> {
    pub(super) fn new(
        thread: &'a Thread,
        data: &'a TransactionData,
        buffer: &'a mut Allocation,
        terms: &'a Terms,
    ) -> Self {
        let cursor = DataCursor::new(buffer.layout.data_size());
        Self {
            thread,
            data,
            buffer,
            terms,
            cursor,
            blocks: None,
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
            for (index, offset) in (done / OFFSET_SIZE..).zip(chunk.chunks_exact(OFFSET_SIZE)) {
                let offset = offset
                    .try_into()
                    .map(u64::from_ne_bytes)
                    .map_err(|_| EFAULT)?;
                self.object(index as u32, offset)?;
            }
            done = done.saturating_add(len);
        }
        self.copy(self.cursor.left())?;
        // Last, when it is known what must not be copied.
        match self.blocks.take() {
            Some(blocks) => Ok(blocks.fill(self.buffer)?),
            None => Ok(()),
        }
    }

    /// Copies the next `len` bytes as they are.
    fn copy(&mut self, len: usize) -> Result {
        let size = len as u64;
        let address = self.here();
        let at = self.cursor.done();
        self.buffer.copy_in(at, UserRange { address, size })
    }

    /// Where the sender has what comes next.
    fn here(&self) -> u64 {
        let address = self.data.data.address;
        address.wrapping_add(self.cursor.done() as u64)
    }

    /// Translates object number `index`, which is at `offset`.
    ///
    /// Fails with `EFAULT` if it begins before the end of the last one or behind the data,
    /// with `EINVAL` if it is not aligned, not complete, not readable or unknown, and as
    /// its type says.
    fn object(&mut self, index: u32, offset: u64) -> Result<(), TransactionError> {
        let gap = self.cursor.gap_before(offset)?;
        self.copy(gap)?;
        self.cursor.enter(gap)?;
        let object: flat_binder_object = user::read(self.here()).map_err(|_| EINVAL)?;
        match ObjectType(object.kind()) {
            ObjectType::BINDER => self.local(object, Strength::Strong),
            ObjectType::WEAK_BINDER => self.local(object, Strength::Weak),
            ObjectType::HANDLE => self.remote(object, Strength::Strong),
            ObjectType::WEAK_HANDLE => self.remote(object, Strength::Weak),
            ObjectType::FD => self.file(object),
            ObjectType::PTR => {
                let tail = self.tail(size_of::<binder_buffer_object>())?;
                self.block(index, binder_buffer_object::new(object, tail))
            }
            ObjectType::FDA => {
                let tail = self.tail(size_of::<binder_fd_array_object>())?;
                self.file_array(binder_fd_array_object::new(object, tail))
            }
            _ => Err(EINVAL.into()),
        }
    }

    /// Reads what an object of `size` bytes has in addition to those that all have.
    fn tail<T: kernel::transmute::FromBytes>(&self, size: usize) -> Result<T> {
        if size > self.cursor.left() {
            return Err(EINVAL);
        }
        let address = self.here().wrapping_add(SMALLEST_OBJECT as u64);
        user::read(address).map_err(|_| EINVAL)
    }

    /// Puts an object where that of the sender is, and passes it.
    fn put<T: AsBytes>(&mut self, object: &T) -> Result<(), TransactionError> {
        self.buffer.write(self.cursor.done(), object.as_bytes())?;
        Ok(self.cursor.pass(size_of::<T>())?)
    }
}
