// SPDX-License-Identifier: GPL-2.0
//! A stage: a broker behind handle 0 in another process, and actors here.
//!
//! To the driver every open file is a process. So one thread of one process
//! can play all roles of a conversation, each on a file of its own, step by
//! step: no step depends on the scheduler. Actors never block, so that "there
//! is nothing" is an answer (`EAGAIN`) and not a matter of time.

// Each test program uses a part of this module.
#![allow(dead_code)]

pub mod duo;
pub mod worker;

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use binder_client::buffer::Received;
use binder_client::commands::Commands;
use binder_client::device::{Device, OpenAs, DEFAULT_MAP};
use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::{answer_reference, spawn_manager, Answer, Request};
use binder_client::object::{Object, Strength};
use binder_client::parcel::Parcel;
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::session::{Session, READ_SIZE};
use binder_client::uapi::{ExtendedError, PtrCookie, TF_ONE_WAY};
use binder_client::{check, check_eq, fail, limits, Errno};
use nix::fcntl::{FcntlArg, OFlag};

/// Broker's method: keep the node in the request under the number that follows it.
pub const PUT: u32 = 1;
/// Broker's method: reply with the node of a number.
const GET: u32 = 2;
/// Broker's method: let go of the node of a number.
const DROP: u32 = 3;
/// Broker's method: reply with the data.
pub const ECHO: u32 = 4;

/// A node as its owner names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node's pointer.
    pub ptr: u64,
    /// The node's cookie.
    pub cookie: u64,
    /// Flags with which it is created.
    pub flags: u32,
}

impl Node {
    /// A node without flags.
    pub const fn new(ptr: u64, cookie: u64) -> Self {
        Node { ptr, cookie, flags: 0 }
    }

    /// The node in the form of the reference returns.
    pub fn name(self) -> PtrCookie {
        PtrCookie { ptr: self.ptr, cookie: self.cookie }
    }

    /// The object that sends it.
    pub fn object(self, strength: Strength) -> Object {
        Object::Binder { strength, ptr: self.ptr, cookie: self.cookie, flags: self.flags }
    }
}

/// The broker's process and the device.
#[derive(Debug)]
pub struct Stage {
    device: PathBuf,
    broker: Peer,
    next: Cell<u32>,
}

impl Stage {
    /// Starts the broker.
    pub fn new(env: &Env) -> Result<Self, Failure> {
        Self::on(&env.device)
    }

    /// Starts the broker of a device.
    pub fn on(device: &Path) -> Result<Self, Failure> {
        let mut kept = HashMap::new();
        let broker = spawn_manager(device, move |request| serve(request, &mut kept))?;
        Ok(Stage { device: device.to_owned(), broker, next: Cell::new(1) })
    }

    /// The broker.
    pub fn broker(&self) -> &Peer {
        &self.broker
    }

    /// Ends the broker's process.
    pub fn close(self) -> Result<(), Failure> {
        self.broker.kill()
    }

    /// An actor with a mapping of 1 MiB.
    pub fn actor(&self) -> Result<Session, Failure> {
        self.actor_with_map(DEFAULT_MAP)
    }

    /// An actor with a mapping of any size.
    pub fn actor_with_map(&self, map: usize) -> Result<Session, Failure> {
        actor_on(&self.device, Some(map))
    }

    /// An actor without a mapping.
    pub fn actor_without_map(&self) -> Result<Session, Failure> {
        actor_on(&self.device, None)
    }

    /// Gives `client` a strong handle of a node of `owner`, count one; nobody
    /// else refers to the node afterwards. The calling thread acts for both.
    pub fn introduce(&self, owner: &Session, client: &Session, node: Node) -> Result<u32, Failure> {
        self.introduce_as(owner, client, node, Strength::Strong)
    }

    /// As [`Stage::introduce`], strong or weak.
    pub fn introduce_as(
        &self,
        owner: &Session,
        client: &Session,
        node: Node,
        strength: Strength,
    ) -> Result<u32, Failure> {
        let number = self.publish(owner, node, strength)?;
        let handle = self.obtain(client, number)?;
        self.forget(client, number)?;
        Ok(handle)
    }

    /// Gives a node to the broker; it keeps it under the returned number.
    pub fn publish(&self, owner: &Session, node: Node, strength: Strength) -> Result<u32, Failure> {
        let number = self.next.replace(self.next.get() + 1);
        self.publish_as(owner, node, strength, number)?;
        Ok(number)
    }

