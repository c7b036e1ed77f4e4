// SPDX-License-Identifier: GPL-2.0
//! The few calls that no crate has a safe form of.
#![allow(unsafe_code)]

use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, Signal};

/// The signal that interrupts a wait.
const INTERRUPT: Signal = Signal::SIGUSR1;

extern "C" fn nothing(_signal: i32) {}

/// Lets [`interrupt`] end system calls of this process instead of the process.
pub fn interruptible() -> Result<(), Errno> {
    let action = SigAction::new(SigHandler::Handler(nothing), SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does nothing, which every context allows.
    unsafe { sigaction(INTERRUPT, &action) }.map(drop)
}

/// Interrupts a system call of a thread.
pub fn interrupt(pid: i32, tid: i32) -> Result<(), Errno> {
    // SAFETY: the call takes numbers only.
    let result = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, INTERRUPT as i32) };
    Errno::result(result).map(drop)
}

/// Number of open descriptors of a process.
pub fn open_files(pid: i32) -> i64 {
    std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |entries| entries.count() as i64)
}

/// Takes over a descriptor that the driver has installed.
pub fn own(fd: RawFd) -> Option<OwnedFd> {
    // A number that is not open is not to be taken over.
    // SAFETY: the call takes numbers only.
    if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
        return None;
    }
    // SAFETY: the driver has made this descriptor for the reader of the buffer,
    // nothing else in the process knows of it.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}
