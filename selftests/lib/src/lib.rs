// SPDX-License-Identifier: GPL-2.0
//! A safe library over the ioctls of a Binder device.
//!
//! From the bottom to the top:
//!
//! * [`uapi`]: numbers and structures;
//! * [`device`]: an open device, its mapping and each ioctl;
//! * [`commands`], [`returns`], [`parcel`], [`object`]: what goes in and comes out;
//! * [`session`]: one `BINDER_WRITE_READ` at a time, under full control;
//! * [`thread`], [`party`], [`handler`]: calls, serving, thread pools;
//! * [`names`]: the service manager's protocol;
//! * [`state`]: what a driver shows of itself, parsed;
//! * [`ktap`], [`peer`], [`manager`], [`guard`]: for tests.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod buffer;
pub mod commands;
pub mod compat;
pub mod device;
pub mod error;
pub mod guard;
pub mod handler;
pub mod ktap;
pub mod limits;
pub mod manager;
pub mod names;
pub mod nodes;
pub mod object;
pub mod parcel;
pub mod party;
pub mod peer;
pub mod reader;
pub mod returns;
pub mod session;
pub mod state;
mod sys;
pub mod thread;
pub mod uapi;

pub use nix::errno::Errno;
pub use sys::{gettid, wait_for_signal, Region};
