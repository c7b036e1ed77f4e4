// SPDX-License-Identifier: GPL-2.0
//! What a serving thread calls.

use crate::buffer::Received;
use crate::parcel::Parcel;
use crate::thread::BinderThread;
use crate::uapi::PtrCookie;

/// What is to be done after a request.
///
/// The request's buffer is freed in all cases, together with the reply where
/// there is one. A reply to a oneway call is not sent.
#[derive(Debug)]
pub enum Answer {
    /// Send this reply.
    Reply(Parcel),
    /// Send this reply with `TF_` flags.
    ReplyWithFlags(Parcel, u32),
    /// Reply with a number only, which callers see as
    /// [`Error::Status`](crate::error::Error::Status).
    Status(i32),
    /// Send nothing: the call was oneway, or its caller is to wait on.
    Nothing,
    /// Send nothing and end the serving loop.
    Stop,
}

/// A party's reaction to what the driver delivers. Called by any thread of its
/// pool, by several at a time.
pub trait Handler: Send + Sync + 'static {
    /// Carries out a request. `thread` is the serving thread: it can call others.
    fn request(&self, thread: &mut BinderThread, request: &Received) -> Answer;

    /// The owner of a watched handle died; `cookie` is that of the watch. The
    /// acknowledgement follows by itself.
    fn dead(&self, _thread: &mut BinderThread, _cookie: u64) {}

    /// A watch was cancelled.
    fn watch_cleared(&self, _thread: &mut BinderThread, _cookie: u64) {}

    /// Nobody refers to this own node any more.
    fn unreferenced(&self, _node: PtrCookie) {}
}

impl<F> Handler for F
where
    F: Fn(&mut BinderThread, &Received) -> Answer + Send + Sync + 'static,
{
    fn request(&self, thread: &mut BinderThread, request: &Received) -> Answer {
        self(thread, request)
    }
}

/// The handler of a party that serves nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientOnly;

impl Handler for ClientOnly {
    fn request(&self, _thread: &mut BinderThread, _request: &Received) -> Answer {
        Answer::Status(-nix::libc::ENOSYS)
    }
}
