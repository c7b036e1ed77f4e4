// SPDX-License-Identifier: GPL-2.0
//! The room for buffers: all of it can be used, and all of it comes back.

use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::{check, check_eq, limits, Errno};

use super::{delivered, pair};
use crate::stage::{failed_with, pending, refused, reply, round_trip, send, take, Stage};

const MAP: usize = 1 << 16;

fn bytes(length: usize) -> Parcel {
    Parcel::from_bytes(vec![0x33; length])
}

pub fn full_mapping_recovers(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    for round in 0..3 {
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(delivered(&client, handle, &server, 0, &bytes(MAP / 8))?);
        }
        failed_with(refused(&client, handle, 0, &bytes(0))?, Errno::ENOSPC)?;
        held.remove(round * 3).free()?;
        held.push(delivered(&client, handle, &server, 0, &bytes(MAP / 8))?);
        failed_with(refused(&client, handle, 0, &bytes(0))?, Errno::ENOSPC)?;
        for buffer in held {
            buffer.free()?;
        }
    }
    delivered(&client, handle, &server, 0, &bytes(MAP))?.free()?;
    Ok(())
}

pub fn replies_need_room_too(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let server = stage.actor()?;
    let client = stage.actor_with_map(MAP)?;
    let handle = stage.introduce(&server, &client, super::NODE)?;
    let mut held = Vec::new();
    let ask = || -> Result<_, Failure> {
        send(&client, handle, 1, 0, &bytes(0))?;
        take(&server)?.free()?;
        reply(&server, 0, &bytes(MAP / 4))?;
        pending(&server)?;
        Ok(client.next_reply(limits::wait()))
    };
    for _ in 0..4 {
        held.push(ask()??.0);
    }
    match ask()? {
        Err(Error::Failed(extended)) => {
            check_eq!(extended.param, -(Errno::ENOSPC as i32));
        }
        other => return Err(Failure::new("a reply", "no room", format!("{other:?}"))),
    }
    held.pop();
    check_eq!(ask()??.0.data().len(), MAP / 4);
    Ok(())
}

pub fn neighbours_that_are_freed_become_one_room(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(delivered(&client, handle, &server, 0, &bytes(MAP / 8))?);
    }
    held.sort_by_key(|buffer| buffer.incoming().buffer);
    // Not adjacent: room for each, but not for both in one.
    held.remove(5).free()?;
    held.remove(2).free()?;
    failed_with(refused(&client, handle, 0, &bytes(MAP / 4))?, Errno::ENOSPC)?;
    // Before, behind, and between two free places.
    held.remove(4).free()?;
    delivered(&client, handle, &server, 0, &bytes(MAP / 4))?.free()?;
    for _ in 0..3 {
        held.remove(1).free()?;
    }
    let large = delivered(&client, handle, &server, 0, &bytes(MAP / 8 * 6))?;
    check_eq!(large.data().len(), MAP / 8 * 6);
    Ok(())
}

pub fn no_byte_is_lost_in_a_thousand_calls(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    for n in 0..1000 {
        send(&client, handle, 1, 0, &bytes(n * 13 % 3000))?;
        take(&server)?.free()?;
        reply(&server, 0, &bytes(n * 7 % 100))?;
        client.next_reply(limits::wait())?.0.free()?;
    }
    pending(&server)?;
    delivered(&client, handle, &server, 0, &bytes(MAP))?.free()?;
    round_trip(&client, handle, &server)
}

pub fn random_sizes_and_lives_leave_the_whole_room(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut held = Vec::new();
    for n in 0..400u32 {
        let scale = random(13);
        let size = random(1 << scale) as usize;
        if held.iter().map(|(_, size)| size + 8).sum::<usize>() + size < MAP / 2 {
            let parcel = Parcel::from_bytes(vec![n as u8; size]);
            let buffer = delivered(&client, handle, &server, 0, &parcel)?;
            held.push((buffer, size));
        } else {
            let (buffer, size) = held.swap_remove(random(held.len() as u64) as usize);
            let data = buffer.data();
            check_eq!(data.len(), size);
            check!(data.windows(2).all(|two| two[0] == two[1]), "one value throughout");
            buffer.free()?;
        }
    }
    held.clear();
    delivered(&client, handle, &server, 0, &bytes(MAP))?.free()?;
    Ok(())
}

pub fn smallest_mapping_works(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, 4096)?;
    let whole = delivered(&client, handle, &server, 0, &bytes(4096))?;
    failed_with(refused(&client, handle, 0, &bytes(0))?, Errno::ENOSPC)?;
    whole.free()?;
    failed_with(refused(&client, handle, 0, &bytes(4097))?, Errno::ENOSPC)?;
    round_trip(&client, handle, &server)
}
