//! Names in directories.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use windlass_files::{FileContext, FileToolError};

use crate::place::Place;

fn list(place: &Place, arguments: &str) -> String {
    let text = place.text("list_dir", &format!(r#"{{"dir_path":"."{arguments}}}"#));
    text.strip_prefix("Absolute path: HERE").expect("the path").trim_start_matches('\n').to_owned()
}

fn tree() -> Place {
    let place = Place::with(
        "tree",
        &[("b/x", ""), ("b/y/z/deep", ""), ("a", ""), (".hidden", ""), ("b.txt", ""), ("c/", "")],
    );
    place.fifo("pipe");
    place.link("up", "..");
    place
}

#[test]
fn names_are_sorted_indented_and_marked() {
    assert_eq!(list(&tree(), ""), ".hidden\na\nb/\n  x\n  y/\nb.txt\nc/\npipe?\nup@");
    assert_eq!(list(&tree(), r#","depth":1"#), ".hidden\na\nb/\nb.txt\nc/\npipe?\nup@");
    assert_eq!(
        list(&tree(), r#","depth":9"#),
        ".hidden\na\nb/\n  x\n  y/\n    z/\n      deep\nb.txt\nc/\npipe?\nup@"
    );
}

#[test]
fn a_page_says_where_it_begins_and_how_to_go_on() {
    let place = tree();
    assert_eq!(
        list(&place, r#","limit":2"#),
        ".hidden\na\nNote: More than 2 entries found; go on with offset 3"
    );
    assert_eq!(
        list(&place, r#","offset":5,"limit":2,"depth":3"#),
        "b/ (continued)\n  y/\n    z/\nNote: More than 2 entries found; go on with offset 7"
    );
    assert_eq!(
        list(&place, r#","offset":7,"limit":2,"depth":4"#),
        "b/ (continued)\n  y/ (continued)\n    z/ (continued)\n      deep\nb.txt\n\
         Note: More than 2 entries found; go on with offset 9"
    );
    assert_eq!(list(&place, r#","offset":8"#), "pipe?\nup@");
    let refusal = place.refusal("list_dir", r#"{"dir_path":".","offset":40}"#);
    assert_eq!(refusal, "offset: HERE has 9 entries, so there is nothing at 40");
}

#[test]
fn an_empty_directory_is_called_empty() {
    assert_eq!(
        list(&tree(), r#","path":"x""#).lines().last(),
        Some("Note: argument `path` is not known and was ignored")
    );
    assert_eq!(list(&Place::new("empty"), ""), "Note: the directory is empty");
}

#[test]
fn names_that_would_break_lines_are_escaped() {
    let place = Place::new("names");
    for name in [&b"new\nline"[..], b"lat\xe9in", b"\x1b[2J"] {
        std::fs::write(place.path().join(OsStr::from_bytes(name)), "").unwrap();
    }
    assert_eq!(list(&place, ""), "\\u{1b}[2J\nlat\\xe9in\nnew\\nline");
}

#[test]
fn links_are_followed_only_where_somebody_names_one() {
    let place = Place::with("links", &[("real/a", "")]);
    place.link("real/loop", "..");
    place.link("to", "real");
    assert_eq!(list(&place, r#","depth":64"#), "real/\n  a\n  loop@\nto@");
    assert_eq!(place.text("list_dir", r#"{"dir_path":"to"}"#), "Absolute path: HERE/to\na\nloop@");
}

#[test]
fn what_is_no_directory_is_refused() {
    let place = Place::with("no-directory", &[("a", "")]);
    assert_eq!(
        place.refusal("list_dir", r#"{"dir_path":"a"}"#),
        "HERE/a: is a file; use read_file for files"
    );
    assert_eq!(
        place.refusal("list_dir", r#"{"dir_path":"b"}"#),
        "HERE/b: there is no such file or directory"
    );
}

#[test]
fn a_huge_directory_costs_a_page() {
    let place = Place::new("huge");
    for number in 0..20_000 {
        std::fs::write(place.path().join(format!("{number:05}")), "").unwrap();
    }
    assert_eq!(
        list(&place, r#","limit":2"#),
        "00000\n00001\nNote: More than 2 entries found; go on with offset 3"
    );
    assert_eq!(list(&place, r#","offset":19999"#), "19998\n19999");
    let asked = AtomicU32::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > 100;
    let surroundings = FileContext { stop: &stop, ..FileContext::open(place.path()) };
    let answer = place.call_with("list_dir", "{}", &surroundings);
    assert!(matches!(answer, Err(FileToolError::Stopped)), "{answer:?}");
}

#[test]
fn an_answer_is_bounded_by_bytes_too() {
    let place = Place::new("wide");
    for number in 0..300 {
        std::fs::write(place.path().join(format!("{number:03}{}", "n".repeat(240))), "").unwrap();
    }
    let text = list(&place, r#","limit":2000"#);
    let shown = text.lines().count() - 1;
    assert!(
        text.ends_with(&format!("Note: More than {shown} entries found; go on with offset {}", shown + 1)),
        "{shown}"
    );
    assert!(text.len() < windlass_files::ANSWER_BYTES + 200);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn pages_together_are_the_whole_list(
        paths in prop::collection::btree_set("[a-c.]{1,2}x(/[a-c]{1,2}y){0,2}", 1..25),
        limit in 1..12_usize,
        depth in 1..4_usize,
    ) {
        let place = Place::new("list-pages");
        for path in &paths {
            let whole = place.path().join(path);
            std::fs::create_dir_all(whole).unwrap();
        }
        let all = list(&place, &format!(r#","limit":2000,"depth":{depth}"#));
        let mut lines = Vec::new();
        let mut offset = 1;
        loop {
            let text = list(&place, &format!(r#","offset":{offset},"limit":{limit},"depth":{depth}"#));
            let (page, notes) = text.split_once("\nNote: ").unwrap_or((&text, ""));
            lines.extend(page.lines().filter(|line| !line.ends_with("(continued)")).map(str::to_owned));
            match notes.split_once("with offset ") {
                Some((_, next)) => offset = next.parse::<u64>().unwrap(),
                None => break,
            }
        }
        prop_assert_eq!(lines, all.lines().collect::<Vec<_>>());
    }
}
