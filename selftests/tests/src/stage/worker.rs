// SPDX-License-Identifier: GPL-2.0
//! Threads that do as they are told: the driver knows its callers by thread.

use std::sync::mpsc::{channel, Receiver, Sender};
use std::time::Instant;

use binder_client::ktap::Failure;
use binder_client::{gettid, limits};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that carries out closures, one after the other.
#[derive(Debug)]
pub struct Worker {
    jobs: Sender<Job>,
    tid: i32,
}

/// The result of a job to come.
#[derive(Debug)]
pub struct Pending<T> {
    result: Receiver<T>,
}

impl Worker {
    /// Starts a thread. Fork peers before.
    pub fn spawn() -> Result<Self, Failure> {
        let (jobs, queue) = channel::<Job>();
        let (tid_sender, tid) = channel();
        std::thread::spawn(move || {
            let _ = tid_sender.send(gettid());
            queue.into_iter().for_each(|job| job());
        });
        let tid = tid.recv_timeout(limits::wait())?;
        Ok(Worker { jobs, tid })
    }

    /// Lets the thread do something and does not wait for it.
    pub fn start<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Pending<T>, Failure> {
        let (sender, result) = channel();
        let job = move || drop(sender.send(job()));
        if self.jobs.send(Box::new(job)).is_err() {
            return Err(Failure::new("a thread of the test", "to live", "it is gone"));
        }
        Ok(Pending { result })
    }

    /// Lets the thread do something and returns its result.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.start(job)?.wait()?
    }

    /// Waits until the thread sleeps in an ioctl.
    pub fn wait_asleep(&self) -> Result<(), Failure> {
        asleep_in_ioctl(self.tid)
    }
}

impl<T> Pending<T> {
    /// Waits for the result.
    #[track_caller]
    pub fn wait(self) -> Result<T, Failure> {
        match self.result.recv_timeout(limits::wait()) {
            Ok(value) => Ok(value),
            Err(error) => Err(Failure::new("a thread's result", "to come", error.to_string())),
        }
    }

    /// The result, if it is there.
    pub fn now(&self) -> Option<T> {
        self.result.try_recv().ok()
    }
}

/// Waits until a thread of any process sleeps in an ioctl.
///
/// The kernel tells the system call of a thread only while it sleeps. A number
/// that differs from machine to machine, so it is asked for.
pub fn asleep_in_ioctl(tid: i32) -> Result<(), Failure> {
    let path = format!("/proc/{tid}/syscall");
    let expected = format!("{} ", nix::libc::SYS_ioctl);
    let start = Instant::now();
    loop {
        let seen = std::fs::read_to_string(&path)?;
        if seen.starts_with(&expected) {
            return Ok(());
        }
        if start.elapsed() > limits::wait() {
            return Err(Failure::new("a thread", "to sleep in an ioctl", seen));
        }
        std::thread::yield_now();
    }
}
