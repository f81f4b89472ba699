//! Pages of files.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use windlass_files::{ANSWER_BYTES, FileContext, FileToolError};

use crate::place::Place;

/// Expects this output for a file with this content, without the line that names the file.
fn check(content: impl AsRef<[u8]>, arguments: &str, expected: &str) {
    let place = Place::new("read");
    place.write("a.txt", content);
    let more = if arguments.is_empty() { String::new() } else { format!(",{arguments}") };
    let text = place.text("read_file", &format!(r#"{{"file_path":"a.txt"{more}}}"#));
    assert_eq!(text.strip_prefix("Absolute path: HERE/a.txt\n"), Some(expected), "{arguments}");
}

#[test]
fn lines_have_numbers() {
    check("one\ntwo\n", "", "L1: one\nL2: two");
    check("one\n\n  three\n", "", "L1: one\nL2: \nL3:   three");
    check("", "", "Note: the file is empty");
    check("\n", "", "L1: ");
}

#[test]
fn a_page_begins_and_ends_where_it_should_and_says_how_to_go_on() {
    let text = "a\nb\nc\nd\n";
    check(
        text,
        r#""offset":2,"limit":2"#,
        "L2: b\nL3: c\nNote: the file goes on (it is 8 bytes long); read the next lines with offset 4",
    );
    check(text, r#""offset":3,"limit":2"#, "L3: c\nL4: d");
    check(text, r#""offset":4,"limit":9"#, "L4: d");
}

#[test]
fn what_cannot_be_seen_is_told() {
    check("a\r\nb\r\n", "", "L1: a\nL2: b\nNote: lines end with CR LF");
    check("a\r\nb\n", "", "L1: a\nL2: b\nNote: CR LF ends 1 line of these, LF the others");
    check("a\nb", "", "L1: a\nL2: b\nNote: the last line has no newline at its end");
    check("\u{feff}a\n", "", "L1: a\nNote: the file begins with a byte order mark, which is not shown");
    check(
        b"gr\xfc\xdfe\n",
        "",
        "L1: gr\u{fffd}\u{fffd}e\nNote: not all of it is UTF-8: \u{fffd} stands for bytes that are not (first in line 1)",
    );
}

#[test]
fn long_lines_are_cut_and_that_is_said() {
    let long = "é".repeat(100_000);
    let expected = format!(
        "L1: {} … [cut: the line has 200000 bytes]\nL2: next\nNote: lines were cut after 500 characters; a command shows \
         more of one, as in `sed -n 1p FILE | cut -c501-`",
        "é".repeat(500)
    );
    check(format!("{long}\nnext\n"), "", &expected);
}

#[test]
fn an_offset_beyond_the_end_is_told_how_much_there_is() {
    let place = Place::with("beyond", &[("a", "1\n2\n3"), ("empty", "")]);
    let refusal = |file: &str, offset: u64| {
        place.refusal("read_file", &format!(r#"{{"file_path":"{file}","offset":{offset}}}"#))
    };
    assert_eq!(refusal("a", 4), "offset: HERE/a has 3 lines, so there is nothing at 4");
    assert_eq!(
        refusal("a", u64::MAX),
        format!("offset: HERE/a has 3 lines, so there is nothing at {}", u64::MAX)
    );
    assert_eq!(refusal("empty", 2), "offset: HERE/empty has 0 lines, so there is nothing at 2");
}

#[test]
fn an_answer_is_bounded_and_goes_on_where_it_ended() {
    let place = Place::new("bounded");
    let mut content = String::new();
    for line in 1..=5000 {
        writeln!(content, "{line} {}", "x".repeat(100)).unwrap();
    }
    place.write("a", &content);
    let text = place.text("read_file", r#"{"file_path":"a"}"#);
    assert!(text.len() < ANSWER_BYTES + 300, "{}", text.len());
    let shown = text.lines().filter(|line| line.starts_with('L')).count();
    assert!(
        text.ends_with(&format!("read the next lines with offset {}", shown + 1)),
        "{}",
        &text[text.len() - 200..]
    );
    let next = place.text("read_file", &format!(r#"{{"file_path":"a","offset":{},"limit":1}}"#, shown + 1));
    assert!(next.contains(&format!("L{0}: {0} x", shown + 1)), "{next}");
}

#[test]
fn binary_files_are_named_and_not_shown() {
    check(b"\x7fELF\x02\x01\x01\x00", "", "It is not text but an ELF program or library, 8 bytes long.");
    check(b"abc\x00def", "", "It is not text but binary data of no known kind, 7 bytes long.");
}

#[test]
fn a_nul_far_inside_of_a_text_does_not_make_it_binary() {
    let content = format!("{}end\0\n", "line\n".repeat(2000));
    check(content, r#""offset":2001"#, "L2001: end␀");
}

#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let place = Place::with("kinds", &[("dir/", "")]);
    place.fifo("pipe");
    place.link("loop", "loop");
    for (path, expected) in [
        ("dir", "HERE/dir: is a directory; use list_dir"),
        ("pipe", "HERE/pipe: is a named pipe; it would block or never end, so it is not read"),
        ("/dev/zero", "/dev/zero: is a character device; it would block or never end, so it is not read"),
        ("missing", "HERE/missing: there is no such file or directory"),
        ("dir/x/y", "HERE/dir/x/y: there is no such file or directory; the path is right up to HERE/dir"),
        ("~/x", "HERE/~/x: there is no such file or directory; `~` means nothing here, give the whole path"),
        ("loop", "HERE/loop: cannot open it: too many levels of symbolic links"),
    ] {
        assert_eq!(place.refusal("read_file", &format!(r#"{{"file_path":"{path}"}}"#)), expected);
    }
}

#[test]
fn relative_and_absolute_paths_and_links_lead_to_the_same_file() {
    let place = Place::with("paths", &[("dir/a", "x\n")]);
    place.link("link", "dir/a");
    for path in ["dir/a", "./dir/a", "HERE/dir/a", "link", "dir/../dir/a"] {
        let text = place.text("read_file", &format!(r#"{{"file_path":"{path}"}}"#));
        assert!(text.starts_with("Absolute path: HERE/") && text.ends_with("L1: x"), "{text}");
    }
}

#[test]
fn files_of_the_kernel_whose_size_is_nought_can_be_read() {
    let text = Place::new("kernel").text("read_file", r#"{"file_path":"/proc/meminfo","limit":1}"#);
    assert!(text.contains("\nL1: MemTotal:"), "{text}");
}

#[test]
fn a_long_read_ends_when_nobody_wants_it_any_more() {
    let place = Place::new("stopped");
    std::fs::File::create(place.path().join("huge")).unwrap().set_len(1 << 40).unwrap();
    place.write("text", "line\n".repeat(200_000));
    let asked = AtomicU32::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > 3;
    let surroundings = FileContext { stop: &stop, ..FileContext::open(place.path()) };
    let answer = place.call_with("read_file", r#"{"file_path":"text","offset":900000}"#, &surroundings);
    assert!(matches!(answer, Err(FileToolError::Stopped)), "{answer:?}");
    // A sparse file of a terabyte is recognized by its first bytes.
    let text = place.text("read_file", r#"{"file_path":"huge"}"#);
    assert!(text.ends_with("It is not text but binary data of no known kind, 1099.5 GB long."), "{text}");
}

/// The expected form of each line of a file, computed independently.
fn expected_lines(content: &[u8]) -> Vec<String> {
    let mut lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let unfinished = lines.pop().expect("the part behind the last newline");
    let finished = lines.into_iter().map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let all: Vec<&[u8]> = finished.chain(Some(unfinished).filter(|line| !line.is_empty())).collect();
    all.into_iter().map(|line| String::from_utf8_lossy(line).replace('\0', "␀")).collect()
}

/// All lines of a file, page by page.
fn pages(place: &Place, limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut offset = 1;
    loop {
        let text =
            place.text("read_file", &format!(r#"{{"file_path":"a","offset":{offset},"limit":{limit}}}"#));
        let (body, notes) = text.split_once("\nNote: ").unwrap_or((&text, ""));
        // A line may hold anything but a newline, so a line of the output is a line of the file.
        for line in body.split('\n').skip(1) {
            let (number, shown) = line.strip_prefix('L').and_then(|line| line.split_once(": ")).expect(line);
            assert_eq!(number.parse(), Ok(lines.len() + 1));
            lines.push(shown.to_owned());
        }
        match notes.split_once("with offset ") {
            Some((_, next)) => offset = next.lines().next().and_then(|next| next.parse().ok()).expect(next),
            None => return lines,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn pages_together_are_the_whole_file(
        parts in prop::collection::vec(prop_oneof![
            Just(b"\n".to_vec()), Just(b"\r\n".to_vec()), Just(b"\r".to_vec()), Just("é🦀".as_bytes().to_vec()),
            prop::collection::vec(1..=255_u8, 0..20),
        ], 0..80),
        limit in 1..40_usize,
    ) {
        let content = parts.concat();
        // Files that begin like a binary one or with a byte order mark are shown differently.
        prop_assume!(!content.first().is_some_and(|byte| *byte >= 0x80 || *byte < 9 || b"B%M7".contains(byte)));
        let place = Place::new("pages");
        place.write("a", &content);
        prop_assert_eq!(pages(&place, limit), expected_lines(&content));
    }

    #[test]
    fn any_bytes_make_an_answer_within_its_bounds(
        content in prop::collection::vec(any::<u8>(), 0..5000),
        offset in 1..50_u64,
        anchor in 1..50_u64,
    ) {
        let place = Place::new("bytes");
        place.write("a", &content);
        for arguments in [
            format!(r#"{{"file_path":"a","offset":{offset}}}"#),
            format!(r#"{{"file_path":"a","mode":"indentation","indentation":{{"anchor_line":{anchor}}}}}"#),
        ] {
            match place.call("read_file", &arguments) {
                Ok(windlass_files::FileOutput::Text(text)) => prop_assert!(text.len() < ANSWER_BYTES + 1000),
                Err(FileToolError::BeyondTheEnd { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}
