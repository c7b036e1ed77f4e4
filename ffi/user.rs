// SPDX-License-Identifier: GPL-2.0

//! User memory named by plain addresses of the ABI.

use kernel::{
    prelude::*,
    transmute::{AsBytes, FromBytes},
    uaccess::{UserPtr, UserSlice},
};

/// An address of the ABI (always 64 bits) as a user pointer.
///
/// Fails with `EFAULT` where the machine has no such address.
pub(crate) fn user_ptr(address: u64) -> Result<UserPtr> {
    usize::try_from(address).map(UserPtr::from_addr).map_err(|_| EFAULT)
}

/// Reads one `T`.
pub(crate) fn read<T: FromBytes>(address: u64) -> Result<T> {
    UserSlice::new(user_ptr(address)?, size_of::<T>()).reader().read()
}

/// Writes one `T`.
pub(crate) fn write<T: AsBytes>(address: u64, value: &T) -> Result {
    UserSlice::new(user_ptr(address)?, size_of::<T>()).writer().write(value)
}

/// Fills `to` from `address`.
pub(crate) fn read_bytes(address: u64, to: &mut [u8]) -> Result {
    UserSlice::new(user_ptr(address)?, to.len()).reader().read_slice(to)
}

/// Writes `from` to `address`.
pub(crate) fn write_bytes(address: u64, from: &[u8]) -> Result {
    UserSlice::new(user_ptr(address)?, from.len()).writer().write_slice(from)
}
