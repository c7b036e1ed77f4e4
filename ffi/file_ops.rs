// SPDX-License-Identifier: GPL-2.0

//! The file operations of a binder device.
//!
//! Thin thunks: each turns raw pointers into references, calls one method of
//! [`Process`] and turns the result into an errno. `private_data` of an open
//! file owns one reference to its process; before `open` it names the device.

use kernel::{
    bindings,
    fs::{File, LocalFile},
    mm::virt::VmaNew,
    module::this_module,
    prelude::*,
    sync::{poll::PollTable, Arc, ArcBorrow},
    types::ForeignOwnable,
};

use crate::{ffi::device::DeviceNode, process::Process, LocalModule};

#[repr(transparent)]
struct Table(bindings::file_operations);

// SAFETY: The table is never modified.
unsafe impl Sync for Table {}

static OPERATIONS: Table = Table(bindings::file_operations {
    owner: this_module::<LocalModule>().as_ptr(),
    open: Some(open),
    flush: Some(flush),
    release: Some(release),
    unlocked_ioctl: Some(ioctl),
    compat_ioctl: bindings::compat_ptr_ioctl,
    poll: Some(poll),
    mmap: Some(mmap),
    llseek: Some(bindings::noop_llseek),
    ..pin_init::zeroed()
});

/// The table for the registration of a device.
pub(super) fn operations() -> *const bindings::file_operations {
    &OPERATIONS.0
}

/// The process that `file` belongs to.
///
/// # Safety
///
/// `file` was opened by [`open`] and not yet released.
unsafe fn process_of<'a>(file: *mut bindings::file) -> ArcBorrow<'a, Process> {
    // SAFETY: `open` stored a reference, which `release` alone takes back, and
    // the file is not released while one of its operations runs.
    unsafe { Arc::<Process>::borrow((*file).private_data) }
}

/// Whether `file` is the one through which `process` is used.
///
/// # Safety
///
/// `file` is alive, and its `open` has succeeded.
pub(super) unsafe fn is_file_of(file: *mut bindings::file, process: &Process) -> bool {
    // SAFETY: By the caller's promise. Only `open` of the table makes files with it.
    unsafe {
        core::ptr::eq((*file).f_op, operations()) && core::ptr::eq(&*process_of(file), process)
    }
}

/// # Safety
///
/// `open` of the table: called with the inode and a file that nobody else uses yet.
unsafe extern "C" fn open(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: The misc core stores the address of the device it found, and holds
    // its list lock, so the device cannot go away during this call.
    let context = unsafe { DeviceNode::context((*file).private_data) };
    // SAFETY: `open` gets a valid file that nobody else uses yet.
    let local = unsafe { LocalFile::from_raw_file(file) };
    match Process::open(context, local.cred()) {
        Ok(process) => {
            // SAFETY: The file is ours; see `process_of` for the ownership.
            unsafe { (*file).private_data = process.into_foreign() };
            0
        }
        Err(error) => error.to_errno(),
    }
}

/// # Safety
///
/// `flush` of the table: called for an open file.
unsafe extern "C" fn flush(file: *mut bindings::file, _id: bindings::fl_owner_t) -> c_int {
    // SAFETY: Called for an open file.
    unsafe { process_of(file) }.flush();
    0
}

/// # Safety
///
/// `release` of the table: called last, once, for a file that `open` accepted.
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: Called once, last, for a file that `open` accepted.
    let process = unsafe { Arc::<Process>::from_foreign((*file).private_data) };
    process.release();
    0
}

/// # Safety
///
/// `unlocked_ioctl` of the table: called for an open file.
unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: c_uint, arg: c_ulong) -> c_long {
    // SAFETY: Called for an open file.
    let (process, local) = unsafe { (process_of(file), LocalFile::from_raw_file(file)) };
    let nonblocking = local.flags() & kernel::fs::file::flags::O_NONBLOCK != 0;
    match process.ioctl(cmd, arg as u64, nonblocking) {
        Ok(()) => 0,
        Err(error) => error.to_errno() as c_long,
    }
}

/// # Safety
///
/// `poll` of the table: called for an open file, `table` is valid for the call.
unsafe extern "C" fn poll(
    file: *mut bindings::file,
    table: *mut bindings::poll_table_struct,
) -> bindings::__poll_t {
    // SAFETY: Called for an open file with a table that is valid for the call.
    let (process, table, file) = unsafe {
        (
            process_of(file),
            PollTable::from_raw(table),
            File::from_raw_file(file),
        )
    };
    match process.poll(file, &table) {
        Ok(mask) => mask,
        Err(_) => bindings::POLLERR,
    }
}

/// # Safety
///
/// `mmap` of the table: called for an open file, with the address space locked for writing.
unsafe extern "C" fn mmap(file: *mut bindings::file, vma: *mut bindings::vm_area_struct) -> c_int {
    // SAFETY: Called for an open file, with an area that is being set up and that
    // the caller holds locked for writing.
    let (process, area) = unsafe { (process_of(file), VmaNew::from_raw(vma)) };
    match process.mmap(area) {
        Ok(()) => 0,
        Err(error) => error.to_errno(),
    }
}
