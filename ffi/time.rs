// SPDX-License-Identifier: GPL-2.0

//! The clock of the timer tick: coarse, and almost free to read.

use kernel::{bindings, time::msecs_to_jiffies};

/// Ticks since some time before the start of the machine.
#[inline]
pub(crate) fn now() -> usize {
    // SAFETY: The counter may be read at any time.
    unsafe { (&raw const bindings::jiffies).read_volatile() }
}

/// Milliseconds since `then`, to the precision of the tick.
pub(crate) fn milliseconds_since(then: usize) -> usize {
    let per_second = msecs_to_jiffies(1000).max(1);
    now().wrapping_sub(then).saturating_mul(1000) / per_second
}
