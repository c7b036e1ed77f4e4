// SPDX-License-Identifier: GPL-2.0

//! The rules for blocks against a model that knows trees and single bytes.

use proptest::prelude::*;

use super::*;
use crate::testing::steps;

const START: u32 = 16;

/// An object of a random parcel.
#[derive(Clone, Debug)]
enum Item {
    Block {
        length: u64,
        source: u64,
        parent: Option<Place>,
    },
    Array {
        place: Place,
        count: u64,
    },
    Other,
}

/// A block of the model.
struct Tree {
    object: u64,
    at: u64,
    length: u64,
    source: u64,
    /// By its place in the list.
    parent: Option<usize>,
    /// Where the last thing ends that was written into it.
    written: u64,
}

/// What a byte of the buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Byte {
    Untouched,
    /// The sender's, from this address.
    Copied(u64),
    /// Byte of the address of this place.
    Address(u64, u64),
    Descriptor,
}

#[derive(Default)]
struct Model {
    blocks: Vec<Tree>,
    last: Option<usize>,
    used: u64,
    /// Addresses and descriptors: from, to, and of which block.
    written: Vec<(u64, u64, Option<u64>)>,
}

impl Model {
    /// Whether a place may be written, and if so in which block.
    fn open(&self, place: Place) -> Option<usize> {
        let mut on_the_way = self.last;
        while let Some(index) = on_the_way {
            let block = &self.blocks[index];
            if block.object == place.object {
                return (place.offset >= block.written).then_some(index);
            }
            on_the_way = block.parent;
        }
        None
    }

    fn add(&mut self, object: u64, item: &Item, room: u64) -> Option<()> {
        match *item {
            Item::Other => {}
            Item::Array { place, count } => {
                let index = self.open(place)?;
                let block = &mut self.blocks[index];
                let end = u128::from(place.offset) + 4 * u128::from(count);
                if count > 0 {
                    if end > u128::from(block.length) {
                        return None;
                    }
                    let from = block.at + place.offset;
                    if from % 4 != 0 || (block.source + place.offset) % 4 != 0 {
                        return None;
                    }
                    self.written.push((from, from + 4 * count, None));
                }
                block.written = end as u64;
                self.last = Some(index);
            }
            Item::Block {
                length,
                source,
                parent,
            } => {
                let at = u64::from(START) + self.used;
                if u128::from(self.used) + u128::from(length) > u128::from(room) {
                    return None;
                }
                self.used = (self.used + length).next_multiple_of(8);
                let parent = match parent {
                    None => None,
                    Some(place) => {
                        let index = self.open(place)?;
                        let block = &mut self.blocks[index];
                        let end = u128::from(place.offset) + 8;
                        if end > u128::from(block.length) || place.offset % 4 != 0 {
                            return None;
                        }
                        block.written = place.offset + 8;
                        let from = block.at + place.offset;
                        self.written.push((from, from + 8, Some(at)));
                        Some(index)
                    }
                };
                self.last = Some(self.blocks.len());
                self.blocks.push(Tree {
                    object,
                    at,
                    length,
                    source,
                    parent,
                    written: 0,
                });
            }
        }
        Some(())
    }

    /// All of the buffer: first the sender's bytes, then what replaces them.
    fn image(&self, room: u64) -> Vec<Byte> {
        let mut image = std::vec![Byte::Untouched; (u64::from(START) + room) as usize];
        for block in &self.blocks {
            for byte in 0..block.length {
                image[(block.at + byte) as usize] = Byte::Copied(block.source + byte);
            }
        }
        for &(from, to, of) in &self.written {
            for at in from..to {
                let byte = &mut image[at as usize];
                assert!(matches!(byte, Byte::Copied(_)), "written twice");
                *byte = of.map_or(Byte::Descriptor, |of| Byte::Address(of, at - from));
            }
        }
        image
    }
}

