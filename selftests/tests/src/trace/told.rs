// SPDX-License-Identifier: GPL-2.0
//! What events tell of calls and of what they carry. The test's process plays all roles.

use std::os::fd::AsRawFd;
use std::time::Duration;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::uapi::{
    FLAT_BINDER_FLAG_ACCEPTS_FDS, TF_ACCEPT_FDS, TF_DEFER_COMPLETE, TF_ONE_WAY, TF_UPDATE_TXN,
};
use binder_client::{check, check_eq, Errno};

use super::{Event, Recording};
use crate::stage::{pending, refused, reply, round_trip, send, take, Node, Stage};

const NODE: Node = Node { ptr: 0x1230, cookie: 7, flags: FLAT_BINDER_FLAG_ACCEPTS_FDS };
const GIVEN: Node = Node::new(0x4560, 8);

/// A server, a client that has its node, and a recording that begins then.
struct Scene {
    stage: Stage,
    server: Session,
    client: Session,
    handle: u32,
    recording: Recording,
}

impl Scene {
    fn new(env: &Env) -> Result<Self, Failure> {
        let stage = Stage::new(env)?;
        let (server, client) = (stage.actor()?, stage.actor()?);
        let handle = stage.introduce(&server, &client, NODE)?;
        pending(&server)?;
        let recording = Recording::start()?;
        Ok(Scene { stage, server, client, handle, recording })
    }

    /// All events of a kind.
    fn all(&self, name: &str) -> Result<Vec<Event>, Failure> {
        let mut events = self.recording.events()?;
        events.retain(|event| event.name == name);
        Ok(events)
    }

    /// The only event of a kind.
    fn one(&self, name: &str) -> Result<Event, Failure> {
        let events = self.all(name)?;
        check_eq!(events.len(), 1, "events {name} in {events:?}");
        Ok(events[0].clone())
    }
}

pub fn a_call_is_followed_from_its_command_to_its_reply(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    round_trip(&scene.client, scene.handle, &scene.server)?;
    let events = scene.recording.events()?;
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    let mut from = 0;
    for expected in [
        "ioctl",
        "command",
        "transaction",
        "transaction_alloc_buf",
        "write_done",
        "ioctl_done",
        "transaction_received",
        "return",
        "read_done",
        "command",
        "transaction",
        "transaction_received",
    ] {
        let found = names[from..].iter().position(|name| *name == expected);
        check!(found.is_some(), "{expected} comes behind {:?} in {names:?}", &names[..from]);
        from += found.unwrap_or(0) + 1;
    }
    let (command, code) = (&scene.all("command")?[0], &scene.all("return")?);
    check!(command.text.ends_with(" BC_TRANSACTION"), "the name in {:?}", command.text);
    check!(code.iter().any(|event| event.text.ends_with(" BR_REPLY")), "a reply in {code:?}");
    Ok(())
}

pub fn flags_are_told_as_they_were_sent(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    send(&scene.client, scene.handle, 9, TF_ACCEPT_FDS, &Parcel::new())?;
    take(&scene.server)?.free()?;
    reply(&scene.server, TF_DEFER_COMPLETE, &Parcel::new())?;
    let events = scene.all("transaction")?;
    let told: Vec<_> = events.iter().map(|it| (it.get("reply"), it.get("flags"))).collect();
    check_eq!(told, [("0", "0x10"), ("1", "0x80")]);
    check_eq!((events[0].get("code"), events[1].get("code")), ("0x9", "0x0"));
    Ok(())
}

pub fn ids_of_a_transaction_are_one(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    round_trip(&scene.client, scene.handle, &scene.server)?;
    let ids = |name: &str| -> Result<Vec<String>, Failure> {
        let events = scene.all(name)?;
        Ok(events.iter().map(|event| event.get("transaction").to_string()).collect())
    };
    let sent = ids("transaction")?;
    check_eq!(sent.len(), 2, "a call and a reply");
    check!(sent[0] != sent[1], "they differ");
    check_eq!(ids("transaction_received")?, sent.clone());
    check_eq!(ids("transaction_alloc_buf")?, sent.clone());
    check_eq!(ids("transaction_buffer_release")?, sent.clone());
    check_eq!(ids("txn_latency_free")?, sent);
    let pid = std::process::id().to_string();
    let events = scene.all("transaction")?;
    check!(events.iter().all(|event| event.get("dest_proc") == pid), "to {pid}: {events:?}");
    check_eq!(events[1].get("dest_thread"), pid);
    Ok(())
}

