// SPDX-License-Identifier: GPL-2.0
//! Lines and their parts.

use std::str::FromStr;

/// A line that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: {expected} expected at {at:?} in {line:?}")]
pub struct Malformed {
    /// Counted from 1.
    pub number: usize,
    /// The line.
    pub line: String,
    /// Where in it.
    pub at: String,
    /// What was expected there.
    pub expected: String,
}

/// The rest of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scan<'a> {
    number: usize,
    line: &'a str,
    rest: &'a str,
}

pub(super) type Scanned<T> = Result<T, Malformed>;

impl<'a> Scan<'a> {
    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    pub(super) fn malformed(&self, expected: impl Into<String>) -> Malformed {
        Malformed {
            number: self.number,
            line: self.line.to_owned(),
            at: self.rest.to_owned(),
            expected: expected.into(),
        }
    }

    /// Goes over `text`, if it is next.
    pub(super) fn skip(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Goes over `text`, which must be next.
    pub(super) fn expect(&mut self, text: &str) -> Scanned<()> {
        if self.skip(text) {
            Ok(())
        } else {
            Err(self.malformed(format!("{text:?}")))
        }
    }

    /// All up to the first character that does not belong to a word.
    pub(super) fn word(&mut self) -> &'a str {
        let end = self.rest.find([' ', ':', ',', '\n']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// A decimal number.
    pub(super) fn number<T: FromStr>(&mut self) -> Scanned<T> {
        let before = *self;
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != '-');
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        digits.parse().map_err(|_| before.malformed("a number"))
    }

    /// A hexadecimal number.
    pub(super) fn hex(&mut self) -> Scanned<u64> {
        let before = *self;
        let end = self.rest.find(|c: char| !c.is_ascii_hexdigit());
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        u64::from_str_radix(digits, 16).map_err(|_| before.malformed("a hexadecimal number"))
    }

    /// A pointer: sixteen digits, or what the kernel prints while it cannot hash yet.
    pub(super) fn pointer(&mut self) -> Scanned<u64> {
        let before = *self;
        if self.skip("(____ptrval____)") {
            return Ok(0);
        }
        let value = self.hex()?;
        if before.rest.len() - self.rest.len() == 16 {
            Ok(value)
        } else {
            Err(before.malformed("a pointer of sixteen digits"))
        }
    }

    /// `text` and a number behind it.
    pub(super) fn field<T: FromStr>(&mut self, text: &str) -> Scanned<T> {
        self.expect(text)?;
        self.number()
    }

    /// A flag behind `text`: 0 or 1.
    pub(super) fn flag(&mut self, text: &str) -> Scanned<bool> {
        self.expect(text)?;
        let before = *self;
        match self.number::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(before.malformed("0 or 1")),
        }
    }

    /// The line must end here.
    pub(super) fn end(&self) -> Scanned<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.malformed("the end of the line"))
        }
    }
}

/// The lines of a file, of which the next can be looked at.
#[derive(Clone, Debug)]
pub(super) struct Lines<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

impl<'a> Lines<'a> {
    /// Fails if the last line has no end.
    pub(super) fn new(text: &'a str) -> Scanned<Self> {
        let mut lines: Vec<&str> = text.split('\n').collect();
        let last = lines.pop().unwrap_or("");
        let count = lines.len();
        if last.is_empty() {
            Ok(Lines { lines, next: 0 })
        } else {
            let scan = Scan { number: count + 1, line: last, rest: last };
            Err(scan.malformed("a line that ends"))
        }
    }

    /// The next line.
    pub(super) fn peek(&self) -> Option<Scan<'a>> {
        let line = self.lines.get(self.next)?;
        Some(Scan { number: self.next + 1, line, rest: line })
    }

    /// Takes the next line if it begins with `start`, and goes over that.
    pub(super) fn take(&mut self, start: &str) -> Option<Scan<'a>> {
        let mut scan = self.peek()?;
        if !scan.skip(start) {
            return None;
        }
        self.next += 1;
        Some(scan)
    }

    /// Takes the next line, which must begin with `start`.
    pub(super) fn demand(&mut self, start: &str) -> Scanned<Scan<'a>> {
        let next = self.next;
        self.take(start).ok_or_else(|| {
            let line = self.lines.get(next).copied().unwrap_or("");
            Scan { number: next + 1, line, rest: line }.malformed(format!("{start:?}"))
        })
    }

    /// There must be no more lines.
    pub(super) fn end(&self) -> Scanned<()> {
        match self.peek() {
            None => Ok(()),
            Some(scan) => Err(scan.malformed("a known line")),
        }
    }
}
