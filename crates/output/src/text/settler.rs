//! The stream from printed bytes to settled text. Plain runs are found in bulk and copied; only control bytes and
//! escape codes are looked at one by one.

use super::escape::{Code, ControlSequence, ESC, Escapes};
use super::page::{Erase, Page};
use super::utf8::{Completion, Flaw, Held, longest_valid};
use crate::offset::Offset;
use crate::view::View;

/// How many of the newest lines stay rewritable unless the terminal's height is known.
pub const DEFAULT_ROWS: usize = 64;

/// From so many bytes of plain lines on it pays to take them together.
const MANY_LINES: usize = 8 << 10;

/// Turns printed bytes into what a terminal would finally show, as a log.
///
/// Lines that can no longer change are appended to the [`View`] given to [`feed`](Settler::feed). The result is the
/// same however the bytes are cut into chunks.
#[derive(Clone, Debug)]
pub struct Settler {
    page: Page,
    escapes: Escapes,
    held: Held,
    at: Offset,
}

/// Settles one whole span at once.
#[must_use]
pub fn settle(bytes: &[u8], base: Offset) -> View {
    let mut view = View::new(base);
    let mut settler = Settler::new(base);
    settler.feed(bytes, &mut view);
    settler.finish(&mut view);
    view
}

impl Settler {
    /// A settler whose first byte has the address `base`.
    #[must_use]
    pub fn new(base: Offset) -> Self {
        Self::with_rows(base, DEFAULT_ROWS)
    }

    /// A settler for a terminal of `rows` rows: so many of the newest lines stay rewritable.
    #[must_use]
    pub fn with_rows(base: Offset, rows: usize) -> Self {
        Self { page: Page::new(rows, base), escapes: Escapes::default(), held: Held::default(), at: base }
    }

    /// The same for output that begins where a full-screen program already has the alternate screen, which is not log
    /// text.
    #[must_use]
    pub fn on_alternate_screen(mut self) -> Self {
        self.page.enter_alternate_screen();
        self
    }

