// SPDX-License-Identifier: GPL-2.0
//! `TF_CLEAR_BUF`: what is left in the mapping when a buffer is free.

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::session::Session;
use binder_client::uapi::{TF_CLEAR_BUF, TF_ONE_WAY};
use binder_client::{check_eq, limits, Errno};

use super::{delivered, free_address, pair};
use crate::stage::{failed_with, refused, reply, send, take, Stage};

const SIZE: usize = 6000;

fn secret() -> Parcel {
    Parcel::from_bytes([0x5e; SIZE])
}

/// What lies at an address of the mapping now.
fn bytes_at(session: &Session, address: u64) -> Result<Vec<u8>, Failure> {
    let mapping = session.device().mapping().ok_or(Errno::ENXIO)?;
    Ok(mapping.copy_out((address - mapping.address()) as usize, SIZE))
}

/// The address of a buffer of [`SIZE`] bytes, which is freed again; the next
/// one of the same size lies there, too. Its pages stay for a while.
fn place(client: &Session, handle: u32, server: &Session) -> Result<u64, Failure> {
    let held = delivered(client, handle, server, 0, &Parcel::from_bytes([1; SIZE]))?;
    let address = held.into_address();
    free_address(server, address)?;
    check_eq!(bytes_at(server, address)?, [1; SIZE], "without the flag it stays");
    Ok(address)
}

pub fn clear_buf_wipes_at_free(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    place(&client, handle, &server)?;
    let held = delivered(&client, handle, &server, TF_CLEAR_BUF, &secret())?;
    check_eq!(held.data(), secret().data());
    let address = held.into_address();
    free_address(&server, address)?;
    check_eq!(bytes_at(&server, address)?, [0; SIZE]);
    Ok(())
}

pub fn clear_buf_wipes_a_reply(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    send(&client, handle, 1, 0, &Parcel::new())?;
    take(&server)?.free()?;
    reply(&server, TF_CLEAR_BUF, &secret())?;
    let (answer, _) = client.next_reply(limits::wait())?;
    check_eq!(answer.data(), secret().data());
    let address = answer.into_address();
    free_address(&client, address)?;
    check_eq!(bytes_at(&client, address)?, [0; SIZE]);
    Ok(())
}

pub fn clear_buf_wipes_a_failed_transaction(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    let address = place(&client, handle, &server)?;
    let mut parcel = Parcel::from_bytes([0x5e; SIZE - 24 - 8]);
    parcel.handle(4711);
    failed_with(refused(&client, handle, TF_CLEAR_BUF, &parcel)?, Errno::EINVAL)?;
    let left = bytes_at(&server, address)?;
    check_eq!(left.iter().filter(|&&byte| byte == 0x5e).count(), 0, "bytes that are left");
    Ok(())
}

pub fn clear_buf_wipes_a_oneway_call(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    send(&client, handle, 1, TF_ONE_WAY | TF_CLEAR_BUF, &secret())?;
    let call = take(&server)?;
    check_eq!(call.data(), secret().data());
    let address = call.into_address();
    free_address(&server, address)?;
    check_eq!(bytes_at(&server, address)?, [0; SIZE]);
    Ok(())
}
