// SPDX-License-Identifier: GPL-2.0
//! Objects in transactions: how nodes and handles are translated, what the
//! list of offsets must look like, and large numbers of them.

#[path = "../objects/many.rs"]
mod many;
#[path = "../objects/offsets.rs"]
mod offsets;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../objects/translation.rs"]
mod translation;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        translation::strong_node_becomes_a_strong_handle,
        translation::weak_node_becomes_a_weak_handle,
        translation::handle_is_passed_on_to_a_third_process,
        translation::handle_returns_to_its_owner_as_the_node,
        translation::weak_handle_returns_to_its_owner_as_a_weak_node,
        translation::strong_handle_may_be_sent_weakly,
        translation::weak_handle_may_not_be_sent_strongly,
        translation::same_node_twice_is_one_handle,
        translation::other_cookie_for_a_known_node_is_refused,
        translation::refused_transaction_leaves_no_reference_behind,
        translation::unknown_handle_in_the_data_is_refused,
        translation::upper_half_of_a_handle_is_ignored,
        translation::handle_of_a_dead_node_may_be_passed_on,
        translation::objects_in_a_reply_are_translated,
        translation::refused_reply_leaves_no_reference_behind,
        translation::bytes_around_objects_are_not_touched,
        offsets::objects_may_start_at_every_multiple_of_four,
        offsets::unaligned_offset_is_refused,
        offsets::overlapping_objects_are_refused,
        offsets::repeated_offset_is_refused,
        offsets::decreasing_offsets_are_refused,
        offsets::offset_beyond_the_data_is_refused,
        offsets::object_cut_off_by_the_end_is_refused,
        offsets::object_in_empty_data_is_refused,
        offsets::unknown_type_is_refused,
        offsets::size_of_the_list_must_be_a_multiple_of_eight,
        offsets::absurd_sizes_are_refused,
        offsets::unreadable_data_is_a_fault,
        offsets::unreadable_offsets_are_a_fault,
        offsets::unreadable_middle_of_the_data_is_a_fault,
        offsets::address_of_nothing_is_not_looked_at,
        many::two_hundred_objects_in_one_transaction,
        many::thousand_handles_are_dense_and_work,
        many::thousand_handles_are_given_back_and_reused,
        many::one_bad_object_of_many_undoes_all,
    ])
}
