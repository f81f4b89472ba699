//! Settled text against a real terminal emulator: for programs that stay on one screen both show the same.

use proptest::prelude::*;
use windlass_output::{Offset, Screen, ScreenSize, Settler, View};

/// More than any of these drawings can go down: below the last row a log begins a new line, and a terminal stays.
const ROWS: u16 = 130;
const COLUMNS: u16 = 400;

/// Output on which terminals and logs agree: newlines return, nothing scrolls away, wraps, or leaves the first screen,
/// and no row is addressed by its number.
fn drawing(own: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[a-z]{1,8}",
        4 => own,
        1 => Just("e\u{301}".to_owned()),
        3 => Just("\r\n".to_owned()),
        2 => Just("\r".to_owned()),
        1 => Just("\x08".to_owned()),
        1 => Just("\x1b[1;32m".to_owned()),
        1 => Just("\x1b]0;title\x07".to_owned()),
        1 => Just("\x1b7".to_owned()),
        1 => Just("\x1b8".to_owned()),
        4 => (1..5usize, prop::sample::select(vec!['A', 'B', 'C', 'D', 'E', 'F', 'G']))
            .prop_map(|(n, last)| format!("\x1b[{n}{last}")),
        // Where the cursor is after inserting lines, terminals do not agree.
        1 => (1..3usize, prop::sample::select(vec!['L', 'M'])).prop_map(|(n, last)| format!("\r\x1b[{n}{last}")),
    ];
    // The cursor is saved first: restoring a cursor that was never saved moves it home in a terminal, which a log does
    // not do.
    prop::collection::vec(piece, 0..30).prop_map(|pieces| format!("\x1b7{}", pieces.concat()))
}

/// Erasing and shifting. Erasing upwards is left out: the emulator spares the first row when the cursor is in the
/// second.
fn edits() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => (1..5usize, prop::sample::select(vec!['X', 'P', '@'])).prop_map(|(n, last)| format!("\x1b[{n}{last}")),
        2 => (0..3usize).prop_map(|n| format!("\x1b[{n}K")),
        1 => Just("\x1b[J".to_owned()),
    ]
}

fn shown(printed: &str) -> String {
    let mut screen = Screen::new(ScreenSize::new(ROWS, COLUMNS));
    screen.feed(printed.as_bytes());
    screen.text()
}

fn settled(printed: &str) -> String {
    let mut settler = Settler::with_rows(Offset::ZERO, usize::from(ROWS));
    let mut view = View::new(Offset::ZERO);
    settler.feed(printed.as_bytes(), &mut view);
    settler.finish(&mut view);
    let trimmed: Vec<_> = view.text().lines().map(|line| line.trim_end_matches(' ')).collect();
    trimmed.join("\n").trim_end_matches('\n').to_owned()
}

proptest! {
    #[test]
    fn settled_text_is_what_the_terminal_shows(printed in drawing(edits())) {
        prop_assert_eq!(settled(&printed), shown(&printed), "{:?}", printed);
    }

    // Apart from the edits, because the emulator leaves half characters behind when it erases one half.
    #[test]
    fn wide_characters_settle_where_the_terminal_shows_them(printed in drawing("[日本語]{1,3}")) {
        prop_assert_eq!(settled(&printed), shown(&printed), "{:?}", printed);
    }
}
