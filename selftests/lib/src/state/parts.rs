// SPDX-License-Identifier: GPL-2.0
//! Single lines of `state` and its kin.

use super::scan::{Lines, Scan, Scanned};

/// Where the buffer of a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In another process than the one that is shown.
    Elsewhere,
    /// It was freed.
    Freed,
    /// Here.
    Here {
        /// Id of the node that the transaction was sent to.
        node: Option<u32>,
        /// Bytes of data.
        data: usize,
        /// Bytes of offsets.
        offsets: usize,
        /// Where it begins in the mapping.
        offset: u64,
    },
}

/// A transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionLine {
    /// What the line says it is: `outgoing`, `incoming`, `bad`, `pending`, `pending async`.
    pub role: String,
    /// Its number.
    pub id: u32,
    /// Process and thread that sent it.
    pub from: (i32, i32),
    /// Process and thread that it goes to; 0 if no thread has it yet.
    pub to: (i32, i32),
    /// Its code.
    pub code: u64,
    /// Its flags.
    pub flags: u64,
    /// Whether it is oneway.
    pub is_oneway: bool,
    /// Whether it is a reply.
    pub is_reply: bool,
    /// Milliseconds since it was sent.
    pub elapsed: u64,
    /// Its buffer.
    pub buffer: Place,
}

/// What waits in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A transaction.
    Transaction(TransactionLine),
    /// A failure, with its return.
    Error(u32),
    /// The end of a command of the thread.
    Complete,
    /// News of references to a node.
    Node {
        /// Its id.
        id: u32,
        /// Its pointer.
        ptr: u64,
        /// Its cookie.
        cookie: u64,
    },
    /// A death, as the line says it.
    Death(String),
}

/// An item, and what this project's driver says of it in addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The item.
    pub item: Item,
    /// It is said to be deferred.
    pub is_deferred: bool,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadLine {
    /// Its id.
    pub tid: i32,
    /// Bits of its looper state.
    pub looper: u64,
    /// It is to return to user space.
    pub needs_return: bool,
    /// Calls it takes part in, the innermost first.
    pub stack: Vec<TransactionLine>,
    /// What waits for it.
    pub queue: Vec<Waiting>,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLine {
    /// Its id.
    pub id: u32,
    /// Its pointer.
    pub ptr: u64,
    /// Its cookie.
    pub cookie: u64,
    /// User space knows of a strong, and of a weak reference.
    pub has: (bool, bool),
    /// Strong and weak references that are no handles.
    pub local: (u32, u32),
    /// Strong handles, and all handles.
    pub handles: (u32, u32),
    /// Processes of the handles.
    pub holders: Vec<i32>,
    /// Oneway messages that wait for the one before.
    pub waiting: Vec<Waiting>,
}

/// A handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefLine {
    /// The handle.
    pub desc: u32,
    /// The owner of the node is dead.
    pub is_dead: bool,
    /// Id of the node.
    pub node: u32,
    /// Its strong and its weak count.
    pub counts: (u32, u32),
    /// It has a death notification.
    pub has_death: bool,
}

/// The state of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferState {
    /// It has not been delivered.
    Active,
    /// User space has it.
    Delivered,
}

/// A buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The transaction that it was made for.
    pub id: u32,
    /// Where it begins in the mapping.
    pub offset: u64,
    /// Bytes of data, of offsets, and of all else.
    pub sizes: (usize, usize, usize),
    /// Its state.
    pub state: BufferState,
}

/// Figures that only this project's driver gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Handles in use.
    pub used: u32,
    /// The highest of them.
    pub highest: Option<u32>,
    /// Handles that there is room for.
    pub capacity: u32,
    /// Bytes of the table.
    pub bytes: usize,
    /// Bytes of the mapping, and free ones.
    pub space: (usize, usize),
    /// Bytes that oneway messages may still take.
    pub free_oneway: usize,
    /// Buffers.
    pub buffers: usize,
    /// Resident pages, and all.
    pub pages: (usize, usize),
}

