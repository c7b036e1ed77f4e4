// SPDX-License-Identifier: GPL-2.0
//! Where buffers lie.

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::{align8, Parcel};
use binder_client::{check, check_eq};

use super::{delivered, pair};
use crate::stage::Stage;

pub fn buffers_lie_in_the_mapping_and_do_not_overlap(env: &Env) -> Result<(), Failure> {
    const MAP: usize = 1 << 18;
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let base = server.device().mapping().map_or(0, |mapping| mapping.address());
    let mut held = Vec::new();
    for n in 0..100usize {
        let parcel = Parcel::from_bytes(vec![n as u8; n * 37 % 2500]);
        held.push(delivered(&client, handle, &server, 0, &parcel)?);
    }
    let mut ranges: Vec<_> =
        held.iter().map(|buffer| (buffer.incoming().buffer, buffer.incoming().data_size)).collect();
    ranges.sort_unstable();
    for &(start, size) in &ranges {
        check_eq!(start % 8, 0, "alignment of {start:#x}");
        check!(start >= base && start + size <= base + MAP as u64, "inside the mapping");
    }
    for pair in ranges.windows(2) {
        let end = pair[0].0 + align8(pair[0].1).max(8);
        check!(end <= pair[1].0, "{:x?} and {:x?} do not overlap", pair[0], pair[1]);
    }
    Ok(())
}

pub fn empty_buffers_have_addresses_of_their_own(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    let mut held = Vec::new();
    for _ in 0..20 {
        held.push(delivered(&client, handle, &server, 0, &Parcel::new())?);
    }
    let mut addresses: Vec<_> = held.iter().map(|buffer| buffer.incoming().buffer).collect();
    addresses.sort_unstable();
    addresses.dedup();
    check_eq!(addresses.len(), 20);
    Ok(())
}

pub fn offsets_follow_the_data(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    for extra in 0..=8 {
        let mut parcel = Parcel::new();
        parcel.handle(handle).handle(handle).bytes(&vec![1; extra]);
        let held = delivered(&client, handle, &server, 0, &parcel)?;
        let told = held.incoming();
        check_eq!(told.offsets, told.buffer + align8(told.data_size));
        check_eq!((held.offsets(), told.offsets_size), (vec![0, 24], 16));
    }
    Ok(())
}

pub fn offsets_are_told_where_there_are_none(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 16)?;
    for size in [0, 1, 8, 13] {
        let parcel = Parcel::from_bytes(vec![1; size]);
        let held = delivered(&client, handle, &server, 0, &parcel)?;
        let told = held.incoming();
        check_eq!(told.offsets, told.buffer + align8(told.data_size), "{size} bytes");
        check_eq!(told.offsets_size, 0);
    }
    Ok(())
}

pub fn held_buffers_keep_their_contents(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 1 << 17)?;
    let contents = |n: usize| vec![n as u8 ^ 0x5a; 100 + n * 211 % 3000];
    let mut held = Vec::new();
    for n in 0..60 {
        let buffer = delivered(&client, handle, &server, 0, &Parcel::from_bytes(contents(n)))?;
        held.push((n, buffer));
        if n % 3 == 2 {
            held.remove(n % held.len()).1.free()?;
        }
        for (n, buffer) in &held {
            check!(buffer.data() == contents(*n), "buffer {n} is untouched");
        }
    }
    Ok(())
}
