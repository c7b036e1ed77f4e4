// SPDX-License-Identifier: GPL-2.0
//! Services and clients as while a system starts.
//!
//! Several services, each with a pool of threads, and more clients. A client calls one
//! service a few times in a row, then another, and pauses in between. A part of the calls
//! is oneway, and a part of the replies brings a file or an object, which no flag defers. The
//! kinds, numbers and pauses come from a fixed seed. What is told is how many replies shared
//! their ioctl with the next call: 3,441 of 4,297 in a public measurement of the start of
//! Cuttlefish.

use std::fs::File;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::Result;
use binder_client::buffer::Received;
use binder_client::device::Device;
use binder_client::handler::{Answer, ClientOnly};
use binder_client::ktap::Failure;
use binder_client::limits;
use binder_client::manager::spawn_manager;
use binder_client::names::keep;
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::party::{Party, ReplyMode};
use binder_client::peer::{Channel, Peer};
use binder_client::thread::BinderThread;
use binder_client::uapi::TF_ACCEPT_FDS;

use crate::figures::{Ioctls, Line, Samples};
use crate::options::{Options, ServerMode};
use crate::text;

const SERVICES: u64 = 4;
const CLIENTS: u64 = 6;
/// Threads of each service.
const THREADS: usize = 2;
/// The most calls in one burst, and the longest pause between two, in microseconds.
const BURST: u64 = 8;
const PAUSE: u64 = 400;

/// The manager's methods: keep the node in the request under a number, and give it.
const PUT: u32 = 1;
const GET: u32 = 2;
/// The services' methods: reply data, a file, an object.
const DATA: u32 = 10;
const FILE: u32 = 11;
const NODE: u32 = 12;

/// Numbers that are the same in each run (xorshift64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Runs all parties; `--calls` is the number of calls of each client.
pub fn boot(options: &Options, mode: ServerMode) -> Result<()> {
    let (samples, ioctls, shared, replies) = run(options, mode).map_err(text)?;
    Line::new(options, "boot", mode.name(), replies, &samples, ioctls)
        .shared(shared, replies)
        .print()
}

fn run(options: &Options, mode: ServerMode) -> Result<(Samples, Ioctls, u64, u64), Failure> {
    let _manager = manager(&options.device)?;
    let services = (0..SERVICES)
        .map(|number| Peer::spawn(|channel| service(&options.device, mode, number, channel)))
        .collect::<Result<Vec<_>, _>>()?;
    services.iter().try_for_each(Peer::wait)?;
    let clients = (0..CLIENTS)
        .map(|number| Peer::spawn(|channel| client(options, number, channel)))
        .collect::<Result<Vec<_>, _>>()?;
    let failure = |error: anyhow::Error| Failure::new("a figure", "a number", error.to_string());
    let mut samples = Samples::new().map_err(failure)?;
    let (mut calls, mut client_ioctls) = (0, 0);
    for client in clients {
        let (time, count, ioctls): (u64, u64, u64) = client.channel().recv_within(limits::case())?;
        samples.add_many(time / count.max(1), count).map_err(failure)?;
        (calls, client_ioctls) = (calls + count, client_ioctls + ioctls);
        client.join()?;
    }
    let (mut replies, mut shared, mut server_ioctls) = (0, 0, 0);
    for service in services {
        service.signal()?;
        let (sent, together, ioctls): (u64, u64, u64) = service.recv()?;
        (replies, shared) = (replies + sent, shared + together);
        server_ioctls += ioctls;
        service.join()?;
    }
    let each = |count: u64| count as f64 / (calls as f64).max(1.0);
    let ioctls = Ioctls { client: each(client_ioctls), server: each(server_ioctls) };
    Ok((samples, ioctls, shared, replies))
}

