//! Settled text of a terminal against an emulator with a scroll-back: whatever is printed, at whatever size, the text
//! is the emulator's scroll-back and its screen.

use alacritty_terminal::Term;
use alacritty_terminal::event::VoidListener;
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::Config;
use alacritty_terminal::term::cell::Flags;
use alacritty_terminal::vte::ansi::Processor;
use proptest::prelude::*;
use windlass_output::{Offset, Screen, ScreenSize, Settler, View};

/// More than any of these outputs has.
const SCROLL_BACK: usize = 100_000;

/// The text in an emulator's scroll-back and on its screen; a line that wrapped is one line.
fn shown(printed: &[u8], size: ScreenSize) -> String {
    let config = Config { scrolling_history: SCROLL_BACK, ..Config::default() };
    let mut terminal = Term::new(config, &size, VoidListener);
    let mut parser: Processor = Processor::new();
    for part in printed.split_inclusive(|byte| *byte == b'P') {
        parser.advance(&mut terminal, part);
        end_moved_wraps(&mut terminal);
    }
    let grid = terminal.grid();
    let mut text = String::new();
    for line in -(grid.history_size() as i32)..grid.screen_lines() as i32 {
        let row = &grid[Line(line)];
        for column in 0..grid.columns() {
            let cell = &row[Column(column)];
            if !cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
                text.push(if cell.c == '\t' { ' ' } else { cell.c });
                text.extend(cell.zerowidth().unwrap_or_default());
            }
        }
        if !row[Column(grid.columns() - 1)].flags.contains(Flags::WRAPLINE) {
            text.push('\n');
        }
    }
    trimmed(&text)
}

/// Removes the mark of a wrapped row from a cell that has left the last column.
///
/// The emulator marks the last cell of a row that wrapped, and `CSI P` moves the marked cell to the left. There the
/// mark means nothing until an insertion moves the cell back to the edge: then the row counts as wrapped again,
/// whatever was written to the row below in the meantime. In xterm, and here, wrapping is a property of the row and
/// deleting a character ends it.
fn end_moved_wraps(terminal: &mut Term<VoidListener>) {
    let row = terminal.grid().cursor.point.line;
    let last = terminal.columns() - 1;
    for cell in &mut terminal.grid_mut()[row][..Column(last)] {
        cell.flags.remove(Flags::WRAPLINE);
    }
}

fn settled(printed: &[u8], size: ScreenSize) -> String {
    let mut settler = Settler::on_terminal(Offset::ZERO, size);
    let mut view = View::new(Offset::ZERO);
    settler.feed(printed, &mut view);
    settler.finish(&mut view);
    trimmed(&view.text().lines().map(without_tabs).collect::<Vec<_>>().join("\n"))
}

/// Blanks at the ends of lines and empty lines at the end cannot be seen.
fn trimmed(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| line.trim_end_matches(' ')).collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

fn without_tabs(line: &str) -> String {
    let mut text = String::new();
    for what in line.chars() {
        match what {
            '\t' => text.push_str(&" ".repeat(8 - text.chars().count() % 8)),
            what => text.push(what),
        }
    }
    text
}

