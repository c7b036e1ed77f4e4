// SPDX-License-Identifier: GPL-2.0
//! What is sent: data, the objects in it, and out-of-line buffers.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use crate::object::{Object, Strength};
use crate::uapi::*;

/// Rounds up to the unit in which the driver lays out buffers.
pub const fn align8(size: u64) -> u64 {
    size.next_multiple_of(8)
}

/// The place of an out-of-line buffer in a parcel, to be named as a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferIndex(pub u64);

/// A transaction's contents before it is sent.
///
/// Objects are put at multiples of eight with padding before them where
/// needed. Tests of bad input change what was built with
/// [`Parcel::offsets_mut`], [`Parcel::data_mut`] and
/// [`Parcel::set_buffers_size`].
#[derive(Debug, Default)]
pub struct Parcel {
    data: Vec<u8>,
    offsets: Vec<u64>,
    buffers: Vec<Box<[u8]>>,
    buffers_size: Option<u64>,
    scatter: bool,
}

impl Parcel {
    /// An empty parcel.
    pub fn new() -> Self {
        Self::default()
    }

    /// A parcel of plain bytes.
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Parcel { data: bytes.into(), ..Self::default() }
    }

    /// Appends bytes without padding.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.data.extend_from_slice(bytes);
        self
    }

    /// Appends a number.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends a number.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes(&value.to_ne_bytes())
    }

    /// Appends a text: its length in bytes, the bytes, padding to a multiple of four.
    pub fn text(&mut self, text: &str) -> &mut Self {
        let length = u32::try_from(text.len()).expect("a text is shorter than 4 GiB");
        self.u32(length).bytes(text.as_bytes());
        self.data.resize(self.data.len().next_multiple_of(4), 0);
        self
    }

    /// Appends any object and its offset.
    pub fn object(&mut self, object: &Object) -> &mut Self {
        self.data.resize(self.data.len().next_multiple_of(8), 0);
        self.offsets.push(self.data.len() as u64);
        self.bytes(&object.to_bytes())
    }

    /// Appends a strong node of the sender.
    pub fn binder(&mut self, ptr: u64, cookie: u64) -> &mut Self {
        self.binder_with_flags(ptr, cookie, 0)
    }

    /// Appends a strong node with flags.
    pub fn binder_with_flags(&mut self, ptr: u64, cookie: u64, flags: u32) -> &mut Self {
        self.object(&Object::Binder { strength: Strength::Strong, ptr, cookie, flags })
    }

    /// Appends a weak node of the sender.
    pub fn weak_binder(&mut self, ptr: u64, cookie: u64) -> &mut Self {
        self.object(&Object::Binder { strength: Strength::Weak, ptr, cookie, flags: 0 })
    }

    /// Appends a handle that the sender holds strongly.
    pub fn handle(&mut self, handle: u32) -> &mut Self {
        self.object(&Object::Handle { strength: Strength::Strong, handle, cookie: 0, flags: 0 })
    }

    /// Appends a handle weakly.
    pub fn weak_handle(&mut self, handle: u32) -> &mut Self {
        self.object(&Object::Handle { strength: Strength::Weak, handle, cookie: 0, flags: 0 })
    }

    /// Appends a file descriptor, which must stay open until the parcel is sent.
    pub fn fd(&mut self, fd: &impl AsFd) -> &mut Self {
        self.fd_number(fd.as_fd().as_raw_fd())
    }

    /// Appends a descriptor by number, valid or not.
    pub fn fd_number(&mut self, fd: i32) -> &mut Self {
        self.object(&Object::Fd { fd: fd as u32, cookie: 0 })
    }

    /// Adds an out-of-line buffer without a parent.
    pub fn buffer(&mut self, bytes: impl Into<Box<[u8]>>) -> BufferIndex {
        self.push_buffer(bytes.into(), None)
    }

    /// Adds an out-of-line buffer whose address goes into its parent at `offset`.
    pub fn child_buffer(
        &mut self,
        bytes: impl Into<Box<[u8]>>,
        parent: BufferIndex,
        offset: u64,
    ) -> BufferIndex {
        self.push_buffer(bytes.into(), Some((parent, offset)))
    }

    fn push_buffer(&mut self, bytes: Box<[u8]>, parent: Option<(BufferIndex, u64)>) -> BufferIndex {
        let mut object = BufferObject {
            kind: TYPE_PTR,
            buffer: bytes.as_ptr() as u64,
            length: bytes.len() as u64,
            ..Default::default()
        };
        if let Some((BufferIndex(index), offset)) = parent {
            object.flags = BUFFER_FLAG_HAS_PARENT;
            object.parent = index;
            object.parent_offset = offset;
        }
        // The address stays right: the bytes of a box do not move with it.
        self.buffers.push(bytes);
        self.scatter = true;
        self.object(&Object::Buffer(object));
        BufferIndex(self.offsets.len() as u64 - 1)
    }

    /// Declares `count` descriptors (u32 each) at `offset` in the parent.
    pub fn fd_array(&mut self, parent: BufferIndex, offset: u64, count: u64) -> &mut Self {
        self.scatter = true;
        self.object(&Object::FdArray(FdArrayObject {
            kind: TYPE_FDA,
            pad: 0,
            num_fds: count,
            parent: parent.0,
            parent_offset: offset,
        }))
    }

    /// Adds an out-of-line buffer with descriptors, which must stay open until the
    /// parcel is sent, and declares it as an array of them. The receiver gets numbers
    /// that are closed when the parcel's buffer is freed.
    pub fn fds(&mut self, fds: &[BorrowedFd<'_>]) -> BufferIndex {
        let number = |fd: &BorrowedFd<'_>| fd.as_raw_fd().to_ne_bytes();
        let bytes: Vec<u8> = fds.iter().flat_map(number).collect();
        let buffer = self.buffer(bytes);
        self.fd_array(buffer, 0, fds.len() as u64);
        buffer
    }

    /// The number of objects, which is the index of the next one.
    pub fn objects(&self) -> u64 {
        self.offsets.len() as u64
    }

    /// The data.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// The data, to be spoilt.
    pub fn data_mut(&mut self) -> &mut Vec<u8> {
        &mut self.data
    }

    /// The offsets of objects.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The offsets, to be spoilt.
    pub fn offsets_mut(&mut self) -> &mut Vec<u64> {
        &mut self.offsets
    }

    /// Claims another size of all out-of-line buffers than the right one, and
    /// makes the parcel go out by the scatter-gather command in any case.
    pub fn set_buffers_size(&mut self, size: u64) -> &mut Self {
        self.buffers_size = Some(size);
        self.scatter = true;
        self
    }

    /// The size of all out-of-line buffers as it is announced.
    pub fn buffers_size(&self) -> u64 {
        let sum = || self.buffers.iter().map(|bytes| align8(bytes.len() as u64)).sum();
        self.buffers_size.unwrap_or_else(sum)
    }

    /// True if it needs the scatter-gather command.
    pub fn is_scatter(&self) -> bool {
        self.scatter
    }

    /// The structure of a transaction with this contents. The addresses in it
    /// are valid while the parcel is neither changed nor dropped.
    #[inline]
    pub fn transaction_data(&self, target: u32, code: u32, flags: u32) -> TransactionData {
        TransactionData {
            target: target.into(),
            code,
            flags,
            data_size: self.data.len() as u64,
            offsets_size: self.offsets.len() as u64 * 8,
            buffer: self.data.as_ptr() as u64,
            offsets: self.offsets.as_ptr() as u64,
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_aligned_and_listed() {
        let mut parcel = Parcel::new();
        parcel.u32(1).binder(2, 3).text("abcde").handle(4);
        assert_eq!(parcel.offsets(), [8, 48]);
        assert_eq!(parcel.data().len(), 72);
        let object = Object::from_bytes(&parcel.data()[48..]);
        let strength = Strength::Strong;
        assert_eq!(object, Some(Object::Handle { strength, handle: 4, cookie: 0, flags: 0 }));
        assert!(!parcel.is_scatter());
    }

    #[test]
    fn out_of_line_buffers_are_summed_up_in_eights() {
        let mut parcel = Parcel::new();
        let parent = parcel.buffer(vec![0u8; 17]);
        let child = parcel.child_buffer(vec![1u8; 8], parent, 8);
        parcel.fd_array(child, 0, 2);
        assert_eq!((parent, child), (BufferIndex(0), BufferIndex(1)));
        assert_eq!(parcel.buffers_size(), 32);
        assert!(parcel.is_scatter());
        let Some(Object::Buffer(object)) = Object::from_bytes(&parcel.data()[40..]) else {
            panic!("the second object is a buffer");
        };
        assert_eq!((object.flags, object.parent, object.parent_offset), (1, 0, 8));
        parcel.set_buffers_size(8);
        assert_eq!(parcel.buffers_size(), 8);
    }

    #[test]
    fn descriptors_go_into_a_buffer_of_their_own() {
        let mut parcel = Parcel::new();
        let stdin = std::io::stdin();
        assert_eq!(parcel.u64(1).fds(&[stdin.as_fd(), stdin.as_fd()]), BufferIndex(0));
        assert_eq!((parcel.objects(), parcel.buffers_size()), (2, 8));
        let Some(Object::FdArray(array)) = Object::from_bytes(&parcel.data()[48..]) else {
            panic!("the second object is an array");
        };
        assert_eq!((array.num_fds, array.parent, array.parent_offset), (2, 0, 0));
    }

    #[test]
    fn structure_describes_the_parcel() {
        let mut parcel = Parcel::from_bytes([1, 2, 3]);
        parcel.weak_binder(1, 1);
        let data = parcel.transaction_data(5, 6, TF_ONE_WAY);
        assert_eq!((data.target, data.code, data.flags), (5, 6, 1));
        assert_eq!((data.data_size, data.offsets_size), (32, 8));
    }
}
