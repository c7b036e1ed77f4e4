// SPDX-License-Identifier: GPL-2.0
//! poll and epoll: when a file is readable, who is woken, and the end of
//! threads and files that somebody polls.

#[path = "../core_support.rs"]
mod core_support;
#[path = "../poll/mod.rs"]
mod poll;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use poll::{end, flush, ready, wake};

fn main() -> ExitCode {
    ktap::main(&cases![
        ready::idle_thread_is_not_readable,
        ready::new_threads_first_poll_reports_nothing,
        ready::it_is_never_writable,
        ready::process_work_makes_it_readable,
        ready::it_stays_readable_until_read,
        ready::reply_makes_it_readable,
        ready::deferred_completion_does_not_make_it_readable,
        ready::deferred_node_work_does_not_make_it_readable,
        ready::failed_call_makes_it_readable,
        ready::oneway_completion_makes_it_readable,
        ready::reply_completion_makes_it_readable,
        ready::readiness_is_of_the_polling_thread,
        ready::serving_thread_is_not_readable_for_other_work,
        ready::work_of_the_process_is_readable_for_every_idle_thread,
        wake::process_work_wakes_poll,
        wake::process_work_wakes_epoll,
        wake::reply_wakes_the_calling_threads_epoll,
        wake::own_failure_wakes_own_epoll,
        wake::own_oneway_completion_wakes_own_epoll,
        wake::own_reply_completion_wakes_own_epoll,
        wake::dead_reply_wakes_epoll,
        wake::edge_comes_for_each_work,
        wake::every_epoll_set_is_told,
        wake::exclusive_set_is_told,
        wake::one_poller_gets_the_work,
        wake::poller_wakes_though_a_reader_takes_the_work,
        wake::edge_comes_again_while_work_is_left,
        wake::reply_does_not_disturb_another_wait_of_the_thread,
        end::epoll_set_outlives_thread_exit,
        end::epoll_entry_is_removed_after_thread_exit,
        end::epoll_set_closes_after_thread_exit,
        end::several_sets_outlive_thread_exit_in_any_order,
        end::exclusive_set_outlives_thread_exit,
        end::set_is_used_again_after_thread_exit,
        end::thread_ends_while_it_is_in_a_set,
        end::file_closes_before_the_set,
        end::set_closes_before_the_file,
        end::set_in_another_process_outlives_the_file,
        end::polling_process_is_killed,
        flush::closed_duplicate_wakes_a_reader_once,
        flush::closed_duplicate_wakes_every_reader,
        flush::closed_duplicate_lets_the_next_read_return,
        flush::closed_duplicate_makes_it_readable_once,
        flush::closed_duplicate_hides_no_work,
        flush::closed_duplicate_lets_any_ioctl_return,
        flush::closed_duplicate_leaves_calls_alone,
        flush::last_close_ends_the_party,
    ])
}
