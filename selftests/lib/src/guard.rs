// SPDX-License-Identifier: GPL-2.0
//! Memory for tests of bounds: buffers that end at a forbidden page, and
//! addresses that no driver may accept.

use nix::errno::Errno;

use crate::sys::Region;

const PAGE: usize = 4096;

/// An address that is wrong in a particular way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAddress {
    /// Zero.
    Null,
    /// Inside the kernel's half of the address space.
    Kernel,
    /// So high that adding a size to it overflows.
    Overflow,
}

impl BadAddress {
    /// All of them.
    pub const ALL: [BadAddress; 3] = [BadAddress::Null, BadAddress::Kernel, BadAddress::Overflow];

    /// The number itself.
    pub fn address(self) -> u64 {
        match self {
            BadAddress::Null => 0,
            BadAddress::Kernel => 0xffff_8880_0000_0000,
            BadAddress::Overflow => u64::MAX - 7,
        }
    }
}

/// A buffer whose last byte is followed by a page that must not be touched.
///
/// A driver that reads or writes one byte too many gets a fault instead of
/// unrelated data.
#[derive(Debug)]
pub struct GuardedBuffer {
    region: Region,
    start: usize,
    length: usize,
}

impl GuardedBuffer {
    /// A zeroed buffer of `length` bytes.
    pub fn new(length: usize) -> Result<Self, Errno> {
        let usable = length.div_ceil(PAGE).max(1) * PAGE;
        let mut region = Region::anonymous(usable + PAGE)?;
        region.forbid_from(usable)?;
        Ok(GuardedBuffer { region, start: usable - length, length })
    }

    /// A buffer with these contents.
    pub fn with_bytes(bytes: &[u8]) -> Result<Self, Errno> {
        let mut buffer = GuardedBuffer::new(bytes.len())?;
        buffer.region.copy_in(buffer.start, bytes);
        Ok(buffer)
    }

    /// Address of the first byte.
    pub fn address(&self) -> u64 {
        self.region.address() + self.start as u64
    }

    /// Address of the first byte that must not be touched.
    pub fn end(&self) -> u64 {
        self.address() + self.length as u64
    }

    /// Number of usable bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// A copy of the contents.
    pub fn to_vec(&self) -> Vec<u8> {
        self.region.copy_out(self.start, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_end_at_the_guard() {
        let buffer = GuardedBuffer::with_bytes(b"abc").unwrap();
        assert_eq!(buffer.to_vec(), b"abc");
        assert_eq!(buffer.end() % PAGE as u64, 0);
        assert_eq!(buffer.length(), 3);
    }
}
