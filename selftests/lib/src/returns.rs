// SPDX-License-Identifier: GPL-2.0
//! The parser of what the driver returns.

use bytemuck::{pod_read_unaligned, Pod};

use crate::uapi::*;

/// A transaction or reply as it was delivered: numbers only, see
/// [`Received`](crate::buffer::Received) for its contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incoming {
    /// Pointer of the node that is called; 0 in a reply.
    pub ptr: u64,
    /// Cookie of the node that is called; 0 in a reply.
    pub cookie: u64,
    /// The sender's code.
    pub code: u32,
    /// The sender's `TF_` bits.
    pub flags: u32,
    /// The sender's process id.
    pub sender_pid: i32,
    /// The sender's effective user id.
    pub sender_euid: u32,
    /// Bytes of data.
    pub data_size: u64,
    /// Bytes of offsets.
    pub offsets_size: u64,
    /// Address of the data; frees the buffer.
    pub buffer: u64,
    /// Address of the offsets.
    pub offsets: u64,
    /// Address of the sender's security context, if it was asked for.
    pub secctx: Option<u64>,
}

impl From<TransactionData> for Incoming {
    fn from(data: TransactionData) -> Self {
        Incoming {
            ptr: data.target,
            cookie: data.cookie,
            code: data.code,
            flags: data.flags,
            sender_pid: data.sender_pid,
            sender_euid: data.sender_euid,
            data_size: data.data_size,
            offsets_size: data.offsets_size,
            buffer: data.buffer,
            offsets: data.offsets,
            secctx: None,
        }
    }
}

/// One return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Return {
    /// `BR_ERROR`; the number is absent where a driver does not write it.
    Error(Option<i32>),
    Ok,
    /// `BR_TRANSACTION` or `BR_TRANSACTION_SEC_CTX`.
    Transaction(Incoming),
    Reply(Incoming),
    AcquireResult(i32),
    DeadReply,
    TransactionComplete,
    Increfs(PtrCookie),
    Acquire(PtrCookie),
    Release(PtrCookie),
    Decrefs(PtrCookie),
    Noop,
    SpawnLooper,
    Finished,
    DeadBinder(u64),
    ClearDeathNotificationDone(u64),
    FailedReply,
    FrozenReply,
    OnewaySpamSuspect,
    TransactionPendingFrozen,
    FrozenBinder(FrozenStateInfo),
    ClearFreezeNotificationDone(u64),
}

impl Return {
    /// True for the answers to a sent command: completions and errors.
    #[inline]
    pub fn is_completion(&self) -> bool {
        matches!(
            self,
            Return::TransactionComplete
                | Return::OnewaySpamSuspect
                | Return::TransactionPendingFrozen
        )
    }

    /// The name of the return without its payload, as in the ABI.
    pub fn name(&self) -> &'static str {
        match self {
            Return::Error(_) => "BR_ERROR",
            Return::Ok => "BR_OK",
            Return::Transaction(incoming) if incoming.secctx.is_some() => "BR_TRANSACTION_SEC_CTX",
            Return::Transaction(_) => "BR_TRANSACTION",
            Return::Reply(_) => "BR_REPLY",
            Return::AcquireResult(_) => "BR_ACQUIRE_RESULT",
            Return::DeadReply => "BR_DEAD_REPLY",
            Return::TransactionComplete => "BR_TRANSACTION_COMPLETE",
            Return::Increfs(_) => "BR_INCREFS",
            Return::Acquire(_) => "BR_ACQUIRE",
            Return::Release(_) => "BR_RELEASE",
            Return::Decrefs(_) => "BR_DECREFS",
            Return::Noop => "BR_NOOP",
            Return::SpawnLooper => "BR_SPAWN_LOOPER",
            Return::Finished => "BR_FINISHED",
            Return::DeadBinder(_) => "BR_DEAD_BINDER",
            Return::ClearDeathNotificationDone(_) => "BR_CLEAR_DEATH_NOTIFICATION_DONE",
            Return::FailedReply => "BR_FAILED_REPLY",
            Return::FrozenReply => "BR_FROZEN_REPLY",
            Return::OnewaySpamSuspect => "BR_ONEWAY_SPAM_SUSPECT",
            Return::TransactionPendingFrozen => "BR_TRANSACTION_PENDING_FROZEN",
            Return::FrozenBinder(_) => "BR_FROZEN_BINDER",
            Return::ClearFreezeNotificationDone(_) => "BR_CLEAR_FREEZE_NOTIFICATION_DONE",
        }
    }
}

/// Why a read buffer could not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// No such return.
    #[error("the driver returned {number:#010x} at byte {offset}, which is no BR_ command")]
    Unknown {
        /// The word found.
        number: u32,
        /// Where.
        offset: usize,
    },
    /// A return with only a part of its payload.
    #[error("the driver's return at byte {offset} is cut off: {have} of {need} bytes")]
    Truncated {
        /// Where.
        offset: usize,
        /// Bytes that it needs.
        need: usize,
        /// Bytes that are left.
        have: usize,
    },
}

