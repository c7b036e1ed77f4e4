// SPDX-License-Identifier: GPL-2.0
//! Received buffers in the mapping.

use std::sync::Arc;

use nix::errno::Errno;

use crate::device::Device;
use crate::error::Error;
use crate::object::Object;
use crate::returns::Incoming;
use crate::session::Session;
use crate::sys::Region;

/// A delivered transaction or reply with access to its contents.
///
/// When dropped, the buffer is freed with an ioctl of its own by the thread
/// that drops it. To save that ioctl, or to free it at a chosen moment, take
/// the address out with [`Received::into_address`] and send it with
/// [`Commands::free_buffer`](crate::commands::Commands::free_buffer).
pub struct Received {
    device: Arc<Device>,
    mapping: Arc<Region>,
    incoming: Incoming,
    freed: bool,
}

impl Received {
    /// Takes over the buffer of `incoming`, which `device` delivered.
    pub fn new(device: &Arc<Device>, incoming: Incoming) -> Result<Self, Error> {
        let mapping = device.mapping().ok_or(Errno::EINVAL)?;
        let received = Received { device: device.clone(), mapping, incoming, freed: false };
        let checked = received
            .range(incoming.buffer, incoming.data_size)
            .and_then(|_| received.range(incoming.offsets, incoming.offsets_size));
        match checked {
            Ok(_) => Ok(received),
            Err(error) => {
                received.into_address();
                Err(error)
            }
        }
    }

    /// The transaction's head.
    pub fn incoming(&self) -> &Incoming {
        &self.incoming
    }

    /// The data.
    pub fn data(&self) -> Vec<u8> {
        self.copy(self.incoming.buffer, self.incoming.data_size)
    }

    /// The offsets of objects in the data.
    pub fn offsets(&self) -> Vec<u64> {
        let bytes = self.copy(self.incoming.offsets, self.incoming.offsets_size);
        let word = |chunk: &[u8]| u64::from_ne_bytes(chunk.try_into().expect("eight bytes"));
        bytes.chunks_exact(8).map(word).collect()
    }

    /// The objects, in the order of their offsets.
    pub fn objects(&self) -> Result<Vec<Object>, Error> {
        let data = self.data();
        let object = |offset: u64| {
            let tail = usize::try_from(offset).ok().and_then(|offset| data.get(offset..));
            tail.and_then(Object::from_bytes)
                .ok_or(Error::Malformed("no object at a listed offset"))
        };
        self.offsets().into_iter().map(object).collect()
    }

    /// The handle in the object number `index`; an error if it is no handle.
    pub fn handle(&self, index: usize) -> Result<u32, Error> {
        match self.objects()?.get(index) {
            Some(Object::Handle { handle, .. }) => Ok(*handle),
            _ => Err(Error::Malformed("an object is no handle")),
        }
    }

    /// The out-of-line buffer that is object number `index`; an error if it is none, or
    /// lies outside the mapping.
    pub fn block(&self, index: usize) -> Result<Vec<u8>, Error> {
        match self.objects()?.get(index) {
            Some(Object::Buffer(block)) => self.bytes_at(block.buffer, block.length),
            _ => Err(Error::Malformed("an object is no out-of-line buffer")),
        }
    }

    /// Bytes of an out-of-line buffer or a security context.
    pub fn bytes_at(&self, address: u64, length: u64) -> Result<Vec<u8>, Error> {
        self.range(address, length)?;
        Ok(self.copy(address, length))
    }

    /// The sender's security context without its final zero, if there is one.
    pub fn security_context(&self) -> Result<Option<Vec<u8>>, Error> {
        let Some(address) = self.incoming.secctx else {
            return Ok(None);
        };
        let end = self.mapping.address() + self.mapping.length() as u64;
        let length = end.saturating_sub(address).min(256);
        let mut bytes = Vec::new();
        // Page by page would do, but byte by byte does not touch pages behind it.
        for position in 0..length {
            match self.bytes_at(address + position, 1)?[0] {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Ok(Some(bytes))
    }

    /// Gives up the buffer without freeing it and returns its address.
    pub fn into_address(mut self) -> u64 {
        self.freed = true;
        self.incoming.buffer
    }

    /// Frees the buffer now with an ioctl of its own.
    pub fn free(mut self) -> Result<(), Error> {
        self.freed = true;
        self.free_now()
    }

    fn free_now(&self) -> Result<(), Error> {
        let mut commands = crate::commands::Commands::new();
        commands.free_buffer(self.incoming.buffer);
        Session::new(&self.device).write(&commands)
    }

    fn range(&self, address: u64, length: u64) -> Result<(), Error> {
        if length == 0 {
            return Ok(());
        }
        let base = self.mapping.address();
        let inside = address
            .checked_sub(base)
            .and_then(|start| start.checked_add(length))
            .is_some_and(|end| end <= self.mapping.length() as u64);
        inside.then_some(()).ok_or(Error::OutsideMapping { address, length })
    }

    /// Copies a range that `range` found inside the mapping.
    fn copy(&self, address: u64, length: u64) -> Vec<u8> {
        if length == 0 {
            return Vec::new();
        }
        let offset = address - self.mapping.address();
        self.mapping.copy_out(offset as usize, length as usize)
    }
}

impl std::fmt::Debug for Received {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Received").field(&self.incoming).finish()
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        if !self.freed {
            // The device may be closed or the buffer be gone: nothing to do then.
            let _ = self.free_now();
        }
    }
}
