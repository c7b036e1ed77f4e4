// SPDX-License-Identifier: GPL-2.0

//! The returns of one read, collected and copied out together.

use kernel::{prelude::*, transmute::AsBytes};

use crate::{
    defs::Return,
    ffi::{
        abi::binder_transaction_data_secctx,
        trace,
        user::{self, Window},
    },
    stats::Counters,
};

/// Room an item may need: the largest return and its code. A read takes nothing from
/// a queue while it has less.
const LARGEST: u64 = (size_of::<binder_transaction_data_secctx>() + size_of::<u32>()) as u64;

/// How much is collected before it is copied out.
const WINDOW: usize = 128;

/// Writes `BR_` items to the read buffer of one ioctl.
///
/// # Invariants
///
/// `done` and the length of the window together are at most `size`.
pub(crate) struct ReturnWriter<'a> {
    buffer: u64,
    size: u64,
    /// Bytes of the buffer that are written.
    done: u64,
    items: usize,
    window: Window<WINDOW>,
    counters: &'a Counters,
}

impl<'a> ReturnWriter<'a> {
    /// A writer for the part of a read buffer that is not `consumed`.
    ///
    /// At the very start of a buffer comes a `BR_NOOP`, which can become
    /// `BR_SPAWN_LOOPER` later. Fails with `EFAULT` if there is no room for it, or if
    /// more is consumed than there is.
    pub(crate) fn new(
        buffer: u64,
        size: u64,
        consumed: u64,
        counters: &'a Counters,
    ) -> Result<Self> {
        if consumed > size {
            return Err(EFAULT);
        }
        let mut done = consumed;
        if consumed == 0 {
            // Written at once, so that a buffer that cannot be written is found out before
            // anything is taken for it.
            let noop = Return::NOOP.0;
            if size < size_of::<u32>() as u64 {
                return Err(EFAULT);
            }
            user::write(buffer, &noop)?;
            done = size_of::<u32>() as u64;
        }
        Ok(Self {
            buffer,
            size,
            done,
            items: 0,
            window: Window::new(),
            counters,
        })
    }

    /// Whether any item would fit.
    pub(crate) fn has_room(&self) -> bool {
        self.room() >= LARGEST
    }

    /// Whether no item was written yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.items == 0
    }

    fn room(&self) -> u64 {
        self.size
            .saturating_sub(self.done)
            .saturating_sub(self.window.len() as u64)
    }

    /// Adds an item without payload.
    pub(crate) fn put_code(&mut self, code: Return) -> Result {
        self.items = self.items.saturating_add(1);
        trace::r#return(|| (code.0,));
        self.counters.returned(code);
        self.put(&code.0)
    }

    /// Adds an item.
    pub(crate) fn put_item<T: AsBytes>(&mut self, code: Return, payload: &T) -> Result {
        self.put_code(code)?;
        self.put(payload)
    }

    /// Adds a payload.
    pub(crate) fn put<T: AsBytes>(&mut self, value: &T) -> Result {
        if self.room() < size_of::<T>() as u64 {
            return Err(EFAULT);
        }
        if self.window.append(value) {
            return Ok(());
        }
        self.flush()?;
        if self.window.append(value) {
            Ok(())
        } else {
            Err(EFAULT)
        }
    }

    /// Makes room for the largest item in the window: what is put next cannot fail before
    /// [`ReturnWriter::flush`]. Fails with `EFAULT`.
    pub(crate) fn make_room(&mut self) -> Result {
        if self.window.len() as u64 + LARGEST > WINDOW as u64 {
            self.flush()?;
        }
        Ok(())
    }

    /// Copies out what was collected. Fails with `EFAULT`.
    pub(crate) fn flush(&mut self) -> Result {
        user::write_bytes(self.buffer.wrapping_add(self.done), self.window.bytes())?;
        self.done = self.done.saturating_add(self.window.len() as u64);
        self.window.clear();
        Ok(())
    }

    /// Replaces the first word of the buffer, the `BR_NOOP`.
    pub(crate) fn replace_first(&mut self, code: Return) -> Result {
        user::write(self.buffer, &code.0)?;
        trace::r#return(|| (code.0,));
        self.counters.returned(code);
        Ok(())
    }

    /// How much of the buffer is used, after [`ReturnWriter::flush`].
    pub(crate) fn consumed(&self) -> u64 {
        self.done
    }
}
