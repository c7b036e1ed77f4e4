// SPDX-License-Identifier: GPL-2.0

//! The files that show the state of the driver, in the layout of the C driver.
//!
//! What a file says is written into memory when it is read from the start; where the file
//! is does not matter here. Everything is collected in pieces of bounded size: copied under
//! the lock that guards it, printed after the unlock. So no lock is held for longer than
//! it takes to copy [`PIECE`] items, whatever the amount of state; an item is consistent in
//! itself, and items that come or go meanwhile may be missing.

use kernel::{
    fmt::{self, Write},
    prelude::*,
    str::CStr,
    sync::Arc,
};

use crate::{
    process::Process,
    registry,
    transaction::log::{self, Log},
};

pub(crate) mod files;
mod holders;
mod output;
mod queue;
mod sort;

pub(crate) use self::{
    files::{ProcessFiles, StateFolder},
    holders::Holders,
    output::{Output, Pointer, Pointers, Scope, Style},
    queue::{Listing, Prefix},
};

/// Items that are collected while a lock is held.
pub(crate) const PIECE: usize = 32;

/// A file that shows something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateFile {
    /// All there is.
    State(Pointers),
    /// Numbers.
    Stats,
    /// What is going on.
    Transactions(Pointers),
    /// The last transactions.
    Log(Log),
    /// All there is of the processes with this id.
    Process(i32),
}

impl StateFile {
    /// The files that there is one of, by name.
    pub(crate) const ALL: [(&'static CStr, Self); 7] = [
        (c"state", Self::State(Pointers::Plain)),
        (c"state_hashed", Self::State(Pointers::Hashed)),
        (c"stats", Self::Stats),
        (c"transactions", Self::Transactions(Pointers::Plain)),
        (c"transactions_hashed", Self::Transactions(Pointers::Hashed)),
        (c"transaction_log", Self::Log(Log::All)),
        (c"failed_transaction_log", Self::Log(Log::Failed)),
    ];

    /// The content of the file at this moment.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) fn content(self) -> Result<KVVec<u8>> {
        let processes = registry::snapshot()?;
        let mut out = Output::new();
        let written = match self {
            Self::State(pointers) => {
                let holders = Holders::of_all(&processes)?;
                show_state(&mut out, &processes, &holders, pointers)
            }
            Self::Transactions(pointers) => {
                let holders = Holders::of_all(&processes)?;
                show_transactions(&mut out, &processes, &holders, pointers)
            }
            Self::Stats => show_stats(&mut out, &processes),
            Self::Log(which) => log::show(which, &mut out, |address| {
                let contexts = processes.iter().map(|process| &process.context);
                let mut found = contexts.filter(|context| Arc::as_ptr(context) as usize == address);
                found.next().map(|context| &**context)
            }),
            Self::Process(pid) => {
                let holders = Holders::of_all(&processes)?;
                show_process(&mut out, &processes, &holders, pid)
            }
        };
        // Only memory can be lacking.
        written.map_err(|fmt::Error| ENOMEM)?;
        Ok(out.into_bytes())
    }
}

fn show_state(
    out: &mut Output,
    processes: &[Arc<Process>],
    holders: &Holders,
    pointers: Pointers,
) -> fmt::Result {
    let style = Style {
        scope: Scope::All,
        pointers,
    };
    out.write_str("binder state:\n")?;
    if !holders.dead_nodes().is_empty() {
        out.write_str("dead nodes:\n")?;
    }
    for node in holders.dead_nodes() {
        node.show(out, style, holders)?;
    }
    for process in processes {
        process.show(out, style, holders)?;
    }
    Ok(())
}

fn show_transactions(
    out: &mut Output,
    processes: &[Arc<Process>],
    holders: &Holders,
    pointers: Pointers,
) -> fmt::Result {
    let style = Style {
        scope: Scope::Busy,
        pointers,
    };
    out.write_str("binder transactions:\n")?;
    for process in processes {
        process.show(out, style, holders)?;
    }
    Ok(())
}

fn show_stats(out: &mut Output, processes: &[Arc<Process>]) -> fmt::Result {
    out.write_str("binder stats:\n")?;
    registry::show_totals(out)?;
    for process in processes {
        process.show_stats(out)?;
    }
    Ok(())
}

fn show_process(
    out: &mut Output,
    processes: &[Arc<Process>],
    holders: &Holders,
    pid: i32,
) -> fmt::Result {
    let style = Style {
        scope: Scope::All,
        pointers: Pointers::Plain,
    };
    for process in processes.iter().filter(|process| process.pid == pid) {
        out.write_str("binder proc state:\n")?;
        process.show(out, style, holders)?;
    }
    Ok(())
}
