// SPDX-License-Identifier: GPL-2.0
//! Synchronous calls: data, code and flags, the sender's identity, order of
//! the returns, and who may call or reply when.

#[path = "../call/data.rs"]
mod data;
#[path = "../call/identity.rs"]
mod identity;
#[path = "../call/order.rs"]
mod order;
#[path = "../call/protocol.rs"]
mod protocol;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::ktap::{self, cases, Failure};
use binder_client::session::Session;

use stage::{Node, Stage};

const NODE: Node = Node::new(0x1000, 0x2000);

/// Two actors, and the client's handle of [`NODE`].
fn pair(stage: &Stage) -> Result<(Session, Session, u32), Failure> {
    let server = stage.actor()?;
    let client = stage.actor()?;
    let handle = stage.introduce(&server, &client, NODE)?;
    Ok((client, server, handle))
}

fn main() -> ExitCode {
    ktap::main(&cases![
        data::data_of_every_small_size_arrives_unchanged,
        data::data_around_page_borders_arrives_unchanged,
        data::one_mib_of_data_arrives_unchanged,
        data::the_whole_mapping_takes_one_call,
        data::code_and_unknown_flags_reach_the_server,
        data::code_and_unknown_flags_of_a_reply_reach_the_client,
        data::request_names_the_node_and_its_cookie,
        data::reply_names_no_node_and_no_sender,
        data::target_and_cookie_of_a_reply_are_ignored,
        order::two_files_of_one_process_can_call_each_other,
        order::completion_and_reply_come_in_one_read,
        order::completion_of_a_call_is_no_reason_to_return,
        order::completion_of_a_reply_is_ready_at_once,
        order::client_makes_one_ioctl_per_call,
        protocol::reply_without_a_transaction_is_a_protocol_error,
        protocol::second_reply_is_a_protocol_error,
        protocol::reply_to_a_oneway_call_is_a_protocol_error,
        protocol::client_cannot_reply_while_it_waits,
        protocol::call_while_a_call_is_outstanding_is_a_protocol_error,
        protocol::oneway_call_is_allowed_while_a_call_is_outstanding,
        order::failed_command_stops_the_write_buffer,
        order::undelivered_failure_blocks_further_commands,
        order::threads_of_a_client_call_independently,
        protocol::another_thread_cannot_send_the_reply,
        protocol::call_with_an_undelivered_request_first_is_a_protocol_error,
        protocol::manager_cannot_call_itself,
        protocol::manager_cannot_call_itself_through_another_file,
        data::buffer_stays_readable_until_it_is_freed,
        order::request_survives_its_senders_end,
        order::callers_learn_of_the_servers_end,
        identity::sender_is_named_by_process_and_effective_user,
        identity::changed_effective_user_is_told,
        identity::oneway_call_names_the_user_but_no_process,
        identity::user_without_a_name_in_the_receivers_namespace_is_minus_one,
        identity::user_is_translated_to_the_receivers_namespace,
        identity::sender_outside_of_the_receivers_pid_namespace_is_zero,
        identity::sender_in_a_pid_namespace_is_named_by_its_outer_number,
        identity::sender_in_the_same_pid_namespace_is_named_by_its_inner_number,
    ])
}
