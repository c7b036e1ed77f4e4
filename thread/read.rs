// SPDX-License-Identifier: GPL-2.0

//! One read: find work, turn it into returns, until there is no reason to go on.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{prelude::*, sync::Arc};

use super::{looper::Ready, own_error::OwnError, returns::ReturnWriter, wait::Search, Thread};
use crate::{
    defs::Return,
    ffi::{
        abi::{binder_frozen_state_info, binder_ptr_cookie},
        trace,
    },
    node::{death::Death, freeze::Freeze, frozen_notice, obituary::News, refcount::Actions, Node},
    work::{Notice, Work},
};

/// Whether a read goes on after an item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// More may be packed behind it.
    Continue,
    /// The thread has something to do now.
    End,
}

/// Whether a read with nothing to return sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocking {
    /// Until there is something.
    Wait,
    /// It fails with `EAGAIN` (`O_NONBLOCK`).
    Never,
}

impl Thread {
    /// Fills a read buffer. Returns how much of it is used.
    ///
    /// # Errors
    ///
    /// `EAGAIN`, `EINTR` when nothing was delivered; `EFAULT` if the buffer cannot be
    /// written or cannot hold even the first word.
    pub(crate) fn read(
        self: &Arc<Self>,
        buffer: u64,
        size: u64,
        consumed: u64,
        blocking: Blocking,
    ) -> Result<u64> {
        let mut writer = ReturnWriter::new(buffer, size, consumed, &self.counters)?;
        self.fill(&mut writer, blocking)?;
        writer.flush()?;
        if self.should_spawn() {
            writer
                .replace_first(Return::SPAWN_LOOPER)
                .inspect_err(|_| self.process.sched.lock().pool_mut().cancel_request())?;
        }
        self.process.notify_poll_of_rest();
        Ok(writer.consumed())
    }

    fn fill(self: &Arc<Self>, writer: &mut ReturnWriter<'_>, blocking: Blocking) -> Result {
        let mut process = self.prepare_read()?;
        trace::wait_for_work(|| self.what_is_there(process));
        let mut done = None;
        loop {
            let search = Search {
                process,
                room: writer.has_room(),
            };
            let work = match (writer.is_fresh(), blocking) {
                (true, Blocking::Wait) => self.wait_for_work(search)?,
                _ if search.room => self.try_work(search, &mut done),
                _ => None,
            };
            let Some(work) = work else {
                break;
            };
            if self.deliver(work, writer, &mut done)? == Flow::End {
                return Ok(());
            }
            if writer.is_fresh() {
                // It was no news any more, and all that kept the thread from work of the
                // process.
                process = self.prepare_read()?;
            }
        }
        if let Some(notice) = done {
            self.recycle_notice(notice);
        }
        if writer.is_fresh() && blocking == Blocking::Never && !self.may_return_nothing(writer) {
            return Err(EAGAIN);
        }
        Ok(())
    }

    /// What an event tells of a read that begins.
    #[cold]
    fn what_is_there(&self, process: bool) -> (bool, bool, bool) {
        let inner = self.inner.lock();
        (process, !inner.stack.is_empty(), !inner.queue.is_empty())
    }

    /// Makes room for a call that the thread may come to serve, and says whether it may
    /// take work of the process.
    fn prepare_read(&self) -> Result<bool> {
        let (is_free, has_room) = {
            let inner = self.inner.lock();
            (
                self.is_free(&inner),
                inner.stack.capacity() > inner.stack.len(),
            )
        };
        if !has_room {
            self.grow_stack()?;
        }
        Ok(is_free)
    }

    /// The thread's own last command failed.
    fn deliver_error(&self, error: KBox<OwnError>, writer: &mut ReturnWriter<'_>) -> Result<Flow> {
        let (code, errno) = (error.code, error.errno);
        self.error_read(error);
        writer.put_code(code)?;
        if code == Return::ERROR {
            writer.put(&errno)?;
        }
        Ok(Flow::Continue)
    }

