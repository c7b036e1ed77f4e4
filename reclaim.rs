// SPDX-License-Identifier: GPL-2.0

//! What the driver gives back when memory is short: capacity for handles that a process does
//! not use.
//!
//! A release already gives back all but one step, see [`crate::id_pool::Keep`]; so there is
//! something to be had of processes that once had many handles, and are idle now.
//!
//! Called in the middle of allocations, also of the driver's own: nothing here sleeps for a
//! lock that may be held during one.

use crate::registry;

/// How many ids could be given back; 0 also if that cannot be found out now.
pub(crate) fn count() -> usize {
    let mut spare = 0_usize;
    registry::try_for_each(|process| {
        spare = spare.saturating_add(process.spare_handles());
        true
    });
    spare
}

/// Gives back about as many ids as are `wanted`. Returns how many it were.
pub(crate) fn scan(wanted: usize) -> usize {
    let mut done = 0_usize;
    registry::try_for_each(|process| {
        done = done.saturating_add(process.give_back_handles());
        done < wanted
    });
    done
}
