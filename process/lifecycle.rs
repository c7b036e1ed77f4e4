// SPDX-License-Identifier: GPL-2.0

//! Open, flush and the last close of a device.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{
    bindings::__poll_t,
    cred::Credential,
    fs::File,
    prelude::*,
    sync::{poll::PollTable, Arc, ArcBorrow},
};

use super::Process;
use crate::{context::Context, ffi::task::Current, registry};

impl Process {
    /// `open(2)`. `cred` are the credentials of the opener.
    pub(crate) fn open(context: ArcBorrow<'_, Context>, cred: &Credential) -> Result<Arc<Self>> {
        let process = Process::new(context, cred)?;
        registry::enter(&process)?;
        Ok(process)
    }

    /// One of the descriptors of the file is closed: lets all threads return once, so
    /// that one that only waits for work can notice.
    ///
    /// If that is because the opener ends, so does the process: nobody else can use the
    /// file, but others may have it, even in a message on its way to the process itself,
    /// and then the last close never comes.
    pub(crate) fn flush(self: ArcBorrow<'_, Self>) {
        let current = Current::get();
        if current.belongs_to(&self.task) && current.ends_its_process() {
            Arc::from(self).end();
        } else {
            self.for_each_thread(|thread| thread.request_return());
        }
    }

    /// `poll(2)`.
    ///
    /// Registers the caller before anything can fail: whoever is told of an error now asks
    /// again when something happens.
    pub(crate) fn poll(
        self: ArcBorrow<'_, Self>,
        file: &File,
        table: &PollTable<'_>,
    ) -> Result<__poll_t> {
        self.polled.store(true, Relaxed);
        table.register_wait(file, &self.poll_queue);
        let process: Arc<Self> = self.into();
        let thread = process.current_thread().inspect_err(|_| {
            // The caller may never register again: epoll does not.
            process.threads_poll_here.store(true, Relaxed);
        })?;
        thread.poll(file, table)
    }

    /// The last close. Nobody uses the file any more, and nobody will.
    pub(crate) fn release(self: Arc<Self>) {
        self.end();
    }

    /// Ends the process; once more does nothing.
    ///
    /// Cuts all ties, in an order such that nothing new is made of what is cut already:
    /// no more work comes in; the context has no such manager; threads with the calls
    /// they serve, then work nobody took, then nodes with the messages that wait for
    /// them fail; buffers and handles let go of what belongs to others.
    /// Who asked is told of the death of each node.
    fn end(self: Arc<Self>) {
        self.dead.store(true, Relaxed);
        self.sched.lock().set_dead();
        self.end_watchers();
        self.context.unset_manager(&self);
        self.end_threads();
        self.end_todo();
        self.end_nodes();
        self.end_buffers();
        self.end_handles();
        self.end_told_deaths();
        self.end_told_freezes();
        registry::leave(&self);
    }

    fn end_todo(&self) {
        loop {
            let work = self.sched.lock().pop();
            match work {
                Some(work) => work.cancel(),
                None => return,
            }
        }
    }
}
