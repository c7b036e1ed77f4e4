// SPDX-License-Identifier: GPL-2.0
//! The server's side of all benchmarks: as little work as the protocol allows.

use std::path::Path;
use std::sync::Arc;

use binder_client::commands::Commands;
use binder_client::device::{Device, OpenAs};
use binder_client::error::Error;
use binder_client::ktap::Failure;
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::{Incoming, Return, Returns};
use binder_client::session::{Raw, ReadTarget, Session};
use binder_client::uapi::{BC_REPLY, TF_DEFER_COMPLETE, TF_ONE_WAY};
use binder_client::Errno;
use nix::sys::eventfd::EventFd;

use crate::options::ServerMode;

/// Reply 64 bytes.
pub const PING: u32 = 1;
/// Reply nothing.
pub const SINK: u32 = 2;
/// Keep the node in the request, reply nothing.
pub const KEEP: u32 = 3;
/// Reply the number of ioctls so far, a u64.
pub const IOCTLS: u32 = 4;
/// Oneway: signal the eventfd.
pub const LAST: u32 = 5;

/// The largest mapping that a driver uses.
const MAP: usize = 4 << 20;

/// Starts a server behind handle 0 with `threads` threads.
///
/// `last` is signalled for each [`LAST`].
pub fn start(
    device: &Path,
    mode: ServerMode,
    threads: usize,
    last: Option<&EventFd>,
) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open_with(device, OpenAs { map: Some(MAP), nonblock: false })?;
        become_manager(&device)?;
        channel.signal()?;
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| serve_or_end(&device, mode, last));
            }
            serve_or_end(&device, mode, last);
        });
        Ok(())
    })?;
    peer.wait()?;
    Ok(peer)
}

fn serve_or_end(device: &Arc<Device>, mode: ServerMode, last: Option<&EventFd>) {
    if let Err(error) = serve(device, mode, last) {
        eprintln!("the server failed: {error}");
        std::process::exit(1);
    }
}

fn serve(device: &Arc<Device>, mode: ServerMode, last: Option<&EventFd>) -> Result<(), Error> {
    let session = Session::new(device);
    let parcels = Replies::default();
    let flags = if mode == ServerMode::Deferred { TF_DEFER_COMPLETE } else { 0 };
    let pong = parcels.pong.transaction_data(0, 0, flags);
    let nothing = parcels.nothing.transaction_data(0, 0, flags);
    let mut room = [0u8; 512];
    let mut commands = Commands::new();
    commands.enter_looper();
    loop {
        let target = ReadTarget::Bytes(&mut room);
        let outcome = session.write_read_raw(Raw::new(commands.as_bytes(), target));
        commands.clear();
        match outcome.result {
            Ok(()) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        for entry in Returns::new(&room[..outcome.read_consumed as usize]) {
            let Return::Transaction(incoming) = entry? else {
                continue;
            };
            match incoming.code {
                KEEP => {
                    commands.acquire(kept_handle(&session, incoming)?);
                }
                LAST => signal(last)?,
                _ => {}
            }
            commands.free_buffer(incoming.buffer);
            if incoming.flags & TF_ONE_WAY != 0 {
                continue;
            }
            match incoming.code {
                PING => commands.command(BC_REPLY, &pong),
                IOCTLS => {
                    send_count(&session, &mut commands)?;
                    continue;
                }
                _ => commands.command(BC_REPLY, &nothing),
            };
            if mode == ServerMode::Separate {
                session.write(&commands)?;
                commands.clear();
            }
        }
    }
}

/// The contents of replies, which stay where they are while the server runs.
struct Replies {
    pong: Parcel,
    nothing: Parcel,
}

impl Default for Replies {
    fn default() -> Self {
        Replies { pong: Parcel::from_bytes([0u8; 64]), nothing: Parcel::new() }
    }
}

fn signal(last: Option<&EventFd>) -> Result<(), Error> {
    match last {
        Some(last) => Ok(last.write(1).map(drop)?),
        None => Ok(()),
    }
}

/// The handle in a request, which the server is to keep.
fn kept_handle(session: &Session, incoming: Incoming) -> Result<u32, Error> {
    let request = session.received(incoming)?;
    let handle = request.handle(0);
    request.into_address();
    handle
}

/// Replies the number of ioctls, this one included, and empties `commands`.
fn send_count(session: &Session, commands: &mut Commands<'static>) -> Result<(), Error> {
    let count = session.device().ioctls() + 1;
    let parcel = Parcel::from_bytes(count.to_ne_bytes());
    let mut answer: Commands<'_> = std::mem::take(commands);
    answer.reply(0, &parcel);
    session.write(&answer)
}
