// SPDX-License-Identifier: GPL-2.0
//! The benchmarks with one client and one server thread.

use std::time::{Duration, Instant};

use anyhow::{anyhow, Context, Result};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::AsFd;

use crate::client::Client;
use crate::figures::{Ioctls, Line, Samples};
use crate::options::{Options, ServerMode};
use crate::server::{self, KEEP, LAST, PING, SINK};
use crate::text;

/// Longest wait for the end of a burst.
const BURST_WAIT: Duration = Duration::from_secs(60);

/// 64 bytes each way.
pub fn call(options: &Options, mode: ServerMode) -> Result<()> {
    let (_server, mut client) = pair(options, mode)?;
    let parcel = Parcel::from_bytes([0u8; 64]);
    let (samples, ioctls) = measure(options, &mut client, PING, &parcel)?;
    Line::new(options, "call", mode.name(), 64, &samples, ioctls).print()
}

/// Large requests, empty replies.
pub fn payload(options: &Options, mode: ServerMode) -> Result<()> {
    let (_server, mut client) = pair(options, mode)?;
    for &size in &options.sizes {
        let parcel = Parcel::from_bytes(vec![0u8; size]);
        let (samples, ioctls) = measure(options, &mut client, SINK, &parcel)
            .with_context(|| format!("a request of {size} bytes"))?;
        Line::new(options, "payload", mode.name(), size as u64, &samples, ioctls).print()?;
    }
    Ok(())
}

/// Each call carries a new node, which the server keeps; a line for each tenth.
pub fn nodes(options: &Options, mode: ServerMode) -> Result<()> {
    let (_server, mut client) = pair(options, mode)?;
    let tenth = options.nodes.div_ceil(10).max(1);
    for start in (0..options.nodes).step_by(usize::try_from(tenth)?) {
        let end = (start + tenth).min(options.nodes);
        let mut samples = Samples::new()?;
        let mut counter = Counter::start(&mut client)?;
        for node in start..end {
            let mut parcel = Parcel::new();
            parcel.binder(0x1000 + node, node);
            let begin = Instant::now();
            client.call(KEEP, &parcel)?;
            samples.add(begin.elapsed())?;
        }
        let ioctls = counter.finish(&mut client, end - start)?;
        Line::new(options, "nodes", mode.name(), end, &samples, ioctls).print()?;
    }
    Ok(())
}

/// Bursts of oneway calls; a sample is a call's share of a burst's time.
pub fn oneway(options: &Options, mode: ServerMode) -> Result<()> {
    let done = EventFd::from_flags(EfdFlags::EFD_CLOEXEC)?;
    let server = server::start(&options.device, mode, 1, Some(&done)).map_err(text)?;
    let mut client = Client::open(&options.device)?;
    let parcel = Parcel::from_bytes([0u8; 64]);
    let burst = options.burst.max(1);
    let round = |client: &mut Client| -> Result<Duration> {
        let begin = Instant::now();
        for _ in 1..burst {
            client.oneway(SINK, &parcel)?;
        }
        client.oneway(LAST, &parcel)?;
        wait_for(&done)?;
        Ok(begin.elapsed())
    };
    for _ in 0..options.warmup.div_ceil(burst) {
        round(&mut client)?;
    }
    let rounds = options.calls.div_ceil(burst);
    let mut samples = Samples::new()?;
    let mut counter = Counter::start(&mut client)?;
    for _ in 0..rounds {
        let time = round(&mut client)?;
        samples.add_many(u64::try_from(time.as_nanos())? / burst, burst)?;
    }
    let ioctls = counter.finish(&mut client, rounds * burst)?;
    drop(server);
    Line::new(options, "oneway", mode.name(), burst, &samples, ioctls).print()
}

fn wait_for(done: &EventFd) -> Result<()> {
    let mut fds = [PollFd::new(done.as_fd(), PollFlags::POLLIN)];
    if poll(&mut fds, PollTimeout::try_from(BURST_WAIT)?)? == 0 {
        return Err(anyhow!("the last call of a burst did not arrive within {BURST_WAIT:?}"));
    }
    done.read()?;
    Ok(())
}

/// A server with one thread, and a client.
fn pair(options: &Options, mode: ServerMode) -> Result<(Peer, Client)> {
    let server = server::start(&options.device, mode, 1, None).map_err(text)?;
    Ok((server, Client::open(&options.device)?))
}

/// Calls a method again and again.
fn measure(
    options: &Options,
    client: &mut Client,
    code: u32,
    parcel: &Parcel,
) -> Result<(Samples, Ioctls)> {
    for _ in 0..options.warmup {
        client.call(code, parcel)?;
    }
    let mut samples = Samples::new()?;
    let mut counter = Counter::start(client)?;
    for _ in 0..options.calls {
        let begin = Instant::now();
        client.call(code, parcel)?;
        samples.add(begin.elapsed())?;
    }
    let ioctls = counter.finish(client, options.calls)?;
    Ok((samples, ioctls))
}

/// Counts the ioctls of both sides over a series of calls.
pub struct Counter {
    client: u64,
    server: u64,
    /// What asking costs the server.
    overhead: u64,
}

impl Counter {
    /// Starts to count.
    pub fn start(client: &mut Client) -> Result<Counter> {
        let before = client.server_ioctls()?;
        let server = client.server_ioctls()?;
        let overhead = server - before;
        Ok(Counter { client: client.device().ioctls(), server, overhead })
    }

    /// The ioctls for each of `calls` calls since the start.
    pub fn finish(&mut self, client: &mut Client, calls: u64) -> Result<Ioctls> {
        let ours = client.device().ioctls() - self.client;
        let theirs = (client.server_ioctls()? - self.server).saturating_sub(self.overhead);
        let each = |count: u64| count as f64 / calls.max(1) as f64;
        Ok(Ioctls { client: each(ours), server: each(theirs) })
    }
}
