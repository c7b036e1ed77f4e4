// SPDX-License-Identifier: GPL-2.0

//! Work that has a number and nothing else.

use core::ffi::c_void;
use std::sync::Arc;

use crate::{
    ffi::link::{Link, Queue, Queued},
    thread::queue::Item,
};

/// A queue of work.
pub(crate) type WorkQueue = Queue<Work>;

/// One piece of work.
#[derive(Clone)]
pub struct Work(Arc<Numbered>);

struct Numbered {
    link: Link,
    number: usize,
}

/// What a read keeps for the next command.
#[derive(Debug)]
pub struct Notice;

impl Work {
    /// Work with a number.
    pub fn new(number: usize) -> Self {
        let link = Link::new();
        Self(Arc::new(Numbered { link, number }))
    }

    /// Its number.
    pub fn number(&self) -> usize {
        self.0.number
    }
}

// SAFETY: `Arc` does not move the object with the link, and gives back the reference that it
// gave up.
unsafe impl Queued for Work {
    fn link(&self) -> &Link {
        &self.0.link
    }

    fn into_raw(self) -> (*const c_void, u8) {
        (Arc::into_raw(self.0).cast(), 0)
    }

    unsafe fn from_raw(object: *const c_void, _kind: u8) -> Self {
        // SAFETY: The caller passes what `into_raw` returned, once.
        Self(unsafe { Arc::from_raw(object.cast()) })
    }
}

impl Item for Work {
    fn is_request(&self) -> bool {
        false
    }
}
