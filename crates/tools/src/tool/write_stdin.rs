//! `write_stdin`: types into a session, or polls it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use windlass_engine::{InputError, Signal};
use windlass_output::{CursorKeys, keys};

use super::{CallContext, ToolError, Yield, exec_command};
use crate::arguments::{BadArgument, Field, Kind, SessionRef, schema};
use crate::attend::Wait;
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::live_session::{LiveSession, Showing, ViewKind};
use crate::reply_builder::{InputReport, ReplyBuilder};
use crate::until::Conditions;

pub(crate) const TOOL: Tool = Tool {
    name: "write_stdin",
    title: "Type into a session",
    description: "Writes to a session and answers with the output since the last answer; without chars it polls. End \
                  lines with \\n. Ctrl-C is keys [\"C-c\"]. Example: {\"session_id\":1001,\"chars\":\"print(1)\\n\"}",
    hints: Hints { read_only: false, destructive: true, idempotent: false, open_world: true },
    input: || schema(&FIELDS, &["session_id"]),
    output: exec_command::output_schema,
};

const FIELDS: [Field; 8] = [
    Field { name: "session_id", kind: Kind::Session, about: "" },
    Field { name: "chars", kind: Kind::Text, about: "" },
    Field { name: "keys", kind: Kind::Texts, about: "e.g. [\"Up\",\"Enter\",\"C-c\"], after chars" },
    Field { name: "eof", kind: Kind::Flag, about: "then Ctrl-D" },
    Field { name: "yield_time_ms", kind: Kind::Whole, about: "default 250, polling 5000" },
    Field { name: "until", kind: Kind::Until, about: "as in exec_command" },
    Field { name: "max_output_tokens", kind: Kind::Whole, about: "" },
    Field { name: "view", kind: Kind::Choice(&["text", "raw", "screen"]), about: "" },
];

pub(super) const WRITING_YIELD: Yield = Yield { default: 250, least: 250, most: 30_000 };
pub(super) const POLLING_YIELD: Yield = Yield { default: 250, least: 5_000, most: 300_000 };
/// The note about text that no process is there to read.
pub(crate) const NOTHING_WRITTEN: &str = "nothing was written: the process has exited";
/// How long a call waits for the program to take the end of input.
const END_TAKEN: Duration = Duration::from_millis(250);
const CTRL_D: [u8; 1] = [4];
/// The character that a model sends for Ctrl-C.
const INTERRUPT: char = '\u{3}';

/// How long a call holds up those behind it for the same session; `None` if it writes nothing. Invalid arguments are
/// ignored here, as the call itself will refuse them.
pub(crate) fn holds(arguments: &Map<String, Value>) -> Option<Duration> {
    let field = |name: &str| arguments.get(name);
    let chars = field("chars").and_then(Value::as_str).is_some_and(|chars| !chars.is_empty());
    let keys = field("keys").and_then(Value::as_array).is_some_and(|keys| !keys.is_empty());
    let eof = field("eof").and_then(Value::as_bool).unwrap_or(false);
    let asked =
        field("yield_time_ms").and_then(Value::as_f64).map(|asked| Duration::from_millis(asked as u64));
    (chars || keys || eof).then(|| WRITING_YIELD.of(asked))
}

/// The arguments.
struct WriteArguments {
    session: SessionRef,
    chars: String,
    keys: Vec<String>,
    eof: bool,
    yield_time: Duration,
    until: Option<Conditions>,
    showing: Showing,
}

impl WriteArguments {
    fn read(visit: &mut CallContext<'_>) -> Result<Self, BadArgument> {
        let arguments = &mut visit.arguments;
        let (chars, keys) =
            (arguments.text("chars")?.unwrap_or_default(), arguments.texts("keys")?.unwrap_or_default());
        let eof = arguments.flag("eof")?.unwrap_or(false);
        let writes = !chars.is_empty() || !keys.is_empty() || eof;
        let yields = if writes { WRITING_YIELD } else { POLLING_YIELD };
        Ok(Self {
            session: arguments.session("session_id")?,
            until: arguments.until()?,
            yield_time: yields.of(visit.milliseconds("yield_time_ms")?),
            showing: visit.showing()?,
            chars,
            keys,
            eof,
        })
    }

    fn writes(&self) -> bool {
        !self.chars.is_empty() || !self.keys.is_empty() || self.eof
    }
}

