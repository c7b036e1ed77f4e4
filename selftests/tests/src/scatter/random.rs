// SPDX-License-Identifier: GPL-2.0
//! Random parcels, each from a number.

use binder_client::object::{Object, Strength};
use binder_client::parcel::align8;
use binder_client::uapi::{BufferObject, BUFFER_FLAG_HAS_PARENT, TYPE_PTR};

use crate::common::array;
use crate::reference::{Raw, World};

/// The largest memory that the blocks of a parcel are sent from.
pub const MEMORY: usize = 4096;

/// How much is wrong with the parcels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Hardly anything.
    Kind,
    /// A thing or two.
    Hostile,
}

/// A generator of numbers that any failure can be repeated with.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of a number.
    pub fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) ^ 0x9E37_79B9)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        mixed ^ (mixed >> 32)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.any() % end.max(1)
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A block that may still have something put into it.
#[derive(Clone, Copy)]
struct Open {
    object: u64,
    source: u64,
    length: u64,
    high: u64,
}

struct Maker<'a> {
    dice: Dice,
    mood: Mood,
    world: &'a World,
    raw: Raw,
    /// The block named last and what it hangs from, the first being the root.
    path: Vec<Open>,
    /// Used bytes of the memory, and of the room for blocks.
    used: (u64, u64),
    handles: Vec<u32>,
    nodes: Vec<u64>,
}

/// The parcel of a number.
pub fn parcel(seed: u64, mood: Mood, world: &World) -> Raw {
    let mut dice = Dice::new(seed);
    let mut memory = Vec::with_capacity(MEMORY);
    while memory.len() < MEMORY {
        memory.extend(dice.any().to_ne_bytes());
    }
    let (mut handles, mut nodes): (Vec<_>, Vec<_>) =
        (world.handles.keys().copied().collect(), world.nodes.keys().copied().collect());
    handles.sort_unstable();
    nodes.sort_unstable();
    let raw = Raw { memory, ..Raw::default() };
    let (path, used) = (Vec::new(), (0, 0));
    let mut maker = Maker { dice, mood, world, raw, path, used, handles, nodes };
    // Never a block at the start of the data, where some drivers give it no children.
    maker.pad(8);
    for _ in 0..maker.dice.below(12) {
        maker.item();
    }
    let tail = maker.dice.below(20);
    maker.pad(tail);
    maker.raw.buffers_size = maker.used.1 + 8 * maker.dice.below(3);
    if mood == Mood::Hostile {
        if maker.dice.once_in(3) {
            maker.flip();
        }
        for _ in 0..maker.dice.below(3) {
            maker.spoil();
        }
    }
    maker.raw
}

