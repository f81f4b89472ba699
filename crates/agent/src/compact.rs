//! Compaction: replaces a conversation by its context, the user's own messages, and a summary that the model writes.

use windlass_llm::{Item, Role};

use crate::history::{HistoryEntry, ItemOrigin};

/// How many tokens of the user's own messages are kept, newest first.
const MOST_WORDS: u64 = 20_000;

/// The prompt with which the model is asked for the summary.
pub(crate) const PROMPT: &str = "The conversation is about to be replaced by a summary, because it fills the context \
    window. Write that summary now, for whoever goes on with this task and knows nothing else. Say what the user wants, \
    what has been done and found out (files, commands, results, decisions with their reasons), what is still open, and \
    what the next step is. Name exact paths, commands, identifiers and session or agent ids that are still needed. Be \
    complete and brief; do not call tools.";

/// The text before the summary in the new conversation.
const INTRODUCTION: &str = "The conversation so far was replaced by this summary, which the model wrote itself. The user's own \
    messages are kept above it. Go on from here; do not repeat what is done.";

/// The conversation that replaces this one.
pub(crate) fn replacement(old: &[HistoryEntry], summary: &str) -> Vec<HistoryEntry> {
    let context = old.iter().filter(|entry| entry.origin == ItemOrigin::Context).cloned();
    let mut new: Vec<HistoryEntry> = context.collect();
    new.extend(own_words(old));
    let text = format!("{INTRODUCTION}\n\n<summary>\n{}\n</summary>", summary.trim());
    new.push(HistoryEntry { origin: ItemOrigin::Summary, item: Item::user(text) });
    new
}

/// The user's own messages, in their order: the newest that fit, and the beginning and end of the first that does not.
fn own_words(old: &[HistoryEntry]) -> Vec<HistoryEntry> {
    let mut left = MOST_WORDS;
    let mut kept = Vec::new();
    for entry in old.iter().rev().filter(|entry| entry.origin == ItemOrigin::User) {
        if entry.estimate() <= left {
            left -= entry.estimate();
            kept.push(entry.clone());
            continue;
        }
        let words = entry.item.words_of(Role::User).unwrap_or_default();
        if left > 0 {
            kept.push(HistoryEntry::user(Item::user(middle_cut(&words, left as usize * 4))));
        }
        break;
    }
    kept.reverse();
    kept
}

/// The beginning and the end of a text, with a marker for the bytes between.
pub(crate) fn middle_cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(most / 2);
    let tail = text.ceil_char_boundary(text.len() - most / 2);
    let missing = tail - head;
    format!("{}\n[… {missing} bytes left out …]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(origin: ItemOrigin, text: &str) -> HistoryEntry {
        HistoryEntry { origin, item: Item::user(text) }
    }

    fn texts(entries: &[HistoryEntry]) -> Vec<String> {
        entries.iter().filter_map(|entry| entry.item.words_of(Role::User)).collect()
    }

    #[test]
    fn what_was_set_up_and_what_the_user_said_survives() {
        let old = [
            entry(ItemOrigin::Context, "rules"),
            entry(ItemOrigin::User, "please do it"),
            entry(ItemOrigin::Notice, "a session ended"),
            entry(ItemOrigin::Tool, "output"),
            entry(ItemOrigin::User, "and quickly"),
        ];
        let new = texts(&replacement(&old, "half done\n"));
        assert_eq!(new[..3], ["rules", "please do it", "and quickly"]);
        assert!(new[3].ends_with("<summary>\nhalf done\n</summary>"), "{}", new[3]);
        assert_eq!(new.len(), 4);
    }

    #[test]
    fn a_second_summary_takes_the_place_of_the_first() {
        let old = [entry(ItemOrigin::User, "task"), entry(ItemOrigin::Summary, "first")];
        assert_eq!(texts(&replacement(&old, "second")).len(), 2);
    }

    #[test]
    fn of_too_many_words_the_newest_are_kept_and_one_is_cut_in_the_middle() {
        let long = format!("BEGIN{}END", "x".repeat(MOST_WORDS as usize * 4));
        let old = [
            entry(ItemOrigin::User, "lost"),
            entry(ItemOrigin::User, &long),
            entry(ItemOrigin::User, "newest"),
        ];
        let new = texts(&replacement(&old, "s"));
        assert_eq!(new.len(), 3);
        assert!(new[0].starts_with("BEGIN") && new[0].ends_with("END") && new[0].contains("left out"));
        assert_eq!(new[1], "newest");
    }

    #[test]
    fn cutting_keeps_characters_whole() {
        assert_eq!(middle_cut("äöü", 6), "äöü");
        assert_eq!(middle_cut("äöüäöü", 6), "ä\n[… 8 bytes left out …]\nü");
    }
}
