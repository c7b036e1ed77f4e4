// SPDX-License-Identifier: GPL-2.0
//! Random sessions: each next step is chosen by what the actors know so far.
//!
//! Most steps are what a program would do; some are mistakes.

use crate::rng::Rng;
use crate::script::{
    Action, Actor, Buffer, Command, Count, Message, Node, Object, Read, Script, Spoil, Step,
};
use crate::view::{Process, Thread, View};

/// A call without a reply.
const TF_ONE_WAY: u32 = binder_client::uapi::TF_ONE_WAY;
/// Of a hundred choices so many do not care for what makes sense.
const WILD: usize = 7;
/// Rooms for returns: none for a header, hardly one return, several.
const ROOMS: [usize; 6] = [4, 8, 76, 80, 100, 256];
/// Node numbers that a process uses; 0 is the manager's.
const NODES: usize = 5;

/// Chooses steps.
pub struct Generator {
    rng: Rng,
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Wait,
    Call,
    Reply,
    Free,
    Done,
    Count,
    Death,
    Looper,
    Poll,
    Error,
    Misc,
    End,
}

impl Generator {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Generator { rng: Rng::new(seed) }
    }

    /// A session without steps.
    pub fn script(&mut self) -> Script {
        Script {
            processes: 2 + self.rng.below(3),
            threads: 1 + self.rng.below(3),
            map: self.rng.pick(&[1 << 20, 1 << 16, 1 << 14]).unwrap_or(1 << 20),
            steps: Vec::new(),
        }
    }

    /// The steps that most sessions begin with: threads that the driver knows,
    /// a manager, and a handle of everybody for everybody.
    pub fn opening(&mut self, script: &Script) -> Vec<Step> {
        let mut steps = Vec::new();
        for process in 0..script.processes {
            for thread in 0..script.threads {
                if self.rng.chance(90) {
                    let actor = Actor { process, thread };
                    steps.push(Step { actor, action: Action::ExtendedError });
                }
            }
        }
        if self.rng.chance(96) {
            let action = if self.rng.chance(30) { Action::ManagerExt } else { Action::Manager };
            steps.push(Step { actor: Actor { process: 0, thread: 0 }, action });
            if self.rng.chance(80) {
                steps.extend(introduction(script.processes));
            }
        }
        steps
    }

    /// The next step.
    pub fn next(&mut self, view: &View) -> Step {
        if let Some(step) = self.revive(view) {
            return step;
        }
        let able = view.able();
        // Who has something to do does it more often.
        let busy: Vec<Actor> = able.iter().copied().filter(|actor| view.is_busy(*actor)).collect();
        let chosen = if self.rng.chance(45) { self.rng.pick(&busy) } else { None };
        let Some(actor) = chosen.or_else(|| self.rng.pick(&able)) else {
            return self.rouse(view);
        };
        let process = &view.processes[actor.process];
        let kind = self.kind(process, actor);
        let action = match kind {
            Kind::Read => Action::Do(Vec::new(), Read::Now(self.room())),
            Kind::Wait => Action::Do(Vec::new(), Read::Wait(1024)),
            Kind::Poll => Action::Poll,
            Kind::Error => Action::ExtendedError,
            Kind::Misc => self.misc(),
            Kind::End => self.end(),
            _ => self.write_read(kind, process, actor, view),
        };
        Step { actor, action }
    }

    /// Brings back what is dead or closed, now and then.
    fn revive(&mut self, view: &View) -> Option<Step> {
        let number = self.rng.below(view.processes.len());
        let process = &view.processes[number];
        if process.works || !self.rng.chance(40) {
            return None;
        }
        let actor = Actor { process: number, thread: 0 };
        Some(Step { actor, action: if process.lives { Action::Open } else { Action::Spawn } })
    }

    /// What to do when everybody sleeps or is gone.
    fn rouse(&mut self, view: &View) -> Step {
        let process = self.rng.below(view.processes.len());
        let threads = &view.processes[process].threads;
        let thread = threads.iter().position(|thread| thread.waits).unwrap_or(0);
        let action = if view.processes[process].lives { Action::Signal } else { Action::Spawn };
        Step { actor: Actor { process, thread }, action }
    }

    fn wild(&mut self) -> bool {
        self.rng.chance(WILD)
    }

    fn kind(&mut self, process: &Process, actor: Actor) -> Kind {
        let thread = &process.threads[actor.thread];
        let wild = self.wild();
        let weight = |sensible: bool, weight| if sensible || wild { weight } else { 0 };
        let calls = thread.calls > 0;
        self.rng.weighted(&[
            (if calls { 4 } else { 22 }, Kind::Read),
            (if may_wait(process, actor) { 7 + 20 * usize::from(calls) } else { 0 }, Kind::Wait),
            (if thread.calls == 0 { 22 } else { weight(false, 22) }, Kind::Call),
            (weight(thread.serves > 0 && thread.calls == 0, 40), Kind::Reply),
            (weight(process.buffers > 0, 12), Kind::Free),
            (weight(!process.news.is_empty(), 14), Kind::Done),
            (weight(!process.handles.is_empty(), 10), Kind::Count),
            (
                weight(!process.handles.is_empty(), 6) + 20 * usize::from(!process.dead.is_empty()),
                Kind::Death,
            ),
            (2, Kind::Looper),
            (5, Kind::Poll),
            (4, Kind::Error),
            (2, Kind::Misc),
            (2, Kind::End),
        ])
    }

    fn misc(&mut self) -> Action {
        match self.rng.below(5) {
            0 => Action::BadVersion,
            1 => Action::Spam(self.rng.chance(80)),
            2 => Action::Manager,
            3 => Action::ManagerExt,
            _ => Action::MaxThreads(1 + self.rng.below(3) as u32),
        }
    }

    fn end(&mut self) -> Action {
        let ends = [
            (5, Action::ThreadExit),
            (4, Action::Flush),
            (2, Action::Close),
            (3, Action::Kill),
            (1, Action::Unmap),
            (3, Action::Signal),
        ];
        let places: Vec<(usize, usize)> = ends.iter().map(|end| end.0).zip(0..).collect();
        ends[self.rng.weighted(&places)].1.clone()
    }

    fn room(&mut self) -> usize {
        let small = self.rng.chance(20);
        self.rng.pick(&ROOMS).filter(|_| small).unwrap_or(1024)
    }

    fn write_read(&mut self, kind: Kind, process: &Process, actor: Actor, view: &View) -> Action {
        let mut commands = vec![self.command(kind, process, view)];
        while self.rng.chance(30) {
            let kind = self.kind(process, actor);
            if !matches!(
                kind,
                Kind::Read | Kind::Wait | Kind::Poll | Kind::Error | Kind::Misc | Kind::End
            ) {
                commands.push(self.command(kind, process, view));
            }
        }
        let may_wait = may_wait(process, actor);
        let calls = process.threads[actor.thread].calls > 0
            || commands.iter().any(
                |command| matches!(command, Command::Call(_, message) if message.flags & TF_ONE_WAY == 0),
            );
        let read = match self.rng.below(20) {
            0..8 => Read::No,
            8..10 if may_wait => Read::Wait(1024),
            _ if calls && may_wait && !self.rng.chance(15) => Read::Wait(1024),
            _ => Read::Now(self.room()),
        };
        Action::Do(commands, read)
    }

    fn command(&mut self, kind: Kind, process: &Process, view: &View) -> Command {
        let handle = self.handle(process, view);
        match kind {
            Kind::Reply => Command::Reply(self.message(process, view)),
            Kind::Free => Command::Free(self.rng.weighted(&[
                (10, Buffer::Oldest),
                (6, Buffer::Newest),
                (1, Buffer::Again),
                (1, Buffer::Bogus),
            ])),
            Kind::Done => self.done(process),
            Kind::Count => {
                let count = self.rng.weighted(&[
                    (3, Count::Increfs),
                    (5, Count::Acquire),
                    (3, Count::Release),
                    (2, Count::Decrefs),
                ]);
                Command::Count(count, handle)
            }
            Kind::Death => self.death(process, handle),
            Kind::Looper => match self.rng.below(7) {
                0..4 => Command::Enter,
                4 | 5 => Command::Register,
                _ => Command::Leave,
            },
            _ => Command::Call(handle, self.message(process, view)),
        }
    }

    fn done(&mut self, process: &Process) -> Command {
        match self.rng.pick(&process.news) {
            Some((count, node)) if !self.wild() => Command::Done(count, node),
            _ => {
                let count = if self.rng.chance(50) { Count::Increfs } else { Count::Acquire };
                Command::Done(count, self.node())
            }
        }
    }

    fn death(&mut self, process: &Process, handle: u32) -> Command {
        let request = self.rng.pick(&process.deaths);
        let dead = self.rng.pick(&process.dead);
        match (dead, request) {
            (Some(cookie), _) if self.rng.chance(60) => Command::DeadDone(cookie),
            (_, Some((handle, cookie))) if self.rng.chance(40) => {
                Command::ClearDeath(handle, cookie)
            }
            _ if self.wild() => {
                let cookie = 1 + self.rng.below(4) as u64;
                if self.rng.chance(50) {
                    Command::ClearDeath(handle, cookie)
                } else {
                    Command::DeadDone(cookie)
                }
            }
            _ => Command::Death(handle, 1 + self.rng.below(9) as u64),
        }
    }

    /// A handle to name: one that the process has, or the manager's.
    fn handle(&mut self, process: &Process, view: &View) -> u32 {
        if self.wild() {
            return self.rng.below(6) as u32;
        }
        let manager = view.has_manager() && !process.manager;
        match self.rng.pick(&process.handles) {
            Some(handle) if !manager || self.rng.chance(65) => handle,
            _ if manager => 0,
            _ => 1 + self.rng.below(3) as u32,
        }
    }

    fn node(&mut self) -> Node {
        let wrong = self.rng.chance(3);
        let least = usize::from(!self.rng.chance(5));
        Node { number: (least + self.rng.below(NODES)) as u64, wrong }
    }

    fn message(&mut self, process: &Process, view: &View) -> Message {
        let bits = [(1, 35), (0x10, 35), (0x20, 8), (0x40, 4), (0x80, 5), (0x8, 3)];
        let flags = bits.iter().filter(|(_, chance)| self.rng.chance(*chance));
        let flags = flags.map(|(bit, _)| bit).sum();
        let size = self.rng.pick(&[0, 4, 8, 12, 24, 64, 200, 1500]).unwrap_or(0);
        let count = self.rng.weighted(&[(5, 0), (5, 1), (2, 2), (1, 3)]);
        let objects = (0..count).map(|_| self.object(process, view)).collect();
        let spoil = match self.rng.below(120) {
            0 => Spoil::OddOffset,
            1 => Spoil::FarOffset,
            2 => Spoil::SameOffset,
            3 => Spoil::CutOff,
            4 => Spoil::Type,
            5 => Spoil::Address,
            _ => Spoil::Nothing,
        };
        Message { code: self.rng.below(100) as u32, flags, size, objects, spoil }
    }

    fn object(&mut self, process: &Process, view: &View) -> Object {
        let strong = self.rng.chance(70);
        match self.rng.below(10) {
            0..5 => Object::Node { node: self.node(), strong },
            5..8 if !process.handles.is_empty() => {
                Object::Handle { handle: self.handle(process, view), strong }
            }
            8 => Object::File((!self.wild()).then(|| self.rng.below(2))),
            _ => Object::Node { node: self.node(), strong },
        }
    }
}

