// SPDX-License-Identifier: GPL-2.0

//! User memory named by plain addresses of the ABI.
//!
//! Sizes here are bounded by the types and windows that they are taken from, so the
//! copies go straight to the primitives: the run-time check of the kernel's buffer that
//! the general helpers make costs more than the copy of a few words.

use core::mem::{size_of, MaybeUninit};

use kernel::{
    bindings,
    prelude::*,
    transmute::{AsBytes, FromBytes},
    uaccess::UserPtr,
};

/// An address of the ABI (always 64 bits) as a user pointer.
///
/// Fails with `EFAULT` where the machine has no such address.
pub(crate) fn user_ptr(address: u64) -> Result<UserPtr> {
    usize::try_from(address)
        .map(UserPtr::from_addr)
        .map_err(|_| EFAULT)
}

/// Copies `len` bytes from user space to `to`. Fails with `EFAULT`.
///
/// # Safety
///
/// `to` is valid for writes of `len` bytes.
pub(crate) unsafe fn copy_in(to: *mut u8, address: u64, len: usize) -> Result {
    let from = user_ptr(address)?.as_const_ptr();
    // SAFETY: `to` is valid by the caller's promise; the function checks `from`.
    match unsafe { bindings::_copy_from_user(to.cast(), from, len) } {
        0 => Ok(()),
        _ => Err(EFAULT),
    }
}

/// Reads one `T`.
pub(crate) fn read<T: FromBytes>(address: u64) -> Result<T> {
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: `value` has room for a `T`.
    unsafe { copy_in(value.as_mut_ptr().cast(), address, size_of::<T>())? };
    // SAFETY: All bytes were written, and any bytes are a `T`.
    Ok(unsafe { value.assume_init() })
}

/// Writes one `T`.
pub(crate) fn write<T: AsBytes>(address: u64, value: &T) -> Result {
    write_bytes(address, value.as_bytes())
}

/// Fills `to` from `address`.
pub(crate) fn read_bytes(address: u64, to: &mut [u8]) -> Result {
    // SAFETY: The slice is valid for its length.
    unsafe { copy_in(to.as_mut_ptr(), address, to.len()) }
}

/// Writes `from` to `address`.
pub(crate) fn write_bytes(address: u64, from: &[u8]) -> Result {
    let to = user_ptr(address)?.as_mut_ptr();
    // SAFETY: The slice is valid for its length; the function checks `to`.
    match unsafe { bindings::_copy_to_user(to, from.as_ptr().cast(), from.len()) } {
        0 => Ok(()),
        _ => Err(EFAULT),
    }
}

/// A small buffer between user space and the driver, not initialised in advance.
///
/// # Invariants
///
/// The first `len` bytes are initialised, and `len <= N`.
pub(crate) struct Window<const N: usize> {
    bytes: [MaybeUninit<u8>; N],
    len: usize,
}

impl<const N: usize> Window<N> {
    /// An empty window.
    pub(crate) fn new() -> Self {
        // INVARIANT: No byte is claimed to be initialised.
        Self {
            bytes: [MaybeUninit::uninit(); N],
            len: 0,
        }
    }

    /// Bytes in the window.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// What is in the window.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: By the invariants.
        unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len) }
    }

    /// Replaces the contents by `len` bytes of user space. Fails with `EFAULT`, and is
    /// empty then.
    pub(crate) fn fill(&mut self, address: u64, len: usize) -> Result {
        self.len = 0;
        if len > N {
            return Err(EFAULT);
        }
        // SAFETY: There is room for `N` bytes.
        unsafe { copy_in(self.bytes.as_mut_ptr().cast(), address, len)? };
        // INVARIANT: They were just written.
        self.len = len;
        Ok(())
    }

    /// Appends a value. Says whether there was room.
    #[inline]
    pub(crate) fn append<T: AsBytes>(&mut self, value: &T) -> bool {
        let end = self.len.wrapping_add(size_of::<T>());
        if end > N {
            return false;
        }
        // SAFETY: `len..end` is inside the window, and `T` has no uninitialised bytes.
        unsafe {
            core::ptr::copy_nonoverlapping(
                core::ptr::from_ref(value).cast(),
                self.bytes.as_mut_ptr().cast::<u8>().add(self.len),
                size_of::<T>(),
            );
        }
        // INVARIANT: The bytes were just written.
        self.len = end;
        true
    }

    /// Empties the window.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }
}
