// SPDX-License-Identifier: GPL-2.0

//! The rules for blocks, by example, and against a model (`model`, on the host).

#[cfg(test)]
mod model;

use super::*;
use crate::testing::Vec;

/// The parcel of an example: room for 1024 bytes of blocks, from 64 on.
struct Parcel {
    rules: Scatter,
    blocks: Vec<Block>,
    patches: Vec<Patch>,
    objects: u32,
}

type Outcome<T> = Result<T, Refusal>;

const REFUSED: Refusal = Refusal::Invalid;

impl Parcel {
    fn new() -> Self {
        Self {
            rules: Scatter::new(64..64 + 1024),
            blocks: Vec::new(),
            patches: Vec::new(),
            objects: 0,
        }
    }

    /// Adds a block that the sender has at a thousand times its number.
    fn block(&mut self, length: u64, parent: Option<(u64, u64)>) -> Outcome<usize> {
        let request = BlockRequest {
            object: self.objects,
            source: u64::from(self.objects) * 1000,
            length,
            parent: parent.map(|(object, offset)| Place { object, offset }),
        };
        self.objects += 1;
        let (block, patch) = self
            .rules
            .block(&mut self.blocks, &mut self.patches, &request)?;
        self.blocks.push(block);
        self.patches.extend(patch);
        Ok(block.at())
    }

    /// Adds an array. Returns where the sender has it, and where it goes.
    fn array(&mut self, object: u64, offset: u64, count: u64) -> Outcome<Option<(u64, usize)>> {
        let place = Place { object, offset };
        self.objects += 1;
        let array = self.rules.array(
            &mut self.blocks,
            &mut self.patches,
            &ArrayRequest { place, count },
        )?;
        self.patches.extend(array.map(|array| array.patch));
        Ok(array.map(|array| (array.source, array.at)))
    }

    /// Adds an object that is neither.
    fn other(&mut self) {
        self.objects += 1;
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let all = fill(&self.blocks, &self.patches, |step| {
            steps.push(step);
            Ok::<(), ()>(())
        });
        assert_eq!(all, Ok(()));
        steps
    }
}

impl Clone for Parcel {
    fn clone(&self) -> Self {
        Self {
            rules: self.rules.clone(),
            blocks: self.blocks.clone(),
            patches: self.patches.clone(),
            objects: self.objects,
        }
    }
}

#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_scatter))]
mod cases {
    use super::*;

    #[test]
    fn blocks_lie_at_multiples_of_eight() {
        let mut parcel = Parcel::new();
        assert_eq!(parcel.block(13, None), Ok(64));
        assert_eq!(parcel.block(0, None), Ok(80));
        assert_eq!(parcel.block(8, None), Ok(80));
        assert_eq!(parcel.block(1, None), Ok(88));
    }

    #[test]
    fn room_is_used_to_its_last_byte() {
        let mut parcel = Parcel::new();
        assert_eq!(parcel.block(1024, None), Ok(64));
        assert_eq!(parcel.block(0, None), Ok(64 + 1024));
        assert_eq!(parcel.block(1, None), Err(REFUSED));
        for length in [1025, u64::from(u32::MAX), 1 << 32, u64::MAX] {
            assert_eq!(Parcel::new().block(length, None), Err(REFUSED));
        }
    }

    #[test]
    fn block_hangs_from_an_earlier_block() {
        let mut parcel = Parcel::new();
        parcel.other();
        assert_eq!(parcel.block(16, None), Ok(64));
        assert_eq!(parcel.block(8, Some((1, 8))), Ok(80));
        for object in [0, 3, 4, 1 << 32, u64::MAX] {
            let mut parcel = Parcel::new();
            parcel.other();
            assert_eq!(parcel.block(64, None), Ok(64));
            assert_eq!(parcel.block(8, Some((object, 0))), Err(REFUSED));
        }
    }

    #[test]
    fn first_block_has_no_parent() {
        assert_eq!(Parcel::new().block(64, Some((0, 0))), Err(REFUSED));
        assert_eq!(Parcel::new().array(0, 0, 0), Err(REFUSED));
    }

    #[test]
    fn address_fits_into_the_parent() {
        for (length, offset, outcome) in [
            (8, 0, Ok(72)),
            (16, 8, Ok(80)),
            (16, 4, Ok(80)),
            (16, 3, Err(REFUSED)),
            (16, 6, Err(REFUSED)),
            (16, 9, Err(REFUSED)),
            (7, 0, Err(REFUSED)),
            (0, 0, Err(REFUSED)),
            (16, u64::MAX, Err(REFUSED)),
            (16, u64::MAX - 7, Err(REFUSED)),
        ] {
            let mut parcel = Parcel::new();
            parcel.block(length, None).expect("a parent");
            let seen = parcel.block(1, Some((0, offset)));
            assert_eq!(seen, outcome);
        }
    }

