// SPDX-License-Identifier: GPL-2.0

//! Values under small numbers: an [`IdPool`] and a [`SlotTable`] that agree.
//!
//! Pure: no kernel imports, tested on the host.
//!
//! The two say the same in different ways: an id is used in the pool if and only if its slot
//! holds a value. Should they ever disagree, by a mistake of the driver or of the memory,
//! neither is believed: the id is *retired*. It counts as used and leads to nothing, for as
//! long as the table lives; what was under it is given back to the caller.

use crate::{
    id_pool::{self, IdPool, Keep},
    slot_table::{self, SlotTable, Slots},
};

/// Values under numbers, the lowest free one first. `N` slots are allocated at a time.
///
/// # Invariants
///
/// An id that is not retired is used in `ids` if and only if `values` has a value for it.
///
/// Locking: none of its own. Growing and shrinking as with the two parts.
pub(crate) struct IdTable<T, const N: usize> {
    ids: IdPool,
    values: SlotTable<T, N>,
}

/// Why there is no id.
pub(crate) enum Lack<T, const N: usize> {
    /// The pool must grow.
    Ids(id_pool::GrowRequest),
    /// The slots must grow.
    Slots(slot_table::GrowRequest<T, N>),
    /// Nothing can grow any more.
    Full,
    /// The pool and the slots disagreed. To be dropped after unlocking.
    Retired(#[allow(dead_code)] T),
}

/// A value that was removed. To be dropped after unlocking.
pub(crate) struct Removed<T> {
    pub(crate) value: T,
    pub(crate) agreement: Agreement,
}

/// Whether the pool and the slots said the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a disagreement is a mistake that somebody should hear of"]
pub(crate) enum Agreement {
    /// They did.
    Yes,
    /// They did not; the id is retired.
    Retired,
}

impl<T, const N: usize> IdTable<T, N> {
    /// An empty table. Allocates nothing.
    pub(crate) const fn new() -> Self {
        Self {
            ids: IdPool::new(),
            values: SlotTable::new(),
        }
    }

    /// The value under `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.values.get(id)
    }

    /// The value under `id`.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.values.get_mut(id)
    }

    /// The numbers that are taken.
    pub(crate) fn ids(&self) -> &IdPool {
        &self.ids
    }

    /// Bytes that are allocated.
    pub(crate) fn bytes(&self) -> usize {
        self.ids.bytes().saturating_add(self.values.bytes())
    }

    /// The lowest free id that is at least `lowest`, with a slot for its value.
    pub(crate) fn find(&mut self, lowest: u32) -> Result<u32, Lack<T, N>> {
        let Some(id) = self.ids.find(lowest) else {
            return Err(self.ids.grow_request().map_or(Lack::Full, Lack::Ids));
        };
        if id as usize >= self.values.capacity() {
            return Err(self.values.grow_request().map_or(Lack::Full, Lack::Slots));
        }
        match self.values.take(id) {
            None => Ok(id),
            Some(stray) => {
                let _ = self.ids.reserve(id);
                Err(Lack::Retired(stray))
            }
        }
    }

    /// Puts a value under an id that [`IdTable::find`] gave, under the same lock.
    ///
    /// Gives the value back if the id is not free.
    pub(crate) fn set(&mut self, id: u32, value: T) -> Result<(), T> {
        if self.ids.reserve(id).is_err() {
            return Err(value);
        }
        self.values.set(id, value)
    }

    /// Takes the value under `id`, which is free then.
    pub(crate) fn remove(&mut self, id: u32) -> Option<Removed<T>> {
        let value = self.values.take(id)?;
        let agreement = match self.ids.release(id) {
            Ok(()) => Agreement::Yes,
            Err(_) => {
                let _ = self.ids.reserve(id);
                Agreement::Retired
            }
        };
        Some(Removed { value, agreement })
    }

    /// The highest id that is used, with its value if it is not retired. For the end of the
    /// table: the id is free then.
    pub(crate) fn pop_highest(&mut self) -> Option<Option<T>> {
        let id = self.ids.highest()?;
        let value = self.values.take(id);
        let _ = self.ids.release(id);
        Some(value)
    }

    /// Takes memory for the pool into use, see [`IdPool::install`].
    pub(crate) fn install_ids(&mut self, memory: &mut Option<id_pool::Block>) {
        self.ids.install(memory);
    }

    /// Takes memory for slots into use, see [`SlotTable::install`].
    pub(crate) fn install_slots(&mut self, memory: &mut Option<Slots<T, N>>) {
        self.values.install(memory);
    }

    /// Removes capacity of the pool, see [`IdPool::shrink`].
    pub(crate) fn shrink_ids(&mut self, keep: Keep) -> Option<id_pool::Block> {
        self.ids.shrink(keep)
    }

    /// Removes slots: of those above the highest value all, or all but one chunk.
    pub(crate) fn shrink_slots(&mut self, keep: Keep) -> Option<Slots<T, N>> {
        let spare = match keep {
            Keep::OneSpare => N,
            Keep::Nothing => 0,
        };
        self.values.shrink(self.needed().saturating_add(spare))
    }

    /// How many slots [`IdTable::shrink_slots`] would remove at most.
    pub(crate) fn spare(&self) -> usize {
        let whole = self.needed().next_multiple_of(N);
        self.values.capacity().saturating_sub(whole)
    }

    fn needed(&self) -> usize {
        self.ids.highest().map_or(0, |id| id as usize + 1)
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_id_table))]
mod tests {
    use super::*;
    use crate::grow::Request;

