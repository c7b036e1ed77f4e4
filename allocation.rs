// SPDX-License-Identifier: GPL-2.0

//! Buffers: the receiver's memory that a transaction is delivered in.
//!
//! A buffer goes through three owners. While it is filled and while it travels it is
//! an [`Allocation`], which gives everything back if it is dropped. Delivery hands it
//! to the user space of the receiver; then the process's table knows what is in it,
//! until `BC_FREE_BUFFER` or the end of the process.

use kernel::{
    fs::File,
    prelude::*,
    sync::{aref::ARef, Arc},
};

use crate::{
    defs::NodeFlags,
    process::Process,
    range_alloc::{Allocated, Slot, Spam},
    transaction::UserRange,
};

mod contents;
pub(crate) mod files;
pub(crate) mod layout;
pub(crate) mod pages;

pub(crate) use self::contents::{Contents, HeldObject};
use self::{
    files::{Keeper, SentFile},
    layout::Layout,
    pages::Pages,
};

/// A buffer in a process's mapping that user space does not know of.
///
/// *Semantics*: its bytes may be written; its pages are resident.
/// *Lifetime*: dropping it frees the buffer with all that it holds.
///
/// It is moved several times on the way of each call, so it is kept small.
pub(crate) struct Allocation {
    pub(crate) process: Arc<Process>,
    pages: Arc<Pages>,
    /// Taken out when the buffer is handed over or freed.
    contents: Option<Contents>,
    place: Place,
    pub(crate) layout: Layout,
    /// Its sender floods the receiver with oneway messages.
    pub(crate) is_spam: bool,
}

/// A [`Slot`] in half the space; no mapping is larger than 32 bits can tell.
#[derive(Clone, Copy)]
struct Place {
    index: u32,
    offset: u32,
    size: u32,
}

impl Place {
    fn of(slot: Slot) -> Self {
        Self {
            index: slot.index,
            offset: slot.offset as u32,
            size: slot.size as u32,
        }
    }
}

impl Allocation {
    pub(crate) fn new(
        process: Arc<Process>,
        pages: Arc<Pages>,
        allocated: Allocated,
        layout: Layout,
    ) -> Self {
        Self {
            process,
            pages,
            place: Place::of(allocated.slot),
            layout,
            is_spam: allocated.spam == Spam::Suspect,
            contents: Some(Contents::default()),
        }
    }

    /// What the buffer keeps alive.
    pub(crate) fn contents(&mut self) -> &mut Contents {
        self.contents.get_or_insert_with(Contents::default)
    }

    /// Makes room for one more object, so that [`Allocation::hold`] cannot fail.
    pub(crate) fn reserve_object(&mut self) -> Result {
        self.contents().reserve_object()
    }

    /// Adds an object to what the buffer keeps alive. Fails, and lets it go, if there is no
    /// room for it.
    pub(crate) fn hold(&mut self, object: HeldObject) -> Result {
        let unplaced = match self.contents().hold(object) {
            Ok(()) => return Ok(()),
            Err(object) => object,
        };
        unplaced.release(&self.process);
        Err(ENOMEM)
    }

    /// Adds a file whose number is to be written at `offset` when it is known.
    pub(crate) fn send_file(&mut self, file: ARef<File>, offset: usize, keeper: Keeper) -> Result {
        let offset = u32::try_from(offset).map_err(|_| EINVAL)?;
        self.contents().send_file(SentFile {
            file,
            offset,
            keeper,
        })
    }

    /// The address of the buffer in the receiver.
    pub(crate) fn address(&self) -> u64 {
        (self.pages.start() as u64).wrapping_add(u64::from(self.place.offset))
    }

    /// Where the buffer begins in the mapping.
    pub(crate) fn offset(&self) -> u32 {
        self.place.offset
    }

    fn slot(&self) -> Slot {
        Slot {
            index: self.place.index,
            offset: self.place.offset as usize,
            size: self.place.size as usize,
        }
    }

    /// Copies `from` of the running task to `at` in the buffer. Fails with `EFAULT`.
    pub(crate) fn copy_in(&mut self, at: usize, from: UserRange) -> Result {
        let len = usize::try_from(from.size).map_err(|_| EFAULT)?;
        let start = self.check(at, len)?;
        self.pages.copy_from_user(start, from.address, len)
    }

    /// Writes `bytes` at `at` in the buffer.
    pub(crate) fn write(&mut self, at: usize, bytes: &[u8]) -> Result {
        let start = self.check(at, bytes.len())?;
        self.pages.write(start, bytes)
    }

    /// The offset in the mapping of a part of the buffer.
    fn check(&self, at: usize, len: usize) -> Result<usize> {
        match at.checked_add(len) {
            Some(end) if end <= self.slot().size => {
                self.slot().offset.checked_add(at).ok_or(EFAULT)
            }
            _ => Err(EFAULT),
        }
    }

    /// Makes the pages of the buffer resident.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `ESRCH` when the mapping or its process is gone.
    pub(crate) fn make_resident(&self) -> Result {
        let Slot { offset, size, .. } = self.slot();
        self.pages.make_resident(offset, size, &self.process)
    }

    /// Hands the buffer to the user space of its process, which has been told its
    /// address or is about to.
    pub(crate) fn hand_over(mut self) {
        if let Some(contents) = self.contents.take() {
            self.process
                .buffers
                .lock()
                .hand_over(&self.slot(), contents);
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // Nothing is left after a hand-over.
        let Some(contents) = self.contents.take() else {
            return;
        };
        self.process.discard(&self.pages, &self.slot(), contents);
    }
}

/// Whether a node lets files come in with requests.
pub(crate) fn accepts_files(flags: NodeFlags) -> bool {
    flags.has(NodeFlags::ACCEPTS_FDS)
}
