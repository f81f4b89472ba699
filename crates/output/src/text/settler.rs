//! The stream from printed bytes to settled text. Plain runs are found in bulk and copied; only control bytes and
//! escape codes are looked at one by one.

use super::escape::{Code, ControlSequence, ESC, EscapeSequence, Escapes, Hidden};
use super::grid::{Grid, Mode};
use super::page::Page;
use super::utf8::{Completion, Flaw, PartialChar, longest_valid};
use crate::offset::Offset;
use crate::screen::ScreenSize;
use crate::view::View;

/// How many of the newest lines stay rewritable without a terminal.
pub const DEFAULT_ROWS: usize = 64;

/// From so many bytes of plain lines on it pays to take them together.
const MANY_LINES: usize = 8 << 10;

/// Turns printed bytes into the text that a terminal would finally show, as a log.
///
/// Lines that can no longer change are appended to the [`View`] given to [`feed`](Settler::feed). The result is the
/// same however the bytes are cut into chunks.
#[derive(Clone, Debug)]
pub struct Settler {
    surface: Surface,
    escapes: Escapes,
    /// Bytes hidden by the string code that is open at this point of the stream.
    hidden: Hidden,
    /// Whether the program switched 8-bit codes on.
    eight_bit: bool,
    held: PartialChar,
    at: Offset,
}

/// The kind of stream that output came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputSource {
    /// A terminal, which has an alternate screen.
    Terminal,
    /// Pipes, which have no screen.
    Pipes,
}

/// The surface that the bytes are drawn on.
#[derive(Clone, Debug)]
enum Surface {
    /// A log without a terminal: a newline ends a line, and the newest lines can be rewritten.
    Log(Box<Page>),
    /// A terminal of a known size.
    Terminal(Box<Grid>),
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

    /// A settler for output without a terminal: so many of the newest lines stay rewritable.
    #[must_use]
    pub fn with_rows(base: Offset, rows: usize) -> Self {
        Self::with_surface(base, Surface::Log(Box::new(Page::new(rows, base))))
    }

    /// A settler for a reader that follows output: a line is final as soon as it ends. The alternate screen of a
    /// terminal is not log text.
    #[must_use]
    pub fn by_line(base: Offset, source: OutputSource) -> Self {
        let mut page = Page::new(1, base);
        if source == OutputSource::Terminal {
            page.set_terminal();
        }
        Self::with_surface(base, Surface::Log(Box::new(page)))
    }

    /// A settler for the output of a terminal: what it shows and what scrolled off it. From a `base` in the middle of
    /// the output the rows that were drawn before are not known; the cursor is taken to be below them.
    #[must_use]
    pub fn on_terminal(base: Offset, size: ScreenSize) -> Self {
        Self::with_surface(base, Surface::Terminal(Box::new(Grid::new(size, base))))
    }

    fn with_surface(base: Offset, surface: Surface) -> Self {
        let (escapes, hidden, held) = (Escapes::default(), Hidden::default(), PartialChar::default());
        Self { surface, escapes, hidden, eight_bit: false, held, at: base }
    }

    /// The terminal has another size from here on.
    pub fn resize(&mut self, size: ScreenSize, out: &mut View) {
        if let Surface::Terminal(grid) = &mut self.surface {
            grid.resize(size, self.at, out);
        }
    }

    /// The same for output that begins where a full-screen program already has the alternate screen of a terminal,
    /// which is not log text.
    #[must_use]
    pub fn on_alternate_screen(mut self) -> Self {
        if let Surface::Terminal(grid) = &mut self.surface {
            grid.set_mode(Mode::AlternateScreen, true);
        }
        self
    }

