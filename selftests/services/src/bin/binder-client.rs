// SPDX-License-Identifier: GPL-2.0
//! Calls services from the command line.
#![deny(unsafe_code)]

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, Context, Result};
use binder_client::error::Error;
use binder_client::names::{self, Listener};
use binder_client::party::Party;
use binder_client::thread::BinderThread;
use binder_services::files;
use clap::{Parser, Subcommand};

/// The node to which the manager sends its word about a name.
const NODE: (u64, u64) = (0xca11, 0xbac4);

/// Calls services over a Binder device.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The Binder device.
    #[arg(long, value_name = "PATH", default_value = "/dev/binder")]
    device: PathBuf,
    /// Longest wait for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the names of all services.
    List,
    /// Wait until a service is there.
    Wait {
        /// Name of the service.
        name: String,
    },
    /// Send a text and print what comes back.
    Echo {
        /// Name of the service.
        name: String,
        /// The text.
        text: String,
        /// How many times to do it.
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// Print a file as the service reads it.
    Cat {
        /// Name of the service.
        name: String,
        /// Path of the file.
        path: String,
    },
    /// Print a file that the service only opens: it sends the descriptor.
    Open {
        /// Name of the service.
        name: String,
        /// Path of the file.
        path: String,
    },
}

fn main() -> Result<()> {
    let options = Options::parse();
    let (listener, told) = Listener::new();
    let path = options.device.display();
    let party = Party::open(&options.device, listener)
        .with_context(|| format!("cannot open {path}; is the module loaded?"))?;
    let mut thread = party.thread();
    thread.set_timeout(Some(Duration::from_secs(options.timeout)));
    match options.action {
        Action::List => {
            for name in names::list(&mut thread).context("the service manager did not answer")? {
                println!("{name}");
            }
        }
        Action::Wait { name } => {
            names::request_told(&mut thread, &name, NODE.0, NODE.1)
                .context("the service manager did not answer")?;
            println!("waiting for {name}");
            let mut seen = None;
            thread.serve_until(|| {
                seen = told.try_recv().ok();
                seen.is_some()
            })?;
            println!("{name} is there");
        }
        Action::Echo { name, text, times } => {
            let handle = find(&mut thread, &name)?;
            for _ in 0..times {
                let answer = files::echo(&mut thread, handle, text.as_bytes())?;
                println!("{}", String::from_utf8_lossy(&answer));
            }
        }
        Action::Cat { name, path } => {
            let handle = find(&mut thread, &name)?;
            let content = files::read_file(&mut thread, handle, &path);
            std::io::stdout().write_all(&explain(content, &path)?)?;
        }
        Action::Open { name, path } => {
            let handle = find(&mut thread, &name)?;
            let file = explain(files::open_file(&mut thread, handle, &path), &path)?;
            std::io::copy(&mut File::from(file), &mut std::io::stdout())?;
        }
    }
    Ok(())
}

fn find(thread: &mut BinderThread, name: &str) -> Result<u32> {
    let found = names::get(thread, name).context("the service manager did not answer")?;
    match found {
        Some(handle) => Ok(handle),
        None => bail!("there is no service {name:?}; see `binder-client list`"),
    }
}

/// Puts a status of the file system in words.
fn explain<T>(result: Result<T, Error>, path: &str) -> Result<T> {
    match result {
        Err(Error::Status(number)) => {
            let error = std::io::Error::from_raw_os_error(-number);
            bail!("the service cannot open {path}: {error}")
        }
        other => Ok(other?),
    }
}
