// SPDX-License-Identifier: GPL-2.0

//! Binder, the inter-process communication of Android.
//!
//! A process offers objects ([`node`]); others hold references to them under small
//! numbers (`process/handles.rs`) and call them. A call is a [`transaction`]: its data
//! is copied once, straight into memory that the receiver has mapped ([`allocation`]),
//! and the objects and files in it are translated. Commands and returns are explained in
//! `Documentation/protocol.rst`.

#![recursion_limit = "512"]

use kernel::{prelude::*, str::CStr};

mod allocation;
mod context;
mod debug;
mod defs;
mod error;
mod ffi;
mod grow;
mod node;
mod process;
mod reclaim;
mod registry;
mod reports;
mod shim;
mod state;
mod stats;
#[cfg(CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST)]
mod testing;
mod thread;
mod told;
mod transaction;
mod work;

// Data structures that are complete in themselves and tested on the host. Not all that
// they can do is used.
#[allow(dead_code)]
mod chunked;
#[allow(dead_code)]
mod id_pool;
#[allow(dead_code)]
mod id_table;
#[allow(dead_code)]
mod range_alloc;
#[allow(dead_code)]
mod slot_table;

use ffi::{device::DeviceNode, shrinker::Shrinker};
use reports::Reports;
use state::StateFolder;

module! {
    type: RustBinder,
    name: "rust_binder",
    authors: ["Rust Binder developers"],
    description: "Binder IPC driver",
    license: "GPL",
}

/// What the module has registered; dropping it undoes that.
struct RustBinder {
    _devices: KVec<Pin<KBox<DeviceNode>>>,
    _state: StateFolder,
    _reports: Reports,
    _shrinker: Shrinker,
}

impl kernel::Module for RustBinder {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        ffi::global::init();
        // First, so that an open device finds it.
        let reports = Reports::register()?;
        let state = StateFolder::new();
        let shrinker = Shrinker::register()?;
        let mut devices = KVec::new();
        if let Some(names) = ffi::params::devices() {
            for name in names
                .to_bytes()
                .split(|byte| *byte == b',')
                .filter(|n| !n.is_empty())
            {
                let device = register(name)?;
                devices.push(device, GFP_KERNEL)?;
            }
        }
        Ok(Self {
            _devices: devices,
            _state: state,
            _reports: reports,
            _shrinker: shrinker,
        })
    }
}

fn register(name: &[u8]) -> Result<Pin<KBox<DeviceNode>>> {
    let mut owned = KVec::with_capacity(name.len().saturating_add(1), GFP_KERNEL)?;
    owned.extend_from_slice(name, GFP_KERNEL)?;
    owned.push(0, GFP_KERNEL)?;
    let name = CStr::from_bytes_with_nul(&owned).map_err(|_| EINVAL)?;
    DeviceNode::register(name).inspect_err(|error| {
        pr_err!("cannot make the device {name:?}: {error:?} (is another driver's there?)\n")
    })
}
