// SPDX-License-Identifier: GPL-2.0
//! A thread that calls and serves: the layer that most programs use.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;

use crate::buffer::Received;
use crate::commands::Commands;
use crate::error::Error;
use crate::handler::Answer;
use crate::parcel::Parcel;
use crate::party::{Party, ReplyMode};
use crate::returns::{Incoming, Return};
use crate::session::{Raw, ReadTarget, Session, READ_SIZE};
use crate::uapi::{TF_DEFER_COMPLETE, TF_ONE_WAY, TF_STATUS_CODE};

/// How a serving thread came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looper {
    /// The program made it (`BC_ENTER_LOOPER`).
    Entered,
    /// The driver asked for it (`BC_REGISTER_LOOPER`).
    Registered,
}

/// The calling thread as a member of a [`Party`].
///
/// Commands that need no answer are kept and go out with the next ioctl; call
/// [`BinderThread::flush`] to send them at once. It stays with the thread that
/// made it, as the driver knows its callers by their thread.
#[derive(Debug)]
pub struct BinderThread {
    party: Arc<Party>,
    session: Session,
    pending: Commands<'static>,
    /// Replies whose addresses are in `pending`.
    kept: Vec<Parcel>,
    inbox: VecDeque<Return>,
    room: Vec<u8>,
    /// Replies whose completion has not come yet.
    replies_open: u32,
    timeout: Option<Duration>,
    stopped: bool,
    not_send: PhantomData<*const ()>,
}

impl BinderThread {
    pub(crate) fn new(party: &Arc<Party>) -> Self {
        BinderThread {
            party: party.clone(),
            session: Session::new(party.device()),
            pending: Commands::new(),
            kept: Vec::new(),
            inbox: VecDeque::new(),
            room: vec![0; READ_SIZE],
            replies_open: 0,
            timeout: None,
            stopped: false,
            not_send: PhantomData,
        }
    }

    /// The session, for what this layer does not offer.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The party it belongs to.
    pub fn party(&self) -> &Arc<Party> {
        &self.party
    }

