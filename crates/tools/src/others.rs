//! Running sessions of other runtimes: those of other servers, and those that people run in a terminal or in the
//! background. Where an operator shares them, a caller lists, reads and stops them. Everything else needs the runtime
//! that owns them: input and waiting need its handle of the process.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_engine::{SessionId, SessionRecord};

use crate::archived::command;
use crate::arguments::SessionRef;
use crate::call::{Call, Reply};
use crate::report;
use crate::tool::note_lines;
use crate::toolbox::Toolbox;

/// Access to the sessions of other runtimes.
pub trait OtherRuntimes: Send + Sync {
    /// Whether a session of another runtime still runs; `None` if it does not, or is this runtime's own.
    fn running(&self, record: &SessionRecord) -> Option<&'static str>;

    /// Ends such a session and everything it started, which blocks. Returns the record after that.
    ///
    /// # Errors
    ///
    /// If it cannot be ended, or only together with other sessions.
    fn stop(&self, record: &SessionRecord) -> Result<SessionRecord, String>;
}

/// A session of another runtime.
pub(crate) struct Other {
    record: SessionRecord,
    state: &'static str,
}

impl Toolbox {
    /// Running ones that are not listed otherwise, oldest first.
    pub(crate) fn others(&self) -> Vec<Other> {
        let (Some(store), Some(_)) = (&self.options().store, &self.options().others) else {
            return Vec::new();
        };
        let held: BTreeSet<SessionId> = self.held().iter().map(|held| held.session.id()).collect();
        let kept: BTreeSet<u64> = self.reachable().iter().map(|number| number.0).collect();
        // `blind_spots` reports records that cannot be listed or read.
        let records = store.list().map(|listing| listing.sessions).unwrap_or_default().into_iter();
        let unlisted = records
            .filter(|record| !held.contains(&record.start.id) && !kept.contains(&record.start.id.get()));
        unlisted.filter_map(|record| self.as_other(record)).collect()
    }

    fn as_other(&self, record: SessionRecord) -> Option<Other> {
        let state = self.options().others.as_ref()?.running(&record)?;
        Some(Other { record, state })
    }

    /// A session of another runtime, by the number or name in a call.
    pub(crate) fn other(&self, asked: &SessionRef) -> Option<Other> {
        if self.find_held(asked).is_some() || self.kept_number(asked).is_some() {
            return None;
        }
        // `Toolbox::unknown` reports a record that cannot be read.
        let (_, record) = self.recorded(asked).ok().flatten()?;
        self.as_other(record)
    }

    /// The error for a name that several clients use: each client has names of its own.
    fn ambiguous(&self, asked: &SessionRef) -> Option<String> {
        let SessionRef::Name(name) = asked else { return None };
        let others = self.others();
        let named = others.iter().filter(|other| other.record.start.name.as_ref() == Some(name));
        let numbers: Vec<String> = named.map(|other| other.record.start.id.to_string()).collect();
        let several = "is that of several running sessions of other windlasses";
        (numbers.len() > 1)
            .then(|| format!("name: `{name}` {several}: {}; give the number", numbers.join(", ")))
    }

    /// The reply to a call that stops such a session; `None` if the call is about something else.
    pub(crate) async fn stop_other(&self, call: &Call) -> Option<Reply> {
        let is_stop = call.tool == "stop_session" && !call.arguments.contains_key("signal");
        let asked = SessionRef::of(call).filter(|_| is_stop)?;
        let other = self.other(&asked)?;
        if let Some(reason) = self.ambiguous(&asked) {
            return Some(Reply::error(reason));
        }
        let others = Arc::clone(self.options().others.as_ref()?);
        let id = other.record.start.id;
        let stopped = tokio::task::spawn_blocking(move || others.stop(&other.record)).await;
        let record = match stopped.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(record) => record,
            Err(reason) => return Some(Reply::error(reason)),
        };
        let notes = self.announcements(None, &call.delivery);
        Some(Reply::new(stopped_text(&record) + &note_lines(&notes), stopped_json(id, &record, notes)))
    }
}

fn stopped_text(record: &SessionRecord) -> String {
    let id = record.start.id;
    match &record.receipt {
        Some(receipt) => format!("Session {id} {}\n", report::ending(receipt)),
        None => format!("Session {id} was ended, and left no receipt\n"),
    }
}

fn stopped_json(id: SessionId, record: &SessionRecord, notes: Vec<String>) -> Value {
    let mut object = Map::new();
    object.insert("session".into(), id.get().into());
    if let Some(receipt) = &record.receipt {
        object.insert("exit_code".into(), receipt.exit.code().into());
        object.insert("receipt".into(), report::receipt(receipt));
    }
    let none = [].as_slice();
    let receipt = record.receipt.as_ref();
    let ended = receipt.map_or(none, |receipt| receipt.ended.as_slice());
    let remaining = receipt.map_or(none, |receipt| receipt.remaining.as_slice());
    object.insert("ended".into(), report::processes_json(ended));
    object.insert("remaining".into(), report::processes_json(remaining));
    object.insert("notes".into(), notes.into());
    Value::Object(object)
}

impl Other {
    fn state(&self) -> String {
        format!("{}, of another windlass", self.state)
    }

    pub(crate) fn line(&self) -> String {
        let start = &self.record.start;
        report::session_line(&start.id, &self.state(), &command(&self.record), start)
    }

    pub(crate) fn json(&self) -> Value {
        let start = &self.record.start;
        json!({
            "session": start.id.get(),
            "name": start.name,
            "command": command(&self.record),
            "cwd": start.cwd.display().to_string(),
            "state": self.state(),
            "owner": start.owner,
            "started": report::moment(start.started),
            "last_output": null,
            "unread_tokens": 0,
            "left_running": [],
            "removed_variables": start.withheld,
        })
    }

    /// Why a tool that needs more than a record refuses such a session.
    pub(crate) fn out_of_reach(&self) -> String {
        let id = self.record.start.id;
        format!(
            "session {id} is run by another windlass (process {}): here it can be listed, read with read_output and ended \
             with stop_session without a signal, and no more",
            self.record.start.runtime.pid
        )
    }
}
