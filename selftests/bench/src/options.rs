// SPDX-License-Identifier: GPL-2.0
//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Benchmarks of a Binder device. Prints one line of JSON for each figure.
///
/// Times are nanoseconds of the machine's clock. In a virtual machine that
/// counts instructions (`-icount shift=0`, one CPU) a nanosecond is an
/// instruction.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Options {
    /// The Binder device; it must have no context manager.
    #[arg(long, value_name = "PATH", default_value = "/dev/binder")]
    pub device: PathBuf,
    /// A name of the driver for the output.
    #[arg(long, default_value = "unknown")]
    pub driver: String,
    /// Wait ten seconds first, until a machine that has just started is quiet.
    #[arg(long)]
    pub settle: bool,
    /// Calls that are measured in each benchmark.
    #[arg(long, default_value_t = 2000)]
    pub calls: u64,
    /// Calls before them.
    #[arg(long, default_value_t = 200)]
    pub warmup: u64,
    /// How the server replies; several are run one after the other.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "joined")]
    pub server_mode: Vec<ServerMode>,
    /// Request sizes of `payload`, in bytes.
    #[arg(long, value_delimiter = ',', default_values_t = [4096, 65536, 1 << 20])]
    pub sizes: Vec<usize>,
    /// Nodes that the server of `nodes` ends up holding; reported by tenths.
    #[arg(long, default_value_t = 20000)]
    pub nodes: u64,
    /// Clients of `fanin`.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 8, 16])]
    pub clients: Vec<usize>,
    /// Server threads of `fanin`.
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Calls in one burst of `oneway`.
    #[arg(long, default_value_t = 100)]
    pub burst: u64,
    /// What to run.
    #[arg(value_enum, default_values_t = [Bench::Call])]
    pub benches: Vec<Bench>,
}

/// The benchmarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Bench {
    /// Round trips of a synchronous call, 64 bytes each way.
    Call,
    /// Round trips with large requests.
    Payload,
    /// Round trips that each leave one more node with the server.
    Nodes,
    /// What very many handles cost: to get, to change, to release.
    Handles,
    /// Services and clients as while a system starts: bursts, pauses, calls of all kinds.
    Boot,
    /// Many clients, one server with several threads.
    Fanin,
    /// Bursts of oneway calls until the last was received.
    Oneway,
    /// What the machine needs for other round trips between two processes.
    Floor,
}

/// How the server replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ServerMode {
    /// The reply in an ioctl of its own.
    Separate,
    /// The reply in the ioctl that reads on.
    Joined,
    /// The same with `TF_DEFER_COMPLETE`.
    Deferred,
}

impl ServerMode {
    /// Its name in the output.
    pub fn name(self) -> &'static str {
        match self {
            ServerMode::Separate => "separate",
            ServerMode::Joined => "joined",
            ServerMode::Deferred => "deferred",
        }
    }
}
