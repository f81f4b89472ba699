//! Finished sessions without a live handle: calls are answered from their records, and their journals can still be
//! read.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use windlass_engine::{LoadRecord, Receipt, SessionId, SessionRecord, Store};

use crate::arguments::SessionRef;
use crate::call::{Call, Reply};
use crate::live_session::{EndAnnounced, LiveSession, Number};
use crate::owner::Sharing;
use crate::report;
use crate::tool::{NOTHING_WRITTEN, ToolError, holds, note_lines};
use crate::toolbox::{Numbering, Toolbox};

/// A session that is over.
pub(crate) struct Ended {
    pub(crate) number: Number,
    pub(crate) record: SessionRecord,
    pub(crate) receipt: Receipt,
    /// It stayed listed until its caller had received everything.
    shelved: bool,
}

/// Sessions of one caller that are not listed any more and can still be read, oldest first.
#[derive(Debug, Default)]
pub(crate) struct ArchivedSessions {
    sessions: Mutex<VecDeque<ArchivedSession>>,
}

#[derive(Clone, Debug)]
struct ArchivedSession {
    number: Number,
    id: SessionId,
    name: Option<String>,
    bytes: u64,
}

/// The most unlisted sessions that can be read, and the most bytes that they may take on disk together.
const MOST_SHELVED: usize = 1000;
const MOST_SHELVED_BYTES: u64 = 4 << 30;

