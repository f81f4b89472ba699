//! Sessions as clients view them: the list, a transcript, the terminal's screen, a history.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};
use windlass_engine::{ProcessLine, Receipt};
use windlass_output::{Offset, Span, Tokens};

use crate::archived::command;
use crate::arguments::SessionRef;
use crate::call::SessionSummary;
use crate::live_session::{LiveSession, Number, Showing, ViewKind};
use crate::report;
use crate::toolbox::Toolbox;

/// The most of a transcript that is handed out at once.
const TRANSCRIPT_TOKENS: u64 = 50_000;

impl Toolbox {
    /// The sessions, oldest first.
    pub fn sessions(&self) -> Vec<SessionSummary> {
        let summary = |held: &Arc<LiveSession>| SessionSummary {
            id: held.number.to_string(),
            name: held.session.facts().name.clone(),
            command: report::shortened(&held.command, 200),
            state: held
                .session
                .receipt()
                .map_or_else(|| "running".to_owned(), |receipt| report::ending(&receipt)),
            terminal: held.session.facts().terminal.is_some(),
        };
        self.held().iter().map(summary).chain(self.kept_summaries()).collect()
    }

    /// The output of a session, as text within a bound.
    pub fn transcript(&self, id: &str) -> Option<String> {
        let remembered = self.remembered(&by_id(id)).ok()?;
        let showing = Showing {
            view: ViewKind::Text,
            budget: Tokens::new(TRANSCRIPT_TOKENS),
            tokenizer: self.tokenizer(),
        };
        let (number, journal) = (remembered.number(), remembered.journal());
        let mut text = showing.fitting(&number).fit(journal, Span::new(Offset::ZERO, journal.end())).text;
        // A transcript has no other place for it.
        for missing in journal.account().missing.iter().filter(|missing| !missing.is_expected()) {
            let end_of_line = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text += &format!("{end_of_line}Note: {}\n", report::missing(missing, None));
        }
        Some(text)
    }

    /// How a session of this caller ended; `None` while it runs.
    pub fn exit_code(&self, id: &str) -> Option<i64> {
        Some(self.find(&by_id(id)).ok()?.session.receipt()?.exit.code().into())
    }

    /// The screen of a session's terminal; `None` if it has none.
    pub fn screen(&self, id: &str) -> Option<String> {
        self.remembered(&by_id(id)).ok()?.screen()
    }

    /// The history of a session so far.
    pub fn history(&self, id: &str) -> Option<Value> {
        let asked = by_id(id);
        if let Ok(held) = self.find(&asked) {
            let (facts, receipt) = (held.session.facts(), held.session.receipt());
            let left = receipt.as_ref().map(|receipt| held.readable(receipt.left_running.clone()));
            let place = (facts.started, facts.directory.display().to_string());
            let end = receipt.as_deref().zip(left);
            return Some(history((held.number, facts.name.as_deref()), (&held.command, place), end));
        }
        let (number, record) = self.recorded(&asked).ok().flatten()?;
        let start = &record.start;
        let place = (start.started, start.cwd.display().to_string());
        let end = record.receipt.as_ref().map(|receipt| (receipt, receipt.left_running.clone()));
        Some(history((number, start.name.as_deref()), (&command(&record), place), end))
    }
}

/// The session that an address names.
fn by_id(id: &str) -> SessionRef {
    id.parse().map_or_else(|_| SessionRef::Name(id.to_owned()), SessionRef::Number)
}

/// The history of a session: its number and name, the command with its time and directory, and how it ended.
fn history(
    (number, name): (Number, Option<&str>),
    (command, (started, directory)): (&str, (SystemTime, String)),
    end: Option<(&Receipt, Vec<ProcessLine>)>,
) -> Value {
    let mut events = vec![json!({
        "event": "started",
        "time": report::moment(started),
        "command": command,
        "cwd": directory,
    })];
    events.extend(end.map(|(receipt, left)| {
        json!({
            "event": "ended",
            "time": report::moment(started + receipt.wall),
            "exit_code": receipt.exit.code(),
            "how": report::ending(receipt),
            "receipt": report::receipt(receipt),
            "left_running": report::processes_json(&left),
        })
    }));
    json!({ "session": number.0, "name": name, "events": events })
}
