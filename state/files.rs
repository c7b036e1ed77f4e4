// SPDX-License-Identifier: GPL-2.0

//! The state files in debugfs: one folder for the driver, with a file for each process id
//! that has the device open.

use kernel::{
    prelude::*,
    rbtree::{RBTree, RBTreeNodeReservation},
    str::CString,
};

use super::StateFile;
use crate::{
    ffi::{debugfs::Entry, global::PROCESS_FILES},
    process::Process,
};

/// The folder of the driver, from the initialisation of the module to its end.
pub(crate) struct StateFolder {
    /// Declared first: the folders in it have to be gone before.
    _contents: InnerFolder,
    _folder: Option<Entry>,
}

struct InnerFolder;

impl StateFolder {
    /// Makes the folder. Without debugfs there is none.
    pub(crate) fn new() -> Self {
        let folder = Entry::top_folder(c"binder").or_else(|| {
            let second = Entry::top_folder(c"rust_binder")?;
            pr_info!("debugfs/binder is taken (binder_linux?): see debugfs/rust_binder\n");
            Some(second)
        });
        if let Some(folder) = &folder {
            for (name, file) in StateFile::ALL {
                if let Some(file) = folder.file(name, file) {
                    file.leave_to_parent();
                }
            }
            let processes = folder.folder(c"proc");
            PROCESS_FILES.lock().folder = processes;
        }
        Self {
            _contents: InnerFolder,
            _folder: folder,
        }
    }
}

impl Drop for InnerFolder {
    fn drop(&mut self) {
        // Nothing is in it: files that are open pin the module.
        let folder = PROCESS_FILES.lock().folder.take();
        drop(folder);
    }
}

/// The files of processes.
///
/// *Locking*: a mutex of level L0, taken at open and at the end of a process. Removing a
/// file waits for who is just reading it, so whoever reads must not take it.
pub(crate) struct ProcessFiles {
    folder: Option<Entry>,
    /// By process id: how many processes have it, and the file.
    by_pid: Option<RBTree<i32, PidFile>>,
}

struct PidFile {
    users: usize,
    _file: Option<Entry>,
}

impl ProcessFiles {
    pub(crate) const fn new() -> Self {
        Self {
            folder: None,
            by_pid: None,
        }
    }

    fn make(&self, pid: i32) -> Option<Entry> {
        let name = CString::try_from_fmt(fmt!("{pid}")).ok()?;
        self.folder.as_ref()?.file(&name, StateFile::Process(pid))
    }

    fn by_pid(&mut self) -> &mut RBTree<i32, PidFile> {
        self.by_pid.get_or_insert_with(RBTree::new)
    }
}

/// A process opens the device: it gets a file unless another with its id has one.
///
/// # Errors
///
/// `ENOMEM`. That debugfs cannot make the file is none.
pub(crate) fn enter(process: &Process) -> Result {
    let place = RBTreeNodeReservation::new(GFP_KERNEL)?;
    let mut files = PROCESS_FILES.lock();
    if let Some(known) = files.by_pid().get_mut(&process.pid) {
        known.users = known.users.saturating_add(1);
        return Ok(());
    }
    let new = PidFile {
        users: 1,
        _file: files.make(process.pid),
    };
    files.by_pid().insert(place.into_node(process.pid, new));
    Ok(())
}

/// Takes back [`enter`]. The file goes with the last process that has the id.
pub(crate) fn leave(process: &Process) {
    let mut files = PROCESS_FILES.lock();
    let Some(known) = files.by_pid().get_mut(&process.pid) else {
        return;
    };
    known.users = known.users.saturating_sub(1);
    if known.users == 0 {
        // Under the lock, or the next open of the same process would find the name taken.
        drop(files.by_pid().remove_node(&process.pid));
    }
}
