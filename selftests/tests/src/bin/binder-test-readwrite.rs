// SPDX-License-Identifier: GPL-2.0
//! `BINDER_WRITE_READ`: bounds of both buffers, how much is consumed, bad
//! commands and addresses, waiting or not, and signals.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../readwrite/mod.rs"]
mod readwrite;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use readwrite::{packing, read, stop, wait, write};

fn main() -> ExitCode {
    ktap::main(&cases![
        write::nothing_to_write_or_read_is_a_success,
        write::commands_are_consumed_one_by_one,
        write::writing_starts_at_what_is_consumed,
        write::nothing_is_written_if_all_is_consumed,
        write::more_consumed_than_there_is_writes_nothing,
        write::write_without_read_does_not_wait,
        write::unknown_command_is_invalid,
        write::commands_of_old_are_invalid,
        write::returns_as_commands_are_invalid,
        write::command_with_another_size_is_invalid,
        write::commands_before_a_bad_one_are_carried_out,
        write::failed_write_skips_the_read,
        write::bad_write_buffer_is_a_fault,
        write::command_cut_by_a_forbidden_page_is_a_fault,
        write::payload_cut_by_a_forbidden_page_is_a_fault,
        write::payload_beyond_the_size_is_not_read,
        write::rest_shorter_than_a_command_is_left,
        write::size_far_too_large_does_no_harm,
        write::many_commands_in_one_write,
        write::freeing_unknown_buffers_is_ignored,
        stop::write_stops_at_a_failed_transaction,
        stop::nothing_is_written_before_the_failure_is_read,
        stop::rest_goes_on_after_the_failure_is_read,
        stop::failure_and_rest_in_one_ioctl,
        stop::failed_oneway_call_stops_too,
        stop::failed_reply_stops_too,
        stop::reply_to_nobody_stops_too,
        stop::two_oneway_calls_in_one_write,
        stop::second_call_in_one_write_fails,
        stop::call_and_free_in_one_write,
        read::first_word_is_noop,
        read::reading_on_writes_no_second_noop,
        read::returns_follow_what_is_consumed,
        read::room_of_less_than_a_word_is_a_fault,
        read::returns_are_not_written_past_the_room,
        read::more_consumed_than_room_is_a_fault,
        read::small_room_gets_no_item,
        read::smallest_room_gets_one_item,
        read::small_room_waits_for_work,
        read::room_far_too_large_does_no_harm,
        read::bad_read_buffer_is_a_fault_at_once,
        read::bad_read_buffer_takes_nothing_away,
        read::call_that_cannot_be_delivered_fails,
        read::oneway_queue_goes_on_after_a_failed_delivery,
        read::small_room_with_work_of_the_process_is_no_reason_to_wait,
        packing::completions_are_packed,
        packing::request_ends_a_read,
        packing::own_queue_comes_before_the_process_queue,
        packing::call_completes_with_its_reply,
        packing::reply_completes_at_once,
        packing::node_work_comes_ahead_of_the_completion,
        wait::non_blocking_read_finds_nothing,
        wait::non_blocking_read_finds_work,
        wait::non_blocking_write_is_done_though_nothing_is_read,
        wait::non_blocking_read_returns_a_deferred_completion,
        wait::new_threads_first_read_finds_nothing,
        wait::new_threads_first_read_waits,
        wait::read_waits_for_work,
        wait::write_and_read_waits_after_writing,
        wait::signal_interrupts_a_read,
        wait::commands_before_a_signal_stay_done,
        wait::reply_comes_after_a_signal,
        wait::completion_is_told_instead_of_the_signal,
        wait::work_is_not_lost_to_signals,
    ])
}
