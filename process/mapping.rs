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
        if self.buffers.lock().is_mapped() {
            return Err(EBUSY);
        }
        area.try_clear_maywrite()?;
        area.set_dontcopy();
        area.set_mixedmap();
        let size = area.end().saturating_sub(area.start()).min(MAX_MAPPING);
        let pages = Pages::new(area.start(), size)?;
        // The address space is locked for writing, so nobody else maps meanwhile.
        self.start_buffers(size, pages)?;
        vm_ops::install(area, self);
        Ok(())
    }

    fn mm_ptr(&self) -> *mut bindings::mm_struct {
        self.mm.as_raw()
    }

    /// Part of the mapping went away: nothing can be sent here any more.
    pub(crate) fn unmapped(&self) {
        let pages = self.buffers.lock().pages();
        if let Some(pages) = pages {
            pages.set_unmapped();
        }
    }
}

fn area_mm(area: &VmaNew) -> *mut bindings::mm_struct {
    area.mm().as_raw()
}
