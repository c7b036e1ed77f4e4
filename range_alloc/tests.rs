// SPDX-License-Identifier: GPL-2.0

//! Unit tests of the allocator, and a test against a naive model (`model`, on the host).

#[cfg(test)]
mod model;

use super::*;
use crate::grow::Request;

type Alloc = RangeAlloc<u64, 32>;

const PID: i32 = 7;
const ONEWAY: Kind = Kind::Oneway { sender: PID };

fn mapped(size: usize) -> Alloc {
    let mut alloc = Alloc::new();
    let mut memory = GrowRequest::first().allocate().ok();
    assert_eq!(alloc.init(size, &mut memory), Ok(()));
    assert!(memory.is_none());
    alloc
}

/// Allocates as the driver does, growing when asked to.
fn get(alloc: &mut Alloc, size: usize, kind: Kind) -> Result<Allocated, AllocFail<u64, 32>> {
    loop {
        match alloc.alloc(size, kind, Label::default()) {
            Err(AllocFail::NeedDescriptors(request)) => {
                alloc.install(&mut request.allocate().ok());
            }
            result => return result,
        }
    }
}

fn slot(alloc: &mut Alloc, size: usize) -> Slot {
    get(alloc, size, Kind::Sync).unwrap().slot
}

/// Checks every invariant that the documentation of the types states.
fn check<T, const N: usize>(alloc: &RangeAlloc<T, N>) {
    let (mut at, mut prev, mut end) = (alloc.first, NONE, 0);
    let (mut free, mut buffers, mut free_ranges, mut was_free) = (0, 0, 0, false);
    while let Some(range) = alloc.ranges.get(at) {
        assert_eq!(
            (range.offset, range.prev),
            (end, prev),
            "gap, overlap or bad link"
        );
        assert!(range.size > 0 && range.size % UNIT == 0);
        if range.state == State::Free {
            assert!(!was_free, "two free ranges are neighbours");
            free += range.size;
            free_ranges += 1;
        } else {
            assert!(range.state.is_buffer());
            assert_eq!(alloc.find(range.offset as usize).unwrap().0.index, at);
            buffers += 1;
        }
        was_free = range.state == State::Free;
        end += range.size;
        prev = at;
        at = range.next;
    }
    assert_eq!(end, alloc.size);
    assert_eq!(free, alloc.free);
    assert_eq!(buffers, alloc.buffers());
    assert_eq!(alloc.bins.count(&alloc.ranges), free_ranges);
    assert_eq!(alloc.idle_ranges().count(), free_ranges);
}

#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_range_alloc))]
mod cases {
    use super::*;
    use crate::testing::{steps, Vec};

    #[test]
    fn without_mapping_nothing_works() {
        let mut alloc = Alloc::new();
        assert!(matches!(
            alloc.alloc(8, Kind::Sync, Label::default()),
            Err(AllocFail::NotMapped)
        ));
        assert_eq!(alloc.begin_free_by_offset(0), Err(FreeError::NotFound));
        assert!(alloc.release(0).is_none());
        assert!(alloc.pop_any().is_none());
        assert!(alloc.trim().is_none());
        assert_eq!((alloc.size(), alloc.bytes()), (0, 0));
    }

    #[test]
    fn maps_once_and_at_most_the_limit() {
        let mut alloc = mapped(MAX_MAPPING + 4096);
        assert_eq!(alloc.size(), MAX_MAPPING);
        assert_eq!(alloc.free_oneway_space(), MAX_MAPPING / 2);
        let mut memory = GrowRequest::first().allocate().ok();
        assert_eq!(alloc.init(4096, &mut memory), Err(InitError::Mapped));
        let mut other = Alloc::new();
        assert_eq!(other.init(7, &mut memory), Err(InitError::TooSmall));
        assert_eq!(other.init(4096, &mut None), Err(InitError::NoMemory));
        assert_eq!(other.init(4096, &mut memory), Ok(()));
        check(&alloc);
    }

