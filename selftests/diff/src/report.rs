// SPDX-License-Identifier: GPL-2.0
//! Traces and differences for people.

use anyhow::Result;

use crate::compare::Mismatch;
use crate::outcome::Outcome;
use crate::rules::Rules;
use crate::run::{Compared, Difference, Drivers};
use crate::script::{Actor, Script};
use crate::world::Trace;

/// Runs a script and prints everything; true if nothing unexpected was seen.
pub fn show(drivers: &Drivers, mut rules: Rules, script: &Script) -> Result<bool> {
    let compared = drivers.run(script, &mut rules)?;
    print!("{}", traces(script, &compared));
    for (rule, times) in rules.met().filter(|(_, times)| *times > 0) {
        println!("# as listed, {times} times: {}", rule.name);
    }
    if let Some(difference) = &compared.difference {
        println!("{}", describe(difference));
    }
    Ok(compared.difference.is_none())
}

/// A script with what both drivers did.
pub fn traces(script: &Script, compared: &Compared) -> String {
    let head = Script { steps: Vec::new(), ..script.clone() };
    let mut text = head.to_string();
    for (step, (c, ours)) in script.steps.iter().zip(&compared.traces) {
        text += &format!("{step}\n");
        if c == ours {
            lines(&mut text, "both", c);
        } else {
            lines(&mut text, "C", c);
            lines(&mut text, "ours", ours);
        }
    }
    text
}

fn lines(text: &mut String, who: &str, trace: &Trace) {
    *text += &format!("#   {who:<5}{}\n", trace.outcome);
    for (actor, outcome) in &trace.woken {
        *text += &woken(who, *actor, outcome);
    }
}

fn woken(who: &str, actor: Actor, outcome: &Outcome) -> String {
    format!("#   {who:<5}{actor} comes back: {outcome}\n")
}

/// A difference in words.
pub fn describe(difference: &Difference) -> String {
    let Mismatch { step, when, c, ours, only_c, only_ours } = &difference.mismatch;
    let mut text = format!("# differs at step {}: {step}", difference.step + 1);
    if !when.is_empty() {
        text += &format!(" ({})", when.join(", "));
    }
    text += &format!("\n#   C    {}\n#   ours {}", all(c, only_c), all(ours, only_ours));
    text
}

fn all(status: &str, items: &[String]) -> String {
    [&[status.to_string()], items].concat().join("; ")
}
