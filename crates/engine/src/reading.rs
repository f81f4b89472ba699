//! From a journal to text: decoded as it is read, or fitted into a budget with the address of the omitted part.

use crate::journal::{Journal, Missing, Why, grid};
use crate::tally::TokenTally;
use windlass_output::{
    Budget, Excerpt, ExcerptOptions, ExcerptSource, Gap, Marker, Offset, OutputSource, Pattern, RawMatcher,
    Screen, Settler, Span, Tokenizer, Tokens, Utf8, View, excerpt, may_end_on_alternate_screen,
};

/// How much is taken from a journal at a time.
const STEP: usize = 256 * 1024;

/// How bytes become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a terminal would finally show it: one of the session's size, with all that scrolled off it.
    Settled,
    /// The same, but a line is final as soon as it ends, and later cursor movements do not change it: for readers that
    /// follow.
    SettledByLine,
    /// As a terminal would finally show it, from where a full-screen program already had the alternate screen.
    SettledFromAlternate,
    /// As printed.
    Raw,
}

/// A part of the output for a reader.
pub enum OutputPart<'a> {
    /// Text, and where it came from.
    Text(&'a View),
    /// Output that was printed and cannot be shown, and why.
    Gone(&'a Missing),
}

/// Reads a journal from an offset on, with the decoder's state from one step to the next.
pub struct Reader<'a> {
    journal: &'a Journal,
    position: Offset,
    form: Form,
    decoder: Decoder,
    /// The last bytes that were read, already decoded; kept to reuse their memory.
    bytes: Vec<u8>,
    view: View,
}

/// A reader that was put aside: it continues where it stopped.
pub(crate) struct Paused {
    position: Offset,
    form: Form,
    /// None before the first step.
    decoder: Option<Decoder>,
    /// The last bytes that were read, already decoded; kept to reuse their memory.
    bytes: Vec<u8>,
    view: View,
}

impl Paused {
    pub(crate) fn at(from: Offset, form: Form) -> Self {
        let (bytes, view) = (Vec::new(), View::new(from));
        Self { position: from, form, decoder: None, bytes, view }
    }

    pub(crate) fn position(&self) -> Offset {
        self.position
    }

    pub(crate) fn resume(self, journal: &Journal) -> Reader<'_> {
        let Self { position, form, decoder, bytes, view } = self;
        let decoder = decoder.unwrap_or_else(|| Decoder::new(form, position, journal));
        Reader { journal, position, form, decoder, bytes, view }
    }
}

enum Decoder {
    Settled(Box<Settler>),
    Raw(Utf8),
}

impl<'a> Reader<'a> {
    /// A reader of everything from `from` on.
    pub fn new(journal: &'a Journal, from: Offset, form: Form) -> Self {
        Paused::at(from, form).resume(journal)
    }

    pub(crate) fn position(&self) -> Offset {
        self.position
    }

    pub(crate) fn pause(self) -> Paused {
        let Self { position, form, decoder, bytes, view, .. } = self;
        Paused { position, form, decoder: Some(decoder), bytes, view }
    }

