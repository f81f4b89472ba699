//! Laws of settled text, for arbitrary bytes and for bytes that look like what terminals get.

use proptest::prelude::*;
use windlass_output::{Offset, ScreenSize, Settler, Utf8, View, settle};

/// Bytes in which text, controls and codes are as frequent as they are interesting.
pub(crate) fn printed() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => "[a-z ]{0,12}".prop_map(String::into_bytes),
        1 => "\\PC{0,4}".prop_map(String::into_bytes),
        3 => prop::sample::select(vec!["\n", "\r\n", "\r", "\t", "\x08", "\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bE", "\x1bc"])
            .prop_map(|s| s.as_bytes().to_vec()),
        4 => (0..130usize, 0..6usize, prop::sample::select(b"ABCDEFGHJKLMPXbdfmrsu@`".to_vec()))
            .prop_map(|(a, b, last)| format!("\x1b[{a};{b}{}", last as char).into_bytes()),
        2 => (0..4usize, prop::sample::select(b"ABCDEFGJKLMPX@".to_vec()))
            .prop_map(|(a, last)| format!("\x1b[{a}{}", last as char).into_bytes()),
        1 => prop::sample::select(vec!["\x1b[?1049h", "\x1b[?1049l", "\x1b]0;t\x07", "\x1b G", "\x1bPunended text", "\x1b_x", "\x1b[?7l", "\x1b(0", "\x1b]8;;x\x1b\\", "\x1bPq\x1b\\", "日本語", "e\u{301}", "\u{9b}"])
            .prop_map(|s| s.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..6),
        1 => (1..9000usize).prop_map(|n| vec![b'x'; n]),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Words that are all different, and between them everything that a program may print without rewriting a line:
/// addresses, regions, other screens, movements down and to the right, and codes that mean nothing on a pipe.
fn printed_without_rewriting() -> impl Strategy<Value = (Vec<u8>, Vec<String>)> {
    let code = prop_oneof![
        3 => prop::sample::select(vec!["\n", "\r\n", "\x1bD", "\x1bE", "\x1bc", "\x1b7", "\t", "\x1b[2J", "\x1b[3J", "\x1b[1J", "\x1b[J", "\x1b[K"])
            .prop_map(str::to_owned),
        3 => (0..130usize, 0..130usize, prop::sample::select(b"HfdrST".to_vec()))
            .prop_map(|(a, b, last)| format!("\x1b[{a};{b}{}", last as char)),
        2 => (0..9usize, prop::sample::select(b"BCEeamghl".to_vec()))
            .prop_map(|(a, last)| format!("\x1b[{a}{}", last as char)),
        2 => (prop::sample::select(vec![1, 6, 7, 25, 47, 1047, 1049, 2004]), prop::sample::select(b"hl".to_vec()))
            .prop_map(|(mode, last)| format!("\x1b[?{mode}{}", last as char)),
        1 => prop::sample::select(vec!["\x1b]0;t\x07", "\x1b G", "\x1b(0", "\x1b[6n", "\x1b]8;;x\x1b\\", "\x1b[31m"])
            .prop_map(str::to_owned),
    ];
    prop::collection::vec(prop::collection::vec(code, 0..6), 0..150).prop_map(|codes| {
        let words: Vec<String> = (0..codes.len()).map(|number| format!("<{number}>")).collect();
        let printed = words.iter().zip(codes).map(|(word, codes)| format!("{word}{}", codes.concat()));
        (printed.collect::<String>().into_bytes(), words)
    })
}

/// Lines that a program may rewrite by going up by so many lines, and the number of the first that it may have touched
/// last.
fn printed_with_rewriting() -> impl Strategy<Value = (Vec<u8>, Vec<String>)> {
    let rewrite = prop_oneof![
        6 => Just((0, String::new())),
        1 => Just((1, "\r".to_owned())),
        1 => Just((1, "\x1b[2K".to_owned())),
        1 => Just((1, "\x08\x08".to_owned())),
        2 => (1..6usize).prop_map(|up| (up + 1, format!("\x1b[{up}A\x1b[2K\r"))),
        1 => (1..6usize).prop_map(|up| (up + 1, format!("\x1b[{up}F\x1b[J"))),
        1 => (1..6usize).prop_map(|up| (up + 1, format!("\x1b[{up}A\x1b[3M"))),
        1 => (1..6usize).prop_map(|up| (up + 1, format!("\x1b[{up}A\x1b[L"))),
        2 => (1..40usize, 1..80usize).prop_map(|(row, column)| (0, format!("\x1b[{row};{column}H"))),
    ];
    // After as many plain lines as a rewrite can go up, nothing before them can be meant.
    prop::collection::vec(rewrite, 0..60).prop_map(|rewrites| {
        let (mut printed, mut kept, mut number) = (String::new(), Vec::new(), 0);
        for (reach, rewrite) in rewrites {
            let mut lines = || {
                number += 1;
                format!("<{number}>\n")
            };
            let above: Vec<String> = (0..3).map(|_| lines()).collect();
            let below: Vec<String> = (0..reach).map(|_| lines()).collect();
            kept.extend(above.iter().map(|line| line.trim_end().to_owned()));
            printed.push_str(&above.concat());
            printed.push_str(&below.concat());
            printed.push_str(&rewrite);
            // The cursor leaves the rewritten lines downwards.
            printed.push_str(&format!("\x1b[{}E", reach + 1));
        }
        (printed.into_bytes(), kept)
    })
}

