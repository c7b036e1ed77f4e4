// SPDX-License-Identifier: GPL-2.0
//! `transaction_log` and `failed_transaction_log`.

use super::scan::{Lines, Scan, Scanned};

/// Entries that a log has at most.
const MOST: usize = 32;

/// What kind of transaction it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A call.
    Call,
    /// A oneway message.
    Oneway,
    /// A reply.
    Reply,
}

/// A transaction that was sent, or tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub id: u32,
    /// Its kind.
    pub kind: Kind,
    /// Process and thread that sent it.
    pub from: (i32, i32),
    /// Process and thread that it went to; 0 where that is not known.
    pub to: (i32, i32),
    /// The name of the context.
    pub context: String,
    /// Id of the node.
    pub node: u32,
    /// The handle it was sent to.
    pub handle: u32,
    /// Bytes of data and offsets.
    pub sizes: (u64, u64),
    /// The return that the sender got, and the errno; 0 if it was accepted.
    pub error: (u32, i32),
    /// It was being written as it was read.
    pub is_incomplete: bool,
}

pub(super) fn parse(text: &str) -> Scanned<Vec<Entry>> {
    let mut lines = Lines::new(text)?;
    let mut entries = Vec::new();
    while let Some(scan) = lines.take("") {
        entries.push(Entry::scan(scan)?);
        if entries.len() > MOST {
            return Err(scan.malformed(format!("at most {MOST} entries")));
        }
    }
    Ok(entries)
}

impl Entry {
    fn scan(mut scan: Scan<'_>) -> Scanned<Self> {
        let id = scan.number()?;
        scan.expect(": ")?;
        let kind = if scan.skip("call  ") {
            Kind::Call
        } else if scan.skip("async ") {
            Kind::Oneway
        } else {
            scan.expect("reply ")?;
            Kind::Reply
        };
        let from = (scan.field("from ")?, scan.field(":")?);
        let to = (scan.field(" to ")?, scan.field(":")?);
        scan.expect(" context ")?;
        let context = scan.word().to_owned();
        let node = scan.field(" node ")?;
        let handle = scan.field::<i64>(" handle ")? as u32;
        let sizes = (scan.field(" size ")?, scan.field(":")?);
        let error = (scan.field(" ret ")?, scan.field("/")?);
        let _line: u32 = scan.field(" l=")?;
        let is_incomplete = scan.skip(" (incomplete)");
        scan.end()?;
        Ok(Self { id, kind, from, to, context, node, handle, sizes, error, is_incomplete })
    }
}
