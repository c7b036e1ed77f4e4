// SPDX-License-Identifier: GPL-2.0
//! One table with very many handles.

use std::collections::BTreeSet;

use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::state::{Figures, Folder};
use binder_client::{check, check_eq, skip};

use crate::stage::duo::Duo;
use crate::stage::{pending, round_trip, send, take, Node, Stage};

/// Nodes that go into one parcel.
const PARCEL: usize = 200;
/// More than two levels of 64 hold.
const THREE_LEVELS: u64 = 64 * 64 + 70;

fn node(number: u64) -> Node {
    Node::new(number * 16, number)
}

/// Hands over the nodes of these numbers; returns the handles in their order.
fn hand_over(
    duo: &Duo,
    numbers: std::ops::Range<u64>,
    strength: Strength,
) -> Result<Vec<u32>, Failure> {
    let nodes: Vec<_> = numbers.map(node).collect();
    let mut handles = Vec::new();
    for part in nodes.chunks(PARCEL) {
        handles.extend(duo.hand_over(part, strength)?);
    }
    Ok(handles)
}

/// Drops one reference of each handle, in this order.
fn drop_all(duo: &Duo, handles: &[u32], strength: Strength) -> Result<(), Failure> {
    for part in handles.chunks(PARCEL) {
        let mut commands = Commands::new();
        for handle in part {
            commands.drop_ref(strength, *handle);
        }
        duo.client.write(&commands)?;
    }
    // Who owns the nodes has read all news, so nothing is left for the next step.
    pending(&duo.owner)?;
    Ok(())
}

/// The numbers in an order that has nothing to do with theirs, always the same one.
fn shuffled(mut numbers: Vec<u32>, mut seed: u64) -> Vec<u32> {
    for at in (1..numbers.len()).rev() {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        numbers.swap(at, (seed >> 33) as usize % (at + 1));
    }
    numbers
}

pub fn numbers_are_dense_over_all_steps_of_the_pool(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handles = hand_over(&duo, 1..THREE_LEVELS + 1, Strength::Strong)?;
    let expected: Vec<u32> = (1..).take(THREE_LEVELS as usize).collect();
    check!(
        handles == expected,
        "numbers 1 to {THREE_LEVELS} in their order: {:?}",
        handles.iter().zip(&expected).find(|(seen, expected)| seen != expected)
    );
    round_trip(&duo.client, handles[handles.len() - 1], &duo.owner)
}

pub fn lowest_number_first_in_any_order_of_release(env: &Env) -> Result<(), Failure> {
    const HELD: u64 = 700;
    const ROUNDS: u64 = 6;
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let mut held: BTreeSet<u32> =
        hand_over(&duo, 1..HELD + 1, Strength::Strong)?.into_iter().collect();
    let mut next = HELD + 1;
    for round in 0..ROUNDS {
        // Each time another share of all, up to nearly all.
        let count = held.len() * (round as usize + 1) / (ROUNDS as usize + 1);
        let gone = &shuffled(held.iter().copied().collect(), round)[..count];
        drop_all(&duo, gone, Strength::Strong)?;
        held.retain(|handle| !gone.contains(handle));
        let new = count as u64 + 3;
        let expected: Vec<u32> = (1..).filter(|id| !held.contains(id)).take(new as usize).collect();
        let seen = hand_over(&duo, next..next + new, Strength::Strong)?;
        check_eq!(seen.clone(), expected, "round {round}: the lowest free numbers in their order");
        held.extend(seen);
        next += new;
    }
    Ok(())
}

