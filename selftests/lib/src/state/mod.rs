// SPDX-License-Identifier: GPL-2.0
//! The files that show the state of a driver, and a strict parser of them.
//!
//! The parser is written from the layout of the C driver. It accepts what a driver adds
//! behind it in a line, or in lines of its own between the sections, only where it knows
//! it: whatever else is in a file is an error with its line.

mod log;
mod parts;
mod processes;
mod scan;
mod stats;

pub use log::{Entry, Kind};
pub use parts::{
    Buffer, BufferState, Figures, Item, NodeLine, Place, RefLine, ThreadLine, TransactionLine,
    Waiting,
};
pub use processes::{ProcessState, State};
pub use scan::Malformed;
pub use stats::{Counters, ObjectCount, ProcessStats, Stats};

use std::io;
use std::path::{Path, PathBuf};

use nix::mount::{mount, MsFlags};

/// Where debugfs is mounted.
const DEBUGFS: &str = "/sys/kernel/debug";

/// Names under which a driver has its folder.
const NAMES: [&str; 2] = ["binder", "rust_binder"];

/// Why a state file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// It cannot be read.
    #[error("{path}: {error}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It has another layout.
    #[error("{path}: {error}")]
    Layout {
        /// The file.
        path: PathBuf,
        /// Where, and what was expected.
        error: Malformed,
    },
}

/// The folder with the state files of one driver.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of the driver whose device this process has open. Mounts debugfs if it is
    /// not mounted. Nothing if the driver has none.
    pub fn of_this_process() -> io::Result<Option<Self>> {
        let top = Path::new(DEBUGFS);
        if std::fs::read_dir(top)?.next().is_none() {
            mount(Some("debugfs"), top, Some("debugfs"), MsFlags::empty(), None::<&str>)?;
        }
        let pid = std::process::id().to_string();
        let folders = NAMES.map(|name| top.join(name));
        Ok(folders.into_iter().find(|folder| folder.join("proc").join(&pid).exists()).map(Folder))
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file as it is.
    pub fn text(&self, name: &str) -> Result<String, StateError> {
        let path = self.path(name);
        std::fs::read_to_string(&path).map_err(|error| StateError::Read { path, error })
    }

    fn parsed<T>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, Malformed>,
    ) -> Result<T, StateError> {
        let text = self.text(name)?;
        parse(&text).map_err(|error| StateError::Layout { path: self.path(name), error })
    }

    /// `state`.
    pub fn state(&self) -> Result<State, StateError> {
        self.parsed("state", State::parse)
    }

    /// `state_hashed`.
    pub fn state_hashed(&self) -> Result<State, StateError> {
        self.parsed("state_hashed", State::parse)
    }

    /// `transactions`.
    pub fn transactions(&self) -> Result<State, StateError> {
        self.parsed("transactions", State::parse_transactions)
    }

    /// `transactions_hashed`.
    pub fn transactions_hashed(&self) -> Result<State, StateError> {
        self.parsed("transactions_hashed", State::parse_transactions)
    }

    /// `proc/<pid>`.
    pub fn process(&self, pid: u32) -> Result<State, StateError> {
        self.parsed(&format!("proc/{pid}"), State::parse_process)
    }

    /// `stats`.
    pub fn stats(&self) -> Result<Stats, StateError> {
        self.parsed("stats", Stats::parse)
    }

    /// `transaction_log`.
    pub fn log(&self) -> Result<Vec<Entry>, StateError> {
        self.parsed("transaction_log", log::parse)
    }

    /// `failed_transaction_log`.
    pub fn failed_log(&self) -> Result<Vec<Entry>, StateError> {
        self.parsed("failed_transaction_log", log::parse)
    }
}
