// SPDX-License-Identifier: GPL-2.0

//! The bitmap of an id pool with its summaries.
//!
//! A block is 64 words of bitmap, a group is 64 blocks, and there are at most 64 groups.
//! Each block, each group and the tree itself has a [`Node`] that sums up its children.
//! Nodes lie beside the pointers to the children, so that a step down costs one cache line.

use super::node::{first_in_word, Node, Seek, Summary, FAN};
use crate::shim::{AllocError, Chunk};

/// Number of children as an array length.
const CHILDREN: usize = FAN as usize;
/// Blocks at most.
const MAX_BLOCKS: u32 = super::MAX_IDS / super::STEP;

type Words = Chunk<u64, CHILDREN>;
type Blocks = Chunk<BlockSlot, CHILDREN>;
type Groups = Chunk<GroupSlot, CHILDREN>;

/// A block: sums up 64 words of 64 ids.
struct BlockSlot {
    node: Node,
    words: Option<Words>,
}

/// A group: sums up 64 blocks.
struct GroupSlot {
    node: Node,
    blocks: Option<Blocks>,
}

impl BlockSlot {
    const EMPTY: Self = Self {
        node: Node::VOID,
        words: None,
    };

    #[inline]
    fn word(&self, at: u32) -> Option<u64> {
        self.words.as_ref()?.get((at % FAN) as usize).copied()
    }

    /// The first word and id, as one number, for which the search succeeds.
    #[inline]
    fn first(&self, seek: Seek) -> Option<u32> {
        let word = self.node.first(seek)?;
        Some(word * FAN + first_in_word(self.word(word)?, 0, seek)?)
    }
}

impl GroupSlot {
    const EMPTY: Self = Self {
        node: Node::VOID,
        blocks: None,
    };

    #[inline]
    fn block(&self, at: u32) -> Option<&BlockSlot> {
        self.blocks.as_ref()?.get((at % FAN) as usize)
    }

    #[inline]
    fn block_mut(&mut self, at: u32) -> Option<&mut BlockSlot> {
        self.blocks.as_mut()?.get_mut((at % FAN) as usize)
    }

    /// The first block, word and id, as one number, for which the search succeeds.
    #[inline]
    fn first(&self, seek: Seek) -> Option<u32> {
        let block = self.node.first(seek)?;
        Some(block * FAN * FAN + self.block(block)?.first(seek)?)
    }
}

/// The tree.
///
/// # Invariants
///
/// * Blocks `0..blocks` have words, no others.
/// * A group has an array of blocks if and only if one of them has words.
/// * The bits of a node for a child are the summary of that child.
pub(super) struct Tree {
    blocks: u32,
    node: Node,
    /// Group 0 lies here, so that fewer than 262,144 ids need no array of groups.
    first: GroupSlot,
    others: Option<Groups>,
}

/// Request for one more block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    block: u32,
}

/// Memory for 4096 ids of a pool.
pub(crate) struct Block {
    block: u32,
    words: Words,
    blocks: Option<Blocks>,
    groups: Option<Groups>,
}

impl Request {
    /// Allocates the block. May sleep.
    pub(super) fn allocate(self) -> Result<Block, AllocError> {
        let block = self.block;
        let blocks = block % FAN == 0;
        let groups = block == FAN;
        Ok(Block {
            block,
            words: Chunk::new(|_| 0)?,
            blocks: blocks
                .then(|| Chunk::new(|_| BlockSlot::EMPTY))
                .transpose()?,
            groups: groups
                .then(|| Chunk::new(|_| GroupSlot::EMPTY))
                .transpose()?,
        })
    }
}

