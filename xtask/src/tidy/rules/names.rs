//! Names that carry no meaning, or only the time at which something was written.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// Words that may be no part of a name.
const EMPTY: &[&str] = &["utils", "util", "helpers", "common", "manager", "imp", "misc", "unified", "v2"];

/// The word that may not begin one.
const HISTORY: &str = "new";

/// Finds files, folders, modules and types with empty names.
pub(crate) fn say_something(source: &Source<'_>) -> Vec<Finding> {
    let by_path = empty_part_of_path(&source.file.path).map(|part| (1, part));
    let named = by_path.into_iter().chain(empty_items(source));
    named.map(|(line, name)| finding(source, line, name)).collect()
}

fn empty_part_of_path(path: &str) -> Option<&str> {
    path.trim_end_matches(".rs").split('/').find(|part| is_empty(part))
}

fn empty_items<'a>(source: &Source<'a>) -> impl Iterator<Item = (usize, &'a str)> {
    let pairs = source.tokens.windows(2);
    let items =
        pairs.filter(|pair| ["mod", "struct", "enum", "trait", "type", "union"].contains(&pair[0].text));
    items.map(|pair| (pair[1].line, pair[1].text)).filter(|(_, name)| is_empty(name))
}

fn is_empty(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| EMPTY.contains(&word.as_str()))
        || words.first().is_some_and(|word| word == HISTORY)
}

/// The words of a `snake_case`, `kebab-case` or `CamelCase` name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c.is_uppercase() || c == '_' || c == '-' {
            words.push(String::new());
        }
        if let (true, Some(word)) = (c.is_alphanumeric(), words.last_mut()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn finding(source: &Source<'_>, line: usize, name: &str) -> Finding {
    let advice = format!("`{name}` says nothing; name it after what it does or owns");
    Finding::fault("name", (&source.file.path, line), advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::samples::check_source;

    fn check(path: &str, text: &str, expected: &[&str]) {
        check_source(say_something, (path, text), expected);
    }

    #[test]
    fn files_and_folders_say_what_they_hold() {
        check("crates/sys/src/utils.rs", "", &["crates/sys/src/utils.rs:1: name"]);
        check("crates/sys/src/common/pty.rs", "", &["crates/sys/src/common/pty.rs:1: name"]);
        check("crates/sys/src/journal_v2.rs", "", &["crates/sys/src/journal_v2.rs:1: name"]);
        check("crates/sys/src/new_journal.rs", "", &["crates/sys/src/new_journal.rs:1: name"]);
        check("crates/sandbox/src/helper.rs", "", &[]);
    }

    #[test]
    fn modules_and_types_do_too() {
        check("bench/src/a.rs", "mod helpers;", &["bench/src/a.rs:1: name"]);
        check("bench/src/a.rs", "\nstruct SessionManager;", &["bench/src/a.rs:2: name"]);
        check("bench/src/a.rs", "enum JournalV2 {}", &["bench/src/a.rs:1: name"]);
        check("bench/src/a.rs", "trait UnifiedReader {}", &["bench/src/a.rs:1: name"]);
    }

    #[test]
    fn only_whole_words_count() {
        check(
            "bench/src/a.rs",
            "struct Import; struct Simplex; mod newline; fn new() {} fn common() {}",
            &[],
        );
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words("SessionManager"), ["session", "manager"]);
        assert_eq!(words("new_journal-v2"), ["new", "journal", "v2"]);
        assert_eq!(words(""), Vec::<String>::new());
    }
}
