// SPDX-License-Identifier: GPL-2.0
//! The write buffer: its bounds and its commands.

use binder_client::commands::Commands;
use binder_client::guard::{BadAddress, GuardedBuffer};
use binder_client::ktap::{Env, Failure};
use binder_client::session::{Raw, ReadTarget, Session};
use binder_client::uapi::*;
use binder_client::{check, check_eq, Errno};

use super::{harmless, nonblocking, nothing_waits, write_bytes, wrote, WORD};
use crate::core_support::*;

pub fn nothing_to_write_or_read_is_a_success(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let outcome = session.write_read(&Commands::new(), 0);
    wrote(&outcome, Ok(()), 0)?;
    check_eq!(outcome.read_consumed, 0);
    Ok(())
}

pub fn commands_are_consumed_one_by_one(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = harmless();
    commands.free_buffer(0).exit_looper();
    let outcome = write_bytes(&session, commands.as_bytes());
    wrote(&outcome, Ok(()), WORD + 12 + WORD)
}

pub fn writing_starts_at_what_is_consumed(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = Commands::new();
    commands.word(0xffff_ffff).word(0xffff_ffff).enter_looper();
    let mut raw = Raw::new(commands.as_bytes(), ReadTarget::None);
    raw.write_consumed = 2 * WORD;
    wrote(&session.write_read_raw(raw), Ok(()), 3 * WORD)?;
    // From the start it is another matter.
    let raw = Raw::new(commands.as_bytes(), ReadTarget::None);
    wrote(&session.write_read_raw(raw), Err(Errno::EINVAL), 0)
}

pub fn nothing_is_written_if_all_is_consumed(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = Commands::new();
    commands.word(0xffff_ffff);
    let mut raw = Raw::new(commands.as_bytes(), ReadTarget::None);
    raw.write_consumed = WORD;
    wrote(&session.write_read_raw(raw), Ok(()), WORD)
}

pub fn more_consumed_than_there_is_writes_nothing(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = Commands::new();
    commands.word(0xffff_ffff).word(0xffff_ffff);
    for consumed in [9, 4096, u64::from(u32::MAX)] {
        let mut raw = Raw::new(commands.as_bytes(), ReadTarget::None);
        raw.write_consumed = consumed;
        wrote(&session.write_read_raw(raw), Ok(()), consumed)?;
    }
    Ok(())
}

pub fn write_without_read_does_not_wait(env: &Env) -> Result<(), Failure> {
    // A call whose reply never comes.
    let _manager = manager(&env.device, |_, channel| channel.wait())?;
    let session = env.session()?;
    send(&session, 0, 1, 0)?;
    send(&session, 0, 1, 0)
}

/// Every one of `numbers` must be refused and not consumed.
fn each_is_invalid(env: &Env, numbers: &[u32]) -> Result<(), Failure> {
    let session = env.session()?;
    for &number in numbers {
        let mut commands = Commands::new();
        commands.word(number).raw(&[0; 256]);
        let outcome = write_bytes(&session, commands.as_bytes());
        let seen = (outcome.result, outcome.write_consumed);
        check_eq!(seen, (Err(Errno::EINVAL), 0), "command {number:#x}");
    }
    Ok(())
}

pub fn unknown_command_is_invalid(env: &Env) -> Result<(), Failure> {
    let mut numbers = vec![0, 1, u32::MAX, 0x8000_0000, BINDER_WRITE_READ];
    numbers.extend([22u32, 23, 100, 255].map(|number| ioc(0, b'c', number, 0)));
    numbers.extend([22u32, 100].map(|number| ioc(1, b'c', number, 8)));
    each_is_invalid(env, &numbers)
}

pub fn commands_of_old_are_invalid(env: &Env) -> Result<(), Failure> {
    each_is_invalid(env, &[BC_ACQUIRE_RESULT, BC_ATTEMPT_ACQUIRE])
}

