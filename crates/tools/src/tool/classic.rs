//! `shell` and `shell_command`: one command, run to its end, both streams apart. For models that know nothing else.

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_engine::{Cause, CommandSpec, Io, Journal, Lifetime, Piece, Receipt, Stdin, Stream, Until};
use windlass_output::{Budget, ExcerptOptions, ExcerptSource, Marker, Offset, Span, excerpt, settle};

use super::exec_command::{command, directory};
use super::{Refusal, Visit, shape};
use crate::arguments::{BadArgument, Field, Kind, schema};
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::environment::{Composed, Connection};
use crate::held::{Held, Number};
use crate::report;

const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };

pub(crate) const SHELL: Tool = Tool {
    name: "shell",
    title: "Run a program",
    description: "Runs a program with arguments and waits for its end. Example: {\"command\":[\"ls\",\"-l\"]}",
    hints: HINTS,
    input: || schema(&SHELL_FIELDS, &["command"]),
    output: output_schema,
};

pub(crate) const SHELL_COMMAND: Tool = Tool {
    name: "shell_command",
    title: "Run a script",
    description: "Runs a shell script and waits for its end.",
    hints: HINTS,
    input: || schema(&COMMAND_FIELDS, &["command"]),
    output: output_schema,
};

const WORKDIR: Field = Field { name: "workdir", kind: Kind::Text, about: "" };
const TIMEOUT: Field = Field { name: "timeout_ms", kind: Kind::Whole, about: "default 30000" };
const SHELL_FIELDS: [Field; 3] = [Field { name: "command", kind: Kind::Texts, about: "" }, WORKDIR, TIMEOUT];
const COMMAND_FIELDS: [Field; 4] = [
    Field { name: "command", kind: Kind::Text, about: "" },
    WORKDIR,
    TIMEOUT,
    Field { name: "login", kind: Kind::Flag, about: "default true" },
];