    /// Limits each wait for the driver; `None`, the default, waits for ever.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Commands to go out with the next ioctl, ahead of its own.
    pub fn queue(&mut self) -> &mut Commands<'static> {
        &mut self.pending
    }

    /// Frees a buffer with the next ioctl instead of with one of its own.
    pub fn recycle(&mut self, buffer: Received) {
        self.pending.free_buffer(buffer.into_address());
    }

    /// Calls a method and waits for its reply. Requests that arrive meanwhile,
    /// because the callee calls back, are served.
    ///
    /// `flags` are `TF_` bits without `TF_ONE_WAY`.
    pub fn call(
        &mut self,
        handle: u32,
        code: u32,
        parcel: &Parcel,
        flags: u32,
    ) -> Result<Received, Error> {
        let mut commands = Commands::new();
        commands.transaction(handle, code, flags & !TF_ONE_WAY, parcel);
        self.exchange(&commands, self.timeout.is_none())?;
        loop {
            match self.next_return()? {
                Some(Return::Reply(incoming)) => return self.take_reply(incoming),
                Some(entry @ (Return::DeadReply | Return::FailedReply | Return::FrozenReply)) => {
                    return Err(self.session.call_error(entry));
                }
                Some(entry) => self.dispatch(entry)?,
                None => return Err(Errno::ECANCELED.into()),
            }
        }
    }

    fn take_reply(&mut self, incoming: Incoming) -> Result<Received, Error> {
        let reply = self.session.received(incoming)?;
        if incoming.flags & TF_STATUS_CODE == 0 {
            return Ok(reply);
        }
        let bytes = reply.data();
        self.recycle(reply);
        let number = bytes.get(..4).and_then(|bytes| bytes.try_into().ok());
        let number = number.ok_or(Error::Malformed("a status of less than four bytes"))?;
        Err(Error::Status(i32::from_ne_bytes(number)))
    }

    /// Sends a oneway call and waits until the driver has accepted it.
    ///
    /// Returns the completion: `BR_TRANSACTION_COMPLETE`, or one of the two
    /// that replace it.
    pub fn call_oneway(
        &mut self,
        handle: u32,
        code: u32,
        parcel: &Parcel,
        flags: u32,
    ) -> Result<Return, Error> {
        let mut commands = Commands::new();
        commands.transaction(handle, code, flags | TF_ONE_WAY, parcel);
        self.exchange(&commands, self.timeout.is_none())?;
        loop {
            // Completions come in the order of the commands: those of replies
            // that went out before are first.
            match self.next_return()? {
                Some(entry) if entry.is_completion() && self.replies_open == 0 => {
                    return Ok(entry);
                }
                Some(entry @ (Return::DeadReply | Return::FailedReply | Return::FrozenReply)) => {
                    return Err(self.session.call_error(entry));
                }
                Some(entry) => self.dispatch(entry)?,
                None => return Err(Errno::ECANCELED.into()),
            }
        }
    }

    fn pending_replies(&self) -> u32 {
        u32::try_from(self.kept.len()).unwrap_or(u32::MAX)
    }

    /// Serves until the party is stopped, or a handler answers
    /// [`Answer::Stop`].
    pub fn serve(&mut self, looper: Looper) -> Result<(), Error> {
        match looper {
            Looper::Entered => self.pending.enter_looper(),
            Looper::Registered => self.pending.register_looper(),
        };
        while let Some(entry) = self.next_return()? {
            self.dispatch(entry)?;
        }
        self.pending.exit_looper();
        self.flush()
    }

    /// Serves what comes until `done` says so, or at most one wait of the
    /// timeout passes without anything.
    pub fn serve_until(&mut self, mut done: impl FnMut() -> bool) -> Result<(), Error> {
        while !done() {
            match self.next_return()? {
                Some(entry) => self.dispatch(entry)?,
                None => return Err(Errno::ECANCELED.into()),
            }
        }
        self.flush()
    }

    /// Sends the kept commands now, without reading.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.exchange(&Commands::new(), false)
    }

    /// The next return but `BR_NOOP`; `None` if the party is being stopped.
    fn next_return(&mut self) -> Result<Option<Return>, Error> {
        loop {
            if let Some(entry) = self.inbox.pop_front() {
                return Ok(Some(entry));
            }
            if self.stopped || self.party.is_stopped() {
                return Ok(None);
            }
            if let Some(timeout) = self.timeout {
                self.flush()?;
                if !self.inbox.is_empty() {
                    continue;
                }
                if !self.session.readable(timeout)? {
                    return Err(Error::Timeout(timeout));
                }
            }
            self.exchange(&Commands::new(), true)?;
        }
    }

    /// Sends the kept commands and `commands`, and reads a batch if `read`.
    ///
    /// Repeats the ioctl where the driver stopped writing early because it has
    /// an error to report.
    fn exchange(&mut self, commands: &Commands<'_>, read: bool) -> Result<(), Error> {
        let mut write = std::mem::take(&mut self.pending);
        write.raw(commands.as_bytes());
        let mut room = std::mem::take(&mut self.room);
        let before = self.inbox.len();
        let result = self.exchange_all(write.as_bytes(), &mut room, read);
        self.room = room;
        let mut new = self.inbox.iter().skip(before);
        let has_call = new.any(|entry| matches!(entry, Return::Transaction(_)));
        self.party.replies().add(self.pending_replies(), has_call);
        self.replies_open += self.pending_replies();
        self.kept.clear();
        write.clear();
        self.pending = write;
        result
    }

    fn exchange_all(&mut self, write: &[u8], room: &mut [u8], read: bool) -> Result<(), Error> {
        let mut sent = 0;
        loop {
            let target = if read || sent != 0 { ReadTarget::Bytes(room) } else { ReadTarget::None };
            let outcome = self.session.write_read_raw(Raw::new(&write[sent..], target));
            sent += usize::try_from(outcome.write_consumed).unwrap_or(usize::MAX);
            match outcome.result {
                Ok(()) | Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let filled = usize::try_from(outcome.read_consumed).unwrap_or(0).min(room.len());
            for entry in crate::returns::Returns::new(&room[..filled]) {
                let entry = entry?;
                if entry != Return::Noop {
                    self.inbox.push_back(entry);
                }
            }
            if sent >= write.len() {
                return Ok(());
            }
            if outcome.result.is_ok() && outcome.write_consumed == 0 && filled <= 4 && sent != 0 {
                return Err(Error::Malformed("the driver neither takes commands nor says why"));
            }
        }
    }

    /// Does what a return asks for.
    fn dispatch(&mut self, entry: Return) -> Result<(), Error> {
        match entry {
            Return::Transaction(incoming) => return self.serve_request(incoming),
            Return::Increfs(node) => {
                self.party.note(entry);
                self.pending.increfs_done(node.ptr, node.cookie);
            }
            Return::Acquire(node) => {
                self.party.note(entry);
                self.pending.acquire_done(node.ptr, node.cookie);
            }
            Return::Release(_) | Return::Decrefs(_) => self.party.note(entry),
            Return::SpawnLooper => self.party.spawn_looper(Looper::Registered),
            Return::DeadBinder(cookie) => {
                // First, as the handler may give up the handle and with it the
                // watch, after which there is nothing to acknowledge.
                self.pending.dead_binder_done(cookie);
                let party = self.party.clone();
                party.handler().dead(self, cookie);
            }
            Return::ClearDeathNotificationDone(cookie) => {
                let party = self.party.clone();
                party.handler().watch_cleared(self, cookie);
            }
            Return::FrozenBinder(state) => {
                self.pending.freeze_done(state.cookie);
            }
            Return::ClearFreezeNotificationDone(_) | Return::Ok | Return::Noop => {}
            Return::TransactionComplete
            | Return::OnewaySpamSuspect
            | Return::TransactionPendingFrozen => {
                self.replies_open = self.replies_open.saturating_sub(1);
            }
            Return::Error(number) => {
                let number = number.map_or(Errno::UnknownErrno, |n| Errno::from_raw(-n));
                return Err(number.into());
            }
            // The reply that these answer was refused; its caller was told.
            Return::FailedReply | Return::DeadReply | Return::FrozenReply => {
                self.replies_open = self.replies_open.saturating_sub(1);
            }
            Return::Reply(_) | Return::AcquireResult(_) | Return::Finished => {
                return Err(Error::Unexpected(entry))
            }
        }
        Ok(())
    }

    fn serve_request(&mut self, incoming: Incoming) -> Result<(), Error> {
        let request = self.session.received(incoming)?;
        let party = self.party.clone();
        let answer = party.handler().request(self, &request);
        self.recycle(request);
        let (parcel, flags) = match answer {
            Answer::Reply(parcel) => (parcel, 0),
            Answer::ReplyWithFlags(parcel, flags) => (parcel, flags),
            Answer::Status(number) => (Parcel::from_bytes(number.to_ne_bytes()), TF_STATUS_CODE),
            Answer::Nothing => return Ok(()),
            Answer::Stop => {
                self.stopped = true;
                return Ok(());
            }
        };
        if incoming.flags & TF_ONE_WAY != 0 {
            return Ok(());
        }
        let mode = party.reply_mode();
        // What a reply holds is held until its completion is read, which may be long then.
        let may_wait = mode == ReplyMode::Deferred && parcel.objects() == 0;
        let defer = if may_wait { TF_DEFER_COMPLETE } else { 0 };
        self.pending.reply_kept(flags | defer, &parcel);
        self.kept.push(parcel);
        if mode == ReplyMode::Separate {
            self.flush()?;
        }
        Ok(())
    }
}
