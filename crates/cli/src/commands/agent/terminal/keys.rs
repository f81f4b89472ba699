//! Decodes a terminal's bytes into keys. Pure: it reads nothing and has no clock, so the caller decides when a lone
//! Escape is a key of its own and not the beginning of a sequence.

/// The largest paste; no model reads more.
const MOST_PASTE: usize = 1 << 20;
/// The longest sequence that any key sends.
const LONGEST: usize = 32;

const ESCAPE: u8 = 0x1b;
const PASTE_END: &[u8] = b"\x1b[201~";

/// A key, or a paste.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Paste(String),
    Enter,
    /// Ctrl-J, or the end of a line if the terminal edits lines itself.
    LineFeed,
    /// Alt-Enter, or Shift-Enter if the terminal distinguishes it.
    NewLine,
    Backspace,
    Delete,
    DeleteWord,
    DeleteToStart,
    DeleteToEnd,
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Up,
    Down,
    Tab,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-L.
    Redraw,
}

/// A decoder that stores bytes which do not form a whole key yet.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    pending: Vec<u8>,
    pasted: Option<Vec<u8>>,
}

/// The meaning of the first pending bytes.
enum Parsed {
    /// A key of this many bytes.
    Key(Key, usize),
    /// An ignored sequence of this many bytes.
    Nothing(usize),
    PasteBegins(usize),
    /// More bytes are needed.
    Unfinished,
}

impl Decoder {
    /// Adds bytes and returns the keys that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while !self.pending.is_empty() && self.step(&mut keys) {}
        keys
    }

    /// Whether a paste has begun and not ended.
    pub(super) fn is_in_paste(&self) -> bool {
        self.pasted.is_some()
    }

    /// Discards an incomplete key.
    pub(super) fn forget(&mut self) {
        self.pending.clear();
    }

    /// Whether an incomplete key is pending that only a timeout can decide.
    pub(super) fn is_waiting(&self) -> bool {
        self.pasted.is_none() && self.pending.first() == Some(&ESCAPE)
    }

    /// Called after the timeout: a lone Escape becomes a key.
    pub(super) fn give_up_waiting(&mut self) -> Vec<Key> {
        if !self.is_waiting() {
            return Vec::new();
        }
        self.pending.remove(0);
        let rest = std::mem::take(&mut self.pending);
        // `ESC [` alone is Alt-[, which has no meaning here.
        let mut keys = if rest.is_empty() { vec![Key::Escape] } else { Vec::new() };
        keys.extend(self.feed(rest.get(1..).unwrap_or_default()));
        keys
    }

    fn step(&mut self, keys: &mut Vec<Key>) -> bool {
        if self.pasted.is_some() {
            return self.paste(keys);
        }
        let used = match parse(&self.pending) {
            Parsed::Key(key, used) => {
                keys.push(key);
                used
            }
            Parsed::Nothing(used) => used,
            Parsed::PasteBegins(used) => {
                self.pasted = Some(Vec::new());
                used
            }
            Parsed::Unfinished => return false,
        };
        self.pending.drain(..used);
        true
    }

    /// Takes pasted bytes up to the end mark, of which a part may still be missing.
    fn paste(&mut self, keys: &mut Vec<Key>) -> bool {
        let end = self.pending.windows(PASTE_END.len()).position(|window| window == PASTE_END);
        let kept = if end.is_some() { 0 } else { PASTE_END.len() - 1 };
        let taken = end.unwrap_or_else(|| self.pending.len().saturating_sub(kept));
        let Some(pasted) = &mut self.pasted else { return false };
        let room = MOST_PASTE.saturating_sub(pasted.len());
        pasted.extend_from_slice(&self.pending[..taken.min(room)]);
        self.pending.drain(..taken);
        if end.is_none() {
            return false;
        }
        self.pending.drain(..PASTE_END.len());
        let text = String::from_utf8_lossy(&self.pasted.take().unwrap_or_default())
            .replace("\r\n", "\n")
            .replace('\r', "\n");
        keys.push(Key::Paste(text));
        true
    }
}

fn parse(bytes: &[u8]) -> Parsed {
    match bytes[0] {
        ESCAPE => escaped(bytes),
        byte if byte < 0x20 || byte == 0x7f => control(byte),
        _ => character(bytes),
    }
}

fn control(byte: u8) -> Parsed {
    let key = match byte {
        b'\r' => Key::Enter,
        b'\n' => Key::LineFeed,
        b'\t' => Key::Tab,
        0x7f | 0x08 => Key::Backspace,
        0x01 => Key::Home,
        0x02 => Key::Left,
        0x03 => Key::Interrupt,
        0x04 => Key::EndOfInput,
        0x05 => Key::End,
        0x06 => Key::Right,
        0x0b => Key::DeleteToEnd,
        0x0c => Key::Redraw,
        0x0e => Key::Down,
        0x10 => Key::Up,
        0x15 => Key::DeleteToStart,
        0x17 => Key::DeleteWord,
        _ => return Parsed::Nothing(1),
    };
    Parsed::Key(key, 1)
}

fn character(bytes: &[u8]) -> Parsed {
    let length = match bytes[0] {
        0x00..=0x7f => 1,
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Parsed::Nothing(1),
    };
    let Some(whole) = bytes.get(..length) else {
        let broken = bytes[1..].iter().any(|byte| byte & 0xc0 != 0x80);
        return if broken { Parsed::Nothing(1) } else { Parsed::Unfinished };
    };
    match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
        // C1 control characters are not text.
        Some(char) if char.is_control() => Parsed::Nothing(length),
        Some(char) => Parsed::Key(Key::Char(char), length),
        None => Parsed::Nothing(1),
    }
}