impl Maker<'_> {
    /// True where a thing is to be wrong.
    fn wrong(&mut self) -> bool {
        match self.mood {
            Mood::Kind => self.dice.once_in(400),
            Mood::Hostile => self.dice.once_in(25),
        }
    }

    fn pad(&mut self, length: u64) {
        for _ in 0..length {
            let byte = self.dice.any() as u8;
            self.raw.data.push(byte);
        }
    }

    fn object(&mut self, object: &Object) {
        let aligned = self.raw.data.len().next_multiple_of(4);
        self.raw.data.resize(aligned, 0xdd);
        let words = self.dice.below(3);
        self.pad(4 * words);
        self.raw.offsets.push(self.raw.data.len() as u64);
        self.raw.data.extend(object.to_bytes());
    }

    fn item(&mut self) {
        match self.dice.below(16) {
            0..7 => self.block(),
            7..11 => self.array(),
            11..13 => self.node(),
            13..15 => self.handle(),
            _ => self.descriptor(),
        }
    }

    fn strength(&mut self) -> Strength {
        self.dice.pick(&[Strength::Strong, Strength::Weak])
    }

    fn node(&mut self) {
        let ptr = self.dice.pick(&self.nodes);
        let cookie = self.world.nodes[&ptr].0.wrapping_add(u64::from(self.wrong()));
        let (strength, flags) = (self.strength(), self.dice.any() as u32);
        self.object(&Object::Binder { strength, ptr, cookie, flags });
    }

    fn handle(&mut self) {
        let known = self.dice.pick(&self.handles);
        let handle = if self.wrong() { 4711 } else { known };
        let held = self.world.handles.get(&handle).is_some_and(|(strong, _)| *strong);
        let strength = if held || self.wrong() { self.strength() } else { Strength::Weak };
        let (cookie, flags) = (self.dice.any(), self.dice.any() as u32);
        self.object(&Object::Handle { strength, handle, cookie, flags });
    }

    fn number(&mut self) -> u32 {
        let good = self.dice.pick(&self.world.fds);
        if self.wrong() {
            self.dice.pick(&[u32::MAX, 1 << 31, 70_000, i32::MAX as u32])
        } else {
            good
        }
    }

    fn descriptor(&mut self) {
        let (fd, cookie) = (self.number(), self.dice.any());
        self.object(&Object::Fd { fd, cookie });
    }

    /// A place for `size` bytes in one of the blocks of the path, which ends there then.
    fn place(&mut self, size: u64) -> Option<(u64, u64)> {
        if self.wrong() {
            let objects = self.raw.offsets.len() as u64;
            let object = self.dice.below(objects + 2);
            let odd = self.dice.pick(&[0, 0, u64::MAX - 7, 1 << 32]);
            return Some((object, (4 * self.dice.below(20)).wrapping_add(odd)));
        }
        let depth = self.dice.below(self.path.len() as u64) as usize;
        let chosen = self.path.get(depth).copied()?;
        let offset = chosen.high.next_multiple_of(4) + 4 * self.dice.below(3);
        if offset + size > chosen.length {
            return None;
        }
        self.path.truncate(depth + 1);
        self.path[depth].high = offset + size;
        Some((chosen.object, offset))
    }

    fn block(&mut self) {
        let length = self.dice.pick(&[0, 1, 4, 8, 13, 24, 32, 64, 100, 200]);
        let shift = if self.dice.once_in(8) { self.dice.below(8) } else { 0 };
        if self.used.0 + length + 16 > MEMORY as u64 {
            return;
        }
        let place = if self.dice.once_in(4) { None } else { self.place(8) };
        let mut source = self.world.memory_at + self.used.0 + shift;
        if self.wrong() {
            source = self.dice.pick(&[0, self.world.memory_at + MEMORY as u64 - 3, u64::MAX - 7]);
        }
        let flags = self.dice.any() as u32 & !BUFFER_FLAG_HAS_PARENT;
        let (parent, parent_offset) = place.unwrap_or((self.dice.any(), self.dice.any()));
        let flags = flags | if place.is_some() { BUFFER_FLAG_HAS_PARENT } else { 0 };
        if place.is_none() {
            self.path.clear();
        }
        let object = self.raw.offsets.len() as u64;
        self.path.push(Open { object, source, length, high: 0 });
        self.used = (self.used.0 + align8(length + shift), self.used.1 + align8(length));
        let kind = TYPE_PTR;
        let block = BufferObject { kind, flags, buffer: source, length, parent, parent_offset };
        self.object(&Object::Buffer(block));
    }

    fn array(&mut self) {
        let mut count = self.dice.below(5);
        if self.wrong() {
            count = self.dice.pick(&[1 << 62, u64::MAX, 1 << 30, 1000]);
        }
        let small = if count < 1000 { count } else { 0 };
        let Some((parent, offset)) = self.place(4 * small) else {
            return;
        };
        let open = self.path.last().copied().filter(|open| open.object == parent);
        if let Some(open) = open {
            if open.source.wrapping_add(offset) % 4 != 0 && count > 0 && self.mood == Mood::Kind {
                count = 0;
            }
            for n in 0..small {
                let number = self.number().to_ne_bytes();
                let at = open.source.wrapping_add(offset + 4 * n);
                let at = at.wrapping_sub(self.world.memory_at) as usize;
                if let Some(to) = self.raw.memory.get_mut(at..at.saturating_add(4)) {
                    to.copy_from_slice(&number);
                }
            }
        }
        let mut object = array(count, parent, offset);
        object.pad = self.dice.any() as u32;
        self.object(&Object::FdArray(object));
    }

    /// Changes a bit of an object: of its type, its flags, or behind the address or pointer,
    /// for what these name is not to become something else that exists.
    fn flip(&mut self) {
        let count = self.raw.offsets.len() as u64;
        if count == 0 {
            return;
        }
        let at = self.raw.offsets[self.dice.below(count) as usize] as usize;
        let size = match Object::from_bytes(&self.raw.data[at..]) {
            Some(Object::Buffer(_)) => 40,
            Some(Object::FdArray(_)) => 32,
            _ => 24,
        };
        let within = self.dice.pick(&[0, 1, 4, 16, 17, 20, 24, 31, 32, 36]) % size;
        // Not the two lowest: a place that is not aligned is told sooner or later.
        let bit = 4 << self.dice.below(6);
        if !(8..16).contains(&within) {
            self.raw.data[at + within] ^= bit;
        }
    }

    /// Changes something of the finished parcel.
    fn spoil(&mut self) {
        let count = self.raw.offsets.len() as u64;
        let (one, other) = (self.dice.below(count) as usize, self.dice.below(count) as usize);
        match self.dice.below(7) {
            0 if count > 0 => {
                let by = self.dice.pick(&[1, 2, 4, 8, 24, 40, 1 << 40]);
                let offset = &mut self.raw.offsets[one];
                *offset =
                    if by % 3 == 1 { offset.wrapping_add(by) } else { offset.wrapping_sub(by) };
            }
            1 if count > 0 => self.raw.offsets.swap(one, other),
            2 if count > 0 => drop(self.raw.offsets.remove(one)),
            3 if count > 0 => {
                let again = self.raw.offsets[other];
                self.raw.offsets[one] = again;
            }
            4 => {
                let keep = self.raw.data.len() as u64 - self.dice.below(45).min(8);
                self.raw.data.truncate(keep as usize);
            }
            5 => {
                let by = self.dice.pick(&[1, 4, 8, 16, 100]);
                self.raw.buffers_size = self.raw.buffers_size.saturating_sub(by);
            }
            _ => {}
        }
    }
}
