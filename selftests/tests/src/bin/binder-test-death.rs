// SPDX-License-Identifier: GPL-2.0
//! Threads and processes that end in the middle of anything: everyone who waits
//! for them is told, and what they held is released.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../death/mod.rs"]
mod death;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use death::{held, manager, nested, process, storm, thread};

fn main() -> ExitCode {
    ktap::main(&cases![
        process::waiting_request_of_a_killed_server_is_dead,
        process::request_being_served_by_a_killed_server_is_dead,
        process::request_taken_but_not_read_is_dead,
        process::every_caller_of_a_killed_server_is_told,
        process::reply_to_a_killed_caller_completes,
        process::request_of_a_killed_caller_is_still_delivered,
        process::oneway_call_of_a_killed_caller_is_still_delivered,
        process::queued_oneway_calls_die_with_the_target,
        process::handle_of_a_killed_owner_is_dead,
        process::oneway_call_to_a_killed_owner_is_dead,
        process::references_to_a_killed_owner_can_be_dropped,
        process::file_kept_by_a_child_keeps_no_call_waiting,
        process::closed_file_ends_its_calls,
        thread::exit_while_serving_is_a_dead_reply,
        thread::exit_while_calling_lets_the_server_complete,
        thread::exit_with_a_call_in_both_directions,
        thread::exit_with_an_unread_request_is_a_dead_reply,
        thread::exit_with_an_unread_reply_frees_it,
        thread::exit_with_an_unread_oneway_call_lets_the_next_come,
        thread::exit_keeps_buffers_of_the_process,
        thread::exit_keeps_reference_work_of_the_process,
        thread::exit_drops_unread_failures,
        thread::ended_kernel_thread_is_no_exit,
        thread::call_of_an_ended_kernel_thread_fails_when_others_come,
        nested::killed_last_of_a_chain_is_told_to_the_middle,
        nested::killed_middle_of_a_chain_is_told_to_the_first,
        nested::killed_middle_lets_the_last_complete,
        nested::killed_first_of_a_chain_lets_the_others_complete,
        nested::two_killed_at_once_are_told_to_the_first,
        nested::caller_killed_with_a_nested_call_waiting,
        nested::nested_call_into_a_killed_first_is_dead,
        held::references_of_a_killed_holder_are_released,
        held::buffers_of_a_killed_holder_are_released,
        held::references_change_while_they_are_announced,
        held::unread_requests_of_a_killed_target_release_their_nodes,
        held::unread_reply_of_a_killed_caller_releases_its_nodes,
        held::node_of_a_call_to_nobody_is_released,
        held::weak_references_of_a_killed_holder_are_released,
        held::strong_reference_that_nobody_was_told_of_is_not_released,
        held::oneway_room_comes_back_after_failures,
        manager::calls_after_the_managers_death_are_dead,
        manager::new_manager_serves_old_clients,
        manager::new_manager_is_another_node,
        manager::managers_come_and_go,
        manager::unread_calls_do_not_reach_the_new_manager,
        storm::killed_clients_do_not_hurt_the_server,
        storm::killed_servers_do_not_hurt_the_client,
        storm::exiting_threads_do_not_hurt_the_server,
        storm::replies_race_with_killed_callers,
    ])
}
