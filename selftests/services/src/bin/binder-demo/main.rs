// SPDX-License-Identifier: GPL-2.0
//! Shows a service manager, services and clients talking through a Binder
//! device, each as a process, and says each step in plain words.
#![deny(unsafe_code)]

mod program;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use clap::Parser;
use program::Program;

const TEXT: &str = "hello through the kernel";
const FILE: &str = "a file that only the service opened\n";

/// Runs the demo on a Binder device; the exit status is 0 if all of it worked.
///
/// The programs binder-servicemanager, binder-echo-service and binder-client
/// are taken from the folder of this program.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// The Binder device.
    #[arg(long, value_name = "PATH", default_value = "/dev/binder")]
    device: PathBuf,
    /// Longest wait for one step, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
    /// The driver cannot pass file descriptors yet: leave that step out.
    #[arg(long)]
    no_fds: bool,
    /// The driver has no death notifications yet: leave that step out.
    #[arg(long)]
    no_deaths: bool,
}

struct Demo {
    folder: PathBuf,
    device: String,
    patience: Duration,
    step: u32,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => {
            println!("The demo worked.");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("The demo FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<()> {
    let own = std::env::current_exe().context("cannot find the folder of this program")?;
    let folder = own.parent().context("this program has no folder")?.to_owned();
    let device = options.device.to_str().context("the device's path is not UTF-8")?.to_owned();
    ensure!(options.device.exists(), "there is no device {device}; is the module loaded?");
    let patience = Duration::from_secs(options.timeout);
    let mut demo = Demo { folder, device, patience, step: 0 };

    let mut manager = demo.serve("binder-servicemanager", "manager", &[])?;
    let mut service = demo.serve("binder-echo-service", "service", &["--name", "files"])?;
    demo.say("A client asks the manager which services there are.");
    demo.client(&["list"], "files")?;
    demo.say("A client finds the service and sends it a text; the service sends it back.");
    demo.client(&["echo", "files", TEXT], TEXT)?;
    demo.read_a_file(options.no_fds)?;
    demo.wait_for_a_service()?;
    demo.lose_a_service(&mut manager, &mut service, options.no_deaths)
}

impl Demo {
    fn say(&mut self, words: &str) {
        self.step += 1;
        println!("{}. {words}", self.step);
    }

    fn start(&self, file: &str, name: &'static str, arguments: &[&str]) -> Result<Program> {
        let mut all = vec!["--device", &self.device];
        all.extend(arguments);
        Program::start(&self.folder, file, name, &all, self.patience)
    }

    /// Starts a program that serves and waits until it does.
    fn serve(&mut self, file: &str, name: &'static str, arguments: &[&str]) -> Result<Program> {
        let mut program = self.start(file, name, arguments)?;
        let pid = program.pid();
        let device = self.device.clone();
        self.say(&format!("The {name} starts as process {pid} and opens {device}."));
        program.wait_for_line("ready")?;
        Ok(program)
    }

    /// Runs a client that must succeed and say `expected`.
    fn client(&self, arguments: &[&str], expected: &str) -> Result<()> {
        let (status, words) = self.start("binder-client", "client", arguments)?.finish()?;
        ensure!(status.success(), "the client ended with {status}");
        ensure!(
            words.contains(expected.trim()),
            "the client was to say {expected:?}, it said {words:?}"
        );
        Ok(())
    }

    fn read_a_file(&mut self, no_fds: bool) -> Result<()> {
        let path = std::env::temp_dir().join(format!("binder-demo-{}", std::process::id()));
        std::fs::write(&path, FILE).with_context(|| format!("cannot write {}", path.display()))?;
        let name = path.to_str().context("the temporary folder's path is not UTF-8")?.to_owned();
        self.say("A client asks the service for the content of a file.");
        let mut result = self.client(&["cat", "files", &name], FILE);
        if !no_fds && result.is_ok() {
            self.say("A client asks the service for an open file and reads it itself.");
            result = self.client(&["open", "files", &name], FILE);
        }
        let _ = std::fs::remove_file(&path);
        result
    }

    fn wait_for_a_service(&mut self) -> Result<()> {
        self.say("A client waits for a service that is not there yet.");
        let mut client = self.start("binder-client", "client", &["wait", "late"])?;
        client.wait_for_line("waiting")?;
        let _late = self.serve("binder-echo-service", "second service", &["--name", "late"])?;
        let (status, _) = client.finish()?;
        ensure!(status.success(), "the waiting client ended with {status}");
        Ok(())
    }

    fn lose_a_service(
        &mut self,
        manager: &mut Program,
        service: &mut Program,
        no_deaths: bool,
    ) -> Result<()> {
        self.say("The service is killed; a client that calls it is told so, and nobody hangs.");
        service.kill()?;
        let (status, _) =
            self.start("binder-client", "client", &["echo", "files", "?"])?.finish()?;
        if status.success() {
            bail!("a killed service answered");
        }
        if !no_deaths {
            self.say("The manager is notified of the death and forgets the name.");
            manager.wait_for_line("removed \"files\"")?;
            let (_, words) = self.start("binder-client", "client", &["list"])?.finish()?;
            ensure!(!words.contains("files"), "the dead service is still listed");
        }
        Ok(())
    }
}
