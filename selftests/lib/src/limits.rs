// SPDX-License-Identifier: GPL-2.0
//! How long tests wait. Nothing waits for ever.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Default time for one test case: emulated machines are slow.
pub const DEFAULT_CASE: Duration = Duration::from_secs(10);

static CASE_MS: AtomicU64 = AtomicU64::new(DEFAULT_CASE.as_millis() as u64);

/// Sets the time for one test case, on which [`wait`] depends.
pub fn set_case(time: Duration) {
    CASE_MS.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// The time for one test case, after which it is killed.
pub fn case() -> Duration {
    Duration::from_millis(CASE_MS.load(Ordering::Relaxed))
}

/// How long to wait for something that must come: half of the case's time, so
/// that the case can still say what it missed.
pub fn wait() -> Duration {
    case() / 2
}

/// How long to wait for something that must *not* come.
///
/// Such a wait proves little on a slow machine; prefer an event that is known
/// to come after the unwanted one.
pub fn quiet() -> Duration {
    Duration::from_millis(150)
}
