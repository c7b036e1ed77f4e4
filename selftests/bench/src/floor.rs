// SPDX-License-Identifier: GPL-2.0
//! What the machine needs without Binder: a system call, and round trips
//! between two processes by other means.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use anyhow::Result;
use binder_client::ktap::Failure;
use binder_client::peer::Peer;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{socketpair, AddressFamily, SockFlag, SockType};
use nix::unistd::{getppid, pipe, read, write};

use crate::figures::{Ioctls, Line, Samples};
use crate::futex::Board;
use crate::options::Options;
use crate::text;

/// All of them, one line each.
pub fn floor(options: &Options) -> Result<()> {
    let samples = measure(options, || {
        getppid();
        Ok(())
    })?;
    print(options, "getppid", &samples)?;
    eventfd(options)?;
    pipes(options)?;
    socket(options)?;
    futex(options)
}

fn print(options: &Options, name: &str, samples: &Samples) -> Result<()> {
    Line::new(options, name, "", 0, samples, Ioctls::default()).print()
}

fn measure(options: &Options, mut round: impl FnMut() -> nix::Result<()>) -> Result<Samples> {
    for _ in 0..options.warmup {
        round()?;
    }
    let mut samples = Samples::new()?;
    for _ in 0..options.calls {
        let begin = Instant::now();
        round()?;
        samples.add(begin.elapsed())?;
    }
    Ok(samples)
}

/// Runs `answer` in another process until it is killed.
fn partner(mut answer: impl FnMut() -> nix::Result<()>) -> Result<Peer> {
    Peer::spawn(|_| -> Result<(), Failure> {
        loop {
            answer()?;
        }
    })
    .map_err(text)
}

fn eventfd(options: &Options) -> Result<()> {
    let [there, back] = [(); 2].map(|()| EventFd::from_flags(EfdFlags::EFD_CLOEXEC));
    let (there, back) = (there?, back?);
    let _partner = partner(|| {
        there.read()?;
        back.write(1).map(drop)
    })?;
    let samples = measure(options, || {
        there.write(1)?;
        back.read().map(drop)
    })?;
    print(options, "eventfd", &samples)
}

fn pipes(options: &Options) -> Result<()> {
    let (there, back) = (pipe()?, pipe()?);
    let _partner = partner(|| pass(&there.0, &back.1, false))?;
    let samples = measure(options, || pass(&back.0, &there.1, true))?;
    print(options, "pipe", &samples)
}

fn socket(options: &Options) -> Result<()> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::Unix, SockType::Stream, None, flags)?;
    let _partner = partner(|| pass(&theirs, &theirs, false))?;
    let samples = measure(options, || pass(&ours, &ours, true))?;
    print(options, "unix_socket", &samples)
}

/// Passes 64 bytes on: receives and sends, or the other way round.
fn pass(input: &OwnedFd, output: &OwnedFd, first: bool) -> nix::Result<()> {
    let mut bytes = [0u8; 64];
    if first {
        write(output.as_fd(), &bytes)?;
    }
    if read(input.as_fd(), &mut bytes)? == 0 {
        return Err(nix::errno::Errno::EPIPE);
    }
    if !first {
        write(output.as_fd(), &bytes)?;
    }
    Ok(())
}

fn futex(options: &Options) -> Result<()> {
    let board = Board::new()?;
    let mut theirs = 0;
    let _partner = partner(|| {
        theirs += 1;
        board.wait_for(0, theirs)?;
        board.post(1, theirs)
    })?;
    let mut ours = 0;
    let samples = measure(options, || {
        ours += 1;
        board.post(0, ours)?;
        board.wait_for(1, ours)
    })?;
    print(options, "futex", &samples)
}
