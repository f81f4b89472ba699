//! Keeps string codes (titles, links, clipboards, pictures) bounded before they reach the emulator, which would wait
//! for the end of one for ever: it would collect a title without limit, and show nothing of what follows. The rules are
//! those of settled text, so that both views agree.

use memchr::memchr;

use crate::text::{Code, ControlSequence, Escapes, Hidden};

const ESC: u8 = 0x1b;
const CAN: u8 = 0x18;

#[derive(Clone, Debug, Default)]
pub(super) struct StringGuard {
    escapes: Escapes,
    hidden: Hidden,
}

impl StringGuard {
    /// Hands on what the emulator may see of a chunk.
    pub(super) fn feed(&mut self, bytes: &[u8], mut show: impl FnMut(&[u8])) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let used = if let Some(opener) = self.escapes.string() {
                self.inside_string(rest, opener, &mut show)
            } else if self.escapes.is_ground() {
                let text = memchr(ESC, rest).unwrap_or(rest.len());
                let used = rest.len().min(text + 1);
                show(&rest[..used]);
                if text < rest.len() {
                    self.escapes.begin();
                }
                used
            } else {
                let (used, code) = self.escapes.step(rest);
                show(&rest[..used]);
                if let Some(Code::Csi(sequence)) = code {
                    show(newer_code(&sequence));
                }
                used
            };
            rest = &rest[used..];
        }
    }

    /// The emulator sees a string when it has ended: it obeys what it has, also if the string is cancelled.
    fn inside_string(&mut self, rest: &[u8], opener: u8, show: &mut impl FnMut(&[u8])) -> usize {
        let (used, code) = self.escapes.step(rest);
        let ends = self.escapes.string().is_none();
        if code == Some(Code::Unterminated) {
            self.hidden.add(&rest[..used]);
            let (opened, text) = self.hidden.take(opener);
            for piece in [&[CAN], opened.as_bytes(), &text] {
                show(piece);
            }
        } else if ends {
            // The last byte ends the string, or begins another code.
            let (inside, last) = rest[..used].split_at(used - 1);
            self.hidden.add(inside);
            self.end_string(last, opener, show);
        } else {
            self.hidden.add(&rest[..used]);
        }
        used
    }

    fn end_string(&mut self, last: &[u8], opener: u8, show: &mut impl FnMut(&[u8])) {
        let whole = self.hidden.whole();
        show(whole.unwrap_or(&[CAN]));
        // The emulator ends only titles at a bell.
        let ends = last == [ESC] || (opener == b']' && whole.is_some());
        show(if ends { last } else { &[CAN] });
        self.hidden.clear();
    }
}

/// The emulator knows one code for the alternate screen; this is what it understands by the older two.
fn newer_code(sequence: &ControlSequence) -> &'static [u8] {
    let is_older = sequence.is_private() && sequence.numbers().any(|mode| matches!(mode, 47 | 1047));
    match sequence.last() {
        b'h' if is_older => b"\x1b[?1049h",
        b'l' if is_older => b"\x1b[?1049l",
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &[u8]) {
        for chunk in [1, 1000, bytes.len()] {
            let mut guard = StringGuard::default();
            let mut seen = Vec::new();
            bytes.chunks(chunk).for_each(|chunk| guard.feed(chunk, |piece| seen.extend_from_slice(piece)));
            assert_eq!(seen, expected, "chunks of {chunk}");
        }
    }

    #[test]
    fn ordinary_output_passes_unchanged() {
        let bytes = b"a\x1b]0;title\x07b\x1b]8;;link\x1b\\c\x1b[1md\x1b\x1b]x\x1b\\";
        check(bytes, bytes);
        let bytes = b"\x1bP1$r0m\x1b\\a\x1b_Gpicture\nmore\x1b\\b";
        check(bytes, bytes);
    }

    #[test]
    fn a_command_without_end_is_cancelled() {
        let text = [b"a\x1b]".as_slice(), &[b'x'; 100_000], b"more\x1b\\b"].concat();
        check(&text, b"a\x1b]\x18\x1b\\b");
        check(b"a\x1b]10;?\nb", "a\x1b]\x18␛]10;?\nb".as_bytes());
    }

    #[test]
    fn text_behind_a_string_without_end_is_shown() {
        check(b"a\x1bPFAILED 3 tests\nb", "a\x1bP\x18␛PFAILED 3 tests\nb".as_bytes());
        check(b"a\x1b_hidden\x07shown", b"a\x1b_hidden\x18shown");
    }
}
