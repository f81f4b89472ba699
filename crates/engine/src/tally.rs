//! A count of tokens that goes along with an output while it is printed, so that nobody waits for it in the end.

use crate::journal::Journal;
use crate::reading::{Form, Part, Paused, Wanted};
use std::convert::Infallible;
use std::fmt;
use windlass_output::{Offset, Span, TokenCounter, Tokenizer, Tokens};

/// Counts the text of an output from some place on, as far as it has got. Output that is gone has no tokens.
pub struct Tally {
    from: Offset,
    form: Form,
    tokenizer: Tokenizer,
    reader: Paused,
    counter: TokenCounter,
}

impl fmt::Debug for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("from", &self.from)
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}

impl Tally {
    /// A count that has not begun.
    pub fn new(form: Form, tokenizer: Tokenizer, from: Offset) -> Self {
        let (reader, counter) = (Paused::at(from, form), TokenCounter::new(tokenizer));
        Self { from, form, tokenizer, reader, counter }
    }

    /// How far it has got.
    pub fn position(&self) -> Offset {
        self.reader.position()
    }

    /// Whether it can become the count of this span.
    pub fn is_of(&self, form: Form, tokenizer: Tokenizer, span: Span) -> bool {
        let same = (self.form, self.tokenizer, self.from) == (form, tokenizer, span.from());
        same && self.position() <= span.to()
    }

    /// Counts on, up to `end`.
    #[must_use]
    pub fn advanced(mut self, journal: &Journal, end: Offset) -> Self {
        let mut reader = self.reader.resume(journal);
        let Ok(_) = reader.advance(end, |part| count(&mut self.counter, &part));
        Self { reader: reader.pause(), ..self }
    }

    /// Counts up to `end`, and what was held back because it could still have changed.
    pub fn finish(self, journal: &Journal, end: Offset) -> Tokens {
        let Self { reader, mut counter, .. } = self.advanced(journal, end);
        let Ok(()) = reader.resume(journal).finish(|part| count(&mut counter, &part));
        counter.finish()
    }
}

fn count(counter: &mut TokenCounter, part: &Part<'_>) -> Result<Wanted, Infallible> {
    if let Part::Text(view) = part {
        counter.feed(view.text());
    }
    Ok(Wanted::More)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Retention, Stream};
    use std::time::Duration;

    /// Lines whose ends share tokens with the spaces of the next.
    fn text(lines: u32) -> String {
        (0..lines).map(|line| format!("  request {line} served\r\n\n")).collect()
    }

    #[test]
    fn a_count_in_steps_is_the_count_of_the_whole() {
        let (text, journal) = (text(3000), Journal::in_memory(Retention::default()));
        journal.append(Stream::Stdout, Duration::ZERO, text.as_bytes());
        let mut tally = Tally::new(Form::Raw, Tokenizer::O200k, Offset::ZERO);
        for end in (0..journal.end().get()).step_by(977) {
            tally = tally.advanced(&journal, Offset::new(end));
        }
        assert!(tally.is_of(Form::Raw, Tokenizer::O200k, Span::new(Offset::ZERO, journal.end())));
        assert_eq!(tally.finish(&journal, journal.end()), Tokenizer::O200k.count(&text));
    }

    #[test]
    fn a_tally_of_something_else_or_of_more_is_not_used() {
        let journal = Journal::in_memory(Retention::default());
        journal.append(Stream::Stdout, Duration::ZERO, text(10).as_bytes());
        let tally = Tally::new(Form::Raw, Tokenizer::O200k, Offset::ZERO).advanced(&journal, Offset::new(50));
        let is_of = |from, to| {
            tally.is_of(Form::Raw, Tokenizer::O200k, Span::new(Offset::new(from), Offset::new(to)))
        };
        assert!(is_of(0, 50) && is_of(0, 60));
        assert!(!is_of(0, 49) && !is_of(1, 60));
        assert!(!tally.is_of(Form::Settled, Tokenizer::O200k, Span::new(Offset::ZERO, journal.end())));
    }
}
