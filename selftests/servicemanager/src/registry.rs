// SPDX-License-Identifier: GPL-2.0
//! The table of names, without any Binder.

use std::collections::BTreeMap;

/// Who waits for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// The node to be told, an acquired handle.
    pub handle: u32,
}

/// Names, the handles behind them, and those who wait for names to come.
#[derive(Debug, Default)]
pub struct Registry {
    services: BTreeMap<String, u32>,
    waiters: BTreeMap<String, Vec<Waiter>>,
}

/// What follows from a service's coming.
#[derive(Debug, PartialEq, Eq)]
pub struct Added {
    /// The handle that had the name before.
    pub replaced: Option<u32>,
    /// Those who are to be told now.
    pub waiters: Vec<Waiter>,
}

/// What a dead handle leaves behind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Names that are free again.
    pub names: Vec<String>,
    /// How many references to the handle are to be given back.
    pub references: usize,
}

impl Registry {
    /// Puts a name on a handle.
    pub fn add(&mut self, name: &str, handle: u32) -> Added {
        let replaced = self.services.insert(name.to_owned(), handle);
        let waiters = self.waiters.remove(name).unwrap_or_default();
        Added { replaced, waiters }
    }

    /// The handle behind a name.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.services.get(name).copied()
    }

    /// All names, sorted.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.services.keys().map(String::as_str)
    }

    /// Remembers who waits for a name.
    pub fn wait(&mut self, name: &str, waiter: Waiter) {
        self.waiters.entry(name.to_owned()).or_default().push(waiter);
    }

    /// Forgets everything about a handle whose owner died.
    pub fn remove(&mut self, handle: u32) -> Removed {
        let mut removed = Removed::default();
        self.services.retain(|name, &mut other| {
            if other == handle {
                removed.names.push(name.clone());
            }
            other != handle
        });
        removed.references = removed.names.len();
        for waiters in self.waiters.values_mut() {
            let before = waiters.len();
            waiters.retain(|waiter| waiter.handle != handle);
            removed.references += before - waiters.len();
        }
        self.waiters.retain(|_, waiters| !waiters.is_empty());
        removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_listed_and_replaced() {
        let mut registry = Registry::default();
        assert_eq!(registry.get("b"), None);
        assert_eq!(registry.add("b", 1), Added { replaced: None, waiters: vec![] });
        registry.add("a", 2);
        assert_eq!(registry.names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(registry.add("b", 3).replaced, Some(1));
        assert_eq!(registry.get("b"), Some(3));
    }

    #[test]
    fn waiters_are_told_once() {
        let mut registry = Registry::default();
        registry.wait("a", Waiter { handle: 5 });
        registry.wait("a", Waiter { handle: 6 });
        let told = registry.add("a", 1).waiters;
        assert_eq!(told, [Waiter { handle: 5 }, Waiter { handle: 6 }]);
        assert_eq!(registry.add("a", 2).waiters, []);
    }

    #[test]
    fn the_dead_leave_no_trace() {
        let mut registry = Registry::default();
        registry.add("a", 1);
        registry.add("b", 1);
        registry.add("c", 2);
        registry.wait("d", Waiter { handle: 1 });
        let removed = registry.remove(1);
        assert_eq!(removed, Removed { names: vec!["a".into(), "b".into()], references: 3 });
        assert_eq!(registry.names().collect::<Vec<_>>(), ["c"]);
        assert_eq!(registry.add("d", 4).waiters, []);
        assert_eq!(registry.remove(9), Removed::default());
    }
}
