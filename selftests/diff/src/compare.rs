// SPDX-License-Identifier: GPL-2.0
//! Compares the traces of both drivers step by step.
//!
//! It knows little of Binder: which threads the C driver lets return at once
//! (`hasty`), and what one driver has told an actor earlier than the other.

use std::collections::HashMap;

use crate::outcome::{Item, Outcome};
use crate::rules::{Effect, Rules};
use crate::script::{Action, Actor, Command, Count, Node, Script, Step};
use crate::view::View;
use crate::world::Trace;

/// A reply whose completion may wait.
const TF_DEFER_COMPLETE: u32 = binder_client::uapi::TF_DEFER_COMPLETE;

/// Where and how two outcomes differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The action, or `woken`.
    pub step: String,
    /// What is true of the actor:
    ///
    /// * `hasty`: a new thread, or one that a flush has told to return;
    /// * `contended`: another thread of its process waits or acts at the same time;
    /// * `deferring`: it has answered with `TF_DEFER_COMPLETE` and not read since;
    /// * `unconfirmed`: its process has been told of a reference and not confirmed it;
    /// * `exited`: a thread of its process has left the driver;
    /// * `orphaned`: somebody ended who served a call and waited for another;
    /// * `small`: it reads into less than one return may need;
    /// * `ahead`: our driver has told it something that the C driver has not;
    /// * `behind`: one driver tells what the other has told before;
    /// * `overtaken`: what one driver has told early is not told by the other.
    pub when: Vec<&'static str>,
    /// Status and notes on the C driver.
    pub c: String,
    /// Status and notes on ours.
    pub ours: String,
    /// Returns that only the C driver has.
    pub only_c: Vec<String>,
    /// Returns that only ours has.
    pub only_ours: Vec<String>,
}

/// What a comparison says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The session can go on.
    Go,
    /// An expected difference ends the session.
    End,
    /// A difference that no entry expects.
    Differs(Box<Mismatch>),
}

/// The state of a comparison.
#[derive(Debug)]
pub struct Comparison {
    hasty: Vec<Vec<bool>>,
    exited: Vec<bool>,
    /// News of references that a process has been told and has not confirmed.
    unconfirmed: Vec<Vec<(Count, Node)>>,
    view: View,
    orphaned: bool,
    deferring: Vec<Vec<bool>>,
    waiting: Vec<Vec<bool>>,
    early: HashMap<Actor, Vec<Item>>,
    late: HashMap<Actor, Vec<Item>>,
}

impl Comparison {
    /// Before the first step.
    pub fn new(script: &Script) -> Self {
        Comparison {
            hasty: vec![vec![true; script.threads]; script.processes],
            exited: vec![false; script.processes],
            unconfirmed: vec![vec![]; script.processes],
            view: View::new(script),
            orphaned: false,
            deferring: vec![vec![false; script.threads]; script.processes],
            waiting: vec![vec![false; script.threads]; script.processes],
            early: HashMap::new(),
            late: HashMap::new(),
        }
    }

    /// Compares one step.
    pub fn step(&mut self, step: &Step, c: &Trace, ours: &Trace, rules: &mut Rules) -> Verdict {
        self.prepare(step);
        let text = step.action.to_string();
        let own = (step.actor, text.clone(), c.outcome.clone(), ours.outcome.clone());
        let mut pairs = vec![own];
        let mut woken: Vec<Actor> =
            c.woken.iter().chain(&ours.woken).map(|entry| entry.0).collect();
        woken.sort();
        woken.dedup();
        for actor in woken {
            let of = |trace: &Trace| {
                let found = trace.woken.iter().find(|entry| entry.0 == actor);
                found.map_or(Outcome::word("waits"), |entry| entry.1.clone())
            };
            pairs.push((actor, format!("woken by {text}"), of(c), of(ours)));
        }
        let mut verdict = Verdict::Go;
        for (actor, text, c, ours) in pairs {
            match self.outcomes(actor, text, c, ours, rules) {
                Verdict::Go => {}
                Verdict::End if verdict == Verdict::Go => verdict = Verdict::End,
                Verdict::End => {}
                differs => return differs,
            }
        }
        self.learn(step, c);
        verdict
    }