    /// Passes the output before `end` to the closure, for as long as it wants more.
    pub fn advance<E>(
        &mut self,
        end: Offset,
        mut take: impl FnMut(OutputPart<'_>) -> Result<ReaderDemand, E>,
    ) -> Result<ReaderDemand, E> {
        while self.position < end.min(self.journal.end()) {
            self.bytes.clear();
            let read = self.journal.read_into(Span::new(self.position, end), STEP, &mut self.bytes);
            let gone = Span::new(self.position, read.from());
            if read.to() <= self.position {
                break;
            }
            self.position = read.to();
            if !gone.is_empty() && self.skip(gone, &mut take)? == ReaderDemand::NoMore
                || self.hand_out_bytes(&mut take)? == ReaderDemand::NoMore
            {
                return Ok(ReaderDemand::NoMore);
            }
        }
        Ok(ReaderDemand::More)
    }

    /// Passes on the text that was held back because it could still have changed, and at the end of everything the text
    /// that a program left on the alternate screen.
    pub fn finish<E>(
        mut self,
        mut take: impl FnMut(OutputPart<'_>) -> Result<ReaderDemand, E>,
    ) -> Result<(), E> {
        if self.settle_rest(self.position, &mut take)? == ReaderDemand::NoMore {
            return Ok(());
        }
        if let Some(closing) = closing(self.journal, self.form, self.position) {
            self.view.push_closing(&closing);
        }
        self.hand_out_view(&mut take).map(drop)
    }

    fn hand_out_bytes<E>(
        &mut self,
        take: &mut impl FnMut(OutputPart<'_>) -> Result<ReaderDemand, E>,
    ) -> Result<ReaderDemand, E> {
        self.decoder.feed(&self.bytes, self.journal, &mut self.view);
        self.hand_out_view(take)
    }

    fn skip<E>(
        &mut self,
        gone: Span,
        take: &mut impl FnMut(OutputPart<'_>) -> Result<ReaderDemand, E>,
    ) -> Result<ReaderDemand, E> {
        if self.settle_rest(gone.to(), take)? == ReaderDemand::NoMore {
            return Ok(ReaderDemand::NoMore);
        }
        let mut missing = self.journal.account().missing_in(gone);
        if missing.is_empty() {
            // The output could not be read a moment ago, and can by now: it is missing here all the same.
            let passed = Why::Unreadable("it could not be read when it was asked for; read again".to_owned());
            missing.push(Missing { span: gone, why: passed });
        }
        for missing in &missing {
            // The bytes after the hole do not continue the line before it.
            self.view.break_line();
            if take(OutputPart::Gone(missing))? == ReaderDemand::NoMore {
                return Ok(ReaderDemand::NoMore);
            }
        }
        Ok(ReaderDemand::More)
    }

    /// Ends the text before a hole, or at the end, and begins anew behind it.
    fn settle_rest<E>(
        &mut self,
        next: Offset,
        take: &mut impl FnMut(OutputPart<'_>) -> Result<ReaderDemand, E>,
    ) -> Result<ReaderDemand, E> {
        let next = Decoder::new(self.form, next, self.journal);
        std::mem::replace(&mut self.decoder, next).finish(&mut self.view);
        self.hand_out_view(take)
    }

    fn hand_out_view<E>(
        &mut self,
        take: &mut impl FnMut(OutputPart<'_>) -> Result<ReaderDemand, E>,
    ) -> Result<ReaderDemand, E> {
        if self.view.is_empty() {
            return Ok(ReaderDemand::More);
        }
        let wanted = take(OutputPart::Text(&self.view))?;
        self.view.clear();
        Ok(wanted)
    }
}

/// Whether a reader has seen enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReaderDemand {
    /// Not yet.
    More,
    /// It has.
    NoMore,
}

impl Decoder {
    fn new(form: Form, from: Offset, journal: &Journal) -> Self {
        let settler = || match journal.terminal() {
            Some(sizes) => Settler::on_terminal(from, grid(sizes.at(from))),
            None => Settler::new(from),
        };
        match form {
            Form::Settled => Self::Settled(Box::new(settler())),
            Form::SettledFromAlternate => Self::Settled(Box::new(settler().on_alternate_screen())),
            Form::SettledByLine => {
                let terminal = journal.terminal().map(|_| OutputSource::Terminal);
                Self::Settled(Box::new(Settler::by_line(from, terminal.unwrap_or(OutputSource::Pipes))))
            }
            Form::Raw => Self::Raw(Utf8::new(from)),
        }
    }

    /// Takes the next bytes, at the sizes that the terminal had when they were printed.
    fn feed(&mut self, bytes: &[u8], journal: &Journal, view: &mut View) {
        let settler = match self {
            Self::Settled(settler) => settler,
            Self::Raw(utf8) => return utf8.feed(bytes, view),
        };
        let Some(sizes) = journal.terminal() else { return settler.feed(bytes, view) };
        let mut rest = bytes;
        while !rest.is_empty() {
            let now = settler.position();
            settler.resize(grid(sizes.at(now)), view);
            let next = sizes.next_after(now).map_or(u64::MAX, |(at, _)| at.since(now));
            let (same, later) =
                rest.split_at(usize::try_from(next).map_or(rest.len(), |next| next.min(rest.len())));
            settler.feed(same, view);
            rest = later;
        }
    }

    fn finish(self, view: &mut View) {
        match self {
            Self::Settled(settler) => settler.finish(view),
            Self::Raw(mut utf8) => utf8.finish(view),
        }
    }
}

/// How output is fitted into a budget.
#[derive(Clone, Copy)]
pub struct Fitting<'a> {
    /// How bytes become text.
    pub form: Form,
    /// The most the text may have.
    pub budget: Tokens,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// The text in the place of omitted output.
    pub marker: Marker<'a>,
}

/// Text within a budget, and the span that it represents.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// The text that fits, with a marker in the place of omitted output.
    pub text: String,
    /// The number of tokens of the whole.
    pub original: Tokens,
    /// The span of which it is an excerpt.
    pub span: Span,
    /// The omitted span, with its tokens.
    pub omitted: Option<(Span, Tokens)>,
}

impl Fitting<'_> {
    /// Fits a part of a journal. Of an output too large to load, the ends are loaded and the middle is only counted.
    pub fn fit(&self, journal: &Journal, span: Span) -> Fitted {
        self.fit_counted(journal, span, None)
    }

    /// The same, continuing a tally if there is one of this part.
    pub fn fit_counted(&self, journal: &Journal, span: Span, tally: Option<TokenTally>) -> Fitted {
        let span = span.intersect(Span::new(Offset::ZERO, journal.end()));
        let fitted = self.fit_kept(journal, up_to_last_kept(journal, span), tally);
        Fitted { span, ..fitted }
    }

    fn fit_kept(&self, journal: &Journal, span: Span, tally: Option<TokenTally>) -> Fitted {
        let ends = Ends::read(journal, span, Budget::Tokens(self.budget).reach());
        let mut head = self.decode(journal, &ends.head, ends.head_span.from());
        let closing = closing(journal, self.form, span.to());
        if ends.head_span.to() == span.to() {
            closing.iter().for_each(|closing| head.push_closing(closing));
            return self.fit_view(&head, span);
        }
        let mut tail = self.decode(journal, &ends.tail, ends.tail_span.from());
        let between = Span::new(ends.head_span.to(), ends.tail_span.from());
        // The whole is counted in one piece: a token may reach across the places at which the ends were cut.
        let whole = self.total(journal, span, tally).get();
        let ends = [&head, &tail].map(|end| self.tokenizer.count(end.text()).get());
        let gap = Gap { span: between, tokens: Tokens::new(whole.saturating_sub(ends.iter().sum())) };
        closing.iter().for_each(|closing| tail.push_closing(closing));
        self.fitted(ExcerptSource::Ends { head: &head, gap, tail: &tail }, span)
    }

    /// Fits text that is already there.
    pub fn fit_view(&self, view: &View, span: Span) -> Fitted {
        self.fitted(ExcerptSource::Whole(view), span)
    }

    fn fitted(&self, source: ExcerptSource<'_>, span: Span) -> Fitted {
        let budget = Budget::Tokens(self.budget);
        let options = ExcerptOptions { budget, tokenizer: self.tokenizer, marker: self.marker };
        let Excerpt { text, original, omitted } = excerpt(source, options);
        Fitted { text, original, span, omitted: omitted.map(|omitted| (omitted.span, omitted.tokens)) }
    }

    fn total(&self, journal: &Journal, span: Span, tally: Option<TokenTally>) -> Tokens {
        let tally = tally.filter(|tally| tally.is_of(self.form, self.tokenizer, span));
        match tally {
            Some(tally) => tally.finish(journal, span.to()),
            None => self.count(journal, span),
        }
    }

    /// The number of tokens in a part of a journal as text. Missing output has none.
    pub fn count(&self, journal: &Journal, span: Span) -> Tokens {
        TokenTally::new(self.form, self.tokenizer, span.from()).finish(journal, span.to())
    }

    fn decode(&self, journal: &Journal, bytes: &[u8], base: Offset) -> View {
        let (mut view, mut decoder) = (View::new(base), Decoder::new(self.form, base, journal));
        decoder.feed(bytes, journal, &mut view);
        decoder.finish(&mut view);
        view
    }
}

/// The beginning and the end of a span; only the beginning, if that is all of it.
struct Ends {
    head: Vec<u8>,
    head_span: Span,
    tail: Vec<u8>,
    tail_span: Span,
}

impl Ends {
    fn read(journal: &Journal, span: Span, reach: u64) -> Self {
        let mut ends =
            Self { head: Vec::new(), head_span: span, tail: Vec::new(), tail_span: Span::empty(span.to()) };
        let whole = span.len() <= 2 * reach;
        let limit = if whole { span.len() } else { reach };
        ends.head_span = journal.read_into(span, usize::try_from(limit).unwrap_or(STEP), &mut ends.head);
        if ends.head_span.to() < span.to() {
            // A hole that retention left lies between the ends, never in one of them.
            let holes = journal.account().gaps;
            let behind = holes.iter().map(|hole| hole.to()).filter(|to| *to <= span.to()).max();
            let from = span.to().back(reach).max(ends.head_span.to()).max(behind.unwrap_or_default());
            ends.read_tail(journal, Span::new(from, span.to()));
        }
        ends
    }

    /// Reads the last readable stretch: an unreadable part lies between the ends, too.
    fn read_tail(&mut self, journal: &Journal, wanted: Span) {
        let mut at = wanted.from();
        while at < wanted.to() {
            let mut stretch = Vec::new();
            let read = journal.read_into(Span::new(at, wanted.to()), usize::MAX, &mut stretch);
            if read.is_empty() {
                break;
            }
            (self.tail, self.tail_span, at) = (stretch, read, read.to());
        }
    }
}

/// A span without the part at its end of which nothing is kept: the newest kept bytes are shown as the end, and the
/// account says how much is missing behind them.
fn up_to_last_kept(journal: &Journal, span: Span) -> Span {
    let gaps = journal.account().gaps;
    let trailing = gaps.iter().find(|gap| gap.from() < span.to() && gap.to() >= span.to());
    trailing.map_or(span, |gap| Span::new(span.from(), gap.from().max(span.from())))
}

/// The text on the terminal's screen at the end of an output.
pub fn screen_text(journal: &Journal) -> String {
    replayed(journal).text()
}

/// Whether a program ended, or was ended, while it had the alternate screen.
pub fn ended_on_alternate_screen(journal: &Journal) -> bool {
    left_screen(journal).is_some()
}

/// Whether a full-screen program has the alternate screen at the end of an output.
pub fn has_alternate_screen(journal: &Journal) -> bool {
    journal.terminal().is_some() && may_end_on_alternate(journal) && replayed(journal).is_alternate()
}

/// The lines that close the text of an output up to `end`: those on an alternate screen that was never left are in no
/// other text.
fn closing(journal: &Journal, form: Form, end: Offset) -> Option<String> {
    let screen = left_screen(journal).filter(|_| form != Form::Raw && end >= journal.end())?;
    Some(format!("…left on the alternate screen:…\n{screen}\n"))
}

/// The text on the alternate screen of a program that has ended without leaving it.
fn left_screen(journal: &Journal) -> Option<String> {
    journal.terminal().filter(|_| journal.is_over() && may_end_on_alternate(journal))?;
    let screen = replayed(journal);
    Some(screen.text()).filter(|text| screen.is_alternate() && !text.is_empty())
}

/// The first match in the bytes as they were printed. Overwritten text and escape codes are only there.
pub fn find_raw(journal: &Journal, pattern: &Pattern) -> Option<Span> {
    let (mut position, end) = (Offset::ZERO, journal.end());
    let mut matcher = RawMatcher::new(pattern.clone(), position);
    let mut bytes = Vec::new();
    while position < end {
        bytes.clear();
        let read = journal.read_into(Span::new(position, end), STEP, &mut bytes);
        if read.from() > position {
            matcher = RawMatcher::new(pattern.clone(), read.from());
        }
        if let Some(found) = matcher.feed(&bytes) {
            return Some(found.raw);
        }
        if read.to() <= position {
            break;
        }
        position = read.to();
    }
    None
}

/// More output than this replaces a screenful many times over.
const REPLAY: u64 = 1024 * 1024;

/// The screen at the end of an output.
fn replayed(journal: &Journal) -> Screen {
    let sizes = journal.terminal().unwrap_or_default();
    let mut position = journal.end().back(REPLAY);
    let mut screen = Screen::new(grid(sizes.at(position)));
    let mut bytes = Vec::new();
    while position < journal.end() {
        bytes.clear();
        let upto = sizes.next_after(position).map_or(journal.end(), |(at, _)| at.min(journal.end()));
        let read = journal.read_into(Span::new(position, upto), STEP, &mut bytes);
        screen.feed(&bytes);
        if read.to() <= position {
            break;
        }
        position = read.to();
        screen.resize(grid(sizes.at(position)));
    }
    screen
}

/// Almost no output ends there, so almost none is replayed.
fn may_end_on_alternate(journal: &Journal) -> bool {
    let mut bytes = Vec::new();
    journal.read_into(Span::new(journal.end().back(REPLAY), journal.end()), usize::MAX, &mut bytes);
    may_end_on_alternate_screen(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Retention, Size, Stream, TerminalSizes};
    use std::time::Duration;

    fn journal(text: &[u8], limit: u64) -> Journal {
        let journal = Journal::in_memory(Retention::new(limit));
        for chunk in text.chunks(1000) {
            journal.append(Stream::Stdout, Duration::ZERO, chunk);
        }
        journal
    }

    fn numbered(lines: u64) -> String {
        (1..=lines).map(|n| format!("line {n:06}\n")).collect()
    }

    fn fitting(budget: u64) -> Fitting<'static> {
        Fitting {
            form: Form::Settled,
            budget: Tokens::new(budget),
            tokenizer: Tokenizer::Bytes4,
            marker: Marker::Count,
        }
    }

    fn read_all(journal: &Journal, form: Form) -> (String, Vec<Span>) {
        let (mut text, mut gone) = (String::new(), Vec::new());
        let mut take = |part: OutputPart<'_>| -> Result<ReaderDemand, ()> {
            match part {
                OutputPart::Text(view) => text.push_str(view.text()),
                OutputPart::Gone(missing) => gone.push(missing.span),
            }
            Ok(ReaderDemand::More)
        };
        let mut reader = Reader::new(journal, Offset::ZERO, form);
        reader.advance(journal.end(), &mut take).unwrap();
        reader.finish(&mut take).unwrap();
        (text, gone)
    }

