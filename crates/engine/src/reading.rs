//! From a journal to text: decoded as it is read, or fitted into a budget with the address of what was left out.

use crate::journal::Journal;
use crate::tally::Tally;
use windlass_output::{
    Budget, Excerpt, ExcerptOptions, ExcerptSource, Gap, Marker, Offset, Screen, ScreenSize, Settler, Span,
    Tokenizer, Tokens, Utf8, View, excerpt, settle,
};
use windlass_sys::pty::Size;

/// How much is taken from a journal at a time.
const STEP: usize = 256 * 1024;

/// How bytes become text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As a terminal would finally show it.
    Settled,
    /// The same, but a line is told as soon as it ends: for readers who follow.
    SettledByLine,
    /// As a terminal would finally show it, from where a full-screen program already had the alternate screen.
    SettledFromAlternate,
    /// As printed.
    Raw,
}

/// What a reader is handed.
pub enum Part<'a> {
    /// Text, and where it came from.
    Text(&'a View),
    /// Output that is no longer there.
    Gone(Span),
}

/// Reads a journal from some place on, keeping what must be known from one step to the next.
pub struct Reader<'a> {
    journal: &'a Journal,
    position: Offset,
    form: Form,
    decoder: Decoder,
    /// What was read last and has been decoded; kept for its memory.
    bytes: Vec<u8>,
    view: View,
}

/// A reader that was put aside: it goes on where it stopped.
pub(crate) struct Paused {
    position: Offset,
    form: Form,
    decoder: Decoder,
    /// What was read last and has been decoded; kept for its memory.
    bytes: Vec<u8>,
    view: View,
}

impl Paused {
    pub(crate) fn at(from: Offset, form: Form) -> Self {
        let (decoder, bytes, view) = (Decoder::new(form, from), Vec::new(), View::new(from));
        Self { position: from, form, decoder, bytes, view }
    }

    pub(crate) fn position(&self) -> Offset {
        self.position
    }

