//! The code that `command/exec/*` and `process/*` share once a process runs; only their error messages differ.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use windlass_protocol::app::{Done, TerminalSize};
use windlass_protocol::envelope::{INVALID_PARAMS, INVALID_REQUEST, Refusal, RequestId};

use crate::app::connection::Connection;
use crate::app::input::{Last, Parties, Taken, Write};
use crate::app::process::{Name, Process};
use crate::app::start;

/// The error messages of one kind of process.
pub(super) struct Words {
    /// The write has neither bytes nor an end.
    pub(super) nothing_to_write: &'static str,
    /// There is no such process; its name follows.
    pub(super) not_there: &'static str,
    /// The process was started without input.
    pub(super) no_input: &'static str,
    /// The size has no rows or no columns.
    pub(super) no_size: &'static str,
}

/// Those of `command/exec`.
pub(super) const COMMAND: Words = Words {
    nothing_to_write: "command/exec/write requires deltaBase64 or closeStdin",
    not_there: "no active command/exec for process id",
    no_input: "stdin streaming is not enabled for this command/exec",
    no_size: "command/exec size rows and cols must be greater than 0",
};

/// Those of `process/spawn`.
pub(super) const PROCESS: Words = Words {
    nothing_to_write: "process/writeStdin requires deltaBase64 or closeStdin",
    not_there: "no active process for process handle",
    no_input: "stdin streaming is not enabled for this process",
    no_size: "process size rows and cols must be greater than 0",
};

/// The parameters of a write.
pub(super) struct Sent {
    pub(super) id: RequestId,
    pub(super) delta_base64: Option<String>,
    pub(super) close_stdin: bool,
}

/// Input for a process. Answered when all of it is in the process's queue.
pub(super) async fn write(
    connection: &Connection,
    (name, words): (Name, &Words),
    sent: Sent,
) -> Result<(), Refusal> {
    connection.client()?;
    if sent.delta_base64.is_none() && !sent.close_stdin {
        return Err(Refusal::new(INVALID_PARAMS, words.nothing_to_write));
    }
    let bytes = STANDARD
        .decode(sent.delta_base64.unwrap_or_default())
        .map_err(|why| Refusal::new(INVALID_PARAMS, format!("invalid deltaBase64: {why}")))?;
    let process = find(connection, &name, words)?;
    let Some(input) = &process.input else {
        return Err(Refusal::new(INVALID_REQUEST, words.no_input));
    };
    let last = if sent.close_stdin { Last::End } else { Last::More };
    let parties = parties(connection);
    if let Taken::Feed(process) = input.take(&process, Write { id: sent.id, bytes, last }, &parties).await? {
        // It ends with the process, whether or not the connection is still there.
        drop(tokio::spawn(async move {
            if let Some(input) = &process.input {
                input.feed(&process, &parties).await;
            }
        }));
    }
    Ok(())
}

/// Resizes a process's terminal.
pub(super) async fn resize(
    connection: &Connection,
    (name, words): (Name, &Words),
    (id, size): (RequestId, TerminalSize),
) -> Result<(), Refusal> {
    connection.client()?;
    let size = start::size_of(size).ok_or_else(|| Refusal::new(INVALID_PARAMS, words.no_size))?;
    let process = find(connection, &name, words)?;
    if process.session.facts().terminal.is_none() {
        let message = "failed to resize PTY: process is not attached to a PTY";
        return Err(Refusal::new(INVALID_REQUEST, message));
    }
    // If all programs of a terminal have gone, its size is visible to no process: not an error.
    let _ = process.session.resize(size).await;
    connection.peer.answer(&id, &Done {});
    Ok(())
}

/// Ends a process. Input that still waits for it is dropped, and its writes are answered first.
pub(super) fn terminate(
    connection: &Connection,
    (name, words): (Name, &Words),
    id: &RequestId,
) -> Result<(), Refusal> {
    connection.client()?;
    let process = find(connection, &name, words)?;
    if let Some(input) = &process.input {
        input.give_up(&parties(connection));
    }
    let session = process.session.clone();
    drop(tokio::spawn(async move { drop(session.stop().await) }));
    connection.peer.answer(id, &Done {});
    Ok(())
}

pub(super) fn find(connection: &Connection, name: &Name, words: &Words) -> Result<Arc<Process>, Refusal> {
    let missing = || Refusal::new(INVALID_REQUEST, format!("{} {}", words.not_there, name.quoted()));
    connection.processes.find(name).ok_or_else(missing)
}

fn parties(connection: &Connection) -> Parties {
    Parties { peer: connection.peer.clone(), processes: Arc::clone(&connection.processes) }
}