/// The driver's word on a parcel: the number of objects it accepts, and what it fills.
fn driver(items: &[Item], room: u64) -> (usize, Vec<Byte>) {
    let mut rules = Scatter::new(START..START + room as u32);
    let (mut blocks, mut patches) = (Vec::new(), Vec::new());
    let mut image = std::vec![Byte::Untouched; (u64::from(START) + room) as usize];
    let accepted = items.iter().zip(0..).take_while(|(item, object)| {
        let added = match **item {
            Item::Other => Ok(None),
            Item::Array { place, count } => {
                let array = rules.array(&mut blocks, &mut patches, &ArrayRequest { place, count });
                array.map(|array| array.map(|array| array.patch))
            }
            Item::Block {
                length,
                source,
                parent,
            } => {
                let request = BlockRequest {
                    object: *object,
                    source,
                    length,
                    parent,
                };
                rules
                    .block(&mut blocks, &mut patches, &request)
                    .map(|(block, patch)| {
                        blocks.push(block);
                        patch
                    })
            }
        };
        added.map(|patch| patches.extend(patch)).is_ok()
    });
    let accepted = accepted.count();
    let put = |image: &mut [Byte], at: usize, byte| {
        assert_eq!(image[at], Byte::Untouched, "byte {at} is written twice");
        image[at] = byte;
    };
    let filled = fill(&blocks, &patches, |step| {
        match step {
            Step::Copy { at, source, len } => {
                assert!(len > 0);
                (0..len).for_each(|n| put(&mut image, at + n, Byte::Copied(source + n as u64)));
            }
            Step::Address { at, of } => {
                (0..8).for_each(|n| put(&mut image, at + n, Byte::Address(of as u64, n as u64)));
            }
        }
        Ok::<(), ()>(())
    });
    assert_eq!(filled, Ok(()));
    (accepted, image)
}

/// A place in an object, which is named by how many objects it is before this one.
fn place() -> impl Strategy<Value = Place> {
    let offset = prop_oneof![
        6 => (0u64..6).prop_map(|n| n * 8),
        4 => (0u64..12).prop_map(|n| n * 4),
        1 => 0u64..100,
        1 => Just(u64::MAX - 3),
    ];
    let back = prop_oneof![12 => 1u64..5, 1 => 0u64..9];
    (back, offset).prop_map(|(object, offset)| Place { object, offset })
}

fn item() -> impl Strategy<Value = Item> {
    let length = prop_oneof![4 => 0u64..100, 1 => 0u64..400, 1 => Just(u64::MAX)];
    let source = prop_oneof![8 => Just(0u64), 1 => 0u64..8];
    let source = (1u64..1000, source).prop_map(|(page, shift)| page * 4096 + shift);
    let block = (length, source, prop::option::of(place())).prop_map(|(length, source, parent)| {
        Item::Block {
            length,
            source,
            parent,
        }
    });
    let count = prop_oneof![8 => 0u64..6, 1 => Just(1 << 62), 1 => Just(u64::MAX)];
    let array = (place(), count).prop_map(|(place, count)| Item::Array { place, count });
    prop_oneof![6 => block, 3 => array, 1 => Just(Item::Other)]
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    prop::collection::vec(item(), 0..9).prop_map(|mut items| {
        for (item, object) in items.iter_mut().zip(0u64..) {
            if let Item::Array { place, .. }
            | Item::Block {
                parent: Some(place),
                ..
            } = item
            {
                place.object = object.wrapping_sub(place.object);
            }
        }
        items
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: steps(40_000) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn driver_and_model_agree(
        items in items(),
        room in (0u64..80).prop_map(|n| n * 8),
    ) {
        let (accepted, image) = driver(&items, room);
        let mut model = Model::default();
        let accepts = |(item, object): &(&Item, u64)| model.add(*object, item, room).is_some();
        let expected = items.iter().zip(0..).take_while(accepts).count();
        prop_assert_eq!(accepted, expected);
        if accepted < items.len() {
            return Ok(());
        }
        let mut seen = image;
        for (seen, model) in seen.iter_mut().zip(model.image(room)) {
            // The numbers of descriptors are written when they are known.
            if model == Byte::Descriptor && *seen == Byte::Untouched {
                *seen = Byte::Descriptor;
            }
        }
        prop_assert_eq!(seen, model.image(room));
    }
}
