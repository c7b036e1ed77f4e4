// SPDX-License-Identifier: GPL-2.0
//! What user space saw of a step, without what differs from run to run.
//!
//! Nodes and descriptors go by their names in the script, processes by theirs,
//! transaction ids by the order in which they were seen. Addresses of buffers
//! are not shown, only whether they are where they belong.

use std::fmt;

use binder_client::object::{Object as Seen, Strength};
use binder_client::returns::{Incoming, Return, Returns};
use binder_client::uapi::PtrCookie;
use binder_client::Errno;

use crate::actor::{Body, Report, FILES};
use crate::build::node_number;
use crate::script::{Count, Node, Object};

/// Begins the note of a write that was not taken as a whole.
const CONSUMED: &str = "consumed=";

/// An object in a delivered buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// As a script writes it.
    Known(Object),
    /// Anything else, described.
    Strange(String),
}

/// A transaction or reply as it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The node that is called; `None` in a reply.
    pub node: Option<String>,
    /// The sender's code.
    pub code: u32,
    /// The sender's flags.
    pub flags: u32,
    /// The sender's process.
    pub from: String,
    /// Bytes of data, and a digest of those that are no objects.
    pub data: (u64, u16),
    /// The objects.
    pub objects: Vec<Found>,
    /// Whether the buffer is where it belongs.
    pub placed: bool,
}

/// One return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// `BR_TRANSACTION`.
    Transaction(Delivery),
    /// `BR_REPLY`.
    Reply(Delivery),
    /// News of a node's references.
    Count(Count, String),
    /// `BR_DEAD_BINDER`.
    Dead(u64),
    /// `BR_CLEAR_DEATH_NOTIFICATION_DONE`.
    Cleared(u64),
    /// A return without payload.
    Plain(&'static str),
    /// What cannot be understood.
    Strange(String),
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `ok`, the name of an error, or a word of the controller's.
    pub status: String,
    /// The returns without `BR_NOOP`.
    pub items: Vec<Item>,
    /// Numbers that were returned, and everything else that was seen.
    pub notes: Vec<String>,
}

impl Outcome {
    /// An outcome that no actor reported.
    pub fn word(word: &str) -> Self {
        Outcome { status: word.to_string(), items: Vec::new(), notes: Vec::new() }
    }

    /// Whether all commands of the step were taken.
    pub fn is_whole(&self) -> bool {
        !self.notes.iter().any(|note| note.starts_with(CONSUMED))
    }
}

impl Item {
    /// What its receiver has to confirm: that a reference was made to a node.
    pub fn news(&self) -> Option<(Count, Node)> {
        match self {
            Item::Count(count @ (Count::Increfs | Count::Acquire), name) => {
                Some((*count, Node { number: name.parse().ok()?, wrong: false }))
            }
            _ => None,
        }
    }
}

/// Names for what a driver numbers.
#[derive(Debug, Default)]
pub struct Names {
    /// Process ids in the order of the session's processes.
    pub pids: Vec<i32>,
    ids: Vec<i64>,
}

impl Names {
    fn process(&self, pid: i32) -> String {
        match self.pids.iter().position(|other| *other == pid) {
            _ if pid == 0 => "nobody".into(),
            Some(number) => format!("p{number}"),
            None => "stranger".into(),
        }
    }

    /// The name of a transaction id: the how many-th it is.
    fn id(&mut self, id: i64) -> usize {
        if id == 0 {
            return 0;
        }
        let known = self.ids.iter().position(|other| *other == id);
        known.unwrap_or_else(|| {
            self.ids.push(id);
            self.ids.len() - 1
        }) + 1
    }

    /// The outcome that a report describes.
    pub fn outcome(&mut self, report: Report) -> Outcome {
        let status = match report.errno {
            0 => "ok".into(),
            number => format!("{:?}", Errno::from_raw(number)),
        };
        let mut outcome = Outcome { status, items: self.items(&report), notes: Vec::new() };
        if let [id, command, param] = report.values[..] {
            let id = self.id(id);
            outcome.notes.push(format!("id#{id} command={command:#x} param={param}"));
        } else if let [events] = report.values[..] {
            outcome.notes.push(format!("events={events:#x}"));
        }
        let (given, consumed) = report.write;
        if consumed != given {
            outcome.notes.push(format!("{CONSUMED}{consumed}/{given}"));
        }
        outcome
    }

