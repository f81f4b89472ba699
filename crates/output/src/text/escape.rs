//! The grammar of terminal escape codes, resumable at any byte. It knows where codes begin and end and hands out
//! the few that can change text; what they mean is decided by its callers.
//!
//! A string code (OSC, DCS, ...) that is never closed would swallow all later output, which no log may do. So an OSC
//! ends at a newline, one opened by an 8-bit code at any control, and every string at [`LONGEST_STRING`].

/// How many bytes of one string code are skipped before it is taken for an accident.
const LONGEST_STRING: usize = 16 << 20;

/// ControlSequence longer than this belong to no known code; such a code is skipped.
const LONGEST_PARAMETERS: usize = 48;

pub(crate) const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// Where inside an escape code the stream stands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Escapes {
    state: State,
    sequence: ControlSequence,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Ground,
    Escape,
    Intermediate,
    Control,
    Text(Text),
}

/// A string code being skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Text {
    ends_at: EndsAt,
    skipped: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum EndsAt {
    Terminator,
    Newline,
    AnyControl,
}

/// What a step of the grammar found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Code {
    /// `ESC [ parameters last`.
    Csi(ControlSequence),
    /// `ESC last`.
    Esc(u8),
    /// A control byte in the middle of a code, which terminals obey at once.
    Control(u8),
}

impl Escapes {
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// Enters a code; call it at ESC.
    pub(crate) fn begin(&mut self) {
        self.state = State::Escape;
    }

    /// Enters the code that a byte outside UTF-8 opens, if it is one of those.
    pub(crate) fn begin_c1(&mut self, byte: u8) -> bool {
        self.state = match byte {
            0x9b => self.control_sequence(),
            0x90 | 0x98 | 0x9d | 0x9e | 0x9f => string(EndsAt::AnyControl),
            0x9c => State::Ground,
            _ => return false,
        };
        true
    }

    /// Advances inside a code, at least to its end or the end of `bytes`. Returns how many bytes were used and
    /// what, if anything, is to be done.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> (usize, Option<Code>) {
        match self.state {
            State::Ground => (0, None),
            State::Escape => self.after_escape(bytes[0]),
            State::Intermediate => self.after_intermediate(bytes[0]),
            State::Control => self.inside_control_sequence(bytes),
            State::Text(text) => self.inside_string(bytes, text),
        }
    }

    fn after_escape(&mut self, byte: u8) -> (usize, Option<Code>) {
        self.state = match byte {
            b'[' => self.control_sequence(),
            b']' => string(EndsAt::Newline),
            b'P' | b'X' | b'^' | b'_' => string(EndsAt::Terminator),
            0x20..=0x2f => State::Intermediate,
            ESC => State::Escape,
            0x30..=0x7e => {
                self.state = State::Ground;
                return (1, Some(Code::Esc(byte)));
            }
            _ => return self.stray(byte),
        };
        (1, None)
    }

    fn after_intermediate(&mut self, byte: u8) -> (usize, Option<Code>) {
        match byte {
            0x20..=0x2f => (1, None),
            0x30..=0x7e => {
                self.state = State::Ground;
                (1, None)
            }
            _ => self.stray(byte),
        }
    }

    fn inside_control_sequence(&mut self, bytes: &[u8]) -> (usize, Option<Code>) {
        let end = bytes.iter().position(|byte| !(0x20..=0x3f).contains(byte));
        let Some(end) = end else {
            self.sequence.extend(bytes);
            return (bytes.len(), None);
        };
        let last = bytes[end];
        match last {
            // Colours are by far the most frequent code and never move the cursor.
            b'm' => {
                self.state = State::Ground;
                (end + 1, None)
            }
            0x40..=0x7e => {
                self.sequence.extend(&bytes[..end]);
                self.state = State::Ground;
                self.sequence.last = last;
                let known = !self.sequence.overflowed;
                (end + 1, known.then_some(Code::Csi(self.sequence)))
            }
            _ => {
                self.sequence.extend(&bytes[..end]);
                let (used, code) = self.stray(last);
                (end + used, code)
            }
        }
    }

    /// A byte that is no part of the code it stands in: controls are obeyed, ESC begins anew, the rest is text.
    fn stray(&mut self, byte: u8) -> (usize, Option<Code>) {
        match byte {
            ESC => self.state = State::Escape,
            CAN | SUB => self.state = State::Ground,
            0x7f => {}
            0x00..=0x1f => return (1, Some(Code::Control(byte))),
            _ => {
                self.state = State::Ground;
                return (0, None);
            }
        }
        (1, None)
    }

    fn inside_string(&mut self, bytes: &[u8], text: Text) -> (usize, Option<Code>) {
        let room = LONGEST_STRING - text.skipped;
        let bytes = &bytes[..bytes.len().min(room)];
        let Some(end) = bytes.iter().position(|&byte| text.ends_at.stops(byte)) else {
            let skipped = text.skipped + bytes.len();
            let over = skipped >= LONGEST_STRING;
            self.state = if over { State::Ground } else { State::Text(Text { skipped, ..text }) };
            return (bytes.len(), None);
        };
        match bytes[end] {
            // The terminator is `ESC \`; any other code after ESC is obeyed as well.
            ESC => self.state = State::Escape,
            BEL | CAN | SUB => self.state = State::Ground,
            0x9c => self.state = State::Ground,
            _ => {
                self.state = State::Ground;
                return (end, None);
            }
        }
        (end + 1, None)
    }

    fn control_sequence(&mut self) -> State {
        self.sequence = ControlSequence::default();
        State::Control
    }
}

