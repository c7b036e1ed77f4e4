// SPDX-License-Identifier: GPL-2.0

//! `BC_TRANSACTION`: a call or a oneway message leaves its sender.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{prelude::*, sync::Arc, task::Kuid};

use super::{
    chain::{Chain, Waiting},
    copy::Terms,
    log::{Destination, Kind},
    next_id, security,
    security::SenderContext,
    trace::trace_request,
    Cargo, Place, TargetName, Transaction, TransactionData,
};
use crate::{
    allocation::{accepts_files, Allocation},
    defs::{NodeFlags, Return, TransactionFlags},
    error::TransactionError,
    ffi::{task::WakeMode, time::now},
    node::NodeClaim,
    process::{freezer::Admission, BufferKind, Process, Wakeup},
    reports::{self, Route},
    thread::{CallStart, Thread},
    work::{Notice, Work},
};

type Outcome<T> = core::result::Result<T, TransactionError>;

/// What is worth a report although the message was accepted.
#[derive(Clone, Copy)]
enum Warning {
    /// Its sender floods the target.
    Spam,
    /// It waits, because its target is frozen.
    Frozen,
}

impl Warning {
    fn code(self) -> Return {
        match self {
            Self::Spam => Return::ONEWAY_SPAM_SUSPECT,
            Self::Frozen => Return::TRANSACTION_PENDING_FROZEN,
        }
    }
}

impl Thread {
    /// Carries out a `BC_TRANSACTION`.
    ///
    /// What goes wrong is queued for the thread to read; nothing of the transaction is
    /// left then.
    pub(crate) fn send(self: &Arc<Self>, data: &TransactionData) {
        let id = next_id();
        let mut route = Route::default();
        let mut to = Destination::default();
        let kind = if data.flags.has(TransactionFlags::ONE_WAY) {
            Kind::Oneway
        } else {
            Kind::Call
        };
        let result = self.find_target(data).and_then(|target| {
            route.to_pid = Some(target.node().owner.pid);
            to.pid = target.node().owner.pid;
            to.node = target.node().id;
            if data.flags.has(TransactionFlags::ONE_WAY) {
                self.send_oneway(id, data, target)
            } else {
                self.send_call(id, data, target)
            }
        });
        match result {
            Ok(None) => self.log(id, kind, data, to),
            Ok(Some(warning)) => {
                self.log(id, kind, data, to);
                reports::report(self, data, route, warning.code())
            }
            Err(error) => {
                self.log_failure(id, kind, data, to, error);
                reports::report(self, data, route, error.code);
                self.set_error(id, error);
            }
        }
    }

    /// A message that nobody answers.
    fn send_oneway(
        self: &Arc<Self>,
        id: u32,
        data: &TransactionData,
        target: NodeClaim,
    ) -> Outcome<Option<Warning>> {
        let owner = target.node().owner.clone();
        let mut notice = self.begin_oneway(id)?;
        let mut transaction = Transaction::empty()?;
        let kind = BufferKind::Oneway {
            sender: self.process.pid,
        };
        trace_request(id, data, &target, 0);
        let mut buffer = self.fill_buffer(id, data, target, kind)?;
        buffer.contents().blocks_oneway = true;
        let mut warning = buffer.is_spam.then_some(Warning::Spam);
        notice.code = if buffer.is_spam && self.process.wants_spam_reports() {
            Return::ONEWAY_SPAM_SUSPECT
        } else {
            Return::TRANSACTION_COMPLETE
        };
        transaction
            .as_mut()
            .prepare(id, data, None, Chain::default(), buffer);
        transaction.as_mut().set_sender(self);
        let admission = submit_oneway(transaction.into(), &owner)?;
        if admission == Admission::Frozen {
            notice.code = Return::TRANSACTION_PENDING_FROZEN;
            warning = Some(Warning::Frozen);
        }
        self.push_notice(notice);
        Ok(warning)
    }

    /// A message whose sender will wait for the answer.
    fn send_call(
        self: &Arc<Self>,
        id: u32,
        data: &TransactionData,
        target: NodeClaim,
    ) -> Outcome<Option<Warning>> {
        let owner = target.node().owner.clone();
        let CallStart {
            outer,
            notice,
            mut transaction,
        } = self.begin_call(id)?;
        let chain = Chain::behind(outer);
        let nearest = chain.nearest_thread(&owner);
        let thread = nearest.as_ref().map_or(0, |waiting| waiting.thread.tid);
        trace_request(id, data, &target, thread);
        let buffer = self.fill_buffer(id, data, target, BufferKind::Sync)?;
        transaction
            .as_mut()
            .prepare(id, data, Some(self.clone()), chain, buffer);
        let call: Arc<Transaction> = transaction.into();
        let wakeup = self.submit_call(call, notice, &owner, nearest)?;
        wakeup.wake(&owner);
        Ok(None)
    }

    /// Finds the node behind the handle and asks whether it may be called.
    fn find_target(&self, data: &TransactionData) -> Outcome<NodeClaim> {
        let target = match data.handle {
            0 => self.process.context.claim_manager(&self.process)?,
            handle => self.process.claim_target(handle)?,
        };
        let owner = &target.node().owner;
        if owner.is_known_dead() {
            return Err(TransactionError::dead(EINVAL));
        }
        if core::ptr::eq(&**owner, &*self.process) {
            return Err(TransactionError::failed(EINVAL));
        }
        security::check_call(&self.process, owner)?;
        Ok(target)
    }

