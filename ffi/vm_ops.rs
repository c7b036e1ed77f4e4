// SPDX-License-Identifier: GPL-2.0

//! The operations of a binder mapping, so that an unmap is noticed.

use core::ptr;

use kernel::{
    bindings,
    mm::virt::{VmaNew, VmaRef},
    sync::Arc,
    types::ForeignOwnable,
};

use crate::process::Process;

#[repr(transparent)]
struct Table(bindings::vm_operations_struct);

// SAFETY: The table is never modified.
unsafe impl Sync for Table {}

static OPERATIONS: Table = Table(bindings::vm_operations_struct {
    close: Some(close),
    fault: Some(fault),
    ..pin_init::zeroed()
});

/// Makes `area` a mapping of `process`, which is the process of the file that is
/// being mapped.
pub(crate) fn install(area: &VmaNew, process: &Process) {
    let vma = area.as_ptr();
    // SAFETY: `VmaNew` says that the area is being set up and is ours to change.
    unsafe {
        (*vma).vm_ops = &OPERATIONS.0;
        (*vma).vm_private_data = ptr::from_ref(process).cast_mut().cast();
    }
}

/// Whether `area` is a mapping of `process`.
///
/// After an unmap some other memory may be at the address; it must never be
/// touched.
pub(crate) fn belongs_to(area: &VmaRef, process: &Process) -> bool {
    let vma = area.as_ptr();
    // SAFETY: `VmaRef` says that the area is locked for reading at least, and both
    // fields change only while it is locked for writing.
    let (operations, owner) = unsafe { ((*vma).vm_ops, (*vma).vm_private_data) };
    ptr::eq(operations, &OPERATIONS.0) && ptr::eq(owner.cast_const().cast(), process)
}

/// Part or all of a mapping went away: nothing may be delivered through it.
///
/// # Safety
///
/// `close` of the table: called for an area that `install` was called for.
unsafe extern "C" fn close(vma: *mut bindings::vm_area_struct) {
    // SAFETY: The area holds a reference to its file, which is therefore open and
    // belongs to this driver, see `file_ops`.
    let process = unsafe { Arc::<Process>::borrow((*(*vma).vm_file).private_data) };
    process.unmapped();
}

/// The driver maps pages before it tells user space of them, so that an access
/// which finds none is an access to memory that was never handed out.
///
/// # Safety
///
/// `fault` of the table; accesses nothing.
unsafe extern "C" fn fault(_fault: *mut bindings::vm_fault) -> bindings::vm_fault_t {
    bindings::vm_fault_reason_VM_FAULT_SIGBUS
}
