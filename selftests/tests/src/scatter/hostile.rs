// SPDX-License-Identifier: GPL-2.0
//! Random parcels, of good and of bad will, against the translator of the tests.
//!
//! The driver must take exactly those that the translator takes, with the same buffer byte
//! by byte, and refuse the others with the same error.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use binder_client::buffer::Received;
use binder_client::commands::Commands;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Strength;
use binder_client::returns::Return;
use binder_client::session::READ_SIZE;
use binder_client::uapi::{TransactionData, TransactionDataSg, BC_TRANSACTION_SG, TF_ONE_WAY};
use binder_client::{check, check_eq, Errno, Region};

use crate::common::{open_files, own, pipe, Pair};
use crate::random::{parcel, Mood, MEMORY};
use crate::reference::{translate, Image, Raw, Seen, World};
use crate::stage::{pending, take, Node};

/// Parcels of one case.
const PARCELS: u64 = 1250;
/// For how long a case goes on: a kernel that checks itself plays fewer parcels.
const TIME: Duration = Duration::from_millis(7500);

/// All who take part, with memory that ends at a page without access.
struct Scene {
    pair: Pair,
    world: World,
    memory: Region,
    /// What the sender's descriptors are of.
    sent: HashMap<u32, PathBuf>,
    _third: binder_client::session::Session,
    _files: Vec<File>,
}

impl Scene {
    fn new(env: &Env) -> Result<Self, Failure> {
        let pair = Pair::new(env)?;
        let third = pair.stage.actor()?;
        let mut memory = Region::anonymous(2 * MEMORY)?;
        memory.forbid_from(MEMORY)?;
        let mut world = World { memory_at: memory.address(), ..World::default() };
        let Pair { stage, server, client, handle } = &pair;
        // Its own reference to each of them keeps the receiver's numbers as they are.
        for (ptr, cookie) in [(0x10_0000, 1), (0x10_0008, u64::MAX)] {
            let held = stage.introduce(client, server, Node::new(ptr, cookie))?;
            world.nodes.insert(ptr, (cookie, held));
        }
        let opened = crate::common::OPEN;
        world.handles.insert(*handle, (true, Seen::Node(opened.ptr, opened.cookie)));
        let back = Node::new(0x20_0000, 2);
        let handle = stage.introduce(server, client, back)?;
        world.handles.insert(handle, (true, Seen::Node(back.ptr, back.cookie)));
        for (ptr, strength) in [(0x30_0000, Strength::Strong), (0x30_0008, Strength::Weak)] {
            let far = Node::new(ptr, 3);
            let handle = stage.introduce_as(&third, client, far, strength)?;
            let seen = Seen::Handle(stage.introduce_as(&third, server, far, strength)?);
            world.handles.insert(handle, (strength == Strength::Strong, seen));
        }
        let mut files = Vec::new();
        for _ in 0..3 {
            let (read, write) = pipe()?;
            files.extend([read, write]);
        }
        world.fds = files.iter().map(|file| file.as_raw_fd() as u32).collect();
        let mut sent = HashMap::new();
        for &number in &world.fds {
            sent.insert(number, file_of(number)?);
        }
        for session in [&pair.server, &pair.client, &third] {
            pending(session)?;
        }
        Ok(Scene { pair, world, memory, sent, _third: third, _files: files })
    }

    /// Sends a parcel in one ioctl and returns what came of it.
    fn send(&mut self, raw: &Raw) -> Result<Return, Failure> {
        self.memory.copy_in(0, &raw.memory);
        let transaction = TransactionData {
            target: self.pair.handle.into(),
            code: 1,
            flags: TF_ONE_WAY,
            data_size: raw.data.len() as u64,
            offsets_size: 8 * raw.offsets.len() as u64,
            buffer: raw.data.as_ptr() as u64,
            offsets: raw.offsets.as_ptr() as u64,
            ..Default::default()
        };
        let sg = TransactionDataSg { transaction, buffers_size: raw.buffers_size };
        let mut commands = Commands::new();
        commands.command(BC_TRANSACTION_SG, &sg);
        let returns = self.pair.client.write_read(&commands, READ_SIZE).ok()?;
        check_eq!(returns.len(), 1, "number of returns in {returns:?}");
        Ok(returns[0])
    }

    /// One parcel. Returns whether it was delivered.
    fn play(&mut self, seed: u64, mood: Mood) -> Result<bool, Failure> {
        let raw = parcel(seed, mood, &self.world);
        let told = self.send(&raw)?;
        let (seen, errno) = match told {
            Return::TransactionComplete => (Some(take(&self.pair.server)?), Errno::UnknownErrno),
            _ => {
                let extended = self.pair.client.device().extended_error()?;
                (None, Errno::from_raw(-extended.param))
            }
        };
        let base = seen.as_ref().map_or(0, |received| received.incoming().buffer);
        let expected = translate(&self.world, &raw, base);
        match (seen, expected) {
            (Some(received), Ok(image)) => {
                let result = self.compare(&received, &image);
                result.map_err(|failure| described(seed, &raw, failure))?;
                received.free()?;
                Ok(true)
            }
            (None, Err(expected)) if expected == errno => Ok(false),
            (seen, expected) => {
                let expected = expected.map(|_| "delivered");
                let seen = if seen.is_some() { Ok("delivered") } else { Err(errno) };
                let failure = Failure::new("it", format!("{expected:?}"), format!("{seen:?}"));
                Err(described(seed, &raw, failure))
            }
        }
    }