impl EndsAt {
    fn stops(self, byte: u8) -> bool {
        match byte {
            ESC | BEL | CAN | SUB => true,
            b'\n' => self != Self::Terminator,
            0x9c => self == Self::AnyControl,
            _ => byte < 0x20 && self == Self::AnyControl,
        }
    }
}

fn string(ends_at: EndsAt) -> State {
    State::Text(Text { ends_at, skipped: 0 })
}

/// What stands between `ESC [` and the last byte, and that byte.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ControlSequence {
    bytes: [u8; LONGEST_PARAMETERS],
    len: usize,
    overflowed: bool,
    last: u8,
}

impl Default for ControlSequence {
    fn default() -> Self {
        Self { bytes: [0; LONGEST_PARAMETERS], len: 0, overflowed: false, last: 0 }
    }
}

impl ControlSequence {
    /// The `index`th number; `missing` when it was left out or is zero.
    pub(crate) fn number(&self, index: usize, missing: usize) -> usize {
        match self.numbers().nth(index) {
            None | Some(0) => missing,
            Some(number) => number,
        }
    }

    /// All numbers; one that was left out is zero.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        let text = self.as_bytes();
        let text = text.strip_prefix(b"?").unwrap_or(text);
        text.split(|&byte| byte == b';').map(number)
    }

    /// The byte that says what it does.
    pub(crate) fn last(&self) -> u8 {
        self.last
    }

    /// Whether this is a DEC private code (`ESC [ ? ...`).
    pub(crate) fn is_private(&self) -> bool {
        self.as_bytes().first() == Some(&b'?')
    }

    /// Whether it is made of digits and semicolons only.
    pub(crate) fn is_plain(&self) -> bool {
        self.as_bytes().iter().all(|byte| byte.is_ascii_digit() || *byte == b';')
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn extend(&mut self, bytes: &[u8]) {
        let Some(free) = self.bytes.get_mut(self.len..self.len + bytes.len()) else {
            self.overflowed = true;
            return;
        };
        free.copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

fn number(digits: &[u8]) -> usize {
    let digit = |sum: usize, byte: &u8| match byte {
        b'0'..=b'9' => sum.saturating_mul(10).saturating_add(usize::from(byte - b'0')),
        _ => sum,
    };
    digits.iter().fold(0, digit)
}
