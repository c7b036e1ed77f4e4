// SPDX-License-Identifier: GPL-2.0
//! The echo and file service: its protocol and its client side.
#![deny(unsafe_code)]
#![warn(missing_docs)]

pub mod files;

/// Reply with the request's data.
pub const ECHO: u32 = 1;
/// Request: text path. Reply: u32 length and the file's content.
pub const READ_FILE: u32 = 2;
/// Request: text path. Reply: the open file as a descriptor.
pub const OPEN_FILE: u32 = 3;

/// Longest content that [`READ_FILE`] sends, in bytes.
pub const CONTENT_MAX: u64 = 256 << 10;
