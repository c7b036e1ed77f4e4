// SPDX-License-Identifier: GPL-2.0
//! The other process: a manager that never meets a failure itself, and tells
//! what failures elsewhere have left behind in it.

use std::path::{Path, PathBuf};

use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::ktap::Failure;
use binder_client::manager::{answer_reference, spawn_manager_with_flags, Answer, Request};
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::FLAT_BINDER_FLAG_ACCEPTS_FDS;
use binder_client::{check_eq, fail, limits};

/// Replies with the request's data.
pub const PING: u32 = 1;
/// Closes the descriptors it got and replies with nothing.
pub const TAKE: u32 = 2;
/// Keeps the request's buffer and what it refers to.
pub const KEEP: u32 = 3;
/// Frees all that it kept.
const DROP: u32 = 4;
/// Replies with the number of its descriptors and the handle in the request.
const STATE: u32 = 5;

/// Bytes of a call that fits only if the witness holds no other buffer.
const LARGE: usize = 900 << 10;

/// The manager's process, as seen from the test.
pub struct Witness {
    _peer: Peer,
    path: PathBuf,
    descriptors: u32,
}

impl Witness {
    /// Starts it and notes its descriptors.
    pub fn spawn(path: &Path) -> Result<Self, Failure> {
        let mut kept = Vec::new();
        let peer = spawn_manager_with_flags(path, FLAT_BINDER_FLAG_ACCEPTS_FDS, move |request| {
            serve(request, &mut kept)
        })?;
        let mut witness = Witness { _peer: peer, path: path.to_owned(), descriptors: 0 };
        // The first answer opens nothing new, but the handle is checked.
        witness.descriptors = witness.state()?;
        Ok(witness)
    }

    /// Checks that the witness holds no descriptor, no reference and no buffer
    /// of anyone, after letting go of what it was asked to keep.
    pub fn check_clean(&self) -> Result<(), Failure> {
        check_eq!(self.state()?, self.descriptors, "descriptors of the receiving process");
        Ok(())
    }

    /// Checks that nearly all of the mapping is free.
    pub fn check_empty(&self) -> Result<(), Failure> {
        let session = Session::primed(&Device::open(&self.path)?)?;
        ask(&session, TAKE, &Parcel::from_bytes(vec![0u8; LARGE])).map(drop)
    }

    /// Its number of descriptors. A new node must arrive as handle 1: handles
    /// are given lowest first, so any other number means a lost reference.
    fn state(&self) -> Result<u32, Failure> {
        let session = Session::primed(&Device::open(&self.path)?)?;
        ask(&session, DROP, &Parcel::new())?;
        let mut parcel = Parcel::new();
        parcel.binder(0x5000, 0x5000);
        let answer = ask(&session, STATE, &parcel)?;
        let word = |at: usize| answer.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        let (Some(descriptors), Some(handle)) = (word(0), word(4)) else {
            fail!("an answer of {} bytes", answer.len());
        };
        check_eq!(u32::from_ne_bytes(handle), 1, "handle of a new node in an idle process");
        Ok(u32::from_ne_bytes(descriptors))
    }
}

/// One call without failures; answers references meanwhile.
fn ask(session: &Session, code: u32, parcel: &Parcel) -> Result<Vec<u8>, Failure> {
    let mut commands = Commands::new();
    commands.transaction(0, code, 0, parcel);
    session.write(&commands)?;
    let (reply, returns) = session.next_reply(limits::wait())?;
    for entry in returns {
        answer_reference(session, entry)?;
    }
    let data = reply.data();
    reply.free()?;
    Ok(data)
}

fn serve(
    request: &mut Request<'_>,
    kept: &mut Vec<binder_client::buffer::Received>,
) -> Result<Answer, Failure> {
    let mut reply = Parcel::new();
    match request.code() {
        PING => {
            reply.bytes(&request.data());
        }
        TAKE => close_descriptors(request)?,
        KEEP => kept.extend(request.buffer.take()),
        DROP => kept.clear(),
        STATE => {
            let count = std::fs::read_dir("/proc/self/fd")?.count();
            reply.u32(u32::try_from(count)?).u32(request.received().handle(0)?);
        }
        code => fail!("a call with code {code}"),
    }
    Ok(Answer::Reply(reply))
}

fn close_descriptors(request: &Request<'_>) -> Result<(), Failure> {
    for object in request.received().objects()? {
        if let Object::Fd { fd, .. } = object {
            nix::unistd::close(i32::try_from(fd)?)?;
        }
    }
    Ok(())
}

/// True for the end of a call, good or bad.
pub fn is_end(entry: &Return) -> bool {
    matches!(
        entry,
        Return::Reply(_) | Return::DeadReply | Return::FailedReply | Return::FrozenReply
    )
}
