// SPDX-License-Identifier: GPL-2.0
//! What can go wrong in a call.

use std::time::Duration;

use nix::errno::Errno;

use crate::returns::{ParseError, Return};
use crate::uapi::ExtendedError;

/// The failure of an operation of the higher layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A system call failed.
    #[error("{0}")]
    Errno(#[from] Errno),
    /// The driver returned something that is no valid return.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// `BR_DEAD_REPLY`: the peer, or its node, is gone.
    #[error("the target is dead (extended error: {0:?})")]
    Dead(ExtendedError),
    /// `BR_FAILED_REPLY`: the driver or the peer could not do it.
    #[error("the call failed (extended error: {0:?})")]
    Failed(ExtendedError),
    /// `BR_FROZEN_REPLY`: the target is frozen.
    #[error("the target is frozen (extended error: {0:?})")]
    Frozen(ExtendedError),
    /// The peer answered with a status instead of a reply.
    #[error("the peer answered with status {0}")]
    Status(i32),
    /// Nothing came in time.
    #[error("nothing came from the driver within {0:?}")]
    Timeout(Duration),
    /// A return that has no place here.
    #[error("{} came where it makes no sense", .0.name())]
    Unexpected(Return),
    /// A received buffer does not lie in the mapping.
    #[error("the driver named bytes outside the mapping: {length} at {address:#x}")]
    OutsideMapping {
        /// Address of the bytes.
        address: u64,
        /// Number of the bytes.
        length: u64,
    },
    /// The contents of a message are not what the protocol says.
    #[error("the message is malformed: {0}")]
    Malformed(&'static str),
}
