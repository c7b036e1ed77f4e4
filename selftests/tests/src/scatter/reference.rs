// SPDX-License-Identifier: GPL-2.0
//! A second translator, in user space: what must become of a parcel, byte by byte.
//!
//! It knows the rules as they are documented and none of a driver's code, reads a parcel
//! as the sender has it in memory, and says either the error or the whole buffer.

use std::collections::HashMap;

use binder_client::parcel::align8;
use binder_client::uapi::{
    BUFFER_FLAG_HAS_PARENT, TYPE_BINDER, TYPE_FD, TYPE_FDA, TYPE_HANDLE, TYPE_PTR,
    TYPE_WEAK_BINDER, TYPE_WEAK_HANDLE,
};
use binder_client::Errno;

/// What a handle of the sender is to the receiver.
#[derive(Clone, Copy, Debug)]
pub enum Seen {
    /// A handle.
    Handle(u32),
    /// The receiver's own node: pointer and cookie.
    Node(u64, u64),
}

/// What sender and receiver know of each other.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// The sender's nodes: pointer to cookie and the receiver's handle.
    pub nodes: HashMap<u64, (u64, u32)>,
    /// The sender's handles: whether it holds them strongly, and what they become.
    pub handles: HashMap<u32, (bool, Seen)>,
    /// The sender's descriptors that are open.
    pub fds: Vec<u32>,
    /// The address of the memory that blocks are sent from.
    pub memory_at: u64,
}

/// A parcel as it lies in the sender's memory.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// The data.
    pub data: Vec<u8>,
    /// The offsets of objects.
    pub offsets: Vec<u64>,
    /// The room for blocks.
    pub buffers_size: u64,
    /// The memory that blocks are sent from. Behind it nothing can be read.
    pub memory: Vec<u8>,
}

/// A received buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its bytes; `None` where any byte may be.
    pub bytes: Vec<Option<u8>>,
    /// Where the numbers of descriptors are, and which of the sender's they come from.
    pub fds: Vec<Arrived>,
}

/// A descriptor in a received buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes from the start of the buffer.
    pub at: usize,
    /// The sender's number.
    pub from: u32,
    /// Closed with the buffer.
    pub kept: bool,
}

/// A block that was accepted.
struct Block {
    object: u64,
    /// From the start of the buffer.
    at: u64,
    source: u64,
    length: u64,
    parent: Option<usize>,
    /// The end of the last thing that was put into it.
    high: u64,
}

struct Translator<'a> {
    world: &'a World,
    raw: &'a Raw,
    base: u64,
    image: Image,
    blocks: Vec<Block>,
    /// The block that was named last.
    last: Option<usize>,
    /// Where the next block goes, and where the room ends.
    room: (u64, u64),
    /// What is put into blocks, after their bytes.
    patches: Vec<(u64, Vec<Option<u8>>)>,
}

/// What `raw` must become in a buffer at `base`.
pub fn translate(world: &World, raw: &Raw, base: u64) -> Result<Image, Errno> {
    if raw.buffers_size % 8 != 0 {
        return Err(Errno::EINVAL);
    }
    let start = align8(raw.data.len() as u64) + 8 * raw.offsets.len() as u64;
    let end = start + raw.buffers_size;
    let mut bytes: Vec<_> = raw.data.iter().copied().map(Some).collect();
    bytes.resize(start as usize - 8 * raw.offsets.len(), None);
    bytes.extend(raw.offsets.iter().flat_map(|offset| offset.to_ne_bytes()).map(Some));
    bytes.resize(end as usize, None);
    let mut translator = Translator {
        world,
        raw,
        base,
        image: Image { bytes, fds: Vec::new() },
        blocks: Vec::new(),
        last: None,
        room: (start, end),
        patches: Vec::new(),
    };
    let mut done = 0;
    for (index, &offset) in raw.offsets.iter().enumerate() {
        if offset < done || offset > raw.data.len() as u64 {
            return Err(Errno::EFAULT);
        }
        done = offset + translator.object(index as u64, offset)?;
    }
    translator.finish()
}

