// SPDX-License-Identifier: GPL-2.0
//! Scatter-gather: blocks beside the data, addresses of blocks in blocks, and
//! arrays of descriptors, which are closed when their buffer is freed.

#[path = "../scatter/arrays.rs"]
mod arrays;
#[path = "../scatter/blocks.rs"]
mod blocks;
#[path = "../scatter/bugs.rs"]
mod bugs;
#[path = "../scatter/closing.rs"]
mod closing;
#[path = "../scatter/mod.rs"]
mod common;
#[path = "../scatter/hostile.rs"]
mod hostile;
#[path = "../scatter/parents.rs"]
mod parents;
#[path = "../scatter/races.rs"]
mod races;
#[path = "../scatter/random.rs"]
mod random;
#[path = "../scatter/reference.rs"]
mod reference;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        blocks::block_arrives_in_the_receiver,
        blocks::blocks_lie_one_after_the_other,
        blocks::block_may_start_anywhere_at_the_sender,
        blocks::block_of_many_pages_arrives,
        blocks::empty_block_has_an_address,
        blocks::empty_block_needs_no_room,
        blocks::empty_block_is_not_read,
        blocks::block_travels_in_a_call_and_its_reply,
        blocks::blocks_and_references_travel_together,
        blocks::other_fields_of_a_block_are_not_touched,
        blocks::room_may_be_larger_than_the_blocks,
        blocks::room_must_be_a_multiple_of_eight,
        blocks::block_larger_than_the_room_is_refused,
        blocks::block_without_room_is_refused,
        blocks::absurd_room_is_refused,
        blocks::unreadable_block_is_refused,
        blocks::block_cut_off_by_the_data_is_refused,
        blocks::unreadable_object_is_refused,
        blocks::refused_parcel_leaves_nothing_behind,
        blocks::blocks_do_not_reach_the_security_context,
        parents::address_goes_into_the_parent,
        parents::address_stands_at_a_multiple_of_four,
        parents::address_may_end_with_the_parent,
        parents::parent_needs_room_for_the_address,
        parents::parent_at_the_start_of_the_data_has_children,
        parents::tree_of_blocks_arrives,
        parents::addresses_must_ascend,
        parents::closed_blocks_stay_closed,
        parents::parent_must_be_an_earlier_block,
        parents::empty_parent_has_no_children,
        parents::same_block_twice_is_copied_twice,
        parents::deep_chain_arrives,
        parents::wide_tree_arrives,
        arrays::files_of_an_array_arrive,
        arrays::descriptors_of_an_array_are_closed_on_exec,
        arrays::arrays_and_addresses_share_a_block,
        arrays::array_and_single_descriptor_travel_together,
        arrays::array_in_a_call_and_its_reply,
        arrays::array_object_is_not_touched,
        arrays::empty_array_may_stand_anywhere,
        arrays::empty_array_needs_no_permission,
        arrays::node_without_permission_gets_no_array,
        arrays::reply_with_an_array_needs_the_callers_permission,
        arrays::bad_descriptors_are_refused,
        arrays::array_outside_its_parent_is_refused,
        arrays::unaligned_array_is_refused,
        arrays::array_before_the_last_patch_is_refused,
        arrays::array_without_a_parent_is_refused,
        arrays::unreadable_array_is_refused,
        arrays::request_without_free_numbers_fails_the_call,
        arrays::reply_without_free_numbers_fails_the_call,
        arrays::half_placed_array_takes_its_numbers_back,
        arrays::large_array_arrives,
        closing::freed_buffer_closes_its_descriptors,
        closing::single_descriptors_stay_open,
        closing::descriptors_are_closed_when_the_ioctl_returns,
        closing::descriptors_are_closed_although_the_thread_sleeps,
        closing::read_goes_on_after_the_closing,
        closing::undelivered_array_closes_nothing,
        closing::refused_array_lets_the_files_go,
        closing::number_that_is_closed_already_is_skipped,
        closing::end_of_the_process_leaves_them_open,
        closing::read_in_progress_ends_well,
        closing::file_of_the_ioctl_may_be_in_the_array,
        closing::another_binder_file_may_end_with_the_buffer,
        bugs::bug_b44_parent_behind_the_last_object,
        bugs::bug_b45_offsets_size_that_is_no_multiple_of_eight,
        bugs::bug_b47_objects_that_overlap,
        bugs::bug_b48_unaligned_offsets,
        bugs::bug_b49_mapping_is_not_writable,
        bugs::bug_b50_each_object_is_released_once,
        bugs::bug_b51_empty_array_at_the_end_of_a_block,
        bugs::bug_b53_huge_number_of_descriptors,
        bugs::bug_b54_array_near_the_security_context,
        bugs::bug_b56_blocks_eight_bytes_too_many,
        bugs::bug_b57_sizes_that_overflow,
        races::bug_b58_descriptors_rewritten_meanwhile,
        races::bug_b58_objects_rewritten_meanwhile,
        bugs::bug_b59_array_to_a_node_that_takes_none,
        bugs::bug_b61_manager_does_not_refer_to_itself,
        bugs::bug_b64_same_object_twice,
        bugs::bug_b65_binder_file_over_itself,
        bugs::bug_b67_free_buffer_misuse,
        hostile::random_parcels_1,
        hostile::random_parcels_2,
        hostile::random_parcels_3,
        hostile::random_parcels_4,
        hostile::random_parcels_5,
        hostile::random_parcels_6,
        hostile::random_parcels_7,
        hostile::random_parcels_8,
        hostile::hostile_parcels_1,
        hostile::hostile_parcels_2,
        hostile::hostile_parcels_3,
        hostile::hostile_parcels_4,
    ])
}
