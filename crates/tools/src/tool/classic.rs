//! `shell` and `shell_command`: one command, run to its end, both streams apart. For models that know nothing else.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_engine::{
    Cause, CommandSpec, Io, Journal, JournalPiece, Lifetime, Receipt, Stdin, Stream, Until,
};
use windlass_output::{
    Budget, ExcerptOptions, ExcerptSource, Gap, Marker, Offset, Span, Tokenizer, Tokens, excerpt, settle,
};

use super::exec_command::{Tied, command, directory};
use super::{CallContext, ToolError, note_lines, shape};
use crate::arguments::{BadArgument, Field, Kind, schema, without_nul};
use crate::call::Reply;
use crate::catalogue::{Hints, Tool};
use crate::environment::{Composed, Connection};
use crate::live_session::{EndAnnounced, LiveSession};
use crate::login::Captured;
use crate::report;
use crate::shell::check_script;
use crate::toolbox::Starting;

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
/// The most of each stream that is loaded at either end to show that much of it.
const MOST_LOADED: usize = 256 * 1024;

pub(super) async fn call_shell(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let argv = visit.arguments.texts("command")?;
    let argv = argv.ok_or_else(|| visit.arguments.missing("command"))?;
    if argv.first().is_none_or(String::is_empty) {
        return Err(BadArgument::new("command", "is empty; its first item is the program").into());
    }
    let argv =
        argv.into_iter().enumerate().map(|(place, word)| without_nul(&format!("command[{place}]"), word));
    let argv = argv.collect::<Result<Vec<_>, _>>()?;
    let bounds = Bounds::read(&mut visit)?;
    let shown = argv.join(" ");
    let spec = CommandSpec::new(argv, "/");
    let (shell, _) = visit.toolbox.own_shell();
    let login = visit.toolbox.environment(&shell, visit.call.sandbox.as_ref()).await;
    run(visit, Job { spec, shown, bounds, login }).await
}

pub(super) async fn call_shell_command(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let script = visit.arguments.required_text("command")?;
    if script.trim().is_empty() {
        return Err(BadArgument::new("command", "is empty").into());
    }
    check_script("command", &script)?;
    let login = visit.arguments.flag("login")?.unwrap_or(true);
    let bounds = Bounds::read(&mut visit)?;
    let (shell, _) = visit.toolbox.own_shell();
    let login = match login {
        true => visit.toolbox.environment(&shell, visit.call.sandbox.as_ref()).await,
        false => visit.toolbox.bare_environment(),
    };
    let spec = command(&shell, &script, &login);
    run(visit, Job { spec, shown: script, bounds, login }).await
}

/// The arguments of both tools beside their command.
struct Bounds {
    workdir: Option<String>,
    timeout: Duration,
}

impl Bounds {
    fn read(visit: &mut CallContext<'_>) -> Result<Self, BadArgument> {
        let workdir = visit.arguments.path("workdir")?;
        let timeout = visit.milliseconds("timeout_ms")?.unwrap_or(DEFAULT_TIMEOUT);
        Ok(Self { workdir, timeout: timeout.max(Duration::from_millis(1)) })
    }
}

/// One command, ready to be run.
struct Job {
    spec: CommandSpec,
    shown: String,
    bounds: Bounds,
    login: Arc<Captured>,
}

async fn run(visit: CallContext<'_>, job: Job) -> Result<Reply, ToolError> {
    let Job { mut spec, shown, bounds, login } = job;
    let policy = visit.toolbox.policy();
    let Composed { variables, removed } = login.compose(policy, Connection::Pipes, &[]);
    spec.environment = variables;
    spec.directory = directory(visit.toolbox.directory(), bounds.workdir.as_deref());
    spec.held_directory.clone_from(&visit.call.directory);
    spec.io = Io::Pipes(Stdin::Closed);
    spec.timeout = Some(bounds.timeout);
    spec.lifetime = Lifetime::Runtime;
    let place = spec.directory.clone();
    let sandbox = visit.call.sandbox.clone();
    let starting = Starting { spec, straight: None, command: shown, removed, sandbox };
    let held = visit.toolbox.start(starting)?;
    let _attending = held.attend();
    let tied = Tied::to(&held, visit.call.dismissal);
    // The session's own timeout ends it, and everything it started, and then the reply comes.
    held.session.wait(&Until::exit().by(visit.began + visit.call.ceiling)).await;
    tied.loosen();
    if held.session.receipt().is_some() {
        let end = held.session.journal().end();
        held.telling(&visit.call.delivery, |held| held.told(end, Some(EndAnnounced::Told)));
    }
    let mut notes = visit.remarks();
    notes.extend(login.remark().map(str::to_owned));
    notes.extend(visit.toolbox.announcements(None, &visit.call.delivery));
    Ok(reply(&visit, &held, (&place, &notes)))
}

