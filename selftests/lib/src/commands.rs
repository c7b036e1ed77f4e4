// SPDX-License-Identifier: GPL-2.0
//! The writer of commands to the driver.

use std::marker::PhantomData;

use bytemuck::{bytes_of, Pod};

use crate::object::Strength;
use crate::parcel::Parcel;
use crate::uapi::*;

/// A write buffer, built command by command.
///
/// It holds the addresses of the parcels that were put in, hence the lifetime.
/// [`Commands::word`] and [`Commands::raw`] build what no sane program sends.
#[derive(Clone, Debug, Default)]
pub struct Commands<'p> {
    bytes: Vec<u8>,
    parcels: PhantomData<&'p Parcel>,
}

impl<'p> Commands<'p> {
    /// No commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes as the driver reads them.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if there is no command.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Removes the first `count` bytes, those that were consumed.
    pub fn consume(&mut self, count: usize) {
        self.bytes.drain(..count);
    }

    /// Removes everything; the room stays allocated.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Appends the commands of another writer.
    pub fn append(&mut self, other: &Commands<'p>) -> &mut Self {
        self.raw(&other.bytes)
    }

    /// Appends any bytes.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Appends a word, for example a command number without its payload.
    #[inline]
    pub fn word(&mut self, word: u32) -> &mut Self {
        self.raw(&word.to_ne_bytes())
    }

    /// Appends a command with any payload.
    #[inline]
    pub fn command<T: Pod>(&mut self, command: u32, payload: &T) -> &mut Self {
        self.word(command).raw(bytes_of(payload))
    }

    /// `BC_TRANSACTION`, or `BC_TRANSACTION_SG` if the parcel needs it.
    pub fn transaction(
        &mut self,
        target: u32,
        code: u32,
        flags: u32,
        parcel: &'p Parcel,
    ) -> &mut Self {
        let data = parcel.transaction_data(target, code, flags);
        self.transfer(BC_TRANSACTION, BC_TRANSACTION_SG, data, parcel)
    }

    /// `BC_REPLY`, or `BC_REPLY_SG` if the parcel needs it.
    pub fn reply(&mut self, flags: u32, parcel: &'p Parcel) -> &mut Self {
        self.reply_with_code(0, flags, parcel)
    }

    /// As [`Commands::reply`], with a code in its `code` field.
    pub fn reply_with_code(&mut self, code: u32, flags: u32, parcel: &'p Parcel) -> &mut Self {
        let data = parcel.transaction_data(0, code, flags);
        self.transfer(BC_REPLY, BC_REPLY_SG, data, parcel)
    }

    fn transfer(
        &mut self,
        plain: u32,
        scatter: u32,
        data: TransactionData,
        parcel: &Parcel,
    ) -> &mut Self {
        if parcel.is_scatter() {
            let buffers_size = parcel.buffers_size();
            self.command(scatter, &TransactionDataSg { transaction: data, buffers_size })
        } else {
            self.command(plain, &data)
        }
    }

    /// `BC_FREE_BUFFER` of the buffer at `address`.
    #[inline]
    pub fn free_buffer(&mut self, address: u64) -> &mut Self {
        self.command(BC_FREE_BUFFER, &address)
    }

    /// `BC_INCREFS` (weak) or `BC_ACQUIRE` (strong).
    pub fn take_ref(&mut self, strength: Strength, handle: u32) -> &mut Self {
        match strength {
            Strength::Strong => self.acquire(handle),
            Strength::Weak => self.increfs(handle),
        }
    }

    /// `BC_DECREFS` (weak) or `BC_RELEASE` (strong).
    pub fn drop_ref(&mut self, strength: Strength, handle: u32) -> &mut Self {
        match strength {
            Strength::Strong => self.release(handle),
            Strength::Weak => self.decrefs(handle),
        }
    }

    /// `BC_INCREFS`.
    pub fn increfs(&mut self, handle: u32) -> &mut Self {
        self.command(BC_INCREFS, &handle)
    }

    /// `BC_ACQUIRE`.
    pub fn acquire(&mut self, handle: u32) -> &mut Self {
        self.command(BC_ACQUIRE, &handle)
    }

    /// `BC_RELEASE`.
    pub fn release(&mut self, handle: u32) -> &mut Self {
        self.command(BC_RELEASE, &handle)
    }

    /// `BC_DECREFS`.
    pub fn decrefs(&mut self, handle: u32) -> &mut Self {
        self.command(BC_DECREFS, &handle)
    }

    /// `BC_INCREFS_DONE`.
    pub fn increfs_done(&mut self, ptr: u64, cookie: u64) -> &mut Self {
        self.command(BC_INCREFS_DONE, &PtrCookie { ptr, cookie })
    }

    /// `BC_ACQUIRE_DONE`.
    pub fn acquire_done(&mut self, ptr: u64, cookie: u64) -> &mut Self {
        self.command(BC_ACQUIRE_DONE, &PtrCookie { ptr, cookie })
    }

