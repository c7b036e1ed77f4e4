// SPDX-License-Identifier: GPL-2.0
//! An open Binder device: its ioctls one by one, its mapping, its polling.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytemuck::Pod;
use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::mman::{MapFlags, ProtFlags};

use crate::guard::{BadAddress, GuardedBuffer};
use crate::sys::{self, Region};
use crate::uapi::*;

/// The mapping size that [`Device::open`] asks for: 1 MiB.
pub const DEFAULT_MAP: usize = 1 << 20;

/// Descriptors of all devices that this process has open, for [`close_inherited`].
static OPEN: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

pub(crate) fn open_list() -> MutexGuard<'static, Vec<RawFd>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Closes every device that a forked child got from its parent.
///
/// Without it a child keeps its parent's processes alive in the driver.
pub(crate) fn close_inherited(list: &mut Vec<RawFd>) {
    list.drain(..).for_each(sys::close_inherited);
}

/// How to open a device.
#[derive(Clone, Copy, Debug)]
pub struct OpenAs {
    /// Bytes to map, or `None` for no mapping.
    pub map: Option<usize>,
    /// Open with `O_NONBLOCK`.
    pub nonblock: bool,
}

impl Default for OpenAs {
    fn default() -> Self {
        OpenAs { map: Some(DEFAULT_MAP), nonblock: false }
    }
}

/// One open file of a Binder device: what the driver calls a process.
pub struct Device {
    file: File,
    path: PathBuf,
    mapping: Mutex<Option<Arc<Region>>>,
    ioctls: AtomicU64,
}

impl Device {
    /// Opens `path` and maps [`DEFAULT_MAP`] bytes.
    pub fn open(path: impl AsRef<Path>) -> Result<Arc<Self>, Errno> {
        Self::open_with(path, OpenAs::default())
    }

    /// Opens `path` and maps nothing.
    pub fn open_unmapped(path: impl AsRef<Path>) -> Result<Arc<Self>, Errno> {
        Self::open_with(path, OpenAs { map: None, nonblock: false })
    }

    /// Opens `path` as `options` say.
    pub fn open_with(path: impl AsRef<Path>, options: OpenAs) -> Result<Arc<Self>, Errno> {
        let path = path.as_ref();
        let mut list = open_list();
        let flags = if options.nonblock { nix::libc::O_NONBLOCK } else { 0 };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(path)
            .map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)))?;
        list.push(file.as_raw_fd());
        drop(list);
        let device = Device {
            file,
            path: path.to_owned(),
            mapping: Mutex::new(None),
            ioctls: AtomicU64::new(0),
        };
        if let Some(length) = options.map {
            device.map(length)?;
        }
        Ok(Arc::new(device))
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of ioctls issued through this object so far.
    pub fn ioctls(&self) -> u64 {
        self.ioctls.load(Ordering::Relaxed)
    }

    /// Maps `length` bytes as received buffers need them (private, read-only).
    pub fn map(&self, length: usize) -> Result<(), Errno> {
        let region = self.try_map(length, ProtFlags::PROT_READ)?;
        *self.mapping_slot() = Some(Arc::new(region));
        Ok(())
    }

    /// Maps with any protection and returns the mapping on its own.
    ///
    /// For tests of the rules of mmap; received buffers do not use it.
    pub fn try_map(&self, length: usize, protection: ProtFlags) -> Result<Region, Errno> {
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        Region::of_file(self.file.as_fd(), length, protection, flags)
    }

    /// The mapping of received buffers, if there is one.
    pub fn mapping(&self) -> Option<Arc<Region>> {
        self.mapping_slot().clone()
    }

    /// Removes the mapping. Fails with `EBUSY` while a received buffer is held.
    pub fn unmap(&self) -> Result<(), Errno> {
        self.take_mapping().map(drop)
    }

    /// Unmaps `length` bytes at `offset` of the mapping; no buffer can be
    /// read through this object afterwards. Fails like [`Device::unmap`].
    pub fn unmap_part(&self, offset: usize, length: usize) -> Result<Region, Errno> {
        let mut region = self.take_mapping()?;
        region.unmap_part(offset, length)?;
        Ok(region)
    }

    fn take_mapping(&self) -> Result<Region, Errno> {
        let mut slot = self.mapping_slot();
        let region = slot.take().ok_or(Errno::EINVAL)?;
        Arc::try_unwrap(region).map_err(|region| {
            *slot = Some(region);
            Errno::EBUSY
        })
    }

    fn mapping_slot(&self) -> MutexGuard<'_, Option<Arc<Region>>> {
        self.mapping.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until poll reports events, at most `timeout`.
    ///
    /// Returns the events, which are empty if the time was over first.
    pub fn poll(&self, timeout: Duration) -> Result<PollFlags, Errno> {
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        let mut fds = [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, timeout)?;
        Ok(fds[0].revents().unwrap_or(PollFlags::empty()))
    }

    /// Closes a duplicate of the descriptor, which makes waiting threads of
    /// this process return to user space.
    pub fn flush(&self) -> Result<(), Errno> {
        let duplicate = nix::unistd::dup(self.file.as_fd())?;
        drop(duplicate);
        Ok(())
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.path.display())
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let fd = self.file.as_raw_fd();
        open_list().retain(|&other| other != fd);
    }
}

