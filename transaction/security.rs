// SPDX-License-Identifier: GPL-2.0

//! What the security modules of the kernel say and give.

use kernel::{
    prelude::*,
    security::{self, SecurityCtx},
};

use crate::{error::TransactionError, process::Process};

/// Asks whether `from` may call `to`. A refusal is always `EPERM`.
pub(super) fn check_call(from: &Process, to: &Process) -> Result<(), TransactionError> {
    security::binder_transaction(&from.cred, &to.cred).map_err(|_| TransactionError::failed(EPERM))
}

/// The security context of a sender, as far as the receiving node asks for it.
pub(super) enum SenderContext {
    /// It does not.
    NotWanted,
    /// It does, and no security module gives contexts: a call must not fail for that.
    Unknown,
    /// This one.
    Known(SecurityCtx),
}

impl SenderContext {
    /// The context of the credentials that opened the sender's file.
    pub(super) fn of(sender: &Process) -> Result<Self> {
        match SecurityCtx::from_secid(sender.cred.get_secid()) {
            Ok(context) if context.is_empty() => Ok(Self::Unknown),
            Ok(context) => Ok(Self::Known(context)),
            Err(error) if error == ENOMEM => Err(error),
            // `EOPNOTSUPP` without any module that could, `EINVAL` if those that could do
            // not know these credentials.
            Err(_) => Ok(Self::Unknown),
        }
    }

    /// The string for the receiver, with its NUL; no bytes if it is not wanted.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::NotWanted => &[],
            Self::Unknown => b"\0",
            Self::Known(context) => context.as_bytes(),
        }
    }
}