    /// `BC_REGISTER_LOOPER`.
    pub fn register_looper(&mut self) -> &mut Self {
        self.word(BC_REGISTER_LOOPER)
    }

    /// `BC_ENTER_LOOPER`.
    pub fn enter_looper(&mut self) -> &mut Self {
        self.word(BC_ENTER_LOOPER)
    }

    /// `BC_EXIT_LOOPER`.
    pub fn exit_looper(&mut self) -> &mut Self {
        self.word(BC_EXIT_LOOPER)
    }

    /// `BC_REQUEST_DEATH_NOTIFICATION`.
    pub fn request_death(&mut self, handle: u32, cookie: u64) -> &mut Self {
        self.command(BC_REQUEST_DEATH_NOTIFICATION, &HandleCookie { handle, cookie })
    }

    /// `BC_CLEAR_DEATH_NOTIFICATION`.
    pub fn clear_death(&mut self, handle: u32, cookie: u64) -> &mut Self {
        self.command(BC_CLEAR_DEATH_NOTIFICATION, &HandleCookie { handle, cookie })
    }

    /// `BC_DEAD_BINDER_DONE`.
    pub fn dead_binder_done(&mut self, cookie: u64) -> &mut Self {
        self.command(BC_DEAD_BINDER_DONE, &cookie)
    }

    /// `BC_REQUEST_FREEZE_NOTIFICATION`.
    pub fn request_freeze(&mut self, handle: u32, cookie: u64) -> &mut Self {
        self.command(BC_REQUEST_FREEZE_NOTIFICATION, &HandleCookie { handle, cookie })
    }

    /// `BC_CLEAR_FREEZE_NOTIFICATION`.
    pub fn clear_freeze(&mut self, handle: u32, cookie: u64) -> &mut Self {
        self.command(BC_CLEAR_FREEZE_NOTIFICATION, &HandleCookie { handle, cookie })
    }

    /// `BC_FREEZE_NOTIFICATION_DONE`.
    pub fn freeze_done(&mut self, cookie: u64) -> &mut Self {
        self.command(BC_FREEZE_NOTIFICATION_DONE, &cookie)
    }
}

impl Commands<'static> {
    /// `BC_REPLY` without a tie to the parcel's life. The caller keeps the
    /// parcel until the command was consumed; if not, the driver reads stale
    /// bytes, no more.
    pub(crate) fn reply_kept(&mut self, flags: u32, parcel: &Parcel) {
        let data = parcel.transaction_data(0, 0, flags);
        self.transfer(BC_REPLY, BC_REPLY_SG, data, parcel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    #[test]
    fn payload_follows_its_number_without_padding() {
        let mut commands = Commands::new();
        commands.enter_looper().request_death(3, 0x1_0000_0002).acquire(9);
        assert_eq!(
            words(commands.as_bytes()),
            [BC_ENTER_LOOPER, BC_REQUEST_DEATH_NOTIFICATION, 3, 2, 1, BC_ACQUIRE, 9]
        );
    }

    #[test]
    fn every_command_has_the_announced_size() {
        let plain: &'static Parcel = Box::leak(Box::default());
        let scatter: &'static mut Parcel = Box::leak(Box::default());
        scatter.buffer(vec![1u8]);
        let scatter: &'static Parcel = scatter;
        let mut all = Vec::new();
        let mut add = |build: &dyn Fn(&mut Commands<'static>)| {
            let mut commands = Commands::new();
            build(&mut commands);
            all.push(commands);
        };
        macro_rules! each {
            ($($method:ident($($argument:expr),*);)*) => {
                $(add(&|commands| {
                    commands.$method($($argument),*);
                });)*
            };
        }
        each! {
            transaction(0, 0, 0, plain);
            transaction(0, 0, 0, scatter);
            reply(0, plain);
            reply(0, scatter);
            free_buffer(1);
            take_ref(Strength::Strong, 1);
            take_ref(Strength::Weak, 1);
            drop_ref(Strength::Strong, 1);
            drop_ref(Strength::Weak, 1);
            increfs_done(1, 2);
            acquire_done(1, 2);
            register_looper();
            enter_looper();
            exit_looper();
            request_death(1, 2);
            clear_death(1, 2);
            dead_binder_done(1);
            request_freeze(1, 2);
            clear_freeze(1, 2);
            freeze_done(1);
        }
        assert_eq!(all.len(), 20);
        for commands in all {
            let number = words(commands.as_bytes())[0];
            assert_eq!(commands.len(), 4 + ioc_size(number), "command {number:#x}");
        }
    }

    #[test]
    fn consumed_commands_are_removed() {
        let mut commands = Commands::new();
        commands.enter_looper().free_buffer(7);
        commands.consume(4);
        assert_eq!(words(commands.as_bytes()), [BC_FREE_BUFFER, 7, 0]);
    }
}
