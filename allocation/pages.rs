// SPDX-License-Identifier: GPL-2.0

//! The memory of a mapping: pages, installed on demand, and copies to them.
//!
//! A page is allocated zeroed and mapped into the receiver before a buffer that
//! lies in it is used, and stays until the process ends. On the warm path all pages
//! of a buffer are there, which one load per page finds out; no lock is taken.

use core::{
    ptr,
    sync::atomic::{
        AtomicBool, AtomicPtr,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use kernel::{
    alloc::flags::{__GFP_HIGHMEM, __GFP_ZERO},
    bindings,
    mm::{virt::VmaRef, Mm, MmWithUser, MmWithUserAsync},
    new_mutex,
    page::{Page, PAGE_SHIFT, PAGE_SIZE},
    prelude::*,
    sync::{aref::ARef, Arc, Mutex},
};

use crate::{
    ffi::{trace, user, vm_ops},
    process::Process,
};

/// The pages of one mapping.
///
/// *Locking*: `installing` serialises the installation of pages; it is a mutex taken
/// with no spinlock held. A slot goes from null to a page under it, and never back.
///
/// *Lifetime*: held by the process until its end, and by buffers on their way. A mapping
/// that outlives it, in a task that shares the address space, holds its pages by itself.
///
/// # Invariants
///
/// A slot that is not null owns a page, which is zeroed or was written by this driver.
#[pin_data(PinnedDrop)]
pub(crate) struct Pages {
    start: usize,
    slots: KVVec<AtomicPtr<bindings::page>>,
    /// No part of the mapping was unmapped or moved.
    mapped: AtomicBool,
    #[pin]
    installing: Mutex<()>,
}

impl Pages {
    /// A mapping of `size` bytes (a multiple of the page size) at `start`.
    pub(crate) fn new(start: usize, size: usize) -> Result<Arc<Self>> {
        let count = size >> PAGE_SHIFT;
        let mut slots = KVVec::with_capacity(count, GFP_KERNEL)?;
        for _ in 0..count {
            slots.push(AtomicPtr::new(ptr::null_mut()), GFP_KERNEL)?;
        }
        Arc::pin_init(
            pin_init!(Self {
                start,
                slots,
                mapped: AtomicBool::new(true),
                installing <- new_mutex!((), "Pages::installing"),
            }),
            GFP_KERNEL,
        )
    }

    /// The address of the mapping in its process.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// How many pages are resident, and how many could be.
    pub(crate) fn count(&self) -> (usize, usize) {
        let is_resident = |slot: &&AtomicPtr<bindings::page>| !slot.load(Relaxed).is_null();
        let resident = self.slots.iter().filter(is_resident).count();
        (resident, self.slots.len())
    }

    /// Whether the whole mapping is still where it was.
    pub(crate) fn is_mapped(&self) -> bool {
        self.mapped.load(Acquire)
    }

    /// Some of the mapping went away, for good.
    pub(crate) fn set_unmapped(&self) {
        self.mapped.store(false, Release);
    }

    /// Makes all pages resident that the range touches.
    ///
    /// # Errors
    ///
    /// `ENOMEM`, or `ESRCH` when the mapping or its process is gone.
    pub(crate) fn make_resident(&self, offset: usize, size: usize, of: &Process) -> Result {
        let last = offset.saturating_add(size.saturating_sub(1)) >> PAGE_SHIFT;
        for index in (offset >> PAGE_SHIFT)..=last {
            let slot = self.slots.get(index).ok_or(EINVAL)?;
            if slot.load(Acquire).is_null() {
                self.install(index, slot, of)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn install(&self, index: usize, slot: &AtomicPtr<bindings::page>, of: &Process) -> Result {
        let _guard = self.installing.lock();
        if !slot.load(Acquire).is_null() {
            return Ok(());
        }
        trace::update_page_range(|| (of.pid, true, index << PAGE_SHIFT, PAGE_SIZE));
        trace::alloc_page_start(|| (of.pid, index));
        let page = Page::alloc_page(GFP_KERNEL | __GFP_HIGHMEM | __GFP_ZERO)?;
        let address = self.start.wrapping_add(index << PAGE_SHIFT);
        self.map(address, &page, of)?;
        // INVARIANT: The page was allocated zeroed; the slot owns it from here on.
        trace::alloc_page_end(|| (of.pid, index));
        slot.store(page.as_ptr(), Release);
        core::mem::forget(page);
        Ok(())
    }

    /// Maps `page` at `address` of the receiver, under the lock of the area if that can
    /// be had without the one of the whole address space.
    fn map(&self, address: usize, page: &Page, of: &Process) -> Result {
        let mm = of.mm.mmget_not_zero().ok_or(ESRCH)?;
        // The last user of the address space must not be torn down in the sender.
        let mm: ARef<MmWithUserAsync> = MmWithUser::into_mmput_async(mm);
        let mm: &MmWithUser = &mm;
        if let Some(area) = mm.lock_vma_under_rcu(address) {
            return self.map_in(&area, address, page, of);
        }
        let locked = mm.mmap_read_lock();
        let area = locked.vma_lookup(address).ok_or(ESRCH)?;
        self.map_in(area, address, page, of)
    }

    fn map_in(&self, area: &VmaRef, address: usize, page: &Page, of: &Process) -> Result {
        if !self.is_mapped() || !vm_ops::belongs_to(area, of) {
            return Err(ESRCH);
        }
        area.as_mixedmap_vma()
            .ok_or(ESRCH)?
            .vm_insert_page(address, page)
    }

    /// Runs `copy` on each part of the range that lies in one page, in order, with a
    /// pointer to it and its length.
    ///
    /// The range must be resident, and be part of a buffer that nobody but the caller
    /// writes.
    fn for_each_part(
        &self,
        mut offset: usize,
        mut size: usize,
        mut copy: impl FnMut(*mut u8, usize) -> Result,
    ) -> Result {
        while size > 0 {
            let within = offset & (PAGE_SIZE - 1);
            let len = size.min(PAGE_SIZE - within);
            let page = self
                .slots
                .get(offset >> PAGE_SHIFT)
                .ok_or(EFAULT)?
                .load(Acquire);
            if page.is_null() {
                return Err(EFAULT);
            }
            // SAFETY: By the invariant of the slot the page is ours. The mapping is
            // local to this task and undone below, before any other is made.
            let mapped = unsafe { bindings::kmap_local_page(page) };
            let result = copy(mapped.cast::<u8>().wrapping_add(within), len);
            // SAFETY: It was mapped just above.
            unsafe { bindings::kunmap_local(mapped) };
            result?;
            offset = offset.saturating_add(len);
            size = size.saturating_sub(len);
        }
        Ok(())
    }

    /// Copies from the running task. Fails with `EFAULT`.
    pub(crate) fn copy_from_user(&self, offset: usize, from: u64, size: usize) -> Result {
        let mut from = from;
        self.for_each_part(offset, size, |to, len| {
            // SAFETY: `to` is valid for `len` bytes of a page, and the caller is the only
            // one to write this part of it. User space may read the page meanwhile; it
            // was not told of this part yet.
            unsafe { user::copy_in(to, from, len)? };
            from = from.wrapping_add(len as u64);
            Ok(())
        })
    }

    /// Copies from kernel memory.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Result {
        let mut rest = from;
        self.for_each_part(offset, from.len(), |to, len| {
            let (part, behind) = rest.split_at_checked(len).ok_or(EFAULT)?;
            // SAFETY: `to` is valid for `len` bytes, which is the length of `part`.
            unsafe { ptr::copy_nonoverlapping(part.as_ptr(), to, len) };
            rest = behind;
            Ok(())
        })
    }

    /// Zeroes the range.
    pub(crate) fn clear(&self, offset: usize, size: usize) -> Result {
        self.for_each_part(offset, size, |to, len| {
            // SAFETY: `to` is valid for `len` bytes.
            unsafe { ptr::write_bytes(to, 0, len) };
            Ok(())
        })
    }
}

#[pinned_drop]
impl PinnedDrop for Pages {
    fn drop(self: Pin<&mut Self>) {
        for slot in self.slots.iter() {
            let page = slot.load(Relaxed);
            if !page.is_null() {
                // SAFETY: By the invariant the slot owns the page; nobody uses the object
                // any more.
                unsafe { bindings::__free_pages(page, 0) };
            }
        }
    }
}

/// The address space of the running task, which pages are mapped into later.
pub(crate) fn current_mm() -> Result<ARef<Mm>> {
    let mm = kernel::current!().mm().map(|mm| ARef::<Mm>::from(&**mm));
    mm.ok_or(EINVAL)
}
