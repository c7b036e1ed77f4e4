// SPDX-License-Identifier: GPL-2.0
//! `TF_DEFER_COMPLETE`: a reply whose completion waits for the next return to
//! user space, so that a server makes one ioctl for a call.
//!
//! A driver that does not know the flag ignores it: the cases that need it fail
//! there and are listed as differences; the others hold everywhere.

#[path = "../defer/flag.rs"]
mod flag;
#[path = "../defer/more.rs"]
mod more;
#[path = "../defer/queue.rs"]
mod queue;
#[path = "../defer/sleep.rs"]
mod sleep;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;
use std::time::Duration;

use binder_client::ktap::{self, cases, Failure};
use binder_client::parcel::Parcel;
use binder_client::session::Session;
use binder_client::{check, check_eq};

use stage::{send, take, Node, Stage};

const NODE: Node = Node::new(0x1000, 0x11);

/// A server, a client, and its handle.
fn pair(stage: &Stage) -> Result<(Session, Session, u32), Failure> {
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, NODE)?;
    Ok((server, client, handle))
}

/// Lets the server receive a call, which it has to answer.
fn serve(client: &Session, handle: u32, server: &Session) -> Result<(), Failure> {
    send(client, handle, 1, 0, &Parcel::new())?;
    take(server)?.free()?;
    Ok(())
}

/// Checks whether poll has something to report now.
fn readable(session: &Session, expected: bool) -> Result<(), Failure> {
    check_eq!(session.readable(Duration::ZERO)?, expected, "readable");
    Ok(())
}

/// Checks that a text is what was echoed.
fn echoes(stage: &Stage, session: &Session) -> Result<(), Failure> {
    check!(stage.echo(session, b"still works")? == b"still works", "an echo");
    Ok(())
}

fn main() -> ExitCode {
    ktap::main(&cases![
        flag::it_reaches_the_caller_with_the_reply,
        flag::it_reaches_the_server_with_a_call,
        flag::it_does_nothing_for_a_oneway_call,
        flag::it_does_nothing_for_a_call,
        flag::failed_reply_is_told_at_once,
        flag::refused_reply_is_told_at_once,
        flag::reply_to_the_dead_is_accepted,
        queue::deferred_completion_is_not_readable,
        queue::completion_without_the_flag_is_readable,
        queue::read_that_does_not_wait_returns_it,
        queue::read_that_must_not_block_hands_out_the_completion_of_a_call,
        queue::next_call_comes_after_it_in_the_same_read,
        queue::next_oneway_call_comes_after_it_in_the_same_read,
        queue::process_work_that_was_there_before_comes_after_it,
        queue::announcements_of_nodes_come_before_it,
        queue::completion_of_a_nested_reply_comes_before_the_outer_reply,
        queue::completions_of_nested_replies_pile_up,
        queue::thread_exit_forgets_it,
        more::buffer_too_small_for_both_holds_the_completion,
        more::reply_with_blocks_is_deferred_as_well,
        more::replies_in_one_write_complete_one_by_one,
        more::end_of_the_file_with_a_completion_unread,
        more::call_handed_to_the_waiting_thread_comes_after_it,
        sleep::server_makes_one_ioctl_per_call,
        sleep::server_without_the_flag_makes_two_ioctls_per_call,
        sleep::read_sleeps_in_spite_of_it,
        sleep::flush_ends_the_sleep_and_delivers_it,
        sleep::signal_ends_the_sleep_and_delivers_it,
        sleep::sleeping_thread_is_chosen_for_work,
        sleep::many_threads_lose_nothing,
    ])
}
