// SPDX-License-Identifier: GPL-2.0
//! Nested calls: who gets a call back, the order of the replies, and what
//! becomes of a chain when a link of it dies.

#[path = "../nested/chain.rs"]
mod chain;
#[path = "../nested/death.rs"]
mod death;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../nested/unwind.rs"]
mod unwind;

use std::process::ExitCode;

use binder_client::ktap::{self, cases, Failure};
use binder_client::session::Session;

use stage::{Node, Stage};

/// `count` actors, and for each the handle by which the one before it in the
/// circle calls it: `handles[n]` belongs to actor `n - 1`, `handles[0]` to the last.
fn circle(stage: &Stage, count: usize) -> Result<(Vec<Session>, Vec<u32>), Failure> {
    let actors = (0..count).map(|_| stage.actor()).collect::<Result<Vec<_>, _>>()?;
    let mut handles = Vec::new();
    for n in 0..count {
        let before = &actors[(n + count - 1) % count];
        handles.push(stage.introduce(&actors[n], before, Node::new(0x100 + n as u64, 0))?);
    }
    Ok((actors, handles))
}

fn main() -> ExitCode {
    ktap::main(&cases![
        chain::callback_reaches_the_waiting_thread,
        chain::callback_through_two_processes_reaches_the_waiting_thread,
        chain::callback_through_three_processes_reaches_the_waiting_thread,
        chain::call_of_a_thread_outside_the_chain_goes_to_the_process,
        chain::middle_of_the_chain_is_called_back_too,
        chain::fifty_calls_nest_and_unwind_in_order,
        chain::reply_answers_the_innermost_request,
        chain::outer_reply_has_to_wait_for_the_nested_one,
        chain::nested_oneway_call_does_not_go_to_the_waiting_thread,
        chain::waiting_thread_takes_no_work_of_its_process,
        chain::nested_call_fails_and_the_outer_one_goes_on,
        death::callback_after_the_callers_thread_is_gone_goes_to_the_process,
        death::reply_to_a_thread_that_is_gone_is_discarded,
        death::server_thread_that_exits_fails_its_call,
        death::caller_that_serves_a_nested_call_learns_of_the_middles_end_afterwards,
        death::end_of_the_middle_fails_the_outer_call_once,
        death::end_of_the_innermost_unwinds_one_level,
        death::end_of_the_outer_caller_leaves_the_rest_working,
        death::chain_with_two_dead_links_unwinds_to_the_caller,
        death::killed_middle_process_fails_the_outer_call,
        unwind::reply_given_while_the_caller_serves_is_kept_for_it,
        unwind::callback_after_the_middle_died_reaches_an_idle_thread,
        unwind::end_of_the_middle_waits_for_an_unread_request,
        unwind::failed_delivery_of_a_callback_lets_the_outcome_through,
        unwind::failure_is_told_before_what_comes_after_it,
        unwind::outcome_is_read_before_the_next_call,
        unwind::nesting_beyond_a_thousand_calls_is_refused,
    ])
}
