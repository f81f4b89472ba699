//! The input line of a person, with a history. Pure: it takes keys and returns finished texts.

use super::keys::Key;
use super::lines::{char_width, visible};

/// The most earlier texts in the history.
const MOST_REMEMBERED: usize = 200;
/// The prompt before the first row; further rows are indented by its width.
pub(super) const MARK: &str = "› ";
const MARK_WIDTH: usize = 2;

/// A text that is being written.
#[derive(Debug, Default)]
pub(super) struct Composer {
    text: String,
    /// The byte position at which the next character is inserted.
    cursor: usize,
    earlier: Vec<String>,
    /// The history entry that is shown, and the text that was written before browsing the history.
    looking: Option<(usize, String)>,
}

/// The text as rows, and the position of the cursor in them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub(super) rows: Vec<String>,
    pub(super) cursor: (usize, usize),
}

impl Composer {
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Removes newlines at the end of the text.
    pub(super) fn trim_end(&mut self) {
        let end = self.text.trim_end_matches('\n').len();
        self.text.truncate(end);
        self.cursor = self.cursor.min(end);
    }

    /// Discards the text.
    pub(super) fn clear(&mut self) {
        (self.text, self.cursor, self.looking) = (String::new(), 0, None);
    }

    /// Applies a key; returns the text if the key finishes it.
    pub(super) fn key(&mut self, key: Key) -> Option<String> {
        match key {
            Key::Enter => return self.finished(),
            Key::Char(char) => self.insert(&char.to_string()),
            Key::Paste(text) => self.insert(&text),
            Key::NewLine | Key::LineFeed => self.insert("\n"),
            Key::Backspace => self.delete(self.before(), self.cursor),
            Key::Delete => self.delete(self.cursor, self.after()),
            Key::DeleteWord => self.delete(self.word_before(), self.cursor),
            Key::DeleteToStart => self.delete(self.row_start(), self.cursor),
            Key::DeleteToEnd => self.delete(self.cursor, self.row_end()),
            Key::Left => self.cursor = self.before(),
            Key::Right => self.cursor = self.after(),
            Key::WordLeft => self.cursor = self.word_before(),
            Key::WordRight => self.cursor = self.word_after(),
            Key::Home => self.cursor = self.row_start(),
            Key::End => self.cursor = self.row_end(),
            Key::Up => self.up(),
            Key::Down => self.down(),
            Key::Tab | Key::Escape | Key::Interrupt | Key::EndOfInput | Key::Redraw => {}
        }
        None
    }

    /// Rows of at most this width, and at most so many: those around the cursor.
    pub(super) fn rows(&self, columns: usize, most: usize) -> Rows {
        let width = columns.saturating_sub(MARK_WIDTH).max(2);
        let mut rows = vec![String::new()];
        let (mut used, mut cursor) = (0, (0, 0));
        for (at, char) in self.text.char_indices().chain([(self.text.len(), '\n')]) {
            let shown = if char == '\n' { String::new() } else { visible(&char.to_string()) };
            let wide: usize = shown.chars().map(char_width).sum();
            if used + wide > width {
                rows.push(String::new());
                used = 0;
            }
            if at == self.cursor {
                cursor = (rows.len() - 1, used);
            }
            if char == '\n' && at < self.text.len() {
                rows.push(String::new());
                used = 0;
                continue;
            }
            used += wide;
            if let Some(row) = rows.last_mut() {
                row.push_str(&shown);
            }
        }
        let first = (cursor.0 + 1).saturating_sub(most.max(1));
        let shown = rows.into_iter().enumerate().skip(first).take(most.max(1));
        let marked = |(at, row): (usize, String)| format!("{}{row}", if at == 0 { MARK } else { "  " });
        Rows { rows: shown.map(marked).collect(), cursor: (cursor.0 - first, cursor.1 + MARK_WIDTH) }
    }

    fn finished(&mut self) -> Option<String> {
        let text = std::mem::take(&mut self.text);
        self.clear();
        if text.trim().is_empty() {
            return None;
        }
        if self.earlier.last() != Some(&text) {
            self.earlier.push(text.clone());
        }
        if self.earlier.len() > MOST_REMEMBERED {
            self.earlier.remove(0);
        }
        Some(text)
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        self.looking = None;
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.looking = None;
    }

    /// The start of the character before the cursor; combining marks are skipped together with their letter.
    fn before(&self) -> usize {
        let mut places = self.text[..self.cursor].char_indices().rev();
        places.find(|(_, char)| *char == '\n' || char_width(*char) > 0).map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let mut places = self.text[self.cursor..].char_indices().skip(1);
        let next = places.find(|(_, char)| *char == '\n' || char_width(*char) > 0);
        next.map_or(self.text.len(), |(at, _)| self.cursor + at)
    }

