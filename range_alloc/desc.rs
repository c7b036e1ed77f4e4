// SPDX-License-Identifier: GPL-2.0

//! Descriptors of ranges.
//!
//! The mapping is cut into ranges without gaps, each with one descriptor. Descriptors lie
//! outside of the mapping, which the receiver can read and the shrinker can empty. They
//! refer to each other by position, not by address.

use super::{
    index::{spread, Entries, NONE},
    Label,
};
use crate::chunked::{ChunkRequest, Chunked, Storage};

/// What a range is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The descriptor describes nothing.
    Spare,
    /// Nobody uses the range.
    Free,
    /// The driver fills the buffer; user space does not know it.
    Reserved,
    /// User space knows the buffer and may free it.
    Delivered,
    /// Somebody is freeing the buffer; nobody else may.
    Freeing,
}

impl State {
    /// Whether the range is a buffer.
    pub(super) fn is_buffer(self) -> bool {
        matches!(self, Self::Reserved | Self::Delivered | Self::Freeing)
    }
}

/// Descriptor of a range.
pub(super) struct Descriptor<T> {
    /// Where the range starts and how long it is, in bytes.
    pub(super) offset: u32,
    pub(super) size: u32,
    /// The ranges before and after this one in the mapping.
    pub(super) prev: u32,
    pub(super) next: u32,
    /// Next of the same list: free ranges of a class, hash chain of buffers, or spares.
    pub(super) link: u32,
    /// Previous free range of the class.
    pub(super) back: u32,
    /// First buffer of the hash bucket with this descriptor's number.
    bucket: u32,
    /// Whom a oneway buffer is charged to, [`NONE`] for others.
    pub(super) sender: u32,
    pub(super) label: Label,
    pub(super) state: State,
    /// What the driver keeps with the buffer.
    pub(super) payload: Option<T>,
}

/// All descriptors of a mapping.
///
/// # Invariants
///
/// * The spare descriptors are linked from `spare`, and no others are.
pub(super) struct Descriptors<T, const N: usize> {
    all: Chunked<Descriptor<T>, N>,
    spare: u32,
}

/// Memory for `N` more descriptors.
pub(super) type MoreDescriptors<T, const N: usize> = Storage<Descriptor<T>, N>;

/// Allocates descriptors, linked as spares. May sleep.
pub(super) fn allocate<T, const N: usize>(
    request: ChunkRequest<N>,
) -> Result<MoreDescriptors<T, N>, crate::shim::AllocError> {
    request.allocate(|i| Descriptor {
        offset: 0,
        size: 0,
        prev: NONE,
        next: NONE,
        link: i as u32 + 1,
        back: NONE,
        bucket: NONE,
        sender: NONE,
        label: Label::default(),
        state: State::Spare,
        payload: None,
    })
}

impl<T, const N: usize> Descriptors<T, N> {
    pub(super) const fn new() -> Self {
        Self {
            all: Chunked::new(),
            spare: NONE,
        }
    }

    /// Whether a descriptor can be had without growing.
    #[inline]
    pub(super) fn has_spare(&self) -> bool {
        self.spare != NONE
    }

    /// Number of descriptors.
    pub(super) fn capacity(&self) -> usize {
        self.all.len()
    }

    /// Bytes allocated for them.
    pub(super) fn bytes(&self) -> usize {
        self.all.bytes()
    }

    pub(super) fn request(&self) -> Option<ChunkRequest<N>> {
        self.all.request()
    }

    /// Adds descriptors; gives them back if they are not the next ones.
    pub(super) fn install(
        &mut self,
        mut more: MoreDescriptors<T, N>,
    ) -> Result<(), MoreDescriptors<T, N>> {
        let first = more.first() as u32;
        if let Some(last) = more.elements_mut().last_mut() {
            last.link = self.spare;
        }
        self.all.install(more)?;
        self.spare = first;
        Ok(())
    }

    /// Makes all descriptors of the first chunk spare and removes the others.
    pub(super) fn reset(&mut self) -> Chunked<Descriptor<T>, N> {
        let rest = self.all.detach_all_but_first();
        self.spare = NONE;
        for at in (0..self.all.len() as u32).rev() {
            self.put_spare(at);
        }
        rest
    }

    #[inline]
    pub(super) fn get(&self, at: u32) -> Option<&Descriptor<T>> {
        self.all.get(at as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Descriptor<T>> {
        self.all.get_mut(at as usize)
    }

    /// The descriptor, if it is that of a buffer.
    #[inline]
    pub(super) fn buffer(&self, at: u32) -> Option<&Descriptor<T>> {
        self.get(at).filter(|range| range.state.is_buffer())
    }

    /// The descriptor, if it is that of a buffer.
    #[inline]
    pub(super) fn buffer_mut(&mut self, at: u32) -> Option<&mut Descriptor<T>> {
        self.get_mut(at).filter(|range| range.state.is_buffer())
    }

    /// Changes a descriptor; [`NONE`] is no descriptor and changes nothing.
    #[inline]
    pub(super) fn update(&mut self, at: u32, change: impl FnOnce(&mut Descriptor<T>)) {
        if let Some(range) = self.get_mut(at) {
            change(range);
        }
    }

    /// Size of a range, 0 for [`NONE`].
    #[inline]
    pub(super) fn size(&self, at: u32) -> u32 {
        self.get(at).map_or(0, |range| range.size)
    }

    #[inline]
    pub(super) fn link(&self, at: u32) -> u32 {
        self.get(at).map_or(NONE, |range| range.link)
    }

    /// Size of the range `at`, if there is one and it is free.
    #[inline]
    pub(super) fn free_size(&self, at: u32) -> Option<u32> {
        let range = self.get(at)?;
        (range.state == State::Free).then_some(range.size)
    }

    /// The spare descriptor that [`Descriptors::use_spare`] will take, or [`NONE`].
    #[inline]
    pub(super) fn spare(&self) -> u32 {
        self.spare
    }

    /// Takes a spare descriptor and lets `fill` set its fields.
    #[inline]
    pub(super) fn use_spare(&mut self, fill: impl FnOnce(&mut Descriptor<T>)) -> Option<u32> {
        let at = self.spare;
        let range = self.all.get_mut(at as usize)?;
        self.spare = range.link;
        fill(range);
        Some(at)
    }

    /// Gives a descriptor back.
    #[inline]
    pub(super) fn put_spare(&mut self, at: u32) {
        if let Some(range) = self.all.get_mut(at as usize) {
            range.state = State::Spare;
            range.link = self.spare;
            self.spare = at;
        }
    }
}

/// Hash of a buffer's offset.
#[inline]
pub(super) fn hash_of(offset: u32) -> u32 {
    spread(offset)
}

impl<T, const N: usize> Entries for Descriptors<T, N> {
    fn capacity(&self) -> u32 {
        self.all.len() as u32
    }

    #[inline]
    fn hash(&self, at: u32) -> u32 {
        hash_of(self.get(at).map_or(0, |range| range.offset))
    }

    #[inline]
    fn next(&self, at: u32) -> u32 {
        self.link(at)
    }

    #[inline]
    fn next_mut(&mut self, at: u32) -> Option<&mut u32> {
        Some(&mut self.get_mut(at)?.link)
    }

    #[inline]
    fn first(&self, bucket: u32) -> u32 {
        self.get(bucket).map_or(NONE, |range| range.bucket)
    }

    #[inline]
    fn first_mut(&mut self, bucket: u32) -> Option<&mut u32> {
        Some(&mut self.get_mut(bucket)?.bucket)
    }
}
