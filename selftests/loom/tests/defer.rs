// SPDX-License-Identifier: GPL-2.0

//! `TF_DEFER_COMPLETE`: a thread has replied and reads on, while anything may come.
//!
//! Every set of things that can happen is tried, in every order in which they can meet the
//! read, after one or two replies with their completions deferred or immediate, and with a
//! read that waits, one that does not, and a thread that leaves. Whatever happens, the
//! completions are delivered exactly once, in order, before all that came after them; nothing
//! else is lost or doubled; and a read that has something to return for returns (loom reports
//! a thread that sleeps for ever).

use std::sync::Arc;

use kernel::prelude::EINTR;
use loom::thread::{self, JoinHandle};
use rust_binder_loom::{
    ffi::task::{self, Mistake, Task},
    process::Process,
    thread::{Role, Thread},
    work::Work,
};

/// Completions have the numbers below.
const FROM_PROCESS: usize = 10;
const OWN: usize = 11;

/// What may happen while the thread reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Somebody calls an object of the process.
    ProcessWork,
    /// Somebody gives the thread itself something.
    DirectWork,
    Signal,
    /// A descriptor of the file is closed.
    NeedReturn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    Deferred,
    Immediate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Waits,
    DoesNotWait,
    /// The thread leaves instead.
    Exits,
}

use Event::{DirectWork, NeedReturn, ProcessWork, Signal};
use Reply::{Deferred, Immediate};

fn happen(
    event: Event,
    process: &Arc<Process>,
    task: &Arc<Task>,
    thread: &Arc<Thread>,
) -> JoinHandle<()> {
    let (process, task, thread) = (process.clone(), task.clone(), thread.clone());
    thread::spawn(move || match event {
        ProcessWork => process.push(Work::new(FROM_PROCESS)),
        DirectWork => thread.reply(Work::new(OWN)),
        Signal => task.signal(),
        NeedReturn => thread.request_return(),
    })
}

/// One order of events; loom tries the others.
fn run(events: &[Event], replies: &[Reply], reading: Reading) {
    let process = Process::new(1);
    let task = Task::new(Mistake::None);
    let thread = Thread::new(&process, &task);
    let completions: Vec<usize> = (1..=replies.len()).collect();
    for (reply, number) in replies.iter().zip(&completions) {
        match reply {
            Deferred => thread.defer(Work::new(*number)),
            Immediate => thread.complete(Work::new(*number)),
        }
    }
    let others: Vec<_> = events
        .iter()
        .map(|&event| happen(event, &process, &task, &thread))
        .collect();
    task::enter(&task);
    let mut all = read(&thread, reading, &completions);
    for other in others {
        other.join().unwrap();
    }
    // What is left comes with the next reads, or is with the process for another thread.
    all.extend(thread.read_now(Role::Server));
    while let Some(work) = process.take() {
        all.push(work.number());
    }
    assert!(
        all.starts_with(&completions),
        "the completions are the first of {all:?}"
    );
    let mut expected = completions;
    expected.extend(events.contains(&ProcessWork).then_some(FROM_PROCESS));
    expected.extend(events.contains(&DirectWork).then_some(OWN));
    all.sort_unstable();
    assert_eq!(all, expected, "each exactly once");
}

fn read(thread: &Arc<Thread>, reading: Reading, completions: &[usize]) -> Vec<usize> {
    match reading {
        Reading::Waits => {
            let read = thread.read(Role::Server);
            assert_ne!(read, Err(EINTR), "a signal takes nothing away");
            read.unwrap_or_default()
        }
        Reading::DoesNotWait => {
            let read = thread.read_now(Role::Server);
            assert!(read.starts_with(completions), "it returns what is there");
            read
        }
        Reading::Exits => thread.exit(),
    }
}

fn check(events: &'static [Event], replies: &'static [Reply], reading: Reading) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(if events.len() < 3 { 4 } else { 2 });
    model.check(move || run(events, replies, reading));
}

/// All sets of events that loom has enough threads for; the order in them does not matter.
const SETS: [&[Event]; 15] = [
    &[],
    &[ProcessWork],
    &[DirectWork],
    &[Signal],
    &[NeedReturn],
    &[ProcessWork, DirectWork],
    &[ProcessWork, Signal],
    &[ProcessWork, NeedReturn],
    &[DirectWork, Signal],
    &[DirectWork, NeedReturn],
    &[Signal, NeedReturn],
    &[ProcessWork, DirectWork, Signal],
    &[ProcessWork, DirectWork, NeedReturn],
    &[ProcessWork, Signal, NeedReturn],
    &[DirectWork, Signal, NeedReturn],
];

/// One or two replies in one write.
const REPLIES: [&[Reply]; 6] = [
    &[Deferred],
    &[Immediate],
    &[Deferred, Deferred],
    &[Deferred, Immediate],
    &[Immediate, Deferred],
    &[Immediate, Immediate],
];

fn check_all(reading: Reading) {
    for replies in REPLIES {
        for events in SETS {
            let returns = replies.contains(&Immediate) || !events.is_empty();
            // Work for a thread that is gone comes back to who gives it: not modelled.
            let is_for_nobody = reading == Reading::Exits && events.contains(&DirectWork);
            if !is_for_nobody && (reading != Reading::Waits || returns) {
                check(events, replies, reading);
            }
        }
    }
}

#[test]
fn completions_and_a_read_that_waits() {
    check_all(Reading::Waits);
}

#[test]
fn completions_and_a_read_that_does_not_wait() {
    check_all(Reading::DoesNotWait);
}

#[test]
fn completions_and_the_end_of_the_thread() {
    check_all(Reading::Exits);
}

/// The fault in the copy of the queue is found: with it, this very test fails.
#[test]
#[cfg(feature = "planted")]
#[should_panic(expected = "the completions are the first")]
fn planted_fault_is_found() {
    check(&[ProcessWork], &[Deferred], Reading::Waits);
}
