//! Lines of coloured text, wrapped to a width in columns. Text of models and programs is made visible here: no control
//! character, and no mark that changes the direction of writing, reaches a terminal.

use unicode_width::UnicodeWidthChar as _;

/// The distance of tab stops in columns.
const TAB: usize = 4;
/// The least width in columns; nothing is readable below it.
const NARROWEST: usize = 8;

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Paint {
    #[default]
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// A line before wrapping.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    spans: Vec<(Paint, String)>,
    /// The indentation of its further rows, in columns.
    hang: usize,
}

impl Line {
    /// A line of one style. Its text is made visible.
    pub(super) fn of(paint: Paint, text: &str) -> Self {
        Self::default().and(paint, text)
    }

    /// An empty line.
    pub(super) fn blank() -> Self {
        Self::default()
    }

    /// Appends text.
    pub(super) fn and(mut self, paint: Paint, text: &str) -> Self {
        self.spans.push((paint, visible(text)));
        self
    }

    /// Indents the further rows.
    pub(super) fn hanging(mut self, columns: usize) -> Self {
        self.hang = columns;
        self
    }

    /// Every line of a text.
    pub(super) fn all(paint: Paint, text: &str) -> Vec<Self> {
        text.lines().map(|line| Self::of(paint, line)).collect()
    }

    /// Its text alone.
    #[cfg(test)]
    pub(super) fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The columns that it takes on one row.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| width(text)).sum()
    }

    /// Its rows at this width, broken between words if possible.
    pub(super) fn wrapped(&self, columns: usize) -> Vec<Self> {
        let columns = columns.max(NARROWEST);
        if self.width() <= columns {
            return vec![self.clone()];
        }
        let hang = if self.hang * 2 > columns { 0 } else { self.hang };
        let cells: Vec<(Paint, char)> =
            self.spans.iter().flat_map(|(paint, text)| text.chars().map(|char| (*paint, char))).collect();
        let mut rows = Vec::new();
        let mut rest = &cells[..];
        while !rest.is_empty() {
            let indent = if rows.is_empty() { 0 } else { hang };
            let (row, next) = rest.split_at(row_end(rest, columns - indent));
            rows.push(Self::of_cells(indent, row));
            rest = next;
        }
        rows
    }

    /// The first row, with an ellipsis if there is more.
    pub(super) fn cut(&self, columns: usize) -> Self {
        let columns = columns.max(NARROWEST);
        if self.width() <= columns {
            return self.clone();
        }
        let mut left = columns - 1;
        let mut cut = Self::default();
        for (paint, text) in &self.spans {
            let taken: String = text
                .chars()
                .take_while(|char| {
                    let fits = char_width(*char) <= left;
                    left = if fits { left - char_width(*char) } else { 0 };
                    fits
                })
                .collect();
            cut.spans.push((*paint, taken));
        }
        cut.spans.push((Paint::Dim, "…".to_owned()));
        cut
    }

    /// The line as bytes for a terminal.
    pub(super) fn rendered(&self, colour: bool) -> String {
        let piece = |(paint, text): &(Paint, String)| match code(*paint).filter(|_| colour) {
            Some(code) if !text.is_empty() => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.clone(),
        };
        self.spans.iter().map(piece).collect()
    }

    fn of_cells(indent: usize, cells: &[(Paint, char)]) -> Self {
        let end = cells.iter().rposition(|(_, char)| *char != ' ').map_or(0, |last| last + 1);
        let mut spans: Vec<(Paint, String)> = Vec::new();
        if indent > 0 {
            spans.push((Paint::Plain, " ".repeat(indent)));
        }
        for (paint, char) in &cells[..end] {
            match spans.last_mut() {
                Some((last, text)) if last == paint => text.push(*char),
                _ => spans.push((*paint, char.to_string())),
            }
        }
        Self { spans, hang: 0 }
    }
}

