//! `exec_command`: starts a script in a session of its own and replies with its output or its session id.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_engine::{CommandSpec, Io, Lifetime, StartError, Stdin, Streams, Terminal};

use super::{CallContext, ToolError, Yield, shape};
use crate::arguments::{BadArgument, Field, Kind, is_number, schema};
use crate::attend::Wait;
use crate::call::{Dismissal, Reply};
use crate::catalogue::{Hints, Tool};
use crate::environment::{Composed, Connection};
use crate::live_session::{LiveSession, Showing, ViewKind};
use crate::login::Captured;
use crate::plain::without_shell;
use crate::reply_builder::ReplyBuilder;
use crate::shell::{Shell, check_script};
use crate::toolbox::Starting;
use crate::until::{self, Conditions};

pub(crate) const TOOL: Tool = Tool {
    name: "exec_command",
    title: "Run a command",
    description: "Runs a shell script. Answers with its output when it ends, or with a session ID when it still runs at \
                  the yield time (it goes on; poll it with write_stdin or wait_sessions). Servers and long jobs need no \
                  `&`, nohup or sleep: {\"cmd\":\"npm run dev\",\"name\":\"web\",\"until\":{\"port\":5173}}. Programs that \
                  ask questions need tty=true; then answer with write_stdin.",
    hints: Hints { read_only: false, destructive: true, idempotent: false, open_world: true },
    input: || schema(&FIELDS, &["cmd"]),
    output: output_schema,
};

const FIELDS: [Field; 14] = [
    Field { name: "cmd", kind: Kind::Text, about: "script for the shell" },
    Field { name: "workdir", kind: Kind::Text, about: "relative to the default" },
    Field {
        name: "tty",
        kind: Kind::Flag,
        about: "terminal instead of pipes; needed for prompts, REPLs, editors",
    },
    Field { name: "stdin", kind: Kind::Text, about: "input on pipes, then EOF" },
    Field { name: "env", kind: Kind::TextMap, about: "null removes" },
    Field { name: "shell", kind: Kind::Text, about: "bash, zsh, sh" },
    Field { name: "login", kind: Kind::Flag, about: "login environment, default true" },
    Field {
        name: "yield_time_ms",
        kind: Kind::Whole,
        about: "wait before answering, default 10000; never kills",
    },
    Field { name: "timeout_ms", kind: Kind::Whole, about: "kills the command" },
    Field { name: "until", kind: Kind::Until, about: until::ABOUT },
    Field { name: "max_output_tokens", kind: Kind::Whole, about: "default 10000" },
    Field {
        name: "view",
        kind: Kind::Choice(&["text", "raw", "screen"]),
        about: "text: redraws applied, no escape codes; screen: what a tty shows now",
    },
    Field { name: "name", kind: Kind::Text, about: "usable as session_id" },
    Field {
        name: "lifetime",
        kind: Kind::Choice(&["call", "runtime", "detached"]),
        about: "call: ended with this answer; runtime: default; detached: outlives this server",
    },
];

pub(super) fn output_schema() -> Value {
    shape(&json!({
        "session": { "type": "integer" },
        "session_id": { "type": "integer" },
        "exit_code": { "type": "integer" },
        "state": { "type": "string" },
        "output": { "type": "string" },
        "original_token_count": { "type": "integer" }
    }))
}

pub(super) const YIELD: Yield = Yield { default: 10_000, least: 250, most: 30_000 };
const LONGEST_NAME: usize = 64;

/// The arguments.
struct ExecArguments {
    cmd: String,
    workdir: Option<String>,
    connection: Connection,
    stdin: Option<String>,
    env: Vec<(String, Option<String>)>,
    shell: Option<String>,
    login: bool,
    yield_time: Duration,
    timeout: Option<Duration>,
    until: Option<Conditions>,
    showing: Showing,
    name: Option<String>,
    lifetime: Lifetime,
}

