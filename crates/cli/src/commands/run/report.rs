//! The report after a run: the output, if it was not streamed, and remarks.

use std::sync::Arc;

use anyhow::Result;
use serde_json::{Map, Value, json};
use windlass_engine::sandbox::{Denial, Operation};
use windlass_engine::{Cause, Degraded, Exit as CommandExit, Met, Receipt, Session, Store, TreeEnd, Until};
use windlass_output::{Offset, Span, Tokenizer, View};
use windlass_sys::signal::Signal;

use super::plan::Presentation;
use super::run_end::RunEnd;
use crate::args::ViewKind;
use crate::printing::print;
use crate::report;
use crate::sessions::State;
use windlass_engine::{Fitted, Fitting, Form, OutputPart, Reader, ReaderDemand};

/// A finished run.
pub(crate) struct RunReport<'a> {
    pub(crate) session: &'a Session,
    pub(crate) store: Option<&'a Store>,
    pub(crate) turn: &'a RunEnd,
    pub(crate) until: &'a Until,
    /// The processes that were ended when windlass was about to exit.
    pub(crate) swept: &'a TreeEnd,
    pub(crate) tokenizer: Tokenizer,
}

impl RunReport<'_> {
    /// Prints the output and the remarks.
    pub(crate) fn tell(&self, presentation: Presentation) -> Result<()> {
        match presentation {
            Presentation::Stream => self.remark(),
            Presentation::Afterwards { view, budget: None } => {
                self.print_all(view)?;
                self.remark();
            }
            Presentation::Afterwards { view, budget: Some(budget) } => {
                let fitted = self.fit(view, budget);
                print(with_newline(&fitted.text))?;
                self.remark();
                self.tell_receipt(&fitted);
            }
            Presentation::Json { view, budget } => print(self.json(&self.fit(view, budget)) + "\n")?,
        }
        Ok(())
    }

    fn receipt(&self) -> Option<Arc<Receipt>> {
        self.session.receipt()
    }

    fn fit(&self, view: ViewKind, budget: windlass_output::Tokens) -> Fitted {
        let journal = self.session.journal();
        let form = if view == ViewKind::Raw { Form::Raw } else { Form::Settled };
        let (id, tokenizer) = (self.session.id(), self.tokenizer);
        let fitting = Fitting { form, budget, tokenizer, marker: report::marker(tokenizer, &id) };
        let all = Span::new(Offset::ZERO, journal.end());
        match self.session.screen().filter(|_| view == ViewKind::Screen) {
            Some(screen) => fitting.fit_view(&View::verbatim(screen.text, Offset::ZERO), all),
            None => fitting.fit(journal, all),
        }
    }

    fn print_all(&self, view: ViewKind) -> Result<()> {
        if let Some(screen) = self.session.screen().filter(|_| view == ViewKind::Screen) {
            return print(with_newline(&screen.text));
        }
        let journal = self.session.journal();
        let mut take = |part: OutputPart<'_>| -> Result<ReaderDemand> {
            match part {
                OutputPart::Text(text) => print(text.text())?,
                OutputPart::Gone(missing) if missing.is_expected() => {
                    print(format!("…{} bytes are no longer kept…\n", missing.span.len()))?;
                }
                OutputPart::Gone(missing) => {
                    print(format!("…{} bytes at {} are missing…\n", missing.span.len(), missing.span))?;
                }
            }
            Ok(ReaderDemand::More)
        };
        let mut reader = Reader::new(journal, Offset::ZERO, Form::Settled);
        reader.advance(journal.end(), &mut take)?;
        reader.finish(&mut take)
    }

    /// Prints remarks on standard error. No remark means that the command's own output and exit code say everything.
    fn remark(&self) {
        self.remark_on_turn();
        self.remark_on_refusals();
        self.remark_on_processes();
        self.remark_on_journal();
    }

    fn remark_on_turn(&self) {
        let id = self.session.id();
        match self.turn {
            RunEnd::Met(Met::Pattern(found)) => {
                say(&format!("session {id} printed {:?}; it {}", found.text, self.end_after_match()));
            }
            RunEnd::Met(Met::Idle(time)) => {
                let (time, end) = (report::duration(*time), self.end_after_match());
                say(&format!("session {id} was silent for {time}; it {end}"));
            }
            RunEnd::Exited(_) if self.turn.has_missed(self.until) => {
                say(&format!("session {id} ended without printing what --until waits for"));
            }
            RunEnd::Exited(receipt) => self.remark_on_exit(receipt),
            RunEnd::Unwritable(reason) => say(&format!("cannot write the output of session {id}: {reason}")),
            RunEnd::Missed { bytes } => {
                let missed = report::bytes(*bytes);
                say(&format!(
                    "the reader was too slow: {missed} of session {id} were dropped before it took them"
                ));
            }
            RunEnd::Met(_) | RunEnd::Ended(_) | RunEnd::Stopped(_) | RunEnd::ReaderGone => {}
        }
    }

    fn end_after_match(&self) -> String {
        end_after_match(self.receipt().as_deref())
    }

    fn remark_on_refusals(&self) {
        const SHOWN: usize = 5;
        let mut denials = self.session.denials();
        let unlisted = denials.pop_if(|last| last.operation == Operation::More).map_or(0, |more| more.times);
        for denial in denials.iter().take(SHOWN) {
            say(&format!("the sandbox refused: {denial}"));
        }
        let listed = denials.len().saturating_sub(SHOWN);
        match (listed, unlisted) {
            (0, 0) => {}
            (more, 0) => say(&format!("the sandbox refused {more} more; --json lists them all")),
            (more, unlisted) => {
                say(&format!("the sandbox refused {more} more, which --json lists, and {unlisted} beside"));
            }
        }
        if denials.iter().any(Denial::lacks_a_write_rule) {
            say("--writable PATH lets the command change a path");
        }
    }

    fn remark_on_exit(&self, receipt: &Receipt) {
        match (receipt.cause, receipt.exit) {
            // The person who pressed Ctrl-C knows.
            (Cause::Itself, CommandExit::Signal(number)) if Signal::from(number) == Signal::INT => {}
            (Cause::Itself, CommandExit::Code(_)) => {}
            _ => say(&format!("session {} {}", self.session.id(), report::ending(receipt))),
        }
    }

    fn remark_on_processes(&self) {
        if !self.swept.ended.is_empty() {
            let number = report::plural(self.swept.ended.len(), "process");
            say(&format!("ended {number} left running: {}", report::processes(&self.swept.ended)));
        }
        if !self.swept.remaining.is_empty() {
            say(&format!("could not end: {}", report::processes(&self.swept.remaining)));
        }
    }

    fn remark_on_journal(&self) {
        let id = self.session.id();
        let account = self.session.journal().account();
        for missing in account.missing.iter().filter(|missing| !missing.is_expected()) {
            say(&format!("{} bytes at {} are missing: {}", missing.span.len(), missing.span, missing.why));
        }
        if let Some(degraded) = account.degraded {
            let Degraded { at, reason } = degraded;
            say(&format!("not all of the output of session {id} from byte {at} on is on disk: {reason}"));
        }
        if let Some(trouble) = self.session.trouble() {
            say(&format!("session {id} will not be listed: {trouble}"));
        }
    }

    fn tell_receipt(&self, fitted: &Fitted) {
        let id = self.session.id();
        match self.receipt() {
            Some(receipt) => say(&report::receipt_line(id, &receipt)),
            None => say(&format!("session {id} could not be ended")),
        }
        if fitted.omitted.is_some() {
            let tokens = report::count(fitted.original.get());
            let rest = self.where_to_read_the_rest();
            say(&format!("the whole output has {tokens} tokens; {rest}"));
        }
    }

    /// The command that reads the rest. `windlass log` does not know a session that is not recorded, and output that is
    /// not on disk is lost with this process.
    fn where_to_read_the_rest(&self) -> String {
        let id = self.session.id();
        let account = self.session.journal().account();
        match (self.session.trouble(), account.degraded) {
            (Some(_), _) => "the rest cannot be read later: the session is not recorded".to_owned(),
            (None, Some(degraded)) => {
                format!(
                    "`windlass log {id}` reads it as far as it is on disk, whole up to byte {}",
                    degraded.at
                )
            }
            (None, None) => format!("read it with `windlass log {id}`"),
        }
    }

    fn json(&self, fitted: &Fitted) -> String {
        let receipt = self.receipt();
        let account = self.session.journal().account();
        let mut object = Map::new();
        object.insert("session".to_owned(), self.session.id().get().into());
        object.insert("name".to_owned(), self.session.facts().name.clone().into());
        object.insert("state".to_owned(), self.state(receipt.as_deref()).word().into());
        object.insert("met".to_owned(), self.turn.json());
        report::receipt_fields(receipt.as_deref(), &mut object);
        report::excerpt_fields(fitted, &mut object);
        object.insert("swept".to_owned(), report::processes_json(&self.swept.ended));
        let directory = self.store.map(Store::root);
        object.insert("journal".to_owned(), report::journal_fields(directory, self.session.id(), &account));
        if let Some(trouble) = self.session.trouble() {
            object.insert("trouble".to_owned(), trouble.into());
        }
        Value::Object(object).to_string()
    }

    fn state(&self, receipt: Option<&Receipt>) -> State {
        receipt.map_or(State::Ending, |receipt| State::Over(receipt.exit, receipt.cause))
    }
}

/// How a session ended that was to be stopped. It may have ended before the first signal, and then it was not stopped.
fn end_after_match(receipt: Option<&Receipt>) -> String {
    match receipt {
        Some(receipt) if receipt.cause != Cause::Stopped => report::ending(receipt),
        _ => "was stopped".to_owned(),
    }
}

impl RunEnd {
    fn json(&self) -> Value {
        match self {
            Self::Exited(_) => json!({"condition": "exit"}),
            Self::Met(Met::Pattern(found)) => {
                let (from, to) = (found.raw.from().get(), found.raw.to().get());
                json!({"condition": "pattern", "text": found.text, "from": from, "to": to})
            }
            Self::Met(Met::Idle(time)) => json!({"condition": "idle", "seconds": time.as_secs_f64()}),
            _ => Value::Null,
        }
    }
}

fn with_newline(text: &str) -> String {
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{newline}")
}

fn say(text: &str) {
    crate::printing::say!("windlass: {text}");
}