impl TransactionLine {
    /// From behind the role; stops before what may be added.
    fn scan(scan: &mut Scan<'_>, role: &str) -> Scanned<Self> {
        let id = scan.field(" ")?;
        scan.expect(": ")?;
        scan.pointer()?;
        let from = (scan.field(" from ")?, scan.field(":")?);
        let to = (scan.field(" to ")?, scan.field(":")?);
        scan.expect(" code ")?;
        let code = scan.hex()?;
        scan.expect(" flags ")?;
        let flags = scan.hex()?;
        let _nice: i64 = scan.field(" pri ")?;
        let (is_oneway, is_reply) = (scan.flag(" a")?, scan.flag(" r")?);
        let elapsed = scan.field(" elapsed ")?;
        scan.expect("ms")?;
        let buffer = Place::scan(scan)?;
        let role = role.to_owned();
        Ok(Self { role, id, from, to, code, flags, is_oneway, is_reply, elapsed, buffer })
    }
}

impl Place {
    fn scan(scan: &mut Scan<'_>) -> Scanned<Self> {
        if scan.skip(" buffer free") {
            return Ok(Self::Freed);
        }
        let node = if scan.skip(" node ") { Some(scan.number()?) } else { None };
        if node.is_none() && !scan.rest().starts_with(" size ") {
            return Ok(Self::Elsewhere);
        }
        let (data, offsets) = (scan.field(" size ")?, scan.field(":")?);
        scan.expect(" offset ")?;
        let offset = scan.hex()?;
        Ok(Self::Here { node, data, offsets, offset })
    }
}

/// What can be told of the death of a node.
const DEATHS: [&str; 3] =
    ["has dead binder", "has cleared dead binder", "has cleared death notification"];

fn item<'a>(lines: &mut Lines<'a>, indent: &str, start: &str) -> Option<Scan<'a>> {
    lines.take(&format!("{indent}{start}"))
}

/// Takes the line of a call that a thread takes part in, and its role.
fn part_of_stack<'a>(lines: &mut Lines<'a>) -> Option<(Scan<'a>, &'static str)> {
    let roles = ["outgoing", "incoming", "bad"];
    roles
        .into_iter()
        .find_map(|role| Some((item(lines, "    ", &format!("{role} transaction"))?, role)))
}

impl Waiting {
    /// Takes a line if it is an item that is indented by `indent`.
    pub(super) fn take(lines: &mut Lines<'_>, indent: &str) -> Scanned<Option<Self>> {
        let (scan, item) = if let Some(mut scan) = item(lines, indent, "pending async transaction")
        {
            let line = TransactionLine::scan(&mut scan, "pending async")?;
            (scan, Item::Transaction(line))
        } else if let Some(mut scan) = item(lines, indent, "pending transaction") {
            let line = TransactionLine::scan(&mut scan, "pending")?;
            (scan, Item::Transaction(line))
        } else if let Some(mut scan) = item(lines, indent, "transaction error: ") {
            let code = scan.number()?;
            (scan, Item::Error(code))
        } else if let Some(scan) = item(lines, indent, "transaction complete") {
            (scan, Item::Complete)
        } else if let Some(mut scan) = item(lines, indent, "node work ") {
            let id = scan.number()?;
            scan.expect(": u")?;
            let ptr = scan.pointer()?;
            scan.expect(" c")?;
            let cookie = scan.pointer()?;
            (scan, Item::Node { id, ptr, cookie })
        } else {
            let found =
                DEATHS.into_iter().find_map(|what| Some((item(lines, indent, what)?, what)));
            let Some((scan, what)) = found else {
                return Ok(None);
            };
            (scan, Item::Death(what.to_owned()))
        };
        let mut scan = scan;
        let is_deferred = scan.skip(" deferred");
        scan.end()?;
        Ok(Some(Self { item, is_deferred }))
    }

