// SPDX-License-Identifier: GPL-2.0

//! How each kind of [`Work`] gives up its pointer to a queue and gets it back.

use core::ffi::c_void;

use kernel::{prelude::*, sync::Arc};

use crate::{
    ffi::link::{Link, Queued},
    work::Work,
};

/// The kind of [`Work::Request`] in a queue.
pub(crate) const REQUEST: u8 = 0;
/// The kind of [`Work::Response`] in a queue.
pub(crate) const RESPONSE: u8 = 1;
const NODE: u8 = 2;
const NOTICE: u8 = 3;
const DEATH: u8 = 4;
const NODE_FOR_SENDER: u8 = 5;
const OWN_ERROR: u8 = 6;
const FREEZE: u8 = 7;

// SAFETY: Each variant owns a counted or unique pointer to the object with the
// link. `Arc` and `KBox` do not move what they point to, and `from_raw` turns
// the pointer of each kind back into the type it came from.
unsafe impl Queued for Work {
    fn link(&self) -> &Link {
        match self {
            Work::Request(transaction) | Work::Response(transaction) => transaction.link(),
            Work::Node(node) => node.link(),
            Work::NodeForSender(node) => node.sender_link(),
            Work::Death(death) => death.link(),
            Work::Freeze(freeze) => freeze.link(),
            Work::Notice(notice) => &notice.link,
            Work::OwnError(error) => &error.link,
        }
    }

    fn into_raw(self) -> (*const c_void, u8) {
        match self {
            Work::Request(transaction) => (transaction.into_raw().cast(), REQUEST),
            Work::Response(transaction) => (transaction.into_raw().cast(), RESPONSE),
            Work::Node(node) => (node.into_raw().cast(), NODE),
            Work::NodeForSender(node) => (node.into_raw().cast(), NODE_FOR_SENDER),
            Work::Death(death) => (death.into_raw().cast(), DEATH),
            Work::Freeze(freeze) => (freeze.into_raw().cast(), FREEZE),
            Work::Notice(notice) => (KBox::into_raw(notice).cast_const().cast(), NOTICE),
            Work::OwnError(error) => (KBox::into_raw(error).cast_const().cast(), OWN_ERROR),
        }
    }

    unsafe fn from_raw(object: *const c_void, kind: u8) -> Self {
        // SAFETY: The caller passes what `into_raw` returned, once.
        unsafe {
            match kind {
                REQUEST => Work::Request(Arc::from_raw(object.cast())),
                RESPONSE => Work::Response(Arc::from_raw(object.cast())),
                NODE => Work::Node(Arc::from_raw(object.cast())),
                NODE_FOR_SENDER => Work::NodeForSender(Arc::from_raw(object.cast())),
                OWN_ERROR => Work::OwnError(KBox::from_raw(object.cast_mut().cast())),
                DEATH => Work::Death(Arc::from_raw(object.cast())),
                FREEZE => Work::Freeze(Arc::from_raw(object.cast())),
                _ => Work::Notice(KBox::from_raw(object.cast_mut().cast())),
            }
        }
    }
}
