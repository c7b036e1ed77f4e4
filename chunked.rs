// SPDX-License-Identifier: GPL-2.0

//! An array that grows and shrinks by chunks, without moving an element.
//!
//! The id pool, the slot table and the range allocator all need arrays that may become
//! large, live under a spinlock, and must not need a high-order allocation. This one is
//! built like the block map of an old file system: the first chunks are found directly,
//! the next 512 through one page of pointers, the rest through two.
//!
//! | operation                  | cost                                    |
//! |----------------------------|-----------------------------------------|
//! | [`Chunked::get`]           | O(1): 2 to 4 loads                      |
//! | [`Chunked::install`]       | O(1), nothing is moved or allocated     |
//! | [`Chunked::detach`]        | O(1), nothing is moved or freed         |
//!
//! No allocation is larger than the larger of one chunk and 4 KiB.

use crate::shim::{AllocError, Chunk};

/// Chunks that are found without a page of pointers.
const DIRECT: usize = 2;
/// Pointers in a page of pointers.
const FAN: usize = 512;
/// Chunks that an array has at most.
const MAX_CHUNKS: usize = DIRECT + FAN + FAN * FAN;
/// Largest size of a chunk in bytes: one page of the smallest page size.
const MAX_CHUNK_BYTES: usize = 4096;

type Leaf<T, const N: usize> = Option<Chunk<T, N>>;
type Page<T, const N: usize> = Option<Chunk<Leaf<T, N>, FAN>>;
type Root<T, const N: usize> = Option<Chunk<Page<T, N>, FAN>>;

/// Where the pointer to a chunk is kept.
enum Place {
    Direct(usize),
    Single(usize),
    Double(usize, usize),
}

impl Place {
    #[inline]
    fn of(chunk: usize) -> Self {
        if chunk < DIRECT {
            return Self::Direct(chunk);
        }
        let chunk = chunk - DIRECT;
        if chunk < FAN {
            return Self::Single(chunk);
        }
        let chunk = chunk - FAN;
        Self::Double(chunk / FAN, chunk % FAN)
    }
}

/// An array of `T` in chunks of `N` elements; `N` is a power of two.
///
/// # Invariants
///
/// * Chunks `0..chunks` are present, no others.
/// * A page of pointers is present if and only if a chunk that it points to is.
///
/// Locking: none of its own; whoever owns the array has it under a lock.
///
/// Lifetime: dropping the array drops all elements.
pub(crate) struct Chunked<T, const N: usize> {
    chunks: usize,
    direct: [Leaf<T, N>; DIRECT],
    single: Page<T, N>,
    double: Root<T, N>,
}

/// One chunk with the pages of pointers that come and go with it.
pub(crate) struct Storage<T, const N: usize> {
    chunk: usize,
    leaf: Chunk<T, N>,
    page: Page<T, N>,
    root: Root<T, N>,
}

/// Request for the next chunk of a [`Chunked`]; see [`Chunked::request`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkRequest<const N: usize> {
    chunk: usize,
}

impl<const N: usize> ChunkRequest<N> {
    /// Allocates the chunk, element `i` of the whole array being `make(i)`. May sleep.
    ///
    /// # Errors
    ///
    /// [`AllocError`] if there is no memory.
    pub(crate) fn allocate<T>(
        self,
        mut make: impl FnMut(usize) -> T,
    ) -> Result<Storage<T, N>, AllocError> {
        let first = self.chunk * N;
        let (page, root) = match Place::of(self.chunk) {
            Place::Direct(_) => (false, false),
            Place::Single(entry) => (entry == 0, false),
            Place::Double(upper, entry) => (entry == 0, entry == 0 && upper == 0),
        };
        Ok(Storage {
            chunk: self.chunk,
            leaf: Chunk::new(|i| make(first + i))?,
            page: page.then(|| Chunk::new(|_| None)).transpose()?,
            root: root.then(|| Chunk::new(|_| None)).transpose()?,
        })
    }
}

impl<T, const N: usize> Storage<T, N> {
    /// Index in the whole array of the chunk's first element.
    pub(crate) fn first(&self) -> usize {
        self.chunk * N
    }

