// SPDX-License-Identifier: GPL-2.0
//! What the cases about blocks share: a pair of actors, pipes, objects by hand.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use binder_client::buffer::Received;
use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{
    BufferObject, FdArrayObject, WriteRead, BINDER_WRITE_READ, BUFFER_FLAG_HAS_PARENT,
    FLAT_BINDER_FLAG_ACCEPTS_FDS, TF_ONE_WAY, TYPE_FDA, TYPE_PTR,
};
use binder_client::{check, check_eq, limits, Errno};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

use crate::stage::{failed_with, pending, refused, reply, send, take, Node, Stage};

/// A node whose requests may carry files.
pub const OPEN: Node = Node { flags: FLAT_BINDER_FLAG_ACCEPTS_FDS, ..Node::new(0x1000, 0x11) };
/// One whose requests may not.
pub const CLOSED: Node = Node::new(0x2000, 0x22);

/// Two actors, the client with a handle of a node of the server.
#[derive(Debug)]
pub struct Pair {
    /// Introduces them.
    pub stage: Stage,
    /// Receives.
    pub server: Session,
    /// Sends.
    pub client: Session,
    /// The client's handle.
    pub handle: u32,
}

impl Pair {
    /// A server that takes files.
    pub fn new(env: &Env) -> Result<Self, Failure> {
        Self::with(env, OPEN)
    }

    /// A server with any node.
    pub fn with(env: &Env, node: Node) -> Result<Self, Failure> {
        let stage = Stage::new(env)?;
        let (server, client) = (stage.actor()?, stage.actor()?);
        let handle = stage.introduce(&server, &client, node)?;
        Ok(Pair { stage, server, client, handle })
    }

    /// Sends a parcel oneway. Returns what the server gets.
    #[track_caller]
    pub fn deliver(&self, parcel: &Parcel) -> Result<Received, Failure> {
        send(&self.client, self.handle, 1, TF_ONE_WAY, parcel)?;
        check_eq!(pending(&self.client)?, [Return::TransactionComplete]);
        take(&self.server)
    }

    /// Sends a parcel as a call. Returns what the server gets; it owes an answer.
    #[track_caller]
    pub fn deliver_call(&self, parcel: &Parcel) -> Result<Received, Failure> {
        send(&self.client, self.handle, 1, 0, parcel)?;
        take(&self.server)
    }

    /// Answers a call.
    #[track_caller]
    pub fn answer(&self) -> Result<(), Failure> {
        reply(&self.server, 0, &Parcel::new())?;
        check_eq!(pending(&self.server)?, [Return::TransactionComplete]);
        Ok(self.client.next_reply(limits::wait())?.0.free()?)
    }

    /// A parcel that must be refused, and leave nothing behind.
    #[track_caller]
    pub fn refuse(&self, parcel: &Parcel, errno: Errno) -> Result<(), Failure> {
        failed_with(refused(&self.client, self.handle, TF_ONE_WAY, parcel)?, errno)?;
        check_eq!(pending(&self.server)?, []);
        Ok(())
    }

    /// Checks that the server's mapping has all of its room.
    pub fn room_is_free(&self) -> Result<(), Failure> {
        let parcel = Parcel::from_bytes(vec![1; binder_client::device::DEFAULT_MAP]);
        self.deliver_call(&parcel)?.free()?;
        self.answer()
    }
}

/// A parcel that begins with a head, as all that the usual libraries write: some drivers
/// give a block at the very start of the data no children.
pub fn parcel() -> Parcel {
    let mut parcel = Parcel::new();
    parcel.u64(0x4845_4144);
    parcel
}

/// A block by hand.
pub fn block(buffer: u64, length: u64) -> BufferObject {
    BufferObject { kind: TYPE_PTR, buffer, length, ..Default::default() }
}

/// A block by hand, whose address goes to `offset` of its parent.
pub fn child(buffer: u64, length: u64, parent: u64, offset: u64) -> BufferObject {
    let object = block(buffer, length);
    BufferObject { flags: BUFFER_FLAG_HAS_PARENT, parent, parent_offset: offset, ..object }
}

/// An array by hand.
pub fn array(num_fds: u64, parent: u64, parent_offset: u64) -> FdArrayObject {
    FdArrayObject { kind: TYPE_FDA, pad: 0, num_fds, parent, parent_offset }
}

/// The block that is object number `index`.
pub fn block_at(received: &Received, index: usize) -> Result<BufferObject, Failure> {
    match received.objects()?.get(index) {
        Some(Object::Buffer(block)) => Ok(*block),
        other => Err(Failure::new("an object", "a block", format!("{other:?}"))),
    }
}

/// The address at `offset` of the block that is object number `index`.
pub fn address_in(received: &Received, index: usize, offset: usize) -> Result<u64, Failure> {
    let bytes = received.block(index)?;
    let word = bytes.get(offset..offset + 8).and_then(|word| word.try_into().ok());
    word.map(u64::from_ne_bytes)
        .ok_or_else(|| Failure::new("a block", "an address in it", format!("{bytes:?}")))
}

/// The numbers in a part of the block that is object number `index`.
pub fn numbers(
    received: &Received,
    index: usize,
    offset: usize,
    count: usize,
) -> Result<Vec<u32>, Failure> {
    let bytes = received.block(index)?;
    let part = bytes.get(offset..offset + 4 * count);
    let part = part.ok_or_else(|| Failure::new("a block", "an array in it", "it is too short"))?;
    let number = |chunk: &[u8]| u32::from_ne_bytes(chunk.try_into().expect("four bytes"));
    Ok(part.chunks_exact(4).map(number).collect())
}

