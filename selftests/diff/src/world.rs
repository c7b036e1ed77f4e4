// SPDX-License-Identifier: GPL-2.0
//! One driver with the processes of a session, driven in lock step.
//!
//! At any time at most one actor runs. An actor that waits sleeps in the
//! driver, and after each step the controller sees who has come back; the
//! kernel tells in `/proc` whether a thread really sleeps. So the course of a
//! session depends on its script and on the driver only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use binder_client::ktap::Failure;
use binder_client::peer::{Channel, Peer};
use nix::libc;

use crate::actor::{self, Report};
use crate::outcome::{Names, Outcome};
use crate::script::{Action, Actor, Read, Script, Step};
use crate::settle::{wait, Settle};
use crate::sys;

/// How long an actor may take for what never blocks.
const PATIENCE: Duration = Duration::from_secs(60);

/// A driver under test.
#[derive(Clone, Debug)]
pub struct Driver {
    /// Path of its device.
    pub device: PathBuf,
    /// How to wait for what it does late.
    pub settle: Settle,
}

/// What a step did: to its actor, and to those that it woke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The outcome of the step itself.
    pub outcome: Outcome,
    /// Who came back from a wait, and with what.
    pub woken: Vec<(Actor, Outcome)>,
}

struct Process {
    peer: Option<Peer>,
    pid: i32,
    channels: Vec<Channel>,
    tids: Vec<i32>,
    waiting: Vec<bool>,
    open: bool,
    /// Descriptors at the start.
    files: i64,
}

/// The processes of a session on one driver.
pub struct World {
    driver: Driver,
    map: usize,
    threads: usize,
    left: usize,
    processes: Vec<Process>,
    names: Names,
}

fn told(failure: Failure) -> anyhow::Error {
    anyhow::anyhow!("{failure:?}")
}

impl World {
    /// Starts the processes of a script; its steps are not looked at.
    pub fn start(driver: &Driver, script: &Script) -> Result<Self> {
        let mut world = World {
            driver: driver.clone(),
            map: script.map,
            threads: script.threads,
            left: driver.settle.processes()?,
            processes: Vec::new(),
            names: Names::default(),
        };
        for _ in 0..script.processes {
            let process = world.spawn()?;
            world.names.pids.push(process.pid);
            world.processes.push(process);
        }
        Ok(world)
    }

    fn spawn(&self) -> Result<Process> {
        let path: &Path = &self.driver.device;
        let (peer, channels) = actor::spawn(path, self.map, self.threads).map_err(told)?;
        let tids = channels.iter().map(|channel| channel.recv_within(PATIENCE).map_err(told));
        let tids = tids
            .collect::<Result<Vec<i32>>>()
            .with_context(|| format!("a process does not start on {}", path.display()))?;
        let waiting = vec![false; channels.len()];
        let pid = peer.pid();
        let files = sys::open_files(pid);
        Ok(Process { pid, peer: Some(peer), channels, tids, waiting, open: true, files })
    }

    /// Carries out one step.
    pub fn step(&mut self, step: &Step) -> Result<Trace> {
        let outcome = self.outcome(step).with_context(|| format!("in the step {step}"))?;
        let woken = self.woken().with_context(|| format!("after the step {step}"))?;
        let mut trace = Trace { outcome, woken };
        let Trace { outcome, woken } = &mut trace;
        self.count_files(step.actor, outcome);
        woken.iter_mut().for_each(|(actor, outcome)| self.count_files(*actor, outcome));
        Ok(trace)
    }

    /// Notes how many descriptors a process has more than at its start. Those
    /// that it has just received stay open until its next action.
    fn count_files(&self, actor: Actor, outcome: &mut Outcome) {
        let process = &self.processes[actor.process];
        if process.peer.is_some() {
            match sys::open_files(process.pid) - process.files {
                0 => {}
                more => outcome.notes.push(format!("files={more:+}")),
            }
        }
    }

    /// Kills everybody and waits until the driver has noticed.
    pub fn end(mut self) -> Result<()> {
        for process in &mut self.processes {
            if let Some(peer) = process.peer.take() {
                peer.kill().map_err(told)?;
            }
        }
        self.driver.settle.released(self.left)
    }