    #[test]
    fn text_is_settled_or_as_printed() {
        let journal = journal(b"10%\r20%\r\x1b[32mdone\x1b[0m\n", 1 << 20);
        assert_eq!(read_all(&journal, Form::Settled).0, "done\n");
        assert_eq!(read_all(&journal, Form::SettledByLine).0, "done\n");
        assert_eq!(read_all(&journal, Form::Raw).0, "10%\r20%\r\x1b[32mdone\x1b[0m\n");
    }

    /// A journal of a terminal of four rows that becomes one of three, as text.
    fn resized(before: &[u8], after: &[u8]) -> Journal {
        let journal = journal(b"", 1 << 20);
        journal.set_terminal(TerminalSizes::new(Size { rows: 4, cols: 20 }));
        journal.append(Stream::Terminal, Duration::ZERO, before);
        journal.resized(Size { rows: 3, cols: 20 });
        journal.append(Stream::Terminal, Duration::ZERO, after);
        journal
    }

    #[test]
    fn output_is_drawn_at_the_size_that_the_terminal_had() {
        let journal = resized(b"1\r\n2\r\n3\r\n4\r\n5\x1b[HX", b"\x1b[3;1H6\r\n7\x1b[HY");
        // The first of four rows is 2. Of the three that are left, with the cursor on the first, it is 3 after a line
        // feed.
        let text = "1\nX\nY\n6\n7";
        assert_eq!(read_all(&journal, Form::Settled).0, text);
        let all = Span::new(Offset::ZERO, journal.end());
        assert_eq!(fitting(1000).fit(&journal, all).text, text);
        let mut tally = TokenTally::new(Form::Settled, Tokenizer::Bytes4, Offset::ZERO);
        for end in 0..journal.end().get() {
            tally = tally.advanced(&journal, Offset::new(end));
        }
        assert_eq!(tally.finish(&journal, journal.end()), Tokenizer::Bytes4.count(text));
    }

