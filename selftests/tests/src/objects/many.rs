// SPDX-License-Identifier: GPL-2.0
//! Large numbers of objects and handles.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::{check_eq, Errno};

use crate::stage::duo::Duo;
use crate::stage::{acknowledge, failed_with, pending, round_trip, take, Node, Stage};

const THOUSAND: u64 = 1000;

/// A thousand nodes, handed over in portions.
fn thousand(duo: &Duo) -> Result<Vec<u32>, Failure> {
    let mut handles = Vec::new();
    for portion in 0..THOUSAND / 100 {
        let first = portion * 100;
        let nodes: Vec<_> = (first..first + 100).map(|n| Node::new(0x10_0000 + n * 8, n)).collect();
        handles.extend(duo.hand_over(&nodes, Strength::Strong)?);
    }
    Ok(handles)
}

pub fn two_hundred_objects_in_one_transaction(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::new();
    for n in 1..=200 {
        parcel.binder(n * 8, n);
    }
    let told = duo.give(&parcel)?;
    check_eq!(told.len(), 401);
    check_eq!(told[400], Return::TransactionComplete);
    acknowledge(&duo.owner, &told)?;
    let received = take(&duo.client)?;
    for n in 0..200 {
        check_eq!(received.handle(n)?, n as u32 + 1);
    }
    round_trip(&duo.client, 200, &duo.owner)?;
    received.free()?;
    check_eq!(pending(&duo.owner)?.len(), 400, "all are released");
    Ok(())
}

pub fn thousand_handles_are_dense_and_work(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handles = thousand(&duo)?;
    check_eq!(handles, (1..=THOUSAND as u32).collect::<Vec<_>>());
    for handle in [1, 63, 64, 65, 127, 128, 511, 512, 999, 1000] {
        round_trip(&duo.client, handle, &duo.owner)?;
    }
    Ok(())
}

pub fn thousand_handles_are_given_back_and_reused(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handles = thousand(&duo)?;
    let mut commands = Commands::new();
    for &handle in handles.iter().filter(|&&handle| handle != 700) {
        commands.release(handle);
    }
    duo.client.write(&commands)?;
    check_eq!(pending(&duo.owner)?.len(), 2 * (THOUSAND as usize - 1));
    round_trip(&duo.client, 700, &duo.owner)?;
    let nodes: Vec<_> = (1..=100).map(|n| Node::new(0x90_0000 + n * 8, n)).collect();
    let again = duo.hand_over(&nodes, Strength::Strong)?;
    check_eq!(again, (1..=100).collect::<Vec<_>>());
    Ok(())
}

pub fn one_bad_object_of_many_undoes_all(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut parcel = Parcel::new();
    for n in 1..=150 {
        parcel.binder(n * 8, n);
    }
    parcel.handle(99_999);
    failed_with(duo.give_refused(&parcel)?, Errno::EINVAL)?;
    check_eq!(pending(&duo.owner)?, []);
    check_eq!(pending(&duo.client)?, []);
    check_eq!(duo.hand_over_one(Node::new(8, 0))?, 1);
    Ok(())
}