    fn outcomes(
        &mut self,
        actor: Actor,
        step: String,
        mut c: Outcome,
        mut ours: Outcome,
        rules: &mut Rules,
    ) -> Verdict {
        // The one that was early has nothing where the other catches up.
        let early = settle_debts(&mut c, &mut self.early, actor);
        let late = settle_debts(&mut ours, &mut self.late, actor);
        let overtaken = early == Debt::Overtaken || late == Debt::Overtaken;
        let paid = overtaken || early == Debt::Paid || late == Debt::Paid;
        let nothing = |outcome: &Outcome| {
            outcome.items.is_empty() && ["ok", "EAGAIN"].contains(&outcome.status.as_str())
        };
        if !overtaken && (c == ours || paid && nothing(&c) && nothing(&ours)) {
            return Verdict::Go;
        }
        let (only_c, only_ours) = extras(&c.items, &ours.items);
        let texts = |items: &[&Item]| items.iter().map(|item| item.to_string()).collect();
        let head = |outcome: &Outcome| Outcome { items: vec![], ..outcome.clone() }.to_string();
        let mut when = self.conditions(actor, &step);
        if overtaken {
            when.push("overtaken");
        }
        if paid {
            when.push("behind");
        }
        let mismatch = Mismatch {
            when,
            step,
            c: head(&c),
            ours: head(&ours),
            only_c: texts(&only_c),
            only_ours: texts(&only_ours),
        };
        let Some(rule) = rules.expect(&mismatch) else {
            return Verdict::Differs(Box::new(mismatch));
        };
        match rule.effect {
            Effect::None => {}
            Effect::End => return Verdict::End,
            Effect::Early => {
                self.early.entry(actor).or_default().extend(only_ours.into_iter().cloned())
            }
            Effect::Late => self.late.entry(actor).or_default().extend(only_c.into_iter().cloned()),
            Effect::Swapped => {
                self.early.entry(actor).or_default().extend(only_ours.into_iter().cloned());
                self.late.entry(actor).or_default().extend(only_c.into_iter().cloned());
            }
        }
        Verdict::Go
    }

    fn conditions(&self, actor: Actor, step: &str) -> Vec<&'static str> {
        let mut all = Vec::new();
        if self.hasty[actor.process][actor.thread] {
            all.push("hasty");
        }
        if self.early.get(&actor).is_some_and(|debt| !debt.is_empty()) {
            all.push("ahead");
        }
        if !self.unconfirmed[actor.process].is_empty() {
            all.push("unconfirmed");
        }
        if self.exited[actor.process] {
            all.push("exited");
        }
        if self.orphaned {
            all.push("orphaned");
        }
        if self.deferring[actor.process][actor.thread] {
            all.push("deferring");
        }
        let waiting = self.waiting[actor.process].iter().enumerate();
        if step.starts_with("woken")
            || waiting.filter(|(other, _)| *other != actor.thread).any(|(_, waits)| *waits)
        {
            all.push("contended");
        }
        let room = step.rsplit("read ").next().and_then(|size| size.parse().ok());
        if room.is_some_and(|size: usize| size < 80) {
            all.push("small");
        }
        all
    }

    /// What must be known of a step before its outcome is looked at.
    fn prepare(&mut self, step: &Step) {
        let Actor { process, thread } = step.actor;
        let threads = &self.view.processes[process].threads;
        let ended = match step.action {
            Action::Kill | Action::Close => &threads[..],
            Action::ThreadExit => &threads[thread..=thread],
            _ => &[],
        };
        self.orphaned |= ended.iter().any(|thread| thread.serves > 0 && thread.calls > 0);
        match &step.action {
            Action::ThreadExit => self.exited[process] = true,
            Action::Do(commands, _) => {
                let defers = |command: &Command| matches!(command, Command::Reply(message) if message.flags & TF_DEFER_COMPLETE != 0);
                self.deferring[process][thread] |= commands.iter().any(defers);
            }
            _ => {}
        }
    }

    /// Follows the threads: who is new or told to return, who waits.
    fn learn(&mut self, step: &Step, c: &Trace) {
        self.view.learn(step, c);
        self.waiting[step.actor.process][step.actor.thread] |= c.outcome.status == "waits";
        for (actor, _) in &c.woken {
            self.waiting[actor.process][actor.thread] = false;
        }
        self.learn_news(step, c);
        let complete =
            |outcome: &Outcome| outcome.items.contains(&Item::Plain("BR_TRANSACTION_COMPLETE"));
        for (actor, outcome) in c.woken.iter().chain([&(step.actor, c.outcome.clone())]) {
            if complete(outcome) {
                self.deferring[actor.process][actor.thread] = false;
            }
        }
        let Actor { process, thread } = step.actor;
        let threads = &mut self.hasty[process];
        match step.action {
            Action::Close if c.outcome.status == "busy" => {}
            Action::Flush | Action::Close | Action::Open | Action::Kill | Action::Spawn => {
                threads.fill(true);
            }
            Action::ThreadExit => threads[thread] = true,
            Action::Poll | Action::Signal | Action::Unmap => {}
            _ => threads[thread] = false,
        }
        match step.action {
            Action::Close if c.outcome.status == "busy" => {}
            Action::Close | Action::Kill => {
                self.waiting[process].fill(false);
                self.deferring[process].fill(false);
                self.unconfirmed[process].clear();
                self.early.retain(|actor, _| actor.process != process);
                self.late.retain(|actor, _| actor.process != process);
            }
            Action::ThreadExit => {
                self.early.remove(&step.actor);
                self.late.remove(&step.actor);
            }
            _ => {}
        }
    }
}

