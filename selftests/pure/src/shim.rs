// SPDX-License-Identifier: GPL-2.0

//! What the driver's `shim.rs` provides, made from `alloc`.
//!
//! In addition allocations can be made to fail: see [`fail_after`].

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::{Deref, DerefMut};

/// No memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocError;

std::thread_local! {
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Lets the next `count` allocations of this thread work and all later ones fail;
/// `None` lets all work.
pub fn fail_after(count: Option<usize>) {
    LEFT.set(count);
}

fn may_allocate() -> Result<(), AllocError> {
    match LEFT.get() {
        None => Ok(()),
        Some(0) => Err(AllocError),
        Some(left) => {
            LEFT.set(Some(left - 1));
            Ok(())
        }
    }
}

/// A heap-allocated array of fixed length.
pub struct Chunk<T, const N: usize>(Box<[T; N]>);

impl<T, const N: usize> Chunk<T, N> {
    /// Allocates a chunk, element `i` being `make(i)`.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if [`fail_after`] says so.
    pub fn new(make: impl FnMut(usize) -> T) -> Result<Self, AllocError> {
        may_allocate()?;
        let elements: Vec<T> = (0..N).map(make).collect();
        let array = elements.into_boxed_slice().try_into();
        Ok(Self(array.map_err(|_| AllocError)?))
    }
}

impl<T, const N: usize> Deref for Chunk<T, N> {
    type Target = [T; N];

    #[inline]
    fn deref(&self) -> &[T; N] {
        &self.0
    }
}

impl<T, const N: usize> DerefMut for Chunk<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T; N] {
        &mut self.0
    }
}
