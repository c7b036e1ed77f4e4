// SPDX-License-Identifier: GPL-2.0
//! File descriptors in transactions: who may send them, what arrives, and that
//! no file is kept open by a transaction that is gone.

#[path = "../files/limits.rs"]
mod full;
#[path = "../files/leaks.rs"]
mod leaks;
#[path = "../files/permission.rs"]
mod permission;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../files/transfer.rs"]
mod transfer;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::time::Duration;

use std::process::ExitCode;

use binder_client::buffer::Received;
use binder_client::ktap::{self, cases, Failure};
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::session::Session;
use binder_client::uapi::FLAT_BINDER_FLAG_ACCEPTS_FDS;
use binder_client::{check, check_eq, limits};
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};

use stage::{Node, Stage};

/// A node whose requests may carry files.
const OPEN: Node = Node { flags: FLAT_BINDER_FLAG_ACCEPTS_FDS, ..Node::new(0x1000, 0x11) };

/// A server that accepts files, a client, and its handle.
fn pair(stage: &Stage) -> Result<(Session, Session, u32), Failure> {
    let (server, client) = (stage.actor()?, stage.actor()?);
    let handle = stage.introduce(&server, &client, OPEN)?;
    Ok((server, client, handle))
}

/// A pipe: the end to read from, the end to write to.
fn pipe() -> Result<(File, File), Failure> {
    let (read, write) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
    Ok((read.into(), write.into()))
}

/// A parcel with the file of each descriptor.
fn parcel(files: &[&dyn AsFd]) -> Parcel {
    let mut parcel = Parcel::new();
    for file in files {
        parcel.fd(&file.as_fd());
    }
    parcel
}

/// Takes over the descriptors in a received buffer.
fn files(received: &Received) -> Result<Vec<File>, Failure> {
    let file = |object| match object {
        Object::Fd { fd, .. } => own(fd),
        other => Err(Failure::new("an object", "a descriptor", format!("{other:?}"))),
    };
    received.objects()?.into_iter().map(file).collect()
}

/// Takes over a descriptor that the driver made for this process.
fn own(fd: u32) -> Result<File, Failure> {
    let path = format!("/proc/self/fd/{fd}");
    check!(std::fs::symlink_metadata(&path).is_ok(), "descriptor {fd} is open");
    // SAFETY: the driver just made it for the receiver, who is the only one to
    // know it, and the line above saw that it is open.
    #[allow(unsafe_code)]
    let owned = unsafe { OwnedFd::from_raw_fd(fd as i32) };
    Ok(owned.into())
}

/// Checks that what is written to one end arrives at the other.
fn connected(read: &mut File, write: &mut File) -> Result<(), Failure> {
    write.write_all(b"through the pipe")?;
    let mut seen = [0; 16];
    read.read_exact(&mut seen)?;
    check_eq!(&seen, b"through the pipe");
    Ok(())
}

/// Checks that nobody has the writing end any more, which may take a moment.
fn closed_everywhere(read: &File) -> Result<(), Failure> {
    let seen = events(read, limits::wait())?;
    check!(seen.contains(PollFlags::POLLHUP), "the writing end is closed, not {seen:?}");
    Ok(())
}

/// Checks that somebody still has the writing end.
fn still_open(read: &File) -> Result<(), Failure> {
    check_eq!(events(read, Duration::ZERO)?, PollFlags::empty());
    Ok(())
}

fn events(file: &File, timeout: Duration) -> Result<PollFlags, Failure> {
    let mut fds = [PollFd::new(file.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX))?;
    Ok(fds[0].revents().unwrap_or(PollFlags::empty()))
}

/// The numbers of all descriptors of this process.
fn open_files() -> Result<Vec<String>, Failure> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        numbers.push(entry?.file_name().to_string_lossy().into_owned());
    }
    // One of them is the folder's own; its number is that of no other.
    numbers.sort();
    Ok(numbers)
}

fn main() -> ExitCode {
    ktap::main(&cases![
        transfer::file_arrives_under_a_new_number,
        transfer::received_descriptor_is_closed_on_exec,
        transfer::both_descriptors_share_one_open_file,
        transfer::several_files_arrive_in_their_order,
        transfer::same_file_twice_gets_two_numbers,
        transfer::file_in_a_oneway_call_arrives,
        transfer::file_in_a_reply_arrives,
        transfer::files_and_nodes_travel_together,
        transfer::cookie_passes_and_the_upper_half_is_zero,
        transfer::file_arrives_in_another_process,
        transfer::binder_file_travels_too,
        permission::node_without_permission_gets_no_files,
        permission::reply_needs_the_callers_permission,
        permission::permission_is_that_of_the_first_sending,
        permission::bad_descriptors_are_refused,
        permission::refused_file_in_a_reply_fails_the_call,
        leaks::sender_may_close_at_once,
        leaks::sender_may_die_before_the_delivery,
        leaks::freeing_the_buffer_leaves_the_descriptor_open,
        leaks::refused_transaction_lets_the_file_go,
        leaks::undelivered_call_lets_the_file_go_with_the_receiver,
        leaks::undelivered_oneway_call_lets_the_file_go_with_the_receiver,
        leaks::undelivered_reply_lets_the_file_go_with_the_caller,
        leaks::bug_b65_file_in_flight_to_its_owner_does_not_keep_it_alive,
        leaks::process_ends_though_another_has_its_file,
        full::request_without_a_free_number_fails_the_call,
        full::half_placed_request_takes_its_numbers_back,
        full::oneway_call_without_a_free_number_is_dropped,
        full::reply_without_a_free_number_fails_the_call,
    ])
}
