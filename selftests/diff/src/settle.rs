// SPDX-License-Identifier: GPL-2.0
//! Waiting until a driver has done what it does after the call has returned.
//!
//! The C driver leaves the end of a process and the flush of its threads to a
//! work queue. Its files in debugfs tell when that has happened. A driver that
//! does everything at once needs no waiting.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};

/// Where debugfs is, or is put.
const DEBUGFS: &str = "/sys/kernel/debug";
/// The work queue of a machine that does something else first.
const PATIENCE: Duration = Duration::from_secs(20);

/// How to wait.
#[derive(Clone, Debug)]
pub enum Settle {
    /// Not at all.
    AtOnce,
    /// By the files in this folder.
    Folder(PathBuf),
}

impl Settle {
    /// For the C driver; mounts debugfs if nobody has.
    pub fn of_the_c_driver() -> Result<Self> {
        let folder = Path::new(DEBUGFS).join("binder");
        if !folder.is_dir() {
            let (flags, none) = (nix::mount::MsFlags::empty(), None::<&str>);
            nix::mount::mount(none, DEBUGFS, Some("debugfs"), flags, none)
                .with_context(|| format!("cannot mount debugfs at {DEBUGFS}"))?;
        }
        if !folder.is_dir() {
            bail!("{} is missing: the C driver must be loaded", folder.display());
        }
        Ok(Settle::Folder(folder))
    }

    /// How many open files the driver has, those included that are closed and
    /// not yet released. 0 if there is no need to know.
    pub fn processes(&self) -> Result<usize> {
        let Settle::Folder(folder) = self else { return Ok(0) };
        let path = folder.join("stats");
        let text = std::fs::read_to_string(&path)?;
        // Before the first open there is no such line.
        let Some(line) = text.lines().find_map(|line| line.strip_prefix("proc: active ")) else {
            return Ok(0);
        };
        let number = line.split(' ').next().and_then(|word| word.parse().ok());
        number.with_context(|| format!("{}: no number in `proc: active {line}`", path.display()))
    }

    /// Waits until the driver has released all files but `left`.
    pub fn released(&self, left: usize) -> Result<()> {
        wait("the release of a closed file", || Ok(self.processes()? <= left))
    }

    /// Waits until all threads of a process are told to return; none of them
    /// is in the driver.
    pub fn flushed(&self, pid: i32) -> Result<()> {
        let Settle::Folder(folder) = self else { return Ok(()) };
        let path = folder.join("proc").join(pid.to_string());
        wait("the flush of a process", || {
            let text = std::fs::read_to_string(&path)?;
            let mut threads = text.lines().filter(|line| line.starts_with("  thread "));
            Ok(threads.all(|line| line.contains("need_return 1")))
        })
    }

    /// Whether there is anything to wait for.
    pub fn is_needed(&self) -> bool {
        matches!(self, Settle::Folder(_))
    }
}

/// Waits for something that must come.
pub fn wait(what: &str, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > PATIENCE {
            bail!("{what} did not come within {PATIENCE:?}");
        }
        std::thread::yield_now();
    }
    Ok(())
}
