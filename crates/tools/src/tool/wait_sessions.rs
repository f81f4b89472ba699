//! `wait_sessions`: one call instead of many polls; answers when the first of several sessions meets its condition.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value, json};

use super::{Refusal, Visit, note_lines, shape};
use crate::arguments::{Field, Kind, schema};
use crate::attend::{Ending, Wait};
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::held::Held;
use crate::report;
use crate::until::Conditions;

pub(crate) const TOOL: Tool = Tool {
    name: "wait_sessions",
    title: "Wait for sessions",
    description: "Waits until the first of several sessions exits or meets `until`. Cheaper than polling; read what \
                  they printed with write_stdin.",
    hints: Hints { read_only: true, destructive: false, idempotent: true, open_world: false },
    input: || schema(&FIELDS, &["session_ids"]),
    output: || {
        shape(&json!({
            "met": { "type": ["object", "null"] },
            "timed_out": { "type": "boolean" },
            "results": { "type": "array" }
        }))
    },
};

const FIELDS: [Field; 3] = [
    Field { name: "session_ids", kind: Kind::Sessions, about: "" },
    Field { name: "until", kind: Kind::Until, about: "default {\"exit\":true}" },
    Field { name: "timeout_ms", kind: Kind::Whole, about: "" },
];

pub(super) async fn call(mut visit: Visit<'_>) -> Result<Reply, Refusal> {
    let asked = visit.arguments.sessions("session_ids")?;
    let exit = Conditions { exit: true, ..Conditions::default() };
    let until = visit.arguments.until()?.unwrap_or(exit);
    let timeout = visit.milliseconds("timeout_ms")?;
    let mut notes = visit.remarks();
    let sessions = asked.iter().map(|session| visit.toolbox.find(session)).collect::<Result<Vec<_>, _>>()?;
    let deadline = visit.began + timeout.unwrap_or(visit.call.ceiling).min(visit.call.ceiling);
    let _attending: Vec<_> = sessions.iter().map(Held::attend).collect();
    let wait = |held: &Arc<Held>| Wait { deadline, ..Wait::of(held, Some(until.clone())) };
    let waits: Vec<Wait> = sessions.iter().map(wait).collect();
    let met = first(&sessions, &waits, &visit).await;
    let results = results(&visit, &sessions).await;
    notes.extend(visit.toolbox.announcements(None));
    Ok(reply(&visit, met.as_ref(), &results, &notes))
}

/// The first that meets its condition. One whose output has ended can meet none any more; the others are waited for.
async fn first(sessions: &[Arc<Held>], waits: &[Wait], visit: &Visit<'_>) -> Option<(Arc<Held>, Ending)> {
    type Attended<'a> = Pin<Box<dyn Future<Output = Ending> + Send + 'a>>;
    let mut attended: Vec<Option<Attended<'_>>> = Vec::with_capacity(sessions.len());
    for (held, wait) in sessions.iter().zip(waits) {
        attended.push(Some(Box::pin(wait.attend(held, visit.call))));
    }
    poll_fn(|context| {
        for (place, slot) in attended.iter_mut().enumerate() {
            let Some(attended) = slot else { continue };
            if let Poll::Ready(ending) = attended.as_mut().poll(context) {
                *slot = None;
                if let Ending::Met(..) = ending {
                    return Poll::Ready(Some((Arc::clone(&sessions[place]), ending)));
                }
            }
        }
        if attended.iter().all(Option::is_none) { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

/// One session after the wait.
struct Outcome {
    line: String,
    json: Value,
}

async fn results(visit: &Visit<'_>, sessions: &[Arc<Held>]) -> Vec<Outcome> {
    let mut results = Vec::new();
    for held in sessions {
        let state = visit.toolbox.state(held).await;
        let unread = held.unread_tokens(visit.toolbox.tokenizer());
        let mut object = Map::new();
        object.insert("session".into(), held.number.into());
        object.insert("state".into(), state.as_str().into());
        if let Some(receipt) = held.session.receipt() {
            object.insert("exit_code".into(), receipt.exit.code().into());
            // This answer tells of it.
            held.mention();
        }
        object.insert("unread_tokens".into(), unread.get().into());
        let line = format!("{}: {state}, {unread} unread tokens\n", held.number);
        results.push(Outcome { line, json: Value::Object(object) });
    }
    results
}

fn reply(
    visit: &Visit<'_>,
    met: Option<&(Arc<Held>, Ending)>,
    results: &[Outcome],
    notes: &[String],
) -> Reply {
    let (first, met_json) = match met {
        Some((held, Ending::Met(condition, how))) => {
            let line = format!("Session {} met its condition: {how}\n", held.number);
            (line, json!({ "session": held.number.0, "condition": condition }))
        }
        _ => (format!("No condition held within {}\n", report::seconds(visit.began.elapsed())), Value::Null),
    };
    let lines: String = results.iter().map(|outcome| outcome.line.as_str()).collect();
    let results: Vec<Value> = results.iter().map(|outcome| outcome.json.clone()).collect();
    let structured = json!({ "met": met_json, "timed_out": met.is_none(), "results": results });
    Reply { text: first + &lines + &note_lines(notes), structured, is_error: false }
}
