// SPDX-License-Identifier: GPL-2.0

//! The structures and numbers of the ABI as bindgen reads them from `uapi/`.
//!
//! bindgen has produced wrong offsets for Rust kernels before, so every layout
//! that user space sees is asserted here against the documented one.

use core::mem::{offset_of, size_of};

use kernel::transmute::{AsBytes, FromBytes};

#[allow(
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unreachable_pub,
    unsafe_op_in_unsafe_fn
)]
mod generated {
    include!(env!("RUST_BINDER_BINDINGS"));
}

pub(crate) use generated::*;

/// Asserts size and offsets, and allows the type to cross to and from user space.
macro_rules! plain {
    ($type:ident: $size:literal { $($field:ident @ $offset:literal),* $(,)? }) => {
        const _: () = {
            assert!(size_of::<$type>() == $size);
            $(assert!(offset_of!($type, $field) == $offset);)*
        };
        // SAFETY: Integers and unions of integers only: any bytes are a value.
        unsafe impl FromBytes for $type {}
        // SAFETY: By the asserted size there is no padding, and unions are written
        // through their largest member or start zeroed.
        unsafe impl AsBytes for $type {}
    };
}

plain!(binder_write_read: 48 {
    write_size @ 0, write_consumed @ 8, write_buffer @ 16,
    read_size @ 24, read_consumed @ 32, read_buffer @ 40,
});
plain!(binder_transaction_data: 64 {
    target @ 0, cookie @ 8, code @ 16, flags @ 20, sender_pid @ 24, sender_euid @ 28,
    data_size @ 32, offsets_size @ 40, data @ 48,
});
plain!(binder_transaction_data_secctx: 72 { transaction_data @ 0, secctx @ 64 });
plain!(binder_transaction_data_sg: 72 { transaction_data @ 0, buffers_size @ 64 });
plain!(flat_binder_object: 24 { hdr @ 0, flags @ 4, __bindgen_anon_1 @ 8, cookie @ 16 });
plain!(binder_fd_object: 24 { hdr @ 0, pad_flags @ 4, __bindgen_anon_1 @ 8, cookie @ 16 });
plain!(binder_buffer_object: 40 {
    hdr @ 0, flags @ 4, buffer @ 8, length @ 16, parent @ 24, parent_offset @ 32,
});
plain!(binder_fd_array_object: 32 {
    hdr @ 0, pad @ 4, num_fds @ 8, parent @ 16, parent_offset @ 24,
});
plain!(binder_object_header: 4 { type_ @ 0 });
plain!(binder_ptr_cookie: 16 { ptr @ 0, cookie @ 8 });
plain!(binder_handle_cookie: 12 { handle @ 0, cookie @ 4 });
plain!(binder_version: 4 { protocol_version @ 0 });
plain!(binder_frozen_state_info: 16 { cookie @ 0, is_frozen @ 8, reserved @ 12 });
plain!(binder_freeze_info: 12 { pid @ 0, enable @ 4, timeout_ms @ 8 });
plain!(binder_frozen_status_info: 12 { pid @ 0, sync_recv @ 4, async_recv @ 8 });
plain!(binder_node_debug_info: 24 { ptr @ 0, cookie @ 8, has_strong_ref @ 16, has_weak_ref @ 20 });
plain!(binder_extended_error: 12 { id @ 0, command @ 4, param @ 8 });

impl binder_transaction_data {
    /// The target handle, and where in the sender data and offsets are.
    pub(crate) fn addresses(&self) -> (u32, u64, u64) {
        // SAFETY: All members of both unions are integers that the sender wrote.
        unsafe {
            (
                self.target.handle,
                self.data.ptr.buffer,
                self.data.ptr.offsets,
            )
        }
    }

    /// A transaction for a receiver, without contents.
    pub(crate) fn for_receiver(ptr: u64, cookie: u64) -> Self {
        let mut data = Self {
            cookie,
            ..Default::default()
        };
        data.target.ptr = ptr;
        data
    }

    /// Says where data and offsets are in the receiver.
    pub(crate) fn set_addresses(&mut self, data: u64, offsets: u64) {
        self.data.ptr.buffer = data;
        self.data.ptr.offsets = offsets;
    }
}

impl flat_binder_object {
    /// The type.
    pub(crate) fn kind(&self) -> u32 {
        self.hdr.type_
    }

    /// The pointer of a local object.
    pub(crate) fn pointer(&self) -> u64 {
        // SAFETY: Both members are integers.
        unsafe { self.__bindgen_anon_1.binder }
    }

    /// The handle of a remote object.
    pub(crate) fn handle(&self) -> u32 {
        // SAFETY: Both members are integers.
        unsafe { self.__bindgen_anon_1.handle }
    }

    /// The same object with another type, pointer (or handle) and cookie.
    pub(crate) fn become_type(mut self, kind: u32, pointer_or_handle: u64, cookie: u64) -> Self {
        self.hdr.type_ = kind;
        self.__bindgen_anon_1.binder = pointer_or_handle;
        self.cookie = cookie;
        self
    }
}

impl binder_buffer_object {
    /// The object that begins as `head` does, and ends with index and offset of its parent.
    pub(crate) fn new(head: flat_binder_object, [parent, parent_offset]: [u64; 2]) -> Self {
        Self {
            hdr: head.hdr,
            flags: head.flags,
            buffer: head.pointer(),
            length: head.cookie,
            parent,
            parent_offset,
        }
    }
}

impl binder_fd_array_object {
    /// The object that begins as `head` does, and ends with the offset in its parent.
    pub(crate) fn new(head: flat_binder_object, parent_offset: u64) -> Self {
        Self {
            hdr: head.hdr,
            pad: head.flags,
            num_fds: head.pointer(),
            parent: head.cookie,
            parent_offset,
        }
    }
}
