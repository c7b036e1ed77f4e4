// SPDX-License-Identifier: GPL-2.0

//! The buffer of a transaction: reserved in the receiver, then filled.

use kernel::{prelude::*, sync::Arc};

use super::{objects::Translator, TransactionData};
use crate::{
    allocation::{
        layout::{BadLayout, Layout},
        Allocation,
    },
    defs::TransactionFlags,
    error::TransactionError,
    process::{BufferKind, Process},
    thread::Thread,
};

/// Which rules hold for the objects of a transaction.
pub(super) struct Terms {
    /// Whether the receiver takes files.
    pub(super) accepts_files: bool,
    /// What the space is charged to.
    pub(super) kind: BufferKind,
    /// The id of the transaction, for logs.
    pub(super) id: u32,
}

impl Thread {
    /// Makes a buffer in `to` with all that `data` names, translated for `to`.
    ///
    /// `security` is the sender's security context, empty if the receiver did not ask.
    pub(super) fn copy_transaction(
        &self,
        data: &TransactionData,
        to: &Arc<Process>,
        terms: &Terms,
        security: &[u8],
    ) -> Result<Allocation, TransactionError> {
        let layout = Layout::new(
            data.data.size,
            data.offsets.size,
            data.buffers_size,
            security.len(),
        )
        .map_err(|why| match why {
            BadLayout::Invalid => EINVAL,
            BadLayout::TooLarge => ENOSPC,
        })?;
        let mut buffer = to.allocate(terms.id, layout, terms.kind)?;
        // From here on a failure wipes what it leaves behind as well.
        buffer.contents().clear = data.flags.has(TransactionFlags::CLEAR_BUF);
        if layout.offsets_size() == 0 {
            buffer.copy_in(0, data.data)?;
        } else {
            Translator::new(self, data, &mut buffer, terms).run()?;
        }
        if !security.is_empty() {
            buffer.write(layout.security_at(), security)?;
        }
        Ok(buffer)
    }
}
