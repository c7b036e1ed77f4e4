// SPDX-License-Identifier: GPL-2.0
//! The cases of `binder-test-trace`: each records in an instance of its own.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use binder_client::ktap::Failure;
use nix::mount::{mount, MsFlags};

pub mod fields;
pub mod told;

/// Where the kernel's tracing is, if it is.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// One recording. Dropping it ends it.
pub struct Recording {
    instance: PathBuf,
}

/// An event that was recorded: its name without `binder_`, and its values by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub text: String,
    values: HashMap<String, String>,
}

impl Event {
    /// A value, as it was printed.
    pub fn get(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }
}

/// The folder of the kernel's tracing; skips the case on a kernel without.
pub fn tracing() -> Result<PathBuf, Failure> {
    let found = || FOLDERS.iter().map(PathBuf::from).find(|it| it.join("instances").is_dir());
    if found().is_none() {
        let none: Option<&str> = None;
        let _ = mount(Some("tracefs"), FOLDERS[0], Some("tracefs"), MsFlags::empty(), none);
    }
    found().ok_or_else(|| Failure::skip("this kernel records no events"))
}

impl Recording {
    /// Begins to record all events of the driver.
    pub fn start() -> Result<Self, Failure> {
        let recording = Self::prepare()?;
        fs::write(recording.instance.join("events/binder/enable"), "1")?;
        Ok(recording)
    }

    /// A recording of nothing yet.
    pub fn prepare() -> Result<Self, Failure> {
        let instance = tracing()?.join(format!("instances/binder-test-{}", std::process::id()));
        fs::create_dir(&instance)?;
        Ok(Recording { instance })
    }

    /// What the events of this process have told so far, the oldest first.
    pub fn events(&self) -> Result<Vec<Event>, Failure> {
        let text = fs::read_to_string(self.instance.join("trace"))?;
        let own = format!("-{} ", std::process::id());
        Ok(text.lines().filter(|line| line.contains(&own)).filter_map(parse).collect())
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = fs::write(self.instance.join("events/enable"), "0");
        let _ = fs::remove_dir(&self.instance);
    }
}

/// Reads a line such as `task-116 [000] ..... 3.41: binder_transaction: transaction=1 ...`.
fn parse(line: &str) -> Option<Event> {
    let (_, rest) = line.split_once(": binder_")?;
    let (name, text) = rest.split_once(": ")?;
    let values = text.split_whitespace().filter_map(|word| {
        let (key, value) = word.split_once('=')?;
        Some((key.to_string(), value.to_string()))
    });
    Some(Event { name: name.into(), text: text.into(), values: values.collect() })
}

/// The description of an event.
pub fn format_of(folder: &Path, event: &str) -> Result<String, Failure> {
    Ok(fs::read_to_string(folder.join(format!("events/binder/binder_{event}/format")))?)
}
