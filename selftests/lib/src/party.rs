// SPDX-License-Identifier: GPL-2.0
//! A party: an open device, a handler, and the threads that serve.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::device::Device;
use crate::error::Error;
use crate::handler::Handler;
use crate::nodes::Nodes;
use crate::returns::Return;
use crate::thread::{BinderThread, Looper};

/// How a serving thread sends its replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyMode {
    /// In an ioctl of their own.
    Separate,
    /// In the ioctl that reads on. Its completion comes first, so a call still
    /// takes two ioctls.
    Joined,
    /// The same with `TF_DEFER_COMPLETE`: one ioctl for a call, where the
    /// driver knows the flag. Replies with files or other objects, which the driver
    /// holds until the completion is read, go without the flag.
    #[default]
    Deferred,
}

/// What became of the replies that the threads of a party have sent.
#[derive(Debug, Default)]
pub struct ReplyCount {
    replies: AtomicU64,
    shared: AtomicU64,
}

impl ReplyCount {
    /// An ioctl has sent `replies`, and has received a call or not.
    pub(crate) fn add(&self, replies: u32, has_call: bool) {
        self.replies.fetch_add(replies.into(), Ordering::Relaxed);
        if has_call {
            self.shared.fetch_add(replies.into(), Ordering::Relaxed);
        }
    }

    /// How many were sent, and how many of them in an ioctl that also received the next call.
    pub fn get(&self) -> (u64, u64) {
        (self.replies.load(Ordering::Relaxed), self.shared.load(Ordering::Relaxed))
    }
}

type Worker = JoinHandle<Result<(), Error>>;

/// One party of a conversation: what the driver calls a process.
pub struct Party {
    this: Weak<Party>,
    device: Arc<Device>,
    handler: Box<dyn Handler>,
    reply_mode: ReplyMode,
    nodes: Mutex<Nodes>,
    workers: Mutex<Vec<Worker>>,
    stopped: AtomicBool,
    replies: ReplyCount,
}

impl Party {
    /// Opens `path` and maps it; replies are sent as [`ReplyMode::Deferred`].
    pub fn open(path: impl AsRef<Path>, handler: impl Handler) -> Result<Arc<Self>, Error> {
        Ok(Self::new(Device::open(path)?, handler, ReplyMode::default()))
    }

    /// A party on an open device.
    pub fn new(device: Arc<Device>, handler: impl Handler, reply_mode: ReplyMode) -> Arc<Self> {
        Arc::new_cyclic(|this| Party {
            this: this.clone(),
            device,
            handler: Box::new(handler),
            reply_mode,
            nodes: Mutex::default(),
            workers: Mutex::default(),
            stopped: AtomicBool::new(false),
            replies: ReplyCount::default(),
        })
    }

    /// The calling thread as a member of the party.
    pub fn thread(self: &Arc<Self>) -> BinderThread {
        BinderThread::new(self)
    }

    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The handler.
    pub fn handler(&self) -> &dyn Handler {
        &*self.handler
    }

    /// How replies are sent.
    pub fn reply_mode(&self) -> ReplyMode {
        self.reply_mode
    }

    /// What became of the replies so far.
    pub fn replies(&self) -> &ReplyCount {
        &self.replies
    }

    /// What was told about references to own nodes.
    pub fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, entry: Return) {
        let last = self.nodes().note(entry);
        if let Some(node) = last {
            self.handler.unreferenced(node);
        }
    }

    /// Starts `loopers` serving threads and lets the driver ask for up to
    /// `max_threads` more.
    pub fn start_pool(&self, loopers: usize, max_threads: u32) -> Result<(), Error> {
        self.device.set_max_threads(max_threads)?;
        (0..loopers).for_each(|_| self.spawn_looper(Looper::Entered));
        Ok(())
    }

    /// Number of serving threads started so far.
    pub fn loopers(&self) -> usize {
        self.workers().len()
    }

    pub(crate) fn spawn_looper(&self, looper: Looper) {
        let Some(party) = self.this.upgrade() else {
            return;
        };
        let worker = std::thread::spawn(move || party.thread().serve(looper));
        self.workers().push(worker);
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends the serving threads and waits for them, at most `timeout`.
    ///
    /// Returns the first error with which one of them ended.
    pub fn stop(&self, timeout: Duration) -> Result<(), Error> {
        self.stopped.store(true, Ordering::Release);
        let start = Instant::now();
        loop {
            // Wakes those that sleep in the driver now. One that is about to
            // go to sleep is caught by the next round.
            self.device.flush()?;
            if self.workers().iter().all(JoinHandle::is_finished) {
                break;
            }
            if start.elapsed() > timeout {
                return Err(Error::Timeout(timeout));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let workers = std::mem::take(&mut *self.workers());
        for worker in workers {
            worker.join().unwrap_or(Err(Error::Malformed("a serving thread panicked")))?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Party")
            .field("device", &self.device)
            .field("reply_mode", &self.reply_mode)
            .finish_non_exhaustive()
    }
}
