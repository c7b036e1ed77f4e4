// SPDX-License-Identifier: GPL-2.0

//! Events for perf, ftrace and perfetto.
//!
//! What they are is in `trace.h`. An event that nobody listens to costs one instruction that
//! does nothing: its arguments are computed only for a listener.

use core::ffi::CStr;

use kernel::prelude::*;

use crate::{
    defs::{Command, Return},
    stats,
};

/// Declares events with their arguments, which are to be those of `trace.h`.
macro_rules! events {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*);)*) => {
        #[cfg(CONFIG_TRACEPOINTS)]
        mod c {
            use super::*;
            kernel::macros::paste! {
                // Only the addresses of the tracepoints are used.
                #[allow(improper_ctypes)]
                extern "C" {
                    $(
                        pub(super) static [<__tracepoint_binder_ $name>]:
                            kernel::bindings::tracepoint;
                        pub(super) fn [<rust_do_trace_binder_ $name>]($($arg: $type),*);
                    )*
                }
            }
        }
        kernel::macros::paste! {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub(crate) fn $name(arguments: impl FnOnce() -> ($($type,)*)) {
                    #[cfg(CONFIG_TRACEPOINTS)]
                    {
                        // SAFETY: The key of a tracepoint may be looked at at any time.
                        let wanted = unsafe {
                            kernel::jump_label::static_branch_unlikely!(
                                c::[<__tracepoint_binder_ $name>],
                                kernel::bindings::tracepoint,
                                key
                            )
                        };
                        if wanted {
                            let ($($arg,)*) = arguments();
                            // SAFETY: The event takes plain values, and these are of the
                            // types that `trace.h` names.
                            unsafe { c::[<rust_do_trace_binder_ $name>]($($arg),*) };
                        }
                    }
                    #[cfg(not(CONFIG_TRACEPOINTS))]
                    let _ = arguments;
                }
            )*
        }
    };
}

events!(
    /// An ioctl begins.
    ioctl(cmd: c_uint, arg: c_ulong);
    /// An ioctl ends.
    ioctl_done(ret: c_int);
    /// All commands of a write were carried out, or one failed.
    write_done(ret: c_int);
    /// A read ends.
    read_done(ret: c_int);
    /// A read looks for work: whether it may take that of the process, whether the thread
    /// takes part in calls, whether something waits for the thread itself.
    wait_for_work(proc_work: bool, transaction_stack: bool, thread_todo: bool);
    /// A command is carried out.
    command(cmd: u32);
    /// A return is handed out.
    r#return(cmd: u32);
    /// A transaction was accepted.
    transaction(
        debug_id: c_int, target_node: c_int, to_proc: c_int, to_thread: c_int, reply: c_int,
        code: c_uint, flags: c_uint
    );
    /// A transaction is delivered.
    transaction_received(debug_id: c_int);
    /// A transaction has ended.
    txn_latency_free(
        debug_id: c_int, from_proc: c_int, from_thread: c_int, to_proc: c_int, to_thread: c_int,
        code: c_uint, flags: c_uint
    );
    /// A node of the sender becomes a handle of the receiver.
    transaction_node_to_ref(
        debug_id: c_int, node_debug_id: c_int, node_ptr: u64, ref_debug_id: c_int, ref_desc: u32
    );
    /// A handle of the sender becomes a node of the receiver.
    transaction_ref_to_node(
        debug_id: c_int, ref_debug_id: c_int, ref_desc: u32, node_debug_id: c_int, node_ptr: u64
    );
    /// A handle of the sender becomes a handle of the receiver.
    transaction_ref_to_ref(
        debug_id: c_int, node_debug_id: c_int, src_ref_debug_id: c_int, src_ref_desc: u32,
        dest_ref_debug_id: c_int, dest_ref_desc: u32
    );
    /// A file is taken from the sender.
    transaction_fd_send(debug_id: c_int, fd: c_int, offset: usize);
    /// A file is given to the receiver.
    transaction_fd_recv(debug_id: c_int, fd: c_int, offset: usize);
    /// A buffer was made.
    transaction_alloc_buf(debug_id: c_int, data: usize, offsets: usize, extra: usize);
    /// The receiver has freed a buffer, or has ended.
    transaction_buffer_release(debug_id: c_int, data: usize, offsets: usize, extra: usize);
    /// A buffer was freed that was not delivered.
    transaction_failed_buffer_release(debug_id: c_int, data: usize, offsets: usize, extra: usize);
    /// A buffer was freed whose message another one has replaced.
    transaction_update_buffer_release(debug_id: c_int, data: usize, offsets: usize, extra: usize);
    /// Pages of a mapping become resident, or are given back.
    update_page_range(proc: c_int, allocate: bool, offset: usize, size: usize);
    /// A page is about to be allocated.
    alloc_page_start(proc: c_int, page_index: usize);
    /// A page was allocated.
    alloc_page_end(proc: c_int, page_index: usize);
);

/// The name of a command, for the text of an event.
#[no_mangle]
extern "C" fn rust_binder_command_name(command: u32) -> *const c_char {
    name(stats::command_name(Command(command)))
}

/// The name of a return, for the text of an event.
#[no_mangle]
extern "C" fn rust_binder_return_name(code: u32) -> *const c_char {
    name(stats::return_name(Return(code)))
}

fn name(known: Option<&'static CStr>) -> *const c_char {
    known.unwrap_or(c"unknown").as_char_ptr()
}