fn output_schema() -> Value {
    shape(
        &json!({ "exit_code": { "type": "integer" }, "stdout": { "type": "string" }, "stderr": { "type": "string" } }),
    )
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The most of each stream that is shown, in characters.
const MOST_SHOWN: usize = 12_000;
/// The most of each stream that is loaded at either end to show that much of it.
const MOST_LOADED: usize = 256 * 1024;

pub(super) async fn call_shell(mut visit: Visit<'_>) -> Result<Reply, Refusal> {
    let argv = visit.arguments.texts("command")?.ok_or_else(|| crate::arguments::missing("command"))?;
    if argv.first().is_none_or(String::is_empty) {
        return Err(BadArgument::new("command", "is empty; its first item is the program").into());
    }
    let shown = argv.join(" ");
    let spec = CommandSpec::new(argv, "/");
    let shell = visit.toolbox.shell(None);
    let login = visit.toolbox.environment(&shell, true).await;
    run(visit, spec, login.variables.clone(), shown).await
}

pub(super) async fn call_shell_command(mut visit: Visit<'_>) -> Result<Reply, Refusal> {
    let script = visit.arguments.required_text("command")?;
    if script.trim().is_empty() {
        return Err(BadArgument::new("command", "is empty").into());
    }
    let login = visit.arguments.flag("login")?.unwrap_or(true);
    let shell = visit.toolbox.shell(None);
    let login = visit.toolbox.environment(&shell, login).await;
    let spec = command(&shell, &script, &login.functions)?;
    run(visit, spec, login.variables.clone(), script).await
}

async fn run(
    mut visit: Visit<'_>,
    mut spec: CommandSpec,
    base: crate::environment::Variables,
    shown: String,
) -> Result<Reply, Refusal> {
    let workdir = visit.arguments.text("workdir")?.filter(|path| !path.is_empty());
    let timeout = visit.milliseconds("timeout_ms")?.unwrap_or(DEFAULT_TIMEOUT).max(Duration::from_millis(1));
    let Composed { variables, removed } = visit.toolbox.policy().compose(&base, Connection::Pipes, &[]);
    spec.environment.extend(variables);
    spec.directory = directory(visit.toolbox.directory(), workdir.as_deref());
    spec.io = Io::Pipes(Stdin::Closed);
    spec.timeout = Some(timeout);
    spec.lifetime = Lifetime::Runtime;
    let place = spec.directory.clone();
    let held = visit.toolbox.start(spec, shown, removed)?;
    let _attending = held.attend();
    // The session's own time-out ends it, and everything it started, and then the answer comes.
    held.session.wait(&Until::exit().by(visit.began + visit.call.ceiling)).await;
    if held.session.receipt().is_some() {
        held.tell_exit();
    }
    Ok(reply(&visit, &held, &place))
}

fn reply(visit: &Visit<'_>, held: &Held, place: &Path) -> Reply {
    let session = &held.session;
    let receipt = session.receipt();
    let (stdout, stderr) =
        (stream(session.journal(), Stream::Stdout), stream(session.journal(), Stream::Stderr));
    let mut text = format!("Working directory: {}\n", place.display());
    text += &outcome(receipt.as_deref(), held.number);
    for (name, output) in [("Stdout", &stdout), ("Stderr", &stderr)] {
        if !output.is_empty() {
            text += &format!("{name}:\n{output}");
            if !output.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    for note in visit.remarks().into_iter().chain(visit.toolbox.announcements(None)) {
        text += &format!("Note: {note}\n");
    }
    let structured = json!({
        "exit_code": receipt.as_ref().map(|receipt| receipt.exit.code()),
        "timed_out": receipt.as_ref().is_some_and(|receipt| matches!(receipt.cause, Cause::Timeout(_))),
        "stdout": stdout,
        "stderr": stderr,
        "left_running": receipt.as_ref().map(|receipt| report::processes_json(&receipt.left_running)),
        "receipt": receipt.as_deref().map(report::receipt),
        "wall_time_seconds": report::rounded(Instant::now().duration_since(visit.began)),
    });
    Reply { text, structured, is_error: false }
}

fn outcome(receipt: Option<&Receipt>, number: Number) -> String {
    let Some(receipt) = receipt else {
        // The host would not wait longer; the command may.
        return format!("Still running as session {number}; wait for it with wait_sessions\n");
    };
    let mut text = match receipt.cause {
        Cause::Timeout(limit) => format!("Timeout: exceeded {} ms\n", limit.as_millis()),
        _ => format!("Exit code: {}\n", receipt.exit.code()),
    };
    if !receipt.left_running.is_empty() {
        let (count, names) = (receipt.left_running.len(), report::processes(&receipt.left_running));
        text += &format!("Left running: {count} processes: {names}\n");
    }
    text
}

/// One stream, cut to what is shown: its beginning and its end.
fn stream(journal: &Journal, wanted: Stream) -> String {
    let (mut head, mut tail) = (Vec::new(), VecDeque::<u8>::new());
    let mut position = Offset::ZERO;
    while position < journal.end() {
        let reading = journal.read(Span::new(position, journal.end()), 1 << 20);
        for piece in reading.pieces {
            if let Piece::Bytes { stream, bytes, .. } = piece
                && stream == wanted
            {
                let room = MOST_LOADED.saturating_sub(head.len()).min(bytes.len());
                head.extend_from_slice(&bytes[..room]);
                tail.extend(&bytes[room..]);
                let surplus = tail.len().saturating_sub(MOST_LOADED);
                tail.drain(..surplus);
            }
        }
        if reading.next <= position {
            break;
        }
        position = reading.next;
    }
    head.extend(tail);
    fit(&head)
}

fn fit(bytes: &[u8]) -> String {
    let view = settle(bytes, Offset::ZERO);
    // Characters are what is promised; of text that is not ASCII, fewer fit into as many bytes.
    let wide = view.text().len().saturating_sub(view.text().chars().count());
    let budget = Budget::Bytes((MOST_SHOWN + wide.min(MOST_SHOWN)) as u64);
    let options =
        ExcerptOptions { budget, tokenizer: windlass_output::Tokenizer::Bytes4, marker: Marker::Count };
    excerpt(ExcerptSource::Whole(&view), options).text
}