/// Whether a thread may sleep in the driver. Of two that wait for the work of
/// their process, the scheduler would decide who is faster.
fn may_wait(process: &Process, actor: Actor) -> bool {
    let free = |thread: &Thread| thread.calls == 0;
    let mine = free(&process.threads[actor.thread]);
    !mine || !process.threads.iter().any(|thread| thread.waits && free(thread))
}

/// Steps after which the manager has a strong handle of node 1 of every other
/// process, and these have one of each other.
fn introduction(processes: usize) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut step = |process, commands, read| {
        steps
            .push(Step { actor: Actor { process, thread: 0 }, action: Action::Do(commands, read) });
    };
    let oneway = |object| Message {
        code: 0,
        flags: TF_ONE_WAY,
        size: 0,
        objects: vec![object],
        spoil: Spoil::Nothing,
    };
    let node = Node { number: 1, wrong: false };
    let keep = |handle| vec![Command::Count(Count::Acquire, handle), Command::Free(Buffer::Newest)];
    for (process, handle) in (1..processes).zip(1u32..) {
        let own = Object::Node { node, strong: true };
        step(process, vec![Command::Call(0, oneway(own))], Read::Now(1024));
        let done = [Count::Increfs, Count::Acquire].map(|count| Command::Done(count, node));
        step(process, done.to_vec(), Read::No);
        step(0, Vec::new(), Read::Now(1024));
        step(0, keep(handle), Read::Now(1024));
    }
    for (process, target) in (1..processes).zip(1u32..) {
        for (other, handle) in (1..processes).zip(1u32..) {
            if other != process {
                let object = Object::Handle { handle, strong: true };
                step(0, vec![Command::Call(target, oneway(object))], Read::Now(1024));
                step(process, Vec::new(), Read::Now(1024));
                let own = if other < process { other } else { other - 1 };
                step(process, keep(own as u32), Read::No);
            }
        }
    }
    steps
}