/// The first of these words that does not stand in the text behind the one before it.
fn missing<'a>(words: &'a [String], text: &str) -> Option<&'a String> {
    let mut rest = text;
    words.iter().find(|word| match rest.split_once(word.as_str()) {
        Some((_, later)) => {
            rest = later;
            false
        }
        None => true,
    })
}

fn settle_in_chunks(bytes: &[u8], cuts: &[usize], rows: usize) -> View {
    let mut settler = Settler::with_rows(Offset::new(7), rows);
    let mut view = View::new(Offset::new(7));
    for chunk in chunks(bytes, cuts) {
        settler.feed(chunk, &mut view);
    }
    settler.finish(&mut view);
    view
}

/// Settles the output of a terminal that changes its size on the way.
fn settle_on_terminal(bytes: &[u8], size: usize, base: Offset) -> View {
    let mut settler = Settler::on_terminal(base, ScreenSize::new(7, 20));
    let mut view = View::new(base);
    let (before, after) = bytes.split_at(bytes.len() / 2);
    before.chunks(size).for_each(|chunk| settler.feed(chunk, &mut view));
    settler.resize(ScreenSize::new(4, 33), &mut view);
    after.chunks(size).for_each(|chunk| settler.feed(chunk, &mut view));
    settler.finish(&mut view);
    view
}

fn chunks<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = bytes;
    let mut out = Vec::new();
    for cut in cuts {
        let (chunk, later) = rest.split_at((*cut).min(rest.len()));
        out.push(chunk);
        rest = later;
    }
    out.push(rest);
    out
}

