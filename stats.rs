// SPDX-License-Identifier: GPL-2.0

//! Counters: commands, returns, objects.
//!
//! Every thread counts for itself, in memory that only it writes, so that counting costs
//! neither an atomic operation nor a shared cache line. What a thread counted is added
//! to its process as it ends, and that to a total as the file is closed; who reads adds up.

use core::{
    ffi::CStr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use kernel::fmt::{self, Write};

use crate::defs::{Command, Return};

/// Numbers of commands and of returns that are counted. More than there are, so that
/// new ones only need a name.
const NUMBERS: usize = 32;

/// Names with one prefix, in the order of their numbers.
macro_rules! names {
    ($prefix:literal $($name:ident)*) => {
        [$(c_name(concat!($prefix, stringify!($name), "\0"))),*]
    };
}

/// For use in constants only: a name without its end does not compile.
const fn c_name(name: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(name.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!(),
    }
}

/// Names of commands, by number.
const COMMANDS: [&CStr; 22] = names!("BC_"
    TRANSACTION REPLY ACQUIRE_RESULT FREE_BUFFER INCREFS ACQUIRE RELEASE DECREFS INCREFS_DONE
    ACQUIRE_DONE ATTEMPT_ACQUIRE REGISTER_LOOPER ENTER_LOOPER EXIT_LOOPER
    REQUEST_DEATH_NOTIFICATION CLEAR_DEATH_NOTIFICATION DEAD_BINDER_DONE TRANSACTION_SG REPLY_SG
    REQUEST_FREEZE_NOTIFICATION CLEAR_FREEZE_NOTIFICATION FREEZE_NOTIFICATION_DONE);

/// Names of returns, by number. `BR_TRANSACTION_SEC_CTX` shares the one of
/// `BR_TRANSACTION`.
const RETURNS: [&CStr; 23] = names!("BR_"
    ERROR OK TRANSACTION REPLY ACQUIRE_RESULT DEAD_REPLY TRANSACTION_COMPLETE INCREFS ACQUIRE
    RELEASE DECREFS ATTEMPT_ACQUIRE NOOP SPAWN_LOOPER FINISHED DEAD_BINDER
    CLEAR_DEATH_NOTIFICATION_DONE FAILED_REPLY FROZEN_REPLY ONEWAY_SPAM_SUSPECT
    TRANSACTION_PENDING_FROZEN FROZEN_BINDER CLEAR_FREEZE_NOTIFICATION_DONE);

/// The name of a command, if it is known.
pub(crate) fn command_name(command: Command) -> Option<&'static CStr> {
    COMMANDS.get(number(command.0)).copied()
}

/// The name of a return, if it is known.
pub(crate) fn return_name(code: Return) -> Option<&'static CStr> {
    RETURNS.get(number(code.0)).copied()
}

/// The number in the low byte of an ioctl-style code.
fn number(code: u32) -> usize {
    (code & 0xff) as usize
}

/// What one thread, or all ended ones of a process, did.
///
/// *Locking*: of a thread, only its own task counts. Others may read at any time and get
/// numbers that are a moment old. Sums of ended threads are changed under the lock that
/// their owner names.
pub(crate) struct Counters {
    commands: [AtomicU32; NUMBERS],
    returns: [AtomicU32; NUMBERS],
}

impl Counters {
    /// Nothing was done.
    pub(crate) const fn new() -> Self {
        Self {
            commands: [const { AtomicU32::new(0) }; NUMBERS],
            returns: [const { AtomicU32::new(0) }; NUMBERS],
        }
    }

    /// The thread has given a command.
    #[inline]
    pub(crate) fn command(&self, command: Command) {
        count(&self.commands, command.0);
    }

    /// What was counted as a command is none.
    #[cold]
    pub(crate) fn no_command(&self, command: Command) {
        bump(&self.commands[command.0 as usize % NUMBERS], u32::MAX);
    }

    /// The thread was given a return.
    #[inline]
    pub(crate) fn returned(&self, code: Return) {
        count(&self.returns, code.0);
    }

    /// Adds what another has counted, which counts no more.
    pub(crate) fn absorb(&self, other: &Counters) {
        for (sum, part) in self.all().zip(other.all()) {
            bump(sum, part.load(Relaxed));
        }
    }

    fn all(&self) -> impl Iterator<Item = &AtomicU32> {
        self.commands.iter().chain(&self.returns)
    }

    /// How many calls, oneway messages and replies were attempted.
    fn transactions(&self) -> u32 {
        let kinds = [
            Command::TRANSACTION,
            Command::TRANSACTION_SG,
            Command::REPLY,
            Command::REPLY_SG,
        ];
        kinds.iter().fold(0, |sum, kind| {
            sum.wrapping_add(self.commands[kind.0 as usize % NUMBERS].load(Relaxed))
        })
    }