    pub(crate) fn resume(self, journal: &Journal) -> Reader<'_> {
        let Self { position, form, decoder, bytes, view } = self;
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
        Paused { position, form, decoder, bytes, view }
    }

    /// Hands out what lies before `end`, for as long as it is wanted.
    pub fn advance<E>(
        &mut self,
        end: Offset,
        mut take: impl FnMut(Part<'_>) -> Result<Wanted, E>,
    ) -> Result<Wanted, E> {
        while self.position < end.min(self.journal.end()) {
            self.bytes.clear();
            let read = self.journal.read_into(Span::new(self.position, end), STEP, &mut self.bytes);
            let gone = Span::new(self.position, read.from());
            if read.to() <= self.position {
                break;
            }
            self.position = read.to();
            if !gone.is_empty() && self.skip(gone, &mut take)? == Wanted::NoMore
                || self.hand_out_bytes(&mut take)? == Wanted::NoMore
            {
                return Ok(Wanted::NoMore);
            }
        }
        Ok(Wanted::More)
    }

    /// Hands out what was held back because it could still have changed.
    pub fn finish<E>(mut self, mut take: impl FnMut(Part<'_>) -> Result<Wanted, E>) -> Result<(), E> {
        self.settle_rest(self.position, &mut take).map(drop)
    }

    fn hand_out_bytes<E>(
        &mut self,
        take: &mut impl FnMut(Part<'_>) -> Result<Wanted, E>,
    ) -> Result<Wanted, E> {
        match &mut self.decoder {
            Decoder::Settled(settler) => settler.feed(&self.bytes, &mut self.view),
            Decoder::Raw(utf8) => utf8.feed(&self.bytes, &mut self.view),
        }
        self.hand_out_view(take)
    }

    fn skip<E>(
        &mut self,
        gone: Span,
        take: &mut impl FnMut(Part<'_>) -> Result<Wanted, E>,
    ) -> Result<Wanted, E> {
        if self.settle_rest(gone.to(), take)? == Wanted::NoMore {
            return Ok(Wanted::NoMore);
        }
        // What is behind the hole was never on the line that is before it.
        self.view.break_line();
        take(Part::Gone(gone))
    }

    /// Ends the text before a hole, or at the end, and begins anew behind it.
    fn settle_rest<E>(
        &mut self,
        next: Offset,
        take: &mut impl FnMut(Part<'_>) -> Result<Wanted, E>,
    ) -> Result<Wanted, E> {
        match std::mem::replace(&mut self.decoder, Decoder::new(self.form, next)) {
            Decoder::Settled(settler) => settler.finish(&mut self.view),
            Decoder::Raw(mut utf8) => utf8.finish(&mut self.view),
        }
        self.hand_out_view(take)
    }

    fn hand_out_view<E>(
        &mut self,
        take: &mut impl FnMut(Part<'_>) -> Result<Wanted, E>,
    ) -> Result<Wanted, E> {
        if self.view.is_empty() {
            return Ok(Wanted::More);
        }
        let wanted = take(Part::Text(&self.view))?;
        self.view.clear();
        Ok(wanted)
    }
}

/// Whether a reader has seen enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Not yet.
    More,
    /// It has.
    NoMore,
}

impl Decoder {
    fn new(form: Form, from: Offset) -> Self {
        match form {
            Form::Settled => Self::Settled(Box::new(Settler::new(from))),
            Form::SettledFromAlternate => Self::Settled(Box::new(Settler::new(from).on_alternate_screen())),
            Form::SettledByLine => Self::Settled(Box::new(Settler::with_rows(from, 1))),
            Form::Raw => Self::Raw(Utf8::new(from)),
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
    /// What stands where text was left out.
    pub marker: Marker<'a>,
}

/// Text within a budget, and what it stands for.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// What fits, with a marker where something was left out.
    pub text: String,
    /// How many tokens the whole has.
    pub original: Tokens,
    /// The output it is an excerpt of.
    pub span: Span,
    /// What was left out, with its tokens.
    pub omitted: Option<(Span, Tokens)>,
}

impl Fitting<'_> {
    /// Fits a part of a journal. Of an output too large to load, the ends are loaded and the middle is only counted.
    pub fn fit(&self, journal: &Journal, span: Span) -> Fitted {
        self.fit_counted(journal, span, None)
    }

    /// The same, going on with a tally if there is one of this part.
    pub fn fit_counted(&self, journal: &Journal, span: Span, tally: Option<Tally>) -> Fitted {
        let span = span.intersect(Span::new(Offset::ZERO, journal.end()));
        let ends = Ends::read(journal, span, Budget::Tokens(self.budget).reach());
        let head = self.decode(&ends.head, ends.head_span.from());
        if ends.head_span.to() == span.to() {
            return self.fit_view(&head, span);
        }
        let tail = self.decode(&ends.tail, ends.tail_span.from());
        let between = Span::new(ends.head_span.to(), ends.tail_span.from());
        // The whole is counted as a whole: a token may reach across the places at which the ends were cut.
        let whole = self.total(journal, span, tally).get();
        let ends = [&head, &tail].map(|end| self.tokenizer.count(end.text()).get());
        let gap = Gap { span: between, tokens: Tokens::new(whole.saturating_sub(ends.iter().sum())) };
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

    fn total(&self, journal: &Journal, span: Span, tally: Option<Tally>) -> Tokens {
        let tally = tally.filter(|tally| tally.is_of(self.form, self.tokenizer, span));
        match tally {
            Some(tally) => tally.finish(journal, span.to()),
            None => self.count(journal, span),
        }
    }

    /// How many tokens a part of a journal has as text. Output that is gone has none.
    pub fn count(&self, journal: &Journal, span: Span) -> Tokens {
        Tally::new(self.form, self.tokenizer, span.from()).finish(journal, span.to())
    }

    fn decode(&self, bytes: &[u8], base: Offset) -> View {
        match self.form {
            Form::Settled | Form::SettledByLine => settle(bytes, base),
            Form::SettledFromAlternate => {
                let (mut view, mut settler) = (View::new(base), Settler::new(base).on_alternate_screen());
                settler.feed(bytes, &mut view);
                settler.finish(&mut view);
                view
            }
            Form::Raw => Utf8::decode(bytes, base),
        }
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
            let wanted = Span::new(from, span.to());
            ends.tail_span =
                journal.read_into(wanted, usize::try_from(reach).unwrap_or(STEP), &mut ends.tail);
        }
        ends
    }
}

/// What a terminal of this size shows at the end of an output.
pub fn screen_text(journal: &Journal, size: Size) -> String {
    /// Beyond this, a screenful has long scrolled away.
    const REPLAY: u64 = 1024 * 1024;
    let mut screen = Screen::new(ScreenSize::new(size.rows, size.cols));
    let mut position = journal.end().back(REPLAY);
    let mut bytes = Vec::new();
    while position < journal.end() {
        bytes.clear();
        let read = journal.read_into(Span::new(position, journal.end()), STEP, &mut bytes);
        screen.feed(&bytes);
        if read.to() <= position {
            break;
        }
        position = read.to();
    }
    screen.text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Retention, Stream};
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
        let mut take = |part: Part<'_>| -> Result<Wanted, ()> {
            match part {
                Part::Text(view) => text.push_str(view.text()),
                Part::Gone(span) => gone.push(span),
            }
            Ok(Wanted::More)
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

    #[test]
    fn what_a_full_screen_program_draws_is_no_text_wherever_reading_begins() {
        let bytes = b"\x1b[1;1Hhello\r\n~\r\n~\x1b[?1049lback\n";
        let read = read_all(&journal(bytes, 1 << 20), Form::SettledFromAlternate).0;
        assert_eq!(read, "back\n");
        let fitting = Fitting { form: Form::SettledFromAlternate, ..fitting(100) };
        let all = Span::new(Offset::ZERO, Offset::new(99));
        assert_eq!(fitting.fit(&journal(bytes, 1 << 20), all).text, "back\n");
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
