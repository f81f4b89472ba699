//! `wait_sessions`: one call instead of many polls; replies when the first of several sessions meets its condition.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::{CallContext, ToolError, note_lines, shape};
use crate::archived::Ended;
use crate::arguments::{Field, Kind, SessionRef, schema};
use crate::attend::{Wait, WaitEnd, waiting};
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::live_session::{Attending, LiveSession, Number};
use crate::report;
use crate::shims::PassedOn;
use crate::toolbox::Toolbox;
use crate::until::Conditions;

pub(crate) const TOOL: Tool = Tool {
    name: "wait_sessions",
    title: "Wait for sessions",
    description: "Waits until the first of several sessions exits or meets `until`. Cheaper than polling; read what \
                  they printed with write_stdin. Example: {\"session_ids\":[1001,\"web\"],\"timeout_ms\":60000}",
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

pub(super) async fn call(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let asked = visit.arguments.sessions("session_ids")?;
    let exit = Conditions { exit: true, ..Conditions::default() };
    let until = visit.arguments.until()?.unwrap_or(exit);
    let timeout = visit.milliseconds("timeout_ms")?;
    let mut notes = visit.remarks();
    let sessions =
        asked.iter().map(|session| Waited::find(&visit, session)).collect::<Result<Vec<_>, _>>()?;
    let deadline = visit.began + timeout.unwrap_or(visit.call.ceiling).min(visit.call.ceiling);
    let _attending: Vec<_> = sessions.iter().map(Waited::attend).collect();
    let wait = |session: &Waited| session.wait(until.clone(), deadline);
    let waits: Vec<Option<Wait>> = sessions.iter().map(wait).collect();
    let met = first(&sessions, (&waits, until.exit), &visit).await;
    let results = results(&visit, &sessions).await;
    notes.extend(visit.toolbox.announcements(None, &visit.call.delivery));
    let in_time = Instant::now() < deadline;
    Ok(reply((&visit, in_time), met.as_ref(), &results, &notes))
}

/// A session to wait for: one of this runtime, a detached one, or one that is over.
enum Waited {
    Ours(Arc<LiveSession>),
    Kept(Number),
    /// Over, without a live handle.
    Ended(Box<Ended>),
}

/// The condition that held first.
struct Met {
    session: Number,
    condition: String,
    how: String,
}

impl Waited {
    fn find(visit: &CallContext<'_>, asked: &SessionRef) -> Result<Self, ToolError> {
        match visit.toolbox.kept_number(asked) {
            Some(number) => Ok(Self::Kept(number)),
            None => match visit.toolbox.ended(asked) {
                Some(ended) => Ok(Self::Ended(Box::new(ended))),
                None => visit.toolbox.find(asked).map(Self::Ours),
            },
        }
    }

    fn attend(&self) -> Option<Attending> {
        match self {
            Self::Ours(held) => Some(held.attend()),
            Self::Kept(_) | Self::Ended(_) => None,
        }
    }

    fn wait(&self, until: Conditions, deadline: Instant) -> Option<Wait> {
        match self {
            Self::Ours(held) => Some(Wait { deadline, ..Wait::of(held, Some(until)) }),
            Self::Kept(_) | Self::Ended(_) => None,
        }
    }

    /// The condition that it met; `None` if it can meet none any more, or time is up.
    async fn met(&self, (wait, exit): (Option<&Wait>, bool), visit: &CallContext<'_>) -> Option<Met> {
        match (self, wait) {
            (Self::Ended(ended), _) => exit.then(|| Met {
                session: ended.number,
                condition: "exit".to_owned(),
                how: "exited".to_owned(),
            }),
            (Self::Ours(held), Some(wait)) => match wait.attend(held, visit.call).await {
                WaitEnd::Met(condition, how) => {
                    Some(Met { session: held.number, condition: condition.to_owned(), how })
                }
                WaitEnd::Input(wanted) => {
                    let how = waiting(wanted);
                    Some(Met { session: held.number, condition: "input".to_owned(), how })
                }
                WaitEnd::Time | WaitEnd::Waits(_) | WaitEnd::Unmet => None,
            },
            (Self::Kept(number), _) => {
                // A session that was not waited for meets nothing; its outcome says why.
                let PassedOn::Answered(reply) = visit.toolbox.wait_kept(*number, visit.call).await else {
                    return None;
                };
                let condition = reply.structured["met"]["condition"].as_str()?.to_owned();
                Some(Met { session: *number, how: condition.clone(), condition })
            }
            (Self::Ours(_), None) => None,
        }
    }
}

/// The first that meets its condition. One whose output has ended can meet none any more; the wait continues for the
/// others.
async fn first(
    sessions: &[Waited],
    (waits, exit): (&[Option<Wait>], bool),
    visit: &CallContext<'_>,
) -> Option<Met> {
    type Attended<'a> = Pin<Box<dyn Future<Output = Option<Met>> + Send + 'a>>;
    let mut attended: Vec<Option<Attended<'_>>> = Vec::with_capacity(sessions.len());
    for (session, wait) in sessions.iter().zip(waits) {
        attended.push(Some(Box::pin(session.met((wait.as_ref(), exit), visit))));
    }
    poll_fn(|context| {
        for slot in &mut attended {
            let Some(attended) = slot else { continue };
            if let Poll::Ready(met) = attended.as_mut().poll(context) {
                *slot = None;
                if met.is_some() {
                    return Poll::Ready(met);
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

async fn results(visit: &CallContext<'_>, sessions: &[Waited]) -> Vec<Outcome> {
    let mut results = Vec::new();
    for session in sessions {
        results.extend(match session {
            Waited::Ours(held) => Some(outcome(visit, held).await),
            Waited::Kept(number) => kept_outcome(visit, *number).await,
            Waited::Ended(ended) => Some(ended_outcome(ended)),
        });
    }
    results
}

async fn outcome(visit: &CallContext<'_>, held: &Arc<LiveSession>) -> Outcome {
    let state = visit.toolbox.state(held).await;
    let unread = held.unread_tokens(visit.toolbox.tokenizer());
    let mut object = Map::new();
    object.insert("session".into(), held.number.into());
    object.insert("state".into(), state.as_str().into());
    if let Some(receipt) = held.session.receipt() {
        object.insert("exit_code".into(), receipt.exit.code().into());
        // This reply reports it.
        held.telling(&visit.call.delivery, LiveSession::mention);
    }
    object.insert("unread_tokens".into(), unread.get().into());
    let line = format!("{}: {state}, {unread} unread tokens\n", held.number);
    Outcome { line, json: Value::Object(object) }
}

fn ended_outcome(ended: &Ended) -> Outcome {
    let (number, state) = (ended.number, ended.ending());
    let code = ended.receipt.exit.code();
    let json = json!({ "session": number.0, "state": state, "exit_code": code, "unread_tokens": 0 });
    Outcome { line: format!("{number}: {state}, 0 unread tokens\n"), json }
}

/// The outcome for a killed shim: it recorded the end before that, or its session is lost.
fn died_outcome(toolbox: &Toolbox, number: Number) -> Option<Outcome> {
    if let Some(ended) = toolbox.ended(&SessionRef::Number(number.0)) {
        return Some(ended_outcome(&ended));
    }
    let state = toolbox.kept_loss(number)?;
    let json = json!({ "session": number.0, "state": state, "unread_tokens": 0 });
    Some(Outcome { line: format!("{number}: {state}\n"), json })
}

/// The outcome for a detached session: its shim is asked to wait for no time at all.
async fn kept_outcome(visit: &CallContext<'_>, number: Number) -> Option<Outcome> {
    let mut now = visit.call.clone();
    now.arguments.insert("timeout_ms".into(), 0.into());
    let reply = match visit.toolbox.wait_kept(number, &now).await {
        PassedOn::Answered(reply) => reply,
        // It ended meanwhile, and its shim with it.
        PassedOn::NotKept => {
            return visit.toolbox.ended(&SessionRef::Number(number.0)).as_ref().map(ended_outcome);
        }
        PassedOn::Died => return died_outcome(visit.toolbox, number),
        PassedOn::Failed(failure) => {
            let (line, json) = failure.outcome(number);
            return Some(Outcome { line, json });
        }
    };
    let json = reply.structured["results"].get(0)?.clone();
    let line = format!("{}\n", reply.text.lines().nth(1).unwrap_or_default());
    Some(Outcome { line, json })
}

fn reply(
    (visit, in_time): (&CallContext<'_>, bool),
    met: Option<&Met>,
    results: &[Outcome],
    notes: &[String],
) -> Reply {
    let (first, met_json) = match met {
        Some(Met { session, condition, how }) => {
            let line = format!("Session {session} met its condition: {how}\n");
            (line, json!({ "session": session.0, "condition": condition }))
        }
        None if in_time => ("No condition held, and none can any more\n".to_owned(), Value::Null),
        None => {
            (format!("No condition held within {}\n", report::seconds(visit.began.elapsed())), Value::Null)
        }
    };
    let lines: String = results.iter().map(|outcome| outcome.line.as_str()).collect();
    let results: Vec<Value> = results.iter().map(|outcome| outcome.json.clone()).collect();
    let structured = json!({ "met": met_json, "timed_out": met.is_none() && !in_time, "results": results });
    Reply::new(first + &lines + &note_lines(notes), structured)
}
