// SPDX-License-Identifier: GPL-2.0

//! The driver's pure files, compiled for the host.
//!
//! The files below `../../..` are those of the kernel module, not copies: they use
//! nothing but `core` and `crate::shim`, which this crate provides as the module does.
//! `cargo test` runs the unit tests in the files and the model tests in `tests/`;
//! `cargo +nightly miri test` runs them under Miri.

#![no_std]
// Each file is here for itself: what only the driver's other files call is not dead.
#![allow(dead_code)]

extern crate alloc;
extern crate std;

pub mod shim;
#[cfg(test)]
mod testing;

/// The driver's files, at the place where they are in the module.
#[path = "../../.."]
mod driver {
    pub(crate) mod chunked;
    pub(crate) mod grow;
    pub(crate) mod id_pool;
    pub(crate) mod range_alloc;
    pub(crate) mod slot_table;
}

#[allow(unused_imports)]
pub(crate) use driver::{chunked, grow, id_pool, range_alloc, slot_table};
