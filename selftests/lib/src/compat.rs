// SPDX-License-Identifier: GPL-2.0
//! ioctls as a 32-bit program makes them.
//!
//! A 64-bit process can enter the kernel through the gate of 32-bit programs, so no
//! second compiler target is needed to reach a driver's compat entry.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd};

use bytemuck::Pod;
use nix::errno::Errno;
use nix::sys::mman::{mmap_anonymous, munmap, MapFlags, ProtFlags};

/// The number of `ioctl` among the system calls of 32-bit programs.
const IOCTL: u32 = 54;
const PAGE: NonZeroUsize = NonZeroUsize::new(4096).unwrap();

/// Issues `request` through the 32-bit entry, with `argument` at an address that a 32-bit
/// program can have.
///
/// # Errors
///
/// What the driver says, `ENOSYS` if the kernel runs no 32-bit programs, `ENOMEM`.
pub fn ioctl32<T: Pod>(fd: &impl AsFd, request: u32, argument: &mut T) -> Result<(), Errno> {
    assert!(size_of::<T>() <= PAGE.get(), "the argument is larger than a page");
    let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_32BIT;
    // SAFETY: a new mapping that nothing else knows.
    let page =
        unsafe { mmap_anonymous(None, PAGE, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, flags)? };
    let place = page.cast::<T>();
    // SAFETY: the page has room for a `T` and is aligned for any.
    unsafe { place.write(*argument) };
    let result = enter(IOCTL, fd.as_fd().as_raw_fd() as u32, request, page.as_ptr() as u32);
    // SAFETY: as above; any bytes are a `T`.
    *argument = unsafe { place.read() };
    // SAFETY: the mapping is ours and no longer used.
    unsafe { munmap(page, PAGE.get())? };
    if result < 0 {
        Err(Errno::from_raw(-result))
    } else {
        Ok(())
    }
}

/// Issues `request` through the 32-bit entry with a plain number as its argument.
///
/// # Errors
///
/// As [`ioctl32`].
pub fn ioctl32_number(fd: &impl AsFd, request: u32, argument: u32) -> Result<(), Errno> {
    match enter(IOCTL, fd.as_fd().as_raw_fd() as u32, request, argument) {
        result if result < 0 => Err(Errno::from_raw(-result)),
        _ => Ok(()),
    }
}

/// The gate. Kept from the compiler's own use of `rbx` by an exchange.
fn enter(number: u32, first: u32, second: u32, third: u32) -> i32 {
    let result: u64;
    // SAFETY: the kernel keeps all registers but `rax`, and r8 to r11; memory that it
    // writes is that of the request's argument.
    unsafe {
        std::arch::asm!(
            "xchg rbx, {first}",
            "int 0x80",
            "xchg rbx, {first}",
            first = inout(reg) u64::from(first) => _,
            inout("rax") u64::from(number) => result,
            in("rcx") u64::from(second),
            in("rdx") u64::from(third),
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    result as i32
}
