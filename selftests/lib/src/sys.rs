// SPDX-License-Identifier: GPL-2.0
//! The few places that hand raw addresses to the kernel.
//!
//! Everything else in this crate is safe code on top of these functions.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::time::Duration;

use bytemuck::Pod;
use nix::errno::Errno;
use nix::libc;
use nix::sys::mman::{
    mmap, mmap_anonymous, mprotect, mremap, munmap, MRemapFlags, MapFlags, ProtFlags,
};
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use nix::unistd::{fork, ForkResult, Pid};

/// Issues `request` with a pointer to `argument`.
#[inline]
pub fn ioctl<T: Pod>(fd: RawFd, request: u32, argument: &mut T) -> Result<(), Errno> {
    assert!(
        size_of::<T>() >= crate::uapi::ioc_size(request),
        "the argument of ioctl {request:#x} is too short"
    );
    // SAFETY: the driver accesses at most the bytes that the request number
    // announces, and `argument` has that many.
    unsafe { ioctl_address(fd, request, std::ptr::from_mut(argument) as u64) }
}

/// Issues `request` with any number in place of the argument's address.
///
/// # Safety
///
/// If `address` is writable memory of this process, the driver may overwrite
/// as many bytes there as `request` and the structures behind it announce.
#[inline]
pub unsafe fn ioctl_address(fd: RawFd, request: u32, address: u64) -> Result<(), Errno> {
    // SAFETY: see the function's own requirement.
    let result = unsafe { libc::ioctl(fd, libc::Ioctl::from(request), address) };
    Errno::result(result).map(drop)
}

/// A piece of address space that is returned to the kernel when dropped.
#[derive(Debug)]
pub struct Region {
    base: NonNull<libc::c_void>,
    length: usize,
}

// SAFETY: a region is only a pair of numbers, it hands out no references.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `length` bytes of `fd` for `protection`.
    pub fn of_file(
        fd: BorrowedFd<'_>,
        length: usize,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> Result<Self, Errno> {
        let size = NonZeroUsize::new(length).ok_or(Errno::EINVAL)?;
        // SAFETY: without MAP_FIXED, which callers in this crate do not pass,
        // no existing mapping is touched.
        let base = unsafe { mmap(None, size, protection, flags, fd, 0)? };
        Ok(Region { base, length })
    }

    /// Maps zeroed memory for reading and writing.
    pub fn anonymous(length: usize) -> Result<Self, Errno> {
        let size = NonZeroUsize::new(length).ok_or(Errno::EINVAL)?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: no fixed address, so no existing mapping is touched.
        let base = unsafe { mmap_anonymous(None, size, protection, MapFlags::MAP_PRIVATE)? };
        Ok(Region { base, length })
    }

    /// Takes all access away from the bytes from `offset` (a page boundary) on.
    pub fn forbid_from(&mut self, offset: usize) -> Result<(), Errno> {
        assert!(offset <= self.length);
        // SAFETY: the range is inside this region, whose only user is the
        // caller, who stays below `offset` from now on (see `GuardedBuffer`).
        unsafe {
            let start = self.base.byte_add(offset);
            mprotect(start, self.length - offset, ProtFlags::PROT_NONE)
        }
    }

    /// Returns a page range to the kernel before the whole is dropped.
    pub fn unmap_part(&mut self, offset: usize, length: usize) -> Result<(), Errno> {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        // SAFETY: the range is inside this region, to which no references
        // exist. Callers copy nothing out of it any more.
        unsafe { munmap(self.base.byte_add(offset), length) }
    }

    /// Changes the access to the whole region.
    pub fn protect(&mut self, protection: ProtFlags) -> Result<(), Errno> {
        // SAFETY: nobody has references into the region. Without access, later
        // copies end in a signal.
        unsafe { mprotect(self.base, self.length, protection) }
    }

    /// Lets the kernel change the size in place, up or down.
    pub fn resize(&mut self, length: usize) -> Result<(), Errno> {
        // SAFETY: the region is owned and hands out no references; in place,
        // nothing else is touched.
        unsafe { mremap(self.base, self.length, length, MRemapFlags::empty(), None)? };
        self.length = length;
        Ok(())
    }

    /// Moves the region to another address.
    pub fn relocate(&mut self) -> Result<(), Errno> {
        let target = Region::anonymous(self.length)?;
        let flags = MRemapFlags::MREMAP_MAYMOVE | MRemapFlags::MREMAP_FIXED;
        // SAFETY: both ranges are owned and hand out no references. What was at
        // the target is replaced.
        let base =
            unsafe { mremap(self.base, self.length, self.length, flags, Some(target.base))? };
        std::mem::forget(target);
        self.base = base;
        Ok(())
    }

    /// First address.
    pub fn address(&self) -> u64 {
        self.base.as_ptr() as u64
    }

    /// Number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Copies `length` bytes at `offset` to a vector.
    ///
    /// A copy, not a slice: only the driver knows when it writes here again.
    pub fn copy_out(&self, offset: usize, length: usize) -> Vec<u8> {
        assert!(offset.checked_add(length).is_some_and(|end| end <= self.length));
        let mut bytes = vec![0u8; length];
        // SAFETY: the range is inside the region, the target has the room.
        unsafe {
            let source = self.base.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(source, bytes.as_mut_ptr(), length);
        }
        bytes
    }

    /// Copies `bytes` to `offset`.
    pub fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.length));
        // SAFETY: the range is inside the region, which is borrowed exclusively.
        unsafe {
            let target = self.base.as_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the region is owned and hands out no references.
        let _ = unsafe { munmap(self.base, self.length) };
    }
}