    /// Takes a chunk and appends the lines that can no longer change to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut View) {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let used = if self.held.is_empty() {
                self.characters(rest, out)
            } else {
                self.inside_character(first, out)
            };
            rest = &rest[used..];
        }
        out.reach(self.page.start());
    }

    /// The lines that may still change, as they are now: the newest ones, and the current line without its end.
    #[must_use]
    pub fn pending(&self, settled: &View) -> View {
        let mut view = View::from_line(self.page.start(), settled.next_line());
        self.page.write_to(&mut view);
        view.reach(self.at);
        view
    }

    /// Ends the stream: everything pending is appended to `out`.
    pub fn finish(mut self, out: &mut View) {
        if !self.held.is_empty() {
            self.broken_character(out);
        }
        self.page.write_to(out);
        out.reach(self.at);
    }

    /// How many bytes were taken, as the address of the next one.
    #[must_use]
    pub fn position(&self) -> Offset {
        self.at
    }

    /// Takes the valid characters that `rest` begins with, or else what is not one.
    fn characters(&mut self, rest: &[u8], out: &mut View) -> usize {
        let (valid, flaw) = longest_valid(rest);
        if !valid.is_empty() {
            return self.valid(valid, out);
        }
        let broken = match flaw {
            Flaw::Invalid { len } => &rest[..len],
            Flaw::None | Flaw::Unfinished => rest,
        };
        if !self.escapes.is_ground() {
            return self.inside_code(broken, out);
        }
        if let Flaw::Unfinished = flaw {
            self.held.hold(broken);
        } else if !(broken.len() == 1 && self.escapes.begin_c1(broken[0])) {
            self.page.print("\u{fffd}", self.at, out);
        }
        self.at += broken.len() as u64;
        broken.len()
    }

    /// Takes valid text; less than all of it if a code ends inside a character, which is then not one.
    fn valid(&mut self, text: &str, out: &mut View) -> usize {
        let bytes = text.as_bytes();
        let (mut at, mut looked_at) = (0, 0);
        while at < bytes.len() {
            if at >= looked_at && self.escapes.is_ground() && self.page.begins_line(self.at) {
                let lines = plain_lines(&bytes[at..]);
                looked_at = at + lines + 1;
                if lines >= MANY_LINES {
                    at += self.lines(&text[at..at + lines], out);
                    continue;
                }
            }
            if !self.escapes.is_ground() {
                at += self.inside_code(&bytes[at..], out);
                if !text.is_char_boundary(at) {
                    return at;
                }
                continue;
            }
            if is_control(bytes[at]) {
                at += self.control(&bytes[at..], out);
                continue;
            }
            let run = plain_run(&bytes[at..]);
            self.run(&text[at..at + run.len], run.ascii, out);
            at += run.len;
        }
        at
    }

    /// Takes whole lines without looking at each, as many as the page lets pass.
    fn lines(&mut self, text: &str, out: &mut View) -> usize {
        let passed = self.page.pass(text, self.at, out);
        self.at += passed as u64;
        passed
    }

    /// Prints text without control bytes.
    #[inline]
    fn run(&mut self, text: &str, ascii: bool, out: &mut View) {
        if ascii {
            self.page.print(text, self.at, out);
        } else {
            self.print_visible(text, out);
        }
        self.at += text.len() as u64;
    }

    /// Prints text without the invisible controls U+0080 to U+009F.
    fn print_visible(&mut self, text: &str, out: &mut View) {
        let mut from = 0;
        for lead in memchr::memchr_iter(0xc2, text.as_bytes()) {
            if text.as_bytes()[lead + 1] < 0xa0 {
                self.print_part(&text[from..lead], from, out);
                from = lead + 2;
            }
        }
        self.print_part(&text[from..], from, out);
    }

    fn print_part(&mut self, text: &str, from: usize, out: &mut View) {
        if !text.is_empty() {
            self.page.print(text, self.at + from as u64, out);
        }
    }

    fn inside_character(&mut self, byte: u8, out: &mut View) -> usize {
        let from = self.at.back(self.held.len() as u64);
        match self.held.complete(byte) {
            Completion::More | Completion::Char('\u{80}'..='\u{9f}') => {}
            Completion::Char(what) => self.page.print(what.encode_utf8(&mut [0; 4]), from, out),
            Completion::Broken => {
                self.page.print("\u{fffd}", from, out);
                return 0;
            }
        }
        self.at += 1;
        1
    }

    fn broken_character(&mut self, out: &mut View) {
        let from = self.at.back(self.held.len() as u64);
        self.held.clear();
        self.page.print("\u{fffd}", from, out);
    }

    fn inside_code(&mut self, rest: &[u8], out: &mut View) -> usize {
        let (used, code) = self.escapes.step(rest);
        self.at += used as u64;
        match code {
            None => {}
            Some(Code::Control(byte)) => self.obey(byte, out),
            Some(Code::Esc(last)) => self.escape(last, out),
            Some(Code::Csi(sequence)) => self.control_sequence(&sequence, out),
        }
        used
    }

    #[inline]
    fn control(&mut self, rest: &[u8], out: &mut View) -> usize {
        if rest[0] != ESC {
            self.at += 1;
            self.obey(rest[0], out);
            return 1;
        }
        let used = colour_code(rest).unwrap_or_else(|| {
            self.escapes.begin();
            1
        });
        self.at += used as u64;
        used
    }

    /// Does what a control byte says; the position is already behind it.
    #[inline]
    fn obey(&mut self, byte: u8, out: &mut View) {
        match byte {
            b'\n' | 0x0b | 0x0c => self.page.newline(self.at, out),
            b'\r' => self.page.carriage_return(),
            0x08 => self.page.move_columns(-1),
            b'\t' => self.page.print("\t", self.at.back(1), out),
            _ => {}
        }
    }

    fn escape(&mut self, last: u8, out: &mut View) {
        match last {
            b'7' => self.page.save_cursor(),
            b'8' => self.page.restore_cursor(),
            b'D' => self.page.move_rows(1),
            b'E' => self.page.newline(self.at, out),
            b'M' => self.page.move_rows(-1),
            b'c' => self.page.turn(self.at, out),
            _ => {}
        }
    }

    fn control_sequence(&mut self, sequence: &ControlSequence, out: &mut View) {
        if sequence.is_private() {
            return self.private_mode(sequence);
        }
        if !sequence.is_plain() {
            return;
        }
        let count = sequence.number(0, 1);
        let after = self.at;
        let page = &mut self.page;
        match sequence.last() {
            b'A' => page.move_rows(-steps(count)),
            b'B' | b'e' => page.move_rows(steps(count)),
            b'C' | b'a' => page.move_columns(steps(count)),
            b'D' => page.move_columns(-steps(count)),
            b'E' => {
                page.move_rows(steps(count));
                page.carriage_return();
            }
            b'F' => {
                page.move_rows(-steps(count));
                page.carriage_return();
            }
            b'G' | b'`' => page.go_to_column(count - 1),
            b'd' => page.go_to_row(count - 1),
            b'H' | b'f' => page.go_to(count - 1, sequence.number(1, 1) - 1),
            b'J' => self.erase_in_page(sequence, out),
            b'K' => self.erase_in_line(sequence),
            b'L' => page.insert_lines(count, after),
            b'M' => page.delete_lines(count),
            b'@' => page.insert_columns(count),
            b'P' => page.delete_columns(count),
            b'X' => page.erase_columns(count),
            b'b' => page.repeat(count, after, out),
            b'r' => page.set_region(count - 1, sequence.number(1, 1) - 1),
            b's' => page.save_cursor(),
            b'u' => page.restore_cursor(),
            _ => {}
        }
    }

    fn erase_in_line(&mut self, sequence: &ControlSequence) {
        match sequence.number(0, 0) {
            0 => self.page.erase_in_line(Erase::After),
            1 => self.page.erase_in_line(Erase::Before),
            2 => self.page.erase_in_line(Erase::All),
            _ => {}
        }
    }

    fn erase_in_page(&mut self, sequence: &ControlSequence, out: &mut View) {
        match sequence.number(0, 0) {
            0 => self.page.erase_in_page(Erase::After, self.at, out),
            1 => self.page.erase_in_page(Erase::Before, self.at, out),
            2 => self.page.erase_in_page(Erase::All, self.at, out),
            _ => {}
        }
    }

    fn private_mode(&mut self, sequence: &ControlSequence) {
        if !sequence.numbers().any(|mode| matches!(mode, 47 | 1047 | 1049)) {
            return;
        }
        match sequence.last() {
            b'h' => self.page.enter_alternate_screen(),
            b'l' => self.page.leave_alternate_screen(),
            _ => {}
        }
    }
}

