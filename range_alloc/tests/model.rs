// SPDX-License-Identifier: GPL-2.0

//! The allocator against a model that knows nothing but a list of buffers.

use super::*;
use crate::testing::{steps, Rng};
use std::{collections::BTreeMap, vec::Vec};

struct Buffer {
    index: u32,
    size: usize,
    sender: Option<i32>,
}

/// All buffers by offset, and the latch of the spam detection.
struct Model {
    mapping: usize,
    buffers: BTreeMap<usize, Buffer>,
    reported: bool,
}

impl Model {
    fn largest_hole(&self) -> usize {
        let (mut end, mut largest) = (0, 0);
        for (&offset, buffer) in &self.buffers {
            largest = largest.max(offset - end);
            end = offset + buffer.size;
        }
        largest.max(self.mapping - end)
    }

    fn oneway(&self, whom: impl Fn(i32) -> bool) -> (usize, usize) {
        let held = self.buffers.values();
        let held = held.filter(|buffer| buffer.sender.is_some_and(&whom));
        held.fold((0, 0), |(n, bytes), b| (n + 1, bytes + b.size))
    }

    fn free_oneway(&self) -> usize {
        self.mapping / 2 - self.oneway(|_| true).1
    }

    /// Enters a new buffer, which must not overlap any, and says what is expected.
    fn insert(&mut self, slot: Slot, sender: Option<i32>) -> Spam {
        let end = slot.offset + slot.size;
        assert!(end <= self.mapping);
        let below = self.buffers.range(..end).next_back();
        if let Some((offset, buffer)) = below {
            assert!(offset + buffer.size <= slot.offset, "overlap");
        }
        let (index, size) = (slot.index, slot.size);
        let buffer = Buffer {
            index,
            size,
            sender,
        };
        self.buffers.insert(slot.offset, buffer);
        match sender {
            Some(pid) => self.judge(pid),
            None => Spam::No,
        }
    }

    fn judge(&mut self, pid: i32) -> Spam {
        if self.free_oneway() >= self.mapping / 10 {
            self.reported = false;
            return Spam::No;
        }
        let (number, bytes) = self.oneway(|sender| sender == pid);
        let suspect = (number > 50 || bytes > self.mapping / 4) && !self.reported;
        self.reported |= suspect;
        if suspect {
            Spam::Suspect
        } else {
            Spam::No
        }
    }
}

/// Sizes and lifetimes of one run.
struct Load {
    mapping: usize,
    live: usize,
    size: fn(&mut Rng) -> usize,
    oneway_of_ten: usize,
}

fn run(seed: u64, load: &Load, count: usize) {
    let rng = &mut Rng::new(seed);
    let mut alloc = mapped(load.mapping);
    let mut model = Model {
        mapping: load.mapping,
        buffers: BTreeMap::new(),
        reported: false,
    };
    for step in 0..count {
        if model.buffers.len() >= load.live || rng.below(5) < 2 {
            free_one(rng, &mut alloc, &mut model);
        } else {
            let pid = rng.below(10) as i32 * 1000;
            let oneway = rng.below(10) < load.oneway_of_ten;
            let size = (load.size)(rng);
            allocate_one(&mut alloc, &mut model, size, oneway.then_some(pid));
        }
        if step % 64 == 0 {
            check(&alloc);
        }
        assert_eq!(alloc.free_oneway_space(), model.free_oneway());
    }
    while !model.buffers.is_empty() {
        free_one(rng, &mut alloc, &mut model);
    }
    check(&alloc);
    assert!(alloc.idle_ranges().eq(core::iter::once(0..load.mapping)));
}

fn allocate_one(alloc: &mut Alloc, model: &mut Model, size: usize, sender: Option<i32>) {
    let kind = sender.map_or(Kind::Sync, |sender| Kind::Oneway { sender });
    let need = size.max(1).next_multiple_of(8);
    match get(alloc, size, kind) {
        Ok(new) => {
            assert_eq!(new.slot.size, need);
            assert_eq!(new.spam, model.insert(new.slot, sender));
            let payload = new.slot.offset as u64;
            assert_eq!(alloc.set_payload(new.slot.index, payload), Ok(None));
            assert_eq!(alloc.mark_delivered(new.slot.index), Ok(()));
        }
        Err(AllocFail::OnewayQuota) => {
            assert!(sender.is_some() && need > model.free_oneway());
        }
        Err(AllocFail::NoSpace) => assert!(need > model.largest_hole()),
        Err(AllocFail::TooBig) => assert!(size > model.mapping),
        Err(other) => panic!("unexpected: {other:?}"),
    }
}

fn free_one(rng: &mut Rng, alloc: &mut Alloc, model: &mut Model) {
    let near = rng.below(model.mapping);
    let found = model.buffers.range(near..).next();
    let Some((&offset, _)) = found.or_else(|| model.buffers.iter().next()) else {
        return;
    };
    let Some(buffer) = model.buffers.remove(&offset) else {
        return;
    };
    assert_eq!(alloc.begin_free_by_offset(offset), Ok(buffer.index));
    assert_eq!(alloc.take_payload(buffer.index), Some(offset as u64));
    let released = alloc.release(buffer.index).unwrap();
    assert_eq!(released.slot.size, buffer.size);
    // The free range around it ends where the model's neighbours begin.
    let below = model.buffers.range(..offset).next_back();
    let above = model.buffers.range(offset..).next();
    let start = below.map_or(0, |(offset, buffer)| offset + buffer.size);
    let end = above.map_or(model.mapping, |(offset, _)| *offset);
    assert_eq!(released.idle, start..end);
}

fn tiny(rng: &mut Rng) -> usize {
    rng.below(40)
}

fn ordinary(rng: &mut Rng) -> usize {
    match rng.below(1000) {
        0..800 => 64 + rng.below(448),
        800..955 => rng.below(4096),
        955..995 => rng.below(32 << 10),
        _ => rng.below(128 << 10),
    }
}

fn alike(rng: &mut Rng) -> usize {
    1000 + rng.below(200)
}

#[test]
fn tiny_buffers_in_a_small_mapping() {
    for seed in 0..8 {
        let load = Load {
            mapping: 4096,
            live: 1000,
            size: tiny,
            oneway_of_ten: 5,
        };
        run(seed, &load, steps(20_000));
    }
}

#[test]
fn ordinary_buffers_in_an_ordinary_mapping() {
    for live in [1, 4, 64, 300] {
        let load = Load {
            mapping: (1 << 20) - 8192,
            live,
            size: ordinary,
            oneway_of_ten: 4,
        };
        run(live as u64, &load, steps(30_000));
    }
}

#[test]
fn sizes_of_one_class_when_full() {
    let load = Load {
        mapping: 64 << 10,
        live: 1000,
        size: alike,
        oneway_of_ten: 0,
    };
    run(1, &load, steps(50_000));
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn many_senders_with_one_buffer_each() {
    let mut alloc = mapped(1 << 20);
    let mut slots = Vec::new();
    for sender in 0..5000 {
        let new = get(
            &mut alloc,
            8,
            Kind::Oneway {
                sender: sender * 4096,
            },
        )
        .unwrap();
        slots.push(new.slot);
    }
    check(&alloc);
    for slot in slots {
        alloc.release(slot.index).unwrap();
    }
    assert_eq!(alloc.free_oneway_space(), 1 << 19);
}