    fn outcome(&mut self, step: &Step) -> Result<Outcome> {
        let Actor { process: number, thread } = step.actor;
        let process = &self.processes[number];
        let waits = process.waiting[thread];
        let others_wait = process.waiting.contains(&true);
        match (&step.action, process.peer.is_some()) {
            (Action::Spawn, false) => {
                let process = self.spawn()?;
                self.names.pids[number] = process.pid;
                self.processes[number] = process;
                Ok(Outcome::word("ok"))
            }
            (_, false) => Ok(Outcome::word("gone")),
            (Action::Spawn, true) => Ok(Outcome::word("there")),
            (Action::Kill, true) => self.kill(number),
            (Action::Signal, true) if waits => {
                sys::interrupt(process.pid, process.tids[thread])?;
                self.come_back(number, thread)?;
                Ok(Outcome::word("ok"))
            }
            (Action::Signal, true) => Ok(Outcome::word("awake")),
            _ if waits => Ok(Outcome::word("waits already")),
            // The file stays open as long as somebody waits in it.
            (Action::Close | Action::Unmap, true) if others_wait => Ok(Outcome::word("busy")),
            (action, true) => self.act(step.actor, action),
        }
    }

    fn kill(&mut self, number: usize) -> Result<Outcome> {
        let left = self.driver.settle.processes()?;
        let process = &mut self.processes[number];
        if let Some(peer) = process.peer.take() {
            peer.kill().map_err(told)?;
        }
        process.waiting.fill(false);
        let released = usize::from(std::mem::take(&mut process.open));
        self.driver.settle.released(left.saturating_sub(released))?;
        Ok(Outcome::word("ok"))
    }

    fn act(&mut self, actor: Actor, action: &Action) -> Result<Outcome> {
        let left = self.driver.settle.processes()?;
        let process = &mut self.processes[actor.process];
        let channel = &process.channels[actor.thread];
        channel.send(action).map_err(told)?;
        if let Action::Do(_, Read::Wait(_)) = action {
            process.waiting[actor.thread] = true;
            let report = self.report_or_sleep(actor)?;
            return Ok(report.map_or(Outcome::word("waits"), |report| self.names.outcome(report)));
        }
        let report: Report = channel.recv_within(PATIENCE).map_err(told)?;
        match action {
            Action::Close if process.open => {
                process.open = false;
                self.driver.settle.released(left.saturating_sub(1))?;
            }
            Action::Open if report.errno == 0 => process.open = true,
            Action::Flush if report.errno == 0 => self.flushed(actor.process)?,
            _ => {}
        }
        Ok(self.names.outcome(report))
    }

    /// Waits until a flush has had its effect.
    fn flushed(&mut self, number: usize) -> Result<()> {
        if !self.driver.settle.is_needed() {
            return Ok(());
        }
        let process = &self.processes[number];
        match process.waiting.iter().position(|waits| *waits) {
            Some(thread) => self.come_back(number, thread),
            None => self.driver.settle.flushed(process.pid),
        }
    }

    /// Waits until an actor has left its wait; its report stays in the channel.
    fn come_back(&self, process: usize, thread: usize) -> Result<()> {
        wait("the end of a wait", || Ok(!self.sleeps(Actor { process, thread })?))
    }

    /// Whether an actor sleeps in an ioctl.
    ///
    /// The kernel tells the system call of a thread only while it does not run.
    /// One that is being woken does not run yet, but its state shows it.
    fn sleeps(&self, actor: Actor) -> Result<bool> {
        let tid = self.processes[actor.process].tids[actor.thread];
        let call = std::fs::read_to_string(format!("/proc/{tid}/syscall"))?;
        if !call.starts_with(&format!("{} ", libc::SYS_ioctl)) {
            return Ok(false);
        }
        let stat = std::fs::read_to_string(format!("/proc/{tid}/stat"))?;
        let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
        Ok(state == Some('S'))
    }

    /// The report of an actor that waits, or `None` if it goes on waiting.
    fn report_or_sleep(&mut self, actor: Actor) -> Result<Option<Report>> {
        let mut found = None;
        wait("the sleep of an actor", || {
            let channel = &self.processes[actor.process].channels[actor.thread];
            found = channel.recv_now::<Report>().map_err(told)?;
            if found.is_some() || !self.sleeps(actor)? {
                return Ok(found.is_some());
            }
            // It may have come back meanwhile, and sleep until its next action.
            found = channel.recv_now::<Report>().map_err(told)?;
            Ok(true)
        })?;
        if found.is_some() {
            self.processes[actor.process].waiting[actor.thread] = false;
        }
        Ok(found)
    }

    /// Collects those that have come back from a wait.
    fn woken(&mut self) -> Result<Vec<(Actor, Outcome)>> {
        let mut woken = Vec::new();
        for process in 0..self.processes.len() {
            for thread in 0..self.threads {
                let actor = Actor { process, thread };
                if !self.processes[process].waiting[thread] {
                    continue;
                }
                if let Some(report) = self.report_or_sleep(actor)? {
                    woken.push((actor, self.names.outcome(report)));
                }
            }
        }
        Ok(woken)
    }
}
