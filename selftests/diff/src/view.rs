// SPDX-License-Identifier: GPL-2.0
//! What the actors of a session know: enough to choose a sensible next step.
//!
//! It is drawn from the trace, as a real program draws it from its returns. It
//! may be wrong after a misstep; that only makes the next step one, too.

use crate::outcome::{Delivery, Found, Item, Outcome};
use crate::script::{Action, Actor, Command, Count, Node, Object, Read, Script, Step};
use crate::world::Trace;

/// `TF_ONE_WAY`.
const ONE_WAY: u32 = 1;

/// A thread.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Calls that it has received and not answered.
    pub serves: usize,
    /// Calls that it has made and whose outcome it has not seen.
    pub calls: usize,
    /// It sleeps in the driver.
    pub waits: bool,
}

/// A process.
#[derive(Clone, Debug, Default)]
pub struct Process {
    /// It lives and its device is open.
    pub works: bool,
    /// It lives.
    pub lives: bool,
    /// It is the context manager.
    pub manager: bool,
    /// Handles that it has seen.
    pub handles: Vec<u32>,
    /// Number of buffers that it has not freed.
    pub buffers: usize,
    /// News of references that it has not confirmed.
    pub news: Vec<(Count, Node)>,
    /// Requests for news of a death.
    pub deaths: Vec<(u32, u64)>,
    /// News of deaths that it has not confirmed.
    pub dead: Vec<u64>,
    /// Its threads.
    pub threads: Vec<Thread>,
}

/// All processes.
#[derive(Clone, Debug)]
pub struct View {
    /// In the order of their numbers.
    pub processes: Vec<Process>,
    threads: usize,
}

impl View {
    /// Before the first step.
    pub fn new(script: &Script) -> Self {
        let fresh = || Process::fresh(script.threads);
        View {
            processes: (0..script.processes).map(|_| fresh()).collect(),
            threads: script.threads,
        }
    }

    /// All actors that can do something.
    pub fn able(&self) -> Vec<Actor> {
        let mut able = Vec::new();
        for (number, process) in self.processes.iter().enumerate() {
            for thread in 0..self.threads {
                if process.works && !process.threads[thread].waits {
                    able.push(Actor { process: number, thread });
                }
            }
        }
        able
    }

    /// True if an actor has something to answer or to confirm, or may have
    /// something to read because a call of the manager's waits.
    pub fn is_busy(&self, actor: Actor) -> bool {
        let process = &self.processes[actor.process];
        let thread = &process.threads[actor.thread];
        thread.serves > 0
            || !process.news.is_empty()
            || !process.dead.is_empty()
            || self.called(actor)
    }

    /// True if its process is the manager and somebody waits for an answer.
    fn called(&self, actor: Actor) -> bool {
        let calls = self.processes.iter().flat_map(|process| &process.threads);
        self.processes[actor.process].manager && calls.map(|thread| thread.calls).sum::<usize>() > 0
    }

    /// True if there is a manager.
    pub fn has_manager(&self) -> bool {
        self.processes.iter().any(|process| process.manager)
    }

    /// Learns from a step and its trace.
    pub fn learn(&mut self, step: &Step, trace: &Trace) {
        let process = &mut self.processes[step.actor.process];
        match &step.action {
            Action::Do(commands, _) if trace.outcome.status != "waits already" => {
                commands.iter().for_each(|command| process.sent(step.actor.thread, command));
            }
            Action::ThreadExit => process.threads[step.actor.thread] = Thread::default(),
            Action::Manager | Action::ManagerExt => process.manager |= trace.outcome.status == "ok",
            Action::Kill => {
                *process = Process { threads: process.threads.clone(), ..Process::default() }
            }
            Action::Close if trace.outcome.status == "ok" => {
                *process = Process {
                    lives: true,
                    threads: vec![Thread::default(); self.threads],
                    ..Process::default()
                };
            }
            Action::Spawn | Action::Open if trace.outcome.status == "ok" => {
                *process = Process::fresh(self.threads);
            }
            _ => {}
        }
        self.read(step.actor, &trace.outcome);
        let waits = matches!(step.action, Action::Do(_, Read::Wait(_)));
        if waits && trace.outcome.status == "waits" {
            self.processes[step.actor.process].threads[step.actor.thread].waits = true;
        }
        for (actor, outcome) in &trace.woken {
            self.processes[actor.process].threads[actor.thread].waits = false;
            self.read(*actor, outcome);
        }
    }

    fn read(&mut self, actor: Actor, outcome: &Outcome) {
        let process = &mut self.processes[actor.process];
        outcome.items.iter().for_each(|item| process.got(actor.thread, item));
    }
}

impl Process {
    fn fresh(threads: usize) -> Self {
        Process {
            works: true,
            lives: true,
            threads: vec![Thread::default(); threads],
            ..Process::default()
        }
    }

    fn sent(&mut self, thread: usize, command: &Command) {
        let thread = &mut self.threads[thread];
        match command {
            Command::Call(_, message) if message.flags & ONE_WAY == 0 => thread.calls += 1,
            Command::Reply(_) => thread.serves = thread.serves.saturating_sub(1),
            Command::Free(_) => self.buffers = self.buffers.saturating_sub(1),
            Command::Done(count, node) => self.news.retain(|entry| entry != &(*count, *node)),
            Command::Death(handle, cookie) => self.deaths.push((*handle, *cookie)),
            Command::ClearDeath(_, cookie) => self.deaths.retain(|entry| entry.1 != *cookie),
            Command::DeadDone(cookie) => self.dead.retain(|entry| entry != cookie),
            _ => {}
        }
    }

    fn got(&mut self, thread: usize, item: &Item) {
        match item {
            Item::Transaction(delivery) => {
                if delivery.flags & ONE_WAY == 0 {
                    self.threads[thread].serves += 1;
                }
                self.took(delivery);
            }
            Item::Reply(delivery) => {
                self.ended(thread);
                self.took(delivery);
            }
            Item::Plain("BR_DEAD_REPLY" | "BR_FAILED_REPLY" | "BR_FROZEN_REPLY") => {
                self.ended(thread);
            }
            Item::Count(..) => self.news.extend(item.news()),
            Item::Dead(cookie) => self.dead.push(*cookie),
            _ => {}
        }
    }

    fn ended(&mut self, thread: usize) {
        self.threads[thread].calls = self.threads[thread].calls.saturating_sub(1);
    }

    fn took(&mut self, delivery: &Delivery) {
        self.buffers += 1;
        for object in &delivery.objects {
            if let Found::Known(Object::Handle { handle, .. }) = object {
                if !self.handles.contains(handle) {
                    self.handles.push(*handle);
                }
            }
        }
    }
}
