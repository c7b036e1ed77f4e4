// SPDX-License-Identifier: GPL-2.0
//! One ioctl at a time: full control over `BINDER_WRITE_READ`.
//!
//! The driver knows its callers by their thread: all sessions of one device
//! that are used by one thread are the same to it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::PollFlags;

use crate::buffer::Received;
use crate::commands::Commands;
use crate::device::Device;
use crate::error::Error;
use crate::guard::{BadAddress, GuardedBuffer};
use crate::returns::{Incoming, ParseError, Return, Returns};
use crate::sys;
use crate::uapi::{WriteRead, BINDER_WRITE_READ};

/// Room for returns that is enough for every batch of a test.
pub const READ_SIZE: usize = 4096;

/// Where the driver is told to write its returns.
#[derive(Debug)]
pub enum ReadTarget<'a> {
    /// Nowhere: size 0.
    None,
    /// Ordinary memory, all of it.
    Bytes(&'a mut [u8]),
    /// Memory that ends at a forbidden page, claimed to be of any size.
    Guarded(&'a mut GuardedBuffer, u64),
    /// No memory at all, claimed to be of any size.
    Bad(BadAddress, u64),
}

/// Every field of one `BINDER_WRITE_READ`, for tests of its bounds.
#[derive(Debug)]
pub struct Raw<'a> {
    /// Address of the commands; the driver only reads there.
    pub write_buffer: u64,
    /// Claimed size of the commands.
    pub write_size: u64,
    /// Where to start in the commands.
    pub write_consumed: u64,
    /// Where the returns go.
    pub read: ReadTarget<'a>,
    /// Where to start in the room for returns.
    pub read_consumed: u64,
}

impl<'a> Raw<'a> {
    /// The fields of an ordinary call.
    pub fn new(write: &'a [u8], read: ReadTarget<'a>) -> Self {
        Raw {
            write_buffer: write.as_ptr() as u64,
            write_size: write.len() as u64,
            write_consumed: 0,
            read,
            read_consumed: 0,
        }
    }
}

/// What one `BINDER_WRITE_READ` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The result of the ioctl.
    pub result: Result<(), Errno>,
    /// Bytes of commands that were carried out.
    pub write_consumed: u64,
    /// Bytes of returns that the driver says it wrote.
    pub read_consumed: u64,
    /// Those bytes.
    pub bytes: Vec<u8>,
}

impl Outcome {
    /// The returns, or the first that cannot be understood.
    pub fn returns(&self) -> Result<Vec<Return>, ParseError> {
        Returns::parse(&self.bytes)
    }

    /// The returns without `BR_NOOP`, or the ioctl's error.
    pub fn ok(self) -> Result<Vec<Return>, Error> {
        self.result?;
        let mut returns = self.returns()?;
        returns.retain(|entry| *entry != Return::Noop);
        Ok(returns)
    }
}

/// The calling thread's view of a device.
#[derive(Clone, Debug)]
pub struct Session {
    device: Arc<Device>,
}

impl Session {
    /// A session without any ioctl.
    pub fn new(device: &Arc<Device>) -> Self {
        Session { device: device.clone() }
    }

