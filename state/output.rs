// SPDX-License-Identifier: GPL-2.0

//! Where the text goes, and how it looks.

use core::fmt;

use kernel::{alloc::flags::GFP_KERNEL_ACCOUNT, prelude::*};

use crate::ffi::pointer::Hashed;

/// How much is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything.
    All,
    /// Only what is busy with something.
    Busy,
}

/// How the addresses look by which a process names its objects.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pointers {
    /// As they are.
    Plain,
    /// Hashed.
    Hashed,
}

/// What is shown, and how.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) scope: Scope,
    pub(crate) pointers: Pointers,
}

/// An address of a process, printed in one of the two ways.
pub(crate) struct Pointer(pub(crate) u64, pub(crate) Pointers);

impl fmt::Display for Pointer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Pointers::Plain => write!(out, "{:016x}", self.0),
            Pointers::Hashed => Hashed(self.0 as usize).fmt(out),
        }
    }
}

/// Text in memory, which is charged to the reader. Writing fails for want of memory only.
pub(crate) struct Output(KVVec<u8>);

impl Output {
    pub(super) fn new() -> Self {
        Self(KVVec::new())
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes back all behind the first `len` bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(super) fn into_bytes(self) -> KVVec<u8> {
        self.0
    }
}

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0
            .extend_from_slice(text.as_bytes(), GFP_KERNEL_ACCOUNT)
            .map_err(|_| fmt::Error)
    }
}
