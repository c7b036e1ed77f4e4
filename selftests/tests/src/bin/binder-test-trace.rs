// SPDX-License-Identifier: GPL-2.0
//! Events of the driver, as perf and perfetto read them: their fields, and what they tell.

#[path = "../stage/mod.rs"]
mod stage;
#[path = "../trace/mod.rs"]
mod trace;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

use trace::{fields, told};

fn main() -> ExitCode {
    ktap::main(&cases![
        fields::every_event_has_the_fields_that_tools_expect,
        fields::events_that_nobody_asked_for_are_not_recorded,
        told::a_call_is_followed_from_its_command_to_its_reply,
        told::flags_are_told_as_they_were_sent,
        told::ids_of_a_transaction_are_one,
        told::objects_are_followed_to_what_they_become,
        told::files_are_followed,
        told::buffers_are_followed_to_their_end,
        told::buffer_of_a_failed_transaction_is_told,
        told::replaced_message_is_told,
        told::ioctl_tells_its_result,
    ])
}