fn steps(count: usize) -> isize {
    isize::try_from(count).unwrap_or(isize::MAX)
}

/// A stretch of text.
struct Run {
    len: usize,
    ascii: bool,
}

/// The text, tabs included, that `bytes` begins with. Looks at eight bytes at a time: the lowest set bit of
/// `suspects` marks the first byte below 0x20 or equal to 0x7f.
#[inline]
fn plain_run(bytes: &[u8]) -> Run {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let mut at = 0;
    let mut all = 0;
    while let Some(word) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let word = u64::from_le_bytes(*word);
        let delete = word ^ (0x7f * EACH);
        let suspects =
            ((word.wrapping_sub(0x20 * EACH) & !word) | (delete.wrapping_sub(EACH) & !delete)) & HIGH;
        all |= word;
        if suspects == 0 {
            at += 8;
            continue;
        }
        at += suspects.trailing_zeros() as usize / 8;
        if bytes[at] != b'\t' {
            // Bytes behind the control count too, which at worst takes the longer way for nothing.
            return Run { len: at, ascii: all & HIGH == 0 };
        }
        at += 1;
    }
    let tail = &bytes[at..];
    let len = at + tail.iter().position(|&byte| is_control(byte)).unwrap_or(tail.len());
    Run { len, ascii: all & HIGH == 0 && bytes[at..len].is_ascii() }
}

/// How many of the first bytes are text that only ever grows, line after line. 0xc2 may begin an invisible control.
fn plain_lines(bytes: &[u8]) -> usize {
    const WIDTH: usize = 64;
    let is_plain =
        |byte: u8| ((byte >= 0x20) & (byte != 0x7f) & (byte != 0xc2)) | (byte == b'\n') | (byte == b'\t');
    let all_plain = |bytes: &&[u8; WIDTH]| bytes.iter().fold(true, |all, &byte| all & is_plain(byte));
    let at = WIDTH * bytes.as_chunks().0.iter().take_while(all_plain).count();
    let rest = &bytes[at..];
    at + rest.iter().position(|&byte| !is_plain(byte)).unwrap_or(rest.len())
}

/// The length of a colour code at the beginning of `bytes`, if a whole one is there. Colours are most of all codes.
#[inline]
fn colour_code(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_prefix(b"\x1b[")?;
    let end = rest.iter().position(|byte| !(0x30..=0x3b).contains(byte))?;
    (rest[end] == b'm').then_some(end + 3)
}

#[inline]
fn is_control(byte: u8) -> bool {
    ((byte < 0x20) & (byte != b'\t')) | (byte == 0x7f)
}
