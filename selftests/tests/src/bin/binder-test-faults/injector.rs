// SPDX-License-Identifier: GPL-2.0
//! The kernel's fault injection: make the n-th thing that can fail, fail.
//!
//! `/proc/thread-self/fail-nth` counts allocations and copies from and to user
//! space of one thread. Writing n makes the n-th of them fail; what is read
//! afterwards says if that has happened.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use binder_client::ktap::Failure;
use binder_client::{check, fail, skip};

/// More things that can fail than any single operation here has.
const MOST: u32 = 2000;

/// The kernel's switches. Without them it fails only what must not wait.
const SWITCHES: [(&str, &str); 7] = [
    ("failslab/ignore-gfp-wait", "N"),
    ("failslab/verbose", "0"),
    ("fail_page_alloc/ignore-gfp-wait", "N"),
    ("fail_page_alloc/ignore-gfp-highmem", "N"),
    ("fail_page_alloc/min-order", "0"),
    ("fail_page_alloc/verbose", "0"),
    ("fail_usercopy/verbose", "0"),
];

/// The calling thread's counter of things that can fail.
pub struct Injector {
    file: File,
}

impl Injector {
    /// Opens the counter; skips the case where the kernel has none.
    pub fn new() -> Result<Self, Failure> {
        let path = "/proc/thread-self/fail-nth";
        match File::options().read(true).write(true).open(path) {
            Ok(file) => Ok(Injector { file }),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                skip!("needs a kernel with CONFIG_FAULT_INJECTION ({path} is missing)")
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Runs `operation`, in which the n-th thing fails. The second value is
    /// true if that happened, false if the operation has fewer such things.
    fn fail_nth<T>(&mut self, n: u32, operation: impl FnOnce() -> T) -> (T, bool) {
        let text = n.to_string();
        let armed = self.file.write_all(text.as_bytes());
        let result = operation();
        let mut left = [0u8; 16];
        // The file cannot seek, but be read at a place.
        let read = self.file.read_at(&mut left, 0);
        self.disarm();
        armed.expect("fail-nth takes a number");
        // The read copies to user space too. If that was what failed, then the
        // operation had let it pass.
        let fired = matches!(read, Ok(length) if left[..length].trim_ascii() == b"0");
        (result, fired)
    }

    /// Writing copies from user space, so it can be what fails: try again.
    fn disarm(&mut self) {
        while self.file.write_all(b"0").is_err() {}
    }
}

/// Sets the kernel's switches; skips the case where there are none.
fn set_switches() -> Result<(), Failure> {
    let base = Path::new("/sys/kernel/debug");
    if !base.join("failslab").exists() {
        skip!("needs CONFIG_FAILSLAB, and debugfs mounted at {}", base.display());
    }
    for (name, value) in SWITCHES {
        let path = base.join(name);
        if path.exists() {
            fs::write(&path, value)?;
        }
    }
    Ok(())
}

/// One attempt of a [`sweep`].
pub struct Shot {
    n: u32,
    fired: Option<bool>,
}

impl Shot {
    /// Runs the operation that is to meet a failure, once per attempt, on the
    /// calling thread. Keep it to one system call: whatever else it does can
    /// be what fails.
    pub fn fire<T>(&mut self, operation: impl FnOnce() -> T) -> Result<T, Failure> {
        check!(self.fired.is_none(), "one operation per attempt");
        let (result, fired) = Injector::new()?.fail_nth(self.n, operation);
        self.fired = Some(fired);
        Ok(result)
    }

    /// True if something failed inside the operation. An operation in which
    /// nothing failed must have succeeded.
    pub fn fired(&self) -> bool {
        self.fired == Some(true)
    }
}

/// Repeats `attempt` with the first thing failing, the second, and so on,
/// until there is nothing left to fail. There must be one.
pub fn sweep(attempt: impl FnMut(&mut Shot) -> Result<(), Failure>) -> Result<(), Failure> {
    let things = count_failures(attempt)?;
    check!(things > 0, "at least one thing in the operation can fail");
    Ok(())
}

/// As [`sweep`] for an operation in which nothing needs to be able to fail; says how much
/// can.
pub fn count_failures(
    mut attempt: impl FnMut(&mut Shot) -> Result<(), Failure>,
) -> Result<u32, Failure> {
    Injector::new()?;
    set_switches()?;
    for n in 1..=MOST {
        let mut shot = Shot { n, fired: None };
        attempt(&mut shot).map_err(|failure| with_number(failure, n))?;
        match shot.fired {
            Some(true) => {}
            Some(false) => {
                println!("{} things can fail", n - 1);
                return Ok(n - 1);
            }
            None => fail!("attempt {n} ended without its operation"),
        }
    }
    fail!("an operation in which more than {MOST} things can fail")
}

fn with_number(failure: Failure, n: u32) -> Failure {
    match failure {
        Failure::Fail { what, expected, seen, place } => {
            Failure::Fail { what: format!("{what} (failure number {n})"), expected, seen, place }
        }
        skip => skip,
    }
}
