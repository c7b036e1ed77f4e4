// SPDX-License-Identifier: GPL-2.0
//! The files that show the state of the driver: that they have the layout that other
//! programs read, and say what is the case.

#[path = "../state/busy.rs"]
mod busy;
#[path = "../state/counted.rs"]
mod counted;
#[path = "../state/files.rs"]
mod files;
#[path = "../state/reclaim.rs"]
mod reclaim;
#[path = "../state/shown.rs"]
mod shown;
#[path = "../stage/mod.rs"]
mod stage;

use std::process::ExitCode;

use binder_client::ktap::{self, cases, Env, Failure};
use binder_client::state::{Folder, ProcessState, State};

use crate::stage::{Node, Stage};

/// A stage and the files of its driver.
struct Scene {
    stage: Stage,
    folder: Folder,
}

impl Scene {
    /// Skips the case if the driver has no such files.
    fn new(env: &Env) -> Result<Self, Failure> {
        // Before this process opens the device: a peer must not have its file.
        let stage = Stage::new(env)?;
        let file = env.open()?;
        let folder = Folder::of_this_process()?;
        drop(file);
        let folder = folder.ok_or_else(|| Failure::skip("the driver has no state files"))?;
        Ok(Scene { stage, folder })
    }
}

/// Of the processes that this test has open, the one that owns `node`.
fn owner_of(state: &State, node: Node) -> Result<&ProcessState, Failure> {
    let owns = |process: &&ProcessState| process.nodes.iter().any(|line| line.ptr == node.ptr);
    let found = state.of(std::process::id()).find(owns);
    found.ok_or_else(|| Failure::new("the owner of a node", "to be shown", "it is not"))
}

/// Likewise the one that has a handle of the node with this id.
fn holder_of(state: &State, node: u32) -> Result<&ProcessState, Failure> {
    let holds = |process: &&ProcessState| process.refs.iter().any(|line| line.node == node);
    let found = state.of(std::process::id()).find(holds);
    found.ok_or_else(|| Failure::new("the holder of a node", "to be shown", "it is not"))
}

fn main() -> ExitCode {
    ktap::main(&cases![
        files::every_file_has_the_layout,
        files::each_process_has_a_file_while_it_has_the_device,
        files::a_file_read_in_pieces_is_one_text,
        files::a_file_read_again_from_its_start_is_new,
        files::nobody_can_write_to_the_files,
        files::reading_all_the_time_does_not_stop_traffic,
        shown::nodes_and_handles_are_shown_from_both_sides,
        shown::weak_handles_and_death_notifications_are_shown,
        shown::nodes_of_the_dead_are_shown_while_somebody_refers_to_them,
        shown::threads_are_shown_with_what_they_said,
        shown::buffers_are_shown_with_their_parts,
        shown::pointers_can_be_hashed,
        shown::handles_are_counted,
        reclaim::room_for_handles_goes_back_when_memory_is_short,
        reclaim::handles_in_use_stay_when_memory_is_short,
        busy::a_call_is_followed_on_its_way,
        busy::a_call_in_a_call_is_shown_on_top,
        busy::oneway_messages_wait_at_their_node,
        busy::completions_that_wait_are_shown,
        busy::a_deferred_completion_of_a_reply_is_shown_as_such,
        busy::a_long_queue_is_shown_completely,
        busy::only_busy_processes_are_in_transactions,
        counted::commands_and_returns_are_counted,
        counted::the_numbers_of_the_dead_stay_in_the_total,
        counted::objects_are_counted_and_gone_in_the_end,
        counted::the_numbers_of_a_process_are_true,
        counted::transactions_are_logged,
        counted::failures_are_logged,
    ])
}
