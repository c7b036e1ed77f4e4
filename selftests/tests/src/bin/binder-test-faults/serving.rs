// SPDX-License-Identifier: GPL-2.0
//! Failures while a call is received or answered: this process is the manager,
//! and its client must learn the end of every call.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use binder_client::commands::Commands;
use binder_client::device::{Device, OpenAs};
use binder_client::error::Error;
use binder_client::ktap::{Env, Failure};
use binder_client::manager::{answer_reference, become_manager_with_flags};
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::peer::{Channel, Peer};
use binder_client::returns::Return;
use binder_client::session::{Raw, ReadTarget, Session, READ_SIZE};
use binder_client::uapi::{FLAT_BINDER_FLAG_ACCEPTS_FDS, TF_ACCEPT_FDS};
use binder_client::{check, check_eq, fail, limits, Errno};

use crate::client::{check_outcome, drain};
use crate::injector::sweep;

/// How long one look for the client's word or the next call takes.
const LOOK: Duration = Duration::from_millis(20);

/// The manager and its client.
struct Pair {
    session: Session,
    client: Peer,
    descriptors: BTreeSet<i32>,
}

impl Pair {
    fn new(path: &Path) -> Result<Self, Failure> {
        // A call that could not be received leaves nothing to return: that read must not wait.
        let device = Device::open_with(path, OpenAs { nonblock: true, ..Default::default() })?;
        become_manager_with_flags(&device, FLAT_BINDER_FLAG_ACCEPTS_FDS)?;
        let client = Peer::spawn(|channel| call_whenever_told(path, channel))?;
        Session::primed(&device)?;
        let mut pair = Pair { session: looper(&device)?, client, descriptors: BTreeSet::new() };
        // One call without failures, so that nothing is new for the first attempt.
        pair.start_call()?;
        check_eq!(pair.end_of_call()?, "reply");
        pair.descriptors = descriptors()?;
        Ok(pair)
    }

    /// Lets the client call and waits until the call is there.
    fn start_call(&self) -> Result<(), Failure> {
        self.client.signal()?;
        check!(self.session.readable(limits::wait())?, "the client's call comes");
        Ok(())
    }

    /// Serves without failures until the client has told how its call ended.
    fn end_of_call(&self) -> Result<String, Failure> {
        let start = Instant::now();
        while start.elapsed() < limits::wait() {
            while self.session.readable(Duration::ZERO)? {
                for entry in self.session.read(LOOK)? {
                    self.serve(entry)?;
                }
            }
            if let Ok(end) = self.client.channel().recv_within::<String>(LOOK) {
                return Ok(end);
            }
        }
        fail!("the client's call has no end")
    }

    fn serve(&self, entry: Return) -> Result<(), Failure> {
        answer_reference(&self.session, entry)?;
        if let Return::Transaction(incoming) = entry {
            let request = self.session.received(incoming)?;
            close_received(&request.objects()?)?;
            let parcel = Parcel::new();
            let mut commands = Commands::new();
            commands.free_buffer(request.into_address()).reply(0, &parcel);
            self.session.write(&commands)?;
        }
        Ok(())
    }

    /// Closes what the failure left open, at most `most` descriptors.
    ///
    /// A thread that cannot be told what it got cannot close it: the driver may
    /// leave that much, as long as it belongs to one call.
    fn close_strays(&self, most: usize) -> Result<(), Failure> {
        let strays: Vec<i32> = descriptors()?.difference(&self.descriptors).copied().collect();
        for &stray in &strays {
            nix::unistd::close(stray)?;
        }
        check!(strays.len() <= most, "at most {most} descriptors are left, not {strays:?}");
        Ok(())
    }
}

/// A session in the looper state.
fn looper(device: &Arc<Device>) -> Result<Session, Failure> {
    let session = Session::new(device);
    let mut commands = Commands::new();
    commands.enter_looper();
    session.write(&commands)?;
    Ok(session)
}

/// Open descriptors, without the one that lists them.
fn descriptors() -> Result<BTreeSet<i32>, Failure> {
    let listed = std::fs::read_dir("/proc/self/fd")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect::<Vec<i32>>();
    let is_open = |fd: &i32| std::fs::read_link(format!("/proc/self/fd/{fd}")).is_ok();
    Ok(listed.into_iter().filter(is_open).collect())
}

