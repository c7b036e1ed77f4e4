// SPDX-License-Identifier: GPL-2.0

//! The memory that a process receives its transactions in.

use kernel::{
    bindings,
    mm::virt::{flags, VmaNew},
    prelude::*,
};

use super::Process;
use crate::{
    allocation::pages::Pages,
    ffi::{task::Current, vm_ops},
    range_alloc::MAX_MAPPING,
};

impl Process {
    /// Maps the memory of the process.
    ///
    /// What is mapped beyond [`MAX_MAPPING`] stays unused.
    ///
    /// # Errors
    ///
    /// `EINVAL` in another process than the one that opened the file, `EPERM` for a
    /// writable mapping, `EBUSY` for a second one (also after the first is gone),
    /// `ENOMEM`.
    pub(crate) fn mmap(&self, area: &VmaNew) -> Result {
        if !Current::get().belongs_to(&self.task) || !core::ptr::eq(area_mm(area), self.mm_ptr()) {
            return Err(EINVAL);
        }
        if area.flags() & flags::WRITE != 0 {
            return Err(EPERM);
        }
        if self.pages.as_ref().is_some() {
            return Err(EBUSY);
        }
        area.try_clear_maywrite()?;
        area.set_dontcopy();
        area.set_mixedmap();
        let size = area.end().saturating_sub(area.start()).min(MAX_MAPPING);
        let pages = Pages::new(area.start(), size)?;
        self.start_buffers(size)?;
        vm_ops::install(area, self);
        // The address space is locked for writing, so nobody else maps meanwhile.
        if !self.pages.populate(pages) {
            return Err(EBUSY);
        }
        Ok(())
    }

    fn mm_ptr(&self) -> *mut bindings::mm_struct {
        self.mm.as_raw()
    }

    /// Part of the mapping went away: nothing can be sent here any more.
    pub(crate) fn unmapped(&self) {
        if let Some(pages) = self.pages.as_ref() {
            pages.set_unmapped();
        }
    }

    /// The mapping. Fails with `ESRCH` if there is none, or not all of it any more.
    pub(crate) fn pages(&self) -> Result<&Pages> {
        match self.pages.as_ref() {
            Some(pages) if pages.is_mapped() => Ok(pages),
            _ => Err(ESRCH),
        }
    }

    /// The mapping, even if user space has no more of it.
    pub(super) fn pages_even_if_unmapped(&self) -> Option<&Pages> {
        self.pages.as_ref().map(|pages| &**pages)
    }

    /// The address of the mapping in the process, 0 before it is mapped.
    pub(crate) fn mapping_start(&self) -> u64 {
        self.pages.as_ref().map_or(0, |pages| pages.start() as u64)
    }
}

fn area_mm(area: &VmaNew) -> *mut bindings::mm_struct {
    area.mm().as_raw()
}
