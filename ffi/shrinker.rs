// SPDX-License-Identifier: GPL-2.0

//! Being asked for memory when the system has little.

use core::ptr::NonNull;

use kernel::{bindings, prelude::*};

use crate::reclaim;

/// How much it costs to make again what was given back, as the kernel's `DEFAULT_SEEKS`.
const SEEKS: c_int = 2;

/// The driver's entry among those who can give memory back. Dropping it removes the entry and
/// waits until nobody is asking any more.
///
/// # Invariants
///
/// Points to a registered shrinker that nobody else frees.
pub(crate) struct Shrinker(NonNull<bindings::shrinker>);

// SAFETY: A shrinker may be freed by any task.
unsafe impl Send for Shrinker {}
// SAFETY: A shared reference gives access to nothing.
unsafe impl Sync for Shrinker {}

impl Shrinker {
    /// Registers the driver. Fails with `ENOMEM`.
    pub(crate) fn register() -> Result<Self> {
        // SAFETY: The name is a string that takes no arguments.
        let shrinker = unsafe { bindings::shrinker_alloc(0, c"rust-binder".as_char_ptr()) };
        let shrinker = NonNull::new(shrinker).ok_or(ENOMEM)?;
        // SAFETY: It was just allocated, and is not known to anybody before it is registered.
        unsafe {
            let fields = shrinker.as_ptr();
            (*fields).count_objects = Some(count);
            (*fields).scan_objects = Some(scan);
            (*fields).seeks = SEEKS;
            bindings::shrinker_register(fields);
        }
        // INVARIANT: It is registered.
        Ok(Self(shrinker))
    }
}

impl Drop for Shrinker {
    fn drop(&mut self) {
        // SAFETY: By the invariants it is ours to free.
        unsafe { bindings::shrinker_free(self.0.as_ptr()) };
    }
}

extern "C" fn count(
    _shrinker: *mut bindings::shrinker,
    _request: *mut bindings::shrink_control,
) -> c_ulong {
    reclaim::count()
}

extern "C" fn scan(
    _shrinker: *mut bindings::shrinker,
    request: *mut bindings::shrink_control,
) -> c_ulong {
    // SAFETY: The kernel passes what it asks for, and nobody else has it.
    let wanted = unsafe { (*request).nr_to_scan };
    reclaim::scan(wanted)
}
