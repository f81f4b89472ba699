//! The screen of a terminal: the visible grid, the cursor, and the answers to programs that queried the terminal. The
//! emulator behind it is an implementation detail that no other file sees.

use std::sync::{Arc, Mutex, PoisonError};

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener, WindowSize};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, Osc52, TermMode};
use alacritty_terminal::vte::ansi::{NamedColor, Processor, Rgb, Timeout};

use crate::keys::CursorKeys;

mod palette;
mod string_guard;

use string_guard::StringGuard;

/// Answers that were not fetched are kept up to this many bytes; a program that asks more does not listen.
const MOST_REPLIES: usize = 16 << 10;

/// A longer title is cut.
const LONGEST_TITLE: usize = 1 << 10;

/// How large a terminal is, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenSize {
    rows: u16,
    columns: u16,
}

impl ScreenSize {
    /// A size; terminals have at least one row and two columns, so that wide characters fit.
    #[must_use]
    pub fn new(rows: u16, columns: u16) -> Self {
        Self { rows: rows.max(1), columns: columns.max(2) }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(self) -> u16 {
        self.rows
    }

    /// How many columns there are.
    #[must_use]
    pub fn columns(self) -> u16 {
        self.columns
    }
}

impl Default for ScreenSize {
    /// The traditional size of terminals: 24 rows of 80 columns.
    fn default() -> Self {
        Self::new(24, 80)
    }
}

/// Where the cursor is, counted from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorPosition {
    /// Rows from the top.
    pub row: u16,
    /// Columns from the left.
    pub column: u16,
}

/// A terminal without scrollback: the journal keeps the history.
pub struct Screen {
    terminal: Term<Mailbox>,
    parser: Processor<NeverLate>,
    guard: StringGuard,
    mailbox: Mailbox,
    size: ScreenSize,
}

impl Screen {
    /// An empty screen.
    #[must_use]
    pub fn new(size: ScreenSize) -> Self {
        let mailbox = Mailbox::new(size);
        let config = Config { scrolling_history: 0, osc52: Osc52::Disabled, ..Config::default() };
        Self {
            terminal: Term::new(config, &size, mailbox.clone()),
            parser: Processor::new(),
            guard: StringGuard::default(),
            mailbox,
            size,
        }
    }

    /// Shows what was printed.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { guard, parser, terminal, .. } = self;
        guard.feed(bytes, |piece| parser.advance(terminal, piece));
    }

    /// Changes the size, as a window does.
    pub fn resize(&mut self, size: ScreenSize) {
        self.size = size;
        self.mailbox.with(|mail| mail.size = size);
        self.terminal.resize(size);
    }

    /// How large it is.
    #[must_use]
    pub fn size(&self) -> ScreenSize {
        self.size
    }

    /// The visible text: one line for each row, without blanks at the right and empty rows at the bottom.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in 0..self.size.rows {
            if row > 0 {
                text.push('\n');
            }
            self.write_row(row, &mut text);
        }
        text.truncate(text.trim_end_matches('\n').len());
        text
    }

    /// Where the cursor is.
    #[must_use]
    pub fn cursor(&self) -> CursorPosition {
        let point = self.terminal.grid().cursor.point;
        CursorPosition {
            row: u16::try_from(point.line.0).unwrap_or(0),
            column: u16::try_from(point.column.0).unwrap_or(u16::MAX),
        }
    }

    /// Whether a full-screen program has taken over.
    #[must_use]
    pub fn is_alternate(&self) -> bool {
        self.terminal.mode().contains(TermMode::ALT_SCREEN)
    }

    /// The kind of sequence that the program wants the arrow keys to send.
    #[must_use]
    pub fn cursor_keys(&self) -> CursorKeys {
        match self.terminal.mode().contains(TermMode::APP_CURSOR) {
            true => CursorKeys::Application,
            false => CursorKeys::Normal,
        }
    }

    /// Whether the program wants pasted text to be marked as such.
    #[must_use]
    pub fn wants_bracketed_paste(&self) -> bool {
        self.terminal.mode().contains(TermMode::BRACKETED_PASTE)
    }

    /// The window title, if the program set one.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        self.mailbox.with(|mail| mail.title.clone())
    }

    /// Takes the answers to the program's queries, which must be written to its input.
    #[must_use]
    pub fn take_replies(&mut self) -> Vec<u8> {
        self.mailbox.with(|mail| std::mem::take(&mut mail.replies))
    }

    fn write_row(&self, row: u16, text: &mut String) {
        let start = text.len();
        let line = &self.terminal.grid()[Line(i32::from(row))];
        for column in 0..usize::from(self.size.columns) {
            write_cell(&line[Column(column)], text);
        }
        let used = text[start..].trim_end_matches(' ').len();
        text.truncate(start + used);
    }
}

fn write_cell(cell: &Cell, text: &mut String) {
    if cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
        return;
    }
    // The emulator keeps tabs in cells, for copying.
    text.push(if cell.c == '\t' { ' ' } else { cell.c });
    text.extend(cell.zerowidth().unwrap_or_default());
}

impl Dimensions for ScreenSize {
    fn total_lines(&self) -> usize {
        usize::from(self.rows)
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.rows)
    }

    fn columns(&self) -> usize {
        usize::from(self.columns)
    }
}

/// The mailbox between the emulator, which calls back while it is being fed, and the screen.
#[derive(Clone)]
struct Mailbox(Arc<Mutex<TerminalReplies>>);

struct TerminalReplies {
    replies: Vec<u8>,
    title: Option<String>,
    size: ScreenSize,
}