    /// Takes all items that follow.
    pub(super) fn take_all(lines: &mut Lines<'_>, indent: &str) -> Scanned<Vec<Self>> {
        let mut all = Vec::new();
        while let Some(waiting) = Self::take(lines, indent)? {
            all.push(waiting);
        }
        Ok(all)
    }
}

impl ThreadLine {
    pub(super) fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("  thread ") else {
            return Ok(None);
        };
        let tid = scan.number()?;
        scan.expect(": l ")?;
        let looper = scan.hex()?;
        let needs_return = scan.flag(" need_return ")?;
        let _references: u32 = scan.field(" tr ")?;
        scan.end()?;
        let mut stack = Vec::new();
        while let Some((mut scan, role)) = part_of_stack(lines) {
            stack.push(TransactionLine::scan(&mut scan, role)?);
            scan.end()?;
        }
        let queue = Waiting::take_all(lines, "    ")?;
        Ok(Some(Self { tid, looper, needs_return, stack, queue }))
    }
}

impl NodeLine {
    pub(super) fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("  node ") else {
            return Ok(None);
        };
        // Work for a node has the same start, with an item's name where the id should be.
        let id = scan.number()?;
        scan.expect(": u")?;
        let ptr = scan.pointer()?;
        scan.expect(" c")?;
        let cookie = scan.pointer()?;
        let has = (scan.flag(" hs ")?, scan.flag(" hw ")?);
        let local = (scan.field(" ls ")?, scan.field(" lw ")?);
        let handles = (scan.field(" is ")?, scan.field(" iw ")?);
        let _references: u32 = scan.field(" tr ")?;
        let mut holders = Vec::new();
        if handles.1 > 0 {
            scan.expect(" proc")?;
            for _ in 0..handles.1 {
                holders.push(scan.field(" ")?);
            }
        }
        scan.end()?;
        let waiting = Waiting::take_all(lines, "    ")?;
        Ok(Some(Self { id, ptr, cookie, has, local, handles, holders, waiting }))
    }
}

impl RefLine {
    pub(super) fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("  ref ") else {
            return Ok(None);
        };
        let _id: u32 = scan.number()?;
        let desc = scan.field(": desc ")?;
        let is_dead = scan.skip(" dead");
        let node = scan.field(" node ")?;
        let counts = (scan.field(" s ")?, scan.field(" w ")?);
        scan.expect(" d ")?;
        let has_death = !scan.rest().chars().all(|digit| digit == '0');
        scan.pointer()?;
        scan.end()?;
        Ok(Some(Self { desc, is_dead, node, counts, has_death }))
    }
}

impl Buffer {
    pub(super) fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("  buffer ") else {
            return Ok(None);
        };
        let id = scan.number()?;
        scan.expect(": ")?;
        let offset = scan.hex()?;
        let sizes = (scan.field(" size ")?, scan.field(":")?, scan.field(":")?);
        let state = if scan.skip(" active") {
            BufferState::Active
        } else {
            scan.expect(" delivered")?;
            BufferState::Delivered
        };
        scan.end()?;
        Ok(Some(Self { id, offset, sizes, state }))
    }
}

impl Figures {
    pub(super) fn take(lines: &mut Lines<'_>) -> Scanned<Option<Self>> {
        let Some(mut scan) = lines.take("  handles: used ") else {
            return Ok(None);
        };
        let used = scan.number()?;
        scan.expect(", highest ")?;
        let highest = if scan.skip("none") { None } else { Some(scan.number()?) };
        let (capacity, bytes) = (scan.field(", capacity ")?, scan.field(", bytes ")?);
        scan.end()?;
        let mut scan = lines.demand("  space: size ")?;
        let space = (scan.number()?, scan.field(", free ")?);
        let free_oneway = scan.field(", free oneway ")?;
        let buffers = scan.field(", buffers ")?;
        let pages = (scan.field(", pages ")?, scan.field(" of ")?);
        scan.end()?;
        Ok(Some(Self { used, highest, capacity, bytes, space, free_oneway, buffers, pages }))
    }
}
