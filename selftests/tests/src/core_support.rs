// SPDX-License-Identifier: GPL-2.0
//! What the tests of the driver's core share: parties with exact control over
//! their ioctls, and waiting until a thread sleeps in the kernel.
//!
//! A test program takes in what it needs with `#[path] mod`; no program needs
//! all of it.
#![allow(dead_code)]

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use binder_client::buffer::Received;
use binder_client::commands::Commands;
use binder_client::device::Device;
use binder_client::error::Error;
use binder_client::ktap::Failure;
use binder_client::manager::become_manager;
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{ExtendedError, TransactionData};
use binder_client::{gettid, limits};
use nix::libc;

/// A handle that nobody has.
pub const NO_HANDLE: u32 = 77_777;

/// A process that becomes the manager of `path` and then runs `body` on its
/// only thread. Returns when it is the manager.
pub fn manager(
    path: &Path,
    body: impl FnOnce(&Session, &Channel) -> Result<(), Failure>,
) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open(path)?;
        become_manager(&device)?;
        let session = Session::primed(&device)?;
        channel.signal()?;
        body(&session, channel)
    })?;
    peer.wait()?;
    Ok(peer)
}

/// A process with an open device that runs `body` on its only thread.
pub fn client(
    path: &Path,
    body: impl FnOnce(&Session, &Channel) -> Result<(), Failure>,
) -> Result<Peer, Failure> {
    Peer::spawn(|channel| {
        let device = Device::open(path)?;
        body(&Session::primed(&device)?, channel)
    })
}

/// Sends an empty transaction to `handle` in an ioctl that does not read.
pub fn send(session: &Session, handle: u32, code: u32, flags: u32) -> Result<(), Failure> {
    let parcel = Parcel::new();
    let mut commands = Commands::new();
    commands.transaction(handle, code, flags, &parcel);
    Ok(session.write(&commands)?)
}

/// Sends an empty reply in an ioctl that does not read.
pub fn reply(session: &Session) -> Result<(), Failure> {
    reply_with(session, &Parcel::new())
}

/// Sends a reply in an ioctl that does not read.
pub fn reply_with(session: &Session, parcel: &Parcel) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.reply(0, parcel);
    Ok(session.write(&commands)?)
}

/// Waits for the next transaction.
pub fn receive(session: &Session) -> Result<Received, Failure> {
    Ok(session.next_transaction(limits::wait())?.0)
}

/// Waits for the reply and frees it.
pub fn finish_call(session: &Session) -> Result<(), Failure> {
    session.next_reply(limits::wait())?;
    Ok(())
}

/// A whole empty call to `handle`.
pub fn call(session: &Session, handle: u32, code: u32) -> Result<(), Failure> {
    send(session, handle, code, 0)?;
    finish_call(session)
}

/// Serves one call with an empty reply. Returns its code.
pub fn serve_one(session: &Session) -> Result<u32, Failure> {
    let request = receive(session)?;
    reply(session)?;
    Ok(request.incoming().code)
}

/// Answers calls until the channel has a message or the process is killed.
pub fn serve_for_ever(session: &Session) -> Result<(), Failure> {
    loop {
        if session.readable(limits::wait())? {
            for entry in session.write_read(&Commands::new(), 4096).ok()? {
                if let Return::Transaction(incoming) = entry {
                    let oneway = incoming.flags & binder_client::uapi::TF_ONE_WAY != 0;
                    drop(session.received(incoming)?);
                    if !oneway {
                        reply(session)?;
                    }
                }
            }
        }
    }
}

/// The extended error of a call that is about to fail, whichever way.
#[track_caller]
pub fn call_failure(session: &Session) -> Result<ExtendedError, Failure> {
    match session.next_reply(limits::wait()) {
        Err(Error::Dead(error) | Error::Failed(error) | Error::Frozen(error)) => Ok(error),
        Err(error) => Err(error.into()),
        Ok(_) => Err(Failure::new("the call", "it fails", "a reply came")),
    }
}

/// Checks that a call ends with `BR_DEAD_REPLY`.
#[track_caller]
pub fn call_ends_dead(session: &Session) -> Result<(), Failure> {
    match session.next_reply(limits::wait()) {
        Err(Error::Dead(_)) => Ok(()),
        Err(error) => Err(Failure::new("the call", "it is dead", error.to_string())),
        Ok(_) => Err(Failure::new("the call", "it is dead", "a reply came")),
    }
}

/// A transaction with every field open to change.
pub fn transaction_data(handle: u32, data: &[u8]) -> TransactionData {
    TransactionData {
        target: handle.into(),
        data_size: data.len() as u64,
        buffer: data.as_ptr() as u64,
        ..Default::default()
    }
}

/// Asks again and again until `done`; an error that names `what` when the time
/// is over. For states that the kernel shows but does not report.
#[track_caller]
pub fn until(what: &str, mut done: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let place = std::panic::Location::caller();
    let start = Instant::now();
    while !done()? {
        if start.elapsed() > limits::wait() {
            let seen = format!("not within {:?} (asked at {place})", limits::wait());
            return Err(Failure::new("a state of the system", what, seen));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Waits until thread `tid` of process `pid` sleeps in `ioctl`.
#[track_caller]
pub fn asleep_in_ioctl(pid: i32, tid: i32) -> Result<(), Failure> {
    asleep_in(pid, tid, &[libc::SYS_ioctl])
}

/// Waits until thread `tid` of process `pid` sleeps in one of some system calls.
#[track_caller]
pub fn asleep_in(pid: i32, tid: i32, calls: &[libc::c_long]) -> Result<(), Failure> {
    until("the thread sleeps in the system call", || {
        let folder = format!("/proc/{pid}/task/{tid}");
        // A thread that is gone does not sleep; the caller finds out why.
        let stat = std::fs::read_to_string(format!("{folder}/stat")).unwrap_or_default();
        let call = std::fs::read_to_string(format!("{folder}/syscall")).unwrap_or_default();
        let sleeps = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'));
        let number = call.split(' ').next().and_then(|number| number.parse().ok());
        Ok(sleeps && number.is_some_and(|number: libc::c_long| calls.contains(&number)))
    })
}

/// Another thread of this process. Joins are bounded.
pub struct Worker<T> {
    tid: i32,
    thread: JoinHandle<Result<T, Failure>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread.
    pub fn start(body: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let _ = sender.send(gettid());
            body()
        });
        // A thread that cannot tell its number has panicked: join says so.
        let tid = receiver.recv().unwrap_or(0);
        Worker { tid, thread }
    }

    /// The thread's id.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Waits until the thread sleeps in `ioctl`.
    #[track_caller]
    pub fn asleep(&self) -> Result<(), Failure> {
        asleep_in_ioctl(nix::unistd::getpid().as_raw(), self.tid)
    }

    /// Waits until the thread sleeps in one of some system calls.
    #[track_caller]
    pub fn asleep_in(&self, calls: &[libc::c_long]) -> Result<(), Failure> {
        asleep_in(nix::unistd::getpid().as_raw(), self.tid, calls)
    }

    /// True if the thread has ended.
    pub fn ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the thread's result.
    #[track_caller]
    pub fn join(self) -> Result<T, Failure> {
        until("the thread ends", || Ok(self.thread.is_finished()))?;
        self.thread
            .join()
            .unwrap_or_else(|_| Err(Failure::new("a thread", "its end", "it panicked")))
    }
}
