// SPDX-License-Identifier: GPL-2.0

//! Boxes and vectors.

use core::ops::{Deref, DerefMut};

/// A box.
pub type KBox<T> = Box<T>;

/// A vector that grows only where the kernel's may.
#[derive(Debug)]
pub struct KVec<T>(Vec<T>);

impl<T> KVec<T> {
    /// An empty vector without room.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty vector with room for so many.
    pub fn with_room(room: usize) -> Self {
        Self(Vec::with_capacity(room))
    }

    /// For how many there is room.
    pub fn capacity(&self) -> usize {
        self.0.capacity()
    }

    /// Appends a value if there is room for it, else gives it back.
    ///
    /// # Errors
    ///
    /// The value.
    pub fn push_within_capacity(&mut self, value: T) -> Result<(), T> {
        if self.0.len() == self.0.capacity() {
            return Err(value);
        }
        self.0.push(value);
        Ok(())
    }

    /// Takes the last value.
    pub fn pop(&mut self) -> Option<T> {
        self.0.pop()
    }

    /// Takes all values.
    pub fn drain_all(&mut self) -> impl Iterator<Item = T> + '_ {
        self.0.drain(..)
    }
}

impl<T> Deref for KVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for KVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}
