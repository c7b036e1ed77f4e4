// SPDX-License-Identifier: GPL-2.0
//! Other processes of a test: forked children with a message channel.
//!
//! A Binder file works only in the process that opened it, so every party of a
//! test is a process. A child starts with all of its parent's Binder files
//! closed, opens its own, and talks with the parent over its [`Channel`].

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{kill, Signal};
use nix::sys::socket::{recv, send, socketpair, AddressFamily, MsgFlags, SockFlag, SockType};
use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ktap::Failure;
use crate::{device, limits, sys};

/// Longest message in bytes.
const MESSAGE_MAX: usize = 1 << 16;

#[derive(Serialize, Deserialize)]
enum Message {
    Value(serde_json::Value),
    End(Result<(), Failure>),
}

/// One end of a message channel between two processes. All waits are bounded.
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
}

impl Channel {
    /// Two connected ends.
    pub fn pair() -> Result<(Channel, Channel), Failure> {
        let (a, b) =
            socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Channel { socket: a }, Channel { socket: b }))
    }

    /// Sends a value.
    pub fn send<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        self.put(&Message::Value(serde_json::to_value(value)?))
    }

    /// Waits for a value.
    #[track_caller]
    pub fn recv<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.recv_within(limits::wait())
    }

    /// Waits for a value, at most `timeout`.
    #[track_caller]
    pub fn recv_within<T: DeserializeOwned>(&self, timeout: Duration) -> Result<T, Failure> {
        match self.get(timeout) {
            Ok(Some(Message::Value(value))) => Ok(serde_json::from_value(value)?),
            Ok(Some(Message::End(Err(failure)))) => Err(failure),
            Ok(Some(Message::End(Ok(())))) => {
                Err(Failure::new("the peer", "a message", "it has ended already"))
            }
            Ok(None) => {
                let seen = format!("nothing within {timeout:?}");
                Err(Failure::new("the peer", "a message", seen))
            }
            Err(error) => Err(Failure::new("the peer", "a message", error.to_string())),
        }
    }

    /// A value, if one is there already.
    pub fn recv_now<T: DeserializeOwned>(&self) -> Result<Option<T>, Failure> {
        let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        if poll(&mut fds, PollTimeout::ZERO)? == 0 {
            return Ok(None);
        }
        self.recv_within(Duration::ZERO).map(Some)
    }

    /// Tells the other side that a point is reached.
    pub fn signal(&self) -> Result<(), Failure> {
        self.send(&())
    }

    /// Waits until the other side has reached its point.
    #[track_caller]
    pub fn wait(&self) -> Result<(), Failure> {
        self.recv()
    }

    fn put(&self, message: &Message) -> Result<(), Failure> {
        let text = serde_json::to_vec(message)?;
        assert!(text.len() <= MESSAGE_MAX, "a message of {} bytes is too long", text.len());
        send(self.socket.as_raw_fd(), &text, MsgFlags::MSG_NOSIGNAL)?;
        Ok(())
    }

    /// The next message, or `None` if none came in time.
    fn get(&self, timeout: Duration) -> Result<Option<Message>, Errno> {
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            let mut fds = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error),
            }
        }
        let mut room = vec![0u8; MESSAGE_MAX];
        let length = recv(self.socket.as_raw_fd(), &mut room, MsgFlags::empty())?;
        if length == 0 {
            return Err(Errno::EPIPE);
        }
        serde_json::from_slice(&room[..length]).map(Some).map_err(|_| Errno::EBADMSG)
    }
}

/// A child process. Dropping it kills it.
#[derive(Debug)]
pub struct Peer {
    pid: Pid,
    channel: Channel,
    ended: bool,
}

impl Peer {
    /// Forks a child that runs `body` without any Binder file of the parent's.
    pub fn spawn(body: impl FnOnce(&Channel) -> Result<(), Failure>) -> Result<Peer, Failure> {
        Self::fork(true, body)
    }

    /// Forks a child that keeps the parent's Binder files, for tests of just that.
    pub fn spawn_inheriting(
        body: impl FnOnce(&Channel) -> Result<(), Failure>,
    ) -> Result<Peer, Failure> {
        Self::fork(false, body)
    }

    fn fork(
        close: bool,
        body: impl FnOnce(&Channel) -> Result<(), Failure>,
    ) -> Result<Peer, Failure> {
        let (ours, theirs) = Channel::pair()?;
        // Held over the fork, so that the child finds the list whole.
        let mut list = device::open_list();
        let parent = nix::unistd::getpid();
        let parents_end = sys::raw(&ours.socket);
        // The closure takes the child's end and the lock with it: here the
        // one is closed and the other released after the fork.
        let pid = sys::fork_child(|| {
            sys::close_inherited(parents_end);
            if close {
                device::close_inherited(&mut list);
            }
            drop(list);
            let theirs = theirs;
            die_with(parent);
            let result = body(&theirs);
            i32::from(theirs.put(&Message::End(result)).is_err())
        })?;
        Ok(Peer { pid, channel: ours, ended: false })
    }

    /// The child's process id.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// The channel to the child.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Waits for a value from the child.
    #[track_caller]
    pub fn recv<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        self.channel.recv()
    }

    /// Sends a value to the child.
    pub fn send<T: Serialize>(&self, value: &T) -> Result<(), Failure> {
        self.channel.send(value)
    }

    /// Waits until the child has reached a point.
    #[track_caller]
    pub fn wait(&self) -> Result<(), Failure> {
        self.channel.wait()
    }

    /// Lets the child go on.
    pub fn signal(&self) -> Result<(), Failure> {
        self.channel.signal()
    }

    /// Sends any signal to the child.
    pub fn kill_with(&self, signal: Signal) -> Result<(), Failure> {
        Ok(kill(self.pid, signal)?)
    }

    /// Kills the child and waits until it is gone.
    pub fn kill(mut self) -> Result<(), Failure> {
        kill(self.pid, Signal::SIGKILL)?;
        self.reap(limits::wait()).map(drop)
    }

    /// Waits for the child's own end, which must be a success.
    #[track_caller]
    pub fn join(mut self) -> Result<(), Failure> {
        let end = self.channel.get(limits::wait());
        match end {
            Ok(Some(Message::End(result))) => {
                self.reap(limits::wait())?;
                result
            }
            Ok(Some(Message::Value(value))) => {
                Err(Failure::new("the peer", "its end", format!("the message {value}")))
            }
            Ok(None) => Err(Failure::new("the peer", "its end", "it still runs")),
            Err(_) => {
                let status = self.reap(limits::wait())?;
                Err(Failure::new("the peer", "its end with a result", format!("{status:?}")))
            }
        }
    }

    fn reap(&mut self, timeout: Duration) -> Result<WaitStatus, Failure> {
        let start = Instant::now();
        loop {
            match waitpid(self.pid, Some(WaitPidFlag::WNOHANG))? {
                WaitStatus::StillAlive if start.elapsed() > timeout => {
                    return Err(Failure::new("the peer's process", "to end", "it is still there"));
                }
                WaitStatus::StillAlive => std::thread::sleep(Duration::from_millis(1)),
                status => {
                    self.ended = true;
                    return Ok(status);
                }
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        if !self.ended {
            let _ = kill(self.pid, Signal::SIGKILL);
            let _ = self.reap(limits::wait());
        }
    }
}

/// Ends this child with its parent, so that no test leaves a process behind.
fn die_with(parent: Pid) {
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    // The first process of a pid namespace has a parent without a number.
    let seen = nix::unistd::getppid();
    if seen != parent && seen.as_raw() != 0 {
        sys::exit_now(1);
    }
}
