// SPDX-License-Identifier: GPL-2.0

//! Figures of the data structures on this machine; nothing here passes or fails.
//!
//! `cargo test --profile timing timing -- --ignored --nocapture --test-threads=1`

use crate::{
    grow::Request,
    id_pool::{IdPool, Keep},
    range_alloc::{AllocFail, GrowRequest, Kind, Label, RangeAlloc},
    slot_table::SlotTable,
    testing::Rng,
};
use std::{collections::BTreeMap, collections::BTreeSet, hint::black_box, println};
use std::{time::Instant, vec::Vec};

/// Nanoseconds per call of `work`: the best of many batches, since others use the machine
/// as well.
fn time(count: usize, mut work: impl FnMut()) -> f64 {
    const BATCH: usize = 2000;
    let mut best = f64::MAX;
    for _ in 0..count.div_ceil(BATCH) {
        let start = Instant::now();
        for _ in 0..BATCH.min(count) {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    best / BATCH.min(count) as f64
}

fn filled(used: u32) -> IdPool {
    let mut pool = IdPool::new();
    while pool.len() < used {
        if pool.alloc(0).is_none() {
            pool.install(&mut pool.grow_request().unwrap().allocate().ok());
        }
    }
    pool
}

/// The yardstick: words of each level in one array, one bit per child, no growth.
struct Contiguous(Vec<Vec<u64>>);

impl Contiguous {
    fn filled(used: usize, capacity: usize) -> Self {
        let mut levels = std::vec![];
        let (mut used, mut length) = (used, capacity);
        while levels.is_empty() || length > 1 {
            length = length.div_ceil(64);
            let word = |at: usize| match used.saturating_sub(at * 64) {
                0 => 0,
                n @ 1..64 => (1 << n) - 1,
                _ => u64::MAX,
            };
            levels.push((0..length).map(word).collect());
            used /= 64;
        }
        Self(levels)
    }

    fn release(&mut self, mut id: usize) {
        for level in &mut self.0 {
            let word = &mut level[id / 64];
            let was_full = *word == u64::MAX;
            *word &= !(1 << (id % 64));
            if !was_full {
                return;
            }
            id /= 64;
        }
    }

    fn alloc(&mut self) -> usize {
        let mut id = 0;
        for level in self.0.iter().rev() {
            id = id * 64 + level[id].trailing_ones() as usize;
        }
        let mut at = id;
        for level in &mut self.0 {
            let word = &mut level[at / 64];
            *word |= 1 << (at % 64);
            if *word != u64::MAX {
                break;
            }
            at /= 64;
        }
        id
    }
}

#[test]
#[ignore = "prints figures"]
fn ids() {
    println!("     ids  churn (contiguous)  top (contiguous)  release+shrink  bytes   (ns)");
    for used in [64, 1024, 10_240, 102_400, 1_048_576, 10_485_760] {
        let rng = &mut Rng::new(1);
        let mut pool = filled(used);
        pool.install(&mut pool.grow_request().unwrap().allocate().ok());
        let victims: Vec<u32> = (0..1 << 20)
            .map(|_| rng.below(used as usize) as u32)
            .collect();
        let mut next = victims.iter().cycle();
        let churn = time(1 << 20, || {
            pool.release(*next.next().unwrap()).unwrap();
            black_box(pool.alloc(0));
        });
        let top = time(1 << 20, || {
            let id = pool.alloc(0).unwrap();
            pool.release(black_box(id)).unwrap();
        });
        let shrink = time(1 << 20, || {
            let id = pool.alloc(0).unwrap();
            pool.release(black_box(id)).unwrap();
            black_box(pool.shrink(Keep::OneSpare));
        });
        let mut plain = Contiguous::filled(used as usize, pool.capacity() as usize);
        let mut next = victims.iter().cycle();
        let plain_churn = time(1 << 20, || {
            plain.release(*next.next().unwrap() as usize);
            black_box(plain.alloc());
        });
        let plain_top = time(1 << 20, || {
            let id = plain.alloc();
            plain.release(black_box(id));
        });
        let bytes = pool.bytes();
        println!(
            "{used:8} {churn:6.1} {plain_churn:6.1} {top:11.1} {plain_top:6.1} {shrink:15.1} \
             {bytes:8}"
        );
    }
}

#[test]
#[ignore = "prints figures"]
fn release_all() {
    println!("     ids   LIFO   FIFO random   (ns per release, memory given back)");
    for used in [1000, 10_000, 100_000, 1_000_000] {
        let lifo: Vec<u32> = (0..used).rev().collect();
        let fifo: Vec<u32> = (0..used).collect();
        let mut random = fifo.clone();
        let rng = &mut Rng::new(2);
        for i in (1..random.len()).rev() {
            random.swap(i, rng.below(i + 1));
        }
        let each = [lifo, fifo, random].map(|order| {
            let mut pool = filled(used);
            let start = Instant::now();
            for &id in &order {
                pool.release(id).unwrap();
                crate::grow::give_back(|| pool.shrink(Keep::OneSpare));
            }
            start.elapsed().as_nanos() as f64 / order.len() as f64
        });
        println!("{used:8} {:6.1} {:6.1} {:6.1}", each[0], each[1], each[2]);
    }
}

#[test]
#[ignore = "prints figures"]
fn lookup() {
    println!("     ids  random lookup of an 8-byte value   (ns)");
    for used in [64, 1000, 10_000, 100_000, 1 << 20, 8 << 20] {
        let mut table = SlotTable::<&u64, 512>::new();
        while table.capacity() < used {
            table.install(&mut table.grow_request().unwrap().allocate().ok());
        }
        for id in 0..used as u32 {
            assert!(table.set(id, &7).is_ok());
        }
        let rng = &mut Rng::new(1);
        let ids: Vec<u32> = (0..1 << 20).map(|_| rng.below(used) as u32).collect();
        let mut next = ids.iter().cycle();
        let ns = time(ids.len(), || {
            black_box(table.get(*next.next().unwrap()));
        });
        println!("{used:8} {ns:6.1}");
    }
}

/// What the measurements need of an allocator.
trait Ranges {
    fn take(&mut self, size: usize) -> Option<(u32, usize)>;
    fn give(&mut self, index: u32, offset: usize);
    fn free_space(&self) -> (usize, usize);
}

impl Ranges for RangeAlloc<u64> {
    #[inline]
    fn take(&mut self, size: usize) -> Option<(u32, usize)> {
        loop {
            match self.alloc(size, Kind::Sync, Label::default()) {
                Ok(new) => return Some((new.slot.index, new.slot.offset)),
                Err(AllocFail::NeedDescriptors(request)) => {
                    self.install(&mut request.allocate().ok());
                }
                Err(_) => return None,
            }
        }
    }

    #[inline]
    fn give(&mut self, index: u32, _: usize) {
        black_box(self.release(index));
    }

    fn free_space(&self) -> (usize, usize) {
        let largest = self.idle_ranges().map(|range| range.len()).max();
        (RangeAlloc::free_space(self), largest.unwrap_or(0))
    }
}

/// Best fit, lowest address first, with two trees: the yardstick.
struct BestFit {
    by_size: BTreeSet<(usize, usize)>,
    by_end: BTreeMap<usize, usize>,
    used: BTreeMap<usize, usize>,
}

impl BestFit {
    fn new(size: usize) -> Self {
        Self {
            by_size: BTreeSet::from([(size, 0)]),
            by_end: BTreeMap::from([(size, 0)]),
            used: BTreeMap::new(),
        }
    }

    fn insert(&mut self, start: usize, end: usize) {
        self.by_size.insert((end - start, start));
        self.by_end.insert(end, start);
    }

    fn remove(&mut self, start: usize, end: usize) {
        self.by_size.remove(&(end - start, start));
        self.by_end.remove(&end);
    }
}

impl Ranges for BestFit {
    fn take(&mut self, size: usize) -> Option<(u32, usize)> {
        let size = size.max(1).next_multiple_of(8);
        let &(whole, start) = self.by_size.range((size, 0)..).next()?;
        self.remove(start, start + whole);
        if whole > size {
            self.insert(start + size, start + whole);
        }
        self.used.insert(start, size);
        Some((0, start))
    }

    fn give(&mut self, _: u32, offset: usize) {
        let size = self.used.remove(&offset).unwrap();
        let (mut start, mut end) = (offset, offset + size);
        if let Some(&before) = self.by_end.get(&start) {
            self.remove(before, start);
            start = before;
        }
        let after = self.by_end.range(end + 1..).next();
        if let Some((&last, &first)) = after.filter(|(_, &first)| first == end) {
            self.remove(first, last);
            end = last;
        }
        self.insert(start, end);
    }

    fn free_space(&self) -> (usize, usize) {
        let free = self.by_size.iter().map(|range| range.0).sum();
        (free, self.by_size.last().map_or(0, |range| range.0))
    }
}

/// Mostly small, some up to 4 and 32 KiB, a few up to 128 KiB.
fn size(rng: &mut Rng) -> usize {
    match rng.below(1000) {
        0..800 => 64 + rng.below(449),
        800..955 => 512 + rng.below(3585),
        955..995 => 4096 + rng.below(28_673),
        _ => (32 << 10) + rng.below(98_305),
    }
}

/// A load that frees a random buffer whenever `live` are held, or when there is no room.
struct Load<'a, R> {
    ranges: &'a mut R,
    live: usize,
    held: Vec<(u32, usize)>,
    sizes: Vec<usize>,
    choices: Vec<usize>,
    step: usize,
    failed: usize,
}

impl<'a, R: Ranges> Load<'a, R> {
    fn new(ranges: &'a mut R, live: usize) -> Self {
        let rng = &mut Rng::new(3);
        Self {
            ranges,
            live,
            held: Vec::with_capacity(live),
            sizes: (0..1 << 16).map(|_| size(rng)).collect(),
            choices: (0..1 << 16).map(|_| rng.next() as usize).collect(),
            step: 0,
            failed: 0,
        }
    }

    fn step(&mut self) -> (usize, usize) {
        self.step += 1;
        let at = self.step % (1 << 16);
        let (size, choice) = (self.sizes[at], self.choices[at]);
        if self.held.len() >= self.live {
            self.free(choice);
        }
        match self.ranges.take(size) {
            Some((index, offset)) => {
                self.held.push((index, offset));
                (offset, size)
            }
            None => {
                self.failed += 1;
                self.free(choice);
                (0, 0)
            }
        }
    }

    fn free(&mut self, choice: usize) {
        if !self.held.is_empty() {
            let (index, offset) = self.held.swap_remove(choice % self.held.len());
            self.ranges.give(index, offset);
        }
    }

    /// Time, failures of 60,000, pages touched, and fragmentation in per cent.
    fn run(mut self) -> (f64, usize, usize, f64) {
        let (mut pages, mut fragmented) = (BTreeSet::new(), 0.0);
        for step in 0..60_000 {
            let (offset, size) = self.step();
            pages.extend(offset / 4096..(offset + size).div_ceil(4096));
            if step % 60 == 0 {
                let (free, largest) = self.ranges.free_space();
                fragmented += 0.1 * (1.0 - largest as f64 / free.max(1) as f64);
            }
        }
        let failed = self.failed;
        let ns = time(1 << 18, || {
            black_box(self.step());
        });
        (ns, failed, pages.len(), fragmented)
    }
}

#[test]
#[ignore = "prints figures"]
fn buffers() {
    println!("1 MiB, each column ours and best fit: ns per free + allocate, failures of 60,000,");
    println!("pages touched of 256, external fragmentation in %");
    println!("   live      ns          failed        pages       fragmented");
    for live in [1, 2, 4, 16, 64, 256, 1024] {
        let mut ours = RangeAlloc::<u64>::new();
        let mut memory = GrowRequest::first().allocate().ok();
        ours.init(1 << 20, &mut memory).unwrap();
        let a = Load::new(&mut ours, live).run();
        let b = Load::new(&mut BestFit::new(1 << 20), live).run();
        println!(
            "{live:7} {:6.1} {:6.1} {:6} {:6} {:6} {:5} {:8.1} {:4.1}",
            a.0, b.0, a.1, b.1, a.2, b.2, a.3, b.3
        );
    }
}

/// For counting instructions: two million times one buffer beside `held` others.
fn steady(held: usize) {
    let mut ranges = RangeAlloc::<u64>::new();
    let mut memory = GrowRequest::first().allocate().ok();
    ranges.init(1 << 20, &mut memory).unwrap();
    for _ in 0..held {
        ranges.take(200).unwrap();
    }
    let ns = time(2_000_000, || {
        let (index, offset) = ranges.take(black_box(128)).unwrap();
        ranges.give(index, offset);
    });
    println!("one buffer beside {held}: {ns:.1} ns");
}

#[test]
#[ignore = "prints figures"]
fn steady_alone() {
    steady(0);
}

#[test]
#[ignore = "prints figures"]
fn steady_beside_100() {
    steady(100);
}
