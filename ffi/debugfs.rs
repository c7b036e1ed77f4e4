// SPDX-License-Identifier: GPL-2.0

//! State files in debugfs.

#[cfg(CONFIG_DEBUG_FS)]
mod entries {
    use core::ptr::{self, NonNull};

    use kernel::{
        bindings,
        error::from_err_ptr,
        prelude::*,
        str::{CStr, CStrExt},
    };

    use crate::{ffi::state_file, state::StateFile};

    /// A folder or a file, with all that is in it. Dropping it takes it away, and waits for
    /// who is just reading there.
    pub(crate) struct Entry(NonNull<bindings::dentry>);

    // SAFETY: The functions of debugfs take locks of their own.
    unsafe impl Send for Entry {}
    // SAFETY: As above.
    unsafe impl Sync for Entry {}

    impl Entry {
        /// A folder at the top, unless there is something of that name, or no debugfs.
        pub(crate) fn top_folder(name: &CStr) -> Option<Self> {
            // SAFETY: The name is valid; a null parent means the top.
            let taken = unsafe { bindings::debugfs_lookup(name.as_char_ptr(), ptr::null_mut()) };
            if !taken.is_null() {
                // SAFETY: The lookup gave us a reference.
                unsafe { bindings::dput(taken) };
                return None;
            }
            Self::new_folder(name, ptr::null_mut())
        }

        /// A folder in this one.
        pub(crate) fn folder(&self, name: &CStr) -> Option<Self> {
            Self::new_folder(name, self.0.as_ptr())
        }

        fn new_folder(name: &CStr, parent: *mut bindings::dentry) -> Option<Self> {
            // SAFETY: The name is valid, and the parent is null or one of ours.
            let made = unsafe { bindings::debugfs_create_dir(name.as_char_ptr(), parent) };
            Self::of(made)
        }

        /// A file in this folder, which everybody may read who gets there.
        pub(crate) fn file(&self, name: &CStr, file: StateFile) -> Option<Self> {
            // SAFETY: The name is valid and the parent ours; the key is what the operations
            // expect, and they live as long as the module, which outlives the entry.
            let made = unsafe {
                bindings::debugfs_create_file_full(
                    name.as_char_ptr(),
                    0o444,
                    self.0.as_ptr(),
                    state_file::key(file) as *mut c_void,
                    ptr::null(),
                    state_file::operations(),
                )
            };
            Self::of(made)
        }

        fn of(made: *mut bindings::dentry) -> Option<Self> {
            NonNull::new(from_err_ptr(made).ok()?).map(Self)
        }

        /// Leaves the entry to the folder it is in.
        pub(crate) fn leave_to_parent(self) {
            core::mem::forget(self);
        }
    }

    impl Drop for Entry {
        fn drop(&mut self) {
            // SAFETY: The entry is ours, and nobody else removes it: its folder goes later.
            unsafe { bindings::debugfs_remove(self.0.as_ptr()) };
        }
    }
}

#[cfg(not(CONFIG_DEBUG_FS))]
mod entries {
    use kernel::str::CStr;

    use crate::state::StateFile;

    /// Nothing: the kernel has no debugfs.
    pub(crate) enum Entry {}

    impl Entry {
        pub(crate) fn top_folder(_name: &CStr) -> Option<Self> {
            None
        }

        pub(crate) fn folder(&self, _name: &CStr) -> Option<Self> {
            None
        }

        pub(crate) fn file(&self, _name: &CStr, _file: StateFile) -> Option<Self> {
            None
        }

        pub(crate) fn leave_to_parent(self) {}
    }
}

pub(crate) use self::entries::Entry;
