// SPDX-License-Identifier: GPL-2.0

//! As much of the kernel crate as the files under test use, made for loom.
//!
//! Locks are loom's, so each interleaving of their holders is tried. Memory is the
//! host's: what it does is not the subject.

pub mod alloc;
pub mod rbtree;
pub mod sync;

/// An error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub i32);

/// The kernel's result.
pub type Result<T = (), E = Error> = core::result::Result<T, E>;

/// What the kernel's prelude has.
pub mod prelude {
    pub use crate::{
        alloc::{KBox, KVec},
        Result,
    };

    /// Interrupted by a signal.
    pub const EINTR: crate::Error = crate::Error(4);
}