impl Mailbox {
    fn new(size: ScreenSize) -> Self {
        Self(Arc::new(Mutex::new(TerminalReplies { replies: Vec::new(), title: None, size })))
    }

    fn with<T>(&self, use_mail: impl FnOnce(&mut TerminalReplies) -> T) -> T {
        use_mail(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl EventListener for Mailbox {
    fn send_event(&self, event: Event) {
        self.with(|mail| mail.take(event));
    }
}

impl TerminalReplies {
    fn take(&mut self, event: Event) {
        match event {
            Event::PtyWrite(text) => self.reply(&text),
            Event::ColorRequest(index, format) => self.reply(&format(colour(index))),
            Event::TextAreaSizeRequest(format) => self.reply(&format(self.window_size())),
            Event::Title(title) => self.title = Some(shortened(title)),
            Event::ResetTitle => self.title = None,
            _ => {}
        }
    }

    fn reply(&mut self, text: &str) {
        if self.replies.len() + text.len() <= MOST_REPLIES {
            self.replies.extend_from_slice(text.as_bytes());
        }
    }

    fn window_size(&self) -> WindowSize {
        WindowSize {
            num_lines: self.size.rows,
            num_cols: self.size.columns,
            cell_width: palette::CELL_WIDTH,
            cell_height: palette::CELL_HEIGHT,
        }
    }
}

fn colour(index: usize) -> Rgb {
    let (r, g, b) = match index {
        _ if index == NamedColor::Foreground as usize => palette::FOREGROUND,
        _ if index == NamedColor::Background as usize => palette::BACKGROUND,
        0..=255 => palette::indexed(index as u8),
        _ => palette::FOREGROUND,
    };
    Rgb { r, g, b }
}

fn shortened(mut title: String) -> String {
    title.truncate(title.floor_char_boundary(LONGEST_TITLE));
    title
}

/// Turns synchronised updates off: they would hide output until a timer fires, and the screen is read only between
/// frames.
#[derive(Default)]
struct NeverLate;

impl Timeout for NeverLate {
    fn set_timeout(&mut self, _: std::time::Duration) {}

    fn clear_timeout(&mut self) {}

    fn pending_timeout(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(bytes: &[u8]) -> Screen {
        let mut screen = Screen::new(ScreenSize::new(4, 10));
        screen.feed(bytes);
        screen
    }

    #[test]
    fn the_visible_text_is_trimmed() {
        assert_eq!(screen(b"").text(), "");
        assert_eq!(screen(b"a  \r\n\r\n  b").text(), "a\n\n  b");
        assert_eq!(screen(b"a\tb").text(), "a       b");
        assert_eq!(screen("日本e\u{301}x".as_bytes()).text(), "日本e\u{301}x");
        assert_eq!(screen(b"1\r\n2\r\n3\r\n4\r\n5").text(), "2\n3\n4\n5");
        assert_eq!(screen(b"0123456789ab").text(), "0123456789\nab");
    }

    #[test]
    fn programs_that_ask_are_answered() {
        let check = |query: &[u8], expected: &str| {
            assert_eq!(String::from_utf8_lossy(&screen(query).take_replies()), expected, "{query:?}");
        };
        check(b"\x1b[c", "\x1b[?6c");
        check(b"\x1b[5n", "\x1b[0n");
        check(b"ab\r\nc\x1b[6n", "\x1b[2;2R");
        check(b"\x1b[?7$p", "\x1b[?7;1$y");
        check(b"\x1b[18t", "\x1b[8;4;10t");
        check(b"\x1b]11;?\x1b\\", "\x1b]11;rgb:0000/0000/0000\x1b\\");
        check(b"\x1b]10;?\x07", "\x1b]10;rgb:e5e5/e5e5/e5e5\x07");
        check(b"\x1b]4;1;?\x07", "\x1b]4;1;rgb:cdcd/0000/0000\x07");
        assert!(screen(b"\x1b[>c").take_replies().starts_with(b"\x1b[>0;"));
    }

    #[test]
    fn replies_nobody_fetches_are_bounded() {
        let mut screen = screen(&b"\x1b[6n".repeat(10_000));
        assert!(screen.take_replies().len() <= MOST_REPLIES);
        assert!(screen.take_replies().is_empty());
    }

    #[test]
    fn modes_are_visible() {
        let mut screen = screen(b"\x1b[?1049h\x1b[?1h\x1b[?2004h\x1b]2;hello\x07");
        assert!(screen.is_alternate() && screen.wants_bracketed_paste());
        assert_eq!(screen.cursor_keys(), CursorKeys::Application);
        assert_eq!(screen.title().as_deref(), Some("hello"));
        screen.feed(b"\x1b[?1049l\x1b[?1l");
        assert!(!screen.is_alternate());
        screen.feed(b"\x1b[?47h");
        assert!(screen.is_alternate());
        screen.feed(b"\x1b[?1047l");
        assert!(!screen.is_alternate());
        assert_eq!(screen.cursor_keys(), CursorKeys::Normal);
    }

    #[test]
    fn a_synchronised_update_is_shown_at_once() {
        assert_eq!(screen(b"\x1b[?2026hnow").text(), "now");
    }

    #[test]
    fn resizing_reflows() {
        let mut screen = screen(b"0123456789ab");
        screen.resize(ScreenSize::new(4, 20));
        assert_eq!(screen.text(), "0123456789ab");
        screen.resize(ScreenSize::new(0, 0));
        screen.feed("日本語".as_bytes());
        assert_eq!(screen.size(), ScreenSize::new(1, 2));
    }

    #[test]
    fn the_cursor_is_counted_from_zero() {
        assert_eq!(screen(b"ab\r\nc").cursor(), CursorPosition { row: 1, column: 1 });
    }
}
