// SPDX-License-Identifier: GPL-2.0
//! Buffers in the mapping: where they lie, when they may be freed, what is
//! wiped, and that no byte of room is lost.

#[path = "../buffers/free.rs"]
mod free;
#[path = "../buffers/place.rs"]
mod place;
#[path = "../buffers/room.rs"]
mod room;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../buffers/wipe.rs"]
mod wipe;

use std::process::ExitCode;

use binder_client::buffer::Received;
use binder_client::commands::Commands;
use binder_client::ktap::{self, cases, Failure};
use binder_client::parcel::Parcel;
use binder_client::session::Session;

use stage::{send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 0x11);

/// A server with a mapping of `map` bytes, a client, and its handle.
fn pair(stage: &Stage, map: usize) -> Result<(Session, Session, u32), Failure> {
    let (server, client) = (stage.actor_with_map(map)?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    Ok((server, client, handle))
}

/// A buffer of the server, by a call that is answered.
fn delivered(
    client: &Session,
    handle: u32,
    server: &Session,
    flags: u32,
    parcel: &Parcel,
) -> Result<Received, Failure> {
    send(client, handle, 1, flags, parcel)?;
    let request = take(server)?;
    stage::reply(server, 0, &Parcel::new())?;
    client.next_reply(binder_client::limits::wait())?.0.free()?;
    stage::pending(server)?;
    Ok(request)
}

/// `BC_FREE_BUFFER` of any address; the ioctl must succeed and consume it.
fn free_address(session: &Session, address: u64) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.free_buffer(address);
    Ok(session.write(&commands)?)
}

fn main() -> ExitCode {
    ktap::main(&cases![
        free::addresses_that_are_no_buffers_are_ignored,
        free::inside_of_a_buffer_is_ignored,
        free::buffer_of_another_process_is_ignored,
        free::freeing_twice_frees_once,
        free::freeing_twice_in_one_write_advances_the_queue_once,
        free::undelivered_buffer_cannot_be_freed,
        free::two_threads_free_one_buffer_once,
        free::request_may_be_freed_before_its_reply,
        free::many_buffers_in_one_write,
        place::buffers_lie_in_the_mapping_and_do_not_overlap,
        place::empty_buffers_have_addresses_of_their_own,
        place::offsets_follow_the_data,
        place::offsets_are_told_where_there_are_none,
        place::held_buffers_keep_their_contents,
        room::full_mapping_recovers,
        room::replies_need_room_too,
        room::neighbours_that_are_freed_become_one_room,
        room::no_byte_is_lost_in_a_thousand_calls,
        room::random_sizes_and_lives_leave_the_whole_room,
        room::smallest_mapping_works,
        wipe::clear_buf_wipes_at_free,
        wipe::clear_buf_wipes_a_reply,
        wipe::clear_buf_wipes_a_failed_transaction,
        wipe::clear_buf_wipes_a_oneway_call,
    ])
}
