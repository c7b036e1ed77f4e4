// SPDX-License-Identifier: GPL-2.0
//! Why a case did not pass, and the macros that say so.

use std::fmt::Debug;
use std::panic::Location;

use serde::{Deserialize, Serialize};

/// The end of a case that did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// It could not be tried.
    Skip(String),
    /// It was tried and the driver did something else.
    Fail {
        /// What was looked at.
        what: String,
        /// What it should have been.
        expected: String,
        /// What it was.
        seen: String,
        /// File and line of the check.
        place: String,
    },
}

impl Failure {
    /// A failure with the caller's place.
    #[track_caller]
    pub fn new(
        what: impl Into<String>,
        expected: impl Into<String>,
        seen: impl Into<String>,
    ) -> Self {
        let location = Location::caller();
        let place = format!("{}:{}", location.file(), location.line());
        Failure::Fail { what: what.into(), expected: expected.into(), seen: seen.into(), place }
    }

    /// A skip with its reason.
    pub fn skip(reason: impl Into<String>) -> Self {
        Failure::Skip(reason.into())
    }
}

/// Any error that is passed on with `?` is a failure at that place.
impl<E: std::error::Error> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        Failure::new("an operation", "success", error.to_string())
    }
}

/// The body of [`check_eq!`](crate::check_eq).
#[track_caller]
pub fn equal<S: Debug + PartialEq<E>, E: Debug>(
    what: impl Into<String>,
    seen: S,
    expected: E,
) -> Result<(), Failure> {
    if seen == expected {
        Ok(())
    } else {
        Err(Failure::new(what, format!("{expected:?}"), format!("{seen:?}")))
    }
}

/// Checks that the first value equals the second; an optional text, with
/// arguments like `format!`, says what is compared.
///
/// ```ignore
/// check_eq!(device.version()?, 8);
/// check_eq!(count, 3, "replies of client {n}");
/// ```
#[macro_export]
macro_rules! check_eq {
    ($seen:expr, $expected:expr $(,)?) => {
        $crate::ktap::equal(stringify!($seen), $seen, $expected)?
    };
    ($seen:expr, $expected:expr, $($what:tt)+) => {
        $crate::ktap::equal(format!($($what)+), $seen, $expected)?
    };
}

/// Checks a condition; an optional text says what was expected.
#[macro_export]
macro_rules! check {
    ($condition:expr $(,)?) => {
        $crate::check!($condition, "{}", stringify!($condition))
    };
    ($condition:expr, $($what:tt)+) => {
        if !$condition {
            let what = stringify!($condition);
            return Err($crate::ktap::Failure::new(what, format!($($what)+), "it is not so"));
        }
    };
}

/// Checks that a value matches a pattern, which may have an `if` guard.
#[macro_export]
macro_rules! check_matches {
    ($seen:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        match $seen {
            $pattern $(if $guard)? => {}
            ref other => {
                let expected = stringify!($pattern $(if $guard)?);
                let seen = format!("{other:?}");
                return Err($crate::ktap::Failure::new(stringify!($seen), expected, seen));
            }
        }
    };
}

/// Ends the case as failed, with a text.
#[macro_export]
macro_rules! fail {
    ($($what:tt)+) => {
        return Err($crate::ktap::Failure::new(format!($($what)+), "this not to happen", "it happened"))
    };
}

/// Ends the case as skipped, with the reason.
#[macro_export]
macro_rules! skip {
    ($($reason:tt)+) => {
        return Err($crate::ktap::Failure::skip(format!($($reason)+)))
    };
}
