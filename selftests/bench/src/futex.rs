// SPDX-License-Identifier: GPL-2.0
//! Two words shared with a forked process, with futex waits.
#![allow(unsafe_code)]

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::errno::Errno;
use nix::sys::mman::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use rustix::thread::futex;

/// One page, of which each word has a cache line of its own.
const PAGE: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
const LINE: usize = 128;

/// The shared words.
#[derive(Debug)]
pub struct Board {
    base: NonNull<AtomicU32>,
}

impl Board {
    /// Zeroed words that a forked child shares.
    pub fn new() -> Result<Board, Errno> {
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let base = unsafe { mmap_anonymous(None, PAGE, protection, MapFlags::MAP_SHARED)? };
        Ok(Board { base: base.cast() })
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        assert!(index < 2);
        // SAFETY: inside the page, aligned, and only used as an atomic.
        unsafe { self.base.byte_add(index * LINE).as_ref() }
    }

    /// Writes a word and wakes who waits for it.
    pub fn post(&self, index: usize, value: u32) -> Result<(), Errno> {
        self.word(index).store(value, Ordering::Release);
        futex::wake(self.word(index), futex::Flags::empty(), 1).map(drop).map_err(errno)
    }

    /// Sleeps until a word has a value.
    pub fn wait_for(&self, index: usize, value: u32) -> Result<(), Errno> {
        let word = self.word(index);
        loop {
            let seen = word.load(Ordering::Acquire);
            if seen == value {
                return Ok(());
            }
            match futex::wait(word, futex::Flags::empty(), seen, None) {
                Ok(()) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                Err(error) => return Err(errno(error)),
            }
        }
    }
}

fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: the page is this object's own.
        let _ = unsafe { munmap(self.base.cast(), PAGE.get()) };
    }
}
