// SPDX-License-Identifier: GPL-2.0
//! What arrives.

use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;

use binder_client::ktap::{Env, Failure};
use binder_client::manager::spawn_manager_with_flags;
use binder_client::manager::Answer;
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::uapi::{FLAT_BINDER_FLAG_ACCEPTS_FDS, TF_ACCEPT_FDS, TF_ONE_WAY};
use binder_client::{check, check_eq, check_matches, limits};
use nix::fcntl::{fcntl, FcntlArg};

use super::{connected, files, own, pair, parcel, pipe};
use crate::stage::{exchange, reply, send, take, Stage};

pub fn file_arrives_under_a_new_number(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, 0, &parcel(&[&write]))?;
    let request = take(&server)?;
    let mut received = files(&request)?;
    check!(received[0].as_raw_fd() != write.as_raw_fd(), "a number of its own");
    connected(&mut read, &mut received[0])
}

pub fn received_descriptor_is_closed_on_exec(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (_read, write) = pipe()?;
    fcntl(&write, FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty()))?;
    send(&client, handle, 1, 0, &parcel(&[&write]))?;
    let request = take(&server)?;
    let received = files(&request)?;
    check_eq!(fcntl(&received[0], FcntlArg::F_GETFD)?, nix::libc::FD_CLOEXEC);
    Ok(())
}

pub fn both_descriptors_share_one_open_file(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let path = format!("/tmp/binder-test-files-{}", std::process::id());
    let mut file = std::fs::File::create_new(&path)?;
    std::fs::remove_file(&path)?;
    file.write_all(b"0123456789")?;
    send(&client, handle, 1, 0, &parcel(&[&file]))?;
    let request = take(&server)?;
    let mut received = files(&request)?;
    check_eq!(received[0].stream_position()?, 10);
    received[0].seek(SeekFrom::Start(4))?;
    check_eq!(file.stream_position()?, 4);
    Ok(())
}

pub fn several_files_arrive_in_their_order(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let mut pipes = Vec::new();
    for _ in 0..8 {
        pipes.push(pipe()?);
    }
    let mut parcel = Parcel::new();
    for (_, write) in &pipes {
        parcel.bytes(b"pad-").fd(write);
    }
    send(&client, handle, 1, 0, &parcel)?;
    let request = take(&server)?;
    let mut received = files(&request)?;
    check_eq!(received.len(), 8);
    for ((read, _), write) in pipes.iter_mut().zip(&mut received) {
        connected(read, write)?;
    }
    Ok(())
}

pub fn same_file_twice_gets_two_numbers(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, 0, &parcel(&[&write, &write]))?;
    let request = take(&server)?;
    let mut received = files(&request)?;
    check!(received[0].as_raw_fd() != received[1].as_raw_fd(), "two numbers");
    connected(&mut read, &mut received[0])?;
    connected(&mut read, &mut received[1])
}

pub fn file_in_a_oneway_call_arrives(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, TF_ONE_WAY, &parcel(&[&write]))?;
    let call = take(&server)?;
    connected(&mut read, &mut files(&call)?[0])
}

pub fn file_in_a_reply_arrives(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    send(&client, handle, 1, TF_ACCEPT_FDS, &Parcel::new())?;
    take(&server)?.free()?;
    reply(&server, 0, &parcel(&[&write]))?;
    let (answer, _) = client.next_reply(limits::wait())?;
    connected(&mut read, &mut files(&answer)?[0])
}

pub fn files_and_nodes_travel_together(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (mut read, write) = pipe()?;
    let mut parcel = Parcel::from_bytes(*b"text");
    parcel.binder(0x9000, 9).fd(&write).weak_binder(0x9008, 8);
    send(&client, handle, 1, TF_ONE_WAY, &parcel)?;
    let call = take(&server)?;
    let objects = call.objects()?;
    check_matches!(objects[..], [Object::Handle { .. }, Object::Fd { .. }, Object::Handle { .. }]);
    let Object::Fd { fd, .. } = objects[1] else {
        return Err(Failure::new("an object", "a descriptor", "another"));
    };
    connected(&mut read, &mut own(fd)?)
}

pub fn cookie_passes_and_the_upper_half_is_zero(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let (_read, write) = pipe()?;
    let mut parcel = Parcel::new();
    parcel.object(&Object::Fd { fd: write.as_raw_fd() as u32, cookie: 0x0123_4567_89ab_cdef });
    parcel.data_mut()[12..16].copy_from_slice(&[0xff; 4]);
    send(&client, handle, 1, TF_ONE_WAY, &parcel)?;
    let call = take(&server)?;
    let data = call.data();
    check_eq!(&data[12..16], [0; 4], "the upper half of the number");
    check_eq!(&data[16..24], 0x0123_4567_89ab_cdefu64.to_ne_bytes());
    files(&call)?;
    Ok(())
}

pub fn file_arrives_in_another_process(env: &Env) -> Result<(), Failure> {
    let flags = FLAT_BINDER_FLAG_ACCEPTS_FDS;
    let _writer = spawn_manager_with_flags(&env.device, flags, |request| {
        let mut received = files(request.received())?;
        received[0].write_all(b"from the other process")?;
        Ok(Answer::Reply(Parcel::new()))
    })?;
    let client = crate::stage::actor_on(&env.device, Some(4096))?;
    let (mut read, write) = pipe()?;
    let (answer, _) = exchange(&client, 0, 1, 0, &parcel(&[&write]))?;
    answer.free()?;
    drop(write);
    let mut text = String::new();
    read.read_to_string(&mut text)?;
    check_eq!(text, "from the other process");
    Ok(())
}

pub fn binder_file_travels_too(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let (server, client, handle) = pair(&stage)?;
    let third = stage.actor()?;
    send(&client, handle, 1, TF_ONE_WAY, &parcel(&[&**third.device()]))?;
    let call = take(&server)?;
    let received = files(&call)?;
    check_eq!(received.len(), 1);
    let inbox = stage.introduce(&third, &client, crate::stage::Node::new(0x55, 5))?;
    // The mapping stays; without it nobody could send there.
    let _mapping = third.device().mapping();
    drop(third);
    // The receiver's descriptor keeps the third process of the driver alive.
    send(&client, inbox, 1, TF_ONE_WAY, &Parcel::new())?;
    let done = binder_client::returns::Return::TransactionComplete;
    check!(crate::stage::pending(&client)?.contains(&done), "it is alive");
    Ok(())
}
