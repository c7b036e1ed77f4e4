// SPDX-License-Identifier: GPL-2.0
//! Scripts that are run in every check: each shows a listed difference, or
//! once showed a bug.

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../scripts/", $name, ".txt")))),*]
    };
}

/// Name and text of each.
pub const SCRIPTS: [(&str, &str); 30] = scripts![
    "bad_pointer",
    "call_over_an_unread_reply",
    "completion_and_news",
    "contended_release",
    "defer_complete_next_call",
    "defer_complete_wait",
    "deferred_instead_of_nothing",
    "deferred_instead_of_signal",
    "extended_error_of_a_death",
    "failure_before_the_nested_call",
    "failure_in_its_place",
    "first_read_and_poll",
    "first_wait_with_completion",
    "flush_ends_reads",
    "more_room_without_the_deferred",
    "news_goes_to_the_sender",
    "news_moves_to_the_sender",
    "news_overtaken",
    "news_survives_thread_exit_poll",
    "news_survives_thread_exit_read",
    "news_survives_thread_exit_wait",
    "node_goes_with_its_last_reference",
    "oneway_spam",
    "order_of_news",
    "order_of_news_and_completions",
    "poll_for_news_half_confirmed",
    "poll_for_news_that_is_gone",
    "poll_for_nothing",
    "small_room",
    "told_at_once_of_a_death",
];

#[cfg(test)]
mod tests {
    use super::SCRIPTS;
    use crate::parse;

    #[test]
    fn every_file_is_listed_and_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let names: Vec<String> = SCRIPTS.iter().map(|(name, _)| format!("{name}.txt")).collect();
        assert_eq!(files, names);
        for (name, text) in SCRIPTS {
            assert!(!parse::script(text).expect(name).steps.is_empty(), "{name}");
        }
    }
}
