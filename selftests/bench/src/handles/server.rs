// SPDX-License-Identifier: GPL-2.0
//! The server that keeps handles.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Instant;

use binder_client::commands::Commands;
use binder_client::device::{Device, OpenAs};
use binder_client::error::Error;
use binder_client::ktap::Failure;
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::{Incoming, Return};
use binder_client::session::Session;

/// Keep the node in the request.
pub const KEEP: u32 = 1;
/// Keep all nodes in the request.
pub const FILL: u32 = 2;
/// Keep the node in the request, release any other.
pub const CHURN: u32 = 3;
/// Release up to [`BATCH`] handles in an [`Order`]; reply the time and how many it were.
pub const RELEASE: u32 = 4;

/// Handles in one request, and in one ioctl of releases.
pub const BATCH: usize = 64;

/// In which order handles are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The newest first.
    Lifo,
    /// The oldest first.
    Fifo,
    /// Any.
    Random,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 3] = [Order::Lifo, Order::Fifo, Order::Random];

    /// Its name in the output.
    pub fn name(self) -> &'static str {
        match self {
            Order::Lifo => "release-lifo",
            Order::Fifo => "release-fifo",
            Order::Random => "release-random",
        }
    }

    fn from_number(number: u64) -> Order {
        Order::ALL.into_iter().find(|order| *order as u64 == number).unwrap_or(Order::Lifo)
    }
}

/// The handles, and numbers that are the same in each run.
struct Kept {
    handles: VecDeque<u32>,
    random: u64,
}

impl Kept {
    /// Takes a handle out.
    fn take(&mut self, order: Order) -> Option<u32> {
        match order {
            Order::Lifo => self.handles.pop_back(),
            Order::Fifo => self.handles.pop_front(),
            Order::Random => {
                // xorshift64
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                let index = self.random % (self.handles.len() as u64).max(1);
                self.handles.swap_remove_back(index as usize)
            }
        }
    }
}

/// Starts the server behind handle 0.
pub fn start(device: &Path) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open_with(device, OpenAs { map: Some(1 << 20), nonblock: false })?;
        become_manager(&device)?;
        channel.signal()?;
        Ok(serve(&Session::new(&device))?)
    })?;
    peer.wait()?;
    Ok(peer)
}

/// Time and number in the answer to [`RELEASE`].
pub fn parse(reply: &[u8]) -> Option<(u64, u64)> {
    let (time, count) = reply.split_at_checked(8)?;
    Some((u64::from_ne_bytes(time.try_into().ok()?), u64::from_ne_bytes(count.try_into().ok()?)))
}

fn serve(session: &Session) -> Result<(), Error> {
    let mut kept = Kept { handles: VecDeque::with_capacity(1 << 21), random: 0x9e37_79b9 };
    let nothing = Parcel::new();
    let mut commands = Commands::new();
    commands.enter_looper();
    loop {
        let returns = session.write_read(&commands, 512).ok()?;
        commands = Commands::new();
        for entry in returns {
            let Return::Transaction(incoming) = entry else {
                continue;
            };
            if incoming.code == RELEASE {
                release(session, &mut kept, incoming)?;
                continue;
            }
            if incoming.code == CHURN {
                if let Some(handle) = kept.take(Order::Random) {
                    commands.release(handle);
                }
            }
            keep(session, &mut kept, &mut commands, incoming)?;
            commands.free_buffer(incoming.buffer);
            commands.reply(0, &nothing);
        }
    }
}

fn keep(
    session: &Session,
    kept: &mut Kept,
    commands: &mut Commands<'_>,
    incoming: Incoming,
) -> Result<(), Error> {
    let request = session.received(incoming)?;
    for index in 0..incoming.offsets_size as usize / 8 {
        let handle = request.handle(index)?;
        commands.acquire(handle);
        kept.handles.push_back(handle);
    }
    request.into_address();
    Ok(())
}

fn release(session: &Session, kept: &mut Kept, incoming: Incoming) -> Result<(), Error> {
    let request = session.received(incoming)?;
    let data = request.data();
    let order =
        data.try_into().map_or(Order::Lifo, |it| Order::from_number(u64::from_ne_bytes(it)));
    let mut commands = Commands::new();
    let mut count = 0;
    while let Some(handle) = (count < BATCH as u64).then(|| kept.take(order)).flatten() {
        commands.release(handle);
        count += 1;
    }
    let begin = Instant::now();
    session.write(&commands)?;
    let time = begin.elapsed().as_nanos() as u64;
    let answer = Parcel::from_bytes([time.to_ne_bytes(), count.to_ne_bytes()].concat());
    let mut commands = Commands::new();
    commands.free_buffer(request.into_address()).reply(0, &answer);
    session.write(&commands)
}