/// Pieces of output that use the whole of a small screen and scroll it.
fn pieces(own: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z ]{1,12}",
        1 => "[a-z]{30,90}",
        4 => own,
        6 => Just("\r\n".to_owned()),
        1 => "(\r\n[a-z]{1,3}){20}",
        2 => prop::sample::select(vec!["\r", "\n", "\x08", "\x0b", "\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1bM", "\x1b[s", "\x1b[u"])
            .prop_map(str::to_owned),
        4 => (0..12usize, prop::sample::select(b"ABCDEFGLMSTd".to_vec()))
            .prop_map(|(n, last)| format!("\x1b[{n}{}", last as char)),
        3 => (0..30usize, 0..50usize).prop_map(|(row, column)| format!("\x1b[{row};{column}H")),
        2 => (0..12usize, 0..30usize).prop_map(|(top, bottom)| format!("\x1b[{top};{bottom}r")),
        1 => Just("\x1b[r".to_owned()),
        // The emulator counts the offset of the region twice when it moves otherwise in this mode.
        1 => (0..9usize, 1..20usize, "[a-z]{1,5}")
            .prop_map(|(row, column, text)| format!("\x1b[?6h\x1b[{row};{column}H{text}\x1b[?6l")),
        1 => prop::sample::select(vec!["\x1b[?7l", "\x1b[?7h", "\x1b[?25l", "\x1b]0;title\x07"])
            .prop_map(str::to_owned),
        1 => "[A-Z ]{1,9}".prop_map(|drawn| format!("\x1b[?1049h\x1b[3;3H{drawn}\r\n\x1b[2J{drawn}\x1b[?1049l")),
        1 => Just("\x1b[2J".to_owned()),
    ]
}

/// Erasing and shifting inside of the screen.
fn edits() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => (0..9usize, prop::sample::select(b"X@b".to_vec())).prop_map(|(n, last)| format!("\x1b[{n}{}", last as char)),
        // One at a time: of more than the rest of the row the emulator erases what is before the cursor, too.
        1 => Just("\x1b[P".to_owned()),
        2 => (0..3usize).prop_map(|n| format!("\x1b[{n}K")),
        // Not straight from the home position, from where a log keeps what is erased.
        1 => Just("x\x1b[J".to_owned()),
        // Not from the second row: there the emulator spares the first.
        1 => (3..9usize, 1..20usize).prop_map(|(row, column)| format!("\x1b[{row};{column}H\x1b[1J")),
        1 => "[a-z]{1,9}".prop_map(|text| format!("\x1b[4h{text}\x1b[4l")),
        1 => Just("e\u{301}x".to_owned()),
        1 => "[a-z~]{1,6}".prop_map(|text| format!("\x1b(0{text}\x1b(B")),
    ]
}

fn printed(own: impl Strategy<Value = String> + 'static) -> impl Strategy<Value = String> {
    below_a_top_line(pieces(own))
}

/// Output in which every second piece edits the screen.
fn edited() -> impl Strategy<Value = String> {
    below_a_top_line(prop_oneof![pieces(edits()), edits()])
}

