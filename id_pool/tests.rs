// SPDX-License-Identifier: GPL-2.0

//! Unit tests of the id pool, and a test against a sorted set (`model`, on the host).

#[cfg(test)]
mod model;

use super::*;

fn grow(pool: &mut IdPool) {
    let mut block = pool.grow_request().unwrap().allocate().ok();
    pool.install(&mut block);
    assert!(block.is_none());
}

/// A pool in which all ids below `used` are used.
fn filled(used: u32) -> IdPool {
    let mut pool = IdPool::new();
    for id in 0..used {
        if pool.find(0).is_none() {
            grow(&mut pool);
        }
        assert_eq!(pool.alloc(0), Some(id));
    }
    pool
}

#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_id_pool))]
mod cases {
    use super::*;
    use crate::testing::{steps, Vec};

    #[test]
    fn the_first_64_ids_need_no_memory() {
        let mut pool = IdPool::new();
        assert_eq!(
            (pool.highest(), pool.next_used(0), pool.len()),
            (None, None, 0)
        );
        for id in 1..64 {
            assert_eq!(pool.alloc(1), Some(id));
            assert_eq!(pool.highest(), Some(id));
        }
        assert_eq!(pool.alloc(1), None);
        assert_eq!(pool.alloc(0), Some(0));
        assert_eq!(pool.alloc(0), None);
        assert_eq!((pool.len(), pool.capacity(), pool.bytes()), (64, 64, 0));
    }

    #[test]
    fn the_lowest_free_id_comes_first() {
        let mut pool = filled(300);
        for id in [250, 0, 63, 64, 130] {
            assert_eq!(pool.release(id), Ok(()));
        }
        assert_eq!(pool.find(1), Some(63));
        for id in [0, 63, 64, 130, 250, 300] {
            assert_eq!(pool.alloc(0), Some(id));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn from_is_honoured_at_every_level() {
        let mut pool = filled(70_000);
        for from in [0, 1, 63, 64, 4095, 4096, 69_999, 70_000] {
            assert_eq!(pool.find(from), Some(70_000));
        }
        assert_eq!(pool.find(70_001), Some(70_001));
        assert_eq!(pool.find(pool.capacity()), None);
        assert_eq!(pool.find(u32::MAX), None);
        assert_eq!(pool.next_used(u32::MAX), None);
        pool.release(0).unwrap();
        assert_eq!((pool.find(0), pool.find(1)), (Some(0), Some(70_000)));
    }

    #[test]
    fn given_ids_can_be_reserved() {
        let mut pool = IdPool::new();
        assert_eq!(pool.reserve(9), Ok(()));
        assert_eq!(pool.reserve(9), Err(ReserveError::Used));
        assert_eq!(pool.reserve(64), Err(ReserveError::OutOfRange));
        grow(&mut pool);
        assert_eq!(pool.reserve(64), Ok(()));
        assert_eq!(pool.reserve(u32::MAX), Err(ReserveError::OutOfRange));
        assert!(pool.contains(9) && pool.contains(64) && !pool.contains(8));
        assert!(!pool.contains(u32::MAX));
        assert_eq!(pool.iter().collect::<Vec<_>>(), [9, 64]);
    }

    #[test]
    fn only_used_ids_can_be_released() {
        let mut pool = filled(3);
        assert_eq!(pool.release(3), Err(NotUsed));
        assert_eq!(pool.release(64), Err(NotUsed));
        assert_eq!(pool.release(u32::MAX), Err(NotUsed));
        assert_eq!(pool.release(1), Ok(()));
        assert_eq!(pool.release(1), Err(NotUsed));
        assert_eq!(pool.len(), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn grows_past_every_level_and_back() {
        for edge in [64, 4096, 64 * 4096, 65 * 4096, 128 * 4096] {
            let mut pool = filled(edge);
            assert_eq!(pool.find(0), (pool.capacity() > edge).then_some(edge));
            grow(&mut pool);
            assert_eq!((pool.find(0), pool.highest()), (Some(edge), Some(edge - 1)));
            for id in (0..edge).rev() {
                assert_eq!(pool.highest(), Some(id));
                assert_eq!(pool.release(id), Ok(()));
            }
            assert_eq!(pool.highest(), None);
            crate::grow::give_back(|| pool.shrink(Keep::Nothing));
            assert_eq!((pool.capacity(), pool.bytes()), (64, 0));
            assert_eq!(pool.alloc(0), Some(0));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn shrinking_keeps_what_is_used() {
        let mut pool = filled(40_000);
        for id in 5..40_000 {
            pool.release(id).unwrap();
        }
        assert_eq!(pool.reserve(10_000), Ok(()));
        crate::grow::give_back(|| pool.shrink(Keep::OneSpare));
        assert_eq!(pool.capacity(), 4 * STEP);
        crate::grow::give_back(|| pool.shrink(Keep::Nothing));
        assert_eq!(pool.capacity(), 3 * STEP);
        assert_eq!(pool.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 10_000]);
        pool.release(10_000).unwrap();
        crate::grow::give_back(|| pool.shrink(Keep::Nothing));
        assert_eq!((pool.capacity(), pool.bytes(), pool.len()), (64, 0, 5));
        assert_eq!((pool.highest(), pool.alloc(0)), (Some(4), Some(5)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn no_thrashing_at_the_end_of_a_step() {
        let mut pool = filled(2 * STEP);
        for _ in 0..10 {
            assert_eq!(pool.find(0).is_none(), pool.capacity() == 2 * STEP);
            if pool.find(0).is_none() {
                grow(&mut pool);
            }
            let id = pool.alloc(0).unwrap();
            pool.release(id).unwrap();
            assert!(pool.shrink(Keep::OneSpare).is_none());
        }
        assert_eq!(pool.capacity(), 3 * STEP);
    }

    #[test]
    fn outdated_memory_is_given_back() {
        let mut pool = filled(64);
        let mut late = pool.grow_request().unwrap().allocate().ok();
        grow(&mut pool);
        pool.install(&mut late);
        assert!(late.is_some());
        assert_eq!(pool.capacity(), STEP);
        let mut late = pool.grow_request().unwrap().allocate().ok();
        assert!(pool.shrink(Keep::Nothing).is_some());
        pool.install(&mut late);
        assert!(late.is_some());
        assert_eq!((pool.capacity(), pool.len()), (64, 64));
    }

    #[test]
    #[cfg(test)]
    fn without_memory_nothing_changes() {
        for allowed in 0..2 {
            let pool = filled(64);
            crate::shim::fail_after(Some(allowed));
            assert!(pool.grow_request().unwrap().allocate().is_err());
            crate::shim::fail_after(None);
            assert_eq!((pool.capacity(), pool.len(), pool.bytes()), (64, 64, 0));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes minutes under Miri")]
    fn memory_is_little_more_than_one_bit_per_id() {
        let pool = filled(steps(1_000_000) as u32);
        assert!(pool.bytes() < pool.capacity() as usize / 8 * 105 / 100 + 8192);
    }
}
