// SPDX-License-Identifier: GPL-2.0
//! The upper layers of the client library on a real device: thread pools,
//! calls that call back, statuses, oneway completions, references.

use std::fs::File;
use std::process::ExitCode;
use std::sync::mpsc;
use std::sync::Mutex;

use binder_client::buffer::Received;
use binder_client::device::Device;
use binder_client::error::Error;
use binder_client::handler::{Answer, ClientOnly, Handler};
use binder_client::ktap::{self, cases, Env, Failure};
use binder_client::manager::become_manager;
use binder_client::names::keep;
use binder_client::parcel::Parcel;
use binder_client::party::{Party, ReplyMode};
use binder_client::peer::Peer;
use binder_client::returns::Return;
use binder_client::thread::BinderThread;
use binder_client::uapi::{PtrCookie, TF_ACCEPT_FDS, TF_DEFER_COMPLETE};
use binder_client::{check, check_eq, check_matches, limits};

/// The pool's own threads in the test services.
const LOOPERS: usize = 1;

/// A service behind handle 0 with a pool, in another process. Its threads end
/// in order when the peer is signalled.
fn spawn_party(
    env: &Env,
    mode: ReplyMode,
    max_threads: u32,
    handler: impl Handler,
) -> Result<Peer, Failure> {
    let peer = Peer::spawn(|channel| {
        let device = Device::open(&env.device)?;
        become_manager(&device)?;
        let party = Party::new(device, handler, mode);
        party.start_pool(LOOPERS, max_threads)?;
        channel.signal()?;
        channel.wait()?;
        let loopers = party.loopers();
        party.stop(limits::wait())?;
        channel.send(&loopers)
    })?;
    peer.wait()?;
    Ok(peer)
}

/// Ends the service and returns how many threads it had.
fn finish(peer: Peer) -> Result<usize, Failure> {
    peer.signal()?;
    let loopers = peer.recv()?;
    peer.join()?;
    Ok(loopers)
}

fn client(env: &Env, handler: impl Handler) -> Result<BinderThread, Failure> {
    let mut thread = Party::open(&env.device, handler)?.thread();
    thread.set_timeout(Some(limits::wait()));
    Ok(thread)
}

fn echo(_: &mut BinderThread, request: &Received) -> Answer {
    Answer::Reply(Parcel::from_bytes(request.data()))
}

fn every_reply_mode_answers(env: &Env) -> Result<(), Failure> {
    for mode in [ReplyMode::Separate, ReplyMode::Joined, ReplyMode::Deferred] {
        let service = spawn_party(env, mode, 0, echo)?;
        let mut thread = client(env, ClientOnly)?;
        for round in 0..20u32 {
            let reply = thread.call(0, 1, &Parcel::from_bytes(round.to_ne_bytes()), 0)?;
            check_eq!(reply.data(), round.to_ne_bytes(), "reply {round} of {mode:?}");
            thread.recycle(reply);
        }
        check_eq!(finish(service)?, LOOPERS, "threads of {mode:?}");
    }
    Ok(())
}

/// Replies are deferred unless they hold something, and none is sent alone.
fn replies_that_hold_nothing_are_deferred(env: &Env) -> Result<(), Failure> {
    // Open until the reply is sent, which is after the service has returned it.
    let null = File::open("/dev/null")?;
    let service = move |_: &mut BinderThread, request: &Received| {
        let mut parcel = Parcel::from_bytes([0; 8]);
        match request.incoming().code {
            1 => {}
            2 => drop(parcel.fd(&null).objects()),
            _ => drop(parcel.binder(0x1000, 1).objects()),
        }
        Answer::Reply(parcel)
    };
    let service = spawn_party(env, ReplyMode::default(), 0, service)?;
    let mut thread = client(env, ClientOnly)?;
    for (code, deferred) in [(1, true), (2, false), (3, false), (1, true)] {
        let reply = thread.call(0, code, &Parcel::new(), TF_ACCEPT_FDS)?;
        let flag = reply.incoming().flags & TF_DEFER_COMPLETE != 0;
        check_eq!(flag, deferred, "TF_DEFER_COMPLETE in the reply to {code}");
        thread.recycle(reply);
    }
    finish(service).map(drop)
}

/// Two requests that each wait for the other can only be answered by two threads.
fn pool_grows_when_all_threads_are_busy(env: &Env) -> Result<(), Failure> {
    let (sender, receiver) = mpsc::channel::<()>();
    let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
    let meet = move |_: &mut BinderThread, request: &Received| {
        let met = match request.incoming().code {
            1 => receiver.lock().is_ok_and(|other| other.recv_timeout(limits::wait()).is_ok()),
            _ => sender.lock().is_ok_and(|other| other.send(()).is_ok()),
        };
        Answer::Status(i32::from(!met))
    };
    let service = spawn_party(env, ReplyMode::Joined, 3, meet)?;
    let first = Peer::spawn(|_| {
        let outcome = client(env, ClientOnly)?.call(0, 1, &Parcel::new(), 0);
        check_matches!(outcome, Err(Error::Status(0)));
        Ok(())
    })?;
    let outcome = client(env, ClientOnly)?.call(0, 2, &Parcel::new(), 0);
    check_matches!(outcome, Err(Error::Status(0)));
    first.join()?;
    check!(finish(service)? > LOOPERS, "the driver to have asked for a thread");
    Ok(())
}