    /// As [`Stage::publish`], under a number on which several processes agreed.
    pub fn publish_as(
        &self,
        owner: &Session,
        node: Node,
        strength: Strength,
        number: u32,
    ) -> Result<(), Failure> {
        let mut parcel = Parcel::new();
        parcel.object(&node.object(strength)).u32(number);
        let (reply, returns) = exchange(owner, 0, PUT, 0, &parcel)?;
        reply.free()?;
        acknowledge(owner, &returns)
    }

    /// Gets the node of a number from the broker and takes one reference.
    pub fn obtain(&self, client: &Session, number: u32) -> Result<u32, Failure> {
        let (reply, _) = exchange(client, 0, GET, 0, Parcel::new().u32(number))?;
        let object = reply.objects()?.first().copied();
        let Some(Object::Handle { strength, handle, .. }) = object else {
            return Err(Failure::new("the broker's reply", "a handle", format!("{object:?}")));
        };
        let mut commands = Commands::new();
        commands.take_ref(strength, handle);
        client.write(&commands)?;
        reply.free()?;
        Ok(handle)
    }

    /// Lets the broker drop what it keeps under a number.
    pub fn forget(&self, client: &Session, number: u32) -> Result<(), Failure> {
        let (reply, _) = exchange(client, 0, DROP, 0, Parcel::new().u32(number))?;
        Ok(reply.free()?)
    }

    /// A call that the broker answers with its data.
    pub fn echo(&self, client: &Session, data: &[u8]) -> Result<Vec<u8>, Failure> {
        let (reply, _) = exchange(client, 0, ECHO, 0, &Parcel::from_bytes(data))?;
        let data = reply.data();
        reply.free()?;
        Ok(data)
    }
}

/// The broker's methods.
fn serve(request: &mut Request<'_>, kept: &mut HashMap<u32, Object>) -> Result<Answer, Failure> {
    let data = request.data();
    let number = |at: usize| {
        let bytes = data.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u32::from_ne_bytes)
    };
    let mut commands = Commands::new();
    let mut parcel = Parcel::new();
    match request.code() {
        PUT => {
            let object = request.received().objects()?[0];
            if let Object::Handle { strength, handle, .. } = object {
                commands.take_ref(strength, handle);
            }
            kept.insert(number(24), object);
        }
        GET => {
            if let Some(object) = kept.get(&number(0)) {
                parcel.object(object);
            }
        }
        DROP => {
            if let Some(Object::Handle { strength, handle, .. }) = kept.remove(&number(0)) {
                commands.drop_ref(strength, handle);
            }
        }
        _ => parcel = Parcel::from_bytes(data),
    }
    request.session.write(&commands)?;
    Ok(Answer::Reply(parcel))
}

/// An actor on any device.
pub fn actor_on(path: &Path, map: Option<usize>) -> Result<Session, Failure> {
    let options = OpenAs { map, nonblock: true };
    Ok(Session::primed(&Device::open_with(path, options)?)?)
}

/// Makes an actor's reads block, or not.
pub fn set_nonblock(session: &Session, nonblock: bool) -> Result<(), Failure> {
    let flags = if nonblock { OFlag::O_RDWR | OFlag::O_NONBLOCK } else { OFlag::O_RDWR };
    nix::fcntl::fcntl(&**session.device(), FcntlArg::F_SETFL(flags))?;
    Ok(())
}

/// Sends a call, without reading.
pub fn send(
    session: &Session,
    handle: u32,
    code: u32,
    flags: u32,
    parcel: &Parcel,
) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.transaction(handle, code, flags, parcel);
    Ok(session.write(&commands)?)
}

/// Sends a reply, without reading.
pub fn reply(session: &Session, flags: u32, parcel: &Parcel) -> Result<(), Failure> {
    let mut commands = Commands::new();
    commands.reply(flags, parcel);
    Ok(session.write(&commands)?)
}

/// A call with its reply, and all that was read.
pub fn exchange(
    session: &Session,
    handle: u32,
    code: u32,
    flags: u32,
    parcel: &Parcel,
) -> Result<(Received, Vec<Return>), Failure> {
    send(session, handle, code, flags, parcel)?;
    Ok(session.next_reply(limits::wait())?)
}

/// The next transaction that `session` gets.
#[track_caller]
pub fn take(session: &Session) -> Result<Received, Failure> {
    Ok(session.next_transaction(limits::wait())?.0)
}

