// SPDX-License-Identifier: GPL-2.0
//! Runs a session on both drivers.

use anyhow::Result;

use crate::compare::{Comparison, Mismatch, Verdict};
use crate::generate::Generator;
use crate::rules::Rules;
use crate::script::Script;
use crate::view::View;
use crate::world::{Driver, Trace, World};

/// Both drivers.
#[derive(Clone, Debug)]
pub struct Drivers {
    /// The C driver.
    pub c: Driver,
    /// Ours.
    pub ours: Driver,
}

/// A difference that no entry expects.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The number of its step.
    pub step: usize,
    /// How it looks.
    pub mismatch: Mismatch,
}

/// A comparison that was carried out.
#[derive(Debug)]
pub struct Compared {
    /// Steps that both drivers carried out.
    pub steps: usize,
    /// The first difference.
    pub difference: Option<Difference>,
    /// The traces as far as they were compared.
    pub traces: Vec<(Trace, Trace)>,
}

impl Drivers {
    /// Makes a session of a seed on the C driver, at most `steps` long. Returns
    /// it with its traces.
    pub fn generate(&self, seed: u64, steps: usize) -> Result<(Script, Vec<Trace>)> {
        let mut generator = Generator::new(seed);
        let mut script = generator.script();
        let mut first = generator.opening(&script).into_iter();
        let mut view = View::new(&script);
        let mut traces = Vec::new();
        let mut world = World::start(&self.c, &script)?;
        while script.steps.len() < steps {
            let step = first.next().unwrap_or_else(|| generator.next(&view));
            let trace = world.step(&step)?;
            view.learn(&step, &trace);
            script.steps.push(step);
            traces.push(trace);
        }
        world.end()?;
        Ok((script, traces))
    }

    /// Runs a script on both drivers.
    pub fn run(&self, script: &Script, rules: &mut Rules) -> Result<Compared> {
        let traces = trace(&self.c, script)?;
        self.compare(script, traces, rules)
    }

    /// Runs a script on our driver and compares it with the traces of the C driver.
    pub fn compare(&self, script: &Script, c: Vec<Trace>, rules: &mut Rules) -> Result<Compared> {
        let mut world = World::start(&self.ours, script)?;
        let mut comparison = Comparison::new(script);
        let mut compared = Compared { steps: 0, difference: None, traces: Vec::new() };
        for (step, c) in script.steps.iter().zip(c) {
            let ours = world.step(step)?;
            let verdict = comparison.step(step, &c, &ours, rules);
            compared.traces.push((c, ours));
            compared.steps += 1;
            match verdict {
                Verdict::Go => {}
                Verdict::End => break,
                Verdict::Differs(mismatch) => {
                    let step = compared.steps - 1;
                    compared.difference = Some(Difference { step, mismatch: *mismatch });
                    break;
                }
            }
        }
        world.end()?;
        Ok(compared)
    }
}

/// Runs a script on one driver.
pub fn trace(driver: &Driver, script: &Script) -> Result<Vec<Trace>> {
    let mut world = World::start(driver, script)?;
    let traces = script.steps.iter().map(|step| world.step(step)).collect::<Result<_>>()?;
    world.end()?;
    Ok(traces)
}
