// SPDX-License-Identifier: GPL-2.0

//! What a buffer keeps alive.

use kernel::{alloc::kvec::PushError, prelude::*};

use super::files::SentFile;
use crate::{defs::Strength, ffi::files::close, node::NodeClaim, process::Process};

/// What a buffer keeps alive.
///
/// *Semantics*: filled while the buffer is filled; given back by
/// [`Contents::release`], never just dropped.
#[derive(Default)]
pub(crate) struct Contents {
    /// The node that the transaction was sent to.
    pub(crate) target: Option<NodeClaim>,
    /// What most buffers have none of.
    extras: Option<KBox<Extras>>,
    /// The next oneway message of the target waits for the end of this buffer.
    pub(crate) blocks_oneway: bool,
    /// Another message has the place of this one, see `TF_UPDATE_TXN`.
    pub(crate) superseded: bool,
    /// Zero the memory when the buffer is freed (`TF_CLEAR_BUF`).
    pub(crate) clear: bool,
}

/// Objects and files in a buffer. Most have one object, and no list of them.
#[derive(Default)]
struct Extras {
    first: Option<HeldObject>,
    others: KVVec<HeldObject>,
    files: Option<KBox<Files>>,
}

/// Files in a buffer.
#[derive(Default)]
struct Files {
    /// Only until the files have numbers.
    sent: KVVec<SentFile>,
    /// Descriptors of the receiver that are closed with the buffer. Only user space's own
    /// request closes them: the end of the process closes all that it has anyway.
    descriptors: KVVec<u32>,
}

/// An object in a buffer, as the receiver holds it.
pub(crate) enum HeldObject {
    /// A count on a handle of the receiver.
    Handle(u32, Strength),
    /// A claim on a node of the receiver itself.
    Node(#[allow(dead_code)] NodeClaim),
}

impl HeldObject {
    /// Lets go of it. Not to be called under a spinlock.
    pub(super) fn release(self, receiver: &Process) {
        match self {
            HeldObject::Handle(handle, strength) => {
                receiver.drop_count(handle, strength);
            }
            HeldObject::Node(claim) => drop(claim),
        }
    }
}

impl Contents {
    fn extras(&mut self) -> Result<&mut Extras> {
        if self.extras.is_none() {
            self.extras = Some(KBox::new(Extras::default(), GFP_KERNEL)?);
        }
        self.extras.as_deref_mut().ok_or(ENOMEM)
    }

    /// The files, if there may be any.
    fn files(&mut self) -> Option<&mut Files> {
        self.extras.as_deref_mut()?.files.as_deref_mut()
    }

    /// Makes room for one more object.
    pub(super) fn reserve_object(&mut self) -> Result {
        let extras = self.extras()?;
        if extras.first.is_some() {
            extras.others.reserve(1, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Adds an object, or gives it back if no room was made for it.
    pub(super) fn hold(&mut self, object: HeldObject) -> Result<(), HeldObject> {
        let Some(extras) = self.extras.as_deref_mut() else {
            return Err(object);
        };
        if extras.first.is_none() {
            extras.first = Some(object);
            return Ok(());
        }
        match extras.others.push_within_capacity(object) {
            Ok(()) => Ok(()),
            Err(PushError(object)) => Err(object),
        }
    }

    /// Adds a file. Fails with `ENOMEM`, and closes it then.
    pub(super) fn send_file(&mut self, file: SentFile) -> Result {
        let extras = self.extras()?;
        if extras.files.is_none() {
            extras.files = Some(KBox::new(Files::default(), GFP_KERNEL)?);
        }
        let files = extras.files.as_deref_mut().ok_or(ENOMEM)?;
        Ok(files.sent.push(file, GFP_KERNEL)?)
    }

    /// The files, if there are any, for the delivery.
    pub(super) fn take_files(&mut self) -> Option<KVVec<SentFile>> {
        let files = core::mem::take(&mut self.files()?.sent);
        (!files.is_empty()).then_some(files)
    }

    /// Lets descriptors of the receiver go with the buffer.
    pub(super) fn close_when_freed(&mut self, descriptors: KVVec<u32>) {
        if let Some(files) = self.files() {
            files.descriptors = descriptors;
        }
    }

    /// Closes the descriptors that go with the buffer. To be called by a task of the
    /// receiver, for its own request. Not to be called with any lock held.
    pub(crate) fn close_descriptors(&mut self, receiver: &Process) {
        if let Some(files) = self.files() {
            for descriptor in core::mem::take(&mut files.descriptors) {
                close(descriptor, receiver);
            }
        }
    }

    /// Lets go of everything. Not to be called under a spinlock.
    pub(crate) fn release(mut self, receiver: &Process) {
        if let Some(mut extras) = self.extras.take() {
            if let Some(object) = extras.first.take() {
                object.release(receiver);
            }
            for object in core::mem::take(&mut extras.others) {
                object.release(receiver);
            }
        }
        if let Some(target) = self.target.take() {
            if self.blocks_oneway {
                target.node().advance_oneway();
            }
        }
    }
}
