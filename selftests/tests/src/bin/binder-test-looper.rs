// SPDX-License-Identifier: GPL-2.0
//! Threads: the looper commands, when the driver asks for one more thread, and
//! which thread gets which work.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../looper/mod.rs"]
mod looper;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use looper::{choice, misuse, spawn};

fn main() -> ExitCode {
    ktap::main(&cases![
        spawn::nothing_is_asked_with_no_threads_allowed,
        spawn::looper_is_asked_for_a_thread,
        spawn::one_request_at_a_time,
        spawn::number_of_threads_is_kept,
        spawn::registered_thread_asks_for_the_next,
        spawn::largest_number_does_not_overflow,
        spawn::raised_number_asks_again,
        spawn::lowered_number_stops_asking,
        spawn::thread_that_is_no_looper_is_not_asked,
        spawn::nothing_is_asked_while_a_thread_waits,
        spawn::request_replaces_the_first_word_only,
        spawn::ended_thread_is_not_replaced,
        misuse::register_without_request_is_harmless,
        misuse::register_after_enter_is_harmless,
        misuse::register_after_enter_takes_no_request,
        misuse::enter_after_register_is_harmless,
        misuse::enter_twice_is_harmless,
        misuse::exit_without_enter_is_harmless,
        misuse::exited_looper_still_works,
        misuse::misuse_does_not_spoil_the_count,
        choice::unregistered_reader_gets_work,
        choice::unregistered_reader_gets_the_next_work_too,
        choice::last_sleeper_is_served_first,
        choice::each_thread_serves_one_call,
        choice::waiting_requests_come_in_order,
        choice::serving_thread_gets_no_other_request,
        choice::calling_thread_gets_no_other_request,
        choice::nested_call_goes_to_the_waiting_thread,
        choice::nested_call_goes_through_two_processes,
        choice::nested_oneway_call_goes_to_any_thread,
        choice::reply_of_another_thread_is_refused,
        choice::calls_of_two_threads_are_independent,
    ])
}