    fn items(&self, report: &Report) -> Vec<Item> {
        let mut bodies = report.bodies.iter();
        let mut items = Vec::new();
        for (place, entry) in Returns::new(&report.bytes).enumerate() {
            items.push(match entry {
                // Every read begins with one, which says nothing.
                Ok(Return::Noop) if place == 0 => continue,
                Ok(Return::Transaction(incoming)) => {
                    let node = Some(name(incoming.ptr, incoming.cookie));
                    Item::Transaction(self.delivery(node, &incoming, bodies.next()))
                }
                Ok(Return::Reply(incoming)) => {
                    Item::Reply(self.delivery(None, &incoming, bodies.next()))
                }
                Ok(Return::Increfs(node)) => count(Count::Increfs, node),
                Ok(Return::Acquire(node)) => count(Count::Acquire, node),
                Ok(Return::Release(node)) => count(Count::Release, node),
                Ok(Return::Decrefs(node)) => count(Count::Decrefs, node),
                Ok(Return::DeadBinder(cookie)) => Item::Dead(cookie),
                Ok(Return::ClearDeathNotificationDone(cookie)) => Item::Cleared(cookie),
                Ok(Return::Error(number)) => Item::Strange(format!("BR_ERROR {number:?}")),
                Ok(other) => Item::Plain(other.name()),
                Err(error) => Item::Strange(error.to_string()),
            });
        }
        items
    }

    fn delivery(&self, node: Option<String>, incoming: &Incoming, body: Option<&Body>) -> Delivery {
        let objects = body.map_or_else(Vec::new, objects);
        let digest = body.map_or(0, digest);
        Delivery {
            node,
            code: incoming.code,
            flags: incoming.flags,
            from: self.process(incoming.sender_pid),
            data: (incoming.data_size, digest),
            objects,
            placed: body.is_some_and(|body| body.placed),
        }
    }
}

fn count(count: Count, node: PtrCookie) -> Item {
    Item::Count(count, name(node.ptr, node.cookie))
}

fn name(ptr: u64, cookie: u64) -> String {
    match node_number(ptr, cookie) {
        Some(number) => number.to_string(),
        None => format!("{ptr:#x}/{cookie:#x}"),
    }
}

fn objects(body: &Body) -> Vec<Found> {
    let mut files = body.files.iter();
    let known = |object| Found::Known(object);
    body.offsets
        .iter()
        .map(|offset| {
            let bytes = body.data.get(*offset as usize..).unwrap_or(&[]);
            match Seen::from_bytes(bytes) {
                Some(Seen::Binder { strength, ptr, cookie, .. }) => {
                    let strong = strength == Strength::Strong;
                    match node_number(ptr, cookie) {
                        Some(number) => {
                            known(Object::Node { node: Node { number, wrong: false }, strong })
                        }
                        None => Found::Strange(format!("node {ptr:#x}/{cookie:#x}")),
                    }
                }
                Some(Seen::Handle { strength, handle, .. }) => {
                    known(Object::Handle { handle, strong: strength == Strength::Strong })
                }
                Some(Seen::Fd { .. }) => match files.next().copied().flatten() {
                    Some(device) => known(Object::File(file_number(device))),
                    None => Found::Strange("a descriptor that is not open".into()),
                },
                _ => Found::Strange(format!("no object at {offset}")),
            }
        })
        .collect()
}

/// The number of the descriptor with this device behind it.
fn file_number(device: u64) -> Option<usize> {
    FILES
        .iter()
        .position(|path| nix::sys::stat::stat(*path).is_ok_and(|found| found.st_rdev == device))
}

/// A digest of the data between the objects.
fn digest(body: &Body) -> u16 {
    let inside = |place: u64| body.offsets.iter().any(|at| (*at..*at + 24).contains(&place));
    let plain = (0u64..).zip(&body.data).filter(|(place, _)| !inside(*place));
    plain.fold(1, |sum: u16, (_, byte)| sum.wrapping_mul(31).wrapping_add((*byte).into()))
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Known(object) => write!(f, "{object}"),
            Found::Strange(text) => write!(f, "<{text}>"),
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            write!(f, " node={node}")?;
        }
        let (size, digest) = self.data;
        write!(f, " code={} flags={:#x} from={}", self.code, self.flags, self.from)?;
        write!(f, " data={size}/{digest:04x}")?;
        self.objects.iter().try_for_each(|object| write!(f, " {object}"))?;
        if self.placed {
            Ok(())
        } else {
            f.write_str(" misplaced")
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Transaction(delivery) => write!(f, "BR_TRANSACTION{delivery}"),
            Item::Reply(delivery) => write!(f, "BR_REPLY{delivery}"),
            Item::Count(count, node) => {
                write!(f, "BR_{} {node}", count.name().to_ascii_uppercase())
            }
            Item::Dead(cookie) => write!(f, "BR_DEAD_BINDER {cookie}"),
            Item::Cleared(cookie) => write!(f, "BR_CLEAR_DEATH_NOTIFICATION_DONE {cookie}"),
            Item::Plain(name) => f.write_str(name),
            Item::Strange(text) => write!(f, "<{text}>"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.status)?;
        self.notes.iter().try_for_each(|note| write!(f, " {note}"))?;
        self.items.iter().try_for_each(|item| write!(f, "; {item}"))
    }
}
