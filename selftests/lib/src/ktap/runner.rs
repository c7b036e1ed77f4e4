// SPDX-License-Identifier: GPL-2.0
//! Runs each case in a process of its own, so that a crash or a hang is one
//! failed case and nothing that a case did reaches the next one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{killpg, Signal};
use nix::sys::wait::{waitpid, Id, WaitPidFlag, WaitStatus};
use nix::unistd::{pipe, setpgid, Pid};

use super::{Case, Env, Failure};
use crate::{limits, sys};

/// How long to wait for a killed process to go.
const KILL_WAIT: Duration = Duration::from_secs(10);

/// Makes this process the parent of what its cases leave behind, so that it
/// can wait until that is gone.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(nix::sys::prctl::set_child_subreaper(true)?)
}

/// Runs one case. Returns what it printed and how it ended; the outer error is
/// the runner's own.
pub fn run_case(case: &Case, env: &Env) -> io::Result<(String, Result<(), Failure>)> {
    let (output, output_writer) = pipe()?;
    let (verdict, verdict_writer) = pipe()?;
    let readers = [sys::raw(&output), sys::raw(&verdict)];
    // The closure takes the writers with it: they are closed here afterwards.
    let child = sys::fork_child(|| {
        readers.into_iter().for_each(sys::close_inherited);
        in_child(case, env, output_writer, verdict_writer)
    })?;
    // Also done by the child; whoever is first.
    let _ = setpgid(child, child);

    let deadline = Instant::now() + limits::case();
    let mut texts = [Vec::new(), Vec::new()];
    let in_time = collect([&output, &verdict], &mut texts, child, deadline)?;
    let status = if in_time { wait_until(child, deadline)? } else { None };
    let gone = kill_group(child)?;

    let [printed, verdict] = texts;
    let mut printed = String::from_utf8_lossy(&printed).into_owned();
    if !gone {
        printed.push_str("\na process of this case could not be killed within 10 s\n");
    }
    Ok((printed, judge(status, &verdict)))
}

/// The whole life of a case's process.
fn in_child(case: &Case, env: &Env, output: OwnedFd, mut verdict: OwnedFd) -> i32 {
    let _ = setpgid(Pid::from_raw(0), Pid::from_raw(0));
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
    let _ = nix::unistd::dup2_stdout(&output);
    let _ = nix::unistd::dup2_stderr(&output);
    drop(output);
    let result = (case.run)(env);
    let _ = io::stdout().flush();
    let text = serde_json::to_vec(&result).unwrap_or_default();
    let _ = write_all(&mut verdict, &text);
    0
}

fn write_all(fd: &mut OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        let written = nix::unistd::write(&*fd, bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Reads both pipes until the case has ended; false if time was over first.
///
/// The end is the end of the verdict, which closes with the case's process:
/// what the case left running may hold the other pipe open.
fn collect(
    pipes: [&OwnedFd; 2],
    texts: &mut [Vec<u8>; 2],
    child: Pid,
    deadline: Instant,
) -> io::Result<bool> {
    let mut open = [true, true];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        // The verdict's pipe may be inherited by what the case forked, so look
        // after the process itself from time to time.
        let slice = left.min(Duration::from_millis(100));
        let mut fds = [0, 1].map(|n| {
            let events = if open[n] { PollFlags::POLLIN } else { PollFlags::empty() };
            PollFd::new(pipes[n].as_fd(), events)
        });
        match poll(&mut fds, PollTimeout::try_from(slice).unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = fds.map(|fd| fd.revents().is_some_and(|events| !events.is_empty()));
        for n in 0..2 {
            if open[n] && ready[n] {
                open[n] = read_some(pipes[n], &mut texts[n])?;
            }
        }
        let ended = ready == [false, false] && has_ended(child)?;
        if ended || !open[1] {
            // It may have written between the poll and its end.
            for n in (0..2).filter(|&n| open[n]) {
                while ready_now(pipes[n])? && read_some(pipes[n], &mut texts[n])? {}
            }
            return Ok(true);
        }
    }
}

/// Appends what is there; false at the end of the pipe.
fn read_some(pipe: &OwnedFd, text: &mut Vec<u8>) -> io::Result<bool> {
    let mut room = [0u8; 4096];
    let mut file = File::from(pipe.try_clone()?);
    let count = file.read(&mut room)?;
    text.extend_from_slice(&room[..count]);
    Ok(count != 0)
}

fn ready_now(pipe: &OwnedFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)];
    Ok(poll(&mut fds, PollTimeout::ZERO)? > 0)
}

