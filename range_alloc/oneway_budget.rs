// SPDX-License-Identifier: GPL-2.0

//! How much of a mapping oneway requests may take, and who takes it.
//!
//! Half of the mapping is for oneway requests, so that nobody who sends without waiting
//! can keep calls out. When little of that half is left, the sender that holds most
//! of it is told so ("oneway spam"). All operations are O(1) expected: each sender with
//! at least one buffer has a record with its totals, found by hash.

use super::index::{spread, Entries, Index, NONE};
use crate::{
    chunked::{ChunkRequest, Chunked, Storage},
    shim::AllocError,
};

/// Records per chunk.
pub(super) const PER_CHUNK: usize = 32;
/// A sender with more buffers than this is suspect.
const MANY_BUFFERS: u32 = 50;

/// Totals of one sender.
pub(super) struct Sender {
    pid: i32,
    buffers: u32,
    bytes: u32,
    link: u32,
    bucket: u32,
}

type Records = Chunked<Sender, PER_CHUNK>;
/// Memory for more senders.
pub(super) type MoreSenders = Storage<Sender, PER_CHUNK>;
pub(super) type SenderRequest = ChunkRequest<PER_CHUNK>;

/// Allocates records, linked as spares. May sleep.
pub(super) fn allocate(request: SenderRequest) -> Result<MoreSenders, AllocError> {
    request.allocate(|i| Sender {
        pid: 0,
        buffers: 0,
        bytes: 0,
        link: i as u32 + 1,
        bucket: NONE,
    })
}

/// Whether a sender overuses the room for oneway requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spam {
    /// Nothing to report.
    No,
    /// This request crossed the line: report it.
    Suspect,
}

/// The room for oneway requests of one mapping.
///
/// # Invariants
///
/// * `free` plus the bytes of all senders is half of the mapping.
/// * Each record is in the index if `buffers > 0`, else linked from `spare`.
pub(super) struct OnewayBudget {
    mapping: u32,
    free: u32,
    /// Spam was reported, and the room has not recovered since.
    reported: bool,
    records: Records,
    spare: u32,
    index: Index,
}

impl OnewayBudget {
    pub(super) const fn new() -> Self {
        Self {
            mapping: 0,
            free: 0,
            reported: false,
            records: Records::new(),
            spare: NONE,
            index: Index::new(),
        }
    }

    /// Sets the size of the mapping, in bytes.
    pub(super) fn init(&mut self, mapping: u32) {
        self.mapping = mapping;
        self.free = mapping / 2;
    }

    /// Bytes that are left.
    pub(super) fn free(&self) -> u32 {
        self.free
    }

    /// Bytes allocated for records.
    pub(super) fn bytes(&self) -> usize {
        self.records.bytes()
    }

    /// Whether [`OnewayBudget::charge`] may lack a record.
    #[inline]
    pub(super) fn has_spare(&self) -> bool {
        self.spare != NONE
    }

    pub(super) fn request(&self) -> Option<SenderRequest> {
        self.records.request()
    }

    /// Adds records; gives them back if they are not the next ones.
    pub(super) fn install(&mut self, mut more: MoreSenders) -> Result<(), MoreSenders> {
        let first = more.first() as u32;
        if let Some(last) = more.elements_mut().last_mut() {
            last.link = self.spare;
        }
        self.records.install(more)?;
        self.spare = first;
        Ok(())
    }

    /// Forgets all records but those of the first chunk; nobody may hold a buffer.
    pub(super) fn reset(&mut self) -> Chunked<Sender, PER_CHUNK> {
        let rest = self.records.detach_all_but_first();
        self.index = Index::new();
        self.spare = NONE;
        for at in (0..self.records.len() as u32).rev() {
            self.put_spare(at);
        }
        rest
    }

    /// Record of a sender, if it holds buffers.
    #[inline]
    pub(super) fn find(&self, pid: i32) -> Option<u32> {
        let is_it = |at| self.get(at).is_some_and(|sender| sender.pid == pid);
        self.index.find(&self.records, hash_of(pid), is_it)
    }

    /// Charges a buffer of `size` bytes, which must be left, to `pid`.
    ///
    /// Returns the record for [`OnewayBudget::refund`], and whether to report spam; `None`,
    /// and nothing has changed, if records are lacking.
    #[inline]
    pub(super) fn charge(&mut self, pid: i32, size: u32) -> Option<(u32, Spam)> {
        let at = match self.find(pid) {
            Some(at) => at,
            None => self.add(pid)?,
        };
        self.free = self.free.saturating_sub(size);
        let sender = self.records.get_mut(at as usize)?;
        sender.buffers += 1;
        sender.bytes += size;
        let (buffers, bytes) = (sender.buffers, sender.bytes);
        Some((at, self.judge(buffers, bytes)))
    }

    /// Gives back what a buffer of `size` bytes was charged to record `at`.
    #[inline]
    pub(super) fn refund(&mut self, at: u32, size: u32) {
        let Some(sender) = self.records.get_mut(at as usize) else {
            return;
        };
        self.free += size;
        sender.bytes = sender.bytes.saturating_sub(size);
        sender.buffers = sender.buffers.saturating_sub(1);
        if sender.buffers == 0 {
            let (hash, after) = (hash_of(sender.pid), sender.link);
            self.index.remove(&mut self.records, hash, at, after);
            self.put_spare(at);
        }
    }

    /// Looks for spam once less than a tenth of the mapping is left for oneway requests.
    /// It is reported once, and again only after that much was left in between.
    #[inline]
    fn judge(&mut self, buffers: u32, bytes: u32) -> Spam {
        if self.free >= self.mapping / 10 {
            self.reported = false;
            return Spam::No;
        }
        let suspect = buffers > MANY_BUFFERS || bytes > self.mapping / 4;
        if !suspect || self.reported {
            return Spam::No;
        }
        self.reported = true;
        Spam::Suspect
    }

    fn get(&self, at: u32) -> Option<&Sender> {
        self.records.get(at as usize)
    }

    /// Takes a spare record for `pid`.
    fn add(&mut self, pid: i32) -> Option<u32> {
        let at = self.spare;
        let sender = self.records.get_mut(at as usize)?;
        self.spare = sender.link;
        sender.pid = pid;
        sender.buffers = 0;
        sender.bytes = 0;
        let next = self.index.insert(&mut self.records, hash_of(pid), at);
        self.records.get_mut(at as usize)?.link = next;
        Some(at)
    }

    fn put_spare(&mut self, at: u32) {
        let link = self.spare;
        if let Some(sender) = self.records.get_mut(at as usize) {
            sender.link = link;
            self.spare = at;
        }
    }
}

#[inline]
fn hash_of(pid: i32) -> u32 {
    spread(pid as u32)
}

impl Entries for Records {
    fn capacity(&self) -> u32 {
        self.len() as u32
    }

    #[inline]
    fn hash(&self, at: u32) -> u32 {
        hash_of(self.get(at as usize).map_or(0, |sender| sender.pid))
    }

    #[inline]
    fn next(&self, at: u32) -> u32 {
        self.get(at as usize).map_or(NONE, |sender| sender.link)
    }

    #[inline]
    fn next_mut(&mut self, at: u32) -> Option<&mut u32> {
        Some(&mut self.get_mut(at as usize)?.link)
    }

    #[inline]
    fn first(&self, bucket: u32) -> u32 {
        self.get(bucket as usize)
            .map_or(NONE, |sender| sender.bucket)
    }

    #[inline]
    fn first_mut(&mut self, bucket: u32) -> Option<&mut u32> {
        Some(&mut self.get_mut(bucket as usize)?.bucket)
    }
}