impl Translator<'_> {
    /// Translates an object and returns its size.
    fn object(&mut self, index: u64, offset: u64) -> Result<u64, Errno> {
        let object = &self.raw.data[offset as usize..];
        if offset % 4 != 0 || object.len() < 4 {
            return Err(Errno::EINVAL);
        }
        let kind = u32::from_ne_bytes(object[..4].try_into().expect("four bytes"));
        let size = match kind {
            TYPE_BINDER | TYPE_WEAK_BINDER | TYPE_HANDLE | TYPE_WEAK_HANDLE | TYPE_FD => 24,
            TYPE_FDA => 32,
            TYPE_PTR => 40,
            _ => return Err(Errno::EINVAL),
        };
        let object = object.get(..size).ok_or(Errno::EINVAL)?;
        let word = |at: usize| u64::from_ne_bytes(object[at..at + 8].try_into().expect("eight"));
        let flags = u32::from_ne_bytes(object[4..8].try_into().expect("four bytes"));
        let place = (word(16), word(24.min(size - 8)));
        match kind {
            TYPE_BINDER | TYPE_WEAK_BINDER => self.node(offset, kind, word(8), word(16))?,
            TYPE_HANDLE | TYPE_WEAK_HANDLE => self.handle(offset, kind, word(8) as u32)?,
            TYPE_FD => {
                self.put(offset + 8, &0u64.to_ne_bytes());
                self.descriptor(offset + 8, word(8) as u32, false)?;
            }
            TYPE_FDA => self.array(place, word(8))?,
            _ => {
                let parent = (flags & BUFFER_FLAG_HAS_PARENT != 0).then(|| (word(24), word(32)));
                self.block(index, offset, (word(8), word(16)), parent)?;
            }
        }
        Ok(size as u64)
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        for (to, byte) in self.image.bytes[at as usize..].iter_mut().zip(bytes) {
            *to = Some(*byte);
        }
    }

    fn node(&mut self, offset: u64, kind: u32, ptr: u64, cookie: u64) -> Result<(), Errno> {
        let (expected, handle) = *self.world.nodes.get(&ptr).ok_or(Errno::EINVAL)?;
        if cookie != expected {
            return Err(Errno::EINVAL);
        }
        let kind = if kind == TYPE_BINDER { TYPE_HANDLE } else { TYPE_WEAK_HANDLE };
        self.put(offset, &kind.to_ne_bytes());
        self.put(offset + 8, &u64::from(handle).to_ne_bytes());
        self.put(offset + 16, &[0; 8]);
        Ok(())
    }

    fn handle(&mut self, offset: u64, kind: u32, handle: u32) -> Result<(), Errno> {
        let (strong, seen) = *self.world.handles.get(&handle).ok_or(Errno::EINVAL)?;
        if kind == TYPE_HANDLE && !strong {
            return Err(Errno::EINVAL);
        }
        let (kind, value, cookie) = match (seen, kind) {
            (Seen::Handle(handle), _) => (kind, u64::from(handle), 0),
            (Seen::Node(ptr, cookie), TYPE_HANDLE) => (TYPE_BINDER, ptr, cookie),
            (Seen::Node(ptr, cookie), _) => (TYPE_WEAK_BINDER, ptr, cookie),
        };
        self.put(offset, &kind.to_ne_bytes());
        self.put(offset + 8, &value.to_ne_bytes());
        self.put(offset + 16, &cookie.to_ne_bytes());
        Ok(())
    }

    fn descriptor(&mut self, at: u64, from: u32, kept: bool) -> Result<(), Errno> {
        if !self.world.fds.contains(&from) {
            return Err(Errno::EBADF);
        }
        let at = at as usize;
        self.image.bytes[at..at + 4].fill(None);
        self.image.fds.push(Arrived { at, from, kept });
        Ok(())
    }

    /// The block of a place where something may still be put.
    fn open(&self, (object, offset): (u64, u64)) -> Result<usize, Errno> {
        let mut next = self.last;
        while let Some(index) = next {
            let block = &self.blocks[index];
            if block.object == object && offset >= block.high {
                return Ok(index);
            }
            if block.object == object {
                break;
            }
            next = block.parent;
        }
        Err(Errno::EINVAL)
    }

    fn array(&mut self, place: (u64, u64), count: u64) -> Result<(), Errno> {
        let index = self.open(place)?;
        self.last = Some(index);
        let block = &mut self.blocks[index];
        let end = u128::from(place.1) + 4 * u128::from(count);
        if count == 0 {
            block.high = place.1;
            return Ok(());
        }
        let aligned = place.1 % 4 == 0 && block.source.wrapping_add(place.1) % 4 == 0;
        if end > u128::from(block.length) || !aligned {
            return Err(Errno::EINVAL);
        }
        block.high = end as u64;
        let (source, at) = (block.source.wrapping_add(place.1), block.at + place.1);
        self.patches.push((at, vec![None; 4 * count as usize]));
        for n in 0..count {
            let number = self.read(source.wrapping_add(4 * n), 4)?;
            let number = u32::from_ne_bytes(number.try_into().expect("four bytes"));
            self.descriptor(at + 4 * n, number, true)?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        object: u64,
        offset: u64,
        (source, length): (u64, u64),
        parent: Option<(u64, u64)>,
    ) -> Result<(), Errno> {
        let at = self.room.0;
        if length > self.room.1 - at {
            return Err(Errno::EINVAL);
        }
        self.room.0 = at + align8(length);
        let address = (self.base + at).to_ne_bytes();
        self.put(offset + 8, &address);
        let parent = match parent {
            None => None,
            Some(place) => {
                let index = self.open(place)?;
                let parent = &mut self.blocks[index];
                let end = u128::from(place.1) + 8;
                if end > u128::from(parent.length) || place.1 % 4 != 0 {
                    return Err(Errno::EINVAL);
                }
                parent.high = end as u64;
                self.patches.push((parent.at + place.1, address.map(Some).to_vec()));
                Some(index)
            }
        };
        self.last = Some(self.blocks.len());
        self.blocks.push(Block { object, at, source, length, parent, high: 0 });
        Ok(())
    }

    /// Reads the sender's memory.
    fn read(&self, address: u64, length: u64) -> Result<&[u8], Errno> {
        let start = address.checked_sub(self.world.memory_at).ok_or(Errno::EINVAL)?;
        let end = start.checked_add(length).ok_or(Errno::EINVAL)?;
        self.raw.memory.get(start as usize..end as usize).ok_or(Errno::EINVAL)
    }

    /// Puts in what is put into blocks, and copies what is between. Only that is read.
    fn finish(mut self) -> Result<Image, Errno> {
        let mut patched = HashMap::new();
        for (at, bytes) in std::mem::take(&mut self.patches) {
            patched.extend((at..).zip(bytes));
        }
        for block in std::mem::take(&mut self.blocks) {
            for n in 0..block.length {
                let byte = match patched.get(&(block.at + n)) {
                    Some(byte) => *byte,
                    None => Some(self.read(block.source.wrapping_add(n), 1)?[0]),
                };
                self.image.bytes[(block.at + n) as usize] = byte;
            }
        }
        Ok(self.image)
    }
}
