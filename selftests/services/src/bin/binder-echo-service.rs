// SPDX-License-Identifier: GPL-2.0
//! The echo and file service as a process.
#![deny(unsafe_code)]

use std::path::PathBuf;

use anyhow::{Context, Result};
use binder_client::device::Device;
use binder_client::names;
use binder_client::party::{Party, ReplyMode};
use binder_client::thread::Looper;
use binder_services::files::FileService;
use clap::Parser;

/// The node under which the service is published.
const NODE: (u64, u64) = (0x5e11, 0xf11e);

/// Publishes an echo and file service and serves until it is killed.
///
/// Prints the line "ready" as soon as its name is known to the manager.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The Binder device.
    #[arg(long, value_name = "PATH", default_value = "/dev/binder")]
    device: PathBuf,
    /// The name to publish.
    #[arg(long, default_value = "files")]
    name: String,
    /// How many threads the driver may ask for.
    #[arg(long, default_value_t = 3)]
    max_threads: u32,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let path = options.device.display();
    let device = Device::open(&options.device)
        .with_context(|| format!("cannot open {path}; is the module loaded?"))?;
    device.set_max_threads(options.max_threads)?;
    let party = Party::new(device, FileService::default(), ReplyMode::default());
    let mut thread = party.thread();
    names::add(&mut thread, &options.name, NODE.0, NODE.1)
        .context("cannot publish the name; does a service manager run on this device?")?;
    println!("ready: serving {:?} on {path}", options.name);
    thread.serve(Looper::Entered).context("the driver failed a request to serve")
}
