// SPDX-License-Identifier: GPL-2.0

//! Descriptors of the running task.

use kernel::{
    fs::{File, LocalFile},
    prelude::*,
    sync::aref::ARef,
};

/// The file behind a descriptor of the running task. Fails with `EBADF`.
pub(crate) fn take_file(fd: u32) -> Result<ARef<File>> {
    let local = LocalFile::fget(fd).map_err(|_| EBADF)?;
    // SAFETY: This is called for commands of an ioctl. An ioctl holds its file by
    // `fdget`, never by `fdget_pos`, and the task is in no other system call.
    Ok(unsafe { LocalFile::assume_no_fdget_pos(local) })
}