    #[test]
    fn addresses_ascend_and_do_not_overlap() {
        for (second, works) in [(0, false), (8, false), (15, false), (16, true), (24, true)] {
            let mut parcel = Parcel::new();
            parcel.block(64, None).expect("a parent");
            parcel.block(8, Some((0, 8))).expect("a child");
            assert_eq!(parcel.block(8, Some((0, second))).is_ok(), works);
        }
    }

    #[test]
    fn only_what_hangs_together_stays_open() {
        let mut parcel = Parcel::new();
        parcel.block(64, None).expect("a parent");
        parcel.block(64, Some((0, 0))).expect("a child");
        parcel.block(64, Some((1, 0))).expect("a grandchild");
        parcel.block(64, Some((0, 8))).expect("another child");
        assert_eq!(parcel.clone().block(8, Some((1, 8))), Err(REFUSED));
        assert_eq!(parcel.clone().block(8, Some((2, 8))), Err(REFUSED));
        parcel.block(64, None).expect("another root");
        for object in 0..4 {
            assert_eq!(parcel.clone().block(8, Some((object, 32))), Err(REFUSED));
        }
        assert!(parcel.block(8, Some((4, 0))).is_ok());
    }

    #[test]
    fn array_lies_in_its_parent() {
        for (offset, count, outcome) in [
            (0, 1, Ok(Some((0, 64)))),
            (4, 3, Ok(Some((4, 68)))),
            (0, 5, Err(REFUSED)),
            (4, 4, Err(REFUSED)),
            (16, 1, Err(REFUSED)),
            (2, 1, Err(REFUSED)),
            (u64::MAX - 3, 1, Err(REFUSED)),
            (0, 1 << 62, Err(REFUSED)),
            (0, (1 << 30) + 1, Err(REFUSED)),
            (0, u64::MAX / 4, Err(REFUSED)),
            (0, u64::MAX, Err(REFUSED)),
        ] {
            let mut parcel = Parcel::new();
            parcel.block(16, None).expect("a parent");
            assert_eq!(parcel.array(0, offset, count), outcome);
        }
    }

    #[test]
    fn empty_array_may_stand_anywhere() {
        for offset in [0, 2, 16, 17, u64::MAX] {
            let mut parcel = Parcel::new();
            parcel.block(16, None).expect("a parent");
            assert_eq!(parcel.array(0, offset, 0), Ok(None));
            assert_eq!(parcel.array(0, offset, 0), Ok(None));
            if offset > 0 {
                assert_eq!(parcel.array(0, offset - 1, 0), Err(REFUSED));
            }
        }
    }

    #[test]
    fn array_is_aligned_at_both_ends() {
        let mut parcel = Parcel::new();
        let request = BlockRequest {
            object: 0,
            source: 1002,
            length: 16,
            parent: None,
        };
        let (block, _) = parcel
            .rules
            .block(&mut [], &mut [], &request)
            .expect("a block");
        parcel.blocks.push(block);
        assert_eq!(parcel.clone().array(0, 0, 1), Err(REFUSED));
        assert_eq!(parcel.clone().array(0, 2, 1), Err(REFUSED));
        parcel.blocks[0].source = 1000;
        assert_eq!(parcel.array(0, 2, 1), Err(REFUSED));
    }

    #[test]
    fn arrays_and_addresses_share_the_order() {
        let mut parcel = Parcel::new();
        parcel.block(64, None).expect("a parent");
        parcel.array(0, 0, 3).expect("an array");
        assert_eq!(parcel.clone().array(0, 8, 1), Err(REFUSED));
        assert_eq!(parcel.clone().block(8, Some((0, 8))), Err(REFUSED));
        parcel.block(8, Some((0, 12))).expect("a child");
        assert_eq!(parcel.clone().array(0, 16, 1), Err(REFUSED));
        assert_eq!(parcel.array(0, 20, 1), Ok(Some((20, 84))));
    }

    #[test]
    fn patched_bytes_are_never_copied() {
        let mut parcel = Parcel::new();
        parcel.block(32, None).expect("a parent");
        parcel.block(12, Some((0, 8))).expect("a child");
        parcel.array(1, 4, 1).expect("an array in the child");
        parcel.array(0, 20, 3).expect("an array behind the address");
        let copy = |at, source, len| Step::Copy { at, source, len };
        let expected = [
            copy(64, 0, 8),
            Step::Address { at: 72, of: 96 },
            copy(80, 16, 4),
            copy(96, 1000, 4),
            copy(104, 1008, 4),
        ];
        assert_eq!(parcel.steps(), expected);
    }

    #[test]
    fn filling_ends_with_the_first_error() {
        let mut parcel = Parcel::new();
        parcel.block(8, None).expect("a block");
        parcel.block(8, None).expect("a block");
        let mut count = 0;
        let result = fill(&parcel.blocks, &parcel.patches, |_| {
            count += 1;
            Err("a fault")
        });
        assert_eq!((result, count), (Err("a fault"), 1));
    }
}
