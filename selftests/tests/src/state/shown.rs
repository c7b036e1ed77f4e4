// SPDX-License-Identifier: GPL-2.0
//! What is there: nodes, handles, threads, buffers.

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::parcel::Parcel;
use binder_client::returns::Return;
use binder_client::state::{BufferState, NodeLine, State};
use binder_client::{check, check_eq, check_matches, gettid, limits, skip};

use super::{holder_of, owner_of, Scene};
use crate::stage::{send, take, Node};

const NODE: Node = Node::new(0x7000_1000, 0x7000_2000);

/// Bits of the looper state.
const ENTERED: u64 = 0x02;
const EXITED: u64 = 0x04;

fn line_of(state: &State, node: Node) -> Result<&NodeLine, Failure> {
    let lines = &owner_of(state, node)?.nodes;
    let found = lines.iter().find(|line| line.ptr == node.ptr);
    found.ok_or_else(|| Failure::new("a node", "to be shown", "it is not"))
}

pub fn nodes_and_handles_are_shown_from_both_sides(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let state = scene.folder.state()?;
    let node = line_of(&state, NODE)?;
    check_eq!((node.ptr, node.cookie), (NODE.ptr, NODE.cookie));
    check_eq!(node.has, (true, true));
    check_eq!(node.handles, (1, 1));
    check_eq!(node.holders.clone(), [i32::try_from(std::process::id())?]);
    let holder = holder_of(&state, node.id)?;
    let lines: Vec<_> = holder.refs.iter().filter(|line| line.node == node.id).collect();
    check_eq!(lines.len(), 1);
    check_eq!((lines[0].desc, lines[0].counts), (handle, (1, 0)));
    check!(!lines[0].is_dead && !lines[0].has_death);
    let context = env.device.file_name().map(|name| name.to_string_lossy().into_owned());
    check_eq!(Some(&holder.context), context.as_ref());
    Ok(())
}

pub fn weak_handles_and_death_notifications_are_shown(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let mut commands = Commands::new();
    commands.increfs(handle).increfs(handle).request_death(handle, 5);
    client.write(&commands)?;
    let state = scene.folder.state()?;
    let node = line_of(&state, NODE)?.id;
    let holder = holder_of(&state, node)?;
    let line = holder.refs.iter().find(|line| line.node == node);
    check_matches!(line, Some(line) if line.counts == (1, 2) && line.has_death);
    client.write(Commands::new().release(handle))?;
    let state = scene.folder.state()?;
    check_eq!(line_of(&state, NODE)?.handles, (0, 1));
    Ok(())
}

pub fn nodes_of_the_dead_are_shown_while_somebody_refers_to_them(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    client.write(Commands::new().request_death(handle, 9))?;
    let node = line_of(&scene.folder.state()?, NODE)?.id;
    drop(server);
    // The news means that the driver has done with the owner.
    client.read_until(limits::wait(), |entry| matches!(entry, Return::DeadBinder(9)))?;
    let state = scene.folder.state()?;
    let dead: Vec<_> = state.dead_nodes.iter().filter(|line| line.id == node).collect();
    check_eq!(dead.len(), 1);
    check_eq!((dead[0].ptr, dead[0].handles), (NODE.ptr, (1, 1)));
    let holder = holder_of(&state, node)?;
    check!(holder.refs.iter().any(|line| line.node == node && line.is_dead));
    check!(holder.has_delivered_death);
    client.write(Commands::new().dead_binder_done(9).release(handle))?;
    let state = scene.folder.state()?;
    check!(state.dead_nodes.iter().all(|line| line.id != node));
    check!(state.of(std::process::id()).all(|process| !process.has_delivered_death));
    Ok(())
}

