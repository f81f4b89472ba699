//! The pause before a question takes the keyboard. A person who types while a question appears is not answering it:
//! their keys are dropped until the keyboard has rested, and the screen shows which. Browsers delay their dialogs for
//! the same reason.
//!
//! Pure: the caller passes in the time.

use std::time::Duration;

use tokio::time::Instant;

use super::keys::Key;

/// How long the keyboard must rest: longer than the gaps within a typed word, shorter than it takes to read a question.
const REST: Duration = Duration::from_millis(600);

/// Keys that are held back from a question.
#[derive(Debug)]
pub(super) struct Hold {
    until: Instant,
    dropped: Dropped,
}

/// The keys that were dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dropped {
    /// Their text; newlines are replaced by visible signs.
    pub(super) text: String,
}

impl Hold {
    pub(super) fn begin(now: Instant) -> Self {
        Self { until: now + REST, dropped: Dropped::default() }
    }

    /// When the keyboard will have rested if no key follows.
    pub(super) fn until(&self) -> Instant {
        self.until
    }

    /// Drops keys, except those that can only refuse.
    pub(super) fn take(&mut self, keys: Vec<Key>, now: Instant) -> Vec<Key> {
        let refuses = |key: &Key| matches!(key, Key::Escape | Key::Interrupt | Key::EndOfInput);
        let (passed, dropped): (Vec<Key>, Vec<Key>) = keys.into_iter().partition(refuses);
        if !dropped.is_empty() {
            self.extend(now);
        }
        for key in &dropped {
            self.dropped.add(key);
        }
        passed
    }

    /// Restarts the pause, because the person is still typing.
    pub(super) fn extend(&mut self, now: Instant) {
        self.until = now + REST;
    }

    /// Ends the pause and returns the dropped keys.
    pub(super) fn end(self) -> Dropped {
        self.dropped
    }
}

impl Dropped {
    fn add(&mut self, key: &Key) {
        match key {
            Key::Char(char) => self.text.push(*char),
            Key::Paste(text) => self.text.push_str(&text.replace('\n', "⏎")),
            Key::Enter | Key::LineFeed | Key::NewLine => self.text.push('⏎'),
            // A typing error that the person corrected need not be reported.
            Key::Backspace => drop(self.text.pop()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Decoder;
    use super::*;

    #[test]
    fn keys_are_dropped_and_the_pause_begins_anew_with_each() {
        let start = Instant::now();
        let mut hold = Hold::begin(start);
        assert_eq!(hold.until(), start + REST);
        let later = start + REST / 2;
        assert_eq!(hold.take(Decoder::default().feed(b"y\x1b[Aes\r"), later), []);
        assert_eq!(hold.until(), later + REST);
        assert_eq!(hold.end().text, "yes⏎");
    }

    #[test]
    fn keys_that_refuse_pass_at_once() {
        let now = Instant::now();
        let mut hold = Hold::begin(now);
        assert_eq!(hold.take(Decoder::default().feed(b"y\x03\x04"), now), [Key::Interrupt, Key::EndOfInput]);
        assert_eq!(hold.end().text, "y");
    }

    #[test]
    fn pastes_are_dropped_whole() {
        let now = Instant::now();
        let mut hold = Hold::begin(now);
        assert_eq!(hold.take(Decoder::default().feed(b"\x1b[200~yes\ralways\r\x1b[201~"), now), []);
        assert_eq!(hold.end().text, "yes⏎always⏎");
    }
}