pub fn returns_as_commands_are_invalid(env: &Env) -> Result<(), Failure> {
    let numbers = [
        BR_NOOP,
        BR_OK,
        BR_TRANSACTION,
        BR_REPLY,
        BR_TRANSACTION_COMPLETE,
        BR_SPAWN_LOOPER,
        BR_DEAD_BINDER,
    ];
    each_is_invalid(env, &numbers)
}

pub fn command_with_another_size_is_invalid(env: &Env) -> Result<(), Failure> {
    let numbers = [
        ioc(1, b'c', 0, 63),
        ioc(1, b'c', 0, 72),
        ioc(1, b'c', 17, 64),
        ioc(1, b'c', 3, 4),
        ioc(1, b'c', 4, 8),
        ioc(1, b'c', 14, 16),
        ioc(1, b'c', 12, 4),
        ioc(0, b'c', 4, 4),
        ioc(2, b'c', 4, 4),
    ];
    each_is_invalid(env, &numbers)
}

pub fn commands_before_a_bad_one_are_carried_out(env: &Env) -> Result<(), Failure> {
    let server = manager(&env.device, |session, _| {
        check_eq!(receive(session)?.incoming().code, 1);
        check_eq!(receive(session)?.incoming().code, 3);
        Ok(())
    })?;
    let session = env.session()?;
    let parcel = Default::default();
    let mut commands = Commands::new();
    commands.transaction(0, 1, TF_ONE_WAY, &parcel);
    commands.word(u32::MAX);
    commands.transaction(0, 2, TF_ONE_WAY, &parcel);
    let outcome = write_bytes(&session, commands.as_bytes());
    wrote(&outcome, Err(Errno::EINVAL), WORD + 64)?;
    send(&session, 0, 3, TF_ONE_WAY)?;
    server.join()
}

pub fn failed_write_skips_the_read(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = Commands::new();
    commands.word(u32::MAX);
    let mut room = [0x55u8; 256];
    let mut raw = Raw::new(commands.as_bytes(), ReadTarget::Bytes(&mut room));
    raw.read_consumed = 64;
    let outcome = session.write_read_raw(raw);
    wrote(&outcome, Err(Errno::EINVAL), 0)?;
    check_eq!(outcome.read_consumed, 0);
    check!(room == [0x55; 256], "the read buffer is untouched");
    Ok(())
}

pub fn bad_write_buffer_is_a_fault(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    // At the top of the address space the sum of address and size wraps: there
    // the end may seem to lie before the start.
    for bad in [BadAddress::Null, BadAddress::Kernel] {
        let raw =
            Raw { write_buffer: bad.address(), write_size: 4, ..Raw::new(&[], ReadTarget::None) };
        wrote(&session.write_read_raw(raw), Err(Errno::EFAULT), 0)?;
    }
    // And if nothing is to be written, the address does not matter.
    for bad in BadAddress::ALL {
        let raw = Raw { write_buffer: bad.address(), ..Raw::new(&[], ReadTarget::None) };
        wrote(&session.write_read_raw(raw), Ok(()), 0)?;
    }
    Ok(())
}

/// Writes `bytes` that end at a forbidden page, claimed to be `size` long.
#[track_caller]
fn write_guarded(session: &Session, bytes: &[u8], size: u64) -> Result<(Errno, u64), Failure> {
    let buffer = GuardedBuffer::with_bytes(bytes)?;
    let raw =
        Raw { write_buffer: buffer.address(), write_size: size, ..Raw::new(&[], ReadTarget::None) };
    let outcome = session.write_read_raw(raw);
    Ok((outcome.result.err().unwrap_or(Errno::from_raw(0)), outcome.write_consumed))
}

pub fn command_cut_by_a_forbidden_page_is_a_fault(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    for cut in 1..4 {
        let mut commands = harmless();
        commands.raw(&BC_ENTER_LOOPER.to_ne_bytes()[..cut]);
        let seen = write_guarded(&session, commands.as_bytes(), 2 * WORD)?;
        check_eq!(seen, (Errno::EFAULT, WORD), "{cut} of 4 bytes");
    }
    Ok(())
}

