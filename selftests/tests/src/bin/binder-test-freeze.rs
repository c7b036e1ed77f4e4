// SPDX-License-Identifier: GPL-2.0
//! Frozen processes: calls to them are refused, oneway messages wait, and who asked is told.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../freeze/mod.rs"]
mod freeze;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use freeze::{bugs, calls, notify, oneway, races, whole};

fn main() -> ExitCode {
    ktap::main(&cases![
        whole::process_without_the_device_is_refused,
        whole::nothing_has_come_to_an_idle_process,
        whole::freezing_and_thawing_twice_changes_nothing,
        whole::every_number_but_zero_freezes,
        whole::process_may_freeze_itself,
        whole::new_freeze_counts_anew,
        whole::end_of_a_frozen_process_is_a_death,
        whole::all_files_of_a_process_are_frozen_or_none,
        whole::bug_b40_pid_is_that_of_the_callers_namespace,
        whole::freeze_goes_on_after_a_stop,
        calls::call_to_a_frozen_process_is_refused,
        calls::unread_call_keeps_a_process_from_freezing,
        calls::served_call_keeps_a_process_from_freezing,
        calls::unread_oneway_message_keeps_a_process_from_freezing,
        calls::oneway_message_behind_another_counts,
        calls::freeze_waits_for_a_served_call,
        calls::freeze_waits_for_unread_messages,
        calls::freeze_gives_up_after_its_time,
        calls::calls_are_refused_while_a_freeze_waits,
        calls::thaw_ends_a_waiting_freeze,
        calls::own_call_keeps_a_process_from_freezing,
        calls::unread_reply_keeps_a_process_from_freezing,
        calls::bug_b43_reply_to_a_frozen_process_is_accepted,
        calls::deferred_reply_to_a_frozen_process_is_accepted,
        calls::failed_calls_are_over,
        oneway::oneway_message_to_a_frozen_process_waits,
        oneway::update_takes_the_place_of_the_last_one,
        oneway::update_replaces_only_its_like,
        oneway::update_of_another_sender_replaces_nothing,
        oneway::update_that_can_go_out_replaces_nothing,
        oneway::update_of_an_awake_process_replaces_nothing,
        oneway::bug_b39_replaced_messages_release_what_they_held,
        oneway::replaced_messages_give_their_room_back,
        notify::state_is_told_at_the_beginning,
        notify::changes_are_told,
        notify::state_that_is_known_is_not_told_again,
        notify::change_waits_for_the_acknowledgement,
        notify::change_and_back_before_the_acknowledgement_is_not_told,
        notify::unread_state_is_told_as_it_is_when_read,
        notify::failed_freeze_is_not_told,
        notify::clear_is_answered,
        notify::clear_replaces_what_is_not_read,
        notify::clear_waits_for_the_acknowledgement,
        notify::cleared_notification_can_be_asked_for_again,
        notify::commands_that_do_not_fit_fail_the_ioctl,
        notify::bug_b32_dead_object_has_no_state,
        notify::end_of_the_object_is_not_a_thaw,
        notify::notification_survives_its_thread,
        bugs::bug_b29_unread_notification_goes_with_its_handle,
        bugs::bug_b30_frozen_process_with_many_nodes_is_killed,
        bugs::bug_b32_unacknowledged_notification_goes_with_its_process,
        bugs::bug_b34_same_cookie_again_while_the_end_waits,
        bugs::bug_b35_state_asked_for_during_a_freeze_is_not_frozen,
        bugs::bug_b36_handles_that_go_with_their_notification,
        bugs::bug_b37_message_is_gone_while_its_sender_is_told,
        races::every_call_is_served_or_refused,
        races::two_who_freeze_agree,
        races::last_state_is_told_whatever_comes_before,
    ])
}
