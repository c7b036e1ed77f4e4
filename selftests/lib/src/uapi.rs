// SPDX-License-Identifier: GPL-2.0
//! The user space ABI of a Binder device: numbers and structures.
//!
//! Every size and offset that user space and the driver must agree on is
//! asserted at compile time at the end of this file.

use bytemuck::{Pod, Zeroable};

/// The protocol version that a driver reports with [`BINDER_VERSION`].
pub const CURRENT_PROTOCOL_VERSION: i32 = 8;

const DIR_NONE: u32 = 0;
const DIR_WRITE: u32 = 1;
const DIR_READ: u32 = 2;

/// Composes a command number as `asm-generic/ioctl.h` does.
pub const fn ioc(dir: u32, group: u8, nr: u32, size: usize) -> u32 {
    (dir << 30) | ((size as u32) << 16) | ((group as u32) << 8) | nr
}

/// The size of the payload that a command number announces, in bytes.
pub const fn ioc_size(command: u32) -> usize {
    ((command >> 16) & 0x3fff) as usize
}

const fn io(group: u8, nr: u32) -> u32 {
    ioc(DIR_NONE, group, nr, 0)
}

const fn ior<T>(group: u8, nr: u32) -> u32 {
    ioc(DIR_READ, group, nr, size_of::<T>())
}

const fn iow<T>(group: u8, nr: u32) -> u32 {
    ioc(DIR_WRITE, group, nr, size_of::<T>())
}

const fn iowr<T>(group: u8, nr: u32) -> u32 {
    ioc(DIR_READ | DIR_WRITE, group, nr, size_of::<T>())
}

