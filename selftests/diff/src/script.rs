// SPDX-License-Identifier: GPL-2.0
//! A session as a script: what each actor does, step by step.
//!
//! Addresses never occur in it: nodes, descriptors and buffers go by names, so
//! that the same script means the same on every driver, and still means
//! something when steps are taken out of it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A thread of a process of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Actor {
    /// The process.
    pub process: usize,
    /// Its thread.
    pub thread: usize,
}

/// A node by its number in the process that owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number; see [`node_flags`] for what it implies.
    pub number: u64,
    /// Name it with a cookie that is not its own.
    pub wrong: bool,
}

/// An object in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Object {
    /// A node of the sender, strong or weak.
    Node { node: Node, strong: bool },
    /// A handle of the sender, strong or weak.
    Handle { handle: u32, strong: bool },
    /// One of the descriptors that every process has, or none.
    File(Option<usize>),
}

/// What is wrong with the layout of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spoil {
    /// Nothing.
    Nothing,
    /// An offset that is not a multiple of four.
    OddOffset,
    /// An offset behind the data.
    FarOffset,
    /// The same offset again.
    SameOffset,
    /// An object that the end of the data cuts off.
    CutOff,
    /// A type that does not exist.
    Type,
    /// Data at an address that is no memory.
    Address,
}

/// Contents of a call or reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The code.
    pub code: u32,
    /// `TF_` bits.
    pub flags: u32,
    /// Bytes of plain data in front of the objects.
    pub size: usize,
    /// The objects.
    pub objects: Vec<Object>,
    /// What is wrong with it.
    pub spoil: Spoil,
}

/// Which buffer to free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Buffer {
    /// The one that the process has had for longest.
    Oldest,
    /// The one that came last.
    Newest,
    /// The one that was freed last.
    Again,
    /// An address inside the mapping that is no buffer.
    Bogus,
}

/// The four commands on handles, which also name the returns about nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Count {
    /// One weak reference more.
    Increfs,
    /// One strong reference more.
    Acquire,
    /// One strong reference less.
    Release,
    /// One weak reference less.
    Decrefs,
}

/// One command in a write buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// `BC_TRANSACTION` to a handle.
    Call(u32, Message),
    /// `BC_REPLY`.
    Reply(Message),
    /// `BC_FREE_BUFFER`.
    Free(Buffer),
    /// `BC_INCREFS` and so on.
    Count(Count, u32),
    /// `BC_INCREFS_DONE` or `BC_ACQUIRE_DONE`.
    Done(Count, Node),
    /// `BC_REQUEST_DEATH_NOTIFICATION`.
    Death(u32, u64),
    /// `BC_CLEAR_DEATH_NOTIFICATION`.
    ClearDeath(u32, u64),
    /// `BC_DEAD_BINDER_DONE`.
    DeadDone(u64),
    /// `BC_ENTER_LOOPER`.
    Enter,
    /// `BC_REGISTER_LOOPER`.
    Register,
    /// `BC_EXIT_LOOPER`.
    Leave,
}

/// How a `BINDER_WRITE_READ` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Read {
    /// Not at all.
    No,
    /// What is there, into so many bytes.
    Now(usize),
    /// As long as it takes.
    Wait(usize),
}

/// What an actor does in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// `BINDER_WRITE_READ`.
    Do(Vec<Command>, Read),
    /// `BINDER_SET_CONTEXT_MGR`.
    Manager,
    /// `BINDER_SET_CONTEXT_MGR_EXT` with a node that takes descriptors.
    ManagerExt,
    /// `BINDER_THREAD_EXIT`.
    ThreadExit,
    /// `BINDER_SET_MAX_THREADS`.
    MaxThreads(u32),
    /// `BINDER_ENABLE_ONEWAY_SPAM_DETECTION`.
    Spam(bool),
    /// `BINDER_GET_EXTENDED_ERROR`.
    ExtendedError,
    /// `BINDER_VERSION`, with an address that is no memory.
    BadVersion,
    /// `poll` without waiting.
    Poll,
    /// Closes a duplicate of the descriptor.
    Flush,
    /// Closes the descriptor.
    Close,
    /// Opens the device and maps it.
    Open,
    /// Removes the mapping.
    Unmap,
    /// A signal for this actor, which waits.
    Signal,
    /// `SIGKILL` for the process.
    Kill,
    /// A new process in the place of a killed one.
    Spawn,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Who.
    pub actor: Actor,
    /// What.
    pub action: Action,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Number of processes.
    pub processes: usize,
    /// Threads in each.
    pub threads: usize,
    /// Bytes that each maps.
    pub map: usize,
    /// The steps.
    pub steps: Vec<Step>,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}.t{}", self.process, self.thread)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, if self.wrong { "!" } else { "" })
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Object::Node { node, strong: true } => write!(f, "node:{node}"),
            Object::Node { node, strong: false } => write!(f, "weak-node:{node}"),
            Object::Handle { handle, strong: true } => write!(f, "handle:{handle}"),
            Object::Handle { handle, strong: false } => write!(f, "weak-handle:{handle}"),
            Object::File(Some(number)) => write!(f, "file:{number}"),
            Object::File(None) => write!(f, "file:none"),
        }
    }
}

