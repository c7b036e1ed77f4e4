// SPDX-License-Identifier: GPL-2.0
//! The service's handler and the calls of its clients.

use std::fs::File;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};

use binder_client::buffer::Received;
use binder_client::error::Error;
use binder_client::handler::{Answer, Handler};
use binder_client::object::Object;
use binder_client::parcel::Parcel;
use binder_client::reader::Reader;
use binder_client::thread::BinderThread;
use binder_client::uapi::TF_ACCEPT_FDS;
use nix::libc;

use crate::{CONTENT_MAX, ECHO, OPEN_FILE, READ_FILE};

/// The service. Failures of the file system are statuses: a negative errno.
#[derive(Debug, Default)]
pub struct FileService {
    /// Files whose replies may still be under way.
    opened: std::sync::Mutex<Vec<OwnedFd>>,
}

impl FileService {
    fn open(&self, request: &Received) -> Result<Parcel, i32> {
        let file = open(request)?;
        let mut reply = Parcel::new();
        reply.fd(&file);
        // The driver takes its own reference when the reply is sent, which is
        // before this thread serves again; keep the last few open until then.
        let mut opened = self.opened.lock().map_err(|_| -libc::EIO)?;
        opened.push(file.into());
        let surplus = opened.len().saturating_sub(64);
        opened.drain(..surplus);
        Ok(reply)
    }
}

impl Handler for FileService {
    fn request(&self, _thread: &mut BinderThread, request: &Received) -> Answer {
        let result = match request.incoming().code {
            ECHO => Ok(Parcel::from_bytes(request.data())),
            READ_FILE => read(request),
            OPEN_FILE => self.open(request),
            _ => Err(-libc::ENOSYS),
        };
        result.map_or_else(Answer::Status, Answer::Reply)
    }
}

fn path(request: &Received) -> Result<String, i32> {
    Reader::new(&request.data()).text().map_err(|_| -libc::EINVAL)
}

fn open(request: &Received) -> Result<File, i32> {
    File::open(path(request)?).map_err(|error| status(&error))
}

fn read(request: &Received) -> Result<Parcel, i32> {
    let mut content = Vec::new();
    open(request)?.take(CONTENT_MAX).read_to_end(&mut content).map_err(|error| status(&error))?;
    let mut reply = Parcel::new();
    reply.u32(u32::try_from(content.len()).map_err(|_| -libc::EFBIG)?).bytes(&content);
    Ok(reply)
}

fn status(error: &std::io::Error) -> i32 {
    -error.raw_os_error().unwrap_or(libc::EIO)
}

/// Calls [`ECHO`].
pub fn echo(thread: &mut BinderThread, handle: u32, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let reply = thread.call(handle, ECHO, &Parcel::from_bytes(bytes), 0)?;
    let data = reply.data();
    thread.recycle(reply);
    Ok(data)
}

/// Calls [`READ_FILE`].
pub fn read_file(thread: &mut BinderThread, handle: u32, path: &str) -> Result<Vec<u8>, Error> {
    let mut parcel = Parcel::new();
    parcel.text(path);
    let reply = thread.call(handle, READ_FILE, &parcel, 0)?;
    let data = reply.data();
    thread.recycle(reply);
    let mut reader = Reader::new(&data);
    let length = reader.u32()? as usize;
    Ok(reader.bytes(length)?.to_vec())
}

/// Calls [`OPEN_FILE`]: the file that the service opened, in this process.
pub fn open_file(thread: &mut BinderThread, handle: u32, path: &str) -> Result<OwnedFd, Error> {
    let mut parcel = Parcel::new();
    parcel.text(path);
    let reply = thread.call(handle, OPEN_FILE, &parcel, TF_ACCEPT_FDS)?;
    let object = reply.objects()?.first().copied();
    thread.recycle(reply);
    let Some(Object::Fd { fd, .. }) = object else {
        return Err(Error::Malformed("the reply has no descriptor"));
    };
    Ok(adopt(fd))
}

/// Takes over a descriptor that the driver has just made for this process.
#[allow(unsafe_code)]
fn adopt(fd: u32) -> OwnedFd {
    // SAFETY: a delivered descriptor is new and belongs to its receiver alone.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}
