// SPDX-License-Identifier: GPL-2.0
//! Receivers without a free descriptor number.

use std::os::fd::AsRawFd;

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::{TF_ACCEPT_FDS, TF_ONE_WAY};
use binder_client::{check_eq, check_matches, limits};
use nix::sys::resource::{getrlimit, setrlimit, Resource};

use super::{closed_everywhere, open_files, pair, parcel, pipe};
use crate::stage::{pending, pending_news, reply, round_trip, send, take, Stage};

/// Runs `body` while only `free` more descriptors can be made.
fn with_free<T>(free: u64, body: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // Numbers are given from the lowest: fill the holes first.
    let fill: Vec<_> = (0..64).map(|_| std::fs::File::open("/dev/null")).collect();
    let last = fill.iter().flatten().map(AsRawFd::as_raw_fd).max();
    let limit = last.map_or(0, |last| last as u64 + 1) + free;
    setrlimit(Resource::RLIMIT_NOFILE, limit, hard)?;
    let result = body();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
    result
}

pub fn request_without_a_free_number_fails_the_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    send(&client, handle, 1, 0, &parcel(&[&write]))?;
    drop(write);
    let seen = with_free(0, || pending(&server))?;
    check_eq!(seen, [], "what the server sees");
    check_matches!(client.next_reply(limits::wait()), Err(Error::Failed(_)));
    closed_everywhere(&read)?;
    round_trip(&client, handle, &server)
}

pub fn half_placed_request_takes_its_numbers_back(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    send(&client, handle, 1, 0, &parcel(&[&write, &write, &write]))?;
    drop(write);
    let before = open_files()?;
    let seen = with_free(2, || pending(&server))?;
    check_eq!(seen, [], "what the server sees");
    check_eq!(open_files()?, before);
    check_matches!(client.next_reply(limits::wait()), Err(Error::Failed(_)));
    closed_everywhere(&read)?;
    // No room of the mapping is lost either.
    let parcel = Parcel::from_bytes(vec![1; binder_client::device::DEFAULT_MAP]);
    send(&client, handle, 1, 0, &parcel)?;
    take(&server)?.free()?;
    Ok(())
}

pub fn oneway_call_without_a_free_number_is_dropped(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    send(&client, handle, 1, TF_ONE_WAY, &parcel(&[&write]))?;
    send(&client, handle, 2, TF_ONE_WAY, &Parcel::new())?;
    drop(write);
    let seen = with_free(0, || pending_news(&server))?;
    // The queue goes on: the next call is out, in this read or the next.
    let codes: Vec<_> = seen
        .iter()
        .filter_map(|entry| match entry {
            Return::Transaction(incoming) => Some(incoming.code),
            _ => None,
        })
        .collect();
    check_eq!(codes, [2]);
    closed_everywhere(&read)?;
    let done = Return::TransactionComplete;
    check_eq!(pending(&client)?, [done, done]);
    Ok(())
}

pub fn reply_without_a_free_number_fails_the_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (read, write) = pipe()?;
    send(&client, handle, 1, TF_ACCEPT_FDS, &Parcel::new())?;
    take(&server)?.free()?;
    reply(&server, 0, &parcel(&[&write]))?;
    drop(write);
    check_eq!(pending(&server)?, [Return::TransactionComplete]);
    let seen = with_free(0, || pending(&client))?;
    check_eq!(seen, [Return::TransactionComplete, Return::FailedReply]);
    closed_everywhere(&read)?;
    round_trip(&client, handle, &server)
}
