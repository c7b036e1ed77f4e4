// SPDX-License-Identifier: GPL-2.0
//! The service manager behind handle 0.
#![deny(unsafe_code)]

mod manager;
mod registry;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};
use binder_client::device::Device;
use binder_client::party::{Party, ReplyMode};
use binder_client::thread::Looper;
use binder_client::Errno;
use clap::Parser;

/// Serves names behind handle 0 of a Binder device until it is killed.
///
/// Prints the line "ready" as soon as it serves.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The Binder device.
    #[arg(long, value_name = "PATH", default_value = "/dev/binder")]
    device: PathBuf,
    /// How long to wait for another manager to go, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    patience: u64,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let path = options.device.display();
    let device = Device::open(&options.device)
        .with_context(|| format!("cannot open {path}; is the module loaded?"))?;
    become_manager(&device, Duration::from_secs(options.patience))
        .with_context(|| format!("cannot become the context manager of {path}"))?;
    let party = Party::new(device, manager::Manager::default(), ReplyMode::default());
    println!("ready: serving names on {path}");
    party.thread().serve(Looper::Entered).context("the driver failed a request to serve")
}

/// Takes the place of handle 0, once another manager has gone.
fn become_manager(device: &Device, patience: Duration) -> Result<()> {
    let start = Instant::now();
    loop {
        match device.set_context_mgr() {
            Ok(()) => return Ok(()),
            // A driver lets go some time after the last close, without notice.
            Err(Errno::EBUSY) if start.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(Errno::EBUSY) => bail!("another process is it already; stop that one first"),
            Err(Errno::EPERM) => bail!("an earlier manager had another user id; run as that user"),
            Err(error) => return Err(error.into()),
        }
    }
}
