//! Notes on violations by a server that were tolerated: a bounded list of lines, of which the newest are kept, for
//! diagnosis.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// The most notes that are kept for one server.
const KEPT: usize = 16;

/// The longest note, in bytes.
const LONGEST: usize = 300;

/// The notes about one server.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<VecDeque<String>>);

impl Notes {
    /// Adds a note, unless it equals the last one.
    pub(crate) fn add(&self, note: &str) {
        let mut note = note.to_owned();
        note.truncate(note.floor_char_boundary(LONGEST));
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.back() == Some(&note) {
            return;
        }
        if notes.len() == KEPT {
            notes.pop_front();
        }
        notes.push_back(note);
    }

    /// All notes that are kept.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

/// The beginning of a server's output, on one line.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 120;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]);
    let shown: String = text.chars().take(SHOWN).collect();
    let more = if shown.len() < bytes.len() { "…" } else { "" };
    format!("`{}{more}`", shown.escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_notes_are_kept_and_repetitions_are_not() {
        let notes = Notes::default();
        for number in 0..40 {
            notes.add(&format!("note {}", number / 2));
        }
        let all = notes.all();
        assert_eq!((all.len(), all[0].as_str(), all[15].as_str()), (KEPT, "note 4", "note 19"));
    }

    #[test]
    fn quotes_are_short_and_on_one_line() {
        assert_eq!(quote(b"a\x1b[1m\nb"), "`a\\u{1b}[1m\\nb`");
        assert_eq!(quote(b"\xff"), "`\u{fffd}…`".replace('…', ""));
        assert!(quote(&[b'x'; 5000]).ends_with("x…`"));
    }
}