/// The callee calls the caller's node while the caller waits.
fn call_back_is_served_while_waiting(env: &Env) -> Result<(), Failure> {
    let service = |thread: &mut BinderThread, request: &Received| {
        let outcome = request.handle(0).and_then(|handle| {
            let reply = thread.call(handle, 7, &Parcel::from_bytes(*b"back"), 0)?;
            Ok(Parcel::from_bytes(reply.data()))
        });
        outcome.map_or(Answer::Status(1), Answer::Reply)
    };
    let service = spawn_party(env, ReplyMode::Joined, 0, service)?;
    let mut thread = client(env, |_: &mut BinderThread, request: &Received| {
        let mut data = request.data();
        data.push(u8::try_from(request.incoming().code).unwrap_or(0));
        Answer::Reply(Parcel::from_bytes(data))
    })?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let reply = thread.call(0, 1, &parcel, 0)?;
    check_eq!(reply.data(), b"back\x07");
    drop(reply);
    finish(service)?;
    Ok(())
}

fn status_is_an_error_of_the_call(env: &Env) -> Result<(), Failure> {
    let refuse = |_: &mut BinderThread, _: &Received| Answer::Status(-22);
    let service = spawn_party(env, ReplyMode::Joined, 0, refuse)?;
    let outcome = client(env, ClientOnly)?.call(0, 1, &Parcel::new(), 0);
    check_matches!(outcome, Err(Error::Status(-22)));
    finish(service)?;
    Ok(())
}

/// A handler that sends a oneway call while its own earlier reply may still be
/// unconfirmed must not take that reply's completion for its call's.
fn oneway_is_confirmed_after_open_replies(env: &Env) -> Result<(), Failure> {
    let service = |thread: &mut BinderThread, _: &Received| {
        let outcome = thread.call_oneway(0, 1, &Parcel::new(), 0);
        // The manager may not call itself: the call is refused, and that is
        // the outcome that must arrive here and nowhere else.
        Answer::Status(i32::from(!matches!(outcome, Err(Error::Failed(_)))))
    };
    for mode in [ReplyMode::Separate, ReplyMode::Joined, ReplyMode::Deferred] {
        let service = spawn_party(env, mode, 0, service)?;
        let mut thread = client(env, ClientOnly)?;
        for round in 0..10 {
            let outcome = thread.call(0, 1, &Parcel::new(), 0);
            check_matches!(outcome, Err(Error::Status(0)));
            let sent = thread.call_oneway(0, 2, &Parcel::new(), 0)?;
            check_eq!(sent, Return::TransactionComplete, "oneway call {round}");
        }
        finish(service)?;
    }
    Ok(())
}

/// Remembers the last node that nobody refers to any more.
struct Forgotten(Mutex<mpsc::Sender<PtrCookie>>);

impl Handler for Forgotten {
    fn request(&self, _: &mut BinderThread, _: &Received) -> Answer {
        Answer::Status(0)
    }

    fn unreferenced(&self, node: PtrCookie) {
        let _ = self.0.lock().map(|sender| sender.send(node));
    }
}

fn owner_learns_of_the_last_reference(env: &Env) -> Result<(), Failure> {
    let held = Mutex::new(None);
    let service = move |thread: &mut BinderThread, request: &Received| {
        let Ok(mut held) = held.lock() else { return Answer::Status(1) };
        if let Some(handle) = held.take() {
            thread.queue().release(handle);
        } else {
            *held = keep(thread, request).ok();
        }
        Answer::Reply(Parcel::new())
    };
    let service = spawn_party(env, ReplyMode::Joined, 0, service)?;
    let (sender, forgotten) = mpsc::channel();
    let mut thread = client(env, Forgotten(Mutex::new(sender)))?;
    let mut parcel = Parcel::new();
    parcel.binder(0x10, 0x20);
    let reply = thread.call(0, 1, &parcel, 0)?;
    thread.recycle(reply);
    let known = thread.party().nodes().known(0x10, 0x20);
    check!(known.strong && known.weak, "the owner to know of the service's reference");
    check!(forgotten.try_recv().is_err(), "the node to be in use");
    let reply = thread.call(0, 1, &Parcel::new(), 0)?;
    thread.recycle(reply);
    let mut last = None;
    thread.serve_until(|| {
        last = forgotten.try_recv().ok();
        last.is_some()
    })?;
    check_eq!(last, Some(PtrCookie { ptr: 0x10, cookie: 0x20 }));
    check!(thread.party().nodes().is_empty(), "no node to be known");
    finish(service)?;
    Ok(())
}

fn call_of_a_dead_service_ends(env: &Env) -> Result<(), Failure> {
    let service = spawn_party(env, ReplyMode::Joined, 0, |_: &mut BinderThread, _: &Received| {
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL)
            .map_or(Answer::Stop, |()| Answer::Stop)
    })?;
    let outcome = client(env, ClientOnly)?.call(0, 1, &Parcel::new(), 0);
    check_matches!(outcome, Err(Error::Dead(_)));
    drop(service);
    Ok(())
}

fn main() -> ExitCode {
    ktap::main(&cases![
        every_reply_mode_answers,
        replies_that_hold_nothing_are_deferred,
        pool_grows_when_all_threads_are_busy,
        call_back_is_served_while_waiting,
        status_is_an_error_of_the_call,
        oneway_is_confirmed_after_open_replies,
        owner_learns_of_the_last_reference,
        call_of_a_dead_service_ends,
    ])
}
