// SPDX-License-Identifier: GPL-2.0

//! What the tests of the pure files need to run as KUnit suites.
//!
//! The host's test crate has a module of the same name with the same contents and more, so
//! one and the same test runs there and here. A suite is an inline module with
//! `kunit_tests`, whose `assert!` and `assert_eq!` take no message; what is asserted
//! outside of a test function, and `unwrap`, stop the kernel with the usual message.

use core::ops::{Deref, DerefMut};
use kernel::{
    alloc::flags::GFP_KERNEL,
    prelude::*,
    sync::Arc, //
};

pub(crate) use kernel::sync::Arc as Shared;

/// Shares an object.
pub(crate) fn share<T>(object: T) -> Shared<T> {
    Arc::new(object, GFP_KERNEL).expect("memory for a test")
}

/// Drops a pointer and says whether it was the only one.
pub(crate) fn is_last<T>(shared: Shared<T>) -> bool {
    Arc::into_unique_or_drop(shared).is_some()
}

/// Steps of a long test: fewer than on the host, since the debug kernel is slow.
pub(crate) fn steps(native: usize) -> usize {
    (native / 50).max(50)
}

/// As much of the usual vector as the tests use.
pub(crate) struct Vec<T>(KVec<T>);

impl<T> Vec<T> {
    pub(crate) fn new() -> Self {
        Self(KVec::new())
    }

    pub(crate) fn push(&mut self, value: T) {
        self.0.push(value, GFP_KERNEL).expect("memory for a test");
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    pub(crate) fn retain(&mut self, wanted: impl FnMut(&mut T) -> bool) {
        self.0.retain(wanted);
    }

    pub(crate) fn extend(&mut self, values: impl IntoIterator<Item = T>) {
        for value in values {
            self.push(value);
        }
    }
}

impl<T> FromIterator<T> for Vec<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut all = Self::new();
        all.extend(values);
        all
    }
}

impl<T> IntoIterator for Vec<T> {
    type Item = T;
    type IntoIter = <KVec<T> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<T> Deref for Vec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for Vec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T: Clone> Clone for Vec<T> {
    fn clone(&self) -> Self {
        self.iter().cloned().collect()
    }
}

impl<T> AsRef<[T]> for Vec<T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: PartialEq, Other: AsRef<[T]>> PartialEq<Other> for Vec<T> {
    fn eq(&self, other: &Other) -> bool {
        **self == *other.as_ref()
    }
}
