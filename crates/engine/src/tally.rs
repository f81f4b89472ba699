//! A count of tokens that proceeds while the output is printed, so that no reply waits for it at the end.
//!
//! A backlog is shared out among a few threads, which end when it is counted.

use crate::journal::Journal;
use crate::reading::{Form, OutputPart, Paused, Reader, ReaderDemand};
use std::convert::Infallible;
use std::fmt;
use std::num::NonZero;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use windlass_output::{Offset, Span, TokenCounter, Tokenizer, Tokens};

/// Counts the text of an output from an offset on, as far as it has got. Missing output has no tokens.
pub struct TokenTally {
    from: Offset,
    form: Form,
    tokenizer: Tokenizer,
    reader: Paused,
    counter: TokenCounter,
}

impl fmt::Debug for TokenTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tally")
            .field("from", &self.from)
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}

impl TokenTally {
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
        let helpers = if end.since(reader.position()) < WORTH_SHARING { 0 } else { helpers() };
        if helpers == 0 {
            let Ok(_) = reader.advance(end, |part| count(&mut self.counter, &part));
        } else {
            share(&mut reader, end, &mut self.counter, helpers);
        }
        Self { reader: reader.pause(), ..self }
    }

    /// Counts up to `end`, and the text that was held back because it could still have changed.
    pub fn finish(self, journal: &Journal, end: Offset) -> Tokens {
        let Self { reader, mut counter, .. } = self.advanced(journal, end);
        let Ok(()) = reader.resume(journal).finish(|part| count(&mut counter, &part));
        counter.finish()
    }
}

/// From so many bytes on, threads are worth their start.
const WORTH_SHARING: u64 = 4 << 20;

/// The most that count at a time, the caller among them.
const MOST_COUNTERS: usize = 4;

/// Texts that may wait for each helper.
const AHEAD: usize = 2;

/// How many may help: as many as there are other processors.
fn helpers() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get).min(MOST_COUNTERS) - 1
}

/// Counts on, up to `end`: the caller reads, passes as much to the helpers as they can take, and counts the rest.
fn share(reader: &mut Reader<'_>, end: Offset, counter: &mut TokenCounter, helpers: usize) {
    let (texts, waiting) = mpsc::channel();
    let (returned, spare) = mpsc::channel();
    let waiting = &Mutex::new(waiting);
    thread::scope(|scope| {
        let help = || {
            let (counter, returned) = (counter.fresh(), returned.clone());
            let work = move || help(counter, waiting, &returned);
            thread::Builder::new().name("count".into()).spawn_scoped(scope, work).ok()
        };
        let helping: Vec<_> = (0..helpers).map_while(|_| help()).collect();
        // If no thread could be started, no empty text is needed for one.
        (0..helping.len() * AHEAD).for_each(|_| drop(returned.send(String::new())));
        let Ok(_) = reader.advance(end, |part| {
            hand_on(counter, &part, &texts, &spare);
            Ok::<_, Infallible>(ReaderDemand::More)
        });
        // Closes the channel, which ends the helpers.
        drop(texts);
        for helper in helping {
            counter.add(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
}

/// Passes the part that can be counted separately to a helper thread, if one is free.
fn hand_on(
    counter: &mut TokenCounter,
    part: &OutputPart<'_>,
    texts: &Sender<String>,
    spare: &Receiver<String>,
) {
    let OutputPart::Text(view) = part else { return };
    let middle = counter.feed_edges(view.text());
    if middle.is_empty() {
        return;
    }
    match spare.try_recv() {
        Ok(mut text) => {
            text.push_str(middle);
            // The receiver outlives this.
            let _ = texts.send(text);
        }
        Err(_) => counter.feed_apart(middle),
    }
}

/// Counts texts until the channel closes.
fn help(mut counter: TokenCounter, waiting: &Mutex<Receiver<String>>, returned: &Sender<String>) -> Tokens {
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
    while let Ok(mut text) = next() {
        counter.feed_apart(&text);
        text.clear();
        // The reader drops its end when everything has been read.
        let _ = returned.send(text);
    }
    counter.finish()
}

fn count(counter: &mut TokenCounter, part: &OutputPart<'_>) -> Result<ReaderDemand, Infallible> {
    if let OutputPart::Text(view) = part {
        counter.feed(view.text());
    }
    Ok(ReaderDemand::More)
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
        let mut tally = TokenTally::new(Form::Raw, Tokenizer::O200k, Offset::ZERO);
        for end in (0..journal.end().get()).step_by(977) {
            tally = tally.advanced(&journal, Offset::new(end));
        }
        assert!(tally.is_of(Form::Raw, Tokenizer::O200k, Span::new(Offset::ZERO, journal.end())));
        assert_eq!(tally.finish(&journal, journal.end()), Tokenizer::O200k.count(&text));
    }

    #[test]
    fn a_large_backlog_is_counted_as_if_by_one() {
        let (text, journal) = (text(400_000), Journal::in_memory(Retention::default()));
        assert!(text.len() as u64 > 2 * WORTH_SHARING);
        journal.append(Stream::Stdout, Duration::ZERO, text.as_bytes());
        let counted = Tokenizer::O200k.count(&text);
        let settled = Tokenizer::O200k.count(&text.replace('\r', ""));
        for (form, expected) in [(Form::Raw, counted), (Form::Settled, settled)] {
            let begun =
                TokenTally::new(form, Tokenizer::O200k, Offset::ZERO).advanced(&journal, Offset::new(1001));
            assert_eq!(begun.finish(&journal, journal.end()), expected, "{form:?}");
        }
        for helpers in 1..4 {
            let mut reader = Reader::new(&journal, Offset::ZERO, Form::Raw);
            let mut counter = TokenCounter::new(Tokenizer::O200k);
            share(&mut reader, journal.end(), &mut counter, helpers);
            let Ok(()) = reader.finish(|part| count(&mut counter, &part));
            assert_eq!(counter.finish(), counted, "{helpers}");
        }
    }

    #[test]
    fn a_tally_of_something_else_or_of_more_is_not_used() {
        let journal = Journal::in_memory(Retention::default());
        journal.append(Stream::Stdout, Duration::ZERO, text(10).as_bytes());
        let tally =
            TokenTally::new(Form::Raw, Tokenizer::O200k, Offset::ZERO).advanced(&journal, Offset::new(50));
        let is_of = |from, to| {
            tally.is_of(Form::Raw, Tokenizer::O200k, Span::new(Offset::new(from), Offset::new(to)))
        };
        assert!(is_of(0, 50) && is_of(0, 60));
        assert!(!is_of(0, 49) && !is_of(1, 60));
        assert!(!tally.is_of(Form::Settled, Tokenizer::O200k, Span::new(Offset::ZERO, journal.end())));
    }
}