    /// Compares what arrived with what should, and takes the files out.
    fn compare(&self, received: &Received, image: &Image) -> Result<(), Failure> {
        let length = image.bytes.len() as u64;
        let bytes = received.bytes_at(received.incoming().buffer, length)?;
        for (at, (seen, expected)) in bytes.iter().zip(&image.bytes).enumerate() {
            check!(
                expected.is_none_or(|byte| byte == *seen),
                "byte {at} is {expected:02x?}, not {seen:#04x}"
            );
        }
        for arrived in &image.fds {
            let number = &bytes[arrived.at..arrived.at + 4];
            let number = u32::from_ne_bytes(number.try_into().expect("four bytes"));
            let expected = self.sent.get(&arrived.from).cloned();
            check_eq!(Some(file_of(number)?), expected, "the file of {arrived:?}");
            check!(!self.world.fds.contains(&number), "{number} is a number of its own");
            if !arrived.kept {
                drop(own(number)?);
            }
        }
        Ok(())
    }
}

/// What a descriptor of this process is of.
fn file_of(number: u32) -> Result<PathBuf, Failure> {
    Ok(std::fs::read_link(format!("/proc/self/fd/{number}"))?)
}

/// Says which parcel it was.
fn described(seed: u64, raw: &Raw, failure: Failure) -> Failure {
    let Raw { data, offsets, buffers_size, .. } = raw;
    let objects: Vec<_> = offsets
        .iter()
        .filter_map(|&offset| data.get(usize::try_from(offset).ok()?..))
        .map(binder_client::object::Object::from_bytes)
        .collect();
    let which = format!(
        "parcel {seed}: {} bytes, room {buffers_size}, at {offsets:?} {objects:x?}: {failure:?}",
        data.len()
    );
    Failure::new("a random parcel", "as the translator of the tests says", which)
}

fn run(env: &Env, first: u64, mood: Mood) -> Result<(), Failure> {
    let mut scene = Scene::new(env)?;
    let before = open_files()?;
    let (mut delivered, mut played, start) = (0, 0, Instant::now());
    for seed in first..first + PARCELS {
        if played >= 50 && start.elapsed() > TIME {
            println!("# {played} of {PARCELS} parcels, then the time was over");
            break;
        }
        played += 1;
        delivered += u64::from(scene.play(seed, mood)?);
        if seed % 50 == 0 {
            check_eq!(open_files()?, before, "descriptors after parcel {seed}");
        }
    }
    let share = 100 * delivered / played;
    match mood {
        Mood::Kind => check!(share >= 80, "most are delivered, not {share} %"),
        Mood::Hostile => check!((20..=80).contains(&share), "both come, not {share} %"),
    }
    check_eq!(open_files()?, before);
    check_eq!(pending(&scene.pair.client)?, [], "the owner hears nothing");
    check_eq!(pending(&scene.pair.server)?, [], "the receiver hears nothing");
    scene.pair.room_is_free()
}

pub fn random_parcels_1(env: &Env) -> Result<(), Failure> {
    run(env, 1_000_000, Mood::Kind)
}

pub fn random_parcels_2(env: &Env) -> Result<(), Failure> {
    run(env, 2 * 1_000_000, Mood::Kind)
}

pub fn random_parcels_3(env: &Env) -> Result<(), Failure> {
    run(env, 3 * 1_000_000, Mood::Kind)
}

pub fn random_parcels_4(env: &Env) -> Result<(), Failure> {
    run(env, 4 * 1_000_000, Mood::Kind)
}

pub fn random_parcels_5(env: &Env) -> Result<(), Failure> {
    run(env, 5 * 1_000_000, Mood::Kind)
}

pub fn random_parcels_6(env: &Env) -> Result<(), Failure> {
    run(env, 6 * 1_000_000, Mood::Kind)
}

pub fn random_parcels_7(env: &Env) -> Result<(), Failure> {
    run(env, 7 * 1_000_000, Mood::Kind)
}

pub fn random_parcels_8(env: &Env) -> Result<(), Failure> {
    run(env, 8 * 1_000_000, Mood::Kind)
}

pub fn hostile_parcels_1(env: &Env) -> Result<(), Failure> {
    run(env, (100 + 1) * 1_000_000, Mood::Hostile)
}

pub fn hostile_parcels_2(env: &Env) -> Result<(), Failure> {
    run(env, (100 + 2) * 1_000_000, Mood::Hostile)
}

pub fn hostile_parcels_3(env: &Env) -> Result<(), Failure> {
    run(env, (100 + 3) * 1_000_000, Mood::Hostile)
}

pub fn hostile_parcels_4(env: &Env) -> Result<(), Failure> {
    run(env, (100 + 4) * 1_000_000, Mood::Hostile)
}