    fn word_before(&self) -> usize {
        let head = self.text[..self.cursor].trim_end();
        head.rfind(char::is_whitespace)
            .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8))
    }

    fn word_after(&self) -> usize {
        let tail = &self.text[self.cursor..];
        let blanks = tail.len() - tail.trim_start().len();
        let word = tail[blanks..].find(char::is_whitespace).unwrap_or(tail.len() - blanks);
        self.cursor + blanks + word
    }

    fn row_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn row_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    fn up(&mut self) {
        let start = self.row_start();
        if start == 0 {
            return self.look(Direction::Earlier);
        }
        let column = self.text[start..self.cursor].chars().count();
        self.cursor = start - 1;
        let above = self.row_start();
        self.cursor = self.column(above, start - 1, column);
    }

    fn down(&mut self) {
        let end = self.row_end();
        if end == self.text.len() {
            return self.look(Direction::Later);
        }
        let column = self.text[self.row_start()..self.cursor].chars().count();
        self.cursor = end + 1;
        self.cursor = self.column(end + 1, self.row_end(), column);
    }

    fn column(&self, start: usize, end: usize, column: usize) -> usize {
        self.text[start..end].char_indices().nth(column).map_or(end, |(at, _)| start + at)
    }

    fn look(&mut self, direction: Direction) {
        let place = match (&self.looking, direction) {
            (None, Direction::Earlier) => self.earlier.len().checked_sub(1),
            (Some((at, _)), Direction::Earlier) => Some(at.saturating_sub(1)),
            (Some((at, _)), Direction::Later) => Some(at + 1),
            (None, Direction::Later) => None,
        };
        let Some(place) = place else { return };
        let draft = self.looking.take().map_or_else(|| self.text.clone(), |(_, draft)| draft);
        match self.earlier.get(place) {
            Some(text) => {
                self.text.clone_from(text);
                self.looking = Some((place, draft));
            }
            None => self.text = draft,
        }
        self.cursor = self.text.len();
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Earlier,
    Later,
}

#[cfg(test)]
mod tests {
    use super::super::keys::Decoder;
    use super::*;
    use proptest::prelude::*;

    fn typed(composer: &mut Composer, bytes: &str) -> Vec<String> {
        let keys = Decoder::default().feed(bytes.as_bytes());
        keys.into_iter().filter_map(|key| composer.key(key)).collect()
    }

    fn check(bytes: &str, expected: &str) {
        let mut composer = Composer::default();
        let mut finished = typed(&mut composer, &format!("{bytes}\r"));
        assert_eq!(finished.pop().unwrap_or_default(), expected, "{bytes:?}");
    }

    #[test]
    fn keys_edit_what_is_written() {
        check("abc", "abc");
        check("abc\x7f", "ab");
        check("ac\x1b[Db", "abc");
        check("bc\x01a\x05d", "abcd");
        check("one two\x17three", "one three");
        check("one two\x1b[1;5D\x0b", "one ");
        check("one two\x15three", "three");
        check("a\x1b\rb\x1b[Ac", "ac\nb");
        check("\x1b[200~x\r\ny\x1b[201~", "x\ny");
        check("字ä\x7f\x7fa", "a");
        check("e\u{301}x\x1b[D\x7f", "x");
        check("  ", "");
    }

    #[test]
    fn earlier_texts_come_back_and_the_draft_is_kept() {
        let mut composer = Composer::default();
        typed(&mut composer, "one\rtwo\r");
        assert_eq!(typed(&mut composer, "draft\x1b[A\x1b[A\r"), ["one"]);
        assert_eq!(typed(&mut composer, "draft\x1b[A\x1b[B!\r"), ["draft!"]);
        assert_eq!(typed(&mut composer, "\x1b[A\x1b[A\x1b[A\x1b[A?\r"), ["one?"]);
    }

    #[test]
    fn rows_fit_and_the_cursor_stands_where_the_next_letter_goes() {
        let mut composer = Composer::default();
        typed(&mut composer, "abcdefgh");
        let rows = |composer: &Composer, most| composer.rows(7, most);
        assert_eq!(rows(&composer, 9), Rows { rows: vec!["› abcde".into(), "  fgh".into()], cursor: (1, 5) });
        assert_eq!(rows(&composer, 1), Rows { rows: vec!["  fgh".into()], cursor: (0, 5) });
        composer.clear();
        assert_eq!(rows(&composer, 9), Rows { rows: vec![MARK.into()], cursor: (0, 2) });
        typed(&mut composer, "字\x1b\r\tx\x1b[200~\x1b\x1b[201~");
        assert_eq!(rows(&composer, 9).rows, ["› 字", "  x\u{fffd}"]);
    }

    proptest! {
        #[test]
        fn no_keys_break_it(bytes: Vec<u8>, columns in 1_usize..30, most in 0_usize..5) {
            let mut composer = Composer::default();
            for key in Decoder::default().feed(&bytes) {
                composer.key(key);
                let rows = composer.rows(columns, most);
                prop_assert!(rows.cursor.0 < rows.rows.len());
            }
        }
    }
}
