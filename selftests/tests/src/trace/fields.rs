// SPDX-License-Identifier: GPL-2.0
//! What the kernel says the events have.

use binder_client::ktap::{Env, Failure};
use binder_client::{check, check_eq};

use super::{format_of, tracing, Recording};
use crate::stage::Stage;

/// Events with their fields, in their order.
const EVENTS: [(&str, &str); 22] = [
    ("ioctl", "cmd arg"),
    ("ioctl_done", "ret"),
    ("write_done", "ret"),
    ("read_done", "ret"),
    ("wait_for_work", "proc_work transaction_stack thread_todo"),
    ("txn_latency_free", "debug_id from_proc from_thread to_proc to_thread code flags"),
    ("transaction", "debug_id target_node to_proc to_thread reply code flags"),
    ("transaction_received", "debug_id"),
    ("transaction_node_to_ref", "debug_id node_debug_id node_ptr ref_debug_id ref_desc"),
    ("transaction_ref_to_node", "debug_id ref_debug_id ref_desc node_debug_id node_ptr"),
    (
        "transaction_ref_to_ref",
        "debug_id node_debug_id src_ref_debug_id src_ref_desc dest_ref_debug_id dest_ref_desc",
    ),
    ("transaction_fd_send", "debug_id fd offset"),
    ("transaction_fd_recv", "debug_id fd offset"),
    ("transaction_alloc_buf", "debug_id data_size offsets_size extra_buffers_size"),
    ("transaction_buffer_release", "debug_id data_size offsets_size extra_buffers_size"),
    ("transaction_failed_buffer_release", "debug_id data_size offsets_size extra_buffers_size"),
    ("transaction_update_buffer_release", "debug_id data_size offsets_size extra_buffers_size"),
    ("update_page_range", "proc allocate offset size"),
    ("alloc_page_start", "proc page_index"),
    ("alloc_page_end", "proc page_index"),
    ("command", "cmd"),
    ("return", "cmd"),
];

/// Names of fields in a description, without those that all events have.
fn fields(description: &str) -> Vec<String> {
    let declared = description.lines().filter_map(|line| line.trim().strip_prefix("field:"));
    let names = declared.filter_map(|line| {
        let (declaration, _) = line.split_once(';')?;
        declaration.split_whitespace().last().map(str::to_string)
    });
    names.filter(|name| !name.starts_with("common_")).collect()
}

pub fn every_event_has_the_fields_that_tools_expect(_env: &Env) -> Result<(), Failure> {
    let folder = tracing()?;
    for (event, expected) in EVENTS {
        let description = format_of(&folder, event)?;
        check_eq!(fields(&description).join(" "), expected, "fields of {event}");
        check!(description.contains("print fmt:"), "{event} can be printed");
    }
    Ok(())
}

pub fn events_that_nobody_asked_for_are_not_recorded(env: &Env) -> Result<(), Failure> {
    let recording = Recording::prepare()?;
    let stage = Stage::new(env)?;
    stage.echo(&stage.actor()?, b"unseen")?;
    check_eq!(recording.events()?, []);
    Ok(())
}
