// SPDX-License-Identifier: GPL-2.0

//! The driver's pure files, compiled for the host.
//!
//! The files below `../../..` are those of the kernel module, not copies: they use
//! nothing but `core` and `crate::shim`, which this crate provides as the module does. Only
//! their tests may use more.
//! `cargo test --release` runs the unit and model tests in them, `cargo +nightly miri test
//! --lib` the same under Miri with fewer steps.

#![no_std]
// Each file is here for itself: what only the driver's other files call is not dead.
#![allow(dead_code)]

extern crate alloc;
extern crate std;

pub mod shim;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod timing;

/// The driver's files, at the place where they are in the module.
#[path = "../../.."]
mod driver {
    pub(crate) mod chunked;
    pub(crate) mod grow;
    pub(crate) mod id_pool;
    pub(crate) mod id_table;
    pub(crate) mod range_alloc;
    pub(crate) mod slot_table;

    pub(crate) mod allocation {
        pub(crate) mod layout;
    }
    pub(crate) mod ffi {
        pub(crate) mod link;
    }
    pub(crate) mod node {
        pub(crate) mod frozen_notice;
        pub(crate) mod obituary;
        pub(crate) mod refcount;
    }
    pub(crate) mod process {
        pub(crate) mod freezer;
    }
    pub(crate) mod state {
        pub(crate) mod sort;
    }
    pub(crate) mod thread {
        pub(crate) mod looper;
        pub(crate) mod queue;
    }
    pub(crate) mod transaction {
        pub(crate) mod objects {
            pub(crate) mod place;
            pub(crate) mod scatter;
        }
    }
}

#[allow(unused_imports)]
pub(crate) use driver::{chunked, ffi, grow, id_pool, range_alloc, slot_table};
