// SPDX-License-Identifier: GPL-2.0

//! The ioctls of a device.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{
    prelude::*,
    sync::{Arc, ArcBorrow},
};

use super::{freeze, Process};
use crate::{
    defs::{ioctl, NodeFlags, PROTOCOL_VERSION},
    ffi::{
        abi::{binder_version, binder_write_read, flat_binder_object},
        task::Current,
        trace, user,
    },
    thread::Blocking,
};

impl Process {
    /// Dispatches one ioctl. `arg` is the address of the structure that `request` names.
    ///
    /// # Errors
    ///
    /// `EINVAL` for an unknown request and in another process than the one that opened the
    /// file, `EFAULT` for an address that cannot be accessed,
    /// and what the single requests say.
    pub(crate) fn ioctl(
        self: ArcBorrow<'_, Self>,
        request: u32,
        arg: u64,
        nonblocking: bool,
    ) -> Result {
        trace::ioctl(|| (request, arg as c_ulong));
        let result = self.dispatch(request, arg, nonblocking);
        trace::ioctl_done(|| (errno(&result),));
        result
    }

    fn dispatch(self: ArcBorrow<'_, Self>, request: u32, arg: u64, nonblocking: bool) -> Result {
        if !Current::get().belongs_to(&self.task) {
            return Err(EINVAL);
        }
        let process: Arc<Self> = self.into();
        if request == ioctl::WRITE_READ {
            let blocking = if nonblocking {
                Blocking::Never
            } else {
                Blocking::Wait
            };
            return process.write_read(arg, blocking);
        }
        let result = process.control(request, arg);
        if let Some(thread) = process.known_thread() {
            thread.clear_return_request();
        }
        result
    }

    /// All ioctls but the one that moves data.
    fn control(self: &Arc<Self>, request: u32, arg: u64) -> Result {
        match request {
            ioctl::SET_MAX_THREADS => self.set_max_threads(arg),
            ioctl::SET_CONTEXT_MGR => self.set_context_manager(0, 0, NodeFlags(0)),
            ioctl::SET_CONTEXT_MGR_EXT => {
                let object: flat_binder_object = user::read(arg)?;
                let flags = NodeFlags(object.flags);
                self.set_context_manager(object.pointer(), object.cookie, flags)
            }
            ioctl::THREAD_EXIT => self.exit_thread(),
            ioctl::VERSION => {
                let version = binder_version {
                    protocol_version: PROTOCOL_VERSION,
                };
                user::write(arg, &version)
            }
            ioctl::GET_EXTENDED_ERROR => {
                let error = self.current_thread()?.take_extended_error();
                user::write(arg, &error.to_abi())
            }
            ioctl::FREEZE => freeze::freeze(arg),
            ioctl::GET_FROZEN_INFO => freeze::frozen_info(arg),
            ioctl::GET_NODE_DEBUG_INFO => self.node_debug_info(arg),
            ioctl::ENABLE_ONEWAY_SPAM_DETECTION => {
                let enable: u32 = user::read(arg)?;
                self.reports_spam.store(enable != 0, Relaxed);
                Ok(())
            }
            _ => Err(EINVAL),
        }
    }

    /// `BINDER_WRITE_READ`: commands, then returns. How far each got is always told,
    /// also on an error.
    fn write_read(self: &Arc<Self>, arg: u64, blocking: Blocking) -> Result {
        let mut request: binder_write_read = user::read(arg)?;
        let thread = self.current_thread()?;
        let mut result = Ok(());
        if request.write_size > 0 {
            (request.write_consumed, result) = thread.write(
                request.write_buffer,
                request.write_size,
                request.write_consumed,
            );
            trace::write_done(|| (errno(&result),));
        }
        if result.is_err() {
            request.read_consumed = 0;
        } else if request.read_size > 0 {
            let (buffer, size) = (request.read_buffer, request.read_size);
            match thread.read(buffer, size, request.read_consumed, blocking) {
                Ok(consumed) => request.read_consumed = consumed,
                Err(error) => result = Err(error),
            }
            trace::read_done(|| (errno(&result),));
        }
        thread.clear_return_request();
        user::write(arg, &request)?;
        result
    }

    fn set_max_threads(&self, arg: u64) -> Result {
        let max: u32 = user::read(arg)?;
        let mut sched = self.sched.lock();
        sched.pool.set_max(max);
        // Under the lock, so that of two at once the same is the last for both.
        self.has_pool.store(max != 0, Relaxed);
        Ok(())
    }

    fn set_context_manager(self: &Arc<Self>, ptr: u64, cookie: u64, flags: NodeFlags) -> Result {
        self.context.set_manager(self, ptr, cookie, flags)
    }
}

/// What an event tells of a result.
fn errno(result: &Result) -> c_int {
    result.map_or_else(Error::to_errno, |()| 0)
}
