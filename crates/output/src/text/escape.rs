//! The grammar of terminal escape codes, resumable at any byte. It knows where codes begin and end and returns the few
//! that can change text; its callers decide what they mean.
//!
//! A string code (OSC, DCS, APC, PM, SOS) that is never closed would swallow all later output, which a log must not do.
//! Real terminals wait for its end for ever. Here a newline ends an OSC, which carries a title, a link or a clipboard
//! and never a newline; and it ends any other string if a blank or a byte outside ASCII was on the line: pictures and
//! fonts have newlines and neither of these, prose has. Every string ends at [`LONGEST_STRING`]. The caller then shows
//! the hidden text (see [`Hidden`]).

/// How many bytes of one string code are skipped before it counts as unterminated.
const LONGEST_STRING: usize = 16 << 20;

/// Parameters longer than this belong to no known code; such a code is skipped.
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
    /// Behind the intermediate byte of a code; zero if there are several.
    Intermediate(u8),
    Control,
    Text(Text),
}

/// A string code being skipped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Text {
    /// The byte that, behind ESC, opens it.
    opener: u8,
    /// Whether it was opened by an 8-bit code, and so may end with one.
    eight_bit: bool,
    /// Whether something was on the line that only prose has.
    prose: bool,
    skipped: usize,
}

/// The result of one step of the grammar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Code {
    /// `ESC [ parameters last`.
    Csi(ControlSequence),
    /// `ESC last`, or `ESC intermediate last`.
    Esc(EscapeSequence),
    /// A control byte in the middle of a code, which terminals obey at once.
    Control(u8),
    /// A string code that has no end: what it hid was text.
    Unterminated,
}

/// A code without parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct EscapeSequence {
    pub(crate) intermediate: Option<u8>,
    pub(crate) last: u8,
}

impl Escapes {
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground
    }

    /// The byte that opened the string code in which the stream stands.
    pub(crate) fn string(&self) -> Option<u8> {
        match self.state {
            State::Text(text) => Some(text.opener),
            _ => None,
        }
    }

    /// Enters a code; call it at ESC.
    pub(crate) fn begin(&mut self) {
        self.state = State::Escape;
    }

    /// Enters the code that a byte outside UTF-8 opens, if it is one of those. Only a program that switched 8-bit codes
    /// on means one by it: in text of an older encoding the same bytes are letters.
    pub(crate) fn begin_c1(&mut self, byte: u8) -> bool {
        self.state = match byte {
            0x9b => self.control_sequence(),
            0x90 | 0x98 | 0x9d | 0x9e | 0x9f => string(byte - 0x40, true),
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
            State::Intermediate(first) => self.after_intermediate(bytes[0], first),
            State::Control => self.inside_control_sequence(bytes),
            State::Text(text) => self.inside_string(bytes, text),
        }
    }

    fn after_escape(&mut self, byte: u8) -> (usize, Option<Code>) {
        self.state = match byte {
            b'[' => self.control_sequence(),
            b']' | b'P' | b'X' | b'^' | b'_' => string(byte, false),
            0x20..=0x2f => State::Intermediate(byte),
            ESC => State::Escape,
            0x30..=0x7e => {
                self.state = State::Ground;
                return (1, Some(Code::Esc(EscapeSequence { intermediate: None, last: byte })));
            }
            _ => return self.stray(byte),
        };
        (1, None)
    }

    fn after_intermediate(&mut self, byte: u8, first: u8) -> (usize, Option<Code>) {
        match byte {
            0x20..=0x2f => {
                self.state = State::Intermediate(0);
                (1, None)
            }
            0x30..=0x7e => {
                self.state = State::Ground;
                (1, Some(Code::Esc(EscapeSequence { intermediate: Some(first), last: byte })))
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

    /// A byte that does not belong to the code around it: controls are obeyed, ESC begins anew, the rest is text.
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

    fn inside_string(&mut self, bytes: &[u8], mut text: Text) -> (usize, Option<Code>) {
        let room = LONGEST_STRING - text.skipped;
        let bytes = &bytes[..bytes.len().min(room)];
        let Some(end) = bytes.iter().position(|&byte| text.ends_at(byte)) else {
            text.skipped += bytes.len();
            let over = text.skipped >= LONGEST_STRING;
            self.state = if over { State::Ground } else { State::Text(text) };
            return (bytes.len(), over.then_some(Code::Unterminated));
        };
        // The terminator is `ESC \`; any other code after ESC is obeyed as well.
        self.state = if bytes[end] == ESC { State::Escape } else { State::Ground };
        match bytes[end] {
            b'\n' => (end, Some(Code::Unterminated)),
            _ => (end + 1, None),
        }
    }

    fn control_sequence(&mut self) -> State {
        self.sequence = ControlSequence::default();
        State::Control
    }
}

impl Text {
    fn ends_at(&mut self, byte: u8) -> bool {
        match byte {
            ESC | BEL | CAN | SUB => true,
            0x9c if self.eight_bit => true,
            b'\n' => self.opener == b']' || std::mem::take(&mut self.prose),
            b' ' | 0x80.. => {
                self.prose = true;
                false
            }
            _ => false,
        }
    }
}

fn string(opener: u8, eight_bit: bool) -> State {
    State::Text(Text { opener, eight_bit, prose: false, skipped: 0 })
}

/// Bytes that a string code has hidden so far, in case the code has no end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hidden {
    bytes: Vec<u8>,
    /// How many more there were.
    more: usize,
}

/// More than this is data, which is counted and not shown.
const MOST_HIDDEN: usize = 64 << 10;

impl Hidden {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        let (kept, more) = bytes.split_at(bytes.len().min(MOST_HIDDEN - self.bytes.len()));
        self.bytes.extend_from_slice(kept);
        self.more += more.len();
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.more = 0;
    }

    /// How long the string is so far.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.more
    }

    /// All of it, unless it is too much.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        (self.more == 0).then_some(&self.bytes)
    }

    /// A visible form of the code that opened it, so that a reader sees why there is more than the terminal showed; and
    /// the hidden bytes, unless they are too many.
    pub(crate) fn take(&mut self, opener: u8) -> (String, Vec<u8>) {
        let (len, more) = (self.len(), std::mem::take(&mut self.more));
        let bytes = std::mem::take(&mut self.bytes);
        let opened = format!("\u{241b}{}", opener as char);
        if more == 0 { (opened, bytes) } else { (format!("{opened}…{len} bytes…"), Vec::new()) }
    }
}

/// The parameters of a control sequence, which stand between `ESC [` and the last byte, and that byte.
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
