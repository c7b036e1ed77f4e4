// SPDX-License-Identifier: GPL-2.0
//! The mapping in which buffers arrive: who may map what, what of it is used,
//! and what happens to a party whose mapping goes.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../mmap/mod.rs"]
mod mmap;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use mmap::{change, rules, size};

fn main() -> ExitCode {
    ktap::main(&cases![
        rules::writable_mapping_is_refused,
        rules::refused_mapping_leaves_room_for_the_right_one,
        rules::mapping_is_read_only_and_private,
        rules::mapping_cannot_be_made_writable,
        rules::second_mapping_is_busy,
        rules::mapping_after_munmap_is_busy,
        rules::child_cannot_map,
        rules::mapping_is_not_inherited_over_fork,
        rules::fork_does_not_disturb_the_parent,
        rules::each_file_has_a_mapping_of_its_own,
        size::buffers_lie_inside_the_mapping,
        size::empty_parcels_have_addresses_of_their_own,
        size::mapping_is_rounded_up_to_pages,
        size::one_page_takes_one_page_of_data,
        size::half_of_the_mapping_is_for_oneway_calls,
        size::only_four_megabytes_are_used,
        size::untouched_page_is_a_bus_error,
        size::page_beyond_four_megabytes_is_a_bus_error,
        size::party_without_mapping_cannot_be_called,
        size::party_without_mapping_can_send,
        size::reply_to_a_party_without_mapping_is_dead,
        change::munmap_is_noticed,
        change::munmap_of_the_last_page_is_noticed,
        change::munmap_of_a_middle_page_is_noticed,
        change::moved_mapping_is_lost,
        change::shrunk_mapping_is_lost,
        change::grown_mapping_is_not_used_further,
        change::caller_that_unmaps_gets_a_dead_reply,
        change::server_that_unmaps_can_still_reply_and_free,
        change::queued_request_survives_munmap,
        change::access_to_the_mapping_does_not_matter_to_the_driver,
    ])
}
