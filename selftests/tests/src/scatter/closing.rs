// SPDX-License-Identifier: GPL-2.0
//! When the descriptors of arrays are closed.

use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check, check_eq, gettid, limits, Errno};

use crate::common::{
    become_number, closed_everywhere, closed_now, is_open, numbers, open_files, own, parcel, pipe,
    read_by_number, still_open, write_by_number, Pair, OPEN,
};
use crate::stage::worker::Worker;
use crate::stage::{failed_with, pending, refused, send, set_nonblock};

/// A parcel with an array of these.
fn of(fds: &[&dyn AsFd]) -> Parcel {
    let fds: Vec<BorrowedFd<'_>> = fds.iter().map(|fd| fd.as_fd()).collect();
    let mut parcel = parcel();
    parcel.fds(&fds);
    parcel
}

pub fn freed_buffer_closes_its_descriptors(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read1, write1) = pipe()?;
    let (read2, write2) = pipe()?;
    let before = open_files()?;
    let received = pair.deliver(&of(&[&write1, &write2, &write2]))?;
    check_eq!(open_files()?, before + 3);
    drop((write1, write2));
    still_open(&read1)?;
    still_open(&read2)?;
    received.free()?;
    closed_everywhere(&read1)?;
    closed_everywhere(&read2)?;
    check_eq!(open_files()?, before - 2);
    Ok(())
}

pub fn single_descriptors_stay_open(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let mut parcel = of(&[&write]);
    parcel.fd(&write);
    let received = pair.deliver(&parcel)?;
    drop(write);
    let Object::Fd { fd, .. } = received.objects()?[2] else {
        return Err(Failure::new("an object", "a descriptor", "another"));
    };
    let single = own(fd)?;
    received.free()?;
    still_open(&read)?;
    check!(is_open(fd)?, "it is open");
    drop(single);
    closed_everywhere(&read)
}

pub fn descriptors_are_closed_when_the_ioctl_returns(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    for _ in 0..50 {
        let (read, write) = pipe()?;
        let received = pair.deliver(&of(&[&write]))?;
        drop(write);
        received.free()?;
        closed_now(&read)?;
    }
    Ok(())
}

/// A worker frees a buffer with an array and reads in the same ioctl, until a
/// message comes that `wake` sends. Returns what it read.
fn free_and_sleep(
    env: &Env,
    wake: impl FnOnce(&Pair, &Worker, &std::fs::File) -> Result<(), Failure>,
) -> Result<Vec<Return>, Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let worker = Worker::spawn()?;
    let address = pair.deliver(&of(&[&write]))?.into_address();
    drop(write);
    set_nonblock(&pair.server, false)?;
    let device = pair.server.device().clone();
    let server = worker.run(move || Ok(Session::primed(&device)?))?;
    let reading = worker.start(move || {
        let mut commands = Commands::new();
        commands.free_buffer(address);
        server.write_read(&commands, READ_SIZE).ok()
    })?;
    wake(&pair, &worker, &read)?;
    send(&pair.client, pair.handle, 2, TF_ONE_WAY, &Parcel::new())?;
    Ok(reading.wait()??)
}

pub fn descriptors_are_closed_although_the_thread_sleeps(env: &Env) -> Result<(), Failure> {
    free_and_sleep(env, |_, _, read| closed_everywhere(read))?;
    Ok(())
}

pub fn read_goes_on_after_the_closing(env: &Env) -> Result<(), Failure> {
    let seen = free_and_sleep(env, |_, worker, _| worker.wait_asleep())?;
    check!(
        matches!(seen[..], [Return::Transaction(call)] if call.code == 2),
        "the next message, not {seen:?}"
    );
    Ok(())
}

pub fn undelivered_array_closes_nothing(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    for _ in 0..3 {
        send(&pair.client, pair.handle, 1, TF_ONE_WAY, &of(&[&write, &write]))?;
    }
    let Pair { stage, server, client, .. } = pair;
    let before = open_files()?;
    drop(server);
    // The device of the server is closed, and nothing else.
    check_eq!(open_files()?, before - 1);
    still_open(&read)?;
    drop(write);
    closed_everywhere(&read)?;
    drop((client, stage));
    Ok(())
}