    #[test]
    fn rounds_to_eight_with_a_minimum() {
        let mut alloc = mapped(4096);
        assert_eq!(slot(&mut alloc, 0).size, 8);
        assert_eq!(slot(&mut alloc, 1).size, 8);
        assert_eq!(slot(&mut alloc, 8).size, 8);
        let last = slot(&mut alloc, 9);
        assert_eq!((last.offset, last.size), (24, 16));
        assert_eq!(alloc.free_space(), 4096 - 40);
        check(&alloc);
    }

    #[test]
    fn all_can_be_used_and_no_more() {
        let mut alloc = mapped(4096);
        assert!(matches!(
            get(&mut alloc, 4097, Kind::Sync),
            Err(AllocFail::TooBig)
        ));
        assert!(matches!(
            get(&mut alloc, usize::MAX, Kind::Sync),
            Err(AllocFail::TooBig)
        ));
        let all = slot(&mut alloc, 4089);
        assert_eq!((all.offset, all.size), (0, 4096));
        assert!(matches!(
            get(&mut alloc, 0, Kind::Sync),
            Err(AllocFail::NoSpace)
        ));
        let released = alloc.release(all.index).unwrap();
        assert_eq!((released.slot, released.idle), (all, 0..4096));
        check(&alloc);
    }

    #[test]
    fn one_buffer_at_a_time_stays_at_the_start() {
        let mut alloc = mapped(1 << 20);
        for size in (8..2000).step_by(8) {
            let only = slot(&mut alloc, size);
            assert_eq!(only.offset, 0);
            alloc.release(only.index).unwrap();
        }
        assert_eq!(alloc.descriptors(), 32);
    }

    #[test]
    fn overlapping_buffers_do_not_walk_through_the_mapping() {
        let mut alloc = mapped(1 << 20);
        let mut held = slot(&mut alloc, 4000);
        for _ in 0..steps(1000) {
            let next = slot(&mut alloc, 4000);
            assert!(next.offset + next.size <= 8000);
            alloc.release(held.index).unwrap();
            held = next;
        }
    }

    #[test]
    fn merges_on_both_sides() {
        let mut alloc = mapped(4096);
        let slots: Vec<Slot> = (0..4).map(|_| slot(&mut alloc, 64)).collect();
        assert_eq!(alloc.release(slots[0].index).unwrap().idle, 0..64);
        assert_eq!(alloc.release(slots[2].index).unwrap().idle, 128..192);
        check(&alloc);
        assert_eq!(alloc.release(slots[1].index).unwrap().idle, 0..192);
        check(&alloc);
        assert_eq!(alloc.release(slots[3].index).unwrap().idle, 0..4096);
        check(&alloc);
    }

    #[test]
    fn the_exact_class_is_searched_to_its_end() {
        let mut alloc = mapped(64 << 10);
        // 32 holes of one class, of which only the one that is last in its list fits.
        let fits = slot(&mut alloc, 1040);
        let mut holes = Vec::new();
        for _ in 0..31 {
            slot(&mut alloc, 8);
            holes.push(slot(&mut alloc, 1032));
        }
        slot(&mut alloc, 8);
        let rest = alloc.idle_ranges().next().unwrap().len();
        slot(&mut alloc, rest);
        alloc.release(fits.index).unwrap();
        for hole in holes {
            alloc.release(hole.index).unwrap();
        }
        check(&alloc);
        assert_eq!(slot(&mut alloc, 1040).offset, fits.offset);
        assert!(matches!(
            get(&mut alloc, 1040, Kind::Sync),
            Err(AllocFail::NoSpace)
        ));
    }

    #[test]
    fn only_delivered_buffers_can_be_freed_and_only_once() {
        let mut alloc = mapped(4096);
        slot(&mut alloc, 8);
        let buffer = slot(&mut alloc, 100);
        assert_eq!(alloc.begin_free_by_offset(8), Err(FreeError::NotDelivered));
        assert_eq!(alloc.mark_delivered(buffer.index), Ok(()));
        assert_eq!(alloc.mark_delivered(buffer.index), Err(WrongState));
        for wrong in [0, 16, 104, 112, 4096, usize::MAX] {
            assert!(alloc.begin_free_by_offset(wrong).is_err());
        }
        assert_eq!(alloc.begin_free_by_offset(8), Ok(buffer.index));
        assert_eq!(alloc.begin_free_by_offset(8), Err(FreeError::BeingFreed));
        assert!(alloc.release(buffer.index).is_some());
        assert_eq!(alloc.begin_free_by_offset(8), Err(FreeError::NotFound));
        assert!(alloc.release(buffer.index).is_none());
        assert_eq!(alloc.mark_delivered(buffer.index), Err(WrongState));
    }