    /// A session after one harmless ioctl. Some drivers let the first read or
    /// poll of a thread return at once; after this one they block.
    pub fn primed(device: &Arc<Device>) -> Result<Self, Errno> {
        device.extended_error()?;
        Ok(Session::new(device))
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// One ioctl with `commands` and room for `read_size` bytes of returns.
    ///
    /// Blocks as the driver blocks; `read_size` 0 means not to read.
    pub fn write_read(&self, commands: &Commands<'_>, read_size: usize) -> Outcome {
        self.write_read_bytes(commands.as_bytes(), read_size)
    }

    /// As [`Session::write_read`] with any bytes as commands.
    pub fn write_read_bytes(&self, write: &[u8], read_size: usize) -> Outcome {
        let mut room = vec![0u8; read_size];
        let mut outcome = self.write_read_raw(Raw::new(write, ReadTarget::Bytes(&mut room)));
        let filled = usize::try_from(outcome.read_consumed).map_or(read_size, |n| n.min(read_size));
        room.truncate(filled);
        outcome.bytes = room;
        outcome
    }

    /// One ioctl with every field chosen. [`Outcome::bytes`] stays empty, look
    /// into the target that was given.
    #[inline]
    pub fn write_read_raw(&self, raw: Raw<'_>) -> Outcome {
        let (read_buffer, read_size) = match &raw.read {
            ReadTarget::None => (0, 0),
            ReadTarget::Bytes(bytes) => (bytes.as_ptr() as u64, bytes.len() as u64),
            ReadTarget::Guarded(buffer, size) => (buffer.address(), *size),
            ReadTarget::Bad(bad, size) => (bad.address(), *size),
        };
        let mut argument = WriteRead {
            write_size: raw.write_size,
            write_consumed: raw.write_consumed,
            write_buffer: raw.write_buffer,
            read_size,
            read_consumed: raw.read_consumed,
            read_buffer,
        };
        self.device.count();
        let result = sys::ioctl(sys::raw(&*self.device), BINDER_WRITE_READ, &mut argument);
        Outcome {
            result,
            write_consumed: argument.write_consumed,
            read_consumed: argument.read_consumed,
            bytes: Vec::new(),
        }
    }

    /// Issues commands without reading; all of them must be consumed.
    pub fn write(&self, commands: &Commands<'_>) -> Result<(), Error> {
        let outcome = self.write_read(commands, 0);
        outcome.result?;
        if outcome.write_consumed != commands.len() as u64 {
            return Err(Error::Malformed("the driver did not consume all commands"));
        }
        Ok(())
    }

    /// Waits at most `timeout` for something to read, then reads one batch,
    /// without `BR_NOOP`.
    ///
    /// An empty batch is possible. Meant for processes with one thread: if
    /// another thread takes the work first, the read blocks.
    pub fn read(&self, timeout: Duration) -> Result<Vec<Return>, Error> {
        if !self.readable(timeout)? {
            return Err(Error::Timeout(timeout));
        }
        self.write_read(&Commands::new(), READ_SIZE).ok()
    }

    /// True as soon as poll says that there is something to read.
    pub fn readable(&self, timeout: Duration) -> Result<bool, Errno> {
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            match self.device.poll(left) {
                Ok(events) => return Ok(events.contains(PollFlags::POLLIN)),
                Err(Errno::EINTR) if start.elapsed() < timeout => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads batches until one return satisfies `wanted`. Returns everything
    /// that was read, that one included; nothing of its batch is cut off.
    ///
    /// The error says what came instead if the time is over.
    pub fn read_until(
        &self,
        timeout: Duration,
        wanted: impl Fn(&Return) -> bool,
    ) -> Result<Vec<Return>, Error> {
        let start = Instant::now();
        let mut all = Vec::new();
        while !all.iter().any(&wanted) {
            let left = timeout.saturating_sub(start.elapsed());
            match self.read(left) {
                Ok(batch) => all.extend(batch),
                Err(Error::Timeout(_)) => return Err(not_among(timeout, &all)),
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Reads until `BR_TRANSACTION` and takes over its buffer.
    pub fn next_transaction(&self, timeout: Duration) -> Result<(Received, Vec<Return>), Error> {
        let all = self.read_until(timeout, |entry| matches!(entry, Return::Transaction(_)))?;
        let Some(Return::Transaction(incoming)) = all.last().copied() else {
            return Err(Error::Malformed("BR_TRANSACTION did not end the read"));
        };
        Ok((self.received(incoming)?, all))
    }

    /// Reads until the outcome of a synchronous call: the reply, or the error.
    pub fn next_reply(&self, timeout: Duration) -> Result<(Received, Vec<Return>), Error> {
        let ends = |entry: &Return| {
            matches!(
                entry,
                Return::Reply(_) | Return::DeadReply | Return::FailedReply | Return::FrozenReply
            )
        };
        let all = self.read_until(timeout, ends)?;
        match all.iter().copied().find(ends) {
            Some(Return::Reply(incoming)) => Ok((self.received(incoming)?, all)),
            Some(other) => Err(self.call_error(other)),
            None => Err(Error::Malformed("the outcome of a call vanished")),
        }
    }

    /// The error for one of the three returns that end a call badly, with the
    /// driver's extended error.
    pub fn call_error(&self, outcome: Return) -> Error {
        let extended = self.device.extended_error().unwrap_or_default();
        match outcome {
            Return::DeadReply => Error::Dead(extended),
            Return::FailedReply => Error::Failed(extended),
            Return::FrozenReply => Error::Frozen(extended),
            other => Error::Unexpected(other),
        }
    }

    /// Takes over the buffer of a delivered transaction or reply.
    pub fn received(&self, incoming: Incoming) -> Result<Received, Error> {
        Received::new(&self.device, incoming)
    }
}

/// A timeout, or the unexpected return that came instead of the wanted one.
fn not_among(timeout: Duration, all: &[Return]) -> Error {
    let told = |entry: &&Return| {
        matches!(entry, Return::FailedReply | Return::DeadReply | Return::FrozenReply)
    };
    all.iter().find(told).map_or(Error::Timeout(timeout), |entry| Error::Unexpected(*entry))
}
