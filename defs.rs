// SPDX-License-Identifier: GPL-2.0

//! Names for the numbers of the ABI.
//!
//! The numbers come from `uapi/linux/android/binder.h` through bindgen; see
//! [`crate::ffi::abi`] for the structures.

#![allow(clippy::unnecessary_cast)]

use crate::ffi::abi;

/// Requests of `ioctl(2)`.
pub(crate) mod ioctl {
    pub(crate) use crate::ffi::abi::{
        RB_BINDER_ENABLE_ONEWAY_SPAM_DETECTION as ENABLE_ONEWAY_SPAM_DETECTION,
        RB_BINDER_FREEZE as FREEZE, RB_BINDER_GET_EXTENDED_ERROR as GET_EXTENDED_ERROR,
        RB_BINDER_GET_FROZEN_INFO as GET_FROZEN_INFO,
        RB_BINDER_GET_NODE_DEBUG_INFO as GET_NODE_DEBUG_INFO,
        RB_BINDER_SET_CONTEXT_MGR as SET_CONTEXT_MGR,
        RB_BINDER_SET_CONTEXT_MGR_EXT as SET_CONTEXT_MGR_EXT,
        RB_BINDER_SET_MAX_THREADS as SET_MAX_THREADS, RB_BINDER_THREAD_EXIT as THREAD_EXIT,
        RB_BINDER_VERSION as VERSION, RB_BINDER_WRITE_READ as WRITE_READ,
    };
}

/// Declares an open set of `u32` numbers: values outside it are carried along.
macro_rules! numbers {
    ($(#[$doc:meta])* $name:ident from $prefix:ident { $($item:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) u32);

        #[allow(missing_docs)]
        impl $name {
            $(pub(crate) const $item: Self = Self(kernel::macros::paste!(
                abi::[<$prefix $item>]
            ) as u32);)*
        }
    };
}

numbers!(
    /// A command that user space writes (`BC_`).
    Command from binder_driver_command_protocol_BC_ {
        TRANSACTION, REPLY, TRANSACTION_SG, REPLY_SG, FREE_BUFFER,
        INCREFS, ACQUIRE, RELEASE, DECREFS, INCREFS_DONE, ACQUIRE_DONE,
        REGISTER_LOOPER, ENTER_LOOPER, EXIT_LOOPER,
        REQUEST_DEATH_NOTIFICATION, CLEAR_DEATH_NOTIFICATION, DEAD_BINDER_DONE,
        REQUEST_FREEZE_NOTIFICATION, CLEAR_FREEZE_NOTIFICATION, FREEZE_NOTIFICATION_DONE,
    }
);

numbers!(
    /// A return that user space reads (`BR_`).
    Return from binder_driver_return_protocol_BR_ {
        OK, TRANSACTION, TRANSACTION_SEC_CTX, REPLY, DEAD_REPLY, FAILED_REPLY,
        TRANSACTION_COMPLETE, INCREFS, ACQUIRE, RELEASE, DECREFS, NOOP, SPAWN_LOOPER,
        ONEWAY_SPAM_SUSPECT, ERROR, DEAD_BINDER, CLEAR_DEATH_NOTIFICATION_DONE,
        FROZEN_REPLY, TRANSACTION_PENDING_FROZEN, FROZEN_BINDER,
        CLEAR_FREEZE_NOTIFICATION_DONE,
    }
);

numbers!(
    /// The type of an object in a transaction (`BINDER_TYPE_`).
    ObjectType from BINDER_TYPE_ {
        BINDER, WEAK_BINDER, HANDLE, WEAK_HANDLE, FD, FDA, PTR,
    }
);

/// Declares a set of flag bits; unknown bits are carried along.
macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($item:ident = $value:ident),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $name(pub(crate) u32);

        #[allow(missing_docs)]
        impl $name {
            $(pub(crate) const $item: Self = Self(abi::$value as u32);)*

            /// Whether all bits of `bits` are set.
            pub(crate) fn has(self, bits: Self) -> bool {
                self.0 & bits.0 == bits.0
            }
        }
    };
}

flags!(
    /// Flags of a transaction (`TF_`).
    TransactionFlags {
        ONE_WAY = transaction_flags_TF_ONE_WAY,
        ACCEPT_FDS = transaction_flags_TF_ACCEPT_FDS,
        CLEAR_BUF = transaction_flags_TF_CLEAR_BUF,
        UPDATE_TXN = transaction_flags_TF_UPDATE_TXN,
        DEFER_COMPLETE = transaction_flags_TF_DEFER_COMPLETE,
    }
);

flags!(
    /// Flags of a node, fixed when it is created (`FLAT_BINDER_FLAG_`).
    NodeFlags {
        ACCEPTS_FDS = flat_binder_object_flags_FLAT_BINDER_FLAG_ACCEPTS_FDS,
        TXN_SECURITY_CTX = flat_binder_object_flags_FLAT_BINDER_FLAG_TXN_SECURITY_CTX,
    }
);

/// The version of the protocol.
pub(crate) const PROTOCOL_VERSION: i32 = abi::BINDER_CURRENT_PROTOCOL_VERSION as i32;

/// The two ways to hold a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strength {
    /// Keeps the object alive.
    Strong,
    /// Keeps only its identity.
    Weak,
}