/// The end of the first row: after the last blank that fits, or else within a word.
fn row_end(cells: &[(Paint, char)], columns: usize) -> usize {
    let mut used = 0;
    let mut blank = None;
    for (at, (_, char)) in cells.iter().enumerate() {
        used += char_width(*char);
        if used > columns && *char != ' ' {
            return blank.unwrap_or(at).max(1);
        }
        if *char == ' ' {
            blank = Some(at + 1);
        }
    }
    cells.len()
}

fn code(paint: Paint) -> Option<&'static str> {
    Some(match paint {
        Paint::Plain => return None,
        Paint::Bold => "1",
        Paint::Dim => "2",
        Paint::Red => "31",
        Paint::Green => "32",
        Paint::Yellow => "33",
        Paint::Cyan => "36",
    })
}

/// The width of a text in columns.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// The width of a character in columns.
pub(super) fn char_width(char: char) -> usize {
    char.width().unwrap_or(0)
}

/// Makes a text visible: tabs become blanks, and characters that move the cursor or hide something become signs.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\t' => shown.push_str(&" ".repeat(TAB - width(&shown) % TAB)),
            '\r' => {}
            char if acts_on_others(char) => shown.push('\u{fffd}'),
            char => shown.push(char),
        }
    }
    shown
}

/// Whether a character of prose moves the cursor, hides, or changes the direction of the text around it. Commands are
/// escaped more strictly before they come here (`Shown`): prose has letters with combining marks, and emoji.
pub(in crate::commands::agent) fn acts_on_others(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, (columns, hang): (usize, usize), expected: &[&str]) {
        let rows = Line::of(Paint::Plain, text).hanging(hang).wrapped(columns);
        let rows: Vec<String> = rows.iter().map(Line::text).collect();
        assert_eq!(rows, expected, "{text:?} at {columns}");
    }

    #[test]
    fn lines_are_broken_between_words_and_else_within() {
        check("short", (10, 0), &["short"]);
        check("", (10, 0), &[""]);
        check("one two three four", (10, 0), &["one two", "three four"]);
        check("one two three four", (10, 2), &["one two", "  three", "  four"]);
        check("abcdefghijklm", (10, 0), &["abcdefghij", "klm"]);
        check("字字字字字字", (9, 0), &["字字字字", "字字"]);
    }

    #[test]
    fn what_moves_cursors_or_hides_is_shown() {
        assert_eq!(visible("a\x1b[2Jb\u{9b}c\r"), "a\u{fffd}[2Jb\u{fffd}c");
        assert_eq!(visible("rm \u{202e}txt"), "rm \u{fffd}txt");
        assert_eq!(visible("a\tb"), "a   b");
    }

    #[test]
    fn a_line_that_is_cut_says_so() {
        assert_eq!(Line::of(Paint::Dim, "0123456789").cut(9).text(), "01234567…");
        assert_eq!(Line::of(Paint::Dim, "字字字字字").cut(9).text(), "字字字字…");
        assert_eq!(Line::of(Paint::Dim, "0123").and(Paint::Bold, "456").cut(9).text(), "0123456");
    }

    #[test]
    fn colour_is_only_there_where_it_is_wanted() {
        let line = Line::of(Paint::Red, "no").and(Paint::Plain, " way");
        assert_eq!(line.rendered(true), "\x1b[31mno\x1b[0m way");
        assert_eq!(line.rendered(false), "no way");
    }

    proptest! {
        #[test]
        fn no_row_is_wider_than_the_terminal_and_no_word_is_lost(text: String, columns in 8_usize..40, hang in 0_usize..6) {
            let line = Line::of(Paint::Plain, &text).hanging(hang);
            let rows = line.wrapped(columns);
            let letters = |text: &str| text.chars().filter(|char| *char != ' ').collect::<String>();
            let joined: String = rows.iter().map(Line::text).collect();
            prop_assert_eq!(letters(&joined), letters(&line.text()));
            prop_assert!(rows.iter().all(|row| row.width() <= columns));
            prop_assert!(line.cut(columns).width() <= columns);
            prop_assert!(!joined.chars().any(char::is_control));
        }
    }
}