    /// Whether a non-blocking read that found nothing is a success: the thread was
    /// asked to return, or there is something that does not fit.
    fn may_return_nothing(&self, writer: &ReturnWriter<'_>) -> bool {
        self.return_now.load(Relaxed) || (!writer.has_room() && self.has_work())
    }

    fn deliver(
        self: &Arc<Self>,
        work: Work,
        writer: &mut ReturnWriter<'_>,
        done: &mut Option<KBox<Notice>>,
    ) -> Result<Flow> {
        match work {
            Work::Request(transaction) => self.receive_request(transaction, writer),
            Work::Response(transaction) => self.receive_response(transaction, writer),
            Work::Node(node) | Work::NodeForSender(node) => deliver_node(&node, writer),
            Work::Death(death) => deliver_death(&death, writer),
            Work::Freeze(freeze) => deliver_freeze(&freeze, writer),
            Work::Notice(notice) => {
                writer.put_code(notice.code)?;
                *done = Some(notice);
                Ok(Flow::Continue)
            }
            Work::OwnError(error) => self.deliver_error(error, writer),
        }
    }

    /// Whether this read asks for one more thread.
    fn should_spawn(&self) -> bool {
        if !self.process.pool_may_grow() {
            return false;
        }
        let mut sched = self.process.sched.lock();
        let ready = if sched.has_ready_thread() {
            Ready::Somebody
        } else {
            Ready::Nobody
        };
        let looper = self.inner.lock().looper;
        sched.pool_mut().request_spawn(ready, looper)
    }
}

/// Tells that an object has died, which ends the read, or that the interest in it has.
fn deliver_death(death: &Arc<Death>, writer: &mut ReturnWriter<'_>) -> Result<Flow> {
    writer.make_room()?;
    match death.read() {
        News::Dead => {
            writer.put_item(Return::DEAD_BINDER, &death.cookie)?;
            Ok(Flow::End)
        }
        News::Cleared => {
            writer.put_item(Return::CLEAR_DEATH_NOTIFICATION_DONE, &death.cookie)?;
            Ok(Flow::Continue)
        }
        News::None => Ok(Flow::Continue),
    }
}

/// Tells whether the process of an object is frozen, which ends the read, or that the
/// interest in it has ended.
fn deliver_freeze(freeze: &Arc<Freeze>, writer: &mut ReturnWriter<'_>) -> Result<Flow> {
    writer.make_room()?;
    match freeze.read() {
        frozen_notice::News::State(frozen) => {
            let info = binder_frozen_state_info {
                cookie: freeze.cookie,
                is_frozen: frozen.into(),
                reserved: 0,
            };
            writer.put_item(Return::FROZEN_BINDER, &info)?;
            Ok(Flow::End)
        }
        frozen_notice::News::Cleared => {
            writer.put_item(Return::CLEAR_FREEZE_NOTIFICATION_DONE, &freeze.cookie)?;
            Ok(Flow::Continue)
        }
        frozen_notice::News::None => Ok(Flow::Continue),
    }
}

/// Tells the owner of `node` what changed. Several messages may be needed, and always
/// come in this order. They fit in the room of the largest item.
fn deliver_node(node: &Arc<Node>, writer: &mut ReturnWriter<'_>) -> Result<Flow> {
    writer.make_room()?;
    let Actions {
        increfs,
        acquire,
        release,
        decrefs,
    } = node.deliver();
    let which = binder_ptr_cookie {
        ptr: node.ptr,
        cookie: node.cookie,
    };
    let messages = [
        (increfs, Return::INCREFS),
        (acquire, Return::ACQUIRE),
        (release, Return::RELEASE),
        (decrefs, Return::DECREFS),
    ];
    for (wanted, code) in messages {
        if wanted {
            writer.put_item(code, &which)?;
        }
    }
    Ok(Flow::Continue)
}
