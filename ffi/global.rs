// SPDX-License-Identifier: GPL-2.0

//! Locks that exist once, for the whole module.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use kernel::prelude::*;

use crate::{registry::Processes, state::ProcessFiles};

kernel::sync::global_lock! {
    // SAFETY: The module calls `init` before it registers anything that could use it.
    pub(crate) unsafe(uninit) static PROCESSES: Mutex<Processes> = Processes::new();
}

kernel::sync::global_lock! {
    // SAFETY: As above.
    pub(crate) unsafe(uninit) static PROCESS_FILES: Mutex<ProcessFiles> = ProcessFiles::new();
}

/// Makes the locks usable. Called first by the initialisation of the module; does nothing
/// if it is called again.
pub(crate) fn init() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, Relaxed) {
        // SAFETY: Only here, and only once.
        unsafe {
            PROCESSES.init();
            PROCESS_FILES.init();
        }
    }
}