/// All that the driver has for `session` now, until it says `EAGAIN`.
pub fn pending(session: &Session) -> Result<Vec<Return>, Failure> {
    let mut all = Vec::new();
    for _ in 0..10_000 {
        let outcome = session.write_read(&Commands::new(), READ_SIZE);
        if outcome.result == Err(Errno::EAGAIN) {
            return Ok(all);
        }
        all.extend(outcome.ok()?);
    }
    Err(Failure::new("returns", "an end", "10,000 reads without one"))
}

/// As [`pending`] without news of references, which come when others die.
pub fn pending_news(session: &Session) -> Result<Vec<Return>, Failure> {
    let mut all = pending(session)?;
    all.retain(|entry| {
        !matches!(
            entry,
            Return::Increfs(_) | Return::Acquire(_) | Return::Release(_) | Return::Decrefs(_)
        )
    });
    Ok(all)
}

/// Checks that a thread that waits for a reply gets nothing else.
///
/// The completion of its call does not count: whether a read that must not
/// block hands it out before the reply is another case's subject.
#[track_caller]
pub fn gets_nothing(session: &Session) -> Result<(), Failure> {
    let mut all = pending_news(session)?;
    all.retain(|entry| *entry != Return::TransactionComplete);
    binder_client::ktap::equal("what the waiting thread gets", all, vec![])
}

/// Answers all requests of `returns` to confirm references.
pub fn acknowledge(session: &Session, returns: &[Return]) -> Result<(), Failure> {
    for entry in returns {
        answer_reference(session, *entry)?;
    }
    Ok(())
}

/// A call that must fail at once: the return, and the extended error.
pub fn refused(
    session: &Session,
    handle: u32,
    flags: u32,
    parcel: &Parcel,
) -> Result<(Return, ExtendedError), Failure> {
    send(session, handle, 1, flags, parcel)?;
    refusal(session)
}

/// The failure that was just queued, which must be the only thing that is.
pub fn refusal(session: &Session) -> Result<(Return, ExtendedError), Failure> {
    let returns = pending(session)?;
    check_eq!(returns.len(), 1, "number of returns in {returns:?}");
    Ok((returns[0], session.device().extended_error()?))
}

/// Waits until the device has no manager: the one of the case before may be on its
/// way out, as a driver may release a file some time after its last close.
pub fn no_manager(session: &Session) -> Result<(), Failure> {
    let start = Instant::now();
    while start.elapsed() < limits::wait() {
        send(session, 0, 1, TF_ONE_WAY, &Parcel::new())?;
        let returns = pending(session)?;
        let error = session.device().extended_error()?;
        if returns == [Return::DeadReply] && error.param == -(Errno::EINVAL as i32) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    fail!("the manager of before is still there after {:?}", limits::wait())
}

/// Checks for `BR_FAILED_REPLY` with an error number.
#[track_caller]
pub fn failed_with(seen: (Return, ExtendedError), errno: Errno) -> Result<(), Failure> {
    let told = (seen.0, seen.1.command, seen.1.param);
    let expected = (Return::FailedReply, binder_client::uapi::BR_FAILED_REPLY, -(errno as i32));
    binder_client::ktap::equal("return and extended error", told, expected)
}

/// Checks for `BR_DEAD_REPLY` with a parameter.
#[track_caller]
pub fn dead_with(seen: (Return, ExtendedError), param: i32) -> Result<(), Failure> {
    let told = (seen.0, seen.1.command, seen.1.param);
    let expected = (Return::DeadReply, binder_client::uapi::BR_DEAD_REPLY, param);
    binder_client::ktap::equal("return and extended error", told, expected)
}

/// A whole call between two actors: request, reply, both freed.
pub fn round_trip(client: &Session, handle: u32, server: &Session) -> Result<(), Failure> {
    let parcel = Parcel::from_bytes(*b"round trip");
    send(client, handle, 7, 0, &parcel)?;
    let request = take(server)?;
    check!(request.data() == parcel.data(), "the request's own data");
    reply(server, 0, &parcel)?;
    request.free()?;
    check_eq!(pending(server)?, [Return::TransactionComplete]);
    let (answer, _) = client.next_reply(limits::wait())?;
    check!(answer.data() == parcel.data(), "the reply's own data");
    Ok(answer.free()?)
}

/// The error of an operation that must fail in the library's terms.
pub fn error_of<T: std::fmt::Debug>(result: Result<T, Error>) -> Result<Error, Failure> {
    match result {
        Err(error) => Ok(error),
        Ok(value) => Err(Failure::new("an operation", "an error", format!("{value:?}"))),
    }
}