    #[test]
    fn keeps_a_payload() {
        let mut alloc = mapped(4096);
        let buffer = slot(&mut alloc, 100);
        assert_eq!(alloc.payload(buffer.index), None);
        assert_eq!(alloc.set_payload(buffer.index, 5), Ok(None));
        assert_eq!(alloc.set_payload(buffer.index, 6), Ok(Some(5)));
        *alloc.payload_mut(buffer.index).unwrap() += 1;
        assert_eq!(alloc.take_payload(buffer.index), Some(7));
        assert_eq!(alloc.set_payload(buffer.index, 8), Ok(None));
        assert_eq!(alloc.slot(buffer.index), Some(buffer));
        assert_eq!(alloc.release(buffer.index).unwrap().payload, Some(8));
        assert_eq!(alloc.set_payload(buffer.index, 9), Err(9));
        assert_eq!(alloc.slot(buffer.index), None);
        assert_eq!(alloc.set_payload(u32::MAX, 9), Err(9));
    }

    #[test]
    fn oneway_requests_have_half_of_the_mapping() {
        let mut alloc = mapped(4096);
        assert!(matches!(
            get(&mut alloc, 2049, ONEWAY),
            Err(AllocFail::OnewayQuota)
        ));
        let half = get(&mut alloc, 2041, ONEWAY).unwrap().slot;
        assert_eq!(alloc.free_oneway_space(), 0);
        assert!(matches!(
            get(&mut alloc, 0, ONEWAY),
            Err(AllocFail::OnewayQuota)
        ));
        slot(&mut alloc, 2048);
        alloc.release(half.index).unwrap();
        assert_eq!(alloc.free_oneway_space(), 2048);
    }

    #[test]
    fn small_oneway_requests_use_up_the_room_too() {
        let mut alloc = mapped(4096);
        let mut slots = Vec::new();
        while let Ok(new) = get(&mut alloc, 0, ONEWAY) {
            slots.push(new.slot);
        }
        assert_eq!(slots.len(), 256);
        for slot in slots {
            alloc.release(slot.index).unwrap();
        }
        assert_eq!(alloc.free_oneway_space(), 2048);
        check(&alloc);
    }

    /// Leaves less than a tenth of a mapping of 1 MiB for oneway requests, without a suspect.
    fn fill_oneway(alloc: &mut Alloc) -> [Slot; 2] {
        [1, 2].map(|sender| {
            let new = get(alloc, 206 << 10, Kind::Oneway { sender }).unwrap();
            assert_eq!(new.spam, Spam::No);
            new.slot
        })
    }

    #[test]
    fn spam_by_number_is_reported_once_until_recovered() {
        let mut alloc = mapped(1 << 20);
        for _ in 0..2 {
            let fillers = fill_oneway(&mut alloc);
            let mut suspects = Vec::new();
            let mut slots = Vec::new();
            for n in 1..=60 {
                let new = get(&mut alloc, 8, ONEWAY).unwrap();
                slots.push(new.slot);
                if new.spam == Spam::Suspect {
                    suspects.push(n);
                }
            }
            assert_eq!(suspects, [51]);
            // Freeing alone does not rearm: a request has to find enough room.
            for slot in slots.iter().chain(&fillers) {
                alloc.release(slot.index).unwrap();
            }
            let new = get(&mut alloc, 8, ONEWAY).unwrap();
            assert_eq!(new.spam, Spam::No);
            alloc.release(new.slot.index).unwrap();
        }
    }

