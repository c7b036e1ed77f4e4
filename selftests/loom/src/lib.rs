// SPDX-License-Identifier: GPL-2.0

//! Sleeping and waking, checked in every order in which threads can meet.
//!
//! The files that decide who sleeps, who is ready and who is woken are the driver's own:
//! `thread/wait.rs`, `thread/queue.rs`, `process/scheduler.rs` and what they stand on. What
//! they call is here: [`ffi::task`] has the kernel's sleep, a task state that the sleeper
//! sets before it looks and that the waker looks at after it has published; [`thread`] and
//! [`process`] have the few lines of their namesakes that the protocol consists of besides.
//!
//! loom runs a test for each interleaving; a thread that sleeps for ever is a deadlock,
//! which it reports. `cargo test --release` in this folder.

// Each file is here for the protocol alone.
#![allow(dead_code)]

pub mod ffi;
pub mod node;
pub mod process;
pub mod thread;
pub mod work;
