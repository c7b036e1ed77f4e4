// SPDX-License-Identifier: GPL-2.0
//! Makes the script of a difference as small as possible.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::compare::Mismatch;
use crate::rules::Rules;
use crate::run::{Difference, Drivers};
use crate::script::{Action, Command, Read, Script, Step};

/// Runs at most.
const RUNS: usize = 300;
/// Time at most.
const TIME: Duration = Duration::from_secs(60);

/// A difference and the script that shows it.
#[derive(Clone, Debug)]
pub struct Case {
    /// The script; its last step shows the difference.
    pub script: Script,
    /// The difference.
    pub difference: Difference,
}

struct Shrinker<'a> {
    drivers: &'a Drivers,
    rules: Rules,
    left: usize,
    end: Instant,
    best: Case,
}

/// Takes away whatever the difference does not need.
pub fn shrink(drivers: &Drivers, rules: &Rules, case: Case) -> Result<Case> {
    let end = Instant::now() + TIME;
    let mut shrinker = Shrinker { drivers, rules: rules.clone(), left: RUNS, end, best: case };
    shrinker.best.script.steps.truncate(shrinker.best.difference.step + 1);
    loop {
        let before = shrinker.best.script.clone();
        shrinker.drop_steps()?;
        shrinker.drop_actors()?;
        shrinker.simplify_steps()?;
        if shrinker.best.script == before || shrinker.is_over() {
            return Ok(shrinker.best);
        }
    }
}

impl Shrinker<'_> {
    fn is_over(&self) -> bool {
        self.left == 0 || Instant::now() >= self.end
    }

    /// Leaves out processes and threads that do nothing.
    fn drop_actors(&mut self) -> Result<()> {
        let mut script = self.best.script.clone();
        let last = |of: fn(&Step) -> usize| script.steps.iter().map(of).max().unwrap_or(0) + 1;
        let processes = last(|step| step.actor.process);
        let threads = last(|step| step.actor.thread);
        (script.processes, script.threads) = (processes, threads);
        self.attempt(script).map(drop)
    }

    /// Leaves out ranges of steps, first long ones.
    fn drop_steps(&mut self) -> Result<()> {
        let mut length = self.best.script.steps.len() / 2;
        while length > 0 {
            let mut end = self.best.script.steps.len().saturating_sub(1);
            while end > 0 {
                let start = end.saturating_sub(length);
                let mut script = self.best.script.clone();
                script.steps.drain(start..end);
                self.attempt(script)?;
                end = start.min(self.best.script.steps.len().saturating_sub(1));
            }
            length /= 2;
        }
        Ok(())
    }

    /// Leaves out commands and objects, makes the rest plain.
    fn simplify_steps(&mut self) -> Result<()> {
        let mut number = 0;
        while number < self.best.script.steps.len() {
            for simpler in simpler(&self.best.script.steps[number]) {
                let mut script = self.best.script.clone();
                script.steps[number] = simpler;
                if self.attempt(script)? {
                    break;
                }
            }
            number += 1;
        }
        Ok(())
    }

    /// Keeps a script that still shows the difference.
    fn attempt(&mut self, script: Script) -> Result<bool> {
        if self.is_over() || script == self.best.script {
            return Ok(false);
        }
        self.left -= 1;
        let compared = self.drivers.run(&script, &mut self.rules)?;
        let Some(difference) = compared.difference else { return Ok(false) };
        if kind(&difference.mismatch) != kind(&self.best.difference.mismatch) {
            return Ok(false);
        }
        self.best = Case { script, difference };
        let end = self.best.difference.step + 1;
        self.best.script.steps.truncate(end);
        Ok(true)
    }
}

/// What must stay the same: the statuses but for their numbers, the names of the
/// returns, and what kind of step it is.
fn kind(mismatch: &Mismatch) -> [Vec<String>; 5] {
    let word = |text: &str| text.split(' ').next().unwrap_or_default().to_string();
    let words = |texts: &[String]| {
        let mut words: Vec<String> = texts.iter().map(|text| word(text)).collect();
        words.dedup();
        words
    };
    let plain = |text: &str| vec![text.replace(|letter: char| letter.is_ascii_digit(), "")];
    let Mismatch { step, c, ours, only_c, only_ours, .. } = mismatch;
    let last = word(step.rsplit("| ").next().unwrap_or_default());
    [vec![last], plain(c), plain(ours), words(only_c), words(only_ours)]
}

/// Simpler forms of a step, the simplest first.
fn simpler(step: &Step) -> Vec<Step> {
    let Action::Do(commands, read) = &step.action else { return Vec::new() };
    let mut all = Vec::new();
    let mut add = |commands: Vec<Command>, read: Read| {
        all.push(Step { actor: step.actor, action: Action::Do(commands, read) });
    };
    for number in 0..commands.len() {
        let mut fewer = commands.clone();
        fewer.remove(number);
        add(fewer, *read);
    }
    if !commands.is_empty() {
        add(commands.clone(), Read::No);
    }
    if *read != Read::Now(1024) && matches!(read, Read::Now(_)) {
        add(commands.clone(), Read::Now(1024));
    }
    for (number, command) in commands.iter().enumerate() {
        let (Command::Call(_, message) | Command::Reply(message)) = command else { continue };
        let mut messages = Vec::new();
        for object in 0..message.objects.len() {
            let mut fewer = message.clone();
            fewer.objects.remove(object);
            messages.push(fewer);
        }
        messages.push(crate::script::Message { size: 0, ..message.clone() });
        messages.push(crate::script::Message { code: 0, ..message.clone() });
        for bit in 0..8 {
            messages.push(crate::script::Message {
                flags: message.flags & !(1 << bit),
                ..message.clone()
            });
        }
        for simple in messages.into_iter().filter(|simple| simple != message) {
            let mut changed = commands.clone();
            match &mut changed[number] {
                Command::Call(_, message) | Command::Reply(message) => *message = simple,
                _ => {}
            }
            add(changed, *read);
        }
    }
    all
}
