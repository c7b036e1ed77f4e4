// SPDX-License-Identifier: GPL-2.0
//! A service with a pool of threads behind handle 0.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use binder_client::buffer::Received;
use binder_client::device::Device;
use binder_client::handler::{Answer, Handler};
use binder_client::ktap::Failure;
use binder_client::manager::become_manager;
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::party::{Party, ReplyMode};
use binder_client::peer::Peer;
use binder_client::thread::BinderThread;

/// Reply with the data.
pub const ECHO: u32 = 1;
/// Oneway: add the number in the data.
pub const ADD: u32 = 2;
/// Reply with the sum of all numbers.
pub const SUM: u32 = 3;
/// Call the node in the request with the data and reply with what it replied.
pub const CALL_BACK: u32 = 4;
/// Reply with a node of one's own that nobody else has.
pub const MAKE: u32 = 5;
/// Reply with the number of own nodes that others know.
pub const ALIVE: u32 = 6;

/// The service's state.
#[derive(Debug, Default)]
struct Service {
    sum: AtomicU64,
    made: AtomicU64,
}

impl Service {
    fn call_back(thread: &mut BinderThread, request: &Received) -> Parcel {
        let data = request.data();
        let Ok(Some(Object::Handle { handle, .. })) =
            request.objects().map(|objects| objects.first().copied())
        else {
            return Parcel::new();
        };
        let question = Parcel::from_bytes(&data[24..]);
        // The caller may die meanwhile: an empty answer, which nobody gets.
        let answer = thread.call(handle, ECHO, &question, 0);
        answer.map_or_else(
            |_| Parcel::new(),
            |answer| {
                let parcel = Parcel::from_bytes(answer.data());
                thread.recycle(answer);
                parcel
            },
        )
    }
}

impl Handler for Service {
    fn request(&self, thread: &mut BinderThread, request: &Received) -> Answer {
        let number = |value: u64| Parcel::from_bytes(value.to_ne_bytes());
        Answer::Reply(match request.incoming().code {
            ADD => {
                let data = request.data();
                let bytes = data.get(..8).and_then(|bytes| bytes.try_into().ok());
                let value = bytes.map_or(0, u64::from_ne_bytes);
                self.sum.fetch_add(value, Ordering::SeqCst);
                return Answer::Nothing;
            }
            SUM => number(self.sum.load(Ordering::SeqCst)),
            CALL_BACK => Self::call_back(thread, request),
            MAKE => {
                let ptr = 0x10_0000 + self.made.fetch_add(1, Ordering::SeqCst) * 8;
                let mut parcel = Parcel::new();
                parcel.binder(ptr, ptr ^ 1);
                parcel
            }
            ALIVE => number(thread.party().nodes().len() as u64),
            _ => Parcel::from_bytes(request.data()),
        })
    }
}

/// Starts the service with `threads` threads and room for as many more.
pub fn spawn(path: &Path, threads: usize) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open(path)?;
        become_manager(&device)?;
        let party = Party::new(device, Service::default(), ReplyMode::default());
        party.start_pool(threads, threads as u32)?;
        channel.signal()?;
        // Until it is killed, or the test ends.
        channel.recv_within(std::time::Duration::from_secs(600))
    })?;
    peer.wait()?;
    Ok(peer)
}

/// A client's party whose own nodes echo.
pub fn client(path: &Path) -> Result<Arc<Party>, Failure> {
    let echo = |_: &mut BinderThread, request: &Received| {
        Answer::Reply(Parcel::from_bytes(request.data()))
    };
    Ok(Party::open(path, echo)?)
}

/// Asks the service for a number.
pub fn number(thread: &mut BinderThread, code: u32) -> Result<u64, Failure> {
    let answer = thread.call(0, code, &Parcel::new(), 0)?;
    let data = answer.data();
    thread.recycle(answer);
    let bytes = data.get(..8).and_then(|bytes| bytes.try_into().ok());
    Ok(bytes.map_or(u64::MAX, u64::from_ne_bytes))
}
