// SPDX-License-Identifier: GPL-2.0
//! Many client processes and one server with several threads.

use std::time::{Duration, Instant};

use anyhow::Result;
use binder_client::ktap::Failure;
use binder_client::limits;
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};

use crate::calls::Counter;
use crate::client::Client;
use crate::figures::{Line, Samples};
use crate::options::{Options, ServerMode};
use crate::server::{self, PING};
use crate::text;

/// How many pairs go in one message.
const CHUNK: usize = 1000;

/// Runs the clients at the same time; `calls` is the number of each of them.
pub fn fanin(options: &Options, mode: ServerMode) -> Result<()> {
    for &count in &options.clients {
        let _server =
            server::start(&options.device, mode, options.threads.max(1), None).map_err(text)?;
        one(options, mode, count.max(1)).map_err(text)?;
    }
    Ok(())
}

fn one(options: &Options, mode: ServerMode, count: usize) -> Result<(), Failure> {
    let clients: Vec<Peer> = (0..count)
        .map(|_| Peer::spawn(|channel| client(options, channel)))
        .collect::<Result<_, _>>()?;
    clients.iter().try_for_each(Peer::wait)?;
    let mut asker = Client::open(&options.device)?;
    let mut counter = Counter::start(&mut asker).map_err(failure)?;
    let begin = Instant::now();
    clients.iter().try_for_each(Peer::signal)?;
    let patience = limits::case();
    let mut samples = Samples::new().map_err(failure)?;
    for client in &clients {
        client.channel().recv_within::<()>(patience)?;
    }
    let time = begin.elapsed();
    let calls = options.calls * count as u64;
    let mut ioctls = counter.finish(&mut asker, calls).map_err(failure)?;
    ioctls.client = 0.0;
    for client in clients {
        ioctls.client += receive(&client, &mut samples)? / count as f64;
        client.join()?;
    }
    Line::new(options, "fanin", mode.name(), count as u64, &samples, ioctls)
        .throughput(calls, time)
        .print()
        .map_err(failure)
}

fn client(options: &Options, channel: &Channel) -> Result<(), Failure> {
    let mut client = Client::open(&options.device)?;
    let parcel = Parcel::from_bytes([0u8; 64]);
    for _ in 0..options.warmup {
        client.call(PING, &parcel)?;
    }
    let mut times = Vec::with_capacity(usize::try_from(options.calls)?);
    channel.signal()?;
    channel.wait()?;
    let before = client.device().ioctls();
    for _ in 0..options.calls {
        let begin = Instant::now();
        client.call(PING, &parcel)?;
        times.push(begin.elapsed());
    }
    let ioctls = client.device().ioctls() - before;
    channel.signal()?;
    send(channel, &times, ioctls as f64 / options.calls.max(1) as f64)
}

fn send(channel: &Channel, times: &[Duration], ioctls: f64) -> Result<(), Failure> {
    let mut samples = Samples::new().map_err(failure)?;
    for &time in times {
        samples.add(time).map_err(failure)?;
    }
    let pairs = samples.pairs();
    channel.send(&(ioctls, pairs.chunks(CHUNK).len()))?;
    pairs.chunks(CHUNK).try_for_each(|chunk| channel.send(&chunk))
}

fn receive(client: &Peer, samples: &mut Samples) -> Result<f64, Failure> {
    let (ioctls, chunks): (f64, usize) = client.recv()?;
    for _ in 0..chunks {
        for (value, count) in client.recv::<Vec<(u64, u64)>>()? {
            samples.add_many(value, count).map_err(failure)?;
        }
    }
    Ok(ioctls)
}

fn failure(error: anyhow::Error) -> Failure {
    Failure::new("a measurement", "success", format!("{error:#}"))
}
