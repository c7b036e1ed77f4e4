// SPDX-License-Identifier: GPL-2.0
//! Handles in numbers: tables that grow and shrink, the order in which numbers come
//! back, and many who add at once.

#[path = "../handles/crowd.rs"]
mod crowd;
#[path = "../handles/many.rs"]
mod many;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        many::numbers_are_dense_over_all_steps_of_the_pool,
        many::lowest_number_first_in_any_order_of_release,
        many::nodes_that_were_let_go_come_back_under_other_numbers,
        many::weak_handles_grow_and_go_like_strong_ones,
        many::room_is_given_back_on_release_and_taken_again,
        many::every_handle_leads_to_its_own_node,
        crowd::eight_processes_add_at_once_without_gaps,
        crowd::eight_threads_send_the_same_nodes_and_each_has_one_number,
        crowd::numbers_are_added_and_dropped_at_once,
    ])
}
