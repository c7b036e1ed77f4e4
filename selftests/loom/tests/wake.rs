// SPDX-License-Identifier: GPL-2.0

//! No wake-up is lost, no work is stuck, in any interleaving.

use std::sync::Arc;

use kernel::prelude::EINTR;
use loom::thread::{self, JoinHandle};
use rust_binder_loom::{
    ffi::task::{self, Mistake, Task},
    process::Process,
    thread::{Role, Thread},
    work::Work,
};

/// Runs a scenario in every order in which a thread is interrupted at most so often.
fn check(interruptions: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(interruptions);
    model.check(scenario);
}

fn thread_of(process: &Arc<Process>) -> (Arc<Task>, Arc<Thread>) {
    let task = Task::new(Mistake::None);
    let thread = Thread::new(process, &task);
    (task, thread)
}

/// Lets the thread read in a task of its own until it has so much work.
fn reader(
    task: Arc<Task>,
    thread: Arc<Thread>,
    role: Role,
    count: usize,
) -> JoinHandle<Vec<usize>> {
    thread::spawn(move || {
        task::enter(&task);
        let mut all = Vec::new();
        while all.len() < count {
            all.extend(thread.read(role).expect("no signal"));
        }
        all
    })
}

fn one_request_to_one_server(mistake: Mistake) {
    let process = Process::new(1);
    let task = Task::new(mistake);
    let thread = Thread::new(&process, &task);
    let server = reader(task, thread, Role::Server, 1);
    process.push(Work::new(1));
    assert_eq!(server.join().unwrap(), [1]);
}

#[test]
fn a_server_gets_a_request() {
    check(4, || one_request_to_one_server(Mistake::None));
}

/// The model can see what it looks for: a task that looks for work and then marks itself
/// as asleep sleeps for ever when the work comes in between.
#[test]
#[should_panic(expected = "deadlock")]
fn a_late_mark_loses_a_wake_up() {
    check(4, || one_request_to_one_server(Mistake::LateMark));
}

#[test]
fn a_server_gets_all_requests_in_order() {
    check(3, || {
        let process = Process::new(1);
        let (task, thread) = thread_of(&process);
        let server = reader(task, thread, Role::Server, 2);
        process.push(Work::new(1));
        process.push(Work::new(2));
        assert_eq!(server.join().unwrap(), [1, 2]);
    });
}

#[test]
fn two_callers_reach_a_server() {
    check(2, || {
        let process = Process::new(1);
        let (task, thread) = thread_of(&process);
        let server = reader(task, thread, Role::Server, 2);
        let other = {
            let process = process.clone();
            thread::spawn(move || process.push(Work::new(1)))
        };
        process.push(Work::new(2));
        other.join().unwrap();
        let mut all = server.join().unwrap();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

/// Each of two servers waits for one request, so that neither may be passed over.
#[test]
fn two_servers_get_a_request_each() {
    check(2, || {
        let process = Process::new(2);
        let servers = [(); 2].map(|()| {
            let (task, thread) = thread_of(&process);
            reader(task, thread, Role::Server, 1)
        });
        process.push(Work::new(1));
        process.push(Work::new(2));
        let mut all: Vec<_> = servers
            .into_iter()
            .flat_map(|server| server.join().unwrap())
            .collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

/// A completion alone lets the caller sleep; it is delivered with the reply, and before it.
#[test]
fn a_deferred_completion_comes_with_the_reply() {
    check(4, || {
        let process = Process::new(1);
        let (task, thread) = thread_of(&process);
        thread.defer(Work::new(1));
        let replier = {
            let thread = thread.clone();
            thread::spawn(move || thread.reply(Work::new(2)))
        };
        task::enter(&task);
        assert_eq!(thread.read(Role::Caller), Ok(vec![1, 2]));
        replier.join().unwrap();
    });
}

/// A server that is asked to return may be handed a request at the same moment: it is
/// in this read, in the next one, or with the process, but not lost.
#[test]
fn a_request_to_return_loses_no_work() {
    check(3, || {
        let process = Process::new(1);
        let (task, thread) = thread_of(&process);
        let asker = {
            let thread = thread.clone();
            thread::spawn(move || thread.request_return())
        };
        let caller = {
            let process = process.clone();
            thread::spawn(move || process.push(Work::new(1)))
        };
        task::enter(&task);
        let first = thread.read(Role::Server).expect("no signal");
        asker.join().unwrap();
        caller.join().unwrap();
        if first.is_empty() {
            // Nobody asks any more, unless the asking came after the read.
            assert!(thread.has_own_work() || process.has_work());
            let mut next = Vec::new();
            while next.is_empty() {
                next = thread.read(Role::Server).expect("no signal");
            }
            assert_eq!(next, [1]);
        } else {
            assert_eq!(first, [1]);
        }
    });
}

/// A request that returned nothing leaves a thread that nobody takes for a sleeper.
#[test]
fn a_thread_that_returned_is_not_handed_work() {
    check(3, || {
        let process = Process::new(1);
        let (task, thread) = thread_of(&process);
        let asker = {
            let thread = thread.clone();
            thread::spawn(move || thread.request_return())
        };
        task::enter(&task);
        assert_eq!(thread.read(Role::Server), Ok(vec![]));
        process.push(Work::new(1));
        assert!(process.has_work() && !thread.has_own_work());
        asker.join().unwrap();
    });
}

/// A signal ends the sleep. Work that is handed over at that moment is in this read, in the
/// next one, or with the process.
#[test]
fn a_signal_loses_no_work() {
    check(3, || {
        let process = Process::new(1);
        let (task, thread) = thread_of(&process);
        let killer = {
            let task = task.clone();
            thread::spawn(move || task.signal())
        };
        let caller = {
            let process = process.clone();
            thread::spawn(move || process.push(Work::new(1)))
        };
        task::enter(&task);
        let first = thread.read(Role::Server);
        caller.join().unwrap();
        killer.join().unwrap();
        if first == Err(EINTR) {
            assert!(process.has_work() || thread.has_own_work());
            assert_eq!(thread.read(Role::Server), Ok(vec![1]));
        } else {
            assert_eq!(first, Ok(vec![1]));
        }
    });
}
