// SPDX-License-Identifier: GPL-2.0
//! `stats`.

use std::collections::BTreeMap;

use super::parts::Figures;
use super::scan::{Lines, Scanned};
use super::{Folder, StateError};

/// Numbers of commands and returns, by name. What never happened is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, u64>);

/// How many objects of a kind there are, and were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCount {
    /// Objects that exist.
    pub active: i64,
    /// Objects that were made.
    pub total: u64,
}

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Of all processes there are and were.
    pub counters: Counters,
    /// Objects by kind, as the file names it.
    pub objects: BTreeMap<String, ObjectCount>,
    /// Of each process.
    pub processes: Vec<ProcessStats>,
}

/// The numbers of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessStats {
    /// Its id.
    pub pid: i32,
    /// The name of its context.
    pub context: String,
    /// Threads.
    pub threads: u64,
    /// Threads that were asked for, that came, and that may be asked for.
    pub requested: (u64, u64, u64),
    /// Threads that wait for work.
    pub ready: u64,
    /// Bytes that oneway messages may still take.
    pub free_async: u64,
    /// Nodes.
    pub nodes: u64,
    /// Handles, and the sums of their strong and weak counts.
    pub refs: (u64, u64, u64),
    /// Buffers.
    pub buffers: u64,
    /// Pages in use, kept without use, and not there.
    pub pages: (u64, u64, u64),
    /// The most pages there ever were.
    pub pages_high: u64,
    /// Transactions that wait for any thread.
    pub pending: u64,
    /// What only this project's driver tells.
    pub figures: Option<Figures>,
    /// Commands and returns of the process.
    pub counters: Counters,
}

impl Counters {
    /// What the driver has counted so far, for all processes.
    pub fn read(folder: &Folder) -> Result<Self, StateError> {
        Ok(folder.stats()?.counters)
    }

    /// One of the numbers.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// What was counted since `before`: the numbers that have changed.
    pub fn since(&self, before: &Counters) -> Self {
        let changed = self.0.iter().filter_map(|(name, number)| {
            let difference = number.wrapping_sub(before.get(name));
            (difference != 0).then(|| (name.clone(), difference))
        });
        Counters(changed.collect())
    }

    /// The numbers by name, to compare them with.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, number)| (name.as_str(), *number))
    }

    fn take(lines: &mut Lines<'_>, indent: &str) -> Scanned<Self> {
        let mut counters = Counters::default();
        for kind in ["BC_", "BR_"] {
            while let Some(mut scan) = lines.take(&format!("{indent}{kind}")) {
                let name = format!("{kind}{}", scan.word());
                let before = scan;
                let number = scan.field(": ")?;
                scan.end()?;
                if counters.0.insert(name, number).is_some() {
                    return Err(before.malformed("a name that was not there yet"));
                }
            }
        }
        Ok(counters)
    }
}

impl Stats {
    pub(super) fn parse(text: &str) -> Scanned<Self> {
        let mut lines = Lines::new(text)?;
        lines.demand("binder stats:")?.end()?;
        let mut stats = Stats { counters: Counters::take(&mut lines, "")?, ..Stats::default() };
        // In the order in which the file has them.
        let kinds = "proc thread node ref death transaction transaction_complete freeze";
        for kind in kinds.split(' ') {
            if let Some(mut scan) = lines.take(&format!("{kind}: ")) {
                let count =
                    ObjectCount { active: scan.field("active ")?, total: scan.field(" total ")? };
                scan.end()?;
                stats.objects.insert(kind.to_owned(), count);
            }
        }
        while let Some(process) = ProcessStats::take(&mut lines)? {
            stats.processes.push(process);
        }
        lines.end()?;
        Ok(stats)
    }

    /// How many objects of a kind there are, and were made.
    pub fn object(&self, kind: &str) -> ObjectCount {
        self.objects.get(kind).copied().unwrap_or_default()
    }
}

impl ProcessStats {
    fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("proc ") else {
            return Ok(None);
        };
        let pid = scan.number()?;
        scan.end()?;
        let context = lines.demand("context ")?.rest().to_owned();
        let mut process = ProcessStats { pid, context, ..ProcessStats::default() };
        let single = |lines: &mut Lines<'_>, name: &str| -> Scanned<u64> {
            let mut scan = lines.demand(&format!("  {name} "))?;
            let number = scan.number()?;
            scan.end()?;
            Ok(number)
        };
        process.threads = single(lines, "threads:")?;
        let mut scan = lines.demand("  requested threads: ")?;
        process.requested = (scan.number()?, scan.field("+")?, scan.field("/")?);
        scan.end()?;
        process.ready = single(lines, "ready threads")?;
        process.free_async = single(lines, "free async space")?;
        process.nodes = single(lines, "nodes:")?;
        let mut scan = lines.demand("  refs: ")?;
        process.refs = (scan.number()?, scan.field(" s ")?, scan.field(" w ")?);
        scan.end()?;
        process.buffers = single(lines, "buffers:")?;
        let mut scan = lines.demand("  pages: ")?;
        process.pages = (scan.number()?, scan.field(":")?, scan.field(":")?);
        scan.end()?;
        process.pages_high = single(lines, "pages high watermark:")?;
        process.pending = single(lines, "pending transactions:")?;
        process.figures = Figures::take(lines)?;
        process.counters = Counters::take(lines, "  ")?;
        Ok(Some(process))
    }
}