proptest! {
    #[test]
    fn chunk_edges_do_not_matter(bytes in printed(), cuts in prop::collection::vec(0..40usize, 0..60), rows in 1..70usize) {
        let whole = settle_in_chunks(&bytes, &[], rows);
        let cut = settle_in_chunks(&bytes, &cuts, rows);
        prop_assert_eq!(&whole, &cut);
        let single = settle_in_chunks(&bytes, &vec![1; bytes.len()], rows);
        prop_assert_eq!(&whole, &single);
    }

    /// A program on a pipe has no screen: its text is a log, which no address, region or other screen can hide.
    #[test]
    fn on_a_pipe_text_that_is_not_rewritten_is_in_the_log((bytes, words) in printed_without_rewriting(), rows in 1..70usize) {
        let view = settle_in_chunks(&bytes, &[], rows);
        prop_assert_eq!(missing(&words, view.text()), None, "of {:?}", view.text());
    }

    #[test]
    fn on_a_pipe_a_rewrite_reaches_no_other_lines((bytes, words) in printed_with_rewriting(), rows in 8..70usize) {
        let view = settle_in_chunks(&bytes, &[], rows);
        prop_assert_eq!(missing(&words, view.text()), None, "of {:?}", view.text());
    }

    #[test]
    fn chunk_edges_do_not_matter_on_a_terminal(bytes in printed(), size in 1..50usize, base in 0..2u64) {
        let whole = settle_on_terminal(&bytes, usize::MAX, Offset::new(base));
        prop_assert_eq!(&whole, &settle_on_terminal(&bytes, size, Offset::new(base)));
        prop_assert_eq!(&whole, &settle_on_terminal(&bytes, 1, Offset::new(base)));
    }

    #[test]
    fn addresses_on_a_terminal_never_decrease_and_stay_inside(bytes in printed(), base in 0..2u64) {
        let view = settle_on_terminal(&bytes, usize::MAX, Offset::new(base));
        let end = Offset::new(base + bytes.len() as u64);
        let mut last = Offset::new(base);
        for at in 0..=view.text().len() {
            let raw = view.raw_at(at);
            prop_assert!(last <= raw && raw <= end, "{} after {} at {}", raw, last, at);
            last = raw;
        }
        prop_assert_eq!(view.end(), end);
        prop_assert!(view.text().chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    }

    /// Rows above the screen never change: what was handed out is the beginning of the text, whatever follows.
    #[test]
    fn what_scrolled_off_is_settled_for_good(bytes in printed(), later in printed(), size in 1..200usize) {
        let mut settler = Settler::on_terminal(Offset::ZERO, ScreenSize::new(7, 20));
        let mut view = View::new(Offset::ZERO);
        let mut text = String::new();
        for chunk in bytes.chunks(size).chain(later.chunks(size)) {
            settler.feed(chunk, &mut view);
            prop_assert_eq!(settler.pending(&view).first_line(), view.next_line());
            text.push_str(view.text());
            view.clear();
        }
        settler.finish(&mut view);
        text.push_str(view.text());
        let mut whole = View::new(Offset::ZERO);
        let mut settler = Settler::on_terminal(Offset::ZERO, ScreenSize::new(7, 20));
        settler.feed(&[bytes, later].concat(), &mut whole);
        settler.finish(&mut whole);
        prop_assert_eq!(whole.text(), &text);
        prop_assert_eq!(whole.next_line(), view.next_line());
    }

    /// Long stretches of plain lines take a shorter way, which parts this small never do.
    #[test]
    fn many_plain_lines_at_once_are_settled_as_one_by_one(
        before in printed(),
        line in "[ -~\t…é]{0,120}",
        lines in 0..3000usize,
        long in 0..6000usize,
        after in printed(),
        rows in 1..70usize,
    ) {
        let plain = (0..lines).map(|number| format!("{number} {line}\n")).collect::<String>();
        let bytes = [&before, plain.as_bytes(), &vec![b'x'; long], plain.as_bytes(), &after].concat();
        let whole = settle_in_chunks(&bytes, &[], rows);
        let small = settle_in_chunks(&bytes, &vec![1000; bytes.len() / 1000], rows);
        prop_assert!(whole == small, "{} and {} bytes of text", whole.text().len(), small.text().len());
    }

    #[test]
    fn addresses_never_decrease_and_stay_inside(bytes in printed()) {
        let view = settle(&bytes, Offset::new(7));
        let end = Offset::new(7 + bytes.len() as u64);
        let mut last = Offset::new(7);
        for at in 0..=view.text().len() {
            let raw = view.raw_at(at);
            prop_assert!(last <= raw && raw <= end, "{} after {} at {}", raw, last, at);
            last = raw;
        }
        prop_assert_eq!(view.end(), end);
    }

    #[test]
    fn clearing_between_chunks_changes_neither_text_nor_numbers(bytes in printed(), size in 1..200usize) {
        let whole = settle(&bytes, Offset::ZERO);
        let mut settler = Settler::new(Offset::ZERO);
        let mut view = View::new(Offset::ZERO);
        let mut text = String::new();
        for chunk in bytes.chunks(size) {
            settler.feed(chunk, &mut view);
            let pending = settler.pending(&view);
            prop_assert_eq!(pending.first_line(), view.next_line());
            text.push_str(view.text());
            view.clear();
        }
        settler.finish(&mut view);
        text.push_str(view.text());
        prop_assert_eq!(whole.text(), &text);
        prop_assert_eq!(whole.next_line(), view.next_line());
    }

    #[test]
    fn settling_settled_text_changes_nothing(bytes in printed()) {
        let once = settle(&bytes, Offset::ZERO);
        let twice = settle(once.text().as_bytes(), Offset::ZERO);
        prop_assert_eq!(once.text(), twice.text());
    }

    #[test]
    fn arbitrary_bytes_are_settled_without_controls(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let view = settle(&bytes, Offset::ZERO);
        prop_assert!(view.text().chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
    }

    #[test]
    fn decoding_in_chunks_equals_decoding_at_once(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(0..5usize, 0..60)) {
        let mut view = View::new(Offset::ZERO);
        let mut decoder = Utf8::new(Offset::ZERO);
        for chunk in chunks(&bytes, &cuts) {
            decoder.feed(chunk, &mut view);
        }
        decoder.finish(&mut view);
        prop_assert_eq!(view.text(), String::from_utf8_lossy(&bytes));
        prop_assert_eq!(view, Utf8::decode(&bytes, Offset::ZERO));
    }
}
