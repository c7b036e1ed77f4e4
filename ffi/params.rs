// SPDX-License-Identifier: GPL-2.0

//! The module parameter `devices`.
//!
//! The `module!` macro has no string parameters, so the descriptor is laid out
//! here as `module_param_named(devices, ..., charp, 0444)` would do it in C.

use core::{cell::UnsafeCell, ptr};

use kernel::{
    bindings,
    prelude::*,
    str::{as_char_ptr_in_const_context, CStr, CStrExt},
};

/// Storage that the parameter code of the kernel writes before `init` runs.
#[repr(transparent)]
struct CharPtr(UnsafeCell<*mut c_char>);

// SAFETY: Written once, by the loader, before any code of the module runs.
unsafe impl Sync for CharPtr {}

static DEVICES: CharPtr = CharPtr(UnsafeCell::new(ptr::null_mut()));

#[repr(transparent)]
struct Descriptor(bindings::kernel_param);

// SAFETY: Only the parameter code of the kernel uses it, under its own lock.
unsafe impl Sync for Descriptor {}

#[link_section = "__param"]
#[used(compiler)]
static DEVICES_DESCRIPTOR: Descriptor = Descriptor(bindings::kernel_param {
    #[cfg(MODULE)]
    name: as_char_ptr_in_const_context(c"devices"),
    #[cfg(not(MODULE))]
    name: as_char_ptr_in_const_context(c"rust_binder.devices"),
    #[cfg(MODULE)]
    mod_: (&raw const bindings::__this_module).cast_mut(),
    #[cfg(not(MODULE))]
    mod_: ptr::null_mut(),
    ops: &raw const bindings::param_ops_charp,
    perm: 0o444,
    level: -1,
    flags: 0,
    __bindgen_anon_1: bindings::kernel_param__bindgen_ty_1 {
        arg: DEVICES.0.get().cast(),
    },
});

/// The names that were given, or nothing if the parameter was not.
pub(crate) fn devices() -> Option<&'static CStr> {
    // SAFETY: The loader is done with it when code of the module runs.
    let given = unsafe { *DEVICES.0.get() };
    if given.is_null() {
        return None;
    }
    // SAFETY: `param_ops_charp` stores a NUL-terminated copy that lives as long as
    // the module.
    Some(unsafe { CStr::from_char_ptr(given) })
}