/// Iterator over the returns in a read buffer; ends after the first error.
#[derive(Clone, Debug)]
pub struct Returns<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Returns<'a> {
    /// Reads `bytes`, the part of the read buffer that the driver filled.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Returns { bytes, offset: 0 }
    }

    /// All returns, or the first error.
    pub fn parse(bytes: &'a [u8]) -> Result<Vec<Return>, ParseError> {
        Returns::new(bytes).collect()
    }

    #[inline]
    fn take<T: Pod>(&mut self) -> Result<T, ParseError> {
        let rest = &self.bytes[self.offset..];
        let need = size_of::<T>();
        let Some(bytes) = rest.get(..need) else {
            return Err(ParseError::Truncated { offset: self.offset, need, have: rest.len() });
        };
        self.offset += need;
        Ok(pod_read_unaligned(bytes))
    }

    #[inline]
    fn parse_next(&mut self) -> Result<Return, ParseError> {
        let offset = self.offset;
        let number: u32 = self.take()?;
        Ok(match number {
            BR_ERROR => Return::Error(self.take::<i32>().ok()),
            BR_OK => Return::Ok,
            BR_TRANSACTION => Return::Transaction(self.take::<TransactionData>()?.into()),
            BR_TRANSACTION_SEC_CTX => {
                let data: TransactionDataSecCtx = self.take()?;
                let plain = Incoming::from(data.transaction);
                Return::Transaction(Incoming { secctx: Some(data.secctx), ..plain })
            }
            BR_REPLY => Return::Reply(self.take::<TransactionData>()?.into()),
            BR_ACQUIRE_RESULT => Return::AcquireResult(self.take()?),
            BR_DEAD_REPLY => Return::DeadReply,
            BR_TRANSACTION_COMPLETE => Return::TransactionComplete,
            BR_INCREFS => Return::Increfs(self.take()?),
            BR_ACQUIRE => Return::Acquire(self.take()?),
            BR_RELEASE => Return::Release(self.take()?),
            BR_DECREFS => Return::Decrefs(self.take()?),
            BR_NOOP => Return::Noop,
            BR_SPAWN_LOOPER => Return::SpawnLooper,
            BR_FINISHED => Return::Finished,
            BR_DEAD_BINDER => Return::DeadBinder(self.take()?),
            BR_CLEAR_DEATH_NOTIFICATION_DONE => Return::ClearDeathNotificationDone(self.take()?),
            BR_FAILED_REPLY => Return::FailedReply,
            BR_FROZEN_REPLY => Return::FrozenReply,
            BR_ONEWAY_SPAM_SUSPECT => Return::OnewaySpamSuspect,
            BR_TRANSACTION_PENDING_FROZEN => Return::TransactionPendingFrozen,
            BR_FROZEN_BINDER => Return::FrozenBinder(self.take()?),
            BR_CLEAR_FREEZE_NOTIFICATION_DONE => Return::ClearFreezeNotificationDone(self.take()?),
            number => return Err(ParseError::Unknown { number, offset }),
        })
    }
}

impl Iterator for Returns<'_> {
    type Item = Result<Return, ParseError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let result = self.parse_next();
        if result.is_err() {
            self.offset = self.bytes.len();
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::bytes_of;

    fn with_payload<T: Pod>(number: u32, payload: &T) -> Vec<u8> {
        [&number.to_ne_bytes(), bytes_of(payload)].concat()
    }

    #[test]
    fn a_typical_read_is_split_into_its_returns() {
        let node = PtrCookie { ptr: 1, cookie: 2 };
        let data =
            TransactionData { target: 1, cookie: 2, code: 3, data_size: 4, ..Default::default() };
        let bytes = [
            BR_NOOP.to_ne_bytes().to_vec(),
            with_payload(BR_INCREFS, &node),
            with_payload(BR_ACQUIRE, &node),
            BR_TRANSACTION_COMPLETE.to_ne_bytes().to_vec(),
            with_payload(BR_TRANSACTION, &data),
        ]
        .concat();
        let expected = [
            Return::Noop,
            Return::Increfs(node),
            Return::Acquire(node),
            Return::TransactionComplete,
            Return::Transaction(data.into()),
        ];
        assert_eq!(Returns::parse(&bytes).unwrap(), expected);
    }

    #[test]
    fn security_context_is_told_from_the_size() {
        let data = TransactionDataSecCtx { secctx: 9, ..Default::default() };
        let bytes = with_payload(BR_TRANSACTION_SEC_CTX, &data);
        let returns = Returns::parse(&bytes).unwrap();
        assert!(matches!(returns[..], [Return::Transaction(Incoming { secctx: Some(9), .. })]));
        assert_eq!(returns[0].name(), "BR_TRANSACTION_SEC_CTX");
    }

    #[test]
    fn unknown_and_cut_off_returns_end_the_parse() {
        let mut bytes = BR_NOOP.to_ne_bytes().to_vec();
        bytes.extend(0xdead_beef_u32.to_ne_bytes());
        bytes.extend(BR_NOOP.to_ne_bytes());
        let all: Vec<_> = Returns::new(&bytes).collect();
        let error = ParseError::Unknown { number: 0xdead_beef, offset: 4 };
        assert_eq!(all, [Ok(Return::Noop), Err(error)]);

        let bytes = with_payload(BR_DEAD_BINDER, &1u32);
        let error = ParseError::Truncated { offset: 4, need: 8, have: 4 };
        assert_eq!(Returns::parse(&bytes), Err(error));
        let error = ParseError::Truncated { offset: 0, need: 4, have: 2 };
        assert_eq!(Returns::parse(&[1, 2]), Err(error));
    }

    #[test]
    fn error_is_accepted_with_and_without_its_number() {
        assert_eq!(Returns::parse(&BR_ERROR.to_ne_bytes()), Ok(vec![Return::Error(None)]));
        let bytes = with_payload(BR_ERROR, &-12i32);
        assert_eq!(Returns::parse(&bytes), Ok(vec![Return::Error(Some(-12))]));
    }
}
