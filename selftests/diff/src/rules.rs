// SPDX-License-Identifier: GPL-2.0
//! The expected differences between the drivers, as a data file lists them.
//!
//! An entry says at which steps the drivers may differ, how, and why. What it
//! does not say must be equal.

use anyhow::{bail, Context, Result};
use serde::Deserialize;

use crate::compare::Mismatch;

/// What a difference means for the rest of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing: the drivers are in the same state afterwards.
    #[default]
    None,
    /// Our driver has told the actor something that the C driver tells it later.
    Early,
    /// The C driver has told the actor something that ours tells it later.
    Late,
    /// Both have told the actor something that the other tells it later.
    Swapped,
    /// The drivers are in different states: the session is over.
    End,
}

/// One expected difference.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its name in messages.
    pub name: String,
    /// Steps at which it may be seen; `*` stands for anything. `woken` is the
    /// return of an actor that waited.
    #[serde(default = "anything")]
    pub step: Vec<String>,
    /// What must be true of the actor, see [`crate::compare`].
    #[serde(default)]
    pub when: Vec<String>,
    /// Status and notes on the C driver, if they differ.
    #[serde(default)]
    pub c: Option<String>,
    /// Status and notes on our driver, if they differ.
    #[serde(default)]
    pub ours: Option<String>,
    /// Patterns of returns that only the C driver has.
    #[serde(default)]
    pub only_c: Vec<String>,
    /// Patterns of returns that only our driver has.
    #[serde(default)]
    pub only_ours: Vec<String>,
    /// What follows from it.
    #[serde(default)]
    pub effect: Effect,
    /// Why it is so.
    pub reason: String,
    /// The label in Documentation/differences.rst.
    pub see: String,
}

fn anything() -> Vec<String> {
    vec!["*".into()]
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    difference: Vec<Rule>,
}

/// All rules, and how often each was met.
#[derive(Clone, Debug)]
pub struct Rules {
    rules: Vec<Rule>,
    met: Vec<usize>,
}

impl Rules {
    /// Reads a data file.
    pub fn parse(text: &str) -> Result<Self> {
        let File { difference: rules } = toml::from_str(text).context("the list of differences")?;
        for (number, rule) in rules.iter().enumerate() {
            if rules[..number].iter().any(|other| other.name == rule.name) {
                bail!("the list of differences has two entries `{}`", rule.name);
            }
            if rule.reason.is_empty() || rule.see.is_empty() {
                bail!("the entry `{}` needs a reason and a label to see", rule.name);
            }
        }
        let met = vec![0; rules.len()];
        Ok(Rules { rules, met })
    }

    /// The first entry that expects a mismatch; counts it.
    pub fn expect(&mut self, mismatch: &Mismatch) -> Option<&Rule> {
        let found = self.rules.iter().position(|rule| rule.covers(mismatch))?;
        self.met[found] += 1;
        Some(&self.rules[found])
    }

    /// Every entry and how often it was met.
    pub fn met(&self) -> impl Iterator<Item = (&Rule, usize)> {
        self.rules.iter().zip(self.met.iter().copied())
    }
}

impl Rule {
    fn covers(&self, mismatch: &Mismatch) -> bool {
        let status = |pattern: &Option<String>, seen: &str| match pattern {
            Some(pattern) => matches(pattern, seen),
            None => mismatch.c == mismatch.ours,
        };
        let items = |patterns: &[String], seen: &[String]| {
            seen.iter().all(|item| patterns.iter().any(|pattern| matches(pattern, item)))
        };
        // An entry that names returns is about them; an empty pattern also means none, as `*` does.
        let some = |patterns: &[String], seen: &[String]| {
            patterns.is_empty()
                || !seen.is_empty()
                || patterns.iter().any(|pattern| ["", "*"].contains(&pattern.as_str()))
        };
        self.step.iter().any(|pattern| matches(pattern, &mismatch.step))
            && self.when.iter().all(|word| mismatch.when.contains(&word.as_str()))
            && status(&self.c, &mismatch.c)
            && status(&self.ours, &mismatch.ours)
            && items(&self.only_c, &mismatch.only_c)
            && items(&self.only_ours, &mismatch.only_ours)
            && some(&self.only_c, &mismatch.only_c)
            && some(&self.only_ours, &mismatch.only_ours)
    }
}

/// Whether a text matches a pattern in which `*` stands for anything.
pub fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(head) else { return false };
    let mut places = text.char_indices().map(|(place, _)| place).chain([text.len()]);
    places.any(|place| matches(rest, &text[place..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
[[difference]]
name = "early"
step = ["*read*", "woken"]
when = ["new"]
c = "EAGAIN"
ours = "ok"
only_ours = ["BR_A", "BR_B *"]
effect = "early"
reason = "why"
see = "label"
"#;

    fn mismatch() -> Mismatch {
        Mismatch {
            step: "free oldest | read 80".into(),
            when: vec!["new"],
            c: "EAGAIN".into(),
            ours: "ok".into(),
            only_c: vec![],
            only_ours: vec!["BR_A".into(), "BR_B 7".into()],
        }
    }

    #[test]
    fn stars_match_anything() {
        for (pattern, text, expected) in [
            ("a*c", "abbc", true),
            ("a*c", "ac", true),
            ("a*c", "acd", false),
            ("*", "", true),
            ("a", "ab", false),
            ("*b*", "abc", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn entry_covers_what_it_says_and_no_more() {
        let mut rules = Rules::parse(TEXT).unwrap();
        assert_eq!(rules.expect(&mismatch()).map(|rule| rule.effect), Some(Effect::Early));
        let other = |change: &dyn Fn(&mut Mismatch)| {
            let mut other = mismatch();
            change(&mut other);
            other
        };
        for other in [
            other(&|it| it.step = "poll".into()),
            other(&|it| it.when.clear()),
            other(&|it| it.c = "ok".into()),
            other(&|it| it.only_c.push("BR_A".into())),
            other(&|it| it.only_ours.push("BR_C".into())),
            other(&|it| it.only_ours.clear()),
        ] {
            assert!(rules.expect(&other).is_none(), "{other:?}");
        }
        assert_eq!(rules.met().next().unwrap().1, 1);
    }

    #[test]
    fn entries_are_complete_and_unique() {
        assert!(Rules::parse(&TEXT.repeat(2)).unwrap_err().to_string().contains("two entries"));
        assert!(Rules::parse(&TEXT.replace("why", "")).is_err());
        assert!(Rules::parse(&TEXT.replace("when", "whenever")).is_err());
    }
}
