//! `stop_session`: ends a session and everything it started, or sends it a signal.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windlass_engine::{ProcessLine, Signal, TreeEnd};

use super::{CallContext, ToolError, note_lines, shape};
use crate::arguments::{BadArgument, Field, Kind, schema};
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::delivery::Delivery;
use crate::live_session::LiveSession;
use crate::report;

pub(crate) const TOOL: Tool = Tool {
    name: "stop_session",
    title: "Stop a session",
    description: "Ends a session and everything it started: TERM, then KILL after 2 s. Also ends what an exited session \
                  left running. A given signal is only sent.",
    hints: Hints { read_only: false, destructive: true, idempotent: true, open_world: false },
    input: || schema(&FIELDS, &["session_id"]),
    output: || {
        shape(
            &json!({ "session": { "type": "integer" }, "ended": { "type": "array" }, "remaining": { "type": "array" } }),
        )
    },
};

const FIELDS: [Field; 2] = [
    Field { name: "session_id", kind: Kind::Session, about: "" },
    Field { name: "signal", kind: Kind::Text, about: "e.g. INT" },
];

pub(super) async fn call(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let session = visit.arguments.session("session_id")?;
    let signal = visit.arguments.text("signal")?.map(|text| signal(&text)).transpose()?;
    let mut notes = visit.remarks();
    let held = visit.toolbox.find(&session)?;
    let told = match signal {
        Some(signal) => send(&held, signal).await?,
        None => stop(&held, &visit.call.delivery).await,
    };
    notes.extend(visit.toolbox.announcements(None, &visit.call.delivery));
    let (text, structured) = told;
    Ok(Reply::new(text + &note_lines(&notes), structured))
}

fn signal(text: &str) -> Result<Signal, BadArgument> {
    text.parse()
        .map_err(|error: <Signal as std::str::FromStr>::Err| BadArgument::new("signal", error.to_string()))
}

async fn send(held: &LiveSession, signal: Signal) -> Result<(String, Value), ToolError> {
    let number = held.number;
    if held.session.receipt().is_some() {
        return Err(ToolError(format!("session {number} has already exited; no signal was sent")));
    }
    let sent = held.session.signal(signal).await;
    sent.map_err(|errno| ToolError(format!("session {number}: {signal} could not be sent: {errno}")))?;
    let structured =
        json!({ "session": held.number.0, "signal": signal.to_string(), "ended": [], "remaining": [] });
    Ok((format!("{signal} sent to session {number}\n"), structured))
}

/// Stops a session. The reply reports its end, so it is not announced again.
async fn stop(held: &Arc<LiveSession>, delivery: &Delivery) -> (String, Value) {
    let was_over = held.session.receipt().is_some();
    let root = (!was_over).then(|| root(held));
    let TreeEnd { ended, remaining } = held.session.stop().await;
    let root = root.filter(|_| held.session.receipt().is_some());
    let ended = root.into_iter().chain(held.readable(ended)).collect();
    let end = TreeEnd { ended, remaining: held.readable(remaining) };
    held.telling(delivery, LiveSession::dismiss);
    (text(held, &end, was_over), structured(held, &end))
}

/// The process that runs the script. Its own arguments do not show the script.
fn root(held: &LiveSession) -> ProcessLine {
    let command = report::shortened(&held.command, 100);
    ProcessLine { pid: held.session.facts().root.get(), command }
}

fn text(held: &LiveSession, end: &TreeEnd, was_over: bool) -> String {
    let number = held.number;
    let mut text = match held.session.receipt() {
        Some(_) if was_over => format!("Session {number} had exited before\n"),
        Some(receipt) => format!("Session {number} {}\n", report::ending(&receipt)),
        None => format!("Session {number} could not be ended\n"),
    };
    if !end.ended.is_empty() {
        text += &format!("Ended: {}\n", report::processes(&end.ended));
    }
    if !end.remaining.is_empty() {
        text += &format!("Could not be ended: {}\n", report::processes(&end.remaining));
    }
    text
}

fn structured(held: &LiveSession, end: &TreeEnd) -> Value {
    let mut object = Map::new();
    object.insert("session".into(), held.number.into());
    if let Some(receipt) = held.session.receipt() {
        object.insert("exit_code".into(), receipt.exit.code().into());
        object.insert("receipt".into(), report::receipt(&receipt));
    }
    object.insert("ended".into(), report::processes_json(&end.ended));
    object.insert("remaining".into(), report::processes_json(&end.remaining));
    Value::Object(object)
}
