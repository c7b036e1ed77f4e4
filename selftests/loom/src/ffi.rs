// SPDX-License-Identifier: GPL-2.0

//! Queues, which are the driver's, and the kernel's sleep.

#[path = "../../../ffi/link.rs"]
pub(crate) mod link;
pub mod task;
