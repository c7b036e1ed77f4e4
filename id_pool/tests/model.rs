// SPDX-License-Identifier: GPL-2.0

//! A test of the id pool against a sorted set.

use super::*;
use crate::testing::{steps, Rng};
use std::collections::BTreeSet;

/// The used and the free ids below a limit that no test reaches.
struct Model {
    used: BTreeSet<u32>,
    free: BTreeSet<u32>,
}

impl Model {
    fn lowest_free(&self, from: u32) -> Option<u32> {
        self.free.range(from..).next().copied()
    }

    fn take(&mut self, id: u32) -> bool {
        self.used.insert(id);
        self.free.remove(&id)
    }

    fn give(&mut self, id: u32) -> bool {
        self.free.insert(id);
        self.used.remove(&id)
    }
}

/// Random operations, with sizes that wander across the edges of words and blocks.
#[test]
#[cfg_attr(miri, ignore = "takes minutes under Miri")]
fn behaves_like_a_sorted_set() {
    for (seed, limit) in [(1, 70), (2, 130), (3, 4200), (4, 9000), (5, 270_000)] {
        let rng = &mut Rng::new(seed);
        let mut pool = IdPool::new();
        let mut model = Model {
            used: BTreeSet::new(),
            free: (0..2 * limit as u32 + 4 * STEP).collect(),
        };
        let mut target = limit;
        for step in 1..steps(1_000_000) {
            if step % (2 * limit) == 0 {
                target = rng.below(limit + 1);
            }
            change(rng, &mut pool, &mut model, target);
            compare(rng, &pool, &model);
        }
        assert!(pool.iter().eq(model.used.iter().copied()));
    }
}

fn change(rng: &mut Rng, pool: &mut IdPool, model: &mut Model, target: usize) {
    let near = rng.below(pool.capacity() as usize + 2) as u32;
    match rng.below(100) {
        0 => reserve(pool, model, near),
        1 => drop(pool.shrink(Keep::OneSpare)),
        2 if rng.below(50) == 0 => crate::grow::give_back(|| pool.shrink(Keep::Nothing)),
        _ if model.used.len() < target || rng.below(4) == 0 => {
            let from = rng.below(2) as u32;
            match pool.alloc(from) {
                Some(id) => {
                    assert_eq!(Some(id), model.lowest_free(from));
                    assert!(model.take(id));
                }
                None => grow(pool),
            }
        }
        _ => {
            let next = model.used.range(near..).next();
            let id = next.copied().unwrap_or(near);
            assert_eq!(pool.release(id).is_ok(), model.give(id));
        }
    }
}

fn reserve(pool: &mut IdPool, model: &mut Model, id: u32) {
    let expected = match (id < pool.capacity(), model.used.contains(&id)) {
        (false, _) => Err(ReserveError::OutOfRange),
        (_, true) => Err(ReserveError::Used),
        _ => Ok(()),
    };
    assert_eq!(pool.reserve(id), expected);
    assert_eq!(expected.is_ok() && model.take(id), expected.is_ok());
}

fn compare(rng: &mut Rng, pool: &IdPool, model: &Model) {
    assert_eq!(pool.len() as usize, model.used.len());
    assert_eq!(pool.highest(), model.used.last().copied());
    let from = rng.below(pool.capacity() as usize + 2) as u32;
    assert_eq!(pool.contains(from), model.used.contains(&from));
    assert_eq!(
        pool.next_used(from),
        model.used.range(from..).next().copied()
    );
    if rng.below(1000) == 0 {
        pool.tree.check();
    }
    let free = model.lowest_free(from);
    assert_eq!(pool.find(from), free.filter(|&id| id < pool.capacity()));
}
