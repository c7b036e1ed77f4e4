// SPDX-License-Identifier: GPL-2.0

//! Counted pointers, which are the host's, and locks, which are loom's.

pub use std::sync::Arc;

/// A spinlock. Whoever holds it cannot sleep, which the driver's own rules see to.
#[derive(Debug)]
pub struct SpinLock<T>(loom::sync::Mutex<T>);

impl<T> SpinLock<T> {
    /// A lock around `data`.
    pub fn new(data: T) -> Self {
        Self(loom::sync::Mutex::new(data))
    }

    /// Takes the lock until the guard is dropped.
    ///
    /// # Panics
    ///
    /// If another thread panicked with the lock: the model has failed already.
    pub fn lock(&self) -> loom::sync::MutexGuard<'_, T> {
        self.0.lock().expect("no holder panicked")
    }
}