    /// The elements of the chunk.
    pub(crate) fn elements_mut(&mut self) -> &mut [T; N] {
        &mut self.leaf
    }
}

impl<T, const N: usize> Chunked<T, N> {
    const SHAPE_IS_SANE: () = {
        assert!(N.is_power_of_two(), "a chunk has a power of two elements");
        assert!(
            N * size_of::<T>() <= MAX_CHUNK_BYTES,
            "a chunk fits into a page: use fewer elements"
        );
    };

    /// An array without elements. Allocates nothing.
    pub(crate) const fn new() -> Self {
        #[allow(clippy::let_unit_value)]
        let () = Self::SHAPE_IS_SANE;
        Self {
            chunks: 0,
            direct: [const { None }; DIRECT],
            single: None,
            double: None,
        }
    }

    /// Number of elements.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.chunks * N
    }

    /// Number of chunks.
    pub(crate) fn chunks(&self) -> usize {
        self.chunks
    }

    /// Bytes that are allocated for chunks and pages of pointers.
    pub(crate) fn bytes(&self) -> usize {
        let pages = match self.chunks.saturating_sub(DIRECT) {
            0 => 0,
            n if n <= FAN => 1,
            n => 2 + (n - FAN).div_ceil(FAN),
        };
        self.chunks * N * size_of::<T>() + pages * FAN * size_of::<usize>()
    }

    /// The element at `index`, if there is one. O(1).
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        match self.direct.first() {
            Some(first) if index < N => first.as_ref()?.get(index),
            _ => self.get_beyond_first(index),
        }
    }

    /// [`Chunked::get`] for arrays that are large, out of the way of the others.
    fn get_beyond_first(&self, index: usize) -> Option<&T> {
        let leaf = match Place::of(index / N) {
            Place::Direct(entry) => self.direct.get(entry)?,
            Place::Single(entry) => self.single.as_ref()?.get(entry)?,
            Place::Double(upper, entry) => {
                let root = self.double.as_ref()?;
                root.get(upper)?.as_ref()?.get(entry)?
            }
        };
        leaf.as_ref()?.get(index % N)
    }

    /// The element at `index`, if there is one. O(1).
    #[inline]
    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        if index < N {
            self.direct.first_mut()?.as_mut()?.get_mut(index)
        } else {
            self.get_mut_beyond_first(index)
        }
    }

    /// [`Chunked::get_mut`] for arrays that are large, out of the way of the others.
    fn get_mut_beyond_first(&mut self, index: usize) -> Option<&mut T> {
        self.leaf_mut(index / N)?.as_mut()?.get_mut(index % N)
    }

    /// Where the pointer to `chunk` is kept, if its page of pointers is present.
    #[inline]
    fn leaf_mut(&mut self, chunk: usize) -> Option<&mut Leaf<T, N>> {
        match Place::of(chunk) {
            Place::Direct(entry) => self.direct.get_mut(entry),
            Place::Single(entry) => self.single.as_mut()?.get_mut(entry),
            Place::Double(upper, entry) => {
                let root = self.double.as_mut()?;
                root.get_mut(upper)?.as_mut()?.get_mut(entry)
            }
        }
    }

    /// What has to be allocated for one more chunk; `None` if the array can not grow.
    pub(crate) fn request(&self) -> Option<ChunkRequest<N>> {
        let chunk = self.chunks;
        (chunk < MAX_CHUNKS).then_some(ChunkRequest { chunk })
    }

    /// Appends a chunk. O(1).
    ///
    /// # Errors
    ///
    /// Gives the storage back, to be dropped without a lock, if the array has grown or
    /// shrunk since the request was made.
    pub(crate) fn install(&mut self, mut storage: Storage<T, N>) -> Result<(), Storage<T, N>> {
        if storage.chunk != self.chunks {
            return Err(storage);
        }
        if let Some(root) = storage.root.take() {
            self.double = Some(root);
        }
        if let Some(page) = storage.page.take() {
            match Place::of(storage.chunk) {
                Place::Double(upper, _) => {
                    let root = self.double.as_mut();
                    if let Some(entry) = root.and_then(|root| root.get_mut(upper)) {
                        *entry = Some(page);
                    }
                }
                _ => self.single = Some(page),
            }
        }
        match self.leaf_mut(storage.chunk) {
            Some(entry) => *entry = Some(storage.leaf),
            None => return Err(storage),
        }
        self.chunks += 1;
        Ok(())
    }

    /// Removes the last chunk and returns it, to be dropped without a lock. O(1).
    pub(crate) fn detach(&mut self) -> Option<Storage<T, N>> {
        let chunk = self.chunks.checked_sub(1)?;
        let leaf = self.leaf_mut(chunk)?.take()?;
        self.chunks = chunk;
        let (page, root) = match Place::of(chunk) {
            Place::Single(0) => (self.single.take(), None),
            Place::Double(upper, 0) => {
                let root = self.double.as_mut();
                let page = root.and_then(|root| root.get_mut(upper)?.take());
                (page, self.double.take_if(|_| upper == 0))
            }
            _ => (None, None),
        };
        Some(Storage {
            chunk,
            leaf,
            page,
            root,
        })
    }

    /// Removes all chunks but the first and returns them, to be dropped without a lock.
    /// O(1).
    pub(crate) fn detach_all_but_first(&mut self) -> Self {
        let first = self.direct.first_mut().and_then(Option::take);
        let mut all = core::mem::replace(self, Self::new());
        self.chunks = all.chunks.min(1);
        if let Some(entry) = self.direct.first_mut() {
            *entry = first;
        }
        // The first chunk is gone from `all`, which is only good for being dropped now.
        all.chunks = 0;
        all
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_chunked))]
mod tests {
    use super::*;

