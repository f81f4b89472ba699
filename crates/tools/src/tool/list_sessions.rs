//! `list_sessions`: all sessions of the caller, so that work is found again.

use std::time::Instant;

use serde_json::{Map, Value, json};
use windlass_engine::ProcessLine;

use super::{CallContext, ToolError, note_lines, shape};
use crate::arguments::schema;
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::live_session::LiveSession;
use crate::report;
use crate::toolbox::Toolbox;

pub(crate) const TOOL: Tool = Tool {
    name: "list_sessions",
    title: "List sessions",
    description: "Lists running and finished sessions, with state and unread output.",
    hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
    input: || schema(&[], &[]),
    output: || shape(&json!({ "sessions": { "type": "array" } })),
};

/// The most of a script that is listed, in characters: a list is to find a session by.
const MOST_SHOWN: usize = 2000;
/// The most sessions that the text describes in full. Of older finished ones it says enough to find them by.
const MOST_AT_LENGTH: usize = 50;

pub(super) async fn call(visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let mut notes = visit.remarks();
    let mut text = String::new();
    let mut sessions = Vec::new();
    let all = visit.toolbox.held();
    let old = all.len().saturating_sub(MOST_AT_LENGTH);
    for (place, held) in all.iter().enumerate() {
        let entry = ListedSession::of(visit.toolbox, held).await;
        let at_length = place >= old || !held.needs_no_telling();
        text += &if at_length { entry.line() } else { entry.short_line() };
        sessions.push(entry.json());
    }
    for kept in visit.toolbox.kept_entries(&visit.call.delivery).await {
        text += &kept.text;
        sessions.extend(kept.structured["sessions"].as_array().cloned().unwrap_or_default());
    }
    for ended in visit.toolbox.ended_kept() {
        text += &ended.line();
        sessions.push(ended.json());
    }
    for other in visit.toolbox.others() {
        text += &other.line();
        sessions.push(other.json());
    }
    notes.extend(visit.toolbox.blind_spots());
    let unlisted = visit.toolbox.archived_sessions().len();
    if unlisted > 0 {
        notes.push(format!(
            "{unlisted} older finished sessions are not listed; read_output reads them by number"
        ));
    }
    if sessions.is_empty() {
        text += "No sessions yet\n";
    }
    notes.extend(visit.toolbox.announcements(None, &visit.call.delivery));
    Ok(Reply::new(text + &note_lines(&notes), json!({ "sessions": sessions })))
}

/// One session of the list.
struct ListedSession<'a> {
    held: &'a LiveSession,
    state: String,
    unread: u64,
    left_running: Vec<ProcessLine>,
    /// Seconds ago; `None` if it printed nothing.
    last_output: Option<std::time::Duration>,
}

impl<'a> ListedSession<'a> {
    async fn of(toolbox: &Toolbox, held: &'a LiveSession) -> Self {
        let progress = held.session.progress();
        let left = progress.receipt.as_ref().is_some_and(|receipt| !receipt.left_running.is_empty());
        let printed = progress.end.get() > 0;
        Self {
            held,
            state: toolbox.state(held).await,
            unread: held.unread_tokens(toolbox.tokenizer()).get(),
            left_running: if left { held.readable(held.session.processes()) } else { Vec::new() },
            last_output: printed.then(|| Instant::now().duration_since(progress.last_output)),
        }
    }

    fn short_line(&self) -> String {
        let command = report::shortened(&self.held.command, 40);
        format!("{}{}: {} | {command}\n", self.held.number, self.name(), self.state)
    }

    fn name(&self) -> String {
        self.held.session.facts().name.as_ref().map(|name| format!(" {name}")).unwrap_or_default()
    }

    fn line(&self) -> String {
        let facts = self.held.session.facts();
        let mut line = format!(
            "{}{}: {} | {} | in {} | started {}",
            self.held.number,
            self.name(),
            self.state,
            report::shortened(&self.held.command, 100),
            facts.directory.display(),
            report::moment(facts.started),
        );
        if let Some(ago) = self.last_output {
            line += &format!(" | last output {} ago", report::seconds(ago));
        }
        if self.unread > 0 {
            line += &format!(" | {} unread tokens", self.unread);
        }
        if !self.left_running.is_empty() {
            line += &format!(" | left running: {}", report::left_in_list(&self.left_running, self.held));
        }
        line + &report::withheld(&self.held.removed) + "\n"
    }

    fn json(&self) -> Value {
        let facts = self.held.session.facts();
        let mut object = Map::new();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put("session", self.held.number.into());
        put("name", facts.name.clone().into());
        put("command", report::beginning(&self.held.command, MOST_SHOWN).into());
        put("cwd", facts.directory.display().to_string().into());
        put("state", self.state.as_str().into());
        if let Some(receipt) = self.held.session.receipt() {
            put("exit_code", receipt.exit.code().into());
        }
        put("started", report::moment(facts.started).into());
        let last = self.last_output.map(|ago| self.held.session.started().elapsed().saturating_sub(ago));
        put("last_output", last.map(|after| report::moment(facts.started + after)).into());
        put("unread_tokens", self.unread.into());
        put("left_running", report::left_running_json(&self.left_running));
        put("removed_variables", self.held.removed.clone().into());
        Value::Object(object)
    }
}
