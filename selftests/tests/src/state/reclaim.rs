// SPDX-License-Identifier: GPL-2.0
//! What is given back when the system has little memory, as the state files show it.

use std::path::Path;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::state::Figures;
use binder_client::{check, check_eq, skip};

use super::Scene;
use crate::stage::duo::Duo;
use crate::stage::{round_trip, Node};

/// Handles that the receiver gets: more than fit without allocation.
const MANY: u64 = 500;
/// Handles that a process has room for by itself.
const INLINE: u32 = 64;

fn nodes() -> Vec<Node> {
    (1..=MANY).map(|number| Node::new(number * 16, number)).collect()
}

/// Lets the kernel ask everybody for what can be had again.
fn ask_for_memory() -> Result<(), Failure> {
    let switch = Path::new("/proc/sys/vm/drop_caches");
    std::fs::write(switch, "2").map_err(|error| Failure::skip(format!("{error}, needs root")))
}

/// The figures of the file of this process with the most room for handles.
fn figures(scene: &Scene) -> Result<Option<Figures>, Failure> {
    let state = scene.folder.state()?;
    let all = state.of(std::process::id()).filter_map(|process| process.figures.clone());
    Ok(all.max_by_key(|figures| (figures.capacity, figures.bytes)))
}

pub fn room_for_handles_goes_back_when_memory_is_short(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let duo = Duo::new(&scene.stage)?;
    if figures(&scene)?.is_none() {
        skip!("the driver gives no figures of its handles");
    }
    let handles = duo.hand_over(&nodes(), Strength::Strong)?;
    let mut commands = Commands::new();
    for handle in &handles {
        commands.release(*handle);
    }
    duo.client.write(&commands)?;
    // A release keeps one step of the pool, and one chunk of the table.
    let kept = figures(&scene)?.map_or((0, 0), |figures| (figures.capacity, figures.bytes));
    check!(kept.0 > INLINE && kept.1 > 0, "room is kept for later: {kept:?}");
    ask_for_memory()?;
    let left = figures(&scene)?.map_or((0, 0), |figures| (figures.capacity, figures.bytes));
    check_eq!(left.0, INLINE, "handles without allocation");
    check!(left.1 < kept.1, "fewer bytes than {kept:?}: {left:?}");
    // It grows again.
    let again = duo.hand_over(&nodes(), Strength::Strong)?;
    check_eq!(again, handles);
    Ok(())
}

pub fn handles_in_use_stay_when_memory_is_short(env: &Env) -> Result<(), Failure> {
    let scene = Scene::new(env)?;
    let duo = Duo::new(&scene.stage)?;
    if figures(&scene)?.is_none() {
        skip!("the driver gives no figures of its handles");
    }
    let handles = duo.hand_over(&nodes(), Strength::Strong)?;
    ask_for_memory()?;
    let left = figures(&scene)?.map_or(0, |figures| figures.capacity);
    check!(u64::from(left) >= MANY, "room for {MANY} handles, not for {left}");
    let node = Node::new(0x7777_0000, 1);
    let handle = scene.stage.introduce(&duo.owner, &duo.client, node)?;
    check_eq!(u64::from(handle), handles.iter().map(|&it| u64::from(it)).max().unwrap_or(0) + 1);
    round_trip(&duo.client, handle, &duo.owner)
}