/// A pipe: the end to read from, the end to write to.
pub fn pipe() -> Result<(File, File), Failure> {
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    Ok((read.into(), write.into()))
}

/// Another descriptor of the file of a number that the driver made, which stays the
/// driver's to close.
pub fn borrow(number: u32) -> Result<File, Failure> {
    check!(is_open(number)?, "descriptor {number} is open");
    // SAFETY: the driver made the number for the receiver, this process, and closes it
    // with the buffer, which the caller holds.
    #[allow(unsafe_code)]
    let fd = unsafe { BorrowedFd::borrow_raw(number as i32) };
    Ok(fd.try_clone_to_owned()?.into())
}

/// Takes over a descriptor that the driver made for this process.
pub fn own(number: u32) -> Result<File, Failure> {
    check!(is_open(number)?, "descriptor {number} is open");
    // SAFETY: the driver just made it for the receiver, who is the only one to know it.
    #[allow(unsafe_code)]
    let owned = unsafe { OwnedFd::from_raw_fd(number as i32) };
    Ok(owned.into())
}

/// Whether a number names an open descriptor of this process.
pub fn is_open(number: u32) -> Result<bool, Failure> {
    // SAFETY: asking changes nothing.
    #[allow(unsafe_code)]
    let result = unsafe { nix::libc::fcntl(number as i32, nix::libc::F_GETFD) };
    match Errno::result(result) {
        Ok(_) => Ok(true),
        Err(Errno::EBADF) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Checks that what is written to one end arrives at the other.
pub fn connected(read: &mut File, write: &mut File) -> Result<(), Failure> {
    write.write_all(b"through the pipe")?;
    let mut seen = [0; 16];
    read.read_exact(&mut seen)?;
    check_eq!(&seen, b"through the pipe");
    Ok(())
}

/// Checks that nobody has the writing end any more, which may take a moment.
#[track_caller]
pub fn closed_everywhere(read: &File) -> Result<(), Failure> {
    let seen = events(read, limits::wait())?;
    check!(seen.contains(PollFlags::POLLHUP), "the writing end is closed, not {seen:?}");
    Ok(())
}

/// Checks that nobody has the writing end any more, now.
#[track_caller]
pub fn closed_now(read: &File) -> Result<(), Failure> {
    let seen = events(read, Duration::ZERO)?;
    check!(seen.contains(PollFlags::POLLHUP), "the writing end is closed, not {seen:?}");
    Ok(())
}

/// Checks that somebody still has the writing end.
#[track_caller]
pub fn still_open(read: &File) -> Result<(), Failure> {
    check_eq!(events(read, Duration::ZERO)?, PollFlags::empty());
    Ok(())
}

fn events(file: &File, timeout: Duration) -> Result<PollFlags, Failure> {
    let mut fds = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX))?;
    Ok(fds[0].revents().unwrap_or(PollFlags::empty()))
}

/// The number of descriptors that this process has open.
pub fn open_files() -> Result<usize, Failure> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

/// Runs `body` while only `free` more descriptors can be made.
pub fn with_free<T>(free: u64, body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    use nix::sys::resource::{getrlimit, setrlimit, Resource};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // Numbers are given from the lowest: fill the holes first.
    let fill: Vec<_> = (0..64).map(|_| File::open("/dev/null")).collect();
    let last = fill.iter().flatten().map(std::os::fd::AsRawFd::as_raw_fd).max();
    let limit = last.map_or(0, |last| last as u64 + 1) + free;
    setrlimit(Resource::RLIMIT_NOFILE, limit, hard)?;
    let result = body();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    result
}

/// Lets `number`, which the driver made, name the file of `fd` instead.
pub fn become_number(fd: &impl AsFd, number: u32) -> Result<(), Failure> {
    use nix::libc;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&fd.as_fd());
    // SAFETY: nothing of this process owns the number.
    #[allow(unsafe_code)]
    let result = unsafe { libc::dup3(fd, number as i32, libc::O_CLOEXEC) };
    Errno::result(result)?;
    Ok(())
}

/// Reads up to four bytes by a number that the driver made.
pub fn read_by_number(number: u32) -> Result<Vec<u8>, Errno> {
    let mut seen = [0; 4];
    // SAFETY: reading by any number is sound.
    #[allow(unsafe_code)]
    let fd = unsafe { BorrowedFd::borrow_raw(number as i32) };
    let count = nix::unistd::read(fd, &mut seen)?;
    Ok(seen[..count].to_vec())
}

/// Issues commands by a number that names a device. Returns how much was consumed.
pub fn write_by_number(number: u32, commands: &Commands<'_>) -> Result<u64, Errno> {
    let mut argument = WriteRead {
        write_size: commands.len() as u64,
        write_buffer: commands.as_bytes().as_ptr() as u64,
        ..Default::default()
    };
    let request = nix::libc::Ioctl::from(BINDER_WRITE_READ);
    // SAFETY: without room to read, the driver writes to the argument only.
    #[allow(unsafe_code)]
    let result = unsafe { nix::libc::ioctl(number as i32, request, &mut argument) };
    Errno::result(result).map(|_| argument.write_consumed)
}
