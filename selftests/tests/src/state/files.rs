// SPDX-License-Identifier: GPL-2.0
//! The files as files.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::session::Session;
use binder_client::{check, check_eq, limits};

use super::Scene;
use crate::stage::{actor_on, exchange, ECHO};

/// All files that there is one of.
const NAMES: [&str; 7] = [
    "state",
    "state_hashed",
    "stats",
    "transactions",
    "transactions_hashed",
    "transaction_log",
    "failed_transaction_log",
];

fn parse_all(scene: &Scene) -> Result<(), Failure> {
    let folder = &scene.folder;
    folder.state()?;
    folder.state_hashed()?;
    folder.stats()?;
    folder.transactions()?;
    folder.transactions_hashed()?;
    folder.log()?;
    folder.failed_log()?;
    Ok(())
}

pub fn every_file_has_the_layout(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let actor = actor_with_file(&scene)?;
    scene.stage.echo(&actor, b"hello")?;
    parse_all(&scene)?;
    let shown = scene.folder.process(std::process::id())?;
    check_eq!(shown.processes.len(), 1);
    let broker = u32::try_from(scene.stage.broker().pid())?;
    let shown = scene.folder.process(broker)?;
    check!(shown.processes.iter().all(|process| i64::from(process.pid) == i64::from(broker)));
    Ok(())
}

fn own_file(scene: &Scene) -> std::path::PathBuf {
    scene.folder.path(&format!("proc/{}", std::process::id()))
}

/// An actor of this process, whose file is there. The C driver makes none while it still
/// has the process of an earlier open.
fn actor_with_file(scene: &Scene) -> Result<Session, Failure> {
    let path = own_file(scene);
    let mut actor = scene.stage.actor()?;
    wait_until(|| {
        path.exists()
            || scene.stage.actor().is_ok_and(|next| {
                actor = next;
                path.exists()
            })
    })?;
    Ok(actor)
}

pub fn each_process_has_a_file_while_it_has_the_device(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let path = own_file(&scene);
    wait_until(|| !path.exists())?;
    let first = actor_with_file(&scene)?;
    check_eq!(scene.folder.process(std::process::id())?.processes.len(), 1);
    let second = scene.stage.actor()?;
    check_eq!(scene.folder.process(std::process::id())?.processes.len(), 2);
    drop(second);
    wait_until(|| scene.folder.process(std::process::id()).is_ok_and(|s| s.processes.len() == 1))?;
    drop(first);
    wait_until(|| !path.exists())
}

/// The C driver ends processes some time after their last close.
fn wait_until(mut done: impl FnMut() -> bool) -> Result<(), Failure> {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limits::wait() {
            return Err(Failure::new("a state file", "to change in time", "it did not"));
        }
        std::thread::yield_now();
    }
    Ok(())
}

pub fn a_file_read_in_pieces_is_one_text(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let actors = (0..20).map(|_| scene.stage.actor()).collect::<Result<Vec<_>, _>>()?;
    let mut file = File::open(scene.folder.path("state"))?;
    let mut bytes = Vec::new();
    let mut piece = [0; 7];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => bytes.extend_from_slice(&piece[..count]),
        }
    }
    let own = format!("proc {}\n", std::process::id());
    let text = String::from_utf8(bytes)?;
    check_eq!(text.matches(&own).count(), actors.len());
    check!(text.ends_with('\n'));
    Ok(())
}

pub fn a_file_read_again_from_its_start_is_new(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let own = format!("proc {}\n", std::process::id());
    let mut file = File::open(scene.folder.path("stats"))?;
    let mut count = || -> Result<usize, Failure> {
        let mut text = String::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_string(&mut text)?;
        Ok(text.matches(&own).count())
    };
    let before = count()?;
    let _actors = (scene.stage.actor()?, scene.stage.actor()?);
    check!(count()? >= 2 && before <= 1);
    Ok(())
}

pub fn nobody_can_write_to_the_files(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    for name in NAMES {
        use std::os::unix::fs::PermissionsExt;
        let path = scene.folder.path(name);
        check_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, 0o444);
        // Root may open the file all the same.
        if let Ok(mut file) = OpenOptions::new().write(true).open(&path) {
            check!(std::io::Write::write(&mut file, b"x").is_err());
        }
    }
    Ok(())
}

/// Calls go on, and every text that is read meanwhile is complete.
pub fn reading_all_the_time_does_not_stop_traffic(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (stop, calls) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let start_caller = || {
        let (stop, calls, device) = (stop.clone(), calls.clone(), env.device.clone());
        std::thread::spawn(move || -> Result<(), Failure> {
            let client = actor_on(&device, Some(1 << 20))?;
            let parcel = Parcel::from_bytes(*b"some data");
            while !stop.load(Ordering::Relaxed) {
                exchange(&client, 0, ECHO, 0, &parcel)?.0.free()?;
                calls.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        })
    };
    let callers = [start_caller(), start_caller()];
    let end = Instant::now() + limits::wait().min(Duration::from_secs(3));
    let (mut texts, mut made) = (0_u64, 0_u64);
    while Instant::now() < end {
        parse_all(&scene)?;
        texts += 1;
        made = calls.load(Ordering::Relaxed);
    }
    stop.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.join().map_err(|_| Failure::new("a caller", "to end", "it panicked"))??;
    }
    // A reader that kept the lock would leave room for one call between two texts.
    check!(texts > 0 && made > texts);
    Ok(())
}