fn escaped(bytes: &[u8]) -> Parsed {
    let key = match bytes.get(1) {
        None => return Parsed::Unfinished,
        Some(b'[') => return sequence(bytes),
        Some(b'O') => return with_final(bytes, 2, bytes.get(2)),
        Some(&ESCAPE) => return Parsed::Key(Key::Escape, 1),
        Some(b'\r' | b'\n') => Key::NewLine,
        Some(0x7f | 0x08) => Key::DeleteWord,
        Some(b'b') => Key::WordLeft,
        Some(b'f') => Key::WordRight,
        // People press Escape and Ctrl-C in quick succession; the second key must not be lost.
        Some(0x03) => return Parsed::Key(Key::Escape, 1),
        Some(_) => return Parsed::Nothing(2),
    };
    Parsed::Key(key, 2)
}

/// `ESC O` and a letter.
fn with_final(_bytes: &[u8], before: usize, last: Option<&u8>) -> Parsed {
    match last.map(|last| letter(*last, false)) {
        None => Parsed::Unfinished,
        Some(Some(key)) => Parsed::Key(key, before + 1),
        Some(None) => Parsed::Nothing(before + 1),
    }
}

/// `ESC [`, numbers, and a letter or a tilde.
fn sequence(bytes: &[u8]) -> Parsed {
    let last = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte));
    let Some(last) = last else {
        return if bytes.len() > LONGEST { Parsed::Nothing(1) } else { Parsed::Unfinished };
    };
    let (used, final_byte) = (last + 3, bytes[last + 2]);
    let numbers: Vec<u32> = String::from_utf8_lossy(&bytes[2..last + 2])
        .split(';')
        .map(|number| number.parse().unwrap_or_default())
        .collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
    let modified = number(1) > 2;
    let key = match (final_byte, number(0)) {
        (b'~', 200) => return Parsed::PasteBegins(used),
        (b'~', 1 | 7) => Some(Key::Home),
        (b'~', 4 | 8) => Some(Key::End),
        (b'~', 3) => Some(Key::Delete),
        (b'~', 27) if number(2) == 13 => Some(Key::NewLine),
        (b'u', 13) => Some(if numbers.len() > 1 { Key::NewLine } else { Key::Enter }),
        (b'u', 27) => Some(Key::Escape),
        (last, _) => letter(last, modified),
    };
    key.map_or(Parsed::Nothing(used), |key| Parsed::Key(key, used))
}

fn letter(letter: u8, by_word: bool) -> Option<Key> {
    Some(match (letter, by_word) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', false) => Key::Right,
        (b'C', true) => Key::WordRight,
        (b'D', false) => Key::Left,
        (b'D', true) => Key::WordLeft,
        (b'H', _) => Key::Home,
        (b'F', _) => Key::End,
        (b'M', _) => Key::Enter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(bytes: &[u8], expected: &[Key]) {
        assert_eq!(Decoder::default().feed(bytes), expected, "{bytes:?}");
    }

    #[test]
    fn keys_are_told_apart() {
        check("aä字".as_bytes(), &[Key::Char('a'), Key::Char('ä'), Key::Char('字')]);
        check(b"\r\n\x1b\r", &[Key::Enter, Key::LineFeed, Key::NewLine]);
        check(
            b"\x1b[D\x1b[1;5C\x1bOA\x1b[H\x1b[4~",
            &[Key::Left, Key::WordRight, Key::Up, Key::Home, Key::End],
        );
        check(
            b"\x7f\x1b\x7f\x17\x15\x0b\x1b[3~",
            &[
                Key::Backspace,
                Key::DeleteWord,
                Key::DeleteWord,
                Key::DeleteToStart,
                Key::DeleteToEnd,
                Key::Delete,
            ],
        );
        check(
            b"\x03\x04\x0c\x1b\x03",
            &[Key::Interrupt, Key::EndOfInput, Key::Redraw, Key::Escape, Key::Interrupt],
        );
        check(b"\x1b[13;2u\x1b[27;2;13~\x1b[99x", &[Key::NewLine, Key::NewLine]);
    }

    #[test]
    fn a_paste_is_one_text_whatever_it_holds() {
        let paste = |text: &str| vec![Key::Paste(text.to_owned())];
        check(b"\x1b[200~a\r\nb\rc\x1b[Ad\x1b[201~", &paste("a\nb\nc\x1b[Ad"));
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\x1b[200~on\x1b[20"), []);
        assert!(!decoder.is_waiting(), "a paste ends with its mark, not with time");
        assert_eq!(decoder.feed(b"1~x"), [Key::Paste("on".into()), Key::Char('x')]);
    }

    #[test]
    fn a_lone_escape_is_a_key_once_nothing_follows() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\x1b"), []);
        assert!(decoder.is_waiting());
        assert_eq!(decoder.give_up_waiting(), [Key::Escape]);
        assert_eq!(decoder.feed(b"\x1b"), []);
        assert_eq!(decoder.feed(b"[C"), [Key::Right]);
    }

    proptest! {
        #[test]
        fn how_bytes_are_cut_into_reads_changes_nothing(bytes: Vec<u8>, cut in 0_usize..64) {
            let whole = Decoder::default().feed(&bytes);
            let mut decoder = Decoder::default();
            let (head, tail) = bytes.split_at(cut.min(bytes.len()));
            let mut keys = decoder.feed(head);
            keys.extend(decoder.feed(tail));
            prop_assert_eq!(keys, whole);
            prop_assert!(decoder.pending.len() <= LONGEST + 1);
        }
    }
}