impl Tree {
    pub(super) const fn new() -> Self {
        Self {
            blocks: 0,
            node: Node::VOID,
            first: GroupSlot::EMPTY,
            others: None,
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
        let groups = self
            .others
            .as_ref()
            .map_or(0, |others| size_of_val(&**others));
        self.blocks as usize * size_of::<[u64; CHILDREN]>()
            + self.blocks.div_ceil(FAN) as usize * size_of::<[BlockSlot; CHILDREN]>()
            + groups
    }

    #[inline]
    fn group(&self, at: u32) -> Option<&GroupSlot> {
        if at == 0 {
            return Some(&self.first);
        }
        self.others.as_ref()?.get(at as usize)
    }

    #[inline]
    fn group_mut(&mut self, at: u32) -> Option<&mut GroupSlot> {
        if at == 0 {
            return Some(&mut self.first);
        }
        self.others.as_mut()?.get_mut(at as usize)
    }

    /// A word of the bitmap, 0 if out of range.
    #[inline]
    pub(super) fn word(&self, at: u32) -> u64 {
        let block = at / FAN;
        let group = self.group(block / FAN);
        let word = group.and_then(|group| group.block(block)?.word(at));
        word.unwrap_or(0)
    }

    /// Changes a word of the bitmap and what sums it up. Returns the word that it was.
    #[inline]
    pub(super) fn change(&mut self, at: u32, change: impl FnOnce(u64) -> u64) -> Option<u64> {
        let block = at / FAN;
        let slot = self.group_mut(block / FAN)?.block_mut(block)?;
        let word = slot.words.as_mut()?.get_mut((at % FAN) as usize)?;
        let before = *word;
        *word = change(before);
        let summary = Summary::of_word(*word);
        if summary != Summary::of_word(before) {
            if let Some(summary) = slot.node.enter(at, summary) {
                self.enter(block, summary);
            }
        }
        Some(before)
    }

    /// Enters the summary of a block into its group and, if needed, the tree.
    #[inline]
    fn enter(&mut self, block: u32, summary: Summary) {
        let group = block / FAN;
        let changed = self
            .group_mut(group)
            .map(|slot| slot.node.enter(block, summary));
        if let Some(summary) = changed.flatten() {
            self.node.enter(group, summary);
        }
    }

    /// Marks an id as used; says whether it is in range and was free.
    #[inline]
    pub(super) fn set(&mut self, id: u32) -> bool {
        let bit = 1 << (id % FAN);
        let before = self.change(id / FAN, |word| word | bit);
        before.is_some_and(|word| word & bit == 0)
    }

    /// Marks an id as free; says whether it is in range and was used.
    #[inline]
    pub(super) fn clear(&mut self, id: u32) -> bool {
        let bit = 1 << (id % FAN);
        let before = self.change(id / FAN, |word| word & !bit);
        before.is_some_and(|word| word & bit != 0)
    }

    /// The lowest id, not below `from`, for which the search succeeds.
    ///
    /// Looks at the word of `from`, at the rest of its block, of its group, and of the tree.
    #[inline]
    pub(super) fn next(&self, from: u32, seek: Seek) -> Option<u32> {
        let word = from / FAN;
        let (block, group) = (word / FAN, word / FAN / FAN);
        let group_slot = self.group(group)?;
        let block_slot = group_slot.block(block)?;
        if let Some(bit) = first_in_word(block_slot.word(word)?, from, seek) {
            return Some(word * FAN + bit);
        }
        if let Some(next) = block_slot.node.first_after(word, seek) {
            let bit = first_in_word(block_slot.word(next)?, 0, seek)?;
            return Some((block * FAN + next) * FAN + bit);
        }
        if let Some(next) = group_slot.node.first_after(block, seek) {
            let rest = group_slot.block(next)?.first(seek)?;
            return Some((group * FAN + next) * FAN * FAN + rest);
        }
        let next = self.node.first_after(group, seek)?;
        let rest = self.group(next)?.first(seek)?;
        Some(next * FAN * FAN * FAN + rest)
    }

    /// Highest used id.
    #[inline]
    pub(super) fn highest(&self) -> Option<u32> {
        let group = self.node.last_used()?;
        let group_slot = self.group(group)?;
        let block = group_slot.node.last_used()?;
        let block_slot = group_slot.block(block)?;
        let word = block_slot.node.last_used()?;
        let bit = block_slot.word(word)?.checked_ilog2()?;
        Some(((group * FAN + block) * FAN + word) * FAN + bit)
    }

    /// What to allocate for one more block.
    pub(super) fn request(&self) -> Option<Request> {
        let block = self.blocks;
        (block < MAX_BLOCKS).then_some(Request { block })
    }

    /// Adds a block, all of whose ids are free; leaves it if it is not the next one.
    pub(super) fn install(&mut self, memory: &mut Option<Block>) {
        let Some(new) = memory.take_if(|new| new.block == self.blocks) else {
            return;
        };
        if let Some(groups) = new.groups {
            self.others = Some(groups);
        }
        let Some(group) = self.group_mut(new.block / FAN) else {
            return;
        };
        if let Some(blocks) = new.blocks {
            group.blocks = Some(blocks);
        }
        let Some(slot) = group.block_mut(new.block) else {
            return;
        };
        slot.words = Some(new.words);
        for word in 0..FAN {
            slot.node.enter(word, Summary::FREE);
        }
        self.blocks += 1;
        self.enter(new.block, Summary::FREE);
    }

    /// Removes the last block. What it says about its ids is lost.
    pub(super) fn detach(&mut self) -> Option<Block> {
        let block = self.blocks.checked_sub(1)?;
        let group = self.group_mut(block / FAN)?;
        let slot = group.block_mut(block)?;
        let words = slot.words.take()?;
        slot.node = Node::VOID;
        let blocks = group.blocks.take_if(|_| block % FAN == 0);
        self.enter(block, Summary::VOID);
        self.blocks = block;
        let groups = self.others.take_if(|_| block == FAN);
        Some(Block {
            block,
            words,
            blocks,
            groups,
        })
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
impl Tree {
    /// Checks the invariants.
    pub(super) fn check(&self) {
        for group in 0..FAN {
            let slot = self.group(group);
            let summary = slot.map_or(Summary::VOID, |slot| self.check_group(group, slot));
            assert_eq!(self.node.of_child(group), summary, "group {group}");
        }
    }

    fn check_group(&self, group: u32, slot: &GroupSlot) -> Summary {
        assert_eq!(slot.blocks.is_some(), group * FAN < self.blocks);
        for at in 0..FAN {
            let block = slot.block(at);
            let summary = block.map_or(Summary::VOID, |block| {
                assert_eq!(block.words.is_some(), group * FAN + at < self.blocks);
                for word in 0..FAN {
                    let summary = block.word(word).map_or(Summary::VOID, Summary::of_word);
                    assert_eq!(block.node.of_child(word), summary, "word {word}");
                }
                block.node.summary()
            });
            assert_eq!(
                slot.node.of_child(at),
                summary,
                "block {at} of group {group}"
            );
        }
        slot.node.summary()
    }
}