    type Small = Chunked<u32, 4>;

    fn grow(array: &mut Small) -> usize {
        let request = array.request().unwrap();
        let storage = request.allocate(|i| i as u32).unwrap();
        let first = storage.first();
        assert!(array.install(storage).is_ok());
        first
    }

    #[test]
    fn finds_every_element_in_all_three_regions() {
        let mut array = Small::new();
        assert!(array.get(0).is_none());
        let chunks = DIRECT + FAN + 2 * FAN + 3;
        for chunk in 0..chunks {
            assert_eq!(grow(&mut array), chunk * 4);
        }
        assert_eq!(array.len(), chunks * 4);
        for i in 0..array.len() {
            assert_eq!(array.get(i), Some(&(i as u32)));
            assert_eq!(array.get_mut(i), Some(&mut (i as u32)));
        }
        assert!(array.get(array.len()).is_none());
        assert!(array.get(usize::MAX).is_none());
        assert_eq!(array.bytes(), chunks * 16 + 5 * 4096);
    }

    #[test]
    fn shrinks_as_it_grew() {
        let mut array = Small::new();
        let chunks = DIRECT + FAN + FAN + 1;
        for _ in 0..chunks {
            grow(&mut array);
        }
        for left in (0..chunks).rev() {
            assert_eq!(array.detach().unwrap().first(), left * 4);
            assert_eq!(array.len(), left * 4);
            assert!(array.get(left * 4).is_none());
        }
        assert!(array.detach().is_none());
        assert!(array.single.is_none() && array.double.is_none());
        assert_eq!(array.bytes(), 0);
        assert_eq!(grow(&mut array), 0);
    }

    #[test]
    fn outdated_storage_is_given_back() {
        let mut array = Small::new();
        let request = array.request().unwrap();
        let late = request.allocate(|_| 7).unwrap();
        grow(&mut array);
        assert!(array.install(late).is_err());
        assert_eq!(array.get(0), Some(&0));
        assert_eq!(array.len(), 4);
    }

    #[test]
    fn keeps_the_first_chunk_alone() {
        let mut array = Small::new();
        assert_eq!(array.detach_all_but_first().len(), 0);
        for _ in 0..FAN + 9 {
            grow(&mut array);
        }
        drop(array.detach_all_but_first());
        assert_eq!((array.chunks(), array.len()), (1, 4));
        assert_eq!(array.get(3), Some(&3));
        assert!(array.get(4).is_none());
        assert_eq!(grow(&mut array), 4);
    }
}
