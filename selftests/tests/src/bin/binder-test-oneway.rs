// SPDX-License-Identifier: GPL-2.0
//! Oneway calls: their order, what they block and what not, their share of
//! the mapping, and the death of either side.

#[path = "../oneway/life.rs"]
mod life;
#[path = "../oneway/order.rs"]
mod order;
#[path = "../oneway/quota.rs"]
mod quota;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::commands::Commands;
use binder_client::ktap::{self, cases, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;

/// A oneway call and its outcome.
fn oneway(session: &Session, handle: u32, code: u32, parcel: &Parcel) -> Result<Return, Failure> {
    let mut commands = Commands::new();
    commands.transaction(handle, code, TF_ONE_WAY, parcel);
    let returns = session.write_read(&commands, READ_SIZE).ok()?;
    match returns[..] {
        [only] => Ok(only),
        _ => Err(Failure::new("a oneway call", "one return", format!("{returns:?}"))),
    }
}

fn main() -> ExitCode {
    ktap::main(&cases![
        order::oneway_call_completes_without_a_reader,
        order::calls_to_one_node_arrive_in_order,
        order::only_one_call_of_a_node_is_out_at_a_time,
        order::order_holds_over_many_threads,
        order::calls_of_two_clients_to_one_node_are_one_queue,
        order::other_nodes_are_not_blocked,
        order::synchronous_calls_are_not_blocked,
        order::unfreed_call_holds_back_exactly_its_own_queue,
        order::replying_without_freeing_does_not_advance_the_queue,
        order::each_of_many_nodes_has_one_call_out,
        quota::half_of_the_mapping_and_not_a_byte_more,
        quota::many_small_calls_fill_exactly_half,
        quota::empty_calls_use_eight_bytes_each,
        quota::objects_and_offsets_count,
        quota::freed_calls_give_their_share_back,
        quota::synchronous_calls_have_the_other_half,
        quota::synchronous_calls_may_take_everything,
        quota::mapping_above_four_mib_counts_as_four,
        quota::failed_call_gives_its_share_back,
        quota::reply_with_the_oneway_bit_is_not_charged,
        life::calls_survive_their_senders_end,
        life::calls_to_a_dead_process_are_dead,
        life::queued_calls_vanish_with_their_receiver,
        life::last_reference_may_go_while_calls_are_queued,
        life::thread_that_exits_with_an_undelivered_call_frees_it,
    ])
}
