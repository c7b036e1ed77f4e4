// SPDX-License-Identifier: GPL-2.0
//! Becoming the context manager, and a scriptable service behind handle 0.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::buffer::Received;
use crate::commands::Commands;
use crate::device::Device;
use crate::error::Error;
pub use crate::handler::Answer;
use crate::ktap::Failure;
use crate::limits;
use crate::parcel::Parcel;
use crate::peer::{Channel, Peer};
use crate::returns::Return;
use crate::session::{Session, READ_SIZE};
use crate::uapi::{FlatObject, TF_ONE_WAY, TF_STATUS_CODE};

/// Makes `device` the context manager.
///
/// The manager of the case before may still be on its way out, as a driver
/// releases a process some time after its last close; there is no event to
/// wait for, so this tries again for [`limits::wait`].
pub fn become_manager(device: &Device) -> Result<(), Errno> {
    retry_busy(|| device.set_context_mgr())
}

/// As [`become_manager`], with flags for the node, for example
/// `FLAT_BINDER_FLAG_ACCEPTS_FDS`.
pub fn become_manager_with_flags(device: &Device, flags: u32) -> Result<(), Errno> {
    let node = FlatObject { kind: crate::uapi::TYPE_BINDER, flags, ..Default::default() };
    retry_busy(|| device.set_context_mgr_ext(&node))
}

fn retry_busy(attempt: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(Errno::EBUSY) if start.elapsed() < limits::wait() => {
                std::thread::sleep(Duration::from_millis(5));
            }
            result => return result,
        }
    }
}

/// A request as a handler sees it. Dropping the buffer frees it, which the
/// service does with the reply if the handler leaves it there.
#[derive(Debug)]
pub struct Request<'a> {
    /// The session of the serving thread.
    pub session: &'a Session,
    /// The message channel to the test.
    pub channel: &'a Channel,
    /// The contents; a handler may take the buffer to keep it.
    pub buffer: &'a mut Option<Received>,
}

impl Request<'_> {
    /// The method that is called.
    pub fn code(&self) -> u32 {
        self.received().incoming().code
    }

    /// The data.
    pub fn data(&self) -> Vec<u8> {
        self.received().data()
    }

    /// The buffer.
    ///
    /// # Panics
    ///
    /// If the handler took it.
    pub fn received(&self) -> &Received {
        self.buffer.as_ref().expect("the buffer is still there")
    }
}

/// A service behind handle 0 in a child process, with one thread, until the
/// returned [`Peer`] is dropped or the handler stops it.
///
/// `handler` runs in the child. References are answered as they come.
pub fn spawn_manager(
    path: &Path,
    handler: impl FnMut(&mut Request<'_>) -> Result<Answer, Failure>,
) -> Result<Peer, Failure> {
    spawn_manager_with_flags(path, 0, handler)
}

/// As [`spawn_manager`], with flags for the node.
pub fn spawn_manager_with_flags(
    path: &Path,
    flags: u32,
    handler: impl FnMut(&mut Request<'_>) -> Result<Answer, Failure>,
) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open(path)?;
        become_manager_with_flags(&device, flags)?;
        channel.signal()?;
        serve(&device, channel, handler)
    })?;
    peer.wait()?;
    Ok(peer)
}

/// An echo service behind handle 0: every reply has the request's data.
pub fn spawn_echo(path: &Path) -> Result<Peer, Failure> {
    spawn_manager(path, |request| Ok(Answer::Reply(Parcel::from_bytes(request.data()))))
}

/// Serves on the calling thread until the handler stops it.
pub fn serve(
    device: &Arc<Device>,
    channel: &Channel,
    mut handler: impl FnMut(&mut Request<'_>) -> Result<Answer, Failure>,
) -> Result<(), Failure> {
    let session = Session::new(device);
    let mut enter = Commands::new();
    enter.enter_looper();
    session.write(&enter)?;
    loop {
        let outcome = session.write_read(&Commands::new(), READ_SIZE);
        if outcome.result == Err(Errno::EINTR) {
            continue;
        }
        for entry in outcome.ok()? {
            answer_reference(&session, entry)?;
            let Return::Transaction(incoming) = entry else {
                continue;
            };
            let mut buffer = Some(session.received(incoming)?);
            let mut request = Request { session: &session, channel, buffer: &mut buffer };
            let answer = handler(&mut request)?;
            if matches!(answer, Answer::Stop) {
                return Ok(());
            }
            finish(&session, answer, buffer, incoming.flags & TF_ONE_WAY != 0)?;
        }
    }
}

/// Frees the request and sends the reply in one ioctl.
fn finish(
    session: &Session,
    answer: Answer,
    buffer: Option<Received>,
    oneway: bool,
) -> Result<(), Error> {
    let (parcel, flags) = match answer {
        Answer::Reply(parcel) => (Some(parcel), 0),
        Answer::ReplyWithFlags(parcel, flags) => (Some(parcel), flags),
        Answer::Status(number) => (Some(Parcel::from_bytes(number.to_ne_bytes())), TF_STATUS_CODE),
        Answer::Nothing | Answer::Stop => (None, 0),
    };
    let mut commands = Commands::new();
    if let Some(buffer) = buffer {
        commands.free_buffer(buffer.into_address());
    }
    if let Some(parcel) = parcel.as_ref().filter(|_| !oneway) {
        commands.reply(flags, parcel);
    }
    session.write(&commands)
}

/// Answers `BR_INCREFS` and `BR_ACQUIRE`; does nothing for other returns.
pub fn answer_reference(session: &Session, entry: Return) -> Result<(), Error> {
    let mut commands = Commands::new();
    match entry {
        Return::Increfs(node) => commands.increfs_done(node.ptr, node.cookie),
        Return::Acquire(node) => commands.acquire_done(node.ptr, node.cookie),
        _ => return Ok(()),
    };
    session.write(&commands)
}