pub fn threads_are_shown_with_what_they_said(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    scene.stage.introduce(&server, &client, NODE)?;
    let looper = |state: &State| -> Result<Vec<(i32, u64)>, Failure> {
        let bits = |looper: u64| looper & (ENTERED | EXITED);
        let threads = &owner_of(state, NODE)?.threads;
        Ok(threads.iter().map(|thread| (thread.tid, bits(thread.looper))).collect())
    };
    check_eq!(looper(&scene.folder.state()?)?, [(gettid(), 0)]);
    server.write(Commands::new().enter_looper())?;
    check_eq!(looper(&scene.folder.state()?)?, [(gettid(), ENTERED)]);
    server.write(Commands::new().exit_looper())?;
    check_eq!(looper(&scene.folder.state()?)?, [(gettid(), ENTERED | EXITED)]);
    server.device().thread_exit()?;
    check_eq!(looper(&scene.folder.state()?)?, []);
    Ok(())
}

pub fn buffers_are_shown_with_their_parts(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let mut parcel = Parcel::new();
    parcel.binder(1, 2).bytes(&[7; 13]);
    send(&client, handle, 1, 0, &parcel)?;
    let buffers = |state: &State| Ok::<_, Failure>(owner_of(state, NODE)?.buffers.clone());
    let active = buffers(&scene.folder.state()?)?;
    check_eq!(active.len(), 1);
    check_eq!((active[0].sizes, active[0].state), ((37, 8, 0), BufferState::Active));
    let call = take(&server)?;
    let delivered = buffers(&scene.folder.state()?)?;
    check_eq!(delivered.len(), 1);
    let same = (active[0].id, active[0].offset, active[0].sizes);
    check_eq!((delivered[0].id, delivered[0].offset, delivered[0].sizes), same);
    check_eq!(delivered[0].state, BufferState::Delivered);
    call.free()?;
    check_eq!(buffers(&scene.folder.state()?)?, []);
    Ok(())
}

pub fn pointers_can_be_hashed(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    scene.stage.introduce(&server, &client, NODE)?;
    let (plain, hashed) = (scene.folder.state()?, scene.folder.state_hashed()?);
    let id = line_of(&plain, NODE)?.id;
    let all = hashed.of(std::process::id()).flat_map(|process| &process.nodes);
    let line = all.into_iter().find(|line| line.id == id);
    check_matches!(line, Some(line) if line.ptr != NODE.ptr && line.cookie != NODE.cookie);
    let text = scene.folder.text("transactions_hashed")?;
    check!(!text.contains("0000000070001000"));
    Ok(())
}

/// This project's driver only: figures that the C driver does not have.
pub fn handles_are_counted(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let (server, client) = (scene.stage.actor()?, scene.stage.actor()?);
    let handle = scene.stage.introduce(&server, &client, NODE)?;
    let state = scene.folder.state()?;
    let holder = holder_of(&state, line_of(&state, NODE)?.id)?;
    let Some(figures) = &holder.figures else {
        skip!("the driver gives no figures of its handles");
    };
    check_eq!(figures.used as usize, holder.refs.len());
    check_eq!(figures.highest, holder.refs.iter().map(|line| line.desc).max());
    check!(figures.capacity > handle && figures.bytes > 0);
    check_eq!(figures.space.0, 1 << 20);
    check_eq!(figures.buffers, holder.buffers.len());
    check!(figures.pages.0 >= 1 && figures.pages.1 == 256);
    // Numbers of a process that has nothing.
    let idle = scene.stage.actor_without_map()?;
    let state = scene.folder.state()?;
    let mut none = state.of(std::process::id()).filter_map(|process| process.figures.as_ref());
    check!(none.any(|figures| figures.highest.is_none() && figures.space.0 == 0));
    drop(idle);
    // A call that holds memory takes it from the free space.
    send(&client, handle, 1, 0, &Parcel::from_bytes(vec![0; 5000]))?;
    let state = scene.folder.state()?;
    let owner = owner_of(&state, NODE)?;
    check_matches!(&owner.figures, Some(figures)
        if figures.space.0 - figures.space.1 == 5000 && figures.buffers == 1);
    Ok(())
}