/// Forks; the child runs `body`, then ends without returning from here.
///
/// The child runs no destructors of its parent's frames. Other threads of the
/// parent do not exist in the child, so `body` must not wait for locks that
/// they may have held.
pub fn fork_child(body: impl FnOnce() -> i32) -> Result<Pid, Errno> {
    // SAFETY: the child only continues with the calling thread's own state; the
    // C library makes its allocator usable in the child.
    match unsafe { fork()? } {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            exit_now(outcome.unwrap_or(101));
        }
    }
}

/// Ends the process at once, without destructors or exit handlers.
pub fn exit_now(status: i32) -> ! {
    // SAFETY: always sound; nothing of this process runs afterwards.
    unsafe { libc::_exit(status) }
}

/// Waits for a blocked signal. Unlike the C library it says when the kernel ended
/// the wait for nothing (`EINTR`); `EAGAIN` when the time is over.
pub fn wait_for_signal(signal: Signal, timeout: Duration) -> Result<(), Errno> {
    // The kernel's signal sets have 64 bits.
    let set = 1u64 << (signal as i32 - 1);
    let (set, time) = (std::ptr::from_ref(&set), TimeSpec::from(timeout));
    // SAFETY: set and time are valid for the call, and no details are asked for.
    let seen = unsafe {
        let details = std::ptr::null_mut::<libc::siginfo_t>();
        libc::syscall(libc::SYS_rt_sigtimedwait, set, details, time.as_ref(), size_of::<u64>())
    };
    Errno::result(seen).map(drop)
}

/// The calling thread's id.
pub fn gettid() -> i32 {
    nix::unistd::gettid().as_raw()
}

/// Closes a descriptor that a forked child inherited.
pub fn close_inherited(fd: RawFd) {
    // SAFETY: the number belongs to an object of the parent's that the child
    // never touches again.
    let _ = unsafe { libc::close(fd) };
}

/// The raw number of anything that has a descriptor.
pub fn raw(fd: &impl AsFd) -> RawFd {
    fd.as_fd().as_raw_fd()
}

/// Issues `request` with an address that is no memory of this process.
pub fn ioctl_bad(fd: RawFd, request: u32, bad: crate::guard::BadAddress) -> Result<(), Errno> {
    // SAFETY: no memory of the process can be at a bad address.
    unsafe { ioctl_address(fd, request, bad.address()) }
}

/// Issues `request` on a buffer behind which nothing can be written.
pub fn ioctl_guarded(
    fd: RawFd,
    request: u32,
    buffer: &mut crate::guard::GuardedBuffer,
) -> Result<(), Errno> {
    // SAFETY: the buffer is borrowed exclusively, and what is behind it is a
    // page without access, longer than a request can announce in front of
    // anything else that the driver could reach without a fault.
    unsafe { ioctl_address(fd, request, buffer.address()) }
}
