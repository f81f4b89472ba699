//! Keeps operating system commands (titles, links, clipboards) bounded before they reach the emulator, which would
//! otherwise collect one that never ends without limit.

use memchr::{memchr, memchr3};

/// Longer ones are cancelled.
const LONGEST_COMMAND: usize = 64 << 10;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum TitleGuard {
    #[default]
    Outside,
    AfterEscape,
    Inside {
        len: usize,
    },
    /// Inside a command that was cancelled.
    Cancelled,
}

impl TitleGuard {
    /// What the emulator may see of a chunk: all of it, unless a command in it is too long.
    pub(super) fn pieces<'a>(&mut self, bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut pieces = Vec::new();
        let mut from = 0;
        let mut at = 0;
        while at < bytes.len() {
            let before = *self;
            at += self.advance(&bytes[at..]);
            match (before, *self) {
                (Self::Inside { .. }, Self::Cancelled) => pieces.extend([&bytes[from..at], &[CAN]]),
                // The byte that ends a cancelled command may begin another code.
                (Self::Cancelled, now) if now != Self::Cancelled => from = at - 1,
                _ => {}
            }
        }
        if *self != Self::Cancelled {
            pieces.push(&bytes[from..]);
        }
        pieces
    }

    /// Goes on to the next byte that matters and says how far that was.
    fn advance(&mut self, bytes: &[u8]) -> usize {
        match *self {
            Self::Outside => {
                let Some(at) = memchr(ESC, bytes) else { return bytes.len() };
                *self = Self::AfterEscape;
                at + 1
            }
            Self::AfterEscape => {
                *self = match bytes[0] {
                    b']' => Self::Inside { len: 0 },
                    ESC => Self::AfterEscape,
                    _ => Self::Outside,
                };
                1
            }
            Self::Inside { len } => self.inside(bytes, len),
            Self::Cancelled => end_of_command(bytes).map_or(bytes.len(), |at| {
                *self = outside_after(bytes[at]);
                at + 1
            }),
        }
    }

    fn inside(&mut self, bytes: &[u8], len: usize) -> usize {
        let room = LONGEST_COMMAND - len;
        let end = end_of_command(&bytes[..bytes.len().min(room)]);
        if let Some(at) = end {
            *self = outside_after(bytes[at]);
            return at + 1;
        }
        if bytes.len() < room {
            *self = Self::Inside { len: len + bytes.len() };
            return bytes.len();
        }
        *self = Self::Cancelled;
        room
    }
}

fn end_of_command(bytes: &[u8]) -> Option<usize> {
    let first = memchr3(ESC, BEL, CAN, bytes);
    let substitute = memchr(SUB, &bytes[..first.unwrap_or(bytes.len())]);
    substitute.or(first)
}

fn outside_after(last: u8) -> TitleGuard {
    if last == ESC { TitleGuard::AfterEscape } else { TitleGuard::Outside }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &[u8]) {
        for chunk in [1, 1000, bytes.len()] {
            let mut guard = TitleGuard::default();
            let seen: Vec<u8> = bytes.chunks(chunk).flat_map(|chunk| guard.pieces(chunk).concat()).collect();
            assert_eq!(seen, expected, "chunks of {chunk}");
        }
    }

    #[test]
    fn ordinary_output_passes_unchanged() {
        let bytes = b"a\x1b]0;title\x07b\x1b]8;;link\x1b\\c\x1b[1md\x1b\x1b]x";
        check(bytes, bytes);
    }

    #[test]
    fn a_command_without_end_is_cancelled() {
        let text = [b"a\x1b]".as_slice(), &[b'x'; LONGEST_COMMAND], b"more\x1b\\b"].concat();
        let seen = [b"a\x1b]".as_slice(), &[b'x'; LONGEST_COMMAND], &[CAN], b"\x1b\\b"].concat();
        check(&text, &seen);
    }
}