impl ExecArguments {
    fn read(visit: &mut CallContext<'_>) -> Result<Self, BadArgument> {
        let arguments = &mut visit.arguments;
        let tty = arguments.flag("tty")?.unwrap_or(false);
        let order = Self {
            cmd: arguments.required_text("cmd")?,
            workdir: arguments.path("workdir")?,
            connection: if tty { Connection::Terminal } else { Connection::Pipes },
            stdin: arguments.text("stdin")?,
            env: arguments.text_map("env")?,
            shell: arguments.text("shell")?,
            login: arguments.flag("login")?.unwrap_or(true),
            name: arguments.text("name")?,
            lifetime: arguments
                .choice("lifetime", &Lifetime::ALL.map(|it| (it.name(), it)))?
                .unwrap_or_default(),
            until: arguments.until()?,
            yield_time: YIELD.of(visit.milliseconds("yield_time_ms")?),
            timeout: visit.milliseconds("timeout_ms")?,
            showing: visit.showing()?,
        };
        check_script("cmd", &order.cmd)?;
        check_names(&order.env)?;
        order.check().map(|()| order)
    }

    fn check(&self) -> Result<(), BadArgument> {
        let on_terminal = self.connection == Connection::Terminal;
        let complaint = if on_terminal && self.stdin.is_some() {
            ("stdin", "goes with pipes; on a terminal, send input with write_stdin")
        } else if !on_terminal && self.showing.view == ViewKind::Screen {
            ("view", "\"screen\" needs tty=true")
        } else if self.timeout == Some(Duration::ZERO) {
            ("timeout_ms", "must be at least 1; leave it out for no limit")
        } else if self.lifetime == Lifetime::Detached {
            (
                "lifetime",
                "\"detached\" is possible neither in an agent nor without a state directory; leave it out",
            )
        } else if self.name.as_deref().is_some_and(|name| !is_name(name)) {
            ("name", "must have 1 to 64 characters, no control characters, and must not be a number")
        } else {
            return Ok(());
        };
        Err(BadArgument::new(complaint.0, complaint.1))
    }
}

/// The variables that name a command's session to it, and those in which earlier versions passed scripts: a shim of
/// such a version may still run, and would obey them.
pub(crate) const RESERVED: [&str; 4] =
    ["WINDLASS_SESSION", "WINDLASS_SCRIPT", "WINDLASS_FUNCTIONS", "WINDLASS_CAPTURE"];

fn check_names(env: &[(String, Option<String>)]) -> Result<(), BadArgument> {
    let is_reserved = |name: &str| {
        RESERVED.iter().any(|reserved| {
            name.strip_prefix(reserved).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        })
    };
    match env.iter().find(|(name, _)| is_reserved(name)) {
        Some((name, _)) => {
            let complaint = format!("`{name}` is reserved for windlass itself; choose another name");
            Err(BadArgument::new("env", complaint))
        }
        None => Ok(()),
    }
}

fn is_name(name: &str) -> bool {
    let fits = (1..=LONGEST_NAME).contains(&name.chars().count());
    fits && !is_number(name) && !name.contains(char::is_control)
}

pub(super) async fn call(mut visit: CallContext<'_>) -> Result<Reply, ToolError> {
    let order = ExecArguments::read(&mut visit)?;
    let mut notes = visit.remarks();
    let held = start(&visit, &order, &mut notes).await?;
    let _attending = held.attend();
    let tied = Tied::to(&held, visit.call.dismissal);
    let wait = Wait {
        deadline: visit.deadline(order.until.as_ref(), order.yield_time),
        view: order.showing.view,
        ..Wait::of(&held, order.until)
    };
    let ending = held.counting_ahead(order.showing, wait.attend(&held, visit.call)).await;
    if order.lifetime == Lifetime::Call {
        held.session.end_call().await;
    }
    tied.loosen();
    let (toolbox, began, delivery) = (visit.toolbox, visit.began, &visit.call.delivery);
    let (showing, input, missing) = (order.showing, None, Vec::new());
    let answer =
        ReplyBuilder { delivery, toolbox, held: &held, began, showing, ending, input, notes, missing };
    Ok(answer.reply().await)
}

