// SPDX-License-Identifier: GPL-2.0
//! Turns the commands of a script into the bytes that a driver reads.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};

use binder_client::commands::Commands;
use binder_client::guard::BadAddress;
use binder_client::object::{Object as Sent, Strength};
use binder_client::parcel::Parcel;
use binder_client::uapi::{
    TransactionData, BC_REPLY, BC_TRANSACTION, FLAT_BINDER_FLAG_ACCEPTS_FDS,
};

use crate::script::{Buffer, Command, Count, Message, Node, Object, Spoil};
use crate::sys;

/// Distance between the pointers of two nodes.
const NODE_STEP: u64 = 0x100;
/// The cookie of a node is its pointer and this.
const COOKIE: u64 = 0x55;

/// Pointer and cookie of a node. Number 0 is the node of a context manager.
pub fn node_name(node: Node) -> (u64, u64) {
    let ptr = node.number * NODE_STEP;
    let cookie = if node.number == 0 { 0 } else { ptr + COOKIE };
    (ptr, cookie + u64::from(node.wrong))
}

/// The number of the node with this pointer and cookie, if it has one.
pub fn node_number(ptr: u64, cookie: u64) -> Option<u64> {
    let node = Node { number: ptr / NODE_STEP, wrong: false };
    (node_name(node) == (ptr, cookie)).then_some(node.number)
}

/// Flags of a node: those with an odd number take descriptors.
fn node_flags(node: Node) -> u32 {
    if node.number % 2 == 1 {
        FLAT_BINDER_FLAG_ACCEPTS_FDS
    } else {
        0
    }
}

/// What a process remembers from step to step.
#[derive(Debug)]
pub struct Known {
    files: Vec<File>,
    held: Vec<u64>,
    last_freed: u64,
    received: Vec<OwnedFd>,
}

impl Known {
    /// A process with descriptors that it can send.
    pub fn new(files: Vec<File>) -> Self {
        Known { files, held: Vec::new(), last_freed: 0, received: Vec::new() }
    }

    /// Notes a buffer that was delivered.
    pub fn received(&mut self, address: u64) {
        self.held.push(address);
    }

    /// Forgets all buffers: the file is closed.
    pub fn forget(&mut self) {
        self.held.clear();
        self.last_freed = 0;
    }

    /// Notes which buffers were freed by the first `consumed` bytes.
    pub fn freed(&mut self, written: &Written, consumed: u64) {
        for (end, address) in &written.frees {
            if *end <= consumed {
                self.held.retain(|held| held != address);
                self.last_freed = *address;
            }
        }
    }

    /// Takes the descriptors out of a delivered buffer and says what they are:
    /// their device, and whether they close on exec, as all must.
    pub fn look_at_files(&mut self, data: &[u8], offsets: &[u64]) -> Vec<Option<u64>> {
        let mut all = Vec::new();
        for offset in offsets {
            let object = data.get(*offset as usize..).and_then(Sent::from_bytes);
            let Some(Sent::Fd { fd, .. }) = object else { continue };
            let file = sys::own(fd as i32);
            all.push(
                file.as_ref().and_then(|file| Some(nix::sys::stat::fstat(file).ok()?.st_rdev)),
            );
            self.received.extend(file);
        }
        all
    }

    /// Closes the descriptors of [`Known::look_at_files`].
    pub fn close_received(&mut self) {
        self.received.clear();
    }

    fn address(&self, buffer: Buffer, base: u64) -> u64 {
        // No buffer starts at an odd multiple of four.
        let none = base + 12;
        match buffer {
            Buffer::Oldest => self.held.first().copied().unwrap_or(none),
            Buffer::Newest => self.held.last().copied().unwrap_or(none),
            Buffer::Again => self.last_freed,
            Buffer::Bogus => none,
        }
    }
}

/// A write buffer and what it refers to.
#[derive(Debug, Default)]
pub struct Written {
    bytes: Vec<u8>,
    /// End of each command that frees a buffer, and the buffer.
    frees: Vec<(u64, u64)>,
    /// The memory that the bytes point to.
    parcels: Vec<Parcel>,
}

