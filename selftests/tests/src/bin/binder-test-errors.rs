// SPDX-License-Identifier: GPL-2.0
//! How calls and replies fail: the return, the extended error, and what goes
//! on afterwards.

#[path = "../errors/calls.rs"]
mod calls;
#[path = "../errors/extended.rs"]
mod extended;
#[path = "../errors/replies.rs"]
mod replies;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        calls::unknown_handle_is_invalid,
        calls::no_manager_is_dead,
        calls::manager_that_died_is_dead,
        calls::dead_owner_is_dead,
        calls::target_without_a_mapping_is_dead,
        calls::target_that_unmapped_is_dead,
        calls::target_that_unmapped_a_part_is_dead,
        calls::too_much_data_is_no_space,
        calls::failed_call_is_not_seen_by_the_server,
        calls::failed_call_takes_no_room,
        calls::many_failures_in_a_row_leave_nothing_behind,
        calls::unsupported_commands_are_invalid,
        calls::caller_without_a_mapping_may_send,
        replies::bad_object_fails_the_call,
        replies::unreadable_data_fails_the_call,
        replies::bad_offsets_fail_the_call,
        replies::too_large_a_reply_fails_the_call,
        replies::caller_without_a_mapping_gets_a_dead_reply,
        replies::failed_reply_leaves_the_replier_without_an_error,
        replies::failed_reply_ends_the_transaction,
        replies::failed_nested_reply_fails_only_the_nested_call,
        extended::reading_resets_it,
        extended::it_belongs_to_the_thread,
        extended::next_command_replaces_it,
        extended::its_id_tells_failures_apart,
        extended::failed_reply_does_not_replace_an_unread_error,
    ])
}
