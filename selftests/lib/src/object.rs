// SPDX-License-Identifier: GPL-2.0
//! Objects inside a transaction, as typed values.

use bytemuck::{bytes_of, pod_read_unaligned};

use crate::uapi::*;

/// Strong or weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strength {
    /// Keeps the object alive and allows calls.
    Strong,
    /// Only names the object.
    Weak,
}

/// One object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// A node of the process whose side this is.
    Binder {
        /// Strong or weak.
        strength: Strength,
        /// The node's pointer.
        ptr: u64,
        /// The node's cookie.
        cookie: u64,
        /// Flags; they take effect when the node is created.
        flags: u32,
    },
    /// A node of another process.
    Handle {
        /// Strong or weak.
        strength: Strength,
        /// The handle.
        handle: u32,
        /// The cookie field, zero when received.
        cookie: u64,
        /// Flags, passed on.
        flags: u32,
    },
    /// A file descriptor.
    Fd {
        /// The descriptor.
        fd: u32,
        /// Passed on untouched.
        cookie: u64,
    },
    /// An array of file descriptors in an out-of-line buffer.
    FdArray(FdArrayObject),
    /// An out-of-line buffer.
    Buffer(BufferObject),
}

impl Object {
    /// The bytes in a transaction.
    pub fn to_bytes(&self) -> Vec<u8> {
        match *self {
            Object::Binder { strength, ptr, cookie, flags } => {
                let kind = match strength {
                    Strength::Strong => TYPE_BINDER,
                    Strength::Weak => TYPE_WEAK_BINDER,
                };
                bytes_of(&FlatObject { kind, flags, binder: ptr, cookie }).to_vec()
            }
            Object::Handle { strength, handle, cookie, flags } => {
                let kind = match strength {
                    Strength::Strong => TYPE_HANDLE,
                    Strength::Weak => TYPE_WEAK_HANDLE,
                };
                let binder = u64::from(handle);
                bytes_of(&FlatObject { kind, flags, binder, cookie }).to_vec()
            }
            Object::Fd { fd, cookie } => {
                let fd = u64::from(fd);
                bytes_of(&FdObject { kind: TYPE_FD, pad_flags: 0, fd, cookie }).to_vec()
            }
            Object::FdArray(array) => bytes_of(&array).to_vec(),
            Object::Buffer(buffer) => bytes_of(&buffer).to_vec(),
        }
    }

    /// Reads the object at the start of `bytes`; `None` if it is of an unknown
    /// type or cut off.
    pub fn from_bytes(bytes: &[u8]) -> Option<Object> {
        let kind = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
        Some(match kind {
            TYPE_BINDER | TYPE_WEAK_BINDER => {
                let object: FlatObject = pod_read_unaligned(bytes.get(..24)?);
                let strength = strength(kind == TYPE_BINDER);
                let FlatObject { flags, binder, cookie, .. } = object;
                Object::Binder { strength, ptr: binder, cookie, flags }
            }
            TYPE_HANDLE | TYPE_WEAK_HANDLE => {
                let object: FlatObject = pod_read_unaligned(bytes.get(..24)?);
                let strength = strength(kind == TYPE_HANDLE);
                let handle = object.binder as u32;
                Object::Handle { strength, handle, cookie: object.cookie, flags: object.flags }
            }
            TYPE_FD => {
                let object: FdObject = pod_read_unaligned(bytes.get(..24)?);
                Object::Fd { fd: object.fd as u32, cookie: object.cookie }
            }
            TYPE_FDA => Object::FdArray(pod_read_unaligned(bytes.get(..32)?)),
            TYPE_PTR => Object::Buffer(pod_read_unaligned(bytes.get(..40)?)),
            _ => return None,
        })
    }
}

fn strength(strong: bool) -> Strength {
    if strong {
        Strength::Strong
    } else {
        Strength::Weak
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_survive_a_round_trip() {
        let strong = Strength::Strong;
        let weak = Strength::Weak;
        let fda = FdArrayObject { kind: TYPE_FDA, num_fds: 2, parent: 1, ..Default::default() };
        let ptr = BufferObject { kind: TYPE_PTR, length: 9, buffer: 77, ..Default::default() };
        for object in [
            Object::Binder { strength: strong, ptr: 1, cookie: 2, flags: 3 },
            Object::Binder { strength: weak, ptr: 4, cookie: 5, flags: 6 },
            Object::Handle { strength: strong, handle: 7, cookie: 8, flags: 9 },
            Object::Handle { strength: weak, handle: 10, cookie: 0, flags: 0 },
            Object::Fd { fd: 11, cookie: 12 },
            Object::FdArray(fda),
            Object::Buffer(ptr),
        ] {
            let bytes = object.to_bytes();
            assert_eq!(Object::from_bytes(&bytes), Some(object));
            assert_eq!(Object::from_bytes(&bytes[..bytes.len() - 1]), None, "cut off");
        }
    }

    #[test]
    fn unknown_type_is_refused() {
        assert_eq!(Object::from_bytes(&[0xff; 40]), None);
        assert_eq!(Object::from_bytes(&[1]), None);
    }
}
