// SPDX-License-Identifier: GPL-2.0
//! The manager's answers to requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use binder_client::buffer::Received;
use binder_client::commands::Commands;
use binder_client::error::Error;
use binder_client::handler::{Answer, Handler};
use binder_client::names::{keep, ADD, GET, LIST, TOLD, WAIT};
use binder_client::parcel::Parcel;
use binder_client::reader::Reader;
use binder_client::thread::BinderThread;
use binder_client::uapi::TF_ONE_WAY;
use nix::libc;

use crate::registry::{Registry, Waiter};

/// Longest accepted name, in bytes.
const NAME_MAX: usize = 127;

/// The handler of the manager's process.
#[derive(Debug, Default)]
pub struct Manager {
    registry: Mutex<Registry>,
    watch_refused: AtomicBool,
}

impl Manager {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, request: &Received) -> Result<Parcel, Error> {
        let name = name(request)?;
        let mut reply = Parcel::new();
        match self.registry().get(&name) {
            Some(handle) => reply.u32(1).handle(handle),
            None => reply.u32(0),
        };
        Ok(reply)
    }

    fn add(&self, thread: &mut BinderThread, request: &Received) -> Result<Parcel, Error> {
        let name = name(request)?;
        let handle = keep(thread, request)?;
        self.watch(thread, handle)?;
        let added = self.registry().add(&name, handle);
        println!("added {name:?} as handle {handle} for process {}", request.incoming().sender_pid);
        if let Some(replaced) = added.replaced {
            thread.queue().release(replaced);
        }
        for waiter in added.waiters {
            tell(thread, &name, handle, waiter)?;
        }
        Ok(ok())
    }

    fn wait(&self, thread: &mut BinderThread, request: &Received) -> Result<Parcel, Error> {
        let name = name(request)?;
        let waiter = Waiter { handle: keep(thread, request)? };
        let mut registry = self.registry();
        match registry.get(&name) {
            Some(handle) => {
                drop(registry);
                tell(thread, &name, handle, waiter)?;
            }
            None => {
                registry.wait(&name, waiter);
                drop(registry);
                self.watch(thread, waiter.handle)?;
            }
        }
        Ok(ok())
    }

    fn list(&self) -> Parcel {
        let registry = self.registry();
        let names = registry.names();
        let mut reply = Parcel::new();
        reply.u32(u32::try_from(names.len()).unwrap_or(u32::MAX));
        for name in names {
            reply.text(name);
        }
        reply
    }

    /// Asks to be told of the death behind a handle; the handle is the cookie.
    ///
    /// A handle that is watched already is left as it is by the driver. A
    /// driver without the command fails the ioctl: then the dead stay listed.
    fn watch(&self, thread: &mut BinderThread, handle: u32) -> Result<(), Error> {
        thread.flush()?;
        if self.watch_refused.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut commands = Commands::new();
        commands.request_death(handle, handle.into());
        if let Err(error) = thread.session().write(&commands) {
            self.watch_refused.store(true, Ordering::Relaxed);
            println!("this driver does not report deaths ({error}): dead services stay listed");
        }
        Ok(())
    }
}

impl Handler for Manager {
    fn request(&self, thread: &mut BinderThread, request: &Received) -> Answer {
        let result = match request.incoming().code {
            GET => self.get(request),
            ADD => self.add(thread, request),
            LIST => Ok(self.list()),
            WAIT => self.wait(thread, request),
            _ => return Answer::Status(-libc::ENOSYS),
        };
        match result {
            Ok(reply) => Answer::Reply(reply),
            Err(error) => {
                println!("refused a request of process {}: {error}", request.incoming().sender_pid);
                Answer::Status(-libc::EINVAL)
            }
        }
    }

    fn dead(&self, thread: &mut BinderThread, cookie: u64) {
        let Ok(handle) = u32::try_from(cookie) else {
            return;
        };
        let removed = self.registry().remove(handle);
        for name in &removed.names {
            println!("removed {name:?}: its process died");
        }
        // The watch goes with the last reference.
        for _ in 0..removed.references {
            thread.queue().release(handle);
        }
    }
}

/// Sends the word that a service is there and gives the waiter's handle back.
fn tell(thread: &mut BinderThread, name: &str, handle: u32, waiter: Waiter) -> Result<(), Error> {
    let mut parcel = Parcel::new();
    parcel.text(name).handle(handle);
    match thread.call_oneway(waiter.handle, TOLD, &parcel, TF_ONE_WAY) {
        Ok(_) | Err(Error::Dead(_) | Error::Failed(_) | Error::Frozen(_)) => {}
        Err(error) => return Err(error),
    }
    thread.queue().release(waiter.handle);
    Ok(())
}

fn name(request: &Received) -> Result<String, Error> {
    let name = Reader::new(&request.data()).text()?;
    if name.is_empty() || name.len() > NAME_MAX {
        return Err(Error::Malformed("a name has 1 to 127 bytes"));
    }
    Ok(name)
}

fn ok() -> Parcel {
    let mut parcel = Parcel::new();
    parcel.u32(0);
    parcel
}