/// Names of values that have no parameters, in both directions.
macro_rules! names {
    ($($type:ty { $($value:path = $name:literal,)* })*) => {
        $(
            impl $type {
                /// Its name in a script.
                pub fn name(self) -> &'static str {
                    match self { $($value => $name,)* }
                }

                /// The value of a name.
                pub fn named(name: &str) -> Option<Self> {
                    match name { $($name => Some($value),)* _ => None }
                }
            }
        )*
    };
}

names! {
    Spoil {
        Spoil::Nothing = "nothing",
        Spoil::OddOffset = "odd-offset",
        Spoil::FarOffset = "far-offset",
        Spoil::SameOffset = "same-offset",
        Spoil::CutOff = "cut-off",
        Spoil::Type = "type",
        Spoil::Address = "address",
    }
    Buffer {
        Buffer::Oldest = "oldest",
        Buffer::Newest = "newest",
        Buffer::Again = "again",
        Buffer::Bogus = "bogus",
    }
    Count {
        Count::Increfs = "increfs",
        Count::Acquire = "acquire",
        Count::Release = "release",
        Count::Decrefs = "decrefs",
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "code={} flags={:#x} size={}", self.code, self.flags, self.size)?;
        self.objects.iter().try_for_each(|object| write!(f, " {object}"))?;
        match self.spoil {
            Spoil::Nothing => Ok(()),
            spoil => write!(f, " spoil={}", spoil.name()),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Call(handle, message) => write!(f, "call {handle} {message}"),
            Command::Reply(message) => write!(f, "reply {message}"),
            Command::Free(buffer) => write!(f, "free {}", buffer.name()),
            Command::Count(count, handle) => write!(f, "{} {handle}", count.name()),
            Command::Done(count, node) => write!(f, "{}-done {node}", count.name()),
            Command::Death(handle, cookie) => write!(f, "death {handle} {cookie}"),
            Command::ClearDeath(handle, cookie) => write!(f, "clear-death {handle} {cookie}"),
            Command::DeadDone(cookie) => write!(f, "dead-done {cookie}"),
            Command::Enter => f.write_str("enter"),
            Command::Register => f.write_str("register"),
            Command::Leave => f.write_str("leave"),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Do(commands, read) => {
                let mut parts: Vec<String> = commands.iter().map(Command::to_string).collect();
                match read {
                    Read::No if parts.is_empty() => parts.push("nothing".into()),
                    Read::No => {}
                    Read::Now(size) => parts.push(format!("read {size}")),
                    Read::Wait(size) => parts.push(format!("wait {size}")),
                }
                f.write_str(&parts.join(" | "))
            }
            Action::Manager => f.write_str("manager"),
            Action::ManagerExt => f.write_str("manager-ext"),
            Action::ThreadExit => f.write_str("thread-exit"),
            Action::MaxThreads(count) => write!(f, "max-threads {count}"),
            Action::Spam(true) => f.write_str("spam on"),
            Action::Spam(false) => f.write_str("spam off"),
            Action::ExtendedError => f.write_str("extended-error"),
            Action::BadVersion => f.write_str("bad-version"),
            Action::Poll => f.write_str("poll"),
            Action::Flush => f.write_str("flush"),
            Action::Close => f.write_str("close"),
            Action::Open => f.write_str("open"),
            Action::Unmap => f.write_str("unmap"),
            Action::Signal => f.write_str("signal"),
            Action::Kill => f.write_str("kill"),
            Action::Spawn => f.write_str("spawn"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.actor, self.action)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "session processes={} threads={} map={}",
            self.processes, self.threads, self.map
        )?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}
