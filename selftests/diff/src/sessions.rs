// SPDX-License-Identifier: GPL-2.0
//! Random sessions until enough steps were compared, as KTAP.

use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::Args;

use crate::outcome::Item;
use crate::parse;
use crate::report;
use crate::rules::Rules;
use crate::run::{Compared, Difference, Drivers};
use crate::script::Script;
use crate::scripts::SCRIPTS;
use crate::shrink::{shrink, Case};

/// Steps of a session.
pub const LENGTH: usize = 80;
/// The fixed seeds begin here.
const FIXED: u64 = 1;
/// With fewer steps than these not every expected difference is met.
const MET: usize = 8_000;
/// Differences after which a run ends.
const ENOUGH: usize = 5;
/// Differences that do not come again, and are borne.
const UNSTEADY: usize = 3;
/// How often a difference must come again.
const REPEATS: usize = 2;
/// The returns that sessions must reach, or they are not what they should be.
const RETURNS: [&str; 14] = [
    "BR_ACQUIRE",
    "BR_CLEAR_DEATH_NOTIFICATION_DONE",
    "BR_DEAD_BINDER",
    "BR_DEAD_REPLY",
    "BR_DECREFS",
    "BR_FAILED_REPLY",
    "BR_INCREFS",
    "BR_ONEWAY_SPAM_SUSPECT",
    "BR_RELEASE",
    "BR_REPLY",
    "BR_SPAWN_LOOPER",
    "BR_TRANSACTION",
    "BR_TRANSACTION_COMPLETE",
    "file:",
];

/// How much to compare.
#[derive(Args)]
pub struct Options {
    /// Steps to compare; 0 means without end.
    #[arg(long, default_value_t = 10_000)]
    steps: usize,
    /// The seed of the first session; the next ones follow. Without it, all
    /// steps are of fixed seeds, unless they have no end.
    #[arg(long)]
    seed: Option<u64>,
    /// Steps of a session.
    #[arg(long, default_value_t = LENGTH)]
    length: usize,
    /// Print differences as they are found, do not shrink them.
    #[arg(long)]
    quick: bool,
}

/// The state of a run.
struct Run<'a> {
    drivers: &'a Drivers,
    options: &'a Options,
    rules: Rules,
    returns: BTreeMap<&'static str, usize>,
    cases: usize,
    failed: usize,
    steps: usize,
    unsteady: usize,
}

/// Runs sessions; true if nothing unexpected was seen.
pub fn run(drivers: &Drivers, rules: Rules, options: &Options) -> Result<bool> {
    let returns = RETURNS.iter().map(|name| (*name, 0)).collect();
    let mut run =
        Run { drivers, options, rules, returns, cases: 0, failed: 0, steps: 0, unsteady: 0 };
    let start = Instant::now();
    println!("KTAP version 1");
    if options.seed.is_none() {
        for (name, text) in SCRIPTS {
            run.script(name, text)?;
        }
        run.sessions("sessions_of_fixed_seeds", FIXED, options.steps)?;
        if options.steps >= MET {
            run.every_entry_was_met();
            run.every_return_was_reached();
        }
    }
    // A change is judged by the same sessions each time; who looks for more names a seed,
    // or wants no end.
    if options.seed.is_some() || options.steps == 0 {
        let seed = options.seed.unwrap_or_else(today);
        run.sessions("sessions_of_another_seed", seed, options.steps)?;
    }
    println!("# {} steps in {:.0} s", run.steps, start.elapsed().as_secs_f64());
    println!("1..{}", run.cases);
    Ok(run.failed == 0)
}

fn today() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(1, |time| time.as_nanos() as u64 >> 16)
}

impl Run<'_> {
    /// The result of a case.
    fn result(&mut self, name: &str, ok: bool) {
        self.cases += 1;
        self.failed += usize::from(!ok);
        println!("{}ok {} {name}", if ok { "" } else { "not " }, self.cases);
    }

    /// A script that once showed a bug.
    fn script(&mut self, name: &str, text: &str) -> Result<()> {
        let script = parse::script(text).with_context(|| format!("the script {name}"))?;
        let compared = self.drivers.run(&script, &mut self.rules)?;
        self.steps += compared.steps;
        self.count(&compared);
        if let Some(difference) = &compared.difference {
            print!("{}", report::traces(&script, &compared));
            println!("{}", report::describe(difference));
        }
        self.result(&format!("script_{name}"), compared.difference.is_none());
        Ok(())
    }

    /// Sessions of a seed and the next ones; 0 steps are no end.
    fn sessions(&mut self, name: &str, first: u64, steps: usize) -> Result<()> {
        println!("# seed {first}");
        let end = self.steps + steps;
        let mut found = 0;
        let mut seed = first;
        while (steps == 0 || self.steps < end) && found < ENOUGH {
            let (script, traces) = self.drivers.generate(seed, self.options.length)?;
            let compared = self.drivers.compare(&script, traces, &mut self.rules)?;
            self.steps += compared.steps;
            self.count(&compared);
            if let Some(difference) = compared.difference {
                found += usize::from(self.found(seed, script, difference)?);
            }
            seed = seed.wrapping_add(1);
        }
        println!("# up to seed {seed}: {} steps so far", self.steps);
        self.result(name, found == 0);
        Ok(())
    }

    /// Reports a difference; true if it is a failure.
    fn found(&mut self, seed: u64, script: Script, difference: Difference) -> Result<bool> {
        println!("# seed {seed}");
        println!("{}", report::describe(&difference));
        if self.options.quick {
            return Ok(true);
        }
        for _ in 0..REPEATS {
            let again = self.drivers.run(&script, &mut self.rules.clone())?.difference;
            if again.is_none_or(|again| again.step != difference.step) {
                self.unsteady += 1;
                println!("# it did not come again ({} of {UNSTEADY} such)", self.unsteady);
                return Ok(self.unsteady > UNSTEADY);
            }
        }
        let case = shrink(self.drivers, &self.rules, Case { script, difference })?;
        println!("# the smallest script that shows it:");
        report::show(self.drivers, self.rules.clone(), &case.script)?;
        Ok(true)
    }

    fn count(&mut self, compared: &Compared) {
        for (trace, _) in &compared.traces {
            let woken = trace.woken.iter().map(|(_, outcome)| outcome);
            for item in woken.chain([&trace.outcome]).flat_map(|outcome| &outcome.items) {
                let text = item.to_string();
                let word = text.split(' ').next().unwrap_or_default();
                if let Some(count) = self.returns.get_mut(word) {
                    *count += 1;
                }
                if matches!(item, Item::Transaction(_) | Item::Reply(_)) && text.contains(" file:")
                {
                    *self.returns.entry("file:").or_default() += 1;
                }
            }
        }
    }

    fn every_entry_was_met(&mut self) {
        let mut all = true;
        for (rule, times) in self.rules.met() {
            println!("# as listed, {times} times: {}", rule.name);
            if times == 0 {
                println!("#   the drivers do not differ so any more: remove the entry");
                all = false;
            }
        }
        self.result("every_listed_difference_was_met", all);
    }

    fn every_return_was_reached(&mut self) {
        let mut all = true;
        for (name, times) in &self.returns {
            println!("# {times} times: {name}");
            all &= *times > 0;
        }
        self.result("every_return_was_reached", all);
    }
}