/// The emulator adds an empty line when it clears an empty screen without a scroll-back, so there is one.
fn below_a_top_line(piece: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::vec(piece, 0..60).prop_map(|pieces| format!("top\x1b[2J\x1b[H{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_text_is_the_scroll_back_and_the_screen(printed in printed(edits()), rows in 3..30u16, columns in 2..90u16) {
        let size = ScreenSize::new(rows, columns);
        prop_assert_eq!(settled(printed.as_bytes(), size), shown(printed.as_bytes(), size), "{:?}", printed);
    }

    /// Where most rows wrap, edits meet the ends of wrapped rows most often.
    #[test]
    fn edits_end_the_same_wraps_in_a_narrow_terminal(printed in edited(), rows in 3..9u16, columns in 2..9u16) {
        let size = ScreenSize::new(rows, columns);
        prop_assert_eq!(settled(printed.as_bytes(), size), shown(printed.as_bytes(), size), "{:?}", printed);
    }

    // Apart from the edits, because the emulator leaves half characters behind when it erases one half. Without blanks,
    // because the column that a wide character left empty at the end of a row becomes one when the character is
    // overwritten.
    #[test]
    fn wide_characters_scroll_and_wrap_like_others(printed in printed("[日本語]{1,9}"), rows in 3..30u16, columns in 3..50u16) {
        let size = ScreenSize::new(rows, columns);
        let [ours, theirs] = [settled(printed.as_bytes(), size), shown(printed.as_bytes(), size)].map(|it| it.replace(' ', ""));
        prop_assert_eq!(ours, theirs, "{:?}", printed);
    }

    #[test]
    fn tabs_stop_where_the_terminal_stops_them(printed in printed("[a-z]{0,9}\t{1,3}"), rows in 3..30u16, eights in 1..10u16) {
        let size = ScreenSize::new(rows, eights * 8);
        prop_assert_eq!(settled(printed.as_bytes(), size), shown(printed.as_bytes(), size), "{:?}", printed);
    }

    /// A program draws its screen anew when its window changes; from there on both show the same.
    #[test]
    fn after_a_change_of_size_and_a_redraw_text_and_screen_agree(
        before in printed(edits()),
        after in printed(edits()),
        from in (3..30u16, 2..90u16),
        to in (3..30u16, 2..90u16),
    ) {
        let (from, to) = (ScreenSize::new(from.0, from.1), ScreenSize::new(to.0, to.1));
        let after = format!("\x1b[?6;1049l\x1b[?7h\x1b[4l\x1b(B\x0f\x1b[H\x1b[2J\x1b7{after}");
        let mut settler = Settler::on_terminal(Offset::ZERO, from);
        let mut view = View::new(Offset::ZERO);
        let mut screen = Screen::new(from);
        settler.feed(before.as_bytes(), &mut view);
        screen.feed(before.as_bytes());
        settler.resize(to, &mut view);
        screen.resize(to);
        settler.feed(after.as_bytes(), &mut view);
        screen.feed(after.as_bytes());
        settler.finish(&mut view);
        let [whole, screen] = [view.text(), &screen.text()].map(|text| text.replace(['\n', ' '], ""));
        prop_assert!(whole.ends_with(&screen), "{:?} then {:?}:\n{}\n{}", before, after, whole, screen);
    }

    /// Wrapping lines anew neither adds nor loses a character above the cursor.
    #[test]
    fn a_change_of_width_keeps_every_line(
        lines in prop::collection::vec("[a-z]{0,60}", 1..40),
        from in (3..30u16, 2..90u16),
        to in (3..30u16, 2..90u16),
    ) {
        let (from, to) = (ScreenSize::new(from.0, from.1), ScreenSize::new(to.0, to.1));
        let mut settler = Settler::on_terminal(Offset::ZERO, from);
        let mut view = View::new(Offset::ZERO);
        let (head, tail) = lines.split_at(lines.len() / 2);
        settler.feed(head.join("\r\n").as_bytes(), &mut view);
        settler.resize(to, &mut view);
        settler.feed(tail.join("\r\n").as_bytes(), &mut view);
        settler.finish(&mut view);
        prop_assert_eq!(view.text(), format!("{}{}", head.join("\n"), tail.join("\n")));
    }
}

#[test]
fn home_after_a_hundred_lines_is_the_top_of_the_screen_and_not_of_the_log() {
    let lines: String =
        (1..=100).map(|n| if n == 37 { "FAILED\r\n".into() } else { format!("line {n}\r\n") }).collect();
    let text = settled(format!("{lines}\x1b[Hredrawn").as_bytes(), ScreenSize::new(24, 80));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines[36], lines[77], lines[76]), ("FAILED", "redrawn", "line 77"));
}

/// Two deletions move the mark of a wrapped row away from the edge and two insertions move it back.
#[test]
fn a_row_whose_end_was_deleted_does_not_become_wrapped_again() {
    let size = ScreenSize::new(9, 4);
    let printed = "top\x1b[2J\x1b[Ha a a  aa  a  aa  a  \r\n\x1b[3T\n\x1b[P\x1b[P\x1b[4ha\x1b[4l\x1b[5;9r\x1b[7;0H\r\n\
                   \x1b[4ha\x1b[4l\x1b[?6h\x1b[5;1Ha\x1b[?6l";
    let text = settled(printed.as_bytes(), size);
    assert_eq!(text, "top\n\n\n\na a a  aa  a  aaaaa\na");
    assert_eq!(text, shown(printed.as_bytes(), size));
}
