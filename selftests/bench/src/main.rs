// SPDX-License-Identifier: GPL-2.0
//! Benchmarks of a Binder device: one line of JSON for each figure.
#![deny(unsafe_code)]

mod boot;
mod calls;
mod client;
mod fanin;
mod figures;
mod floor;
mod futex;
mod handles;
mod options;
mod server;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{anyhow, Result};
use binder_client::ktap::Failure;
use binder_client::limits;
use clap::Parser;

use options::{Bench, Options};

/// How long a machine needs after its start until nothing else runs.
const SETTLE: Duration = Duration::from_secs(10);

/// Longest wait for a party of a benchmark to finish.
const PATIENCE: Duration = Duration::from_secs(600);

fn main() -> ExitCode {
    let options = Options::parse();
    limits::set_case(PATIENCE);
    if options.settle {
        std::thread::sleep(SETTLE);
    }
    for &bench in &options.benches {
        if let Err(error) = run(&options, bench) {
            eprintln!("{bench:?} on {}: {error:#}", options.device.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn run(options: &Options, bench: Bench) -> Result<()> {
    match bench {
        Bench::Floor => return floor::floor(options),
        Bench::Handles => return handles::handles(options),
        _ => {}
    }
    for &mode in &options.server_mode {
        match bench {
            Bench::Call => calls::call(options, mode)?,
            Bench::Payload => calls::payload(options, mode)?,
            Bench::Nodes => calls::nodes(options, mode)?,
            Bench::Boot => boot::boot(options, mode)?,
            Bench::Fanin => fanin::fanin(options, mode)?,
            Bench::Oneway => calls::oneway(options, mode)?,
            Bench::Floor | Bench::Handles => {}
        }
    }
    Ok(())
}

/// Puts a failure of a party in words.
fn text(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::Skip(reason) => anyhow!(reason),
        Failure::Fail { what, expected, seen, place } => {
            anyhow!("{what}: expected {expected}, seen {seen} ({place})")
        }
    }
}