fn close_received(objects: &[Object]) -> Result<(), Failure> {
    for object in objects {
        if let Object::Fd { fd, .. } = *object {
            nix::unistd::close(i32::try_from(fd)?)?;
        }
    }
    Ok(())
}

/// The client: a call with a node and a descriptor each time it is told to,
/// and its end as a word.
fn call_whenever_told(path: &Path, channel: &Channel) -> Result<(), Failure> {
    let session = Session::primed(&Device::open(path)?)?;
    let file = File::open("/dev/null")?;
    while channel.recv_within::<()>(limits::case()).is_ok() {
        let mut parcel = Parcel::new();
        parcel.binder(0x1000, 1).fd(&file);
        let mut commands = Commands::new();
        commands.transaction(0, 1, TF_ACCEPT_FDS, &parcel);
        session.write(&commands)?;
        let end = match session.next_reply(limits::wait()) {
            Ok((reply, returns)) => {
                close_received(&reply.objects()?)?;
                returns.into_iter().try_for_each(|entry| answer_reference(&session, entry))?;
                "reply"
            }
            Err(Error::Failed(_)) => "failed",
            Err(Error::Dead(_)) => "dead",
            Err(error) => return Err(error.into()),
        };
        drain(&session)?;
        channel.send(&end)?;
    }
    Ok(())
}

pub fn receiving_of_a_call(env: &Env) -> Result<(), Failure> {
    let mut pair = Pair::new(&env.device)?;
    sweep(|shot| {
        pair.start_call()?;
        let mut room = [0u8; READ_SIZE];
        let raw = Raw::new(&[], ReadTarget::Bytes(&mut room));
        let mut outcome = shot.fire(|| pair.session.write_read_raw(raw))?;
        let is_nothing = shot.fired() && outcome.result == Err(Errno::EAGAIN);
        if is_nothing {
            // The call has failed, and the client learns.
        } else if outcome.result.is_ok() {
            outcome.bytes = room[..usize::try_from(outcome.read_consumed)?].to_vec();
            for entry in outcome.ok()? {
                pair.serve(entry)?;
            }
        } else {
            check_outcome(shot, &outcome)?;
            // It does not know what it has been given. If it leaves, its
            // client learns; a call that it has not been given stays.
            pair.session.device().thread_exit()?;
            pair.session = looper(&pair.session.device().clone())?;
        }
        let end = pair.end_of_call()?;
        check!(shot.fired() || end == "reply", "a call without failures is answered");
        // One stray at most, and only of a call that the server knows nothing of.
        pair.close_strays(usize::from(end != "reply"))?;
        pair.start_call()?;
        check_eq!(pair.end_of_call()?, "reply", "end of the next call");
        pair.close_strays(0)
    })
}

pub fn sending_of_a_reply(env: &Env) -> Result<(), Failure> {
    let pair = Pair::new(&env.device)?;
    let file = File::open("/dev/null")?;
    let mut own = descriptors()?;
    own.retain(|fd| !pair.descriptors.contains(fd));
    let pair = Pair { descriptors: &pair.descriptors | &own, ..pair };
    sweep(|shot| {
        pair.start_call()?;
        let (request, returns) = pair.session.next_transaction(limits::wait())?;
        for entry in returns {
            answer_reference(&pair.session, entry)?;
        }
        close_received(&request.objects()?)?;
        let mut parcel = Parcel::new();
        parcel.binder(0x3000, 3).fd(&file).bytes(&[5u8; 6000]);
        let mut commands = Commands::new();
        commands.free_buffer(request.into_address()).reply(0, &parcel);
        let raw = Raw::new(commands.as_bytes(), ReadTarget::None);
        let outcome = shot.fire(|| pair.session.write_read_raw(raw))?;
        check_outcome(shot, &outcome)?;
        if drain(&pair.session)?.is_empty() {
            // The driver may not have seen the reply at all.
            let parcel = Parcel::new();
            let mut commands = Commands::new();
            commands.reply(0, &parcel);
            pair.session.write(&commands)?;
        }
        let end = pair.end_of_call()?;
        check!(shot.fired() || end == "reply", "a reply without failures arrives");
        pair.start_call()?;
        check_eq!(pair.end_of_call()?, "reply", "end of the next call");
        pair.close_strays(0)
    })
}
