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
