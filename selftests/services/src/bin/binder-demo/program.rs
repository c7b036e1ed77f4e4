// SPDX-License-Identifier: GPL-2.0
//! A program of the demo as a child process whose words are shown.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};

/// A running program. Dropping it kills it.
#[derive(Debug)]
pub struct Program {
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
    patience: Duration,
}

impl Program {
    /// Starts `file` from `folder`; what it prints appears under `name`.
    pub fn start(
        folder: &Path,
        file: &str,
        name: &'static str,
        arguments: &[&str],
        patience: Duration,
    ) -> Result<Program> {
        let path = folder.join(file);
        let mut child = Command::new(&path)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        let (sender, lines) = channel();
        let outputs: [Option<Box<dyn Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as _),
            child.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for output in outputs.into_iter().flatten() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Program { name, child, lines, patience })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Shows its words until a line starts with `start`.
    pub fn wait_for_line(&mut self, start: &str) -> Result<()> {
        let deadline = Instant::now() + self.patience;
        while let Some(line) = self.next_line(deadline)? {
            if line.starts_with(start) {
                return Ok(());
            }
        }
        bail!("the {} ended before it was {start}", self.name)
    }

    /// Shows the rest of its words and returns them with its exit status.
    pub fn finish(&mut self) -> Result<(ExitStatus, String)> {
        let deadline = Instant::now() + self.patience;
        let mut words = String::new();
        while let Some(line) = self.next_line(deadline)? {
            words.push_str(&line);
            words.push('\n');
        }
        // Its outputs are closed, so it is ending.
        Ok((self.child.wait()?, words))
    }

    /// The next line, shown; `None` after the last.
    fn next_line(&mut self, deadline: Instant) -> Result<Option<String>> {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                println!("    [{}] {line}", self.name);
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                bail!("the {} said nothing for {:?}", self.name, self.patience)
            }
        }
    }

    /// Kills it and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
