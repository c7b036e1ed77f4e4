// SPDX-License-Identifier: GPL-2.0
//! The client's side: one ioctl for each call, which also frees the reply
//! before.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::device::{Device, OpenAs};
use binder_client::error::Error;
use binder_client::parcel::Parcel;
use binder_client::returns::{Incoming, Return, Returns};
use binder_client::session::{Raw, ReadTarget, Session};
use binder_client::uapi::{BC_TRANSACTION, TF_ONE_WAY};

use crate::server::IOCTLS;

/// A calling thread.
pub struct Client {
    session: Session,
    /// Commands to go out ahead of the next call.
    ahead: Commands<'static>,
    room: [u8; 512],
}

impl Client {
    /// Opens the device.
    pub fn open(device: &Path) -> Result<Client, Error> {
        let device = Device::open_with(device, OpenAs { map: Some(1 << 20), nonblock: false })?;
        Ok(Client { session: Session::new(&device), ahead: Commands::new(), room: [0; 512] })
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        self.session.device()
    }

    /// Calls handle 0 and waits for the reply, whose buffer is freed with the
    /// next call. References to own nodes are answered the same way.
    pub fn call(&mut self, code: u32, parcel: &Parcel) -> Result<Incoming, Error> {
        self.ahead.command(BC_TRANSACTION, &parcel.transaction_data(0, code, 0));
        loop {
            let mut reply = None;
            self.exchange(|entry, ahead| match entry {
                Return::Reply(incoming) => {
                    ahead.free_buffer(incoming.buffer);
                    reply = Some(incoming);
                    true
                }
                _ => false,
            })?;
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
    }

    /// Sends a oneway call to handle 0 and waits for its completion.
    pub fn oneway(&mut self, code: u32, parcel: &Parcel) -> Result<(), Error> {
        self.ahead.command(BC_TRANSACTION, &parcel.transaction_data(0, code, TF_ONE_WAY));
        let mut complete = false;
        while !complete {
            self.exchange(|entry, _| {
                complete |= entry.is_completion();
                complete
            })?;
        }
        Ok(())
    }

    /// One ioctl. `take` gets each return first.
    fn exchange(
        &mut self,
        mut take: impl FnMut(Return, &mut Commands<'static>) -> bool,
    ) -> Result<(), Error> {
        let target = ReadTarget::Bytes(&mut self.room);
        let outcome = self.session.write_read_raw(Raw::new(self.ahead.as_bytes(), target));
        self.ahead.clear();
        outcome.result?;
        for entry in Returns::new(&self.room[..outcome.read_consumed as usize]) {
            let entry = entry?;
            if take(entry, &mut self.ahead) {
                continue;
            }
            match entry {
                Return::Increfs(node) => {
                    self.ahead.increfs_done(node.ptr, node.cookie);
                }
                Return::Acquire(node) => {
                    self.ahead.acquire_done(node.ptr, node.cookie);
                }
                Return::FailedReply | Return::DeadReply | Return::FrozenReply => {
                    return Err(self.session.call_error(entry));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The data of the reply to a call.
    pub fn call_for(&mut self, code: u32, parcel: &Parcel) -> Result<Vec<u8>, Error> {
        let reply = self.call(code, parcel)?;
        let received = self.session.received(reply)?;
        let data = received.data();
        // The buffer is freed with the next call.
        received.into_address();
        Ok(data)
    }

    /// Reads, and answers, whatever news of references there are.
    pub fn drain(&mut self) -> Result<(), Error> {
        while !self.session.device().poll(Duration::ZERO)?.is_empty() {
            self.exchange(|_, _| false)?;
        }
        Ok(())
    }

    /// The server's number of ioctls.
    pub fn server_ioctls(&mut self) -> Result<u64, Error> {
        let data = self.call_for(IOCTLS, &Parcel::new())?;
        let bytes = data.try_into().map_err(|_| Error::Malformed("a count has eight bytes"))?;
        Ok(u64::from_ne_bytes(bytes))
    }
}
