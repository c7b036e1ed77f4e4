// SPDX-License-Identifier: GPL-2.0
//! The output: KTAP, version 1.

use std::io::{self, Write};

use super::Failure;

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Cases that passed.
    pub pass: usize,
    /// Cases that failed.
    pub fail: usize,
    /// Cases that were skipped.
    pub skip: usize,
}

/// Writes the lines of one run.
#[derive(Debug)]
pub struct Report<W> {
    out: W,
    totals: Totals,
}

impl<W: Write> Report<W> {
    /// Writes the version line and the plan for `count` cases.
    pub fn start(mut out: W, count: usize, notes: &[String]) -> io::Result<Self> {
        writeln!(out, "KTAP version 1")?;
        writeln!(out, "1..{count}")?;
        for note in notes {
            writeln!(out, "# {note}")?;
        }
        out.flush()?;
        Ok(Report { out, totals: Totals::default() })
    }

    /// Writes the diagnostics and the result of one case.
    ///
    /// `output` is what the case printed itself.
    pub fn case(
        &mut self,
        name: &str,
        output: &str,
        result: &Result<(), Failure>,
    ) -> io::Result<()> {
        let number = self.totals.pass + self.totals.fail + self.totals.skip + 1;
        for line in output.lines() {
            writeln!(self.out, "# {line}")?;
        }
        match result {
            Ok(()) => {
                self.totals.pass += 1;
                writeln!(self.out, "ok {number} {name}")?;
            }
            Err(Failure::Skip(reason)) => {
                self.totals.skip += 1;
                writeln!(self.out, "ok {number} {name} # SKIP {}", one_line(reason))?;
            }
            Err(Failure::Fail { what, expected, seen, place }) => {
                self.totals.fail += 1;
                writeln!(self.out, "# {name}: {}", one_line(what))?;
                writeln!(self.out, "#   expected: {}", one_line(expected))?;
                writeln!(self.out, "#   seen:     {}", one_line(seen))?;
                writeln!(self.out, "#   at {place}")?;
                writeln!(self.out, "not ok {number} {name}")?;
            }
        }
        self.out.flush()
    }

    /// Writes the summary and returns the counts.
    pub fn finish(mut self) -> io::Result<Totals> {
        let Totals { pass, fail, skip } = self.totals;
        writeln!(
            self.out,
            "# Totals: pass:{pass} fail:{fail} xfail:0 xpass:0 skip:{skip} error:0"
        )?;
        self.out.flush()?;
        Ok(self.totals)
    }
}

/// Keeps a text inside its line of the report.
fn one_line(text: &str) -> String {
    text.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_the_format_says() {
        let mut out = Vec::new();
        let mut report = Report::start(&mut out, 3, &["device: /dev/x".into()]).unwrap();
        report.case("good", "", &Ok(())).unwrap();
        report.case("odd", "said\nso", &Err(Failure::skip("no second device"))).unwrap();
        let fail = Failure::Fail {
            what: "version".into(),
            expected: "8".into(),
            seen: "7\n".into(),
            place: "a.rs:1".into(),
        };
        report.case("bad", "", &Err(fail)).unwrap();
        let totals = report.finish().unwrap();
        assert_eq!(totals, Totals { pass: 1, fail: 1, skip: 1 });
        let expected = "KTAP version 1\n1..3\n# device: /dev/x\nok 1 good\n# said\n# so\n\
            ok 2 odd # SKIP no second device\n# bad: version\n#   expected: 8\n\
            #   seen:     7\\n\n#   at a.rs:1\nnot ok 3 bad\n\
            # Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