impl ArchivedSessions {
    /// Adds sessions, and returns those that had to make room: they are to be removed.
    pub(crate) fn take_in(&self, sessions: &[std::sync::Arc<LiveSession>]) -> Vec<SessionId> {
        let mut shelf = self.lock();
        shelf.extend(sessions.iter().map(|held| ArchivedSession {
            number: held.number,
            id: held.session.id(),
            name: held.session.facts().name.clone(),
            bytes: held.session.journal().end().get(),
        }));
        let mut bytes: u64 = shelf.iter().map(|shelved| shelved.bytes).sum();
        let mut removed = Vec::new();
        while shelf.len() > MOST_SHELVED || bytes > MOST_SHELVED_BYTES {
            let Some(oldest) = shelf.pop_front() else { break };
            bytes -= oldest.bytes;
            removed.push(oldest.id);
        }
        removed
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn find(&self, asked: &SessionRef) -> Option<(Number, SessionId)> {
        let is_meant = |shelved: &&ArchivedSession| asked.means(shelved.number, shelved.name.as_deref());
        self.lock().iter().rev().find(is_meant).map(|shelved| (shelved.number, shelved.id))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<ArchivedSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Toolbox {
    /// The record of a session that this caller may ask for. A number that anyone could guess opens nothing to callers
    /// whose own are secret. A record that cannot be read is an error, not a missing session.
    pub(crate) fn recorded(&self, asked: &SessionRef) -> Result<Option<(Number, SessionRecord)>, ToolError> {
        let Some(store) = self.options().store.as_ref() else { return Ok(None) };
        if let Some((number, id)) = self.archived_sessions().find(asked).or_else(|| self.kept().find(asked)) {
            return Ok(loaded(store, number, id)?.map(|record| (number, record)));
        }
        if self.options().numbering == Numbering::Secret && self.options().sharing == Sharing::Own {
            return Ok(None);
        }
        let record = match asked {
            SessionRef::Number(number) => {
                loaded(store, Number(*number), SessionId::new(*number))?.filter(|record| self.may_see(record))
            }
            SessionRef::Name(name) => {
                let is_meant = |record: &SessionRecord| record.start.name.as_ref() == Some(name);
                let listing = match store.list() {
                    // A missing state directory contains no session.
                    Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
                    listing => {
                        listing.map_err(|error| unknowable(&format!("`{name}`"), &error.with_remedy()))?
                    }
                };
                let mut newest_first = listing.sessions.into_iter().rev();
                let found = newest_first.find(|record| is_meant(record) && self.may_see(record));
                match (found, listing.unreadable.first()) {
                    (None, Some(error)) => {
                        return Err(unknowable(&format!("`{name}`"), &error.with_remedy()));
                    }
                    (found, _) => found,
                }
            }
        };
        Ok(record.map(|record| (Number(record.start.id.get()), record)))
    }

    /// Records that cannot be read, as one sentence: their sessions may be running, and may be this caller's.
    pub(crate) fn unreadable_records(&self) -> Option<String> {
        let store = self.options().store.as_ref()?;
        let failure = match store.list() {
            Ok(listing) => listing.unreadable.first().map(LoadRecord::with_remedy)?,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => error.with_remedy(),
        };
        Some(format!("not every record can be read, so sessions may be missing here: {failure}"))
    }

    /// A session that is over and has neither a live handle nor a shim.
    pub(crate) fn ended(&self, asked: &SessionRef) -> Option<Ended> {
        if self.find_held(asked).is_some() {
            return None;
        }
        // `Toolbox::unknown` reports a record that cannot be read.
        let (number, record) = self.recorded(asked).ok().flatten()?;
        let receipt = record.receipt.clone()?;
        let shelved = self.archived_sessions().find(asked).is_some();
        Some(Ended { number, record, receipt, shelved })
    }

    /// The reply to a call about a session of which only the record is left; `None` if it is about another.
    pub(crate) fn answer_by_record(&self, call: &Call, began: Instant) -> Option<Reply> {
        let is_about_one = matches!(call.tool.as_str(), "write_stdin" | "stop_session");
        let ended = self.ended(&SessionRef::of(call).filter(|_| is_about_one)?)?;
        let mut notes = self.announcements(None, &call.delivery);
        if call.tool == "write_stdin" && holds(&call.arguments).is_some() {
            notes.insert(0, NOTHING_WRITTEN.to_owned());
        }
        let was_told =
            ended.shelved || self.tell_kept_end(ended.number, &call.delivery) == Some(EndAnnounced::Told);
        let (mut text, mut object) = match call.tool.as_str() {
            "stop_session" => ended.stopped(),
            _ => ended.polled(began, was_told),
        };
        text += &note_lines(&notes);
        object.insert("notes".into(), notes.into());
        Some(Reply::new(text, Value::Object(object)))
    }
}

impl Ended {
    /// How it ended, as the end of a sentence.
    pub(crate) fn ending(&self) -> String {
        report::ending(&self.receipt)
    }

    fn stopped(&self) -> (String, Map<String, Value>) {
        let mut object = Map::new();
        object.insert("session".into(), self.number.into());
        object.insert("exit_code".into(), self.receipt.exit.code().into());
        object.insert("receipt".into(), report::receipt(&self.receipt));
        object.insert("ended".into(), json!([]));
        object.insert("remaining".into(), json!([]));
        (format!("Session {} had exited before\n", self.number), object)
    }

    fn polled(&self, began: Instant, was_told: bool) -> (String, Map<String, Value>) {
        let (number, ending) = (self.number, self.ending());
        let wall = report::rounded(began.elapsed());
        let mut object = Map::new();
        object.insert("session".into(), number.into());
        object.insert("wall_time_seconds".into(), wall.into());
        object.insert("state".into(), ending.as_str().into());
        object.insert("output".into(), "".into());
        if !was_told {
            object.insert("exit_code".into(), self.receipt.exit.code().into());
        }
        let text = format!(
            "Wall time: {wall:.4} seconds\nSession {number} {ending} before; read_output session_id={number} reads its \
             transcript\n"
        );
        (text, object)
    }

    pub(crate) fn line(&self) -> String {
        let start = &self.record.start;
        report::session_line(&self.number, &self.ending(), &self.command(), start)
    }

    pub(crate) fn json(&self) -> Value {
        let start = &self.record.start;
        json!({
            "session": self.number.0,
            "name": start.name,
            "command": self.command(),
            "cwd": start.cwd.display().to_string(),
            "state": self.ending(),
            "exit_code": self.receipt.exit.code(),
            "started": report::moment(start.started),
            "last_output": null,
            "unread_tokens": 0,
            "left_running": report::processes_json(&self.receipt.left_running),
            "removed_variables": start.withheld,
        })
    }

    fn command(&self) -> String {
        command(&self.record)
    }
}

/// A session's record, if there is one.
fn loaded(store: &Store, number: Number, id: SessionId) -> Result<Option<SessionRecord>, ToolError> {
    match store.load(id) {
        Ok(record) => Ok(Some(record)),
        Err(LoadRecord::NotFound { .. }) => Ok(None),
        // A missing state directory contains no session.
        Err(LoadRecord::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unknowable(&number.to_string(), &error.with_remedy())),
    }
}

fn unknowable(asked: &str, reason: &str) -> ToolError {
    let asked = report::shortened(asked, 80);
    ToolError(format!("session {asked} may exist and may be running; that cannot be known: {reason}"))
}

/// The script or command that was asked for.
pub(crate) fn command(record: &SessionRecord) -> String {
    let argv = || record.start.argv.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    record.start.script.clone().unwrap_or_else(argv)
}