    type Table = IdTable<u32, 4>;

    /// The next id with its value in place, after whatever has to grow for it.
    fn add(table: &mut Table, lowest: u32, value: u32) -> Option<u32> {
        loop {
            match table.find(lowest) {
                Ok(id) => return table.set(id, value).is_ok().then_some(id),
                Err(Lack::Ids(request)) => {
                    let mut memory = request.allocate().ok();
                    table.install_ids(&mut memory);
                }
                Err(Lack::Slots(request)) => {
                    let mut memory = request.allocate().ok();
                    table.install_slots(&mut memory);
                }
                Err(Lack::Full | Lack::Retired(_)) => return None,
            }
        }
    }

    fn removed(table: &mut Table, id: u32) -> Option<(u32, Agreement)> {
        table.remove(id).map(|gone| (gone.value, gone.agreement))
    }

    #[test]
    fn lowest_free_number_comes_first() {
        let mut table = Table::new();
        for id in 1..200 {
            assert_eq!(add(&mut table, 1, 10 * id), Some(id));
        }
        assert_eq!(add(&mut table, 0, 7), Some(0));
        assert_eq!(removed(&mut table, 70), Some((700, Agreement::Yes)));
        assert_eq!(removed(&mut table, 70), None);
        assert_eq!(removed(&mut table, 5), Some((50, Agreement::Yes)));
        assert_eq!(add(&mut table, 1, 1), Some(5));
        assert_eq!(add(&mut table, 1, 2), Some(70));
        assert_eq!((table.get(5), table.get(199)), (Some(&1), Some(&1990)));
        assert_eq!((table.get(200), table.get(u32::MAX)), (None, None));
    }

    #[test]
    fn value_under_a_free_number_retires_it() {
        let mut table = Table::new();
        for id in 0..3 {
            assert_eq!(add(&mut table, 0, id), Some(id));
        }
        // The pool forgets a number that is in use.
        assert_eq!(table.ids.release(1), Ok(()));
        assert!(matches!(table.find(0), Err(Lack::Retired(1))));
        // It leads to nothing, and nobody gets it again.
        assert_eq!(table.get(1), None);
        assert_eq!(removed(&mut table, 1), None);
        assert_eq!(add(&mut table, 0, 30), Some(3));
        assert_eq!(removed(&mut table, 2), Some((2, Agreement::Yes)));
        assert_eq!(add(&mut table, 0, 20), Some(2));
    }

    #[test]
    fn removal_of_a_number_that_is_free_retires_it() {
        let mut table = Table::new();
        for id in 0..3 {
            assert_eq!(add(&mut table, 0, id), Some(id));
        }
        assert_eq!(table.ids.release(1), Ok(()));
        assert_eq!(removed(&mut table, 1), Some((1, Agreement::Retired)));
        assert_eq!(add(&mut table, 0, 30), Some(3));
        assert_eq!((table.get(1), table.get(2)), (None, Some(&2)));
    }

    #[test]
    fn number_without_a_value_leads_to_nothing() {
        let mut table = Table::new();
        for id in 0..3 {
            assert_eq!(add(&mut table, 0, id), Some(id));
        }
        assert_eq!(table.values.take(1), Some(1));
        assert_eq!(table.get(1), None);
        assert_eq!(removed(&mut table, 1), None);
        assert_eq!(add(&mut table, 0, 30), Some(3));
        // The end of the table finds all there is.
        assert_eq!(table.pop_highest(), Some(Some(30)));
        assert_eq!(table.pop_highest(), Some(Some(2)));
        assert_eq!(table.pop_highest(), Some(None));
        assert_eq!(table.pop_highest(), Some(Some(0)));
        assert_eq!(table.pop_highest(), None);
    }

    #[test]
    fn emptied_table_gives_its_memory_back() {
        let mut table = Table::new();
        for id in 0..300 {
            assert_eq!(add(&mut table, 0, id), Some(id));
        }
        let full = table.bytes();
        for id in (0..300).rev() {
            assert_eq!(removed(&mut table, id), Some((id, Agreement::Yes)));
        }
        crate::grow::give_back(|| table.shrink_slots(Keep::OneSpare));
        crate::grow::give_back(|| table.shrink_ids(Keep::OneSpare));
        assert!(table.bytes() < full);
        // The chunk that is kept is used again.
        assert_eq!(add(&mut table, 0, 1), Some(0));
    }
}
