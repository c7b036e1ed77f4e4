// SPDX-License-Identifier: GPL-2.0
//! Senders that rewrite what they send during the ioctl.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::Instant;

use binder_client::buffer::Received;
use binder_client::ktap::{Env, Failure};
use binder_client::object::Object;
use binder_client::returns::Return;
use binder_client::uapi::{FdArrayObject, TransactionData, TF_ONE_WAY, TYPE_FDA, TYPE_PTR};
use binder_client::{check, check_eq, limits, Errno};

use crate::bugs::{send_head, INVALID};
use crate::common::{array, block, block_at, is_open, numbers, open_files, parcel, pipe, Pair};
use crate::stage::worker::{Pending, Worker};
use crate::stage::{pending, send, take};

/// Memory that one thread changes while another one sends it.
#[derive(Debug)]
struct Shared {
    words: Vec<AtomicU64>,
    stop: AtomicBool,
}

impl Shared {
    fn new(words: &[u64]) -> Arc<Self> {
        let words = words.iter().map(|&word| AtomicU64::new(word)).collect();
        Arc::new(Shared { words, stop: AtomicBool::new(false) })
    }

    fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    /// Lets `worker` write one of `values` after the other to all words of `range`, until
    /// told to stop.
    fn rewrite(
        self: &Arc<Self>,
        worker: &Worker,
        range: std::ops::Range<usize>,
        values: &[u64],
    ) -> Result<Pending<()>, Failure> {
        let (shared, values) = (self.clone(), values.to_vec());
        worker.start(move || {
            while !shared.stop.load(Relaxed) {
                for &value in &values {
                    shared.words[range.clone()].iter().for_each(|word| word.store(value, Relaxed));
                }
            }
        })
    }
}

/// How often the sender races with itself, at most: slow machines do it less often.
const RACES: usize = 1500;

/// Runs `body` for each race, as long as there is time.
fn race(mut body: impl FnMut() -> Result<(), Failure>) -> Result<usize, Failure> {
    let start = Instant::now();
    let mut count = 0;
    while count < RACES && (count < 20 || start.elapsed() < limits::wait() / 2) {
        body()?;
        count += 1;
    }
    Ok(count)
}

/// Two numbers in one word.
fn twice(fd: u32) -> u64 {
    u64::from(fd) | (u64::from(fd) << 32)
}

pub fn bug_b58_descriptors_rewritten_meanwhile(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let worker = Worker::spawn()?;
    let (_read, write) = pipe()?;
    let good = write.as_raw_fd() as u32;
    let words = Shared::new(&[twice(good); 8]);
    let bad = [9999, good, u32::MAX, 0x7fff_0000].map(twice);
    let rewriting = words.rewrite(&worker, 0..8, &bad)?;
    let before = open_files()?;
    let mut parcel = parcel();
    parcel.object(&Object::Buffer(block(words.address(), 64)));
    parcel.object(&Object::FdArray(array(16, 0, 0))).set_buffers_size(64);
    let mut delivered = 0;
    let races = race(|| {
        send(&pair.client, pair.handle, 1, TF_ONE_WAY, &parcel)?;
        match pending(&pair.client)?[..] {
            [Return::TransactionComplete] => {
                let received = take(&pair.server)?;
                let mut seen = numbers(&received, 0, 0, 16)?;
                for number in &seen {
                    check!(is_open(*number)?, "descriptor {number} is open");
                }
                seen.sort_unstable();
                seen.dedup();
                check_eq!(seen.len(), 16, "all of them are new");
                received.free()?;
                delivered += 1;
            }
            [Return::FailedReply] => {
                let errno = Errno::from_raw(-pair.client.device().extended_error()?.param);
                check_eq!(errno, Errno::EBADF);
            }
            ref other => return Err(Failure::new("an outcome", "one", format!("{other:?}"))),
        }
        Ok(())
    });
    words.stop.store(true, Relaxed);
    rewriting.wait()?;
    let races = races?;
    check_eq!(open_files()?, before);
    check!(delivered < races, "not all of {races} races were won");
    pair.room_is_free()
}

pub fn bug_b58_objects_rewritten_meanwhile(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(env)?;
    let worker = Worker::spawn()?;
    let (_read, write) = pipe()?;
    let good = write.as_raw_fd() as u32;
    let memory = Shared::new(&[twice(good); 8]);
    let source = memory.address();
    // A head, a block, its child, and an array in the child; the words that say where
    // the child and the array are change.
    let kind = u64::from;
    let data = [
        0,
        kind(TYPE_PTR),
        source,
        64,
        0,
        0,
        kind(TYPE_PTR) | (1 << 32),
        source,
        64,
        0,
        8,
        kind(TYPE_FDA),
        4,
        1,
        16,
    ];
    let words = Shared::new(&data);
    let changes = [8, 0, 56, 57, 1 << 40, u64::MAX - 7, 16, 9];
    let rewriting = words.rewrite(&worker, 10..11, &changes)?;
    let other = Worker::spawn()?;
    let counting = words.rewrite(&other, 12..13, &[4, 0, 12, 13, 1 << 62, u64::MAX])?;
    let before = open_files()?;
    let offsets: [u64; 3] = [8, 48, 88];
    let head = TransactionData {
        code: 1,
        data_size: 120,
        offsets_size: 24,
        buffer: words.address(),
        offsets: offsets.as_ptr() as u64,
        ..Default::default()
    };
    let mut outcomes = [0, 0];
    let races = race(|| {
        send_head(&pair, head, 128)?;
        match pending(&pair.client)?[..] {
            [Return::TransactionComplete] => {
                let received = take(&pair.server)?;
                outcomes[0] += 1;
                check_consistent(&received)?;
                received.free()?;
            }
            [Return::FailedReply] => {
                outcomes[1] += 1;
                let errno = Errno::from_raw(-pair.client.device().extended_error()?.param);
                check_eq!(errno, INVALID);
            }
            ref other => return Err(Failure::new("an outcome", "one", format!("{other:?}"))),
        }
        Ok(())
    });
    words.stop.store(true, Relaxed);
    rewriting.wait()?;
    counting.wait()?;
    races?;
    check_eq!(open_files()?, before);
    check!(outcomes.iter().all(|&count| count > 0), "both outcomes, not {outcomes:?}");
    pair.room_is_free()
}

/// What arrives agrees with itself, whatever was sent.
fn check_consistent(received: &Received) -> Result<(), Failure> {
    let child = block_at(received, 1)?;
    let offset = child.parent_offset as usize;
    let bytes = received.block(0)?;
    check!(offset + 8 <= bytes.len(), "the address is in the parent, not at {offset}");
    check_eq!(&bytes[offset..offset + 8], child.buffer.to_ne_bytes());
    let Object::FdArray(FdArrayObject { num_fds, parent_offset, .. }) = received.objects()?[2]
    else {
        return Err(Failure::new("an object", "an array", "another"));
    };
    check!(num_fds <= 12, "so many fit, not {num_fds}");
    for number in numbers(received, 1, parent_offset as usize, num_fds as usize)? {
        check!(is_open(number)?, "descriptor {number} is open");
    }
    Ok(())
}
