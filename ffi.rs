// SPDX-License-Identifier: GPL-2.0

//! Everything unsafe that the driver needs and the kernel crate does not offer.
//!
//! Each file wraps one thing of the kernel behind an interface that its users
//! cannot misuse, so that the rest of the driver is safe Rust. The only other
//! place with `unsafe` is [`crate::allocation::pages`].

pub(crate) mod abi;
pub(crate) mod debugfs;
pub(crate) mod device;
pub(crate) mod file_ops;
pub(crate) mod files;
pub(crate) mod global;
pub(crate) mod link;
pub(crate) mod params;
pub(crate) mod pointer;
pub(crate) mod report;
pub(crate) mod shrinker;
pub(crate) mod state_file;
pub(crate) mod task;
pub(crate) mod time;
pub(crate) mod trace;
pub(crate) mod user;
pub(crate) mod vm_ops;
pub(crate) mod work;
