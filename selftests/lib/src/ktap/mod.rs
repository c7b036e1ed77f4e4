// SPDX-License-Identifier: GPL-2.0
//! The frame of a test program: cases, options, KTAP output.
//!
//! ```ignore
//! use binder_client::ktap::{cases, main, Env, Failure};
//! use binder_client::check_eq;
//!
//! fn version_is_eight(env: &Env) -> Result<(), Failure> {
//!     check_eq!(env.open()?.version()?, 8);
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     main(&cases![version_is_eight])
//! }
//! ```

mod failure;
mod glob;
mod report;
mod runner;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};

pub use crate::cases;
use crate::device::Device;
use crate::limits;
use crate::session::Session;
pub use failure::{equal, Failure};

/// One test case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name: the sentence that it proves, in the form of an identifier.
    pub name: &'static str,
    /// The test.
    pub run: fn(&Env) -> Result<(), Failure>,
}

/// Makes an array of [`Case`]s from functions, with their names.
#[macro_export]
macro_rules! cases {
    ($($function:path),* $(,)?) => {
        [$($crate::ktap::Case {
            name: $crate::ktap::last_part(stringify!($function)),
            run: $function,
        }),*]
    };
}

/// The name of a function without the path to it.
pub fn last_part(path: &'static str) -> &'static str {
    path.rsplit("::").next().unwrap_or(path).trim()
}

/// Which driver is behind the device. Only for information: a test that
/// branches on it has to say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Driver {
    /// The C driver.
    C,
    /// This project's driver.
    Rust,
    /// Not told.
    Auto,
}

/// The options of every test program.
#[derive(Clone, Debug, Parser)]
#[command(about = "Tests of a Binder device; prints KTAP", version)]
pub struct Options {
    /// The device to test.
    #[arg(long, value_name = "PATH", default_value = "/dev/binder")]
    pub device: PathBuf,
    /// A second device of the same driver; cases that need it are skipped without it.
    #[arg(long, value_name = "PATH")]
    pub device2: Option<PathBuf>,
    /// Print the names of the cases, one a line, and end.
    #[arg(long)]
    pub list: bool,
    /// Run only the cases whose name matches; `*` and `?` as in a shell.
    #[arg(long, value_name = "GLOB")]
    pub filter: Option<String>,
    /// Time for one case in seconds, after which it has failed.
    #[arg(long, value_name = "SECONDS", env = "BINDER_TEST_TIMEOUT", default_value_t = limits::DEFAULT_CASE.as_secs())]
    pub timeout: u64,
    /// The driver behind the device; for information.
    #[arg(long, value_enum, default_value_t = Driver::Auto)]
    pub driver: Driver,
}

/// What a case gets.
#[derive(Clone, Debug)]
pub struct Env {
    /// Path of the device under test.
    pub device: PathBuf,
    /// Path of the second device, if there is one.
    pub device2: Option<PathBuf>,
    /// Which driver it is, if that was told.
    pub driver: Driver,
}

impl Env {
    /// Opens the device and maps it.
    pub fn open(&self) -> Result<Arc<Device>, Failure> {
        Ok(Device::open(&self.device)?)
    }

    /// Opens the device and makes a session whose first read blocks.
    pub fn session(&self) -> Result<Session, Failure> {
        Ok(Session::primed(&self.open()?)?)
    }

    /// Path of the second device; skips the case if there is none.
    pub fn second_device(&self) -> Result<&PathBuf, Failure> {
        self.device2.as_ref().ok_or_else(|| Failure::skip("needs a second device (--device2)"))
    }
}

/// Runs the cases that the command line asks for.
///
/// The exit status is 0 if none failed, 1 if one failed, 2 if there was
/// nothing to run or the output could not be written.
pub fn main(cases: &[Case]) -> ExitCode {
    let options = Options::parse();
    let chosen: Vec<Case> = cases.iter().copied().filter(|case| wanted(&options, case)).collect();
    if options.list {
        chosen.iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    }
    if chosen.is_empty() {
        eprintln!("no case matches {:?}: see the names with --list", options.filter);
        return ExitCode::from(2);
    }
    limits::set_case(Duration::from_secs(options.timeout.max(1)));
    match run(&options, &chosen) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("the test program itself failed: {error}");
            ExitCode::from(2)
        }
    }
}

fn wanted(options: &Options, case: &Case) -> bool {
    options.filter.as_ref().is_none_or(|pattern| glob::matches(pattern, case.name))
}

/// Runs `cases` and returns how many failed.
fn run(options: &Options, cases: &[Case]) -> std::io::Result<usize> {
    let env = Env {
        device: options.device.clone(),
        device2: options.device2.clone(),
        driver: options.driver,
    };
    let notes = [format!("device: {}", env.device.display()), format!("driver: {:?}", env.driver)];
    let mut report = report::Report::start(std::io::stdout(), cases.len(), &notes)?;
    runner::adopt_orphans()?;
    for case in cases {
        let (output, result) = runner::run_case(case, &env)?;
        report.case(case.name, &output, &result)?;
    }
    Ok(report.finish()?.fail)
}
