// SPDX-License-Identifier: GPL-2.0

//! The limit on messages that user space can trigger.
//!
//! The kernel's own `ratelimit_state` holds a raw spinlock that cannot be
//! initialised from Rust in all configurations, and needs less than it can do here.

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use kernel::time::msecs_to_jiffies;

use super::time::now;

/// The time in which [`BURST`] messages may be printed, in milliseconds.
const INTERVAL: u32 = 5000;
/// How many messages may be printed in [`INTERVAL`].
const BURST: u32 = 10;

static WINDOW_START: AtomicUsize = AtomicUsize::new(0);
static PRINTED: AtomicU32 = AtomicU32::new(0);

/// Whether one more message may be printed now.
///
/// Two CPUs at the border of two intervals may let a few more through; that does no
/// harm.
pub(crate) fn may_print() -> bool {
    let now = now();
    let start = WINDOW_START.load(Relaxed);
    if now.wrapping_sub(start) > msecs_to_jiffies(INTERVAL) {
        WINDOW_START.store(now, Relaxed);
        PRINTED.store(0, Relaxed);
    }
    PRINTED
        .fetch_update(
            Relaxed,
            Relaxed,
            |n| if n < BURST { Some(n + 1) } else { None },
        )
        .is_ok()
}