    #[test]
    fn spam_by_size_is_reported() {
        let mut alloc = mapped(1 << 20);
        let other = Kind::Oneway { sender: PID + 1 };
        assert_eq!(get(&mut alloc, 200 << 10, other).unwrap().spam, Spam::No);
        assert_eq!(get(&mut alloc, 200 << 10, ONEWAY).unwrap().spam, Spam::No);
        // 112 KiB of 1 MiB are left: a tenth or more.
        assert_eq!(
            get(&mut alloc, 60 << 10, ONEWAY).unwrap().spam,
            Spam::Suspect
        );
        assert_eq!(get(&mut alloc, 8, ONEWAY).unwrap().spam, Spam::No);
    }

    #[test]
    fn teardown_and_trim() {
        let mut alloc = mapped(64 << 10);
        let small = alloc.bytes();
        for sender in 0..500 {
            let new = get(&mut alloc, 8, Kind::Oneway { sender }).unwrap();
            assert_eq!(alloc.set_payload(new.slot.index, sender as u64), Ok(None));
        }
        assert!(alloc.trim().is_none());
        assert!(alloc.bytes() > 10 * small);
        let order: Vec<_> = alloc
            .iter()
            .map(|(slot, _, payload)| (slot, payload.copied()))
            .collect();
        for expected in order {
            assert_eq!(alloc.pop_any(), Some(expected));
        }
        assert!(alloc.pop_any().is_none());
        check(&alloc);
        assert!(alloc.trim().is_some());
        check(&alloc);
        assert_eq!((alloc.bytes(), alloc.descriptors()), (small, 32));
        assert_eq!(alloc.free_oneway_space(), 32 << 10);
        assert_eq!(get(&mut alloc, 8, ONEWAY).unwrap().slot.offset, 0);
        check(&alloc);
    }

    #[test]
    fn spam_is_not_looked_for_while_a_tenth_is_left() {
        let mut alloc = mapped(1 << 20);
        let share = 103 << 10; // a tenth of the mapping, and a little more
        for sender in [1, 2] {
            let size = ((1 << 19) - share) / 2 - 800;
            get(&mut alloc, size, Kind::Oneway { sender }).unwrap();
        }
        for _ in 0..100 {
            assert_eq!(get(&mut alloc, 8, ONEWAY).unwrap().spam, Spam::No);
        }
        assert!(alloc.free_oneway_space() < share + 1600);
    }

    /// Buffers were released while the memory for more was allocated: none may get lost.
    #[test]
    fn memory_that_comes_late_joins_what_is_spare() {
        let mut alloc = mapped(64 << 10);
        let mut slots = Vec::new();
        let request = loop {
            match alloc.alloc(8, Kind::Sync, Label::default()) {
                Err(AllocFail::NeedDescriptors(request)) => break request,
                result => slots.push(result.unwrap().slot),
            }
        };
        for slot in slots {
            alloc.release(slot.index).unwrap();
        }
        alloc.install(&mut request.allocate().ok());
        assert_eq!(alloc.descriptors(), 64);
        for _ in 1..64 {
            assert!(alloc.alloc(8, Kind::Sync, Label::default()).is_ok());
        }
        check(&alloc);
    }

    #[test]
    fn outdated_memory_is_given_back() {
        let mut alloc = mapped(64 << 10);
        let request = loop {
            match alloc.alloc(8, Kind::Sync, Label::default()) {
                Err(AllocFail::NeedDescriptors(request)) => break request,
                result => drop(result.unwrap()),
            }
        };
        let mut late = request.allocate().ok();
        slot(&mut alloc, 8);
        alloc.install(&mut late);
        assert!(late.is_some());
        check(&alloc);
    }

    #[test]
    #[cfg(test)]
    fn without_memory_nothing_changes() {
        let mut alloc = mapped(64 << 10);
        let request = loop {
            match alloc.alloc(8, Kind::Sync, Label::default()) {
                Err(AllocFail::NeedDescriptors(request)) => break request,
                result => drop(result.unwrap()),
            }
        };
        crate::shim::fail_after(Some(0));
        assert!(request.allocate().is_err());
        crate::shim::fail_after(None);
        check(&alloc);
        slot(&mut alloc, 8);
        check(&alloc);
    }
}
