// SPDX-License-Identifier: GPL-2.0
//! The processes of a session: children that carry out one action at a time.
//!
//! Each thread has a channel of its own to the controller. It says its id, then
//! answers every [`Action`] with a [`Report`]. An action that only the
//! controller can carry out (kill, signal, ...) does not come here.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use binder_client::device::{Device, OpenAs};
use binder_client::guard::BadAddress;
use binder_client::ktap::Failure;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::{Incoming, Return, Returns};
use binder_client::session::Session;
use binder_client::uapi::{FlatObject, BINDER_VERSION, FLAT_BINDER_FLAG_ACCEPTS_FDS};
use binder_client::{gettid, Errno};
use nix::fcntl::{FcntlArg, OFlag};
use serde::{Deserialize, Serialize};

use crate::build::{self, Known};
use crate::script::{Action, Read};
use crate::sys;

/// How long an actor waits for its next action: longer than any session.
const IDLE: Duration = Duration::from_secs(3600);
/// The descriptors that every process can send, see [`crate::script::Object::File`].
pub const FILES: [&str; 2] = ["/dev/null", "/dev/zero"];

/// What was in a delivered buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Body {
    /// Whether the buffer and its offsets are where they belong.
    pub placed: bool,
    /// Its data; empty if there is no mapping any more.
    pub data: Vec<u8>,
    /// Its offsets.
    pub offsets: Vec<u64>,
    /// The device number behind each descriptor in it, if there is one.
    pub files: Vec<Option<u64>>,
}

/// What an action did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// 0 or an errno.
    pub errno: i32,
    /// Bytes of commands that were given, and that were consumed.
    pub write: (u64, u64),
    /// Bytes of returns.
    pub bytes: Vec<u8>,
    /// One for each transaction or reply in them.
    pub bodies: Vec<Body>,
    /// Numbers that an ioctl returned.
    pub values: Vec<i64>,
}

impl Report {
    fn result(result: Result<(), Errno>) -> Self {
        Report { errno: result.err().map_or(0, |error| error as i32), ..Report::default() }
    }
}