async fn start(
    visit: &CallContext<'_>,
    order: &ExecArguments,
    notes: &mut Vec<String>,
) -> Result<Arc<LiveSession>, ToolError> {
    let toolbox = visit.toolbox;
    let (shell, note) = toolbox
        .shell(order.shell.as_deref())
        .map_err(|error| BadArgument::new("shell", error.to_string()))?;
    // If the user's own shell is of an unknown kind, a note with every command would be noise.
    notes.extend(note.filter(|_| order.shell.is_some()));
    let login = match order.login {
        true => toolbox.environment(&shell, visit.call.sandbox.as_ref()).await,
        false => toolbox.bare_environment(),
    };
    notes.extend(login.remark().map(str::to_owned));
    let Composed { variables, removed } = login.compose(toolbox.policy(), order.connection, &order.env);
    let mut spec = command(&shell, &order.cmd, &login);
    spec.environment = variables;
    spec.directory = directory(toolbox.directory(), order.workdir.as_deref());
    spec.held_directory.clone_from(&visit.call.directory);
    spec.io = match (order.connection, &order.stdin) {
        (Connection::Terminal, _) => Io::Terminal(Terminal::default()),
        (Connection::Pipes, Some(bytes)) => Io::Pipes(Stdin::Bytes(bytes.clone().into_bytes())),
        (Connection::Pipes, None) => Io::Pipes(Stdin::Closed),
    };
    // A reply shows them as one text, so their order counts.
    spec.streams = Streams::Together;
    spec.timeout = order.timeout;
    spec.lifetime = order.lifetime;
    spec.name.clone_from(&order.name);
    let started = toolbox.start(Starting {
        straight: without_shell(&spec, (&shell, &order.cmd), &login),
        spec,
        command: order.cmd.clone(),
        removed,
        sandbox: visit.call.sandbox.clone(),
    });
    started.map_err(|error| explained(&visit.toolbox.clone(), error))
}

/// A script as a command, with nothing else decided.
pub(super) fn command(shell: &Shell, script: &str, login: &Captured) -> CommandSpec {
    let command = shell.command(script, login);
    let mut spec = CommandSpec::new(command.argv, "/");
    spec.memory_files = command.memory_files;
    spec
}

/// The directory of a command: relative paths begin at the default.
pub(super) fn directory(default: &std::path::Path, asked: Option<&str>) -> PathBuf {
    asked.map_or_else(|| default.to_owned(), |asked| default.join(asked))
}

fn explained(toolbox: &crate::Toolbox, error: StartError) -> ToolError {
    match &error {
        StartError::NameTaken { name, holder } => {
            let holder =
                toolbox.number_of(*holder).map_or_else(|| holder.to_string(), |number| number.to_string());
            ToolError(format!(
                "name: `{name}` is held by session {holder}, which is still running; reach it with \
                 write_stdin session_id=\"{name}\", or end it with stop_session first"
            ))
        }
        _ => error.into(),
    }
}

/// A session that is dismissed if its call is dropped.
pub(super) struct Tied(Option<(Arc<LiveSession>, Dismissal)>);

impl Tied {
    pub(super) fn to(held: &Arc<LiveSession>, dismissal: Dismissal) -> Self {
        let ends = dismissal == Dismissal::End || held.session.facts().lifetime == Lifetime::Call;
        Self(ends.then(|| (Arc::clone(held), dismissal)))
    }

    /// The call is answered: the session is on its own.
    pub(super) fn loosen(mut self) {
        self.0 = None;
    }
}

impl Drop for Tied {
    fn drop(&mut self) {
        let Some((held, dismissal)) = self.0.take() else { return };
        if dismissal == Dismissal::End {
            // The client that cancelled the call knows that its command ends, and never knew the session.
            held.mention();
        }
        // The call was cancelled: its session is dismissed with it, without a wait for its end.
        let session = held.session.clone();
        tokio::spawn(async move { session.end_call().await });
    }
}