    /// Takes a chunk and appends the lines that can no longer change to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut View) {
        self.take(bytes, out);
        out.reach(self.start());
    }

    fn take(&mut self, bytes: &[u8], out: &mut View) {
        let mut rest = bytes;
        while let Some(&first) = rest.first() {
            let used = if self.held.is_empty() {
                self.characters(rest, out)
            } else {
                self.inside_character(first, out)
            };
            rest = &rest[used..];
        }
    }

    fn start(&self) -> Offset {
        match &self.surface {
            Surface::Log(page) => page.start(),
            Surface::Terminal(grid) => grid.start(),
        }
    }

    fn write_surface(&self, out: &mut View) {
        match &self.surface {
            Surface::Log(page) => page.write_to(out),
            Surface::Terminal(grid) => grid.write_to(out),
        }
    }

    #[inline]
    fn print(&mut self, text: &str, raw: Offset, out: &mut View) {
        match &mut self.surface {
            Surface::Log(page) => page.print(text, raw, out),
            Surface::Terminal(grid) => grid.print(text, raw, out),
        }
    }

    /// The lines that may still change, as they are now: the newest ones, and the current line without its end.
    #[must_use]
    pub fn pending(&self, settled: &View) -> View {
        let mut view = View::from_line(self.start(), settled.next_line());
        self.write_surface(&mut view);
        view.reach(self.at);
        view
    }

    /// Ends the stream: everything pending is appended to `out`.
    pub fn finish(mut self, out: &mut View) {
        if !self.held.is_empty() {
            self.broken_character(out);
        }
        if let Some(opener) = self.escapes.string() {
            self.show_hidden(opener, out);
        }
        self.write_surface(out);
        out.reach(self.at);
    }

    /// How many bytes were taken, as the address of the next one.
    #[must_use]
    pub fn position(&self) -> Offset {
        self.at
    }

    /// Takes the valid characters at the beginning of `rest`, or else the bytes that are not one.
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
        } else if !(self.eight_bit && broken.len() == 1 && self.escapes.begin_c1(broken[0])) {
            self.print("\u{fffd}", self.at, out);
        }
        self.at += broken.len() as u64;
        broken.len()
    }

    /// Takes valid text; less than all of it if a code ends inside a character, which is then not one.
    fn valid(&mut self, text: &str, out: &mut View) -> usize {
        let bytes = text.as_bytes();
        let (mut at, mut looked_at) = (0, 0);
        while at < bytes.len() {
            if at >= looked_at && self.escapes.is_ground() && self.begins_line() {
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
        let Surface::Log(page) = &mut self.surface else { return 0 };
        let passed = page.pass(text, self.at, out);
        self.at += passed as u64;
        passed
    }

    #[inline]
    fn begins_line(&self) -> bool {
        matches!(&self.surface, Surface::Log(page) if page.begins_line(self.at))
    }

    /// Prints text without control bytes.
    #[inline]
    fn run(&mut self, text: &str, ascii: bool, out: &mut View) {
        if ascii {
            self.print(text, self.at, out);
        } else {
            self.print_visible(text, out);
        }
        self.at += text.len() as u64;
    }

    /// Prints text without the invisible controls U+0080 to U+009F.
    fn print_visible(&mut self, text: &str, out: &mut View) {
        // A program that prints UTF-8 does not use single bytes as control codes.
        self.eight_bit &= text.is_ascii();
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
            self.print(text, self.at + from as u64, out);
        }
    }

    fn inside_character(&mut self, byte: u8, out: &mut View) -> usize {
        let from = self.at.back(self.held.len() as u64);
        match self.held.complete(byte) {
            Completion::More => {}
            Completion::Char(what) => {
                self.eight_bit = false;
                if !('\u{80}'..='\u{9f}').contains(&what) {
                    self.print(what.encode_utf8(&mut [0; 4]), from, out);
                }
            }
            Completion::Broken => {
                self.print("\u{fffd}", from, out);
                return 0;
            }
        }
        self.at += 1;
        1
    }

    fn broken_character(&mut self, out: &mut View) {
        let from = self.at.back(self.held.len() as u64);
        self.held.clear();
        self.print("\u{fffd}", from, out);
    }

    fn inside_code(&mut self, rest: &[u8], out: &mut View) -> usize {
        let string = self.escapes.string();
        let (used, code) = self.escapes.step(rest);
        self.at += used as u64;
        if string.is_some() {
            self.hidden.add(&rest[..used]);
        }
        match (code, string) {
            (Some(Code::Control(byte)), _) => self.obey(byte, out),
            (Some(Code::Esc(sequence)), _) => self.escape(sequence, out),
            (Some(Code::Csi(sequence)), _) => self.control_sequence(&sequence, out),
            (Some(Code::Unterminated), Some(opener)) => self.show_hidden(opener, out),
            (Some(Code::Unterminated), None) | (None, _) => {}
        }
        if string.is_some() && self.escapes.string().is_none() {
            self.hidden.clear();
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

    /// Carries out a control byte; the position is already behind it.
    #[inline]
    fn obey(&mut self, byte: u8, out: &mut View) {
        match &mut self.surface {
            Surface::Log(page) => page.obey(byte, self.at, out),
            Surface::Terminal(grid) => grid.obey(byte, self.at, out),
        }
    }

    fn escape(&mut self, sequence: EscapeSequence, out: &mut View) {
        match (sequence.intermediate, sequence.last) {
            (Some(b' '), b'G') => self.eight_bit = true,
            (Some(b' '), b'F') | (None, b'c') => self.eight_bit = false,
            _ => {}
        }
        match &mut self.surface {
            Surface::Log(page) => page.escape(sequence, self.at, out),
            Surface::Terminal(grid) => grid.escape(sequence, self.at, out),
        }
    }

    fn control_sequence(&mut self, sequence: &ControlSequence, out: &mut View) {
        match &mut self.surface {
            Surface::Log(page) => page.control_sequence(sequence, self.at, out),
            Surface::Terminal(grid) => grid.control_sequence(sequence, self.at, out),
        }
    }

    /// A string code had no end: it is shown, and what it hid is text after all.
    fn show_hidden(&mut self, opener: u8, out: &mut View) {
        let len = self.hidden.len() as u64;
        let (opened, bytes) = self.hidden.take(opener);
        self.escapes = Escapes::default();
        self.at = self.at.back(len);
        self.print(&opened, self.at, out);
        if bytes.is_empty() {
            self.at += len;
            return;
        }
        // In text that turned out not to be a code, other bytes are not codes either.
        let eight_bit = std::mem::take(&mut self.eight_bit);
        self.take(&bytes, out);
        if !self.held.is_empty() {
            self.broken_character(out);
        }
        self.eight_bit = eight_bit;
    }
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