fn reply(visit: &CallContext<'_>, held: &LiveSession, (place, notes): (&Path, &[String])) -> Reply {
    let session = &held.session;
    let receipt = session.receipt();
    let most = visit.toolbox.classic_characters();
    let shown = |stream| Loaded::read(session.journal(), stream).fit(most);
    let (stdout, stderr) = (shown(Stream::Stdout), shown(Stream::Stderr));
    // After the read: unreadable parts are known by now.
    let missing = session.journal().account().missing;
    let lost = missing.iter().map(|missing| report::missing(missing, Some(held.number)));
    let notes: Vec<String> = lost.chain(notes.iter().cloned()).collect();
    let mut text = format!("Working directory: {}\n", place.display());
    text += &outcome(receipt.as_deref(), held);
    for (name, output) in [("Stdout", &stdout), ("Stderr", &stderr)] {
        if !output.is_empty() {
            text += &format!("{name}:\n{output}");
            if !output.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    text += &note_lines(&notes);
    let mut structured = json!({
        "session": held.number.0,
        "exit_code": receipt.as_ref().map(|receipt| receipt.exit.code()),
        "timed_out": receipt.as_ref().is_some_and(|receipt| matches!(receipt.cause, Cause::Timeout(_))),
        "stdout": stdout,
        "stderr": stderr,
        "left_running": receipt.as_ref().map(|receipt| report::processes_json(&receipt.left_running)),
        "receipt": receipt.as_deref().map(report::receipt),
        "wall_time_seconds": report::rounded(Instant::now().duration_since(visit.began)),
    });
    if !missing.is_empty() {
        structured["missing"] = report::missing_json(&missing);
    }
    Reply::new(text, structured)
}

fn outcome(receipt: Option<&Receipt>, held: &LiveSession) -> String {
    let number = held.number;
    let Some(receipt) = receipt else {
        // The host would not wait longer; the command may.
        return format!("Still running as session {number}; wait for it with wait_sessions\n");
    };
    let mut text = match receipt.cause {
        Cause::Timeout(limit) => format!("Timeout: exceeded {} ms\n", limit.as_millis()),
        Cause::Limit(crossed) => format!("Killed: {crossed}\nExit code: {}\n", receipt.exit.code()),
        _ => format!("Exit code: {}\n", receipt.exit.code()),
    };
    if !receipt.left_running.is_empty() {
        let left = held.readable(receipt.left_running.clone());
        text += &format!("Left running: {}\n", report::left_running(&left, held));
    }
    text
}

/// One stream: all of it, or its beginning and its end, and how many bytes lie between them.
#[derive(Default)]
struct Loaded {
    head: Vec<u8>,
    between: u64,
    tail: VecDeque<u8>,
}

impl Loaded {
    fn read(journal: &Journal, wanted: Stream) -> Self {
        let mut loaded = Self::default();
        let mut position = Offset::ZERO;
        while position < journal.end() {
            let reading = journal.read(Span::new(position, journal.end()), 1 << 20);
            for piece in reading.pieces {
                if let JournalPiece::Bytes { stream, bytes, .. } = piece
                    && stream == wanted
                {
                    loaded.add(&bytes);
                }
            }
            if reading.next <= position {
                break;
            }
            position = reading.next;
        }
        loaded
    }

    fn add(&mut self, bytes: &[u8]) {
        let room = MOST_LOADED.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[room..]);
        let surplus = self.tail.len().saturating_sub(MOST_LOADED);
        self.tail.drain(..surplus);
        self.between += surplus as u64;
    }

    /// Its beginning and its end, within so many characters.
    fn fit(mut self, most: u64) -> String {
        let (budget, tokenizer) = (Budget::Characters(most), Tokenizer::Bytes4);
        let options = ExcerptOptions { budget, tokenizer, marker: Marker::Count };
        if self.between == 0 {
            self.head.extend(self.tail);
            return excerpt(ExcerptSource::Whole(&settle(&self.head, Offset::ZERO)), options).text;
        }
        let head_end = Offset::new(self.head.len() as u64);
        let tail_start = head_end + self.between;
        let gap =
            Gap { span: Span::new(head_end, tail_start), tokens: Tokens::new(self.between.div_ceil(4)) };
        let head = settle(&self.head, Offset::ZERO);
        let tail = settle(self.tail.make_contiguous(), tail_start);
        excerpt(ExcerptSource::Ends { head: &head, gap, tail: &tail }, options).text
    }
}
