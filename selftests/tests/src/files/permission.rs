// SPDX-License-Identifier: GPL-2.0
//! Who may send files to whom.

use std::os::fd::AsRawFd;

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{FLAT_BINDER_FLAG_ACCEPTS_FDS, TF_ACCEPT_FDS, TF_ONE_WAY};
use binder_client::{check_eq, limits, Errno};

use super::{pair, parcel, pipe};
use crate::stage::{failed_with, pending, refused, reply, send, take, Node, Stage};

pub fn node_without_permission_gets_no_files(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, Node::new(1, 1))?;
    let (_read, write) = pipe()?;
    for flags in [0, TF_ONE_WAY, TF_ACCEPT_FDS] {
        failed_with(refused(&client, handle, flags, &parcel(&[&write]))?, Errno::EPERM)?;
    }
    check_eq!(pending(&server)?, []);
    Ok(())
}

/// Serves one call by a reply that must be refused.
fn refused_reply(
    client: &Session,
    server: &Session,
    parcel: &Parcel,
    expected: Errno,
) -> Result<(), Failure> {
    take(server)?.free()?;
    reply(server, 0, parcel)?;
    check_eq!(pending(server)?, [Return::TransactionComplete]);
    match client.next_reply(limits::wait()) {
        Err(Error::Failed(extended)) => check_eq!(extended.param, -(expected as i32)),
        other => return Err(Failure::new("the call", "a failure", format!("{other:?}"))),
    }
    Ok(())
}

pub fn reply_needs_the_callers_permission(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (_read, write) = pipe()?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    refused_reply(&client, &server, &parcel(&[&write]), Errno::EPERM)
}

pub fn permission_is_that_of_the_first_sending(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client) = (stage.actor()?, stage.actor()?);
    let closed = Node::new(1, 1);
    let open = Node { flags: FLAT_BINDER_FLAG_ACCEPTS_FDS, ..closed };
    let handle = stage.introduce(&server, &client, closed)?;
    check_eq!(stage.introduce(&server, &client, open)?, handle);
    let (_read, write) = pipe()?;
    failed_with(refused(&client, handle, 0, &parcel(&[&write]))?, Errno::EPERM)
}

pub fn bad_descriptors_are_refused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let number = {
        let (_read, write) = pipe()?;
        write.as_raw_fd()
    };
    for fd in [number, -1, i32::MAX, i32::MIN, 100_000] {
        let mut parcel = Parcel::new();
        parcel.fd_number(fd);
        for flags in [0, TF_ONE_WAY] {
            failed_with(refused(&client, handle, flags, &parcel)?, Errno::EBADF)?;
        }
    }
    check_eq!(pending(&server)?, []);
    Ok(())
}

pub fn refused_file_in_a_reply_fails_the_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let mut bad = Parcel::new();
    bad.fd_number(-1);
    send(&client, handle, 1, TF_ACCEPT_FDS, &Parcel::new())?;
    refused_reply(&client, &server, &bad, Errno::EBADF)?;
    crate::stage::round_trip(&client, handle, &server)
}
