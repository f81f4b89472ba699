//! Sessions whose output can be read, whether they run in this runtime or only their journals are left.

use std::sync::Arc;

use windlass_engine::{Journal, SessionRecord, screen_text, with_causes};

use crate::arguments::SessionRef;
use crate::live_session::{LiveSession, Number};
use crate::report;
use crate::shims::loss;
use crate::tool::ToolError;
use crate::toolbox::Toolbox;

/// A session whose output can be read.
pub(crate) enum ReadableSession {
    Held(Arc<LiveSession>),
    Stored { number: Number, journal: Box<Journal> },
}

impl ReadableSession {
    pub(crate) fn number(&self) -> Number {
        match self {
            Self::Held(held) => held.number,
            Self::Stored { number, .. } => *number,
        }
    }

    pub(crate) fn journal(&self) -> &Journal {
        match self {
            Self::Held(held) => held.session.journal(),
            Self::Stored { journal, .. } => journal,
        }
    }

    pub(crate) fn screen(&self) -> Option<String> {
        match self {
            Self::Held(held) => held.session.screen().map(|screen| screen.text),
            Self::Stored { journal, .. } => journal.terminal().map(|_| screen_text(journal)),
        }
    }
}

impl Toolbox {
    /// A session of this caller, or an earlier one with a record on disk.
    pub(crate) fn remembered(&self, asked: &SessionRef) -> Result<ReadableSession, ToolError> {
        match self.find(asked) {
            Ok(held) => Ok(ReadableSession::Held(held)),
            Err(refusal) => self.stored(asked)?.ok_or(refusal),
        }
    }

    /// A session that was started before this caller came, is not listed any more, or was run by another process.
    fn stored(&self, asked: &SessionRef) -> Result<Option<ReadableSession>, ToolError> {
        let Some(store) = &self.options().store else { return Ok(None) };
        let Some((number, record)) = self.recorded(asked)? else { return Ok(None) };
        let journal = store.open_journal(&record).map_err(|error| {
            ToolError(format!("the output of session {number} cannot be read: {}", with_causes(&error)))
        })?;
        Ok(Some(ReadableSession::Stored { number, journal: Box::new(journal) }))
    }

    /// The error for an unknown session: there is none, or its record cannot be read.
    pub(crate) fn unknown(&self, asked: &SessionRef) -> ToolError {
        if let Some(other) = self.other(asked) {
            return ToolError(other.out_of_reach());
        }
        match self.recorded(asked) {
            Err(refusal) => return refusal,
            Ok(Some((number, record))) if record.receipt.is_none() => return unended(number, &record),
            Ok(_) => {}
        }
        let live: Vec<String> =
            self.held().iter().filter(|held| held.session.receipt().is_none()).map(line).collect();
        let live = if live.is_empty() {
            "no session is running".to_owned()
        } else {
            format!("running: {}", live.join(", "))
        };
        let asked = report::shortened(&asked.to_string(), 80);
        let hidden = self.hint_about_other_owners();
        let blind: String = self.blind_spots().iter().map(|spot| format!("; {spot}")).collect();
        ToolError(format!("Unknown session id {asked}; {live}{hidden}{blind}"))
    }
}

/// The error for a session that has a record and no receipt, and no shim.
fn unended(number: Number, record: &SessionRecord) -> ToolError {
    if let Some(state) = loss(record) {
        return ToolError(format!("session {number} is {state}; read_output reads what it printed"));
    }
    let pid = record.start.runtime.pid;
    ToolError(format!(
        "session {number} was started by another runtime (process {pid}), which cannot be reached from here; its record has no \
         end: it runs, or its runtime was killed; read_output reads what it printed, `windlass ps` tells its state and \
         `windlass stop` ends it"
    ))
}

fn line(held: &Arc<LiveSession>) -> String {
    match &held.session.facts().name {
        Some(name) => format!("{} ({name})", held.number),
        None => format!("{} ({})", held.number, report::shortened(&held.command, 40)),
    }
}