pub fn nodes_that_were_let_go_come_back_under_other_numbers(env: &Env) -> Result<(), Failure> {
    const HELD: u64 = 150;
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    // Held by the broker, too: otherwise they would end with their handles.
    for number in 1..HELD + 1 {
        stage.publish(&duo.owner, node(number), Strength::Strong)?;
    }
    let handles = hand_over(&duo, 1..HELD + 1, Strength::Strong)?;
    drop_all(&duo, &shuffled(handles, 1), Strength::Strong)?;
    // The other half first.
    let half = HELD / 2;
    let mut again = hand_over(&duo, half + 1..HELD + 1, Strength::Strong)?;
    again.extend(hand_over(&duo, 1..half + 1, Strength::Strong)?);
    check_eq!(again, (1..).take(HELD as usize).collect::<Vec<u32>>());
    round_trip(&duo.client, 1, &duo.owner)
}

pub fn weak_handles_grow_and_go_like_strong_ones(env: &Env) -> Result<(), Failure> {
    const HELD: u64 = 300;
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handles = hand_over(&duo, 1..HELD + 1, Strength::Weak)?;
    check_eq!(handles.clone(), (1..).take(HELD as usize).collect::<Vec<u32>>());
    // Some become strong in addition: they outlive the weak reference.
    let both = hand_over(&duo, 1..11, Strength::Strong)?;
    check_eq!(both, (1..11).collect::<Vec<u32>>());
    drop_all(&duo, &shuffled(handles, 5), Strength::Weak)?;
    let next = hand_over(&duo, HELD + 1..HELD + 3, Strength::Weak)?;
    check_eq!(next, [11, 12], "1 to 10 are still held");
    round_trip(&duo.client, 10, &duo.owner)
}

/// The most room for handles that a file of this process has.
fn room(folder: &Folder) -> Result<Option<Figures>, Failure> {
    let state = folder.state()?;
    let all = state.of(std::process::id()).filter_map(|process| process.figures.clone());
    Ok(all.max_by_key(|figures| (figures.capacity, figures.bytes)))
}

pub fn room_is_given_back_on_release_and_taken_again(env: &Env) -> Result<(), Failure> {
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let Some(folder) = Folder::of_this_process()? else {
        skip!("the driver has no state files");
    };
    if room(&folder)?.is_none() {
        skip!("the driver gives no figures of its handles");
    }
    let figures =
        |folder| room(folder).map(|figures| figures.map_or((0, 0), |it| (it.capacity, it.bytes)));
    let handles = hand_over(&duo, 1..2 * THREE_LEVELS + 1, Strength::Strong)?;
    let full = figures(&folder)?;
    check!(u64::from(full.0) > 2 * THREE_LEVELS, "room for all: {full:?}");
    // From the top, so that each release could give something back.
    let kept = 10;
    let gone: Vec<u32> = handles[kept..].iter().rev().copied().collect();
    drop_all(&duo, &gone, Strength::Strong)?;
    let small = figures(&folder)?;
    // One step above the highest is kept for later.
    check!(small.0 < full.0 && small.1 * 10 < full.1, "{full:?} shrinks: {small:?}");
    let again = hand_over(&duo, 20_000..20_000 + THREE_LEVELS, Strength::Strong)?;
    check_eq!(again.first().copied(), Some(kept as u32 + 1));
    check_eq!(again.last().copied(), Some(kept as u32 + THREE_LEVELS as u32));
    round_trip(&duo.client, again[again.len() - 1], &duo.owner)
}

pub fn every_handle_leads_to_its_own_node(env: &Env) -> Result<(), Failure> {
    const HELD: u64 = 150;
    let stage = Stage::new(env)?;
    let duo = Duo::new(&stage)?;
    let handles = hand_over(&duo, 1..HELD + 1, Strength::Strong)?;
    for (handle, number) in handles.iter().zip(1..) {
        let parcel = binder_client::parcel::Parcel::new();
        send(&duo.client, *handle, 1, binder_client::uapi::TF_ONE_WAY, &parcel)?;
        let call = take(&duo.owner)?;
        check_eq!(
            (call.incoming().ptr, call.incoming().cookie),
            (node(number).ptr, node(number).cookie)
        );
        call.free()?;
        pending(&duo.client)?;
    }
    Ok(())
}
