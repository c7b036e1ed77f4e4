// SPDX-License-Identifier: GPL-2.0

//! What goes into and comes out of a [`RangeAlloc`](super::RangeAlloc).

use super::{GrowRequest, Spam};
use core::ops::Range;

/// What a buffer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A call or a reply: may take all of the mapping.
    Sync,
    /// A oneway request: may take half of the mapping, and is charged to its sender.
    Oneway {
        /// Process (thread group) that sends, in the initial pid namespace.
        sender: i32,
    },
}

/// What logs say of a buffer. Means nothing to the allocator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Label {
    /// The transaction that the buffer was made for.
    pub(crate) id: u32,
    /// Bytes of data in it.
    pub(crate) data: u32,
    /// Bytes of offsets in it.
    pub(crate) offsets: u32,
}

/// A buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// What the buffer is called here, until it is released.
    pub(crate) index: u32,
    /// Where it starts, in bytes from the start of the mapping.
    pub(crate) offset: usize,
    /// Its size in bytes: what was asked for, rounded up.
    pub(crate) size: usize,
}

/// A new buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// The buffer.
    pub(crate) slot: Slot,
    /// Whether its sender overuses the room for oneway requests.
    pub(crate) spam: Spam,
}

/// Why a mapping can not be managed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitError {
    /// There is one already.
    Mapped,
    /// It has no room for one buffer.
    TooSmall,
    /// The memory passed does not suffice.
    NoMemory,
}

/// Why there is no buffer.
#[derive(Debug)]
pub(crate) enum AllocFail<T, const N: usize> {
    /// There is no mapping yet.
    NotMapped,
    /// The mapping is smaller than the buffer: it will never fit.
    TooBig,
    /// No free range is large enough.
    NoSpace,
    /// The room for oneway requests does not suffice.
    OnewayQuota,
    /// Memory is needed first; nothing has changed.
    NeedDescriptors(GrowRequest<T, N>),
}

/// Why a buffer can not be freed by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreeError {
    /// No buffer starts there.
    NotFound,
    /// The buffer there has not been delivered.
    NotDelivered,
    /// The buffer there is being freed by somebody else.
    BeingFreed,
}

/// The buffer is not in the state that the operation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrongState;

/// What was a buffer.
#[derive(Debug)]
pub(crate) struct Released<T> {
    /// The buffer; its index is no longer valid.
    pub(crate) slot: Slot,
    /// What was still kept with it, to be dropped without a lock.
    pub(crate) payload: Option<T>,
    /// The free range, in bytes of the mapping, that it is part of now. Pages that lie
    /// completely inside are not in use.
    pub(crate) idle: Range<usize>,
}
