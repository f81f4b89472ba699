//! Finds out whether output contains a question to the terminal, at nearly no cost for output that contains none: the
//! code that answers (see [`Screen`](crate::Screen)) then needs to look only at output that asks.

use memchr::memchr;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// A resumable search for questions. It may take something harmless for a question, never the reverse.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueryScanner {
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Outside,
    AfterEscape,
    /// Inside `ESC [`; whether a `?` or a `$` was among the parameters.
    Sequence {
        private: bool,
        dollar: bool,
    },
    /// Inside `ESC ]`; whether a `?` was seen.
    Command {
        asks: bool,
    },
    /// Inside `ESC P`.
    Device,
}

impl QueryScanner {
    /// A search from the beginning of an output.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a question ends in this chunk.
    pub fn feed(&mut self, bytes: &[u8]) -> bool {
        let mut found = false;
        let mut rest = bytes;
        while !rest.is_empty() {
            if self.state == State::Outside {
                let Some(at) = memchr(ESC, rest) else { break };
                self.state = State::AfterEscape;
                rest = &rest[at + 1..];
                continue;
            }
            found |= self.step(rest[0]);
            rest = &rest[1..];
        }
        found
    }

    fn step(&mut self, byte: u8) -> bool {
        if matches!(byte, CAN | SUB) {
            self.state = State::Outside;
            return false;
        }
        match self.state {
            State::Outside => false,
            State::AfterEscape => self.after_escape(byte),
            State::Sequence { private, dollar } => self.in_sequence(byte, private, dollar),
            State::Command { asks } => self.in_command(byte, asks),
            State::Device => self.in_device(byte),
        }
    }

    fn after_escape(&mut self, byte: u8) -> bool {
        self.state = match byte {
            b'[' => State::Sequence { private: false, dollar: false },
            b']' => State::Command { asks: false },
            b'P' => State::Device,
            // Controls are obeyed in the middle of a code, which goes on after them.
            ESC | 0x00..=0x1f | 0x7f.. => State::AfterEscape,
            _ => State::Outside,
        };
        byte == b'Z'
    }

    fn in_sequence(&mut self, byte: u8, private: bool, dollar: bool) -> bool {
        self.state = match byte {
            ESC => State::AfterEscape,
            b'?' => State::Sequence { private: true, dollar },
            b'$' => State::Sequence { private, dollar: true },
            0x00..=0x3f | 0x7f.. => return false,
            _ => State::Outside,
        };
        match byte {
            b'c' | b'n' | b't' | b'x' | b'q' => true,
            b'p' => dollar,
            b'u' | b'S' | b'm' => private,
            _ => false,
        }
    }

    fn in_command(&mut self, byte: u8, asks: bool) -> bool {
        self.state = match byte {
            ESC => State::AfterEscape,
            BEL => State::Outside,
            b'?' => State::Command { asks: true },
            _ => return false,
        };
        asks && matches!(byte, ESC | BEL)
    }

    /// `DCS $ q` and `DCS + q` ask; other device strings are rare enough to count as asking too.
    fn in_device(&mut self, byte: u8) -> bool {
        if byte == ESC {
            self.state = State::AfterEscape;
        }
        byte == ESC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], asks: bool) {
        assert_eq!(QueryScanner::new().feed(bytes), asks, "{bytes:?}");
        let mut scanner = QueryScanner::new();
        let found = bytes.chunks(1).filter(|byte| scanner.feed(byte)).count() > 0;
        assert_eq!(found, asks, "{bytes:?} byte by byte");
    }

    #[test]
    fn questions_are_found_at_any_chunk_edge() {
        for query in [
            "\x1b[c",
            "\x1b[0c",
            "\x1b[>c",
            "\x1b[=c",
            "\x1b[5n",
            "\x1b[6n",
            "\x1b[?6n",
            "\x1b[?2026$p",
            "\x1b[4$p",
            "\x1b[14t",
            "\x1b[18t",
            "\x1b]10;?\x07",
            "\x1b]11;?\x1b\\",
            "\x1b]4;1;?\x07",
            "\x1bZ",
            "\x1b[?u",
            "\x1bP+q544e\x1b\\",
            "\x1bP$qm\x1b\\",
            "\x1b[>q",
        ] {
            check(format!("text {query} text").as_bytes(), true);
        }
    }

    #[test]
    fn ordinary_output_asks_nothing() {
        for text in [
            "",
            "plain?",
            "\x1b[31mred?\x1b[0m",
            "\x1b]0;why?\n",
            "\x1b[?25h",
            "\x1b[2J\x1b[H",
            "\x1b(B",
            "\x1b[6\x18n",
        ] {
            check(text.as_bytes(), false);
        }
    }
}
