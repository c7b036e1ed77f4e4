// SPDX-License-Identifier: GPL-2.0
//! What a party has been told about references to its own nodes.

use std::collections::HashMap;

use crate::returns::Return;
use crate::uapi::PtrCookie;

/// The driver's word on one node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Others hold it strongly.
    pub strong: bool,
    /// Others know it.
    pub weak: bool,
}

/// All nodes that others know.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    known: HashMap<(u64, u64), Known>,
}

impl Nodes {
    /// Notes one of the four reference returns. Returns the node if this was
    /// the last that others knew of it.
    pub fn note(&mut self, entry: Return) -> Option<PtrCookie> {
        let (Return::Increfs(node)
        | Return::Acquire(node)
        | Return::Release(node)
        | Return::Decrefs(node)) = entry
        else {
            return None;
        };
        let key = (node.ptr, node.cookie);
        let known = self.known.entry(key).or_default();
        match entry {
            Return::Increfs(_) => known.weak = true,
            Return::Acquire(_) => known.strong = true,
            Return::Release(_) => known.strong = false,
            _ => known.weak = false,
        }
        if *known == Known::default() {
            self.known.remove(&key);
            return Some(node);
        }
        None
    }

    /// What is known of one node.
    pub fn known(&self, ptr: u64, cookie: u64) -> Known {
        self.known.get(&(ptr, cookie)).copied().unwrap_or_default()
    }

    /// Number of nodes that others know.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// True if others know no node.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_reference_is_reported_once() {
        let node = PtrCookie { ptr: 1, cookie: 2 };
        let mut nodes = Nodes::default();
        assert_eq!(nodes.note(Return::Increfs(node)), None);
        assert_eq!(nodes.note(Return::Acquire(node)), None);
        assert_eq!(nodes.known(1, 2), Known { strong: true, weak: true });
        assert_eq!(nodes.note(Return::Release(node)), None);
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes.note(Return::Decrefs(node)), Some(node));
        assert!(nodes.is_empty());
        assert_eq!(nodes.note(Return::Noop), None);
    }
}
