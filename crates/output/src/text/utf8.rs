//! Bytes to characters across chunk edges: a character split over two chunks appears whole, exactly once, and
//! what is not UTF-8 becomes U+FFFD, just as if all chunks had been decoded in one piece.

use crate::offset::Offset;
use crate::view::View;

/// A streaming, lossy UTF-8 decoder that keeps the addresses of what it decoded.
#[derive(Clone, Debug)]
pub struct Utf8 {
    held: PartialChar,
    at: Offset,
}

impl Utf8 {
    /// A decoder whose first byte has the address `base`.
    #[must_use]
    pub fn new(base: Offset) -> Self {
        Self { held: PartialChar::default(), at: base }
    }

    /// Decodes one whole span at once.
    #[must_use]
    pub fn decode(bytes: &[u8], base: Offset) -> View {
        let mut view = View::new(base);
        let mut decoder = Self::new(base);
        decoder.feed(bytes, &mut view);
        decoder.finish(&mut view);
        view
    }

    /// Decodes a chunk; an unfinished character at its end waits for the next chunk.
    pub fn feed(&mut self, bytes: &[u8], out: &mut View) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = self.step(rest, out);
            rest = &rest[used..];
            self.at += used as u64;
        }
        out.reach(self.at.back(self.held.len() as u64));
    }

    /// Ends the stream: an unfinished character becomes U+FFFD.
    pub fn finish(&mut self, out: &mut View) {
        if !self.held.is_empty() {
            out.push_piece("\u{fffd}", self.at.back(self.held.len() as u64));
            self.held = PartialChar::default();
        }
        out.reach(self.at);
    }

    fn step(&mut self, rest: &[u8], out: &mut View) -> usize {
        if !self.held.is_empty() {
            let from = self.at.back(self.held.len() as u64);
            return match self.held.complete(rest[0]) {
                Completion::More => 1,
                Completion::Char(c) => {
                    out.push(c.encode_utf8(&mut [0; 4]), from);
                    1
                }
                Completion::Broken => {
                    out.push_piece("\u{fffd}", from);
                    0
                }
            };
        }
        let (valid, flaw) = longest_valid(rest);
        if !valid.is_empty() {
            out.push(valid, self.at);
        }
        match flaw {
            Flaw::None => rest.len(),
            Flaw::Invalid { len } => {
                out.push_piece("\u{fffd}", self.at + valid.len() as u64);
                valid.len() + len
            }
            Flaw::Unfinished => {
                self.held.hold(&rest[valid.len()..]);
                rest.len()
            }
        }
    }
}

/// The beginning of a character whose other bytes have not come yet: at most three bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartialChar {
    bytes: [u8; 4],
    len: usize,
}

/// The effect of one more byte on an incomplete character.
pub(crate) enum Completion {
    /// It belongs to the character, which still is not complete.
    More,
    /// It completes the character.
    Char(char),
    /// It does not belong to it: the held bytes are not UTF-8, the byte is still to be looked at.
    Broken,
}

impl PartialChar {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn hold(&mut self, bytes: &[u8]) {
        self.len = bytes.len().min(3);
        self.bytes[..self.len].copy_from_slice(&bytes[..self.len]);
    }

    pub(crate) fn complete(&mut self, byte: u8) -> Completion {
        self.bytes[self.len] = byte;
        match std::str::from_utf8(&self.bytes[..=self.len]) {
            Ok(text) => {
                self.len = 0;
                text.chars().next().map_or(Completion::Broken, Completion::Char)
            }
            Err(error) if error.error_len().is_none() => {
                self.len += 1;
                Completion::More
            }
            Err(_) => {
                self.len = 0;
                Completion::Broken
            }
        }
    }
}

/// The reason why the valid beginning of some bytes ends.
pub(crate) enum Flaw {
    /// Nothing: all of it is valid.
    None,
    /// Bytes that are not UTF-8 whatever follows.
    Invalid {
        /// How many of them stand for one U+FFFD.
        len: usize,
    },
    /// The beginning of a character.
    Unfinished,
}

/// The longest valid beginning of `bytes`, and why it ends there.
pub(crate) fn longest_valid(bytes: &[u8]) -> (&str, Flaw) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text, Flaw::None),
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            let flaw = error.error_len().map_or(Flaw::Unfinished, |len| Flaw::Invalid { len });
            (valid, flaw)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chunks: &[&[u8]], expected: &str) {
        let mut view = View::new(Offset::ZERO);
        let mut decoder = Utf8::new(Offset::ZERO);
        for chunk in chunks {
            decoder.feed(chunk, &mut view);
        }
        decoder.finish(&mut view);
        assert_eq!(view.text(), expected, "{chunks:?}");
        assert_eq!(view.text(), String::from_utf8_lossy(&chunks.concat()));
        assert_eq!(view.end().get(), chunks.concat().len() as u64);
    }

    #[test]
    fn a_split_character_appears_whole_and_once() {
        check(&[b"a\xe2", b"\x82", b"\xacb"], "a€b");
        check(&[b"\xf0\x9f", b"\x98\x80"], "😀");
    }

    #[test]
    fn broken_bytes_become_replacement_characters() {
        check(&[b"a\xffb"], "a\u{fffd}b");
        check(&[b"\xe2\x82", b"x"], "\u{fffd}x");
        check(&[b"\xe2", b"\xe2\x82\xac"], "\u{fffd}€");
        check(&[b"\xf0\x80"], "\u{fffd}\u{fffd}");
        check(&[b"end\xf0\x9f\x98"], "end\u{fffd}");
    }

    #[test]
    fn addresses_survive_replacement() {
        let view = Utf8::decode(b"a\xff\xffb\nc", Offset::new(100));
        assert_eq!(view.text(), "a\u{fffd}\u{fffd}b\nc");
        assert_eq!(view.raw_at(0).get(), 100);
        assert_eq!(view.raw_at(1).get(), 101);
        assert_eq!(view.raw_at(4).get(), 102);
        assert_eq!(view.raw_at(7).get(), 103);
        assert_eq!(view.raw_at(9).get(), 105);
        assert_eq!(view.raw_at(10).get(), 106);
    }
}
