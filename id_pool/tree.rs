// SPDX-License-Identifier: GPL-2.0

//! The bitmap of an id pool with its summaries.
//!
//! The bitmap consists of words of 64 ids. A node of the first level sums up 64 words, a
//! node of the next level sums up 64 nodes of the level below. Capacity is added in blocks
//! of 64 words, each with its node of the first level.

use crate::{
    chunked::{ChunkRequest, Chunked, Storage},
    shim::AllocError,
};

/// Children of a node; words of a block.
const FAN: u32 = 64;
/// Levels above the bitmap: 64^5 ids are the largest capacity.
const LEVELS: usize = 4;
/// Blocks at most.
const MAX_BLOCKS: u32 = super::MAX_IDS / super::STEP;
/// Nodes in one allocation: 128 bytes.
const NODES: usize = 8;

/// Summary of 64 children.
#[derive(Clone, Copy)]
struct Node {
    /// Children without a free id. Children that do not exist count as full.
    full: u64,
    /// Children with a used id.
    used: u64,
}

impl Node {
    const VOID: Self = Self {
        full: u64::MAX,
        used: 0,
    };

    /// Whether the node is full, and whether it is used: its bits in its parent.
    #[inline]
    fn summary(self) -> (bool, bool) {
        (self.full == u64::MAX, self.used != 0)
    }
}

/// The bitmap with its summaries.
///
/// # Invariants
///
/// * The bitmap has `blocks` blocks, and each level has the nodes that sum them up.
/// * The two bits of a node for a child are what the child is. Children and nodes that
///   sum up nothing are [`Node::VOID`].
pub(super) struct Tree {
    blocks: u32,
    words: Chunked<u64, { FAN as usize }>,
    levels: [Chunked<Node, NODES>; LEVELS],
}

/// Request for one more block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    words: ChunkRequest<{ FAN as usize }>,
    levels: [Option<ChunkRequest<NODES>>; LEVELS],
}

/// Memory for 4096 ids of a pool.
pub(crate) struct Block {
    words: Storage<u64, { FAN as usize }>,
    levels: [Option<Storage<Node, NODES>>; LEVELS],
}

impl Request {
    /// Allocates the block. May sleep.
    pub(super) fn allocate(self) -> Result<Block, AllocError> {
        let mut block = Block {
            words: self.words.allocate(|_| 0)?,
            levels: [const { None }; LEVELS],
        };
        for (level, request) in block.levels.iter_mut().zip(self.levels) {
            *level = request.map(|r| r.allocate(|_| Node::VOID)).transpose()?;
        }
        Ok(block)
    }
}

/// What a search looks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seek {
    Free,
    Used,
}

impl Tree {
    pub(super) const fn new() -> Self {
        Self {
            blocks: 0,
            words: Chunked::new(),
            levels: [const { Chunked::new() }; LEVELS],
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.blocks == 0
    }

    /// Number of ids.
    #[inline]
    pub(super) fn capacity(&self) -> u32 {
        self.blocks * super::STEP
    }

    /// Bytes allocated.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes() + self.levels.iter().map(Chunked::bytes).sum::<usize>()
    }

    /// A word of the bitmap, 0 if out of range.
    #[inline]
    pub(super) fn word(&self, at: u32) -> u64 {
        self.words.get(at as usize).copied().unwrap_or(0)
    }

    /// Sets a word of the bitmap and what sums it up.
    #[inline]
    pub(super) fn set_word(&mut self, at: u32, value: u64) {
        if let Some(word) = self.words.get_mut(at as usize) {
            *word = value;
            self.climb(0, at, (value == u64::MAX, value != 0));
        }
    }

    /// Enters the summary of a `child` into `level` and, if that changes the summary of the
    /// node, into the levels above.
    #[inline]
    fn climb(&mut self, level: usize, mut child: u32, (mut full, mut used): (bool, bool)) {
        for level in self.levels.iter_mut().skip(level) {
            let bit = 1 << (child % FAN);
            child /= FAN;
            let Some(node) = level.get_mut(child as usize) else {
                return;
            };
            let before = node.summary();
            node.full = with_bit(node.full, bit, full);
            node.used = with_bit(node.used, bit, used);
            if node.summary() == before {
                return;
            }
            (full, used) = node.summary();
        }
    }

    /// Marks an id, which is in range, as used.
    #[inline]
    pub(super) fn set(&mut self, id: u32) {
        let word = self.word(id / FAN);
        self.set_word(id / FAN, word | 1 << (id % FAN));
    }

    /// Marks an id, which is in range, as free.
    #[inline]
    pub(super) fn clear(&mut self, id: u32) {
        let word = self.word(id / FAN);
        self.set_word(id / FAN, word & !(1 << (id % FAN)));
    }

    /// Lowest free id that is not below `from`.
    #[inline]
    pub(super) fn next_free(&self, from: u32) -> Option<u32> {
        self.next(from, Seek::Free)
    }

