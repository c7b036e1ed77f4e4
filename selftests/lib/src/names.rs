// SPDX-License-Identifier: GPL-2.0
//! The protocol of the service manager behind handle 0, and its client side.
//!
//! | code | request | reply |
//! |---|---|---|
//! | [`GET`] | text name | u32 found (0 or 1); if 1, a handle |
//! | [`ADD`] | text name, a node | u32 0 |
//! | [`LIST`] | nothing | u32 count, that many texts, sorted |
//! | [`WAIT`] | text name, a node to be told | u32 0 |
//! | [`TOLD`] | oneway, from the manager to that node: text name, a handle | |
//!
//! A text is a u32 length, its bytes, and zeros up to a multiple of four. Objects
//! are at multiples of eight. A request that is malformed is answered with the
//! status `-EINVAL`, an unknown code with `-ENOSYS`. Adding a name again
//! replaces it, as a restarted service does.

use std::sync::mpsc::{Receiver, Sender};
use std::sync::Mutex;

use crate::buffer::Received;
use crate::error::Error;
use crate::handler::{Answer, Handler};
use crate::parcel::Parcel;
use crate::reader::Reader;
use crate::thread::BinderThread;

/// Find a service.
pub const GET: u32 = 1;
/// Publish a service.
pub const ADD: u32 = 2;
/// The names of all services.
pub const LIST: u32 = 3;
/// Be told when a service is there.
pub const WAIT: u32 = 4;
/// The manager's word that a service is there.
pub const TOLD: u32 = 5;

/// The manager's handle.
pub const MANAGER: u32 = 0;

/// Looks up a service. The handle is acquired; release it when done.
pub fn get(thread: &mut BinderThread, name: &str) -> Result<Option<u32>, Error> {
    let mut parcel = Parcel::new();
    parcel.text(name);
    let reply = thread.call(MANAGER, GET, &parcel, 0)?;
    let found = Reader::new(&reply.data()).u32()? != 0;
    let handle = if found { Some(keep(thread, &reply)?) } else { None };
    thread.recycle(reply);
    thread.flush()?;
    Ok(handle)
}

/// Publishes the own node (`ptr`, `cookie`).
pub fn add(thread: &mut BinderThread, name: &str, ptr: u64, cookie: u64) -> Result<(), Error> {
    add_with_flags(thread, name, ptr, cookie, 0)
}

/// As [`add`], with the node's flags.
pub fn add_with_flags(
    thread: &mut BinderThread,
    name: &str,
    ptr: u64,
    cookie: u64,
    flags: u32,
) -> Result<(), Error> {
    let mut parcel = Parcel::new();
    parcel.text(name).binder_with_flags(ptr, cookie, flags);
    let reply = thread.call(MANAGER, ADD, &parcel, 0)?;
    thread.recycle(reply);
    Ok(())
}

/// The names of all services.
pub fn list(thread: &mut BinderThread) -> Result<Vec<String>, Error> {
    let reply = thread.call(MANAGER, LIST, &Parcel::new(), 0)?;
    let data = reply.data();
    thread.recycle(reply);
    let mut reader = Reader::new(&data);
    let count = reader.u32()?;
    (0..count).map(|_| reader.text()).collect()
}

/// Asks to be told at the own node (`ptr`, `cookie`) when `name` is there.
pub fn request_told(
    thread: &mut BinderThread,
    name: &str,
    ptr: u64,
    cookie: u64,
) -> Result<(), Error> {
    let mut parcel = Parcel::new();
    parcel.text(name).binder(ptr, cookie);
    let reply = thread.call(MANAGER, WAIT, &parcel, 0)?;
    thread.recycle(reply);
    Ok(())
}

/// Takes a reference of one's own to the handle that is the first object of a
/// message, so that it outlives the message's buffer.
pub fn keep(thread: &mut BinderThread, message: &Received) -> Result<u32, Error> {
    let handle = message.handle(0)?;
    thread.queue().acquire(handle);
    Ok(handle)
}

/// The handler of a client that waits for names: passes on what it is told.
#[derive(Debug)]
pub struct Listener {
    told: Mutex<Sender<(String, u32)>>,
}

impl Listener {
    /// The handler, and where names and acquired handles come out.
    pub fn new() -> (Self, Receiver<(String, u32)>) {
        let (sender, receiver) = std::sync::mpsc::channel();
        (Listener { told: Mutex::new(sender) }, receiver)
    }

    fn told(&self, thread: &mut BinderThread, request: &Received) -> Result<(), Error> {
        let name = Reader::new(&request.data()).text()?;
        let handle = keep(thread, request)?;
        let sender = self.told.lock().map_err(|_| Error::Malformed("a listener panicked"))?;
        // Nobody listens any more: then nobody needs the handle either.
        if sender.send((name, handle)).is_err() {
            thread.queue().release(handle);
        }
        Ok(())
    }
}

impl Handler for Listener {
    fn request(&self, thread: &mut BinderThread, request: &Received) -> Answer {
        match request.incoming().code {
            TOLD => match self.told(thread, request) {
                Ok(()) => Answer::Nothing,
                Err(_) => Answer::Status(-nix::libc::EINVAL),
            },
            _ => Answer::Status(-nix::libc::ENOSYS),
        }
    }
}
