// SPDX-License-Identifier: GPL-2.0

//! The commands of one write, decoded and carried out one after the other.

use kernel::{prelude::*, sync::Arc, transmute::FromBytes};

use super::Thread;
use crate::{
    debug,
    defs::{Command, Strength},
    ffi::{
        abi::{
            binder_handle_cookie, binder_ptr_cookie, binder_transaction_data,
            binder_transaction_data_sg,
        },
        trace,
        user::Window,
    },
    transaction::TransactionData,
};

/// How much is copied in at once. Most writes fit.
const WINDOW: usize = 128;

/// Reads commands from the write buffer of one ioctl.
pub(crate) struct CommandReader {
    buffer: u64,
    size: u64,
    position: u64,
    /// `position` of the first byte in the window.
    window_at: u64,
    window: Window<WINDOW>,
}

impl CommandReader {
    /// A reader of the part of a write buffer that is not `consumed`.
    pub(crate) fn new(buffer: u64, size: u64, consumed: u64) -> Self {
        Self {
            buffer,
            size,
            position: consumed,
            window_at: consumed,
            window: Window::new(),
        }
    }

    fn left(&self) -> u64 {
        self.size.saturating_sub(self.position)
    }

    /// Reads the next value. Fails with `EFAULT` if the buffer ends before it does, or
    /// cannot be read.
    fn read<T: FromBytes>(&mut self) -> Result<T> {
        let size = size_of::<T>();
        if self.left() < size as u64 {
            return Err(EFAULT);
        }
        if let Some(value) = self.in_window(size).and_then(T::from_bytes_copy) {
            self.position = self.position.saturating_add(size as u64);
            return Ok(value);
        }
        self.refill(size)?;
        let value = self
            .in_window(size)
            .and_then(T::from_bytes_copy)
            .ok_or(EFAULT)?;
        self.position = self.position.saturating_add(size as u64);
        Ok(value)
    }

    fn in_window(&self, size: usize) -> Option<&[u8]> {
        let start = usize::try_from(self.position.checked_sub(self.window_at)?).ok()?;
        let end = start.checked_add(size)?;
        self.window.bytes().get(start..end)
    }

    /// Copies in what follows: much of it, or at least `needed` bytes.
    fn refill(&mut self, needed: usize) -> Result {
        let address = self.buffer.wrapping_add(self.position);
        let wanted = usize::try_from(self.left()).unwrap_or(WINDOW).min(WINDOW);
        self.window_at = self.position;
        self.window
            .fill(address, wanted)
            .or_else(|_| self.window.fill(address, needed))
    }

    /// Where the next command starts: all before was carried out.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }
}

impl Thread {
    /// Carries out the commands of a write.
    ///
    /// Stops before the end at an error of the ioctl, and when a command failed in a
    /// way that the thread must read of first. Returns how much was consumed, also
    /// when it fails: a failing command is not counted.
    pub(crate) fn write(self: &Arc<Self>, buffer: u64, size: u64, consumed: u64) -> (u64, Result) {
        let mut reader = CommandReader::new(buffer, size, consumed);
        let mut done = consumed;
        while reader.left() >= size_of::<u32>() as u64 && !self.stopped.is_set() {
            if let Err(error) = self.command(&mut reader) {
                return (done, Err(error));
            }
            done = reader.position();
        }
        (done, Ok(()))
    }

    fn command(self: &Arc<Self>, reader: &mut CommandReader) -> Result {
        let process = &self.process;
        let command = Command(reader.read()?);
        trace::command(|| (command.0,));
        self.counters.command(command);
        match command {
            Command::TRANSACTION => {
                let data: binder_transaction_data = reader.read()?;
                self.send(&TransactionData::new(data, 0));
            }
            Command::TRANSACTION_SG => {
                let sg: binder_transaction_data_sg = reader.read()?;
                self.send(&TransactionData::new(sg.transaction_data, sg.buffers_size));
            }
            Command::REPLY => {
                let data: binder_transaction_data = reader.read()?;
                self.reply(&TransactionData::new(data, 0));
            }
            Command::REPLY_SG => {
                let sg: binder_transaction_data_sg = reader.read()?;
                self.reply(&TransactionData::new(sg.transaction_data, sg.buffers_size));
            }
            Command::FREE_BUFFER => process.free_buffer(reader.read()?),
            Command::INCREFS => process.inc_handle(reader.read()?, Strength::Weak)?,
            Command::ACQUIRE => process.inc_handle(reader.read()?, Strength::Strong)?,
            Command::RELEASE => process.dec_handle(reader.read()?, Strength::Strong),
            Command::DECREFS => process.dec_handle(reader.read()?, Strength::Weak),
            Command::INCREFS_DONE => self.acknowledge(reader.read()?, Strength::Weak),
            Command::ACQUIRE_DONE => self.acknowledge(reader.read()?, Strength::Strong),
            Command::REQUEST_DEATH_NOTIFICATION => {
                let asked: binder_handle_cookie = reader.read()?;
                if process.request_death(asked.handle, asked.cookie).is_err() {
                    self.set_errno(ENOMEM);
                }
            }
            Command::CLEAR_DEATH_NOTIFICATION => {
                let asked: binder_handle_cookie = reader.read()?;
                process.clear_death(asked.handle, asked.cookie, self);
            }
            Command::DEAD_BINDER_DONE => {
                let cookie: u64 = reader.read()?;
                if process.acknowledge_death(cookie, self).is_err() {
                    debug::user_error!("acknowledges a death {cookie:#x} it was not told");
                }
            }
            Command::REQUEST_FREEZE_NOTIFICATION => {
                let asked: binder_handle_cookie = reader.read()?;
                process.request_freeze(asked.handle, asked.cookie)?;
            }
            Command::CLEAR_FREEZE_NOTIFICATION => {
                let asked: binder_handle_cookie = reader.read()?;
                process.clear_freeze(asked.handle, asked.cookie)?;
            }
            Command::FREEZE_NOTIFICATION_DONE => process.acknowledge_freeze(reader.read()?)?,
            Command::REGISTER_LOOPER => self.register_looper(),
            Command::ENTER_LOOPER => self.enter_looper(),
            Command::EXIT_LOOPER => self.inner.lock().looper.exit(),
            Command(unknown) => {
                self.counters.no_command(command);
                debug::user_error!("unknown command {unknown:#x}");
                return Err(EINVAL);
            }
        }
        Ok(())
    }

    fn acknowledge(&self, which: binder_ptr_cookie, strength: Strength) {
        if let Err(why) = self
            .process
            .acknowledge_node(which.ptr, which.cookie, strength)
        {
            debug::user_error!("acknowledges node {:#x}, {why:?}", which.ptr);
        }
    }

    fn register_looper(&self) {
        let result = {
            let mut sched = self.process.sched.lock();
            let mut inner = self.inner.lock();
            inner.looper.register(sched.pool_mut())
        };
        if let Err(misuse) = result {
            debug::user_error!("BC_REGISTER_LOOPER: {misuse:?}");
        }
    }

    fn enter_looper(&self) {
        let result = self.inner.lock().looper.enter();
        if let Err(misuse) = result {
            debug::user_error!("BC_ENTER_LOOPER: {misuse:?}");
        }
    }
}
