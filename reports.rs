// SPDX-License-Identifier: GPL-2.0

//! Reports of failed transactions through generic netlink.
//!
//! Family `binder`, multicast group `report`, as in `uapi/linux/android/binder_netlink.h`.
//! The C driver has the same family; if it is loaded there is no other, and this driver
//! reports nothing. Nothing is paid while nobody listens.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kernel::{
    module::this_module,
    net::netlink::{Family, MulticastGroup, NetlinkSkBuff, Registration, GENLMSG_DEFAULT_SIZE},
    prelude::*,
};

use crate::{
    defs::Return,
    ffi::abi::{
        BINDER_A_REPORT_CODE, BINDER_A_REPORT_CONTEXT, BINDER_A_REPORT_DATA_SIZE,
        BINDER_A_REPORT_ERROR, BINDER_A_REPORT_FLAGS, BINDER_A_REPORT_FROM_PID,
        BINDER_A_REPORT_FROM_TID, BINDER_A_REPORT_IS_REPLY, BINDER_A_REPORT_TO_PID,
        BINDER_A_REPORT_TO_TID, BINDER_CMD_REPORT, BINDER_FAMILY_NAME, BINDER_FAMILY_VERSION,
    },
    thread::Thread,
    transaction::TransactionData,
    LocalModule,
};

static FAMILY: Family = Family::const_new(
    this_module::<LocalModule>(),
    BINDER_FAMILY_NAME,
    BINDER_FAMILY_VERSION,
    &GROUPS,
);

static GROUPS: [MulticastGroup; 1] = [MulticastGroup::const_new(c"report")];

/// Index of the group `report` in [`GROUPS`].
const REPORT: u32 = 0;

/// Whether the family is ours: without a registration it has no groups to ask for.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// The registration of the family, if it could be had.
pub(crate) struct Reports(#[allow(dead_code)] Option<Registration>);

impl Reports {
    /// Registers the family. Says so, once, if another driver has it.
    pub(crate) fn register() -> Result<Self> {
        match FAMILY.register() {
            Ok(registration) => {
                REGISTERED.store(true, Relaxed);
                Ok(Self(Some(registration)))
            }
            Err(error) if error == EEXIST => {
                pr_info!("netlink family \"binder\" is taken (binder_linux?): no reports\n");
                Ok(Self(None))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        REGISTERED.store(false, Relaxed);
    }
}

/// Where a transaction goes, as far as that was found out.
#[derive(Clone, Copy, Default)]
pub(crate) struct Route {
    pub(crate) to_pid: Option<i32>,
    pub(crate) to_tid: Option<i32>,
    pub(crate) is_reply: bool,
}

/// Reports that a transaction of `sender` ended with `error`.
///
/// Sleeps only if somebody listens. A report that cannot be made is lost.
pub(crate) fn report(sender: &Thread, data: &TransactionData, route: Route, error: Return) {
    if REGISTERED.load(Relaxed) && FAMILY.has_listeners(REPORT) {
        let _ = send(sender, data, route, error);
    }
}

#[cold]
fn send(sender: &Thread, data: &TransactionData, route: Route, error: Return) -> Result {
    let buffer = NetlinkSkBuff::new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL)?;
    let mut message = buffer.genlmsg_put(0, 0, &FAMILY, BINDER_CMD_REPORT as u8)?;
    let size = u32::try_from(data.data.size).unwrap_or(u32::MAX);
    let process = &sender.process;
    message.put_u32(BINDER_A_REPORT_ERROR as c_int, error.0)?;
    message.put_string(BINDER_A_REPORT_CONTEXT as c_int, &process.context.name)?;
    message.put_u32(BINDER_A_REPORT_FROM_PID as c_int, process.pid as u32)?;
    message.put_u32(BINDER_A_REPORT_FROM_TID as c_int, sender.tid as u32)?;
    if let Some(pid) = route.to_pid {
        message.put_u32(BINDER_A_REPORT_TO_PID as c_int, pid as u32)?;
    }
    if let Some(tid) = route.to_tid {
        message.put_u32(BINDER_A_REPORT_TO_TID as c_int, tid as u32)?;
    }
    if route.is_reply {
        message.put_flag(BINDER_A_REPORT_IS_REPLY as c_int)?;
    }
    message.put_u32(BINDER_A_REPORT_FLAGS as c_int, data.flags.0)?;
    message.put_u32(BINDER_A_REPORT_CODE as c_int, data.code)?;
    message.put_u32(BINDER_A_REPORT_DATA_SIZE as c_int, size)?;
    message.multicast(&FAMILY, 0, REPORT, GFP_KERNEL)
}
