// SPDX-License-Identifier: GPL-2.0

//! Memory for a [`RangeAlloc`]: asked for under the lock, allocated without it.

use super::{
    bins::{allocate_heads, Heads},
    desc::{self, Descriptor, MoreDescriptors},
    index::Index,
    oneway_budget::{self, MoreSenders, SenderRequest},
    Kind, RangeAlloc,
};
use crate::{
    chunked::{ChunkRequest, Chunked},
    grow::Request,
    shim::AllocError,
};
use core::{fmt, marker::PhantomData};

/// What a [`RangeAlloc`] lacks.
pub(crate) struct GrowRequest<T, const N: usize> {
    heads: bool,
    ranges: Option<ChunkRequest<N>>,
    senders: Option<SenderRequest>,
    kind: PhantomData<fn() -> T>,
}

/// Memory for a [`RangeAlloc`], to be passed to [`RangeAlloc::install`].
pub(crate) struct Growth<T, const N: usize> {
    heads: Option<Heads>,
    ranges: Option<MoreDescriptors<T, N>>,
    senders: Option<MoreSenders>,
}

/// Memory that an idle [`RangeAlloc`] gave back. Only good for being dropped.
pub(crate) struct Tail<T, const N: usize> {
    _ranges: Chunked<Descriptor<T>, N>,
    _senders: Chunked<oneway_budget::Sender, { oneway_budget::PER_CHUNK }>,
}

impl<T, const N: usize> GrowRequest<T, N> {
    /// What a new allocator needs for [`RangeAlloc::init`].
    pub(crate) fn first() -> Self {
        RangeAlloc::<T, N>::new().request(Kind::Oneway { sender: 0 })
    }
}

impl<T, const N: usize> Request for GrowRequest<T, N> {
    type Grown = Growth<T, N>;

    fn allocate(self) -> Result<Growth<T, N>, AllocError> {
        Ok(Growth {
            heads: self.heads.then(allocate_heads).transpose()?,
            ranges: self.ranges.map(desc::allocate).transpose()?,
            senders: self.senders.map(oneway_budget::allocate).transpose()?,
        })
    }
}

impl<T, const N: usize> fmt::Debug for GrowRequest<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowRequest")
            .field("heads", &self.heads)
            .field("ranges", &self.ranges)
            .field("senders", &self.senders)
            .finish()
    }
}

impl<T, const N: usize> Growth<T, N> {
    fn is_empty(&self) -> bool {
        self.heads.is_none() && self.ranges.is_none() && self.senders.is_none()
    }
}

impl<T, const N: usize> RangeAlloc<T, N> {
    /// What is lacking for one more buffer of this kind.
    #[cold]
    pub(super) fn request(&self, kind: Kind) -> GrowRequest<T, N> {
        let senders = match kind {
            Kind::Sync => false,
            Kind::Oneway { sender } => {
                !self.oneway.has_spare() && self.oneway.find(sender).is_none()
            }
        };
        GrowRequest {
            heads: !self.bins.is_ready(),
            ranges: (!self.ranges.has_spare())
                .then(|| self.ranges.request())
                .flatten(),
            senders: senders.then(|| self.oneway.request()).flatten(),
            kind: PhantomData,
        }
    }

    /// Takes memory, if there is any, into use. O(1).
    ///
    /// Leaves what does not fit any more, to be dropped without a lock, because another
    /// thread grew or trimmed the allocator since the request was made.
    pub(crate) fn install(&mut self, memory: &mut Option<Growth<T, N>>) {
        let Some(mut growth) = memory.take() else {
            return;
        };
        if !self.bins.is_ready() {
            if let Some(heads) = growth.heads.take() {
                self.bins.set_heads(heads);
            }
        }
        if let Some(ranges) = growth.ranges.take() {
            growth.ranges = self.ranges.install(ranges).err();
        }
        if let Some(senders) = growth.senders.take() {
            growth.senders = self.oneway.install(senders).err();
        }
        if !growth.is_empty() {
            *memory = Some(growth);
        }
    }

    /// Gives back the memory that was needed for many buffers, if there is none now.
    ///
    /// Meant for memory pressure. Drop the result without a lock.
    pub(crate) fn trim(&mut self) -> Option<Tail<T, N>> {
        if self.size == 0 || self.buffers() != 0 {
            return None;
        }
        self.bins.clear();
        self.by_offset = Index::new();
        let tail = Tail {
            _ranges: self.ranges.reset(),
            _senders: self.oneway.reset(),
        };
        self.start();
        Some(tail)
    }

    /// Bytes of kernel memory in use for ranges, without the allocator itself.
    pub(crate) fn bytes(&self) -> usize {
        self.bins.bytes() + self.ranges.bytes() + self.oneway.bytes()
    }
}
