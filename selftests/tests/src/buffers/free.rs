// SPDX-License-Identifier: GPL-2.0
//! `BC_FREE_BUFFER`, right and wrong.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::uapi::TF_ONE_WAY;
use binder_client::{check_eq, limits, Errno};

use super::{delivered, free_address, pair};
use crate::stage::worker::Worker;
use crate::stage::{failed_with, pending, refused, reply, round_trip, send, take, Stage};

const MAP: usize = 1 << 16;

fn text(text: &[u8]) -> Parcel {
    Parcel::from_bytes(text)
}

pub fn addresses_that_are_no_buffers_are_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let held = delivered(&client, handle, &server, 0, &text(b"live"))?;
    let base = server.device().mapping().map_or(0, |mapping| mapping.address());
    let end = base + MAP as u64;
    for address in [0, 1, 8, base - 8, end - 8, end, end + 4096, 1 << 47, u64::MAX, u64::MAX - 7] {
        free_address(&server, address)?;
    }
    check_eq!(held.data(), b"live");
    check_eq!(pending(&server)?, []);
    round_trip(&client, handle, &server)
}

pub fn inside_of_a_buffer_is_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let held = delivered(&client, handle, &server, 0, &text(&[5; 64]))?;
    let start = held.incoming().buffer;
    for shift in [1, 4, 8, 32, 63, 64] {
        free_address(&server, start + shift)?;
    }
    // If one of these had freed it, it would be the place of the next.
    let next = delivered(&client, handle, &server, 0, &text(&[6; 64]))?;
    check_eq!(held.data(), [5; 64]);
    check_eq!(next.data(), [6; 64]);
    Ok(())
}

pub fn buffer_of_another_process_is_ignored(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let held = delivered(&client, handle, &server, 0, &text(&[5; 64]))?;
    free_address(&client, held.incoming().buffer)?;
    let next = delivered(&client, handle, &server, 0, &text(&[6; 64]))?;
    check_eq!((held.data(), next.data()), (vec![5; 64], vec![6; 64]));
    Ok(())
}

pub fn freeing_twice_frees_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let address = delivered(&client, handle, &server, 0, &text(&[5; 64]))?.into_address();
    free_address(&server, address)?;
    free_address(&server, address)?;
    let next = delivered(&client, handle, &server, 0, &text(&[6; 64]))?;
    let other = delivered(&client, handle, &server, 0, &text(&[7; 64]))?;
    check_eq!((next.data(), other.data()), (vec![6; 64], vec![7; 64]));
    Ok(())
}

pub fn freeing_twice_in_one_write_advances_the_queue_once(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    for code in 0..4 {
        send(&client, handle, code, TF_ONE_WAY, &Parcel::new())?;
    }
    let address = take(&server)?.into_address();
    let mut commands = Commands::new();
    commands.free_buffer(address).free_buffer(address).free_buffer(address);
    server.write(&commands)?;
    check_eq!(take(&server)?.incoming().code, 1);
    Ok(())
}

pub fn undelivered_buffer_cannot_be_freed(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    // Learn the place that the next buffer of this size gets.
    let address = delivered(&client, handle, &server, 0, &text(&[1; 64]))?.into_address();
    free_address(&server, address)?;
    send(&client, handle, 1, 0, &text(&[2; 64]))?;
    free_address(&server, address)?;
    let request = take(&server)?;
    check_eq!(request.incoming().buffer, address, "the place is the same one");
    check_eq!(request.data(), [2; 64]);
    reply(&server, 0, &Parcel::new())?;
    client.next_reply(limits::wait())?;
    Ok(())
}

pub fn two_threads_free_one_buffer_once(env: &Env) -> Result<(), Failure> {
    const ROUNDS: u32 = 30;
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let workers = [Worker::spawn()?, Worker::spawn()?];
    for code in 0..=ROUNDS {
        send(&client, handle, code, TF_ONE_WAY, &text(&[code as u8; 32]))?;
    }
    let mut current = take(&server)?;
    for round in 0..ROUNDS {
        check_eq!(current.data(), [round as u8; 32]);
        let address = current.into_address();
        let barrier = std::sync::Arc::new(std::sync::Barrier::new(2));
        let jobs = [0, 1].map(|n: usize| {
            let (session, barrier) = (server.clone(), barrier.clone());
            workers[n].start(move || {
                barrier.wait();
                free_address(&session, address)
            })
        });
        for job in jobs {
            job?.wait()??;
        }
        // The next call may lie where the last was: the late one of the two
        // must not have freed it, as it was not delivered.
        current = take(&server)?;
        check_eq!(current.incoming().code, round + 1);
        check_eq!(pending(&server)?, [], "one at a time");
    }
    Ok(())
}

pub fn request_may_be_freed_before_its_reply(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    send(&client, handle, 1, 0, &text(&[1; 1000]))?;
    take(&server)?.free()?;
    let parcel = text(b"answer");
    let mut commands = Commands::new();
    commands.reply(0, &parcel);
    server.write(&commands)?;
    check_eq!(client.next_reply(limits::wait())?.0.data(), b"answer");
    Ok(())
}

pub fn many_buffers_in_one_write(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage, MAP)?;
    let mut commands = Commands::new();
    for _ in 0..16 {
        let held = delivered(&client, handle, &server, 0, &text(&[1; MAP / 16]))?;
        commands.free_buffer(held.into_address());
    }
    failed_with(refused(&client, handle, 0, &Parcel::new())?, Errno::ENOSPC)?;
    server.write(&commands)?;
    let whole = delivered(&client, handle, &server, 0, &text(&vec![2; MAP]))?;
    check_eq!(whole.data().len(), MAP);
    check_eq!(pending(&server)?, Vec::<Return>::new());
    Ok(())
}
