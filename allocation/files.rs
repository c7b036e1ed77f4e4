// SPDX-License-Identifier: GPL-2.0

//! Files that travel in a buffer.
//!
//! The sender's descriptor is turned into a file when the transaction is sent. The
//! receiver's descriptor is chosen when the transaction is delivered, by the task that
//! reads it: only then is it known whose table it goes to.

use kernel::{
    fs::{
        file::{flags::O_CLOEXEC, FileDescriptorReservation},
        File,
    },
    prelude::*,
    sync::aref::ARef,
};

use super::{Allocation, Contents};
use crate::ffi::trace;

/// Who closes a descriptor that was delivered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// The receiver's user space, when it likes.
    UserSpace,
    /// The driver, when the buffer is freed.
    Buffer,
}

/// A file on its way to the receiver, which has no number there yet.
pub(super) struct SentFile {
    pub(super) file: ARef<File>,
    /// Where in the buffer the number goes.
    pub(super) offset: u32,
    pub(super) keeper: Keeper,
}

/// The files of a transaction with the numbers they will have in the running task.
///
/// Until [`ArrivedFiles::install`] the numbers are reserved only: dropping this gives
/// them back.
pub(crate) struct ArrivedFiles(Option<Numbered>);

struct Numbered {
    /// With the places of their numbers in the buffer.
    files: KVVec<(FileDescriptorReservation, ARef<File>, u32)>,
    /// The numbers that go with the buffer.
    kept: KVVec<u32>,
}

impl ArrivedFiles {
    /// Reserves a number for each file and writes it into the buffer: all or none.
    ///
    /// # Errors
    ///
    /// `EMFILE` and what else stands against a descriptor, `ENOMEM`.
    pub(crate) fn number(buffer: &mut Allocation) -> Result<Self> {
        let Some(sent) = buffer.contents.as_mut().and_then(Contents::take_files) else {
            return Ok(Self(None));
        };
        let mut arrived = Numbered {
            files: KVVec::new(),
            kept: KVVec::new(),
        };
        arrived.files.reserve(sent.len(), GFP_KERNEL)?;
        for SentFile {
            file,
            offset,
            keeper,
        } in sent
        {
            let reservation = FileDescriptorReservation::get_unused_fd_flags(O_CLOEXEC)?;
            let number = reservation.reserved_fd();
            buffer.write(offset as usize, &number.to_ne_bytes())?;
            arrived
                .files
                .push((reservation, file, offset), GFP_KERNEL)?;
            if keeper == Keeper::Buffer {
                arrived.kept.push(number, GFP_KERNEL)?;
            }
        }
        Ok(Self(Some(arrived)))
    }

    /// Makes the numbers valid. `id` is the transaction's, for events.
    pub(crate) fn install(self, buffer: &mut Allocation, id: u32) {
        let Some(arrived) = self.0 else {
            return;
        };
        for (reservation, file, offset) in arrived.files {
            let number = reservation.reserved_fd();
            trace::transaction_fd_recv(|| (id as c_int, number as c_int, offset as usize));
            reservation.fd_install(file);
        }
        buffer.contents().close_when_freed(arrived.kept);
    }
}
