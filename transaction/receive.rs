// SPDX-License-Identifier: GPL-2.0

//! Delivery: a transaction reaches the thread that reads it.

use core::sync::atomic::Ordering::Relaxed;

use kernel::{prelude::*, sync::Arc, task::Kuid};

use super::{Cargo, Outcome, Reply, Transaction};
use crate::{
    allocation::{files::ArrivedFiles, Allocation},
    defs::Return,
    error::TransactionError,
    ffi::{
        abi::{binder_transaction_data, binder_transaction_data_secctx},
        task::tgid_seen_by_current,
        trace,
    },
    thread::{Flow, ReturnWriter, Thread},
};

impl Thread {
    /// Delivers a call or a oneway message.
    ///
    /// # Errors
    ///
    /// Only `EFAULT`, if the read buffer cannot be written. The sender of a call gets
    /// `BR_FAILED_REPLY` then, as it does if its files find no place here.
    pub(crate) fn receive_request(
        self: &Arc<Self>,
        request: Arc<Transaction>,
        writer: &mut ReturnWriter<'_>,
    ) -> Result<Flow> {
        let Cargo::Buffer(mut buffer) = request.unload() else {
            return Ok(Flow::Continue);
        };
        let files = match ArrivedFiles::number(&mut buffer) {
            Ok(files) => files,
            Err(error) => {
                self.refuse_request(request, buffer, error);
                return Ok(Flow::Continue);
            }
        };
        trace::transaction_received(|| (request.id as c_int,));
        let data = request.describe(&buffer);
        let written = write_request(writer, data, &buffer).and_then(|()| writer.flush());
        if let Err(error) = written {
            drop(files);
            self.refuse_request(request, buffer, EFAULT);
            return Err(error);
        }
        files.install(&mut buffer, request.id);
        buffer.hand_over();
        if request.is_oneway() {
            request.request_ends(&self.process);
        } else {
            self.start_serving(request);
        }
        Ok(Flow::End)
    }

    /// Fails a request that cannot be delivered. A call of this thread that it was made to
    /// answer is on top again.
    #[cold]
    fn refuse_request(
        self: &Arc<Self>,
        request: Arc<Transaction>,
        buffer: Allocation,
        error: Error,
    ) {
        drop(buffer);
        request.request_ends(&self.process);
        Transaction::fail(request, TransactionError::failed(error));
        let top = self.inner.lock().stack.last().cloned();
        self.settle(top);
    }

    /// Delivers the outcome of a call of this thread.
    pub(crate) fn receive_response(
        self: &Arc<Self>,
        response: Arc<Transaction>,
        writer: &mut ReturnWriter<'_>,
    ) -> Result<Flow> {
        self.process.note_end();
        match response.unload() {
            Cargo::Reply(reply) => self.receive_reply(response, reply, writer),
            Cargo::Failure(Outcome(code)) => {
                self.recycle_transaction(response);
                writer.put_code(code)?;
                Ok(Flow::Continue)
            }
            _ => Ok(Flow::Continue),
        }
    }

    fn receive_reply(
        self: &Arc<Self>,
        call: Arc<Transaction>,
        reply: Reply,
        writer: &mut ReturnWriter<'_>,
    ) -> Result<Flow> {
        let Reply {
            mut buffer,
            code,
            flags,
            sender_euid,
        } = reply;
        let Ok(files) = ArrivedFiles::number(&mut buffer) else {
            writer.put_code(Return::FAILED_REPLY)?;
            return Ok(Flow::End);
        };
        let id = call.reply_id.load(Relaxed);
        trace::transaction_received(|| (id as c_int,));
        let mut data = binder_transaction_data::for_receiver(0, 0);
        data.code = code;
        data.flags = flags.0;
        data.sender_euid = sender_euid.into_uid_in_current_ns();
        locate(&mut data, &buffer);
        writer.put_item(Return::REPLY, &data)?;
        writer.flush()?;
        files.install(&mut buffer, id);
        buffer.hand_over();
        call.trace_reply_over(id);
        self.recycle_transaction(call);
        Ok(Flow::End)
    }

    /// Puts a call on the stack that this thread now serves. Room was made before the read.
    fn start_serving(&self, call: Arc<Transaction>) {
        call.taker.store(self.tid, Relaxed);
        let unplaced = self.inner.lock().stack.push_within_capacity(call);
        drop(unplaced);
    }
}

impl Transaction {
    /// What the receiver is told, apart from the code.
    fn describe(&self, buffer: &Allocation) -> binder_transaction_data {
        let mut data = binder_transaction_data::for_receiver(self.target.ptr, self.target.cookie);
        data.code = self.code;
        data.flags = self.flags.0;
        data.sender_euid = self
            .sender_euid
            .map_or(u32::MAX, Kuid::into_uid_in_current_ns);
        data.sender_pid = match &self.from {
            Some(from) if !from.is_dead() => tgid_seen_by_current(&from.process.task),
            _ => 0,
        };
        locate(&mut data, buffer);
        data
    }
}

/// Says where data and offsets are.
fn locate(data: &mut binder_transaction_data, buffer: &Allocation) {
    let address = buffer.address();
    data.data_size = buffer.layout.data_size() as u64;
    data.offsets_size = buffer.layout.offsets_size() as u64;
    data.set_addresses(
        address,
        address.wrapping_add(buffer.layout.offsets_at() as u64),
    );
}

fn write_request(
    writer: &mut ReturnWriter<'_>,
    transaction_data: binder_transaction_data,
    buffer: &Allocation,
) -> Result {
    let layout = &buffer.layout;
    if layout.security_size() == 0 {
        return writer.put_item(Return::TRANSACTION, &transaction_data);
    }
    let secctx = buffer.address().wrapping_add(layout.security_at() as u64);
    let data = binder_transaction_data_secctx {
        transaction_data,
        secctx,
    };
    writer.put_item(Return::TRANSACTION_SEC_CTX, &data)
}