    /// Makes the buffer in the target's process; it holds the target from then on.
    #[inline(always)]
    fn fill_buffer(
        &self,
        id: u32,
        data: &TransactionData,
        target: NodeClaim,
        kind: BufferKind,
    ) -> Outcome<Allocation> {
        let flags = target.node().flags;
        let owner = target.node().owner.clone();
        let context = if flags.has(NodeFlags::TXN_SECURITY_CTX) {
            SenderContext::of(&self.process)?
        } else {
            SenderContext::NotWanted
        };
        let terms = Terms {
            accepts_files: accepts_files(flags),
            kind,
            id,
        };
        let mut buffer = self.copy_transaction(data, &owner, &terms, context.bytes())?;
        buffer.contents().target = Some(target);
        Ok(buffer)
    }

    /// Queues a call, in one step with all that makes the sender wait for it, so that the
    /// reply finds it waiting and nothing has to be undone if the target is gone.
    fn submit_call(
        self: &Arc<Self>,
        call: Arc<Transaction>,
        notice: KBox<Notice>,
        owner: &Process,
        nearest: Option<Waiting>,
    ) -> Outcome<Wakeup> {
        let mut sched = owner.sched.lock();
        let refused = if sched.freezer.admit_call() == Admission::Frozen {
            Some(TransactionError::FROZEN)
        } else {
            sched.is_dead().then_some(TransactionError::DIED)
        };
        if let Some(error) = refused {
            drop(sched);
            self.recycle_notice(notice);
            drop(call);
            return Err(error);
        }
        call.request_begins(owner);
        self.start_waiting(call.clone(), notice);
        let mut work = Work::Request(call);
        if let Some(Waiting { thread, call }) = &nearest {
            match thread.push_callback(work, call) {
                Ok(wakeup) => return Ok(wakeup),
                Err(back) => work = back,
            }
        }
        Ok(sched.push_with(work, WakeMode::Sync))
    }

    /// Puts a call on the stack and its completion, deferred, into the queue.
    fn start_waiting(&self, call: Arc<Transaction>, notice: KBox<Notice>) {
        let mut inner = self.inner.lock();
        // Room was made by `begin_call`.
        let _ = inner.stack.push_within_capacity(call);
        let _ = inner.queue.push_deferred(Work::Notice(notice));
    }
}

/// Queues a oneway message behind those of the same node. If the process is frozen it takes
/// the place of one that it makes needless.
fn submit_oneway(message: Arc<Transaction>, owner: &Process) -> Outcome<Admission> {
    let node = message.target_node().ok_or(TransactionError::DIED)?;
    let mut outdated = None;
    let (admission, wakeup) = {
        let mut sched = owner.sched.lock();
        if sched.is_dead() {
            drop(sched);
            drop(message);
            return Err(TransactionError::DIED);
        }
        let admission = sched.freezer.admit_oneway();
        message.request_begins(owner);
        let queue = &mut node.state(&mut sched).oneway;
        if admission == Admission::Frozen && message.is_update() {
            outdated = queue.take_first(|waiting| message.supersedes(waiting));
        }
        let wakeup = match queue.submit(Work::Request(message)) {
            Some(work) => sched.push(work),
            None => Wakeup::nobody(),
        };
        (admission, wakeup)
    };
    wakeup.wake(owner);
    if let Some(Work::Request(outdated)) = outdated {
        outdated.end_superseded();
    }
    Ok(admission)
}

/// Messages that take the place of others, as `TF_UPDATE_TXN` allows.
impl Transaction {
    fn is_update(&self) -> bool {
        self.flags.has(TransactionFlags(
            TransactionFlags::ONE_WAY.0 | TransactionFlags::UPDATE_TXN.0,
        ))
    }

    /// Whether this message makes another one needless that waits for the same node.
    fn supersedes(&self, waiting: &Work) -> bool {
        let Work::Request(old) = waiting else {
            return false;
        };
        old.code == self.code && old.flags.0 == self.flags.0 && old.sender.0 == self.sender.0
    }

    /// Another message has its place in the queue, behind the one that is out.
    fn end_superseded(&self) {
        let mut cargo = self.unload();
        if let Cargo::Buffer(buffer) = &mut cargo {
            // It was not the message that is out, so it lets none go out.
            let contents = buffer.contents();
            contents.blocks_oneway = false;
            contents.superseded = true;
        }
        self.discard(cargo);
    }
}

impl Transaction {
    /// Fills in an object that nobody else knows yet.
    pub(super) fn prepare(
        self: Pin<&mut Self>,
        id: u32,
        data: &TransactionData,
        from: Option<Arc<Thread>>,
        parent: Chain,
        mut buffer: Allocation,
    ) {
        let target = buffer.contents().target.as_ref().map(|claim| claim.node());
        let target = target.map(|node| TargetName {
            ptr: node.ptr,
            cookie: node.cookie,
            id: node.id,
        });
        let place = Place {
            pid: buffer.process.pid,
            offset: buffer.offset(),
        };
        let this = self.project();
        *this.id = id;
        *this.from = from;
        *this.parent = parent;
        *this.code = data.code;
        *this.flags = data.flags;
        *this.sender_euid = Some(Kuid::current_euid());
        *this.target = target.unwrap_or_default();
        *this.place = place;
        *this.started = now();
        this.taker.store(0, Relaxed);
        *this.cargo.lock() = Cargo::Buffer(buffer);
    }
}
