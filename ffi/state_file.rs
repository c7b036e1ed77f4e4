// SPDX-License-Identifier: GPL-2.0

//! Files that show state, wherever they are.
//!
//! The inode's private word says which file it is, see [`key`]. The text is made when the
//! file is read from its start; what is read then is all of one time, in whatever pieces.

use kernel::{
    alloc::flags::GFP_KERNEL_ACCOUNT, bindings, module::this_module, new_mutex, prelude::*,
    sync::Mutex, types::ForeignOwnable,
};

use crate::{
    state::{Pointers, StateFile},
    transaction::log::Log,
    LocalModule,
};

#[repr(transparent)]
struct Table(bindings::file_operations);

// SAFETY: The table is never modified.
unsafe impl Sync for Table {}

static OPERATIONS: Table = Table(bindings::file_operations {
    owner: this_module::<LocalModule>().as_ptr(),
    open: Some(open),
    release: Some(release),
    read: Some(read),
    llseek: Some(bindings::default_llseek),
    ..pin_init::zeroed()
});

/// The table for the creation of a file.
pub(super) fn operations() -> *const bindings::file_operations {
    &OPERATIONS.0
}

/// Keys of the files of processes have this bit set, and the process id above it.
const PROCESS: usize = 1;

/// The private word for the inode of `file`. Never 0.
pub(super) fn key(file: StateFile) -> usize {
    match file {
        StateFile::State(Pointers::Plain) => 2,
        StateFile::State(Pointers::Hashed) => 4,
        StateFile::Stats => 6,
        StateFile::Transactions(Pointers::Plain) => 8,
        StateFile::Transactions(Pointers::Hashed) => 10,
        StateFile::Log(Log::All) => 12,
        StateFile::Log(Log::Failed) => 14,
        StateFile::Process(pid) => (pid.unsigned_abs() as usize) << 1 | PROCESS,
    }
}

/// The file whose key this is.
fn from_key(word: usize) -> Option<StateFile> {
    if word & PROCESS != 0 {
        return i32::try_from(word >> 1).ok().map(StateFile::Process);
    }
    let files = StateFile::ALL.iter().map(|(_, file)| *file);
    files.clone().find(|file| key(*file) == word)
}

/// An open file.
#[pin_data]
struct Reader {
    file: StateFile,
    /// What is read at the moment. A mutex that is taken before any other of the driver.
    #[pin]
    text: Mutex<KVVec<u8>>,
}

/// # Safety
///
/// `open` of the table, for an inode whose private word is a [`key`].
unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: `open` gets a valid inode.
    let word = unsafe { (*inode).i_private } as usize;
    let Some(which) = from_key(word) else {
        return ENOENT.to_errno();
    };
    let reader = KBox::pin_init(
        pin_init!(Reader {
            file: which,
            text <- new_mutex!(KVVec::new(), "Reader::text"),
        }),
        GFP_KERNEL_ACCOUNT,
    );
    match reader {
        Ok(reader) => {
            // SAFETY: The file is valid and nobody else uses it yet; `release` takes the
            // box back.
            unsafe { (*file).private_data = reader.into_foreign() };
            0
        }
        Err(error) => error.to_errno(),
    }
}

/// # Safety
///
/// `release` of the table: called last, once, for a file that `open` accepted.
unsafe extern "C" fn release(_inode: *mut bindings::inode, file: *mut bindings::file) -> c_int {
    // SAFETY: `open` stored a box, and nobody uses the file any more.
    drop(unsafe { Pin::<KBox<Reader>>::from_foreign((*file).private_data) });
    0
}

/// # Safety
///
/// `read` of the table: called for an open file, with a buffer of user space and a valid
/// position.
unsafe extern "C" fn read(
    file: *mut bindings::file,
    buffer: *mut c_char,
    size: usize,
    position: *mut bindings::loff_t,
) -> isize {
    // SAFETY: `open` stored a box, which is not taken back while the file is in use.
    let reader = unsafe { Pin::<KBox<Reader>>::borrow((*file).private_data) };
    let mut text = reader.text.lock();
    // SAFETY: The position is valid for this call.
    if unsafe { *position } == 0 {
        // First, so that two texts are not there at the same time.
        *text = KVVec::new();
        match reader.file.content() {
            Ok(content) => *text = content,
            Err(error) => return error.to_errno() as isize,
        }
    }
    let (from, len) = (text.as_ptr().cast(), text.len());
    // SAFETY: The text stays as it is under its lock; the function checks the rest.
    unsafe { bindings::simple_read_from_buffer(buffer.cast(), size, position, from, len) as isize }
}
