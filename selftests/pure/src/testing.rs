// SPDX-License-Identifier: GPL-2.0

//! What the tests of the pure files share. The driver has a module of the same name, with
//! what KUnit suites need of it.

use alloc::sync::Arc;

pub(crate) use alloc::{sync::Arc as Shared, vec::Vec};

/// Shares an object.
pub(crate) fn share<T>(object: T) -> Shared<T> {
    Arc::new(object)
}

/// Drops a pointer and says whether it was the only one.
pub(crate) fn is_last<T>(shared: Shared<T>) -> bool {
    Arc::into_inner(shared).is_some()
}

/// A small pseudo-random generator, so that every failure can be repeated.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

/// Steps of a model test: fewer under Miri, which is slow.
pub(crate) fn steps(native: usize) -> usize {
    if cfg!(miri) {
        (native / 500).max(50)
    } else {
        native
    }
}
