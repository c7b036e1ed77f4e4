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

use super::Allocation;

/// A file on its way to the receiver, which has no number there yet.
pub(crate) struct SentFile {
    pub(crate) file: ARef<File>,
    /// Where in the buffer the number goes.
    pub(crate) offset: usize,
}

/// The files of a transaction with the numbers they will have in the running task.
///
/// Until [`ArrivedFiles::install`] the numbers are reserved only: dropping this gives
/// them back.
pub(crate) struct ArrivedFiles(KVec<(FileDescriptorReservation, ARef<File>)>);

impl ArrivedFiles {
    /// Reserves a number for each file and writes it into the buffer: all or none.
    ///
    /// # Errors
    ///
    /// `EMFILE` and what else stands against a descriptor, `ENOMEM`.
    pub(crate) fn number(buffer: &mut Allocation) -> Result<Self> {
        let files = buffer.take_files();
        if files.is_empty() {
            return Ok(Self(KVec::new()));
        }
        let mut arrived = KVec::with_capacity(files.len(), GFP_KERNEL)?;
        for SentFile { file, offset } in files {
            let reservation = FileDescriptorReservation::get_unused_fd_flags(O_CLOEXEC)?;
            buffer.write(offset, &reservation.reserved_fd().to_ne_bytes())?;
            arrived.push((reservation, file), GFP_KERNEL)?;
        }
        Ok(Self(arrived))
    }

    /// Makes the numbers valid.
    pub(crate) fn install(self) {
        for (reservation, file) in self.0 {
            reservation.fd_install(file);
        }
    }
}