pub fn payload_cut_by_a_forbidden_page_is_a_fault(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let commands = [
        BC_TRANSACTION,
        BC_REPLY,
        BC_TRANSACTION_SG,
        BC_REPLY_SG,
        BC_FREE_BUFFER,
        BC_INCREFS,
        BC_RELEASE,
        BC_INCREFS_DONE,
        BC_ACQUIRE_DONE,
    ];
    for command in commands {
        let size = ioc_size(command);
        for have in [0, size / 2, size - 1] {
            let mut bytes = harmless();
            bytes.word(command).raw(&vec![0; have]);
            let claimed = 2 * WORD + size as u64;
            let seen = write_guarded(&session, bytes.as_bytes(), claimed)?;
            let expected = (Errno::EFAULT, WORD);
            check_eq!(seen, expected, "{have} bytes of command {command:#x}");
        }
    }
    // None of the cut transactions has become one.
    check_eq!(session.device().extended_error()?.command, BR_OK);
    Ok(())
}

pub fn payload_beyond_the_size_is_not_read(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = harmless();
    commands.free_buffer(0x1234).enter_looper();
    for missing in [1, 4, 7, 8] {
        let mut raw = Raw::new(commands.as_bytes(), ReadTarget::None);
        raw.write_size = 2 * WORD + 8 - missing;
        let outcome = session.write_read_raw(raw);
        wrote(&outcome, Err(Errno::EFAULT), WORD)?;
    }
    Ok(())
}

pub fn rest_shorter_than_a_command_is_left(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = harmless();
    commands.exit_looper();
    for rest in 1..4 {
        let mut raw = Raw::new(commands.as_bytes(), ReadTarget::None);
        raw.write_size = WORD + rest;
        wrote(&session.write_read_raw(raw), Ok(()), WORD)?;
    }
    Ok(())
}

pub fn size_far_too_large_does_no_harm(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = harmless();
    commands.enter_looper();
    for size in [1 << 20, 1 << 32] {
        let seen = write_guarded(&session, commands.as_bytes(), size)?;
        check_eq!(seen, (Errno::EFAULT, 2 * WORD), "size {size:#x}");
    }
    // The end lies beyond the address space: refused or empty, but no more.
    for size in [u64::MAX, u64::MAX / 2, 1 << 63] {
        let (error, consumed) = write_guarded(&session, commands.as_bytes(), size)?;
        check!(
            error == Errno::EFAULT || consumed == 0,
            "size {size:#x}: {error} after {consumed} bytes"
        );
    }
    Ok(session.write(&harmless())?)
}

pub fn many_commands_in_one_write(env: &Env) -> Result<(), Failure> {
    let session = env.session()?;
    let mut commands = Commands::new();
    for number in 0..1000 {
        commands.free_buffer(number).enter_looper();
    }
    let length = commands.len() as u64;
    wrote(&write_bytes(&session, commands.as_bytes()), Ok(()), length)
}

pub fn freeing_unknown_buffers_is_ignored(env: &Env) -> Result<(), Failure> {
    let _manager = manager(&env.device, |session, _| serve_for_ever(session))?;
    let session = nonblocking(env)?;
    let base = session.device().mapping().map_or(0, |region| region.address());
    let mut commands = Commands::new();
    for address in [0, 1, base, base + 8, base + (1 << 20), u64::MAX, 1 << 63] {
        commands.free_buffer(address);
    }
    session.write(&commands)?;
    nothing_waits(&session)?;
    // Neither the middle of a buffer nor one that was freed already is one.
    send(&session, 0, 1, 0)?;
    let (reply, _) = session.next_reply(binder_client::limits::wait())?;
    let address = reply.into_address();
    let mut commands = Commands::new();
    commands.free_buffer(address + 1).free_buffer(address + 8);
    commands.free_buffer(address).free_buffer(address);
    session.write(&commands)?;
    call(&session, 0, 2)
}
