// SPDX-License-Identifier: GPL-2.0

//! Where the parts of a transaction lie in its buffer.
//!
//! Pure: no kernel imports, tested on the host.

/// The parts of a buffer: data, then the offsets of the objects in it, then
/// scatter-gather buffers, then the sender's security context. Each starts at a
/// multiple of 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    /// Bytes of data.
    pub(crate) data_size: usize,
    /// Where the offsets begin.
    pub(crate) offsets_at: usize,
    /// Bytes of offsets, a multiple of 8.
    pub(crate) offsets_size: usize,
    /// Where scatter-gather buffers begin.
    pub(crate) buffers_at: usize,
    /// Where the security context begins, which is where the buffers end.
    pub(crate) security_at: usize,
    /// Bytes of the security context, 0 if there is none.
    pub(crate) security_size: usize,
    /// All of it.
    pub(crate) total: usize,
}

/// The smallest buffer: also an empty transaction needs an address of its own.
const SMALLEST: usize = 8;

impl Layout {
    /// Lays out a transaction; all arguments in bytes.
    ///
    /// Fails if sizes are not multiples of 8 where they must be, or overflow.
    pub(crate) fn new(
        data_size: u64,
        offsets_size: u64,
        buffers_size: u64,
        security_size: usize,
    ) -> Option<Self> {
        if offsets_size % 8 != 0 || buffers_size % 8 != 0 {
            return None;
        }
        let data_size = usize::try_from(data_size).ok()?;
        let offsets_size = usize::try_from(offsets_size).ok()?;
        let buffers_size = usize::try_from(buffers_size).ok()?;
        let offsets_at = align(data_size)?;
        let buffers_at = offsets_at.checked_add(offsets_size)?;
        let security_at = buffers_at.checked_add(buffers_size)?;
        let total = security_at.checked_add(align(security_size)?)?.max(SMALLEST);
        Some(Self {
            data_size,
            offsets_at,
            offsets_size,
            buffers_at,
            security_at,
            security_size,
            total,
        })
    }
}

fn align(size: usize) -> Option<usize> {
    Some(size.checked_add(7)? & !7)
}
