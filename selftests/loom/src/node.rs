// SPDX-License-Identifier: GPL-2.0

//! Nodes are not the subject.

use std::sync::Arc;

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) ptr: u64,
}

impl Node {
    fn is(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other)
    }
}

/// Who watches, and what was told of freezes.
pub(crate) mod freeze {
    /// No freeze is told.
    #[derive(Debug)]
    pub(crate) struct ToldFreezes;

    impl ToldFreezes {
        pub(crate) fn new() -> Self {
            Self
        }
    }

    /// Nobody watches.
    #[derive(Debug)]
    pub(crate) struct Watchers;

    impl Watchers {
        pub(crate) fn new() -> Self {
            Self
        }
    }
}

/// What was told of deaths.
pub(crate) mod death {
    /// No death is told.
    #[derive(Debug)]
    pub(crate) struct ToldDeaths;

    impl ToldDeaths {
        pub(crate) fn new() -> Self {
            Self
        }
    }
}