/// The ioctls.
impl Device {
    /// Issues any request with its argument.
    ///
    /// # Panics
    ///
    /// If the argument is shorter than the request number announces, and for
    /// [`BINDER_WRITE_READ`], which has its own functions in
    /// [`Session`](crate::session::Session).
    pub fn ioctl<T: Pod>(&self, request: u32, argument: &mut T) -> Result<(), Errno> {
        assert_ne!(request, BINDER_WRITE_READ, "use Session for BINDER_WRITE_READ");
        self.count();
        sys::ioctl(self.file.as_raw_fd(), request, argument)
    }

    /// Issues any request with an address that is no memory.
    pub fn ioctl_bad_address(&self, request: u32, bad: BadAddress) -> Result<(), Errno> {
        self.count();
        sys::ioctl_bad(self.file.as_raw_fd(), request, bad)
    }

    /// Issues a request whose argument is a buffer that ends at a forbidden
    /// page, for arguments which are too short or must not be overrun.
    ///
    /// # Panics
    ///
    /// For [`BINDER_WRITE_READ`], which writes to further places.
    pub fn ioctl_guarded(&self, request: u32, argument: &mut GuardedBuffer) -> Result<(), Errno> {
        assert_ne!(request, BINDER_WRITE_READ, "use Session for BINDER_WRITE_READ");
        self.count();
        sys::ioctl_guarded(self.file.as_raw_fd(), request, argument)
    }

    #[inline]
    pub(crate) fn count(&self) {
        self.ioctls.fetch_add(1, Ordering::Relaxed);
    }

    /// `BINDER_VERSION`.
    pub fn version(&self) -> Result<i32, Errno> {
        let mut version = Version::default();
        self.ioctl(BINDER_VERSION, &mut version)?;
        Ok(version.protocol_version)
    }

    /// `BINDER_SET_MAX_THREADS`: how many threads the driver may ask for.
    pub fn set_max_threads(&self, threads: u32) -> Result<(), Errno> {
        self.ioctl(BINDER_SET_MAX_THREADS, &mut { threads })
    }

    /// `BINDER_SET_CONTEXT_MGR`: become the owner of handle 0.
    pub fn set_context_mgr(&self) -> Result<(), Errno> {
        self.ioctl(BINDER_SET_CONTEXT_MGR, &mut 0i32)
    }

    /// `BINDER_SET_CONTEXT_MGR_EXT`: the same with a node of one's own choice.
    pub fn set_context_mgr_ext(&self, node: &FlatObject) -> Result<(), Errno> {
        self.ioctl(BINDER_SET_CONTEXT_MGR_EXT, &mut { *node })
    }

    /// `BINDER_THREAD_EXIT`: the driver forgets the calling thread.
    pub fn thread_exit(&self) -> Result<(), Errno> {
        self.ioctl(BINDER_THREAD_EXIT, &mut 0i32)
    }

    /// `BINDER_GET_NODE_DEBUG_INFO`: the own node with the smallest pointer
    /// above `ptr`; all zero after the last.
    pub fn node_debug_info(&self, ptr: u64) -> Result<NodeDebugInfo, Errno> {
        let mut info = NodeDebugInfo { ptr, ..Default::default() };
        self.ioctl(BINDER_GET_NODE_DEBUG_INFO, &mut info)?;
        Ok(info)
    }

    /// All own nodes in the order of their pointers.
    pub fn nodes(&self) -> Result<Vec<NodeDebugInfo>, Errno> {
        let mut nodes = Vec::new();
        let mut info = self.node_debug_info(0)?;
        while info.ptr != 0 {
            nodes.push(info);
            info = self.node_debug_info(info.ptr)?;
        }
        Ok(nodes)
    }

    /// `BINDER_GET_NODE_INFO_FOR_REF`: reference counts behind a handle, for
    /// the context manager.
    pub fn node_info_for_ref(&self, handle: u32) -> Result<NodeInfoForRef, Errno> {
        let mut info = NodeInfoForRef { handle, ..Default::default() };
        self.ioctl(BINDER_GET_NODE_INFO_FOR_REF, &mut info)?;
        Ok(info)
    }

    /// `BINDER_FREEZE`.
    pub fn freeze(&self, pid: u32, enable: bool, timeout: Duration) -> Result<(), Errno> {
        let timeout_ms = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        let mut info = FreezeInfo { pid, enable: enable.into(), timeout_ms };
        self.ioctl(BINDER_FREEZE, &mut info)
    }

    /// `BINDER_GET_FROZEN_INFO`.
    pub fn frozen_info(&self, pid: u32) -> Result<FrozenStatusInfo, Errno> {
        let mut info = FrozenStatusInfo { pid, ..Default::default() };
        self.ioctl(BINDER_GET_FROZEN_INFO, &mut info)?;
        Ok(info)
    }

    /// `BINDER_ENABLE_ONEWAY_SPAM_DETECTION` for this process as a sender.
    pub fn enable_oneway_spam_detection(&self, enable: bool) -> Result<(), Errno> {
        self.ioctl(BINDER_ENABLE_ONEWAY_SPAM_DETECTION, &mut u32::from(enable))
    }

    /// `BINDER_GET_EXTENDED_ERROR`: the calling thread's last failure; reading resets it.
    pub fn extended_error(&self) -> Result<ExtendedError, Errno> {
        let mut error = ExtendedError::default();
        self.ioctl(BINDER_GET_EXTENDED_ERROR, &mut error)?;
        Ok(error)
    }
}
