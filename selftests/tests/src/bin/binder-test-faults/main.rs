// SPDX-License-Identifier: GPL-2.0
//! Each kind of operation with each thing that can fail in it made to fail:
//! every allocation, and every copy from and to user space.
//!
//! Needs a kernel with fault injection, see `tools/kernels/debug.config`; the
//! kernel's own checks (KASAN, lockdep, kmemleak) see the rest of the damage.

mod calls;
mod client;
mod files;
mod injector;
mod serving;
mod witness;

use std::process::ExitCode;

use binder_client::ktap::{self, cases};

fn main() -> ExitCode {
    ktap::main(&cases![
        files::opening,
        files::mapping,
        files::first_ioctl_of_a_thread,
        files::first_poll_of_a_thread,
        files::adding_to_an_epoll_set,
        files::closing,
        files::leaving_of_a_thread,
        calls::first_call,
        calls::oneway_call,
        calls::large_call,
        calls::call_with_new_nodes,
        calls::call_beyond_sixty_four_handles,
        calls::call_with_descriptors,
        calls::call_with_buffers_and_a_descriptor_array,
        calls::reading_of_a_reply,
        calls::freeing_of_a_buffer,
        calls::death_request,
        calls::becoming_the_manager,
        serving::receiving_of_a_call,
        serving::sending_of_a_reply,
    ])
}
