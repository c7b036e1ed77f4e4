// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-ioctl`.

pub mod access;
pub mod arguments;
pub mod compat;
pub mod extended;
pub mod manager;
