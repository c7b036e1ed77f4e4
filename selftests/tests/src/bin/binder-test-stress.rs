// SPDX-License-Identifier: GPL-2.0
//! Many processes and threads at once, and processes that are killed at any
//! moment. What must hold at the end is checked; nothing depends on speed.

#[path = "../stress/kill.rs"]
mod kill;
#[path = "../stress/service.rs"]
mod service;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../stress/traffic.rs"]
mod traffic;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        traffic::many_clients_get_their_own_replies,
        traffic::oneway_calls_arrive_once_and_in_order,
        traffic::callbacks_of_many_clients_find_their_way,
        traffic::nodes_that_come_and_go_are_all_released,
        traffic::large_and_small_calls_share_the_mapping,
        traffic::threads_that_come_and_go_leave_nothing,
        kill::killed_servers_fail_the_calls_and_no_more,
        kill::killed_clients_leave_the_server_whole,
        kill::killed_processes_in_the_middle_of_callbacks,
        kill::killed_managers_are_replaced,
    ])
}
