// SPDX-License-Identifier: GPL-2.0
//! Numbers and logs.

use std::time::Instant;

use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::Session;
use binder_client::state::{Counters, Kind, ProcessStats, Stats};
use binder_client::uapi::{BR_FAILED_REPLY, TF_ONE_WAY};
use binder_client::{check, check_eq, check_matches, gettid, limits};

use super::Scene;
use crate::stage::worker::asleep_in_ioctl;
use crate::stage::{actor_on, exchange, pending, refused, reply, send, take, Node, ECHO};

const NODE: Node = Node::new(0x7000_7000, 0x7000_8000);

/// One call of `client`, served by `server`; both read all they get.
fn call(client: &Session, server: &Session, handle: u32) -> Result<(), Failure> {
    send(client, handle, 1, 0, &Parcel::new())?;
    take(server)?.free()?;
    reply(server, 0, &Parcel::new())?;
    client.next_reply(limits::wait())?.0.free()?;
    check_eq!(pending(server)?, [Return::TransactionComplete]);
    Ok(())
}

pub fn commands_and_returns_are_counted(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    pending(&client)?;
    pending(&server)?;
    // It has read the completion of its last reply.
    asleep_in_ioctl(scene.stage.broker().pid())?;
    let before = Counters::read(&scene.folder)?;
    for _ in 0..10 {
        call(&client, &server, handle)?;
    }
    let since = Counters::read(&scene.folder)?.since(&before);
    let expected = [
        ("BC_FREE_BUFFER", 20),
        ("BC_REPLY", 10),
        ("BC_TRANSACTION", 10),
        ("BR_REPLY", 10),
        ("BR_TRANSACTION", 10),
        ("BR_TRANSACTION_COMPLETE", 20),
    ];
    check_eq!(since.iter().collect::<Vec<_>>(), expected);
    Ok(())
}

pub fn the_numbers_of_the_dead_stay_in_the_total(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let before = Counters::read(&scene.folder)?;
    {
        let client = scene.stage.actor()?;
        for _ in 0..5 {
            scene.stage.echo(&client, b"x")?;
        }
        // What ended threads counted counts as well.
        client.device().thread_exit()?;
    }
    let stats = scene.folder.stats()?;
    let since = stats.counters.since(&before);
    check_eq!((since.get("BC_TRANSACTION"), since.get("BR_REPLY")), (5, 5));
    Ok(())
}

pub fn objects_are_counted_and_gone_in_the_end(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let kinds = ["proc", "thread", "node", "ref", "death", "transaction", "transaction_complete"];
    let active = |stats: &Stats| kinds.map(|kind| stats.object(kind).active);
    // What the broker keeps is there after a first call.
    scene.stage.echo(&scene.stage.actor()?, b"x")?;
    let before = settled(&scene, |_| true)?;
    let device = env.device.clone();
    let peer = Peer::spawn(move |channel| {
        let (server, client) =
            (actor_on(&device, Some(1 << 20))?, actor_on(&device, Some(1 << 20))?);
        exchange(&server, 0, ECHO, 0, Parcel::new().binder(NODE.ptr, NODE.cookie))?;
        send(&client, 0, ECHO, 0, &Parcel::new())?;
        channel.signal()?;
        channel.wait()
    })?;
    peer.wait()?;
    let during = scene.folder.stats()?;
    for (kind, made) in [("proc", 2), ("thread", 2), ("node", 1), ("ref", 1), ("transaction", 2)] {
        let (count, total) = (during.object(kind), before.object(kind).total);
        check!(count.total >= total + made);
    }
    check!(during.object("proc").active >= 3 && during.object("thread").active >= 3);
    peer.kill()?;
    // Other processes may go as well meanwhile.
    let is_over = |stats: &Stats| active(stats).iter().zip(active(&before)).all(|(a, b)| *a <= b);
    let after = settled(&scene, is_over)?;
    check!(is_over(&after));
    Ok(())
}

