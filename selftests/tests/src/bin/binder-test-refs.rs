// SPDX-License-Identifier: GPL-2.0
//! References: what owners are told about their nodes, how handles are counted
//! and numbered, the rules of handle 0, and what buffers keep alive.

#[path = "../refs/handles.rs"]
mod handles;
#[path = "../refs/owner.rs"]
mod owner;
#[path = "../refs/pins.rs"]
mod pins;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../refs/zero.rs"]
mod zero;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        owner::strong_node_is_announced_before_the_completion,
        owner::weak_node_is_announced_before_the_completion,
        owner::announcements_of_a_synchronous_call_come_with_its_reply,
        owner::node_in_a_reply_is_announced_before_the_completion,
        owner::known_node_is_not_announced_again,
        owner::weak_node_becomes_strong,
        owner::several_nodes_are_announced_in_their_order,
        owner::last_drop_is_told_as_release_and_decrefs,
        owner::release_is_told_while_weak_references_remain,
        owner::second_holder_keeps_the_node,
        owner::unconfirmed_node_is_not_released,
        owner::confirmations_count_one_by_one,
        owner::wrong_confirmations_are_ignored,
        owner::forgotten_node_may_come_back_with_another_cookie,
        owner::reference_taken_again_before_the_news_is_read_tells_nothing,
        owner::thread_that_exits_leaves_the_news_to_the_others,
        owner::end_of_the_holder_releases_the_node,
        owner::sender_is_told_though_another_thread_was_to_tell,
        owner::node_without_references_is_gone_though_its_news_waits,
        owner::news_that_is_no_more_makes_nothing_readable,
        owner::thread_with_news_that_is_no_more_serves_on,
        handles::numbers_start_at_one_and_are_dense,
        handles::each_process_numbers_for_itself,
        handles::same_node_has_the_same_number,
        handles::lowest_free_number_is_reused,
        handles::number_is_free_only_when_both_counts_are_gone,
        handles::counts_are_counted,
        handles::underflow_is_ignored,
        handles::unknown_handles_are_ignored,
        handles::weak_handle_cannot_be_acquired,
        handles::weak_handle_cannot_be_called,
        handles::strong_object_makes_a_weak_handle_strong,
        handles::handle_of_a_dead_node_can_be_released,
        zero::calls_to_zero_need_no_reference,
        zero::reference_to_zero_is_made_by_acquiring_it,
        zero::weak_reference_to_zero_is_made_by_increfs,
        zero::zero_as_an_object_needs_a_reference,
        zero::manager_cannot_refer_to_itself_as_zero,
        zero::without_a_manager_nothing_is_made,
        zero::managers_node_arrives_as_zero,
        zero::managers_node_gets_another_number_where_zero_is_taken,
        pins::handle_in_a_buffer_lives_as_long_as_the_buffer,
        pins::undelivered_call_keeps_its_node_and_its_objects,
        pins::delivered_call_keeps_its_node,
        pins::buffer_drops_only_what_it_took,
        pins::weak_object_in_a_buffer_keeps_the_weak_count,
    ])
}