pub fn refused_array_lets_the_files_go(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let mut parcel = of(&[&write, &write, &write]);
    parcel.handle(4711);
    let before = open_files()?;
    failed_with(refused(&pair.client, pair.handle, 0, &parcel)?, Errno::EINVAL)?;
    check_eq!(open_files()?, before);
    still_open(&read)?;
    drop(write);
    closed_everywhere(&read)
}

pub fn number_that_is_closed_already_is_skipped(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let received = pair.deliver(&of(&[&write, &write, &write]))?;
    drop(write);
    let seen = numbers(&received, 0, 0, 3)?;
    drop(own(seen[1])?);
    received.free()?;
    closed_everywhere(&read)?;
    for number in seen {
        check!(!is_open(number)?, "{number} is closed");
    }
    Ok(())
}

pub fn end_of_the_process_leaves_them_open(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (read, write) = pipe()?;
    let received = pair.deliver(&of(&[&write]))?;
    drop(write);
    let number = numbers(&received, 0, 0, 1)?[0];
    received.into_address();
    let Pair { server, client, stage, .. } = pair;
    drop(server);
    // All of the driver's work for the server is done when the next call is.
    stage.echo(&client, b"and then")?;
    still_open(&read)?;
    drop(own(number)?);
    closed_everywhere(&read)
}

pub fn read_in_progress_ends_well(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let worker = Worker::spawn()?;
    let (read, mut write) = pipe()?;
    let received = pair.deliver(&of(&[&read]))?;
    drop(read);
    let number = numbers(&received, 0, 0, 1)?[0];
    let tid = worker.run(|| Ok(gettid()))?;
    // The reader has the file by the number that is closed while it sleeps.
    let reading = worker.start(move || read_by_number(number))?;
    asleep_in_read(tid)?;
    received.free()?;
    check!(!is_open(number)?, "{number} is closed");
    write.write_all(b"late")?;
    check_eq!(reading.wait()??, b"late");
    Ok(())
}

/// Waits until a thread of this process sleeps in `read`.
fn asleep_in_read(tid: i32) -> Result<(), Failure> {
    let start = Instant::now();
    let expected = format!("{} ", nix::libc::SYS_read);
    loop {
        let seen = std::fs::read_to_string(format!("/proc/{tid}/syscall"))?;
        if seen.starts_with(&expected) {
            return Ok(());
        }
        if start.elapsed() > limits::wait() {
            return Err(Failure::new("a thread", "to sleep in read", seen));
        }
        std::thread::yield_now();
    }
}

/// Sends a file with a pipe to a party and does not let it read. The pipe is closed
/// when the party is gone.
fn leave_pipe(pair: &Pair, inbox: u32) -> Result<std::fs::File, Failure> {
    let (read, write) = pipe()?;
    send(&pair.client, inbox, 1, TF_ONE_WAY, &of(&[&write]))?;
    drop(write);
    still_open(&read)?;
    Ok(read)
}

pub fn file_of_the_ioctl_may_be_in_the_array(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let (array, write) = pipe()?;
    let received = pair.deliver(&of(&[&write]))?;
    let number = numbers(&received, 0, 0, 1)?[0];
    let read = leave_pipe(&pair, pair.handle)?;
    // The number in the array comes to name the server's own file, as nothing else does.
    let Pair { stage, server, client, .. } = pair;
    become_number(&**server.device(), number)?;
    drop(write);
    closed_now(&array)?;
    let address = received.into_address();
    drop(server);
    still_open(&read)?;
    let mut commands = Commands::new();
    commands.free_buffer(address);
    check_eq!(write_by_number(number, &commands)?, commands.len() as u64);
    check!(!is_open(number)?, "{number} is closed");
    closed_everywhere(&read)?;
    drop((client, stage));
    Ok(())
}

pub fn another_binder_file_may_end_with_the_buffer(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let third = pair.stage.actor()?;
    let inbox = pair.stage.introduce(&third, &pair.client, OPEN)?;
    let read = leave_pipe(&pair, inbox)?;
    pending(&pair.client)?;
    let received = pair.deliver(&of(&[&**third.device()]))?;
    // Now the array has the only descriptor of the third.
    drop(third);
    still_open(&read)?;
    received.free()?;
    closed_everywhere(&read)
}
