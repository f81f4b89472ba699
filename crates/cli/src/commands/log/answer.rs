//! A log within a budget: as text, and as one JSON object.

use anyhow::Result;
use serde_json::{Map, Value, json};
use windlass_output::{GrepKind, GrepLine, LONGEST_SHOWN_LINE, Offset, Span, Tokenizer, Tokens, View};

use super::choice::{Chosen, numbered};
use super::missing::marker;
use super::{Chooser, LogQuery};
use crate::args::ViewKind;
use crate::printing::print;
use crate::report;
use crate::sessions::State;
use windlass_engine::{Fitted, Fitting, OutputPart, Reader, ReaderDemand};

/// The requested output, within a budget.
enum LogReply {
    Excerpt(Fitted),
    Matches(Matches),
}

/// The matches from the first on, until the budget is used up.
struct Matches {
    lines: Vec<GrepLine>,
    omitted: usize,
    left: u64,
    tokenizer: Tokenizer,
}

impl Matches {
    fn add(&mut self, line: GrepLine) {
        let line = line.within(LONGEST_SHOWN_LINE);
        let cost = self.tokenizer.count(&numbered(&line)).get();
        // After the first match that did not fit, no later one is shown: the list has no holes.
        if self.omitted > 0 || cost > self.left {
            self.omitted += 1;
        } else {
            self.left -= cost;
            self.lines.push(line);
        }
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.omitted == 0
    }

    fn text(&self) -> String {
        let mut text: String = self.lines.iter().map(numbered).collect();
        if self.omitted > 0 {
            text.push_str(&format!("…{} truncated…\n", report::plural(self.omitted, "more line")));
        }
        text
    }
}

impl LogQuery<'_> {
    /// Prints the output as text. Returns the part of it that was read, as does the next function.
    pub(super) fn print_fitted(&self, budget: Tokens) -> Result<Span> {
        let (answer, read) = self.fit(budget)?;
        let mut text = match answer {
            LogReply::Excerpt(fitted) => fitted.text,
            LogReply::Matches(matches) => matches.text(),
        };
        if text.is_empty() {
            self.say_why_nothing_shows();
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        // The excerpt has a marker of its own at every other gap.
        let missing = self.journal.account().missing_in(read);
        text.extend(missing.iter().filter(|missing| missing.span.to() == read.to()).map(marker));
        print(text)?;
        Ok(read)
    }

    pub(super) fn print_json(&self, budget: Tokens) -> Result<Span> {
        let start = &self.record.start;
        let mut object = Map::new();
        object.insert("session".to_owned(), start.id.get().into());
        object.insert("name".to_owned(), start.name.clone().into());
        object.insert("state".to_owned(), State::of(&self.record).word().into());
        report::receipt_fields(self.record.receipt.as_ref(), &mut object);
        let (answer, read) = self.fit(budget)?;
        // After the read, because only the read finds parts that cannot be read.
        let account = self.journal.account();
        let mut journal = report::journal_fields(Some(self.store.root()), start.id, &account);
        // Without a receipt (the session runs, or its runtime died before it wrote one) this is unknown.
        let is_complete = self.record.receipt.as_ref().map(|_| account.missing.is_empty());
        journal["complete"] = is_complete.into();
        object.insert("journal".to_owned(), journal);
        match answer {
            LogReply::Excerpt(fitted) => report::excerpt_fields(&fitted, &mut object),
            LogReply::Matches(matches) => {
                object.insert("matches".to_owned(), matches.lines.iter().map(match_json).collect());
                object.insert("matches_omitted".to_owned(), matches.omitted.into());
                if let Some(raw) = matches.is_empty().then(|| self.overwritten_match()).flatten() {
                    object.insert(
                        "matches_raw".to_owned(),
                        json!({ "from": raw.from().get(), "to": raw.to().get() }),
                    );
                }
            }
        }
        print(Value::Object(object).to_string() + "\n")?;
        Ok(read)
    }

    fn fit(&self, budget: Tokens) -> Result<(LogReply, Span)> {
        let tokenizer = Tokenizer::from(self.order.shown.tokenizer);
        let form = self.form();
        let marker = report::marker(tokenizer, &self.record.start.id);
        let fitting = Fitting { form, budget, tokenizer, marker };
        if self.view() == ViewKind::Screen {
            let screen = View::verbatim(self.screen(), Offset::ZERO);
            return Ok((LogReply::Excerpt(fitting.fit_view(&screen, self.all())), self.all()));
        }
        match self.chooser() {
            Chooser::Everything => Ok(self.fit_span(&fitting)),
            chooser => self.choose(chooser, &fitting),
        }
    }

    fn fit_span(&self, fitting: &Fitting<'_>) -> (LogReply, Span) {
        let read = self.span().intersect(self.all());
        (LogReply::Excerpt(fitting.fit(&self.journal, self.span())), read)
    }

    fn choose(&self, mut chooser: Chooser, fitting: &Fitting<'_>) -> Result<(LogReply, Span)> {
        let (left, tokenizer) = (fitting.budget.get(), fitting.tokenizer);
        let mut matches = Matches { lines: Vec::new(), omitted: 0, left, tokenizer };
        let mut take = |part: OutputPart<'_>| -> Result<ReaderDemand> {
            if let OutputPart::Text(view) = part {
                chooser.feed(view);
                chooser.take_matches().into_iter().for_each(|line| matches.add(line));
            }
            Ok(if chooser.is_complete() { ReaderDemand::NoMore } else { ReaderDemand::More })
        };
        let mut reader = Reader::new(&self.journal, Offset::ZERO, fitting.form);
        let wanted = reader.advance(self.journal.end(), &mut take)?;
        if wanted == ReaderDemand::More {
            reader.finish(&mut take)?;
        }
        let is_tail = matches!(chooser, Chooser::Tail(_));
        Ok(match chooser.finish() {
            Chosen::Matches(last) => {
                last.into_iter().for_each(|line| matches.add(line));
                (LogReply::Matches(matches), self.all())
            }
            Chosen::Text(view) => {
                let span = view.raw_span(0..view.text().len());
                let read = match wanted {
                    ReaderDemand::NoMore => span,
                    ReaderDemand::More if is_tail && !span.is_empty() => {
                        Span::new(span.from(), self.all().to())
                    }
                    ReaderDemand::More => self.all(),
                };
                (LogReply::Excerpt(fitting.fit_view(&view, span)), read)
            }
            Chosen::Everything => self.fit_span(fitting),
        })
    }
}

fn match_json(line: &GrepLine) -> Value {
    json!({
        "line": line.number.get(),
        "text": line.text,
        "from": line.raw.from().get(),
        "to": line.raw.to().get(),
        "match": line.kind == GrepKind::Match,
        "cut": line.cut.any(),
    })
}
