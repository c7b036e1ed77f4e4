// SPDX-License-Identifier: GPL-2.0
//! Name patterns with `*` and `?`.

/// True if the whole of `name` matches `pattern`.
pub fn matches(pattern: &str, name: &str) -> bool {
    matches_bytes(pattern.as_bytes(), name.as_bytes())
}

fn matches_bytes(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            (0..=name.len()).any(|skipped| matches_bytes(rest, &name[skipped..]))
        }
        (Some((b'?', rest)), Some((_, tail))) => matches_bytes(rest, tail),
        (Some((wanted, rest)), Some((seen, tail))) => wanted == seen && matches_bytes(rest, tail),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        assert!(matches("abc", "abc"));
        assert!(matches("a*", "abc"));
        assert!(matches("*c", "abc"));
        assert!(matches("a?c*", "abc"));
        assert!(matches("*", ""));
        assert!(!matches("a?", "abc"));
        assert!(!matches("b*", "abc"));
        assert!(!matches("", "a"));
    }
}
