// SPDX-License-Identifier: GPL-2.0

//! Misc devices in `/dev`.

use core::ffi::c_void;

use kernel::{
    bindings,
    error::to_result,
    prelude::*,
    str::{CStr, CString},
    sync::{Arc, ArcBorrow},
    types::Opaque,
};

use crate::{context::Context, ffi::file_ops};

/// A device in `/dev` through which one context is reached.
///
/// Dropping it takes the device away. Files that are open keep their context;
/// they also pin the module, so this happens only when none is open.
#[pin_data(PinnedDrop)]
pub(crate) struct DeviceNode {
    #[pin]
    misc: Opaque<bindings::miscdevice>,
    name: CString,
    context: Arc<Context>,
}

// SAFETY: `misc` is touched by the misc core only, under its lock.
unsafe impl Send for DeviceNode {}
// SAFETY: As above.
unsafe impl Sync for DeviceNode {}

impl DeviceNode {
    /// Registers `/dev/NAME` with a context of its own.
    ///
    /// Fails with `EEXIST` when a device of that name is there, e.g. one of the C
    /// driver.
    pub(crate) fn register(name: &CStr) -> Result<Pin<KBox<Self>>> {
        let context = Context::new(name)?;
        let name = name.to_cstring()?;
        let node = KBox::pin_init(
            pin_init!(Self {
                misc: Opaque::zeroed(),
                name,
                context,
            }),
            GFP_KERNEL,
        )?;
        let misc = node.misc.get();
        // SAFETY: Nobody else knows the fields yet. `name` and the operations live
        // longer than the registration, which ends in `drop`.
        let registered = unsafe {
            (*misc).minor = bindings::MISC_DYNAMIC_MINOR as c_int;
            (*misc).name = node.name.as_char_ptr();
            (*misc).fops = file_ops::operations();
            (*misc).mode = 0;
            to_result(bindings::misc_register(misc))
        };
        if let Err(error) = registered {
            // Forget the registration that did not happen: `drop` must not undo it.
            // SAFETY: As above.
            unsafe { (*misc).fops = core::ptr::null() };
            return Err(error);
        }
        Ok(node)
    }

    /// The context of the device that the misc core stored in a file being opened.
    ///
    /// # Safety
    ///
    /// `private` is the address of the `miscdevice` in a registered `DeviceNode`,
    /// which stays registered for `'a`.
    pub(super) unsafe fn context<'a>(private: *mut c_void) -> ArcBorrow<'a, Context> {
        let misc: *const Opaque<bindings::miscdevice> = Opaque::cast_from(private.cast());
        // SAFETY: By the caller's promise `misc` is the field of a live object.
        let node = unsafe { &*kernel::container_of!(misc, DeviceNode, misc) };
        node.context.as_arc_borrow()
    }
}

#[pinned_drop]
impl PinnedDrop for DeviceNode {
    fn drop(self: Pin<&mut Self>) {
        let misc = self.misc.get();
        // SAFETY: A set `fops` says that the device is registered.
        unsafe {
            if !(*misc).fops.is_null() {
                bindings::misc_deregister(misc);
            }
        }
    }
}