macro_rules! structures {
    ($($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
            pub struct $name { $($(#[$fmeta])* pub $field: $ty,)* }
        )*
    };
}

structures! {
    /// Argument of [`BINDER_WRITE_READ`].
    WriteRead {
        /// Bytes of commands at `write_buffer`.
        write_size: u64,
        /// Bytes of commands that were carried out.
        write_consumed: u64,
        /// Address of the commands.
        write_buffer: u64,
        /// Bytes of room at `read_buffer`.
        read_size: u64,
        /// Bytes of returns that were written.
        read_consumed: u64,
        /// Address of the room for returns.
        read_buffer: u64,
    }
    /// Argument of [`BINDER_VERSION`].
    Version {
        /// See [`CURRENT_PROTOCOL_VERSION`].
        protocol_version: i32,
    }
    /// Argument of [`BINDER_GET_NODE_DEBUG_INFO`].
    NodeDebugInfo {
        /// In: find the next node above this one. Out: its pointer, or 0.
        ptr: u64,
        /// The node's cookie.
        cookie: u64,
        /// Non-zero if the owner knows of a strong reference.
        has_strong_ref: u32,
        /// Non-zero if the owner knows of a weak reference.
        has_weak_ref: u32,
    }
    /// Argument of [`BINDER_GET_NODE_INFO_FOR_REF`].
    NodeInfoForRef {
        /// In: the handle to ask about.
        handle: u32,
        /// Strong references of the node.
        strong_count: u32,
        /// Weak references of the node.
        weak_count: u32,
        /// Must be zero.
        reserved1: u32,
        /// Must be zero.
        reserved2: u32,
        /// Must be zero.
        reserved3: u32,
    }
    /// Argument of [`BINDER_FREEZE`].
    FreezeInfo {
        /// The process to freeze or unfreeze.
        pid: u32,
        /// Non-zero to freeze.
        enable: u32,
        /// How long to wait for calls in progress, in milliseconds.
        timeout_ms: u32,
    }
    /// Argument of [`BINDER_GET_FROZEN_INFO`].
    FrozenStatusInfo {
        /// The process asked about.
        pid: u32,
        /// Bit 0: a synchronous call was refused; bit 1: something is pending.
        sync_recv: u32,
        /// Non-zero if a oneway call arrived since the freeze.
        async_recv: u32,
    }
    /// Argument of [`BINDER_GET_EXTENDED_ERROR`].
    ExtendedError {
        /// Id of the transaction that failed.
        id: u32,
        /// The BR_ command that reported the failure.
        command: u32,
        /// A negative errno, or 0.
        param: i32,
    }
    /// Payload of [`BC_TRANSACTION`], [`BC_REPLY`], [`BR_TRANSACTION`] and [`BR_REPLY`].
    TransactionData {
        /// A handle when sent, the node's pointer when received.
        target: u64,
        /// The node's cookie when received.
        cookie: u64,
        /// The method, for the peer.
        code: u32,
        /// A set of `TF_` bits.
        flags: u32,
        /// Sender's process, in the receiver's pid namespace.
        sender_pid: i32,
        /// Sender's effective user, in the receiver's user namespace.
        sender_euid: u32,
        /// Bytes at `buffer`.
        data_size: u64,
        /// Bytes at `offsets`.
        offsets_size: u64,
        /// Address of the data.
        buffer: u64,
        /// Address of the offsets of objects in the data.
        offsets: u64,
    }
    /// Payload of [`BC_TRANSACTION_SG`] and [`BC_REPLY_SG`].
    TransactionDataSg {
        /// As without scatter-gather.
        transaction: TransactionData,
        /// Bytes of all out-of-line buffers together, each rounded up to 8.
        buffers_size: u64,
    }
    /// Payload of [`BR_TRANSACTION_SEC_CTX`].
    TransactionDataSecCtx {
        /// As without a security context.
        transaction: TransactionData,
        /// Address of the sender's security context.
        secctx: u64,
    }
    /// A node of the sender, or a handle.
    FlatObject {
        /// One of `TYPE_BINDER`, `TYPE_WEAK_BINDER`, `TYPE_HANDLE`, `TYPE_WEAK_HANDLE`.
        kind: u32,
        /// `FLAT_BINDER_FLAG_` bits and the minimum priority.
        flags: u32,
        /// The node's pointer, or the handle in the low 32 bits.
        binder: u64,
        /// The node's cookie.
        cookie: u64,
    }
    /// A file descriptor.
    FdObject {
        /// `TYPE_FD`.
        kind: u32,
        /// Unused.
        pad_flags: u32,
        /// The descriptor in the low 32 bits.
        fd: u64,
        /// Free for user space.
        cookie: u64,
    }
    /// An out-of-line buffer.
    BufferObject {
        /// `TYPE_PTR`.
        kind: u32,
        /// 0 or [`BUFFER_FLAG_HAS_PARENT`].
        flags: u32,
        /// Address of the bytes.
        buffer: u64,
        /// Number of the bytes.
        length: u64,
        /// Index of the parent in the offsets.
        parent: u64,
        /// Where in the parent the address of this buffer is to be written.
        parent_offset: u64,
    }
    /// An array of descriptors inside an out-of-line buffer.
    FdArrayObject {
        /// `TYPE_FDA`.
        kind: u32,
        /// Unused.
        pad: u32,
        /// Number of descriptors.
        num_fds: u64,
        /// Index of the parent in the offsets.
        parent: u64,
        /// Where in the parent the array starts.
        parent_offset: u64,
    }
    /// Payload of the reference commands and returns that name a node.
    PtrCookie {
        /// The node's pointer.
        ptr: u64,
        /// The node's cookie.
        cookie: u64,
    }
    /// Payload of [`BR_FROZEN_BINDER`].
    FrozenStateInfo {
        /// Cookie of the request.
        cookie: u64,
        /// Non-zero if the owner is frozen.
        is_frozen: u32,
        /// Zero.
        reserved: u32,
    }
}

/// Payload of the death and freeze notification requests; packed, 12 bytes.
#[repr(C, packed)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct HandleCookie {
    /// The reference to watch.
    pub handle: u32,
    /// Free for user space; comes back in the notification.
    pub cookie: u64,
}

macro_rules! constants {
    ($($(#[$meta:meta])* $name:ident = $value:expr;)*) => {
        $($(#[$meta])* #[allow(missing_docs)] pub const $name: u32 = $value;)*
    };
}

// ioctls.
constants! {
    BINDER_WRITE_READ = iowr::<WriteRead>(b'b', 1);
    BINDER_SET_IDLE_TIMEOUT = iow::<i64>(b'b', 3);
    BINDER_SET_MAX_THREADS = iow::<u32>(b'b', 5);
    BINDER_SET_IDLE_PRIORITY = iow::<i32>(b'b', 6);
    BINDER_SET_CONTEXT_MGR = iow::<i32>(b'b', 7);
    BINDER_THREAD_EXIT = iow::<i32>(b'b', 8);
    BINDER_VERSION = iowr::<Version>(b'b', 9);
    BINDER_GET_NODE_DEBUG_INFO = iowr::<NodeDebugInfo>(b'b', 11);
    BINDER_GET_NODE_INFO_FOR_REF = iowr::<NodeInfoForRef>(b'b', 12);
    BINDER_SET_CONTEXT_MGR_EXT = iow::<FlatObject>(b'b', 13);
    BINDER_FREEZE = iow::<FreezeInfo>(b'b', 14);
    BINDER_GET_FROZEN_INFO = iowr::<FrozenStatusInfo>(b'b', 15);
    BINDER_ENABLE_ONEWAY_SPAM_DETECTION = iow::<u32>(b'b', 16);
    BINDER_GET_EXTENDED_ERROR = iowr::<ExtendedError>(b'b', 17);
}

// Commands to the driver.
constants! {
    BC_TRANSACTION = iow::<TransactionData>(b'c', 0);
    BC_REPLY = iow::<TransactionData>(b'c', 1);
    BC_ACQUIRE_RESULT = iow::<i32>(b'c', 2);
    BC_FREE_BUFFER = iow::<u64>(b'c', 3);
    BC_INCREFS = iow::<u32>(b'c', 4);
    BC_ACQUIRE = iow::<u32>(b'c', 5);
    BC_RELEASE = iow::<u32>(b'c', 6);
    BC_DECREFS = iow::<u32>(b'c', 7);
    BC_INCREFS_DONE = iow::<PtrCookie>(b'c', 8);
    BC_ACQUIRE_DONE = iow::<PtrCookie>(b'c', 9);
    BC_ATTEMPT_ACQUIRE = iow::<[u32; 2]>(b'c', 10);
    BC_REGISTER_LOOPER = io(b'c', 11);
    BC_ENTER_LOOPER = io(b'c', 12);
    BC_EXIT_LOOPER = io(b'c', 13);
    BC_REQUEST_DEATH_NOTIFICATION = iow::<HandleCookie>(b'c', 14);
    BC_CLEAR_DEATH_NOTIFICATION = iow::<HandleCookie>(b'c', 15);
    BC_DEAD_BINDER_DONE = iow::<u64>(b'c', 16);
    BC_TRANSACTION_SG = iow::<TransactionDataSg>(b'c', 17);
    BC_REPLY_SG = iow::<TransactionDataSg>(b'c', 18);
    BC_REQUEST_FREEZE_NOTIFICATION = iow::<HandleCookie>(b'c', 19);
    BC_CLEAR_FREEZE_NOTIFICATION = iow::<HandleCookie>(b'c', 20);
    BC_FREEZE_NOTIFICATION_DONE = iow::<u64>(b'c', 21);
}

// Returns of the driver.
constants! {
    BR_ERROR = ior::<i32>(b'r', 0);
    BR_OK = io(b'r', 1);
    BR_TRANSACTION_SEC_CTX = ior::<TransactionDataSecCtx>(b'r', 2);
    BR_TRANSACTION = ior::<TransactionData>(b'r', 2);
    BR_REPLY = ior::<TransactionData>(b'r', 3);
    BR_ACQUIRE_RESULT = ior::<i32>(b'r', 4);
    BR_DEAD_REPLY = io(b'r', 5);
    BR_TRANSACTION_COMPLETE = io(b'r', 6);
    BR_INCREFS = ior::<PtrCookie>(b'r', 7);
    BR_ACQUIRE = ior::<PtrCookie>(b'r', 8);
    BR_RELEASE = ior::<PtrCookie>(b'r', 9);
    BR_DECREFS = ior::<PtrCookie>(b'r', 10);
    BR_ATTEMPT_ACQUIRE = ior::<[u64; 3]>(b'r', 11);
    BR_NOOP = io(b'r', 12);
    BR_SPAWN_LOOPER = io(b'r', 13);
    BR_FINISHED = io(b'r', 14);
    BR_DEAD_BINDER = ior::<u64>(b'r', 15);
    BR_CLEAR_DEATH_NOTIFICATION_DONE = ior::<u64>(b'r', 16);
    BR_FAILED_REPLY = io(b'r', 17);
    BR_FROZEN_REPLY = io(b'r', 18);
    BR_ONEWAY_SPAM_SUSPECT = io(b'r', 19);
    BR_TRANSACTION_PENDING_FROZEN = io(b'r', 20);
    BR_FROZEN_BINDER = ior::<FrozenStateInfo>(b'r', 21);
    BR_CLEAR_FREEZE_NOTIFICATION_DONE = ior::<u64>(b'r', 22);
}

const fn object_type(a: u8, b: u8, c: u8) -> u32 {
    u32::from_be_bytes([a, b, c, 0x85])
}

// Objects in a transaction.
constants! {
    TYPE_BINDER = object_type(b's', b'b', b'*');
    TYPE_WEAK_BINDER = object_type(b'w', b'b', b'*');
    TYPE_HANDLE = object_type(b's', b'h', b'*');
    TYPE_WEAK_HANDLE = object_type(b'w', b'h', b'*');
    TYPE_FD = object_type(b'f', b'd', b'*');
    TYPE_FDA = object_type(b'f', b'd', b'a');
    TYPE_PTR = object_type(b'p', b't', b'*');
    /// Mask of the node's minimum priority (a nice value).
    FLAT_BINDER_FLAG_PRIORITY_MASK = 0xff;
    /// Requests to the node may carry descriptors.
    FLAT_BINDER_FLAG_ACCEPTS_FDS = 0x100;
    /// Requests to the node are to carry the sender's security context.
    FLAT_BINDER_FLAG_TXN_SECURITY_CTX = 0x1000;
    /// The out-of-line buffer has a parent to be patched.
    BUFFER_FLAG_HAS_PARENT = 0x01;
}

// Flags of a transaction.
constants! {
    TF_ONE_WAY = 0x01;
    TF_ROOT_OBJECT = 0x04;
    TF_STATUS_CODE = 0x08;
    TF_ACCEPT_FDS = 0x10;
    TF_CLEAR_BUF = 0x20;
    TF_UPDATE_TXN = 0x40;
    /// On a reply: its completion is no reason to return to user space.
    TF_DEFER_COMPLETE = 0x80;
}

macro_rules! assert_layout {
    ($($name:ident: $size:literal $(, $field:ident @ $offset:literal)*;)*) => {
        $(
            const _: () = assert!(size_of::<$name>() == $size);
            $(const _: () = assert!(core::mem::offset_of!($name, $field) == $offset);)*
        )*
    };
}

assert_layout! {
    WriteRead: 48, write_size @ 0, write_consumed @ 8, write_buffer @ 16, read_size @ 24, read_consumed @ 32, read_buffer @ 40;
    Version: 4;
    NodeDebugInfo: 24, cookie @ 8, has_strong_ref @ 16, has_weak_ref @ 20;
    NodeInfoForRef: 24, strong_count @ 4, weak_count @ 8, reserved1 @ 12;
    FreezeInfo: 12, enable @ 4, timeout_ms @ 8;
    FrozenStatusInfo: 12, sync_recv @ 4, async_recv @ 8;
    ExtendedError: 12, command @ 4, param @ 8;
    TransactionData: 64, cookie @ 8, code @ 16, flags @ 20, sender_pid @ 24, sender_euid @ 28, data_size @ 32, offsets_size @ 40, buffer @ 48, offsets @ 56;
    TransactionDataSg: 72, buffers_size @ 64;
    TransactionDataSecCtx: 72, secctx @ 64;
    FlatObject: 24, flags @ 4, binder @ 8, cookie @ 16;
    FdObject: 24, fd @ 8, cookie @ 16;
    BufferObject: 40, flags @ 4, buffer @ 8, length @ 16, parent @ 24, parent_offset @ 32;
    FdArrayObject: 32, num_fds @ 8, parent @ 16, parent_offset @ 24;
    PtrCookie: 16, cookie @ 8;
    FrozenStateInfo: 16, is_frozen @ 8;
    HandleCookie: 12, cookie @ 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as other programs have them compiled in.
    #[test]
    fn numbers_are_the_published_ones() {
        assert_eq!(BINDER_WRITE_READ, 0xc030_6201);
        assert_eq!(BINDER_SET_MAX_THREADS, 0x4004_6205);
        assert_eq!(BINDER_SET_CONTEXT_MGR, 0x4004_6207);
        assert_eq!(BINDER_THREAD_EXIT, 0x4004_6208);
        assert_eq!(BINDER_VERSION, 0xc004_6209);
        assert_eq!(BINDER_GET_NODE_DEBUG_INFO, 0xc018_620b);
        assert_eq!(BINDER_GET_NODE_INFO_FOR_REF, 0xc018_620c);
        assert_eq!(BINDER_SET_CONTEXT_MGR_EXT, 0x4018_620d);
        assert_eq!(BINDER_FREEZE, 0x400c_620e);
        assert_eq!(BINDER_GET_FROZEN_INFO, 0xc00c_620f);
        assert_eq!(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, 0x4004_6210);
        assert_eq!(BINDER_GET_EXTENDED_ERROR, 0xc00c_6211);
        assert_eq!(BC_TRANSACTION, 0x4040_6300);
        assert_eq!(BC_REPLY_SG, 0x4048_6312);
        assert_eq!(BC_FREE_BUFFER, 0x4008_6303);
        assert_eq!(BC_ATTEMPT_ACQUIRE, 0x4008_630a);
        assert_eq!(BC_ENTER_LOOPER, 0x630c);
        assert_eq!(BC_REQUEST_DEATH_NOTIFICATION, 0x400c_630e);
        assert_eq!(BC_FREEZE_NOTIFICATION_DONE, 0x4008_6315);
        assert_eq!(BR_ERROR, 0x8004_7200);
        assert_eq!(BR_TRANSACTION, 0x8040_7202);
        assert_eq!(BR_TRANSACTION_SEC_CTX, 0x8048_7202);
        assert_eq!(BR_INCREFS, 0x8010_7207);
        assert_eq!(BR_FROZEN_BINDER, 0x8010_7215);
        assert_eq!(BR_CLEAR_FREEZE_NOTIFICATION_DONE, 0x8008_7216);
        assert_eq!(BR_TRANSACTION_PENDING_FROZEN, 0x7214);
        assert_eq!(TYPE_BINDER, 0x7362_2a85);
        assert_eq!(TYPE_WEAK_HANDLE, 0x7768_2a85);
        assert_eq!(TYPE_FDA, 0x6664_6185);
        assert_eq!(TYPE_PTR, 0x7074_2a85);
    }

    #[test]
    fn size_is_read_back() {
        assert_eq!(ioc_size(BR_TRANSACTION_SEC_CTX), 72);
        assert_eq!(ioc_size(BR_NOOP), 0);
    }
}