    #[test]
    fn an_alternate_screen_that_was_never_left_closes_the_text_of_what_is_over() {
        let journal = resized(b"log\r\n\x1b[?1049h\x1b[2J", b"\x1b[Hpanic");
        assert_eq!(read_all(&journal, Form::Settled).0, "log\n");
        assert!(has_alternate_screen(&journal) && !ended_on_alternate_screen(&journal));
        journal.set_over();
        let expected = "log\n…left on the alternate screen:…\npanic\n";
        assert_eq!(read_all(&journal, Form::Settled).0, expected);
        let all = Span::new(Offset::ZERO, journal.end());
        assert_eq!(fitting(1000).fit(&journal, all).text, expected);
        assert_eq!(fitting(1000).fit(&journal, Span::new(Offset::ZERO, Offset::new(5))).text, "log\n");
        journal.append(Stream::Terminal, Duration::ZERO, b"\x1b[?1049lafter");
        assert_eq!(read_all(&journal, Form::Settled).0, "log\nafter");
    }

    #[test]
    fn the_raw_output_is_searched_across_steps_and_holes() {
        let text = numbered(100_000);
        for limit in [1 << 30, 200_000] {
            let journal = journal(text.as_bytes(), limit);
            let found = find_raw(&journal, &Pattern::new("line 099999\nline").unwrap()).unwrap();
            assert_eq!(found.from().get(), 99_998 * 12);
            assert_eq!(find_raw(&journal, &Pattern::new("line 100001").unwrap()), None);
        }
    }