impl Written {
    /// The commands.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Builds a write buffer; `base` is where the process's mapping starts.
pub fn commands(all: &[Command], known: &Known, base: u64) -> Written {
    let mut written = Written::default();
    for command in all {
        let mut out = Commands::new();
        match command {
            Command::Call(handle, message) => {
                let parcel = parcel(message, known);
                out.command(BC_TRANSACTION, &data(*handle, message, &parcel));
                written.parcels.push(parcel);
            }
            Command::Reply(message) => {
                let parcel = parcel(message, known);
                out.command(BC_REPLY, &data(0, message, &parcel));
                written.parcels.push(parcel);
            }
            Command::Free(buffer) => {
                let address = known.address(*buffer, base);
                out.free_buffer(address);
                let end = (written.bytes.len() + out.len()) as u64;
                if matches!(buffer, Buffer::Oldest | Buffer::Newest) {
                    written.frees.push((end, address));
                }
            }
            Command::Count(Count::Increfs, handle) => drop(out.increfs(*handle)),
            Command::Count(Count::Acquire, handle) => drop(out.acquire(*handle)),
            Command::Count(Count::Release, handle) => drop(out.release(*handle)),
            Command::Count(Count::Decrefs, handle) => drop(out.decrefs(*handle)),
            Command::Done(count, node) => {
                let (ptr, cookie) = node_name(*node);
                match count {
                    Count::Acquire => drop(out.acquire_done(ptr, cookie)),
                    _ => drop(out.increfs_done(ptr, cookie)),
                }
            }
            Command::Death(handle, cookie) => drop(out.request_death(*handle, *cookie)),
            Command::ClearDeath(handle, cookie) => drop(out.clear_death(*handle, *cookie)),
            Command::DeadDone(cookie) => drop(out.dead_binder_done(*cookie)),
            Command::Enter => drop(out.enter_looper()),
            Command::Register => drop(out.register_looper()),
            Command::Leave => drop(out.exit_looper()),
        }
        written.bytes.extend_from_slice(out.as_bytes());
    }
    written
}

/// The byte at a place of a message's plain data.
pub fn pattern(code: u32, place: usize) -> u8 {
    (code as usize * 31 + place * 7 + 1) as u8
}

fn parcel(message: &Message, known: &Known) -> Parcel {
    let plain: Vec<u8> = (0..message.size).map(|place| pattern(message.code, place)).collect();
    let mut parcel = Parcel::from_bytes(plain);
    for object in &message.objects {
        match *object {
            Object::Node { node, strong } => {
                let (ptr, cookie) = node_name(node);
                let strength = strength(strong);
                parcel.object(&Sent::Binder { strength, ptr, cookie, flags: node_flags(node) })
            }
            Object::Handle { handle, strong } => {
                let strength = strength(strong);
                parcel.object(&Sent::Handle { strength, handle, cookie: 0, flags: 0 })
            }
            Object::File(file) => {
                let fd = file.and_then(|file| known.files.get(file)).map_or(-1, AsRawFd::as_raw_fd);
                parcel.fd_number(fd)
            }
        };
    }
    match message.spoil {
        Spoil::Nothing | Spoil::Address => {}
        Spoil::OddOffset => parcel.offsets_mut().iter_mut().for_each(|offset| *offset += 2),
        Spoil::FarOffset => {
            let end = parcel.data().len() as u64 + 8;
            parcel.offsets_mut().push(end);
        }
        Spoil::SameOffset => {
            let last = parcel.offsets().last().copied();
            parcel.offsets_mut().extend(last);
        }
        Spoil::CutOff => {
            let length = parcel.data().len().saturating_sub(8);
            parcel.data_mut().truncate(length);
        }
        Spoil::Type => {
            let first = parcel.offsets().first().map(|offset| *offset as usize);
            if let Some(byte) = first.and_then(|first| parcel.data_mut().get_mut(first)) {
                *byte ^= 0xff;
            }
        }
    }
    parcel
}

fn strength(strong: bool) -> Strength {
    if strong {
        Strength::Strong
    } else {
        Strength::Weak
    }
}

fn data(target: u32, message: &Message, parcel: &Parcel) -> TransactionData {
    let mut data = parcel.transaction_data(target, message.code, message.flags);
    if message.spoil == Spoil::Address {
        data.buffer = BadAddress::Kernel.address();
        data.data_size = data.data_size.max(8);
    }
    data
}