pub fn objects_are_followed_to_what_they_become(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let mut parcel = Parcel::new();
    parcel.object(&GIVEN.object(Strength::Strong));
    send(&scene.client, scene.handle, 1, TF_ONE_WAY, &parcel)?;
    let request = take(&scene.server)?;
    let given = scene.one("transaction_node_to_ref")?;
    check_eq!(given.get("src_ptr"), "0x0000000000004560");
    let handle = request.handle(0)?;
    check_eq!(given.get("dest_desc"), handle.to_string());
    // To a third one, and back to where it came from.
    let third = scene.stage.actor()?;
    let inbox = Node::new(0x9990, 1);
    let (to_third, to_client) = (
        scene.stage.introduce(&third, &scene.server, inbox)?,
        scene.stage.introduce(&scene.client, &scene.server, inbox)?,
    );
    let passed = scene.all("transaction_ref_to_ref")?.len();
    let mut parcel = Parcel::new();
    parcel.object(&Object::Handle { strength: Strength::Strong, handle, flags: 0, cookie: 0 });
    send(&scene.server, to_third, 1, TF_ONE_WAY, &parcel)?;
    let events = scene.all("transaction_ref_to_ref")?;
    check_eq!(events.len(), passed + 1, "in {events:?}");
    check_eq!(events[passed].get("src_desc"), handle.to_string());
    check_eq!(events[passed].get("node"), given.get("node"));
    send(&scene.server, to_client, 1, TF_ONE_WAY, &parcel)?;
    let back = scene.one("transaction_ref_to_node")?;
    check_eq!(back.get("dest_ptr"), "0x0000000000004560");
    check_eq!(back.get("src_desc"), handle.to_string());
    Ok(())
}

pub fn files_are_followed(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let file = std::fs::File::open("/dev/null")?;
    let mut parcel = Parcel::new();
    parcel.object(&Object::Fd { fd: file.as_raw_fd() as u32, cookie: 0 });
    send(&scene.client, scene.handle, 1, TF_ONE_WAY, &parcel)?;
    let request = take(&scene.server)?;
    let Object::Fd { fd, .. } = request.objects()?[0] else {
        return Err(Failure::new("the object", "a file", "another"));
    };
    let (sent, received) = (scene.one("transaction_fd_send")?, scene.one("transaction_fd_recv")?);
    check_eq!(sent.get("src_fd"), file.as_raw_fd().to_string());
    check_eq!(received.get("dest_fd"), fd.to_string());
    check_eq!(sent.get("transaction"), received.get("transaction"));
    Ok(())
}

pub fn buffers_are_followed_to_their_end(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let mut parcel = Parcel::from_bytes([1; 24]);
    parcel.object(&GIVEN.object(Strength::Strong));
    send(&scene.client, scene.handle, 1, TF_ONE_WAY, &parcel)?;
    let made = scene.one("transaction_alloc_buf")?;
    check_eq!((made.get("data_size"), made.get("offsets_size")), ("48", "8"));
    check_eq!(scene.all("transaction_buffer_release")?, []);
    take(&scene.server)?.free()?;
    let freed = scene.one("transaction_buffer_release")?;
    check_eq!(freed.text, made.text);
    Ok(())
}

pub fn buffer_of_a_failed_transaction_is_told(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let mut parcel = Parcel::new();
    parcel.object(&Object::Handle { strength: Strength::Strong, handle: 555, flags: 0, cookie: 0 });
    let seen = refused(&scene.client, scene.handle, 0, &parcel)?;
    crate::stage::failed_with(seen, Errno::EINVAL)?;
    let (made, freed) =
        (scene.one("transaction_alloc_buf")?, scene.one("transaction_failed_buffer_release")?);
    check_eq!(freed.text, made.text);
    Ok(())
}

pub fn replaced_message_is_told(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let device = scene.client.device();
    device.freeze(std::process::id(), true, Duration::ZERO)?;
    for _ in 0..3 {
        send(&scene.client, scene.handle, 1, TF_ONE_WAY | TF_UPDATE_TXN, &Parcel::new())?;
        check_eq!(pending(&scene.client)?, [Return::TransactionPendingFrozen]);
    }
    let sent = scene.all("transaction")?;
    let replaced = scene.one("transaction_update_buffer_release")?;
    check_eq!(replaced.get("transaction"), sent[1].get("transaction"));
    check_eq!(scene.all("transaction_failed_buffer_release")?, []);
    device.freeze(std::process::id(), false, Duration::ZERO).map_err(Into::into)
}

pub fn ioctl_tells_its_result(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    check_eq!(scene.client.device().ioctl(0x4008_6299, &mut 0u64), Err(Errno::EINVAL));
    check_eq!(scene.one("ioctl")?.get("cmd"), "0x40086299");
    check_eq!(scene.one("ioctl_done")?.get("ret"), "-22");
    let mut commands = Commands::new();
    commands.word(0x1234);
    check_eq!(scene.client.write_read(&commands, 0).result, Err(Errno::EINVAL));
    check_eq!(scene.one("write_done")?.get("ret"), "-22");
    check_eq!(scene.one("command")?.text, "cmd=0x1234 unknown");
    Ok(())
}