/// True if the process has ended; it is not yet waited for.
fn has_ended(child: Pid) -> io::Result<bool> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let status = nix::sys::wait::waitid(Id::Pid(child), flags)?;
    Ok(status != WaitStatus::StillAlive)
}

/// Waits for the process; `None` if it is still there at `deadline`.
fn wait_until(child: Pid, deadline: Instant) -> io::Result<Option<WaitStatus>> {
    loop {
        match waitpid(child, Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::StillAlive if Instant::now() >= deadline => return Ok(None),
            // Its pipes are closed: it is a matter of microseconds.
            WaitStatus::StillAlive => std::thread::sleep(Duration::from_millis(1)),
            status => return Ok(Some(status)),
        }
    }
}

/// Kills what is left of a case and waits until it is gone; false if it stays.
fn kill_group(child: Pid) -> io::Result<bool> {
    let _ = killpg(child, Signal::SIGKILL);
    let deadline = Instant::now() + KILL_WAIT;
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Err(Errno::ECHILD) => return Ok(true),
            Ok(WaitStatus::StillAlive) if Instant::now() >= deadline => return Ok(false),
            // A killed process tells its parent when it is gone, but the parent
            // may be waiting for several: look again soon.
            Ok(WaitStatus::StillAlive) => {
                let _ = killpg(child, Signal::SIGKILL);
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Turns the end of a case's process into the case's result.
fn judge(status: Option<WaitStatus>, verdict: &[u8]) -> Result<(), Failure> {
    let seen = match status {
        Some(WaitStatus::Exited(_, 0)) => match serde_json::from_slice(verdict) {
            Ok(result) => return result,
            Err(_) => "it ended without a result".to_string(),
        },
        Some(WaitStatus::Exited(_, 101)) => "it panicked, see its output above".to_string(),
        Some(WaitStatus::Exited(_, code)) => format!("it exited with status {code}"),
        Some(WaitStatus::Signaled(_, signal, _)) => format!("it was killed by {signal}"),
        Some(other) => format!("it ended as {other:?}"),
        None => format!("it did not end within {:?} and was killed", limits::case()),
    };
    Err(Failure::new("the case's process", "it ends with a result", seen))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ktap::{Driver, Env};
    use std::sync::{Mutex, PoisonError};

    /// `kill_group` waits for all children: one case at a time.
    static ONE: Mutex<()> = Mutex::new(());

    fn run(run: fn(&Env) -> Result<(), Failure>) -> (String, Result<(), Failure>) {
        let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        limits::set_case(Duration::from_secs(1));
        let env = Env { device: "/dev/null".into(), device2: None, driver: Driver::Auto };
        run_case(&Case { name: "x", run }, &env).unwrap()
    }

    fn seen(result: Result<(), Failure>) -> String {
        match result {
            Err(Failure::Fail { seen, .. }) => seen,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn results_come_through() {
        assert_eq!(run(|_| Ok(())).1, Ok(()));
        let skip = Failure::skip("why not");
        assert_eq!(run(|_| Err(Failure::skip("why not"))).1, Err(skip));
        assert_eq!(seen(run(|_| Err(Failure::new("a", "b", "c"))).1), "c");
    }

    #[test]
    fn crashes_and_hangs_are_failures() {
        let hang = run(|_| loop {
            std::thread::park();
        });
        assert!(seen(hang.1).contains("did not end"));
        let crash = run(|_| {
            nix::sys::signal::raise(Signal::SIGABRT)?;
            Ok(())
        });
        assert!(seen(crash.1).contains("SIGABRT"));
        let panic = run(|_| panic!("told"));
        assert!(seen(panic.1).contains("panicked"));
    }

    #[test]
    fn leftover_processes_do_not_delay_the_verdict() {
        let (_, result) = run(|_| {
            sys::fork_child(|| loop {
                std::thread::park();
            })?;
            Ok(())
        });
        // A delay would use up the case's time and be reported as a hang.
        assert_eq!(result, Ok(()));
    }
}
