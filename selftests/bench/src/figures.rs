// SPDX-License-Identifier: GPL-2.0
//! Samples and the lines that come out of them.

use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::options::Options;

/// Times of calls.
#[derive(Debug)]
pub struct Samples {
    histogram: Histogram<u64>,
    total: u128,
}

impl Samples {
    /// None yet.
    pub fn new() -> Result<Self> {
        // Four digits: an instruction more or less in ten thousand shows.
        Ok(Samples { histogram: Histogram::new(4)?, total: 0 })
    }

    /// Adds the time of one call.
    pub fn add(&mut self, time: Duration) -> Result<()> {
        self.add_many(u64::try_from(time.as_nanos())?, 1)
    }

    /// Adds `count` calls that took `nanoseconds` each.
    pub fn add_many(&mut self, nanoseconds: u64, count: u64) -> Result<()> {
        self.histogram.record_n(nanoseconds, count)?;
        self.total += u128::from(nanoseconds) * u128::from(count);
        Ok(())
    }

    /// Values and how often each was seen.
    pub fn pairs(&self) -> Vec<(u64, u64)> {
        let pairs = self.histogram.iter_recorded();
        pairs.map(|entry| (entry.value_iterated_to(), entry.count_since_last_iteration())).collect()
    }

    fn mean(&self) -> f64 {
        self.total as f64 / self.histogram.len().max(1) as f64
    }
}

/// One line of output. Times are nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct Line<'a> {
    driver: &'a str,
    device: String,
    name: &'a str,
    /// How the server replies, where that matters.
    mode: &'a str,
    /// What the name alone does not say: a size, a number of clients.
    variant: u64,
    calls: u64,
    mean: f64,
    min: u64,
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
    client_ioctls: f64,
    server_ioctls: f64,
    /// Of all parties together, where they ran at the same time.
    calls_per_second: f64,
    /// CPUs of the machine.
    cpus: usize,
    /// Of the replies, how many shared their ioctl with the next call.
    share: f64,
}

/// ioctls for one call, on both sides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ioctls {
    /// Of the client.
    pub client: f64,
    /// Of the server.
    pub server: f64,
}

impl<'a> Line<'a> {
    /// A line with the figures of `samples`.
    pub fn new(
        options: &'a Options,
        name: &'a str,
        mode: &'a str,
        variant: u64,
        samples: &Samples,
        ioctls: Ioctls,
    ) -> Self {
        let histogram = &samples.histogram;
        let mean = samples.mean();
        Line {
            driver: &options.driver,
            device: options.device.display().to_string(),
            name,
            mode,
            variant,
            calls: histogram.len(),
            mean: round(mean, 10.0),
            min: histogram.min(),
            p50: histogram.value_at_quantile(0.5),
            p90: histogram.value_at_quantile(0.9),
            p99: histogram.value_at_quantile(0.99),
            max: histogram.max(),
            client_ioctls: round(ioctls.client, 1000.0),
            server_ioctls: round(ioctls.server, 1000.0),
            calls_per_second: round(1e9 / mean.max(1.0), 10.0),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            share: 0.0,
        }
    }

    /// Replaces the throughput of one caller by that of all of them.
    pub fn throughput(mut self, calls: u64, time: Duration) -> Self {
        self.calls_per_second = round(calls as f64 / time.as_secs_f64(), 10.0);
        self
    }

    /// Adds how many replies of all shared their ioctl with the next call.
    pub fn shared(mut self, shared: u64, replies: u64) -> Self {
        self.share = round(shared as f64 / replies.max(1) as f64, 10000.0);
        self
    }

    /// Prints the line.
    pub fn print(&self) -> Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }
}

fn round(value: f64, steps: f64) -> f64 {
    (value * steps).round() / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_is_exact_and_pairs_restore_the_samples() {
        let mut samples = Samples::new().unwrap();
        samples.add(Duration::from_nanos(28_565)).unwrap();
        samples.add_many(28_567, 3).unwrap();
        assert_eq!(samples.mean(), 28_566.5);
        let mut copy = Samples::new().unwrap();
        for (value, count) in samples.pairs() {
            copy.add_many(value, count).unwrap();
        }
        assert_eq!(copy.histogram.len(), 4);
    }
}
