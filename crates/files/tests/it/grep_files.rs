//! Searching files.

use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use windlass_files::{FileContext, FileToolError, git_excludes};

use crate::place::Place;

/// A repository whose files hold `needle`, each older than the one before.
fn repository(files: &[(&str, &str)]) -> Place {
    let place = Place::with("grep", &[(".git/", "")]);
    for (age, (path, text)) in files.iter().enumerate() {
        age_by(&place, path, text, age as u64);
    }
    place
}

fn age_by(place: &Place, path: &str, text: &str, age: u64) {
    let whole = place.write(path, text);
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age);
    File::options().write(true).open(whole).unwrap().set_modified(modified).unwrap();
}

fn check(files: &[(&str, &str)], arguments: &str, expected: &str) {
    assert_eq!(repository(files).text("grep_files", arguments), expected, "{arguments}");
}

#[test]
fn files_that_match_come_newest_first() {
    let files =
        [("b.rs", "a needle\n"), ("src/a.rs", "needle"), ("c.rs", "nothing\n"), ("a.rs", "needles\n")];
    check(&files, r#"{"pattern":"needle"}"#, "HERE/b.rs\nHERE/src/a.rs\nHERE/a.rs");
    check(&files, r#"{"pattern":"^needle$"}"#, "HERE/src/a.rs");
    check(&files, r#"{"pattern":"NEEDLE"}"#, "No matches found.");
    check(&files, r#"{"pattern":"(?i)NEEDLE","path":"src"}"#, "HERE/src/a.rs");
    check(&files, r#"{"pattern":"needle","path":"HERE/src/a.rs"}"#, "HERE/src/a.rs");
    check(
        &files,
        r#"{"pattern":"needle","limit":2}"#,
        "HERE/b.rs\nHERE/src/a.rs\n\
         Note: 3 files match, and these are the newest 2; a narrower pattern, path or include finds fewer",
    );
}

#[test]
fn lines_that_match_come_with_their_numbers() {
    let files = [("a.rs", "x\n  needle(1);\r\ny\nneedle(2);\n"), ("b.rs", "needle(3);")];
    check(
        &files,
        r#"{"pattern":"needle.*;$","output":"lines"}"#,
        "HERE/a.rs:2:   needle(1);\nHERE/a.rs:4: needle(2);\nHERE/b.rs:1: needle(3);",
    );
    check(&files, r#"{"pattern":"nothing","output":"lines"}"#, "No matches found.");
    check(
        &files,
        r#"{"pattern":"needle","output":"lines","limit":2}"#,
        "HERE/a.rs:2:   needle(1);\nHERE/a.rs:4: needle(2);\n\
         Note: 2 files match, and these are 2 lines of the newest; a narrower pattern, path or include finds fewer",
    );
}

#[test]
fn what_git_ignores_and_what_is_hidden_or_binary_is_left_out() {
    let files = [
        (".gitignore", "target/\n*.log\n"),
        ("src/.ignore", "skipped.rs\n"),
        (".rgignore", "raw.rs\n"),
        (".git/info/exclude", "private\n"),
        ("target/a.rs", "needle"),
        ("a.log", "needle"),
        ("src/skipped.rs", "needle"),
        ("raw.rs", "needle"),
        ("private", "needle"),
        (".env", "needle"),
        ("binary", "\0 needle"),
        ("kept.rs", "needle"),
    ];
    check(&files, r#"{"pattern":"needle"}"#, "HERE/kept.rs");
    check(&files, r#"{"pattern":"needle","include":"*"}"#, "HERE/kept.rs");
    check(
        &files,
        r#"{"pattern":"needle","include":["*.log"]}"#,
        "No matches found.\nNote: there was no file to search: none fits include, or all are hidden or ignored",
    );
    check(&files, r#"{"pattern":"needle","path":"a.log"}"#, "HERE/a.log");
    check(
        &files,
        r#"{"pattern":"needle","path":"binary"}"#,
        "No matches found.\nNote: the file is binary, so it was not searched to its end",
    );
}

#[test]
fn git_excludes_of_the_person_hold_too() {
    let place = repository(&[("a.tmp", "needle"), ("b.rs", "needle")]);
    let home = Place::with(
        "home",
        &[(".gitconfig", "[core]\n\texcludesFile = ~/ignored\n"), ("ignored", "*.tmp\n")],
    );
    let excludes = [git_excludes(home.path(), None).expect("the file that .gitconfig names")];
    let surroundings = FileContext { excludes: &excludes, ..FileContext::open(place.path()) };
    assert_eq!(place.text_with("grep_files", r#"{"pattern":"needle"}"#, &surroundings), "HERE/b.rs");
    let default = Place::with("home", &[("config/git/ignore", "*.rs\n")]);
    assert_eq!(git_excludes(default.path(), None), None);
    let configuration = default.path().join("config");
    assert_eq!(git_excludes(default.path(), Some(&configuration)), Some(configuration.join("git/ignore")));
}

#[test]
fn include_narrows_the_search() {
    let files = [("a.rs", "needle"), ("b.py", "needle"), ("src/c.rs", "needle"), ("src/d/e.rs", "needle")];
    check(&files, r#"{"pattern":"needle","include":"*.rs"}"#, "HERE/a.rs\nHERE/src/c.rs\nHERE/src/d/e.rs");
    check(&files, r#"{"pattern":"needle","include":"src/*.rs"}"#, "HERE/src/c.rs");
    check(&files, r#"{"pattern":"needle","include":"!src/"}"#, "HERE/a.rs\nHERE/b.py");
    check(
        &files,
        r#"{"pattern":"needle","include":"*.py,*.rs","path":"src"}"#,
        "HERE/src/c.rs\nHERE/src/d/e.rs",
    );
}

#[test]
fn what_cannot_be_searched_is_refused() {
    let place = Place::new("refused");
    place.fifo("pipe");
    for (arguments, expected) in [
        (
            r#"{"pattern":"a","path":"pipe"}"#,
            "HERE/pipe: is a named pipe; only files and directories are searched",
        ),
        (r#"{"pattern":"a","path":"none"}"#, "HERE/none: there is no such file or directory"),
    ] {
        assert_eq!(place.refusal("grep_files", arguments), expected);
    }
    let refusal = place.refusal("grep_files", r#"{"pattern":"f(x","path":"."}"#);
    assert!(refusal.starts_with("pattern: wrong at character 2: unclosed group."), "{refusal}");
}

#[test]
fn pipes_and_links_on_the_way_hold_nothing_up() {
    let place = repository(&[("a", "needle")]);
    place.fifo("pipe");
    place.link("loop", ".");
    place.link("link", "a");
    assert_eq!(place.text("grep_files", r#"{"pattern":"needle"}"#), "HERE/a");
}

#[test]
fn files_in_other_encodings_are_searched() {
    let place = Place::new("encodings");
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain("größe needle\n".encode_utf16()).flat_map(u16::to_le_bytes).collect();
    place.write("a", utf16);
    assert_eq!(place.text("grep_files", r#"{"pattern":"größe needle"}"#), "HERE/a");
}

#[test]
fn a_search_ends_when_nobody_wants_it_any_more() {
    let place = Place::new("stopped");
    for number in 0..50 {
        place.write(&format!("{number}"), "needle");
    }
    let asked = AtomicU32::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > 10;
    let surroundings = FileContext { stop: &stop, ..FileContext::open(place.path()) };
    let answer = place.call_with("grep_files", r#"{"pattern":"needle"}"#, &surroundings);
    assert!(matches!(answer, Err(FileToolError::Stopped)), "{answer:?}");
}
