//! A log within a budget: as text, and as one JSON object.

use anyhow::Result;
use serde_json::{Map, Value, json};
use windlass_output::{GrepKind, GrepLine, LONGEST_SHOWN_LINE, Offset, Span, Tokenizer, Tokens, View};

use super::choice::{Chosen, numbered};
use super::{Chooser, Reading};
use crate::args::ViewKind;
use crate::printing::print;
use crate::report;
use crate::sessions::State;
use windlass_engine::{Fitted, Fitting, Form, Part, Reader, Wanted};

/// What was asked for, within a budget.
enum Answer {
    Excerpt(Fitted),
    Matches(Matches),
}

/// Matches from the first on, for as long as the budget lasts.
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
        // Once one did not fit, no later one is shown: the list has no holes.
        if self.omitted > 0 || cost > self.left {
            self.omitted += 1;
        } else {
            self.left -= cost;
            self.lines.push(line);
        }
    }

    fn text(&self) -> String {
        let mut text: String = self.lines.iter().map(numbered).collect();
        if self.omitted > 0 {
            text.push_str(&format!("…{} truncated…\n", report::plural(self.omitted, "more line")));
        }
        text
    }
}

impl Reading<'_> {
    pub(super) fn print_fitted(&self, budget: Tokens) -> Result<()> {
        let mut text = match self.fit(budget)? {
            Answer::Excerpt(fitted) => fitted.text,
            Answer::Matches(matches) => matches.text(),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        print(text)
    }

    pub(super) fn print_json(&self, budget: Tokens) -> Result<()> {
        let start = &self.record.start;
        let mut object = Map::new();
        object.insert("session".to_owned(), start.id.get().into());
        object.insert("name".to_owned(), start.name.clone().into());
        object.insert("state".to_owned(), State::of(&self.record).word().into());
        report::receipt_fields(self.record.receipt.as_ref(), &mut object);
        let journal = report::journal_fields(Some(self.store.root()), start.id, &self.journal.account());
        object.insert("journal".to_owned(), journal);
        match self.fit(budget)? {
            Answer::Excerpt(fitted) => report::excerpt_fields(&fitted, &mut object),
            Answer::Matches(matches) => {
                object.insert("matches".to_owned(), matches.lines.iter().map(match_json).collect());
                object.insert("matches_omitted".to_owned(), matches.omitted.into());
            }
        }
        print(Value::Object(object).to_string() + "\n")
    }

    fn fit(&self, budget: Tokens) -> Result<Answer> {
        let tokenizer = Tokenizer::from(self.order.shown.tokenizer);
        let form = if self.view() == ViewKind::Raw { Form::Raw } else { Form::Settled };
        let marker = report::marker(tokenizer, &self.record.start.id);
        let fitting = Fitting { form, budget, tokenizer, marker };
        if self.view() == ViewKind::Screen {
            let all = Span::new(Offset::ZERO, self.journal.end());
            let screen = View::verbatim(self.screen(), Offset::ZERO);
            return Ok(Answer::Excerpt(fitting.fit_view(&screen, all)));
        }
        match self.chooser() {
            Chooser::Everything => Ok(Answer::Excerpt(fitting.fit(&self.journal, self.span()))),
            chooser => self.choose(chooser, &fitting),
        }
    }

    fn choose(&self, mut chooser: Chooser, fitting: &Fitting<'_>) -> Result<Answer> {
        let (left, tokenizer) = (fitting.budget.get(), fitting.tokenizer);
        let mut matches = Matches { lines: Vec::new(), omitted: 0, left, tokenizer };
        let mut take = |part: Part<'_>| -> Result<Wanted> {
            if let Part::Text(view) = part {
                chooser.feed(view);
                chooser.take_matches().into_iter().for_each(|line| matches.add(line));
            }
            Ok(if chooser.is_complete() { Wanted::NoMore } else { Wanted::More })
        };
        let mut reader = Reader::new(&self.journal, Offset::ZERO, Form::Settled);
        if reader.advance(self.journal.end(), &mut take)? == Wanted::More {
            reader.finish(&mut take)?;
        }
        Ok(match chooser.finish() {
            Chosen::Matches(last) => {
                last.into_iter().for_each(|line| matches.add(line));
                Answer::Matches(matches)
            }
            Chosen::Text(view) => {
                let span = view.raw_span(0..view.text().len());
                Answer::Excerpt(fitting.fit_view(&view, span))
            }
            Chosen::Everything => Answer::Excerpt(fitting.fit(&self.journal, self.span())),
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