/// Numbers that satisfy `done`, or those after the time for that; drivers may end a
/// process some time after its last close.
fn settled(scene: &Scene, done: impl Fn(&Stats) -> bool) -> Result<Stats, Failure> {
    let start = Instant::now();
    loop {
        let stats = scene.folder.stats()?;
        if done(&stats) || start.elapsed() > limits::wait() {
            return Ok(stats);
        }
        std::thread::yield_now();
    }
}

/// The numbers of those of this test's processes with `nodes` nodes and `refs` handles.
fn numbers(stats: &Stats, nodes: u64, refs: u64) -> Result<&ProcessStats, Failure> {
    let pid = i64::from(std::process::id());
    let mut own = stats.processes.iter().filter(|process| i64::from(process.pid) == pid);
    let found = own.find(|process| process.nodes == nodes && process.refs.0 == refs);
    found.ok_or_else(|| Failure::new("a process", "to be shown", format!("{stats:?}")))
}

pub fn the_numbers_of_a_process_are_true(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    server.device().set_max_threads(7)?;
    call(&client, &server, handle)?;
    send(&client, handle, 1, TF_ONE_WAY, &Parcel::from_bytes([0; 4096]))?;
    let stats = scene.folder.stats()?;
    let owner = numbers(&stats, 1, 0)?;
    check_eq!((owner.threads, owner.requested, owner.ready), (1, (0, 0, 7), 0));
    check_eq!((owner.buffers, owner.pending), (1, 1));
    check!(owner.pages.0 >= 1 && owner.pages.0 + owner.pages.1 + owner.pages.2 == 256);
    check!(owner.pages_high >= owner.pages.0);
    // The C driver accounts for its own management as well.
    check!((1 << 19) - owner.free_async >= 4096);
    check_eq!((owner.counters.get("BC_REPLY"), owner.counters.get("BR_TRANSACTION")), (1, 1));
    let holder = numbers(&stats, 0, 1)?;
    check_eq!(holder.refs, (1, 1, 0));
    check_eq!(holder.free_async, 1 << 19);
    Ok(())
}

pub fn transactions_are_logged(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let me = (i32::try_from(std::process::id())?, gettid());
    for _ in 0..20 {
        call(&client, &server, handle)?;
    }
    send(&client, handle, 1, TF_ONE_WAY, Parcel::new().binder(5, 6))?;
    let log = scene.folder.log()?;
    check_eq!(log.len(), 32);
    check!(log.windows(2).all(|two| two[0].id < two[1].id));
    let context = env.device.file_name().map(|name| name.to_string_lossy().into_owned());
    let [.., one_call, answer, message] = &log[..] else {
        return Err(Failure::new("the log", "entries", "none"));
    };
    check_eq!((one_call.kind, answer.kind, message.kind), (Kind::Call, Kind::Reply, Kind::Oneway));
    check_eq!((one_call.from, one_call.to.0, one_call.handle), (me, me.0, handle));
    check_eq!((answer.from, answer.to, answer.node), (me, me, 0));
    check!(one_call.node != 0 && message.node == one_call.node);
    check_eq!((message.sizes, message.error), ((24, 8), (0, 0)));
    check!(log.iter().all(|entry| Some(&entry.context) == context.as_ref()));
    Ok(())
}

pub fn failures_are_logged(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let client = scene.stage.actor()?;
    let me = (i32::try_from(std::process::id())?, gettid());
    refused(&client, 77, 0, &Parcel::from_bytes([1; 12]))?;
    let failed = scene.folder.failed_log()?;
    check_matches!(failed.last(), Some(entry) if entry.from == me && entry.handle == 77
        && entry.sizes == (12, 0) && entry.kind == Kind::Call);
    let error = failed.last().map(|entry| entry.error);
    check_eq!(error, Some((BR_FAILED_REPLY, -nix::libc::EINVAL)));
    check_eq!(scene.folder.log()?.last(), failed.last());
    Ok(())
}
