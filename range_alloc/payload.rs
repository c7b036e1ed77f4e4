// SPDX-License-Identifier: GPL-2.0

//! What the driver keeps with a buffer.

use super::RangeAlloc;

impl<T, const N: usize> RangeAlloc<T, N> {
    /// Keeps `payload` with the buffer and returns what was kept with it before.
    ///
    /// # Errors
    ///
    /// Gives `payload` back if there is no such buffer.
    pub(crate) fn set_payload(&mut self, index: u32, payload: T) -> Result<Option<T>, T> {
        match self.ranges.buffer_mut(index) {
            Some(range) => Ok(range.payload.replace(payload)),
            None => Err(payload),
        }
    }

    /// What is kept with the buffer.
    pub(crate) fn payload(&self, index: u32) -> Option<&T> {
        self.ranges.buffer(index)?.payload.as_ref()
    }

    /// What is kept with the buffer.
    pub(crate) fn payload_mut(&mut self, index: u32) -> Option<&mut T> {
        self.ranges.buffer_mut(index)?.payload.as_mut()
    }

    /// Takes what is kept with the buffer.
    pub(crate) fn take_payload(&mut self, index: u32) -> Option<T> {
        self.ranges.buffer_mut(index)?.payload.take()
    }
}
