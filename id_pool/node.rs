// SPDX-License-Identifier: GPL-2.0

//! One node of an id pool's tree: two bits for each of its children.

/// Children of a node, ids of a word.
pub(super) const FAN: u32 = 64;

/// What is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Seek {
    /// Free ids.
    Free,
    /// Used ids.
    Used,
}

/// Summary of a word or of a node: its bits in the node above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    /// No id is free.
    full: bool,
    /// At least one id is used.
    used: bool,
}

impl Summary {
    /// Of something that has ids, all of them free.
    pub(super) const FREE: Self = Self {
        full: false,
        used: false,
    };
    /// Of something that has no ids.
    pub(super) const VOID: Self = Self {
        full: true,
        used: false,
    };

    /// Of a word of the bitmap.
    #[inline]
    pub(super) fn of_word(word: u64) -> Self {
        Self {
            full: word == u64::MAX,
            used: word != 0,
        }
    }
}

/// A node. What has no ids counts as full and not used, so that no search ends there.
#[derive(Clone, Copy)]
pub(super) struct Node {
    full: u64,
    used: u64,
}

impl Node {
    /// A node without children.
    pub(super) const VOID: Self = Self {
        full: u64::MAX,
        used: 0,
    };

    #[inline]
    pub(super) fn summary(self) -> Summary {
        Summary {
            full: self.full == u64::MAX,
            used: self.used != 0,
        }
    }

    /// Enters the summary of a child. Returns this node's summary if that changed.
    #[inline]
    pub(super) fn enter(&mut self, child: u32, summary: Summary) -> Option<Summary> {
        let before = self.summary();
        let (place, bit) = (child % FAN, 1 << (child % FAN));
        self.full = (self.full & !bit) | u64::from(summary.full) << place;
        self.used = (self.used & !bit) | u64::from(summary.used) << place;
        let after = self.summary();
        (after != before).then_some(after)
    }

    /// The first child in which the search succeeds.
    #[inline]
    pub(super) fn first(self, seek: Seek) -> Option<u32> {
        lowest(self.candidates(seek))
    }

    /// The first child after `child` in which the search succeeds.
    #[inline]
    pub(super) fn first_after(self, child: u32, seek: Seek) -> Option<u32> {
        lowest(self.candidates(seek) & ((u64::MAX - 1) << (child % FAN)))
    }

    /// What was entered for a child.
    #[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
    pub(super) fn of_child(self, child: u32) -> Summary {
        let bit = 1 << (child % FAN);
        Summary {
            full: self.full & bit != 0,
            used: self.used & bit != 0,
        }
    }

    /// The last child with a used id.
    #[inline]
    pub(super) fn last_used(self) -> Option<u32> {
        self.used.checked_ilog2()
    }

    #[inline]
    fn candidates(self, seek: Seek) -> u64 {
        in_word(self.full, self.used, seek)
    }
}

#[inline]
fn in_word(full: u64, used: u64, seek: Seek) -> u64 {
    match seek {
        Seek::Free => !full,
        Seek::Used => used,
    }
}

/// The first id of a word, counted from `from`, for which the search succeeds.
#[inline]
pub(super) fn first_in_word(word: u64, from: u32, seek: Seek) -> Option<u32> {
    lowest(in_word(word, word, seek) & (u64::MAX << (from % FAN)))
}

#[inline]
fn lowest(word: u64) -> Option<u32> {
    (word != 0).then(|| word.trailing_zeros())
}
