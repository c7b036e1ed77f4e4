// SPDX-License-Identifier: GPL-2.0

//! Sorting without scratch memory.
//!
//! Pure: no kernel imports.
//!
//! The sorts of `core` want some kilobytes of stack, and can panic.

/// Sorts by a key: heap sort, O(n log n) whatever the order before, not stable.
pub(crate) fn sort_by_key<T>(items: &mut [T], key: impl Fn(&T) -> usize) {
    for root in (0..items.len() / 2).rev() {
        sift_down(items, root, &key);
    }
    for end in (1..items.len()).rev() {
        // The largest that is left goes to the end of what is left.
        items.swap(0, end);
        if let Some(rest) = items.get_mut(..end) {
            sift_down(rest, 0, &key);
        }
    }
}

/// Moves the item at `root` down until none below it is larger.
fn sift_down<T>(items: &mut [T], mut root: usize, key: &impl Fn(&T) -> usize) {
    loop {
        let children = root.saturating_mul(2).saturating_add(1);
        let largest = (children..children.saturating_add(2))
            .filter_map(|at| Some((key(items.get(at)?), at)))
            .max();
        let root_key = items.get(root).map(key);
        match largest {
            Some((child_key, child)) if Some(child_key) > root_key => {
                items.swap(root, child);
                root = child;
            }
            _ => return,
        }
    }
}

#[cfg(any(test, CONFIG_ANDROID_BINDER_RUST_KUNIT_TEST))]
#[cfg_attr(not(test), kernel::macros::kunit_tests(rust_binder_sort))]
mod tests {
    use super::sort_by_key;
    use crate::testing::Vec;

    #[test]
    fn any_order_is_sorted() {
        for len in 0..40_usize {
            for step in 1..7 {
                let mut items: Vec<usize> = (0..len).map(|i| i * step % 11).collect();
                let mut expected = items.clone();
                expected.sort_unstable();
                sort_by_key(&mut items, |item| *item);
                assert_eq!(items, expected);
            }
        }
    }
}
