// SPDX-License-Identifier: GPL-2.0

//! Descriptors of the running task.

use kernel::{
    bindings,
    fs::{File, LocalFile},
    prelude::*,
    sync::aref::ARef,
    task::Task,
};

use crate::{ffi::file_ops, process::Process};

/// The file behind a descriptor of the running task. Fails with `EBADF`.
pub(crate) fn take_file(fd: u32) -> Result<ARef<File>> {
    let local = LocalFile::fget(fd).map_err(|_| EBADF)?;
    // SAFETY: This is called for commands of an ioctl. An ioctl holds its file by
    // `fdget`, never by `fdget_pos`, and the task is in no other system call.
    Ok(unsafe { LocalFile::assume_no_fdget_pos(local) })
}

/// Whether `process` is used through `file`.
pub(crate) fn is_file_of(file: &File, process: &Process) -> bool {
    // SAFETY: The file is alive. It comes from a table of descriptors, where a file is put
    // when its `open` has succeeded.
    unsafe { file_ops::is_file_of(file.as_ptr(), process) }
}

/// Closes a descriptor of the running task, which carries out an ioctl of `process`. A
/// number that is not open is ignored.
///
/// If this was the last reference to the file, all that follows from its end is done when
/// this returns, even if the ioctl sleeps afterwards. Only the file of the ioctl itself
/// stays until the task is back in user space: the ioctl may use it without a reference of
/// its own, because nobody else can close it meanwhile. Other tasks that use a file have
/// references, for whoever shares a table with others takes them.
///
/// Not to be called with any lock held: what the end of a file does is unknown.
pub(crate) fn close(descriptor: u32, process: &Process) {
    // SAFETY: Any number may be asked for. The reference of the table becomes ours.
    let file = unsafe { bindings::file_close_fd(descriptor) };
    if file.is_null() {
        return;
    }
    // SAFETY: We have a reference, so the file is alive.
    let is_in_use = unsafe { file_ops::is_file_of(file, process) };
    // SAFETY: One reference is given back by `filp_close()`, the other one below. The
    // owner is what `close()` passes, the table of the running task.
    unsafe {
        let owner = (*Task::current_raw()).files.cast();
        bindings::get_file(file);
        bindings::filp_close(file, owner);
        if is_in_use {
            bindings::fput(file);
        } else {
            bindings::__fput_sync(file);
        }
    }
}