pub(super) async fn call(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let order = WriteArguments::read(&mut visit)?;
    let mut notes = visit.remarks();
    let held = visit.toolbox.find(&order.session)?;
    if order.showing.view == ViewKind::Screen && held.session.facts().terminal.is_none() {
        return Err(BadArgument::new("view", "\"screen\" needs a session started with tty=true").into());
    }
    let _attending = held.attend();
    let deadline = visit.deadline(order.until.as_ref(), order.yield_time);
    let mut wait = Wait { deadline, view: order.showing.view, ..Wait::of(&held, order.until.clone()) };
    let mut input = None;
    if order.writes() {
        match write(&held, &order).await? {
            Written::Input(report) => input = Some(report),
            Written::NoText => {}
            Written::ProcessGone => notes.push(NOTHING_WRITTEN.to_owned()),
        }
        if let Some(ticket) = &visit.call.ticket {
            ticket.is_effective();
        }
        wait.silent_from = Instant::now();
    }
    let ending = held.counting_ahead(order.showing, wait.attend(&held, visit.call)).await;
    let (toolbox, began, delivery) = (visit.toolbox, visit.began, &visit.call.delivery);
    let (showing, missing) = (order.showing, Vec::new());
    let answer =
        ReplyBuilder { delivery, toolbox, held: &held, began, showing, ending, input, notes, missing };
    Ok(answer.reply().await)
}

/// The outcome of a write.
enum Written {
    Input(InputReport),
    /// There was nothing but interrupts.
    NoText,
    /// The process has exited. Its end is the reply.
    ProcessGone,
}

/// Writes the requested text, without waiting for the program to read it.
async fn write(held: &Arc<LiveSession>, order: &WriteArguments) -> Result<Written, ToolError> {
    let on_terminal = held.session.facts().terminal.is_some();
    let bytes = order.bytes(held)?;
    let (interrupts, bytes) = if on_terminal { (0, bytes) } else { without_interrupts(bytes) };
    for _ in 0..interrupts {
        // A process that is gone needs no interrupt; its end is the reply.
        let _ = held.session.signal(Signal::INT).await;
    }
    let mut report = None;
    if !bytes.is_empty() {
        let offered = bytes.len();
        match held.session.write(bytes).await {
            Ok(accepted) => report = Some(InputReport::of(held, offered, accepted)),
            Err(error) => return refused(held, error).await,
        }
    }
    if order.eof {
        // timer: behind input that the program does not read, the end waits in the queue and stays there.
        match tokio::time::timeout(END_TAKEN, held.session.end_input()).await {
            // A program that takes single keys takes this one, too.
            Ok(Err(InputError::NotInLineMode)) => match held.session.write(CTRL_D).await {
                Ok(accepted) => report = report.or_else(|| Some(InputReport::of(held, 1, accepted))),
                Err(error) => return refused(held, error).await,
            },
            Ok(Err(error)) => return refused(held, error).await,
            Ok(Ok(())) | Err(_) => report = report.or_else(|| Some(InputReport::of(held, 0, 0))),
        }
    }
    Ok(report.map_or(Written::NoText, Written::Input))
}

impl WriteArguments {
    fn bytes(&self, held: &LiveSession) -> Result<Vec<u8>, BadArgument> {
        let mut bytes = self.chars.clone().into_bytes();
        if !self.keys.is_empty() {
            let cursor_keys =
                held.session.screen().map_or(CursorKeys::default(), |screen| screen.cursor_keys);
            let names = self.keys.iter().map(String::as_str);
            let pressed =
                keys(names, cursor_keys).map_err(|error| BadArgument::new("keys", error.to_string()))?;
            bytes.extend(pressed);
        }
        Ok(bytes)
    }
}

/// Removes interrupts from the text: on pipes there is no terminal to turn Ctrl-C into a signal.
fn without_interrupts(bytes: Vec<u8>) -> (usize, Vec<u8>) {
    let before = bytes.len();
    let rest: Vec<u8> = bytes.into_iter().filter(|byte| u32::from(*byte) != u32::from(INTERRUPT)).collect();
    (before - rest.len(), rest)
}

/// The reply for a refused write: the end of a process that has exited, or is about to because it closed its input;
/// otherwise the error that its input is closed.
async fn refused(held: &Arc<LiveSession>, error: InputError) -> Result<Written, ToolError> {
    let number = held.number;
    if held.session.receipt().is_some() || error == InputError::Gone {
        return Ok(Written::ProcessGone);
    }
    Err(ToolError(match error {
        InputError::Closed => format!(
            "the input of session {number} is closed: it was started without tty; start it again with tty=true or \
             with `stdin`, or send only keys [\"C-c\"]"
        ),
        error => format!("session {number}: {error}"),
    }))
}