/// What the threads of a process share.
struct Process {
    path: PathBuf,
    map: usize,
    device: Mutex<Option<Arc<Device>>>,
    known: Mutex<Known>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process of the session with a channel for each thread.
pub fn spawn(path: &Path, map: usize, threads: usize) -> Result<(Peer, Vec<Channel>), Failure> {
    let pairs = (0..threads).map(|_| Channel::pair()).collect::<Result<Vec<_>, _>>()?;
    let (ours, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let peer = Peer::spawn(move |_| live(path, map, theirs))?;
    Ok((peer, ours))
}

/// The life of a process; it ends by a signal.
fn live(path: &Path, map: usize, channels: Vec<Channel>) -> Result<(), Failure> {
    sys::interruptible()?;
    let files = FILES.iter().map(std::fs::File::open).collect::<Result<Vec<_>, _>>()?;
    let process = Process {
        path: path.to_owned(),
        map,
        device: Mutex::new(None),
        known: Mutex::new(Known::new(files)),
    };
    process.open()?;
    let process = Arc::new(process);
    let mut threads = Vec::new();
    for channel in channels {
        let process = process.clone();
        threads.push(std::thread::spawn(move || serve(&process, &channel)));
    }
    for thread in threads {
        thread.join().map_err(|_| Failure::new("a thread", "its end", "it panicked"))??;
    }
    Ok(())
}

fn serve(process: &Process, channel: &Channel) -> Result<(), Failure> {
    channel.send(&gettid())?;
    loop {
        let action: Action = channel.recv_within(IDLE)?;
        let report = process.carry_out(&action)?;
        channel.send(&report)?;
    }
}

impl Process {
    fn open(&self) -> Result<(), Errno> {
        let options = OpenAs { map: Some(self.map), nonblock: true };
        *lock(&self.device) = Some(Device::open_with(&self.path, options)?);
        Ok(())
    }

    fn carry_out(&self, action: &Action) -> Result<Report, Failure> {
        // The controller has counted them.
        lock(&self.known).close_received();
        let Some(device) = lock(&self.device).clone() else {
            let result = if *action == Action::Open { self.open() } else { Err(Errno::EBADF) };
            return Ok(Report::result(result));
        };
        Ok(match action {
            Action::Do(commands, read) => self.write_read(&device, commands, *read)?,
            Action::Manager => Report::result(device.set_context_mgr()),
            Action::ManagerExt => {
                let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
                let node = FlatObject { flags, ..FlatObject::default() };
                Report::result(device.set_context_mgr_ext(&node))
            }
            Action::ThreadExit => Report::result(device.thread_exit()),
            Action::MaxThreads(count) => Report::result(device.set_max_threads(*count)),
            Action::Spam(on) => Report::result(device.enable_oneway_spam_detection(*on)),
            Action::ExtendedError => match device.extended_error() {
                Ok(error) => Report {
                    values: vec![error.id.into(), error.command.into(), error.param.into()],
                    ..Report::default()
                },
                Err(error) => Report::result(Err(error)),
            },
            Action::BadVersion => {
                Report::result(device.ioctl_bad_address(BINDER_VERSION, BadAddress::Kernel))
            }
            Action::Poll => Report {
                values: vec![device.poll(Duration::ZERO)?.bits().into()],
                ..Report::default()
            },
            Action::Flush => Report::result(device.flush()),
            Action::Close => {
                drop(lock(&self.device).take());
                lock(&self.known).forget();
                Report::default()
            }
            Action::Unmap => Report::result(device.unmap()),
            Action::Open => Report::result(Err(Errno::EEXIST)),
            Action::Signal | Action::Kill | Action::Spawn => {
                return Err(Failure::new("an action", "one for an actor", action.to_string()))
            }
        })
    }

    fn write_read(
        &self,
        device: &Arc<Device>,
        commands: &[crate::script::Command],
        read: Read,
    ) -> Result<Report, Failure> {
        let (room, nonblock) = match read {
            Read::No => (0, true),
            Read::Now(room) => (room, true),
            Read::Wait(room) => (room, false),
        };
        let flags = if nonblock { OFlag::O_RDWR | OFlag::O_NONBLOCK } else { OFlag::O_RDWR };
        nix::fcntl::fcntl(device.as_fd(), FcntlArg::F_SETFL(flags))?;
        let base = device.mapping().map(|region| region.address());
        let written = build::commands(commands, &lock(&self.known), base.unwrap_or(0));
        let outcome = Session::new(device).write_read_bytes(written.bytes(), room);
        let mut known = lock(&self.known);
        known.freed(&written, outcome.write_consumed);
        let mut report = Report {
            write: (written.bytes().len() as u64, outcome.write_consumed),
            ..Report::result(outcome.result)
        };
        // After an error the driver may have written, but did not say so.
        if outcome.result.is_ok() {
            for entry in Returns::new(&outcome.bytes).flatten() {
                if let Return::Transaction(incoming) | Return::Reply(incoming) = entry {
                    report.bodies.push(known.take_over(device, &incoming));
                }
            }
            report.bytes = outcome.bytes;
        }
        Ok(report)
    }
}

impl Known {
    /// Notes a delivered buffer and looks into it.
    fn take_over(&mut self, device: &Device, incoming: &Incoming) -> Body {
        self.received(incoming.buffer);
        let mut body = Body { placed: false, data: vec![], offsets: vec![], files: vec![] };
        let Some(region) = device.mapping() else { return body };
        let end = (incoming.buffer + incoming.data_size).next_multiple_of(8);
        let inside = incoming.buffer >= region.address()
            && end + incoming.offsets_size <= region.address() + region.length() as u64;
        body.placed = inside && incoming.buffer % 8 == 0 && incoming.offsets == end;
        if !inside {
            return body;
        }
        let start = (incoming.buffer - region.address()) as usize;
        body.data = region.copy_out(start, incoming.data_size as usize);
        let offsets =
            region.copy_out((end - region.address()) as usize, incoming.offsets_size as usize);
        body.offsets = offsets
            .chunks_exact(8)
            .map(|bytes| u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
            .collect();
        body.files = self.look_at_files(&body.data, &body.offsets);
        body
    }
}
