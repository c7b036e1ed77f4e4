// SPDX-License-Identifier: GPL-2.0
//! A server that keeps very many handles: what one more costs, what it costs to let go of
//! one, and how much memory they take.

mod server;

use std::time::{Duration, Instant};

use anyhow::{bail, Result};
use binder_client::parcel::Parcel;
use nix::sys::sysinfo::sysinfo;

use crate::client::Client;
use crate::figures::{Ioctls, Line, Samples};
use crate::options::Options;
use crate::text;

use server::{Order, BATCH, CHURN, FILL, KEEP, RELEASE};

/// Numbers of handles at which releases are measured, below the largest one.
const HELD: [u64; 3] = [1_000, 10_000, 100_000];

/// What all parts work with.
struct Bench<'a> {
    options: &'a Options,
    client: Client,
    /// The next node's pointer; nodes are never used twice.
    next: u64,
}

/// Grows to `--nodes` handles, then measures what they take and what it costs to change and
/// to release them.
pub fn handles(options: &Options) -> Result<()> {
    let _server = server::start(&options.device).map_err(text)?;
    let client = Client::open(&options.device)?;
    let mut bench = Bench { options, client, next: 0x1000 };
    bench.call(KEEP, 1)?;
    let free = free_memory()?;
    bench.grow()?;
    bench.print(
        "memory",
        options.nodes,
        &once(free.saturating_sub(free_memory()?) / options.nodes)?,
    )?;
    bench.churn()?;
    let largest = options.nodes;
    bench.release(Order::Random, largest)?;
    for held in HELD.into_iter().filter(|held| *held < largest).chain([largest]) {
        for order in Order::ALL {
            bench.fill(held)?;
            bench.release(order, held)?;
        }
    }
    Ok(())
}

impl Bench<'_> {
    /// A call with that many new nodes.
    fn call(&mut self, code: u32, nodes: u64) -> Result<Duration> {
        let mut parcel = Parcel::new();
        for _ in 0..nodes {
            parcel.binder(self.next, self.next);
            self.next += 8;
        }
        let begin = Instant::now();
        self.client.call(code, &parcel)?;
        Ok(begin.elapsed())
    }

    /// One node a call; a line for each tenth.
    fn grow(&mut self) -> Result<()> {
        let nodes = self.options.nodes;
        let tenth = nodes.div_ceil(10).max(1);
        let mut held = 0;
        while held < nodes {
            let end = (held + tenth).min(nodes);
            let mut samples = Samples::new()?;
            for _ in held..end {
                samples.add(self.call(KEEP, 1)?)?;
            }
            held = end;
            self.print("grow", held, &samples)?;
        }
        Ok(())
    }

    /// Each call brings a node, and the server lets go of any other one.
    fn churn(&mut self) -> Result<()> {
        let mut samples = Samples::new()?;
        for _ in 0..self.options.calls {
            samples.add(self.call(CHURN, 1)?)?;
            self.client.drain()?;
        }
        self.print("churn", self.options.nodes, &samples)
    }

    /// Gives the server handles, many in a call.
    fn fill(&mut self, nodes: u64) -> Result<()> {
        let mut left = nodes;
        while left > 0 {
            let now = left.min(BATCH as u64);
            self.call(FILL, now)?;
            left -= now;
        }
        Ok(())
    }

    /// Lets the server release all that it has.
    fn release(&mut self, order: Order, held: u64) -> Result<()> {
        let mut samples = Samples::new()?;
        loop {
            let request = Parcel::from_bytes((order as u64).to_ne_bytes());
            let reply = self.client.call_for(RELEASE, &request)?;
            let Some((time, count)) = server::parse(&reply) else {
                bail!("the server's answer has {} bytes, not 16", reply.len());
            };
            self.client.drain()?;
            if count == 0 {
                break;
            }
            samples.add_many(time / count, count)?;
        }
        self.print(order.name(), held, &samples)
    }

    fn print(&self, mode: &str, held: u64, samples: &Samples) -> Result<()> {
        Line::new(self.options, "handles", mode, held, samples, Ioctls::default()).print()
    }
}

fn once(value: u64) -> Result<Samples> {
    let mut samples = Samples::new()?;
    samples.add_many(value, 1)?;
    Ok(samples)
}

/// Free memory of the machine in bytes, once all that is not needed was dropped.
fn free_memory() -> Result<u64> {
    std::fs::write("/proc/sys/vm/drop_caches", "3")?;
    Ok(sysinfo()?.ram_unused())
}