impl Comparison {
    /// Follows what is told of references and confirmed. A write that was not taken as a
    /// whole may have confirmed nothing.
    fn learn_news(&mut self, step: &Step, c: &Trace) {
        let news = &mut self.unconfirmed[step.actor.process];
        if let (Action::Do(commands, _), true) = (&step.action, c.outcome.is_whole()) {
            for command in commands {
                if let Command::Done(count, node) = command {
                    news.retain(|entry| entry != &(*count, *node));
                }
            }
        }
        for (actor, outcome) in c.woken.iter().chain([&(step.actor, c.outcome.clone())]) {
            self.unconfirmed[actor.process].extend(outcome.items.iter().filter_map(Item::news));
        }
    }
}

/// What became of the news that one driver has told before the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Debt {
    /// Nothing.
    Open,
    /// The other has told some of it, in order.
    Paid,
    /// The other has left some of it out.
    Overtaken,
}

/// Takes away from an outcome what the other driver has told before: to this
/// actor, or about a node to another thread of its process.
fn settle_debts(
    outcome: &mut Outcome,
    debts: &mut HashMap<Actor, Vec<Item>>,
    actor: Actor,
) -> Debt {
    let mut result = settle_debt(outcome, debts.get_mut(&actor));
    outcome.items.retain(|item| {
        let news = matches!(item, Item::Count(..));
        for (_, debt) in debts.iter_mut().filter(|(other, _)| other.process == actor.process) {
            let place = debt.iter().position(|owed| news && owed == item);
            if let Some(place) = place {
                debt.remove(place);
                result = if result == Debt::Open { Debt::Paid } else { result };
                return false;
            }
        }
        true
    });
    result
}

/// As [`settle_debts`] with one actor.
fn settle_debt(outcome: &mut Outcome, debt: Option<&mut Vec<Item>>) -> Debt {
    let Some(debt) = debt else { return Debt::Open };
    let mut result = Debt::Open;
    outcome.items.retain(|item| {
        let Some(place) = debt.iter().position(|owed| owed == item) else { return true };
        if place > 0 {
            result = Debt::Overtaken;
        } else if result == Debt::Open {
            result = Debt::Paid;
        }
        debt.drain(..=place);
        false
    });
    result
}

/// What only one of two lists has, besides their longest common part.
fn extras<'a>(c: &'a [Item], ours: &'a [Item]) -> (Vec<&'a Item>, Vec<&'a Item>) {
    // common[i][j]: the length of the longest common part from i and j on.
    let mut common = vec![vec![0; ours.len() + 1]; c.len() + 1];
    for i in (0..c.len()).rev() {
        for j in (0..ours.len()).rev() {
            common[i][j] = if c[i] == ours[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut only_c, mut only_ours) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < c.len() || j < ours.len() {
        if i < c.len() && j < ours.len() && c[i] == ours[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == ours.len() || i < c.len() && common[i + 1][j] >= common[i][j + 1] {
            only_c.push(&c[i]);
            i += 1;
        } else {
            only_ours.push(&ours[j]);
            j += 1;
        }
    }
    (only_c, only_ours)
}