    #[test]
    fn what_a_full_screen_program_draws_is_no_text_wherever_reading_begins() {
        let journal = resized(b"\x1b[1;1Hhello\r\n~\r\n", b"~\x1b[?1049lback\n");
        let read = read_all(&journal, Form::SettledFromAlternate).0;
        assert_eq!(read, "back\n");
        let fitting = Fitting { form: Form::SettledFromAlternate, ..fitting(100) };
        let all = Span::new(Offset::ZERO, Offset::new(99));
        assert_eq!(fitting.fit(&journal, all).text, "back\n");
    }

    #[test]
    fn following_a_terminal_skips_its_alternate_screen_and_a_pipe_has_none() {
        let (before, after) = (b"log\r\n\x1b[?1049h\x1b[2J\x1b[Hdrawn\r\n", b"~\x1b[?1049lback\r\n");
        let terminal = resized(before, after);
        assert_eq!(read_all(&terminal, Form::SettledByLine).0, "log\nback\n");
        let pipe = journal(&[&before[..], after].concat(), 1 << 20);
        assert_eq!(read_all(&pipe, Form::SettledByLine).0, "log\ndrawn\n~\nback\n");
    }

    #[test]
    fn what_retention_dropped_is_told_in_its_place() {
        let text = numbered(10_000);
        let journal = journal(text.as_bytes(), 40_000);
        let (read, gone) = read_all(&journal, Form::Settled);
        assert_eq!(gone, journal.account().gaps);
        assert!(read.starts_with("line 000001\n") && read.ends_with("line 010000\n"));
        assert_eq!(read.len() as u64 + gone[0].len(), text.len() as u64);
    }

