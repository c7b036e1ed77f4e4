// SPDX-License-Identifier: GPL-2.0

//! Messages for people who debug user space.
//!
//! Whatever a process can trigger is limited in rate, so that it cannot flood the
//! log.

/// Says that a process used the driver wrongly: what the running task did.
macro_rules! user_error {
    ($($args:tt)*) => {
        if $crate::ffi::report::may_print() {
            kernel::pr_info!(
                "task {}: {}\n",
                $crate::ffi::task::Current::get().tid(),
                kernel::prelude::fmt!($($args)*)
            )
        }
    };
}

pub(crate) use user_error;

/// Warns once, with a trace, of a state that the driver's own rules exclude. Not to be used
/// under a lock.
macro_rules! warn_once {
    ($message:literal) => {{
        static TOLD: ::core::sync::atomic::AtomicBool =
            ::core::sync::atomic::AtomicBool::new(false);
        if !TOLD.swap(true, ::core::sync::atomic::Ordering::Relaxed) {
            ::kernel::pr_err!("{}\n", $message);
            ::kernel::warn_on!(true);
        }
    }};
}
pub(crate) use warn_once;
