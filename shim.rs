// SPDX-License-Identifier: GPL-2.0

//! The little that the pure files need from the kernel.
//!
//! A pure file imports `core`, other pure files and this module, nothing else. The
//! host test crate has a module of the same name and the same contents, so that one
//! and the same file is tested there and runs here.

use core::ops::{Deref, DerefMut};
use kernel::{
    alloc::{flags::GFP_KERNEL, KBox},
    init::InPlaceInit, //
};

pub(crate) use kernel::alloc::AllocError;

/// A heap-allocated array of fixed length.
///
/// Semantics: exactly `N` elements, for ever. A `Chunk` is one allocation of
/// `N * size_of::<T>()` bytes; an `Option<Chunk>` is one pointer.
///
/// Locking: none; [`Chunk::new`] may sleep.
///
/// Lifetime: elements and memory go with the chunk. Freeing does not sleep.
pub(crate) struct Chunk<T, const N: usize>(KBox<[T; N]>);

impl<T, const N: usize> Chunk<T, N> {
    /// Allocates a chunk, element `i` being `make(i)`. May sleep.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if there is no memory; what `make` made is dropped.
    pub(crate) fn new(mut make: impl FnMut(usize) -> T) -> Result<Self, AllocError> {
        // Built in place: an array of a page does not belong on the stack.
        let array = pin_init::init_array_from_fn(|i| Ok::<T, AllocError>(make(i)));
        Ok(Self(KBox::try_init(array, GFP_KERNEL)?))
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