    #[test]
    fn what_fits_is_unchanged() {
        let fitted =
            fitting(100).fit(&journal(b"short\n", 1 << 20), Span::new(Offset::ZERO, Offset::new(99)));
        assert_eq!((fitted.text.as_str(), fitted.omitted), ("short\n", None));
        assert_eq!(fitted.span, Span::new(Offset::ZERO, Offset::new(6)));
    }

    #[test]
    fn large_output_keeps_its_ends_and_the_omitted_span_reads_as_the_rest() {
        let text = numbered(100_000);
        for limit in [1 << 30, 200_000] {
            let journal = journal(text.as_bytes(), limit);
            let all = Span::new(Offset::ZERO, journal.end());
            let fitted = fitting(200).fit(&journal, all);
            assert!(fitted.text.starts_with("line 000001\n"), "{}", fitted.text);
            assert!(fitted.text.ends_with("line 100000\n"));
            let (omitted, _) = fitted.omitted.unwrap();
            let (from, to) = (omitted.from().get() as usize, omitted.to().get() as usize);
            let shown = [&text[..from], "…", &text[to..]].concat();
            let marker = fitted.text.lines().find(|line| line.starts_with('…')).unwrap();
            assert_eq!(fitted.text.replace(&format!("{marker}\n"), "…"), shown);
        }
    }
}
