// SPDX-License-Identifier: GPL-2.0
//! Runs the same sessions on the C driver and on ours, and compares all that
//! user space sees. See Documentation/differential.rst.
#![deny(unsafe_code)]
#![warn(missing_docs)]

mod actor;
mod build;
mod compare;
mod generate;
mod outcome;
mod parse;
mod report;
mod rng;
mod rules;
mod run;
mod script;
mod scripts;
mod sessions;
mod settle;
mod shrink;
mod sys;
mod view;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use nix::sched::CpuSet;

use rules::Rules;
use run::Drivers;
use settle::Settle;
use world::Driver;

/// The expected differences of sessions.
const RULES: &str = include_str!("../../differences.d/sessions.toml");

#[derive(Parser)]
#[command(about = "Compares two Binder drivers", version)]
struct Options {
    /// A device of the C driver.
    #[arg(long, value_name = "PATH", default_value = "/dev/cbinder0")]
    c: PathBuf,
    /// A device of our driver.
    #[arg(long, value_name = "PATH", default_value = "/dev/rbinder0")]
    ours: PathBuf,
    /// Another list of expected differences.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Random sessions; prints KTAP.
    Sessions(sessions::Options),
    /// One script on both drivers, with all that was seen.
    Replay {
        /// The script, or the name of a kept one; `-` is the standard input.
        script: PathBuf,
    },
    /// The session of a seed, with all that was seen.
    Seed {
        /// The seed.
        seed: u64,
        /// Its length.
        #[arg(long, default_value_t = sessions::LENGTH)]
        length: usize,
    },
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("binder-diff: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<bool> {
    let rules = match &options.rules {
        Some(path) => {
            let text = std::fs::read_to_string(path);
            Rules::parse(&text.with_context(|| path.display().to_string())?)?
        }
        None => Rules::parse(RULES)?,
    };
    // Only one actor runs at a time: waking it on the same processor is faster.
    let mut one = CpuSet::new();
    one.set(nix::sched::sched_getcpu()?)?;
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &one)?;
    let drivers = Drivers {
        c: Driver { device: options.c.clone(), settle: Settle::of_the_c_driver()? },
        ours: Driver { device: options.ours.clone(), settle: Settle::AtOnce },
    };
    match &options.what {
        What::Sessions(options) => sessions::run(&drivers, rules, options),
        What::Replay { script } => {
            let kept = |name: &str| scripts::SCRIPTS.iter().find(|script| script.0 == name);
            let text = match script.to_str() {
                Some("-") => std::io::read_to_string(std::io::stdin())?,
                Some(name) if kept(name).is_some() => kept(name).map_or("", |it| it.1).to_string(),
                _ => {
                    let text = std::fs::read_to_string(script);
                    text.with_context(|| script.display().to_string())?
                }
            };
            report::show(&drivers, rules, &parse::script(&text)?)
        }
        What::Seed { seed, length } => {
            let (script, _) = drivers.generate(*seed, *length)?;
            report::show(&drivers, rules, &script)
        }
    }
}
