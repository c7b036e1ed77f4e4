// SPDX-License-Identifier: GPL-2.0

//! Blocks: kept until all objects are known, then copied.

use kernel::prelude::*;

use super::{
    scatter::{self, Array, ArrayRequest, Block, BlockRequest, Patch, Place, Scatter, Step},
    Translator,
};
use crate::{
    allocation::Allocation,
    error::TransactionError,
    ffi::abi::{binder_buffer_object, BINDER_BUFFER_FLAG_HAS_PARENT},
    transaction::UserRange,
};

/// The blocks of a parcel, and what is written into them.
pub(super) struct Blocks {
    rules: Scatter,
    blocks: KVVec<Block>,
    patches: KVVec<Patch>,
}

impl Blocks {
    fn new(buffer: &Allocation) -> Self {
        let layout = buffer.layout;
        // No part of a layout is larger than 32 bits can tell.
        let room = layout.buffers_at() as u32..layout.security_at() as u32;
        Self {
            rules: Scatter::new(room),
            blocks: KVVec::new(),
            patches: KVVec::new(),
        }
    }

    /// Adds a block. Returns where in the buffer it is.
    fn add(&mut self, request: &BlockRequest) -> Result<usize> {
        let (block, patch) = self
            .rules
            .block(&mut self.blocks, &mut self.patches, request)?;
        self.blocks.push(block, GFP_KERNEL)?;
        if let Some(patch) = patch {
            self.patches.push(patch, GFP_KERNEL)?;
        }
        Ok(block.at())
    }

    /// Adds an array of descriptors, if it has any.
    pub(super) fn add_array(&mut self, request: &ArrayRequest) -> Result<Option<Array>> {
        let array = self
            .rules
            .array(&mut self.blocks, &mut self.patches, request)?;
        if let Some(array) = &array {
            self.patches.push(array.patch, GFP_KERNEL)?;
        }
        Ok(array)
    }

    /// Copies the blocks, apart from what is written into them. Fails with `EINVAL` if one
    /// cannot be read.
    pub(super) fn fill(self, buffer: &mut Allocation) -> Result {
        scatter::fill(&self.blocks, &self.patches, |step| match step {
            Step::Copy { at, source, len } => {
                let size = len as u64;
                let from = UserRange {
                    address: source,
                    size,
                };
                buffer.copy_in(at, from).map_err(|_| EINVAL)
            }
            Step::Address { at, of } => {
                let address = buffer.address().wrapping_add(of as u64);
                buffer.write(at, &address.to_ne_bytes())
            }
        })
    }
}

impl Translator<'_> {
    /// A block of the sender's memory: comes to name its place in the buffer.
    pub(super) fn block(
        &mut self,
        index: u32,
        mut object: binder_buffer_object,
    ) -> Result<(), TransactionError> {
        let parent = Place {
            object: object.parent,
            offset: object.parent_offset,
        };
        let has_parent = object.flags & BINDER_BUFFER_FLAG_HAS_PARENT != 0;
        let request = BlockRequest {
            object: index,
            source: object.buffer,
            length: object.length,
            parent: has_parent.then_some(parent),
        };
        let buffer = &self.buffer;
        let blocks = self.blocks.get_or_insert_with(|| Blocks::new(buffer));
        let at = blocks.add(&request)?;
        object.buffer = self.buffer.address().wrapping_add(at as u64);
        self.put(&object)
    }
}