/// Keeps a node of each service.
fn manager(device: &Path) -> Result<Peer, Failure> {
    let mut kept: Vec<Option<Object>> = vec![None; SERVICES as usize];
    let mut taken = Vec::new();
    spawn_manager(device, move |request| {
        let number = request.data().first().map_or(0, |byte| usize::from(*byte));
        let mut parcel = Parcel::new();
        if request.code() == PUT {
            kept[number] = request.received().objects()?.first().copied();
            // The buffer keeps the reference.
            taken.extend(request.buffer.take());
        } else if let Some(object) = kept[number] {
            parcel.object(&object);
        }
        Ok(Answer::Reply(parcel))
    })
}

fn service(device: &Path, mode: ServerMode, number: u64, channel: &Channel) -> Result<(), Failure> {
    let mode = match mode {
        ServerMode::Separate => ReplyMode::Separate,
        ServerMode::Joined => ReplyMode::Joined,
        ServerMode::Deferred => ReplyMode::Deferred,
    };
    let party = Party::new(Device::open(device)?, answer, mode);
    party.start_pool(THREADS, 0)?;
    let mut parcel = Parcel::from_bytes([number as u8; 8]);
    let flags = binder_client::uapi::FLAT_BINDER_FLAG_ACCEPTS_FDS;
    parcel.binder_with_flags(0x1000 + number, number, flags);
    let mut thread = party.thread();
    let reply = thread.call(0, PUT, &parcel, 0)?;
    thread.recycle(reply);
    thread.flush()?;
    let before = party.device().ioctls();
    channel.signal()?;
    channel.recv_within::<()>(limits::case())?;
    let (replies, shared) = party.replies().get();
    channel.send(&(replies, shared, party.device().ioctls() - before))?;
    Ok(party.stop(limits::wait())?)
}

fn answer(_: &mut BinderThread, request: &Received) -> Answer {
    let mut parcel = Parcel::from_bytes([0; 64]);
    match request.incoming().code {
        FILE => {
            // It stays open: the parcel has the number only.
            static FILE: OnceLock<Option<File>> = OnceLock::new();
            if let Some(file) = FILE.get_or_init(|| File::open("/dev/null").ok()) {
                parcel.fd(file);
            }
        }
        NODE => {
            parcel.binder(0x9000, 9);
        }
        _ => {}
    }
    Answer::Reply(parcel)
}

/// Calls in bursts; tells the time of synchronous calls, their number, and the ioctls.
fn client(options: &Options, number: u64, channel: &Channel) -> Result<(), Failure> {
    let mut random = Random(0x9e37_79b9 + number);
    let mut thread = Party::open(&options.device, ClientOnly)?.thread();
    let mut handles = Vec::new();
    for service in 0..SERVICES {
        let reply = thread.call(0, GET, &Parcel::from_bytes([service as u8; 8]), 0)?;
        handles.push(keep(&mut thread, &reply)?);
        thread.recycle(reply);
    }
    let before = thread.party().device().ioctls();
    let (mut time, mut count, mut left) = (Duration::ZERO, 0, options.calls);
    while left > 0 {
        let handle = handles[random.below(SERVICES) as usize];
        for _ in 0..=random.below(BURST).min(left - 1) {
            left -= 1;
            let parcel = Parcel::from_bytes(vec![0; 16 << random.below(6)]);
            let kind = random.below(20);
            if kind < 4 {
                thread.call_oneway(handle, DATA, &parcel, 0)?;
                continue;
            }
            let code = match kind {
                4 => FILE,
                5 => NODE,
                _ => DATA,
            };
            let begin = Instant::now();
            let reply = thread.call(handle, code, &parcel, TF_ACCEPT_FDS)?;
            time += begin.elapsed();
            count += 1;
            close_files(&reply)?;
            thread.recycle(reply);
        }
        std::thread::sleep(Duration::from_micros(random.below(PAUSE)));
    }
    let ioctls = thread.party().device().ioctls() - before;
    channel.send(&(time.as_nanos() as u64, count, ioctls))
}

fn close_files(reply: &Received) -> Result<(), Failure> {
    for object in reply.objects()? {
        if let Object::Fd { fd, .. } = object {
            nix::unistd::close(fd as i32)?;
        }
    }
    Ok(())
}