    /// Prints a line `NAME: NUMBER` for each number that is not 0.
    pub(crate) fn show(&self, out: &mut dyn Write, indent: &str) -> fmt::Result {
        let commands = COMMANDS.iter().zip(&self.commands);
        for (name, number) in commands.chain(RETURNS.iter().zip(&self.returns)) {
            match number.load(Relaxed) {
                0 => {}
                number => {
                    let name = name.to_str().unwrap_or_default();
                    writeln!(out, "{indent}{name}: {number}")?;
                }
            }
        }
        Ok(())
    }
}

/// Adds one to a number that nobody else changes at the same time.
#[inline]
fn bump(number: &AtomicU32, by: u32) {
    number.store(number.load(Relaxed).wrapping_add(by), Relaxed);
}

/// Counts by the number in the low byte of an ioctl-style code, which is below [`NUMBERS`]
/// for all that are known.
#[inline]
fn count(numbers: &[AtomicU32; NUMBERS], code: u32) {
    bump(&numbers[code as usize % NUMBERS], 1);
}

/// Kinds of objects that are counted, with the names they have in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Object {
    Process,
    Thread,
    Node,
    Handle,
    Death,
    Transaction,
    Notice,
    Freeze,
}

const OBJECTS: [(Object, &str); 8] = [
    (Object::Process, "proc"),
    (Object::Thread, "thread"),
    (Object::Node, "node"),
    (Object::Handle, "ref"),
    (Object::Death, "death"),
    (Object::Transaction, "transaction"),
    (Object::Notice, "transaction_complete"),
    (Object::Freeze, "freeze"),
];

/// How many objects were made, and how many are gone.
static MADE: [AtomicU32; OBJECTS.len()] = [const { AtomicU32::new(0) }; OBJECTS.len()];
static GONE: [AtomicU32; OBJECTS.len()] = [const { AtomicU32::new(0) }; OBJECTS.len()];

/// Counts the object that it is a field of, from when it is made until it is dropped.
pub(crate) struct Counted<const KIND: usize>(());

impl<const KIND: usize> Counted<KIND> {
    /// One more object.
    pub(crate) fn new() -> Self {
        note(&MADE, KIND);
        Self(())
    }
}

impl<const KIND: usize> Drop for Counted<KIND> {
    fn drop(&mut self) {
        note(&GONE, KIND);
    }
}

/// Out of line, because no command that is done often makes or drops an object.
#[cold]
#[inline(never)]
fn note(numbers: &[AtomicU32; OBJECTS.len()], kind: usize) {
    if let Some(number) = numbers.get(kind) {
        number.fetch_add(1, Relaxed);
    }
}

pub(crate) type CountedProcess = Counted<{ Object::Process as usize }>;
pub(crate) type CountedThread = Counted<{ Object::Thread as usize }>;
pub(crate) type CountedNode = Counted<{ Object::Node as usize }>;
pub(crate) type CountedHandle = Counted<{ Object::Handle as usize }>;
pub(crate) type CountedDeath = Counted<{ Object::Death as usize }>;
pub(crate) type CountedFreeze = Counted<{ Object::Freeze as usize }>;
pub(crate) type CountedTransaction = Counted<{ Object::Transaction as usize }>;
pub(crate) type CountedNotice = Counted<{ Object::Notice as usize }>;

/// Objects that threads keep for their next command: they exist, but are in no use.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kept {
    pub(crate) transactions: u32,
    pub(crate) notices: u32,
}

impl Kept {
    /// Adds another thread's.
    pub(crate) fn add(&mut self, other: Kept) {
        self.transactions = self.transactions.wrapping_add(other.transactions);
        self.notices = self.notices.wrapping_add(other.notices);
    }
}

/// Prints a line `NAME: active NUMBER total NUMBER` for each kind of which there were any.
///
/// `sum` is of all threads there are and were; `kept` of all there are. An object that is
/// used again counts in the total each time, like one that was made for the purpose.
pub(crate) fn show_objects(out: &mut dyn Write, sum: &Counters, kept: Kept) -> fmt::Result {
    for ((kind, name), (made, gone)) in OBJECTS.iter().zip(MADE.iter().zip(&GONE)) {
        // In this order: what was made in between must not count as gone.
        let gone = gone.load(Relaxed);
        let made = made.load(Relaxed);
        let (used, kept) = match kind {
            Object::Transaction => (sum.transactions(), kept.transactions),
            Object::Notice => (sum.transactions(), kept.notices),
            _ => (made, 0),
        };
        if made != 0 {
            let active = made.wrapping_sub(gone).saturating_sub(kept);
            let total = used.max(made);
            writeln!(out, "{name}: active {active} total {total}")?;
        }
    }
    Ok(())
}