    /// Lowest used id that is not below `from`.
    pub(super) fn next_used(&self, from: u32) -> Option<u32> {
        self.next(from, Seek::Used)
    }

    /// Children of a node in which the search can succeed.
    #[inline]
    fn candidates(&self, level: usize, at: u32, seek: Seek) -> Option<u64> {
        let node = self.levels.get(level)?.get(at as usize)?;
        Some(match seek {
            Seek::Free => !node.full,
            Seek::Used => node.used,
        })
    }

    /// Looks into the word of `from`, then climbs until a node has a later child in which
    /// the search succeeds, then descends.
    #[inline]
    fn next(&self, from: u32, seek: Seek) -> Option<u32> {
        let mut at = from / FAN;
        let word = *self.words.get(at as usize)?;
        let bits = Self::bits_of(word, seek) & (u64::MAX << (from % FAN));
        if bits != 0 {
            return Some(at * FAN + bits.trailing_zeros());
        }
        for level in 0..LEVELS {
            let child = at % FAN;
            at /= FAN;
            let later = self.candidates(level, at, seek)? & ((u64::MAX - 1) << child);
            if later != 0 {
                return self.descend(level, at * FAN + later.trailing_zeros(), seek);
            }
        }
        None
    }

    /// The lowest id below child `at` of `level`, in which the search succeeds.
    #[inline]
    fn descend(&self, level: usize, mut at: u32, seek: Seek) -> Option<u32> {
        for level in (0..level).rev() {
            at = at * FAN + self.candidates(level, at, seek)?.trailing_zeros();
        }
        let bits = Self::bits_of(self.word(at), seek);
        (bits != 0).then(|| at * FAN + bits.trailing_zeros())
    }

    #[inline]
    fn bits_of(word: u64, seek: Seek) -> u64 {
        match seek {
            Seek::Free => !word,
            Seek::Used => word,
        }
    }

    /// Highest used id.
    #[inline]
    pub(super) fn highest(&self) -> Option<u32> {
        let mut at = 0;
        for level in (0..self.height()).rev() {
            let node = self.levels.get(level)?.get(at as usize)?;
            at = at * FAN + node.used.checked_ilog2()?;
        }
        Some(at * FAN + self.word(at).checked_ilog2()?)
    }

    /// Number of levels up to the lowest that has one node.
    #[inline]
    fn height(&self) -> usize {
        match self.blocks {
            0..=1 => 1,
            2..=0x40 => 2,
            0x41..=0x1000 => 3,
            _ => LEVELS,
        }
    }

    /// Number of nodes of a level that sum up this number of blocks.
    fn nodes(level: usize, blocks: u32) -> usize {
        (0..level).fold(blocks, |nodes, _| nodes.div_ceil(FAN)) as usize
    }

    /// What to allocate for one more block.
    pub(super) fn request(&self) -> Option<Request> {
        if self.blocks >= MAX_BLOCKS {
            return None;
        }
        let mut levels = [None; LEVELS];
        for (number, (level, request)) in self.levels.iter().zip(&mut levels).enumerate() {
            if Self::nodes(number, self.blocks + 1) > level.len() {
                *request = Some(level.request()?);
            }
        }
        let words = self.words.request()?;
        Some(Request { words, levels })
    }

    /// Adds a block; leaves it if it is not the next one.
    pub(super) fn install(&mut self, block: &mut Option<Block>) {
        let Some(Block { words, levels }) = block.take() else {
            return;
        };
        if let Err(words) = self.words.install(words) {
            *block = Some(Block { words, levels });
            return;
        }
        for (level, storage) in self.levels.iter_mut().zip(levels) {
            // Level and words change together, so what fits one fits the other.
            if let Some(storage) = storage {
                drop(level.install(storage));
            }
        }
        let new = self.blocks;
        self.blocks += 1;
        let first = self.levels.first_mut();
        if let Some(node) = first.and_then(|level| level.get_mut(new as usize)) {
            *node = Node { full: 0, used: 0 };
        }
        self.climb(1, new, (false, false));
    }

    /// Removes the last block. What it says about its ids is lost.
    pub(super) fn detach(&mut self) -> Option<Block> {
        let last = self.blocks.checked_sub(1)?;
        let words = self.words.detach()?;
        self.blocks = last;
        self.climb(1, last, Node::VOID.summary());
        let mut levels = [const { None }; LEVELS];
        for (number, (level, storage)) in self.levels.iter_mut().zip(&mut levels).enumerate() {
            if level.len() >= Self::nodes(number, last) + NODES {
                *storage = level.detach();
            }
        }
        Some(Block { words, levels })
    }
}

#[inline]
fn with_bit(word: u64, bit: u64, set: bool) -> u64 {
    if set {
        word | bit
    } else {
        word & !bit
    }
}
