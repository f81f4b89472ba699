//! The command line: every verb, option and word of help. Nothing here does anything.

mod agent;
mod app_server;
mod dialect;
mod exec_server;
mod limits;
mod listening;
mod mcp;
mod rules;
mod sandbox;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use windlass_output::{LineRange, Pattern, Span, Tokenizer};
use windlass_server::client::Endpoint;
use windlass_sys::pty::Size;

pub(crate) use self::agent::{
    AgentArgs, AgentCommand, AgentOptions, AgentPortable, AgentResume, AgentThreads, AgentTrust,
    ApprovalName, ColorName, PortableName,
};
pub(crate) use self::app_server::{AppServe, AppServerArgs};
pub(crate) use self::dialect::{Destination, DialectCommand};
pub(crate) use self::exec_server::{ExecServe, ExecServerArgs};
pub(crate) use self::limits::{LimitWords, ServerLimitWords};
pub(crate) use self::listening::{AuthName, ListenWords, TlsWords};
pub(crate) use self::mcp::{
    InheritName, McpArgs, McpClient, McpCommand, McpInstall, McpServe, ProfileName, ShimOrder, ToolWords,
};
pub(crate) use self::rules::{RulesArgs, RulesCheck, RulesCommand, RulesTest};
pub(crate) use self::sandbox::{
    LayersName, SandboxArgs, SandboxCommand, SandboxExplain, SandboxModeName, SandboxWords,
};
pub(crate) use self::values::{EnvironmentChange, duration};

/// Run commands, keep every byte they print, and leave nothing running.
#[derive(Debug, Parser)]
#[command(name = "windlass", version, max_term_width = 100, after_help = FIRST_STEPS)]
pub(crate) struct Windlass {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const FIRST_STEPS: &str = "\
Examples:
  windlass demo                                  see what it does in 5 s
  windlass run -- cargo test                     run, stream, remember
  windlass run --timeout 2m --json -- make       one JSON object, with receipt
  windlass log 1001 --grep 'error' --context 2   read it again later
  windlass ps                                    what ran and what became of it
  windlass run --detach --name web -- ./server   start it and come back at once
  windlass stop web                              end it and what it started

Sessions are kept in $WINDLASS_STATE_DIR, else $XDG_STATE_HOME/windlass, else ~/.local/state/windlass.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a command, end everything it started, and exit as it did
    Run(Run),
    /// Read what a session printed, running or long over
    Log(Log),
    /// List sessions and what became of them
    Ps(Ps),
    /// Watch what running sessions use: CPU, memory, processes, output
    Top(Top),
    /// End sessions that another windlass runs, and everything they started
    Stop(Stop),
    /// Work on a task with a model and the tools
    Agent(AgentArgs),
    /// Serve the tools to an MCP client, or tell a client to start us
    Mcp(McpArgs),
    /// Serve processes to a program that speaks the app-server protocol
    AppServer(AppServerArgs),
    /// Serve processes and files to a program that speaks the exec-server protocol
    ExecServer(ExecServerArgs),
    /// Say what a sandbox would enforce
    Sandbox(SandboxArgs),
    /// Say which commands the tools may run, must ask about, or may not run
    Rules(RulesArgs),
    /// Check what this machine supports and what is missing
    Doctor(Doctor),
    /// Show what Windlass does, on this machine, in a few seconds
    Demo,
    /// Print completions for a shell
    Completions {
        /// The shell to complete for
        shell: Shell,
    },
    /// Run a detached session until it is over; takes what `run` takes
    #[command(hide = true)]
    Keep(Run),
    /// Keep a detached session of a tool server until it is over
    #[command(hide = true)]
    Shim(ShimOrder),
    /// Serve a greeting on a free port of the loopback address
    #[command(hide = true)]
    DemoServer,
    /// Say who is up and stay for ever
    #[command(hide = true)]
    DemoStray {
        /// What to be called
        name: String,
    },
    /// Print the reference page of the command line
    #[command(name = "__docs", hide = true)]
    Docs,
}

/// The shells that completions are made for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct Run {
    /// Give the command a terminal of its own instead of pipes
    #[arg(long, short)]
    pub(crate) tty: bool,

    /// Size of that terminal, as rows x columns [default: that of this terminal, or 24x80]
    #[arg(long, value_name = "ROWSxCOLS", value_parser = values::size, requires = "tty")]
    pub(crate) size: Option<Size>,

    /// End the command after this long: TERM, two seconds of grace, KILL
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) limits: LimitWords,

    /// Stop waiting once this regular expression shows in the output. A command that ends with code 0 before that makes windlass
    /// exit with 1
    #[arg(long, value_name = "PATTERN", value_parser = values::pattern)]
    pub(crate) until: Option<Pattern>,

    /// Stop waiting once nothing was printed for this long
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(crate) idle: Option<Duration>,

    #[command(flatten)]
    pub(crate) shown: Shown,

    /// Set a variable (K=V, or K= for empty) or remove it (K); repeatable
    #[arg(long, short, value_name = "K=V", value_parser = values::environment_change())]
    pub(crate) env: Vec<EnvironmentChange>,

    /// Run it in this directory
    #[arg(long, short = 'C', value_name = "DIRECTORY")]
    pub(crate) cwd: Option<PathBuf>,

    /// A name that `log` and `stop` take instead of the session's number
    #[arg(long, short, value_name = "NAME", value_parser = values::session_name)]
    pub(crate) name: Option<String>,

    /// What the command reads
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) stdin: StdinSource,

    /// Start the command in the background and come back at once. It has nothing to read, outlives this terminal, and
    /// its output is kept for `log`; `stop` ends it
    #[arg(long, conflicts_with_all = ["until", "idle", "max_tokens", "view", "tokenizer"])]
    pub(crate) detach: bool,

    #[command(flatten)]
    pub(crate) sandbox: SandboxWords,

    /// Run it on this app-server, `ws://HOST:PORT`, `wss://HOST:PORT` or `unix://PATH`, as if it ran here. The directory is
    /// one on that machine, and the environment that server's
    #[arg(long, value_name = "URL", conflicts_with_all = ELSEWHERE_UNKNOWN)]
    pub(crate) server: Option<Endpoint>,

    /// Show the server the token in this file, which others must not be able to read [default: what WINDLASS_TOKEN holds]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) token_file: Option<PathBuf>,

    /// Judge a `wss` server by the certificate authorities (PEM) in this file, and by no others [default: those that this
    /// machine trusts, or the file in SSL_CERT_FILE]
    #[arg(long, value_name = "FILE", requires = "server")]
    pub(crate) server_ca: Option<PathBuf>,

    /// The program and its arguments, or one string for the shell
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// What cannot be asked of a server: it streams, and remembers nothing for us.
const ELSEWHERE_UNKNOWN: [&str; 15] = [
    "until",
    "idle",
    "max_tokens",
    "view",
    "json",
    "name",
    "detach",
    "memory",
    "processes",
    "cpu_time",
    "files",
    "output",
    "output_rate",
    "disk",
    "sandbox",
];

const RUN_EXAMPLES: &str = "\
Times are written 500ms, 30s, 2m, 1h; a plain number is seconds.

Windlass exits with the command's code, or with 128 plus the signal that ended it; with 0 when \
--until or --idle was met; with 1 when the command ended with 0 and never printed what --until \
waits for; with 127 or 126 when the program is missing or cannot be executed; with \
125 when windlass itself fails, as when a sandbox cannot be enforced, or when its reader was so slow \
that output was lost; with 2 when the options make no sense. \
What the command leaves running is ended when windlass exits.

With --detach it exits with 0 once the command has started, and prints the session's number. What \
such a command leaves running lives on, its output kept, until it ends or `windlass stop` ends it. \
A session that was detached from within another one ends with that one.

Examples:
  windlass run -- cargo test --workspace
  windlass run 'make 2>&1 | tail -5'                a script for the shell
  windlass run --tty -- htop
  windlass run --until 'listening on' --json -- ./server
  windlass run --memory 2G --processes 200 --cpu-time 10m -- make -j8
  windlass run --max-tokens 500 -- cargo build      the ends of the output
  windlass run --detach --name web -- ./server      then: windlass log web -f
  windlass run --server unix:///run/box.sock --tty -- bash
  echo data | windlass run -- wc -c";

/// How output is shown.
#[derive(Debug, Args)]
pub(crate) struct Shown {
    /// Show at most this many tokens: the beginning and the end of the output
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,

    /// text: as a terminal would finally show it; raw: as printed; screen: what the terminal shows now
    #[arg(long, value_enum)]
    pub(crate) view: Option<ViewKind>,

    /// How tokens are counted
    #[arg(long, value_enum, default_value = "o200k")]
    pub(crate) tokenizer: TokenizerName,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// The forms of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ViewKind {
    Text,
    Raw,
    Screen,
}

/// The tokenizers, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TokenizerName {
    /// Current OpenAI models
    O200k,
    /// The vocabulary before it
    Cl100k,
    /// A quarter of the bytes
    Bytes4,
}

impl From<TokenizerName> for Tokenizer {
    fn from(name: TokenizerName) -> Self {
        match name {
            TokenizerName::O200k => Self::O200k,
            TokenizerName::Cl100k => Self::Cl100k,
            TokenizerName::Bytes4 => Self::Bytes4,
        }
    }
}

/// Where a command's input comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StdinSource {
    /// Ours, unless it is a terminal and the command has none
    Auto,
    /// Ours, whatever it is
    Inherit,
    /// Nothing: it is at its end
    None,
}

#[derive(Debug, Args)]
#[command(after_help = LOG_EXAMPLES)]
pub(crate) struct Log {
    /// The session's number or name
    #[arg(value_name = "SESSION")]
    pub(crate) session: String,

    #[command(flatten)]
    pub(crate) choice: Choice,

    /// Lines shown around each match
    #[arg(long, short = 'C', value_name = "N", requires = "grep", default_value_t = 0)]
    pub(crate) context: usize,

    #[command(flatten)]
    pub(crate) shown: Shown,

    /// Go on as output comes, until the session is over
    #[arg(long, short, conflicts_with_all = ["json", "max_tokens"])]
    pub(crate) follow: bool,
}

/// Which part of a log.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Choice {
    /// Lines by number: 10..20, 10.., ..20 or 10
    #[arg(long, value_name = "RANGE")]
    pub(crate) lines: Option<LineRange>,

    /// The last lines
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) tail: Option<usize>,

    /// Lines that match a regular expression, with their numbers
    #[arg(long, short, value_name = "PATTERN", value_parser = values::pattern)]
    pub(crate) grep: Option<Pattern>,

    /// Bytes by offset: 100..200, 100.. or ..200, as the markers of truncated output name them
    #[arg(long, value_name = "FROM..TO", value_parser = values::span)]
    pub(crate) span: Option<Span>,
}

const LOG_EXAMPLES: &str = "\
Examples:
  windlass log 1001                      all, as a terminal would show it
  windlass log build --tail 20           the end of the newest named `build`
  windlass log 1001 --grep 'error|warn' --context 3
  windlass log 1001 --span 2048..9120    what a truncation marker left out
  windlass log 1001 --view raw | less -R
  windlass log 1001 --follow             while another windlass runs it

Missing output:
  A marker stands in text where output is missing, and standard error says why. The exit code is 1 if something that was \
  asked for cannot be read or never reached the disk; with --view raw, which prints the bytes and no marker, also if it \
  was dropped because it was more than is kept.";

#[derive(Debug, Args)]
#[command(after_help = PS_EXAMPLES)]
pub(crate) struct Ps {
    /// Every session that is still remembered, not only the newest
    #[arg(long, short)]
    pub(crate) all: bool,

    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

const PS_EXAMPLES: &str = "\
States:
  running     its command and its windlass are alive
  exiting     its command is dead, and its windlass has not recorded that yet
  detached    it outlived the program that ran it, as it was meant to
  exit N      it returned N
  SIGxxx      that signal ended it
  timeout, limit, stopped, shutdown    windlass ended it, and why
  ending      its windlass died; the guardian is ending what the session started
  elsewhere   its windlass is in another pid namespace, such as a container
  lost        its windlass died before it could write down the end
  unreadable  only with --json: a record that cannot be read; it may be of running sessions

Examples:
  windlass ps --all
  windlass ps --json | jq '.[] | select(.state == \"lost\")'";

#[derive(Debug, Args)]
#[command(after_help = TOP_EXAMPLES)]
pub(crate) struct Top {
    /// Look once, and print
    #[arg(long)]
    pub(crate) once: bool,

    /// Look once, and print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

const TOP_EXAMPLES: &str = "\
Every session that runs on this machine and is remembered in the state directory, whichever windlass \
runs it, with all the processes it started. 100% is one processor. Without a terminal it looks once. \
It ends with q or Ctrl-C, and gives the terminal back as it was.

Examples:
  windlass top
  windlass top --json | jq '.[] | select(.memory_bytes > 1e9) | .session'";

#[derive(Debug, Args)]
#[command(after_help = STOP_EXAMPLES)]
pub(crate) struct Stop {
    /// Sessions by number or name
    #[arg(value_name = "SESSION", required = true)]
    pub(crate) sessions: Vec<String>,

    /// Print one JSON object for each, one a line
    #[arg(long)]
    pub(crate) json: bool,
}

const STOP_EXAMPLES: &str = "\
Everything the command started is ended: TERM, two seconds of grace, KILL. The windlass that runs the \
session writes the receipt; a server goes on with its other sessions. A session that is over already \
stays as it is, and that is no error.

Examples:
  windlass stop 1001
  windlass stop web --json";

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Also try the way to the configured model: name, connection, encryption, key, and the list of models
    #[arg(long)]
    pub(crate) network: bool,

    /// Also ask the model one short question, which costs a few tokens; implies --network
    #[arg(long)]
    pub(crate) live: bool,

    /// The model to check the agent with
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) model: Option<String>,

    /// Set a setting of the agent, as KEY=VALUE; repeatable
    #[arg(long = "config", short = 'c', value_name = "KEY=VALUE")]
    pub(crate) config: Vec<String>,

    /// The profile of the agent's settings
    #[arg(long, short, value_name = "NAME")]
    pub(crate) profile: Option<String>,
}

const DOCTOR_EXAMPLES: &str = "\
One line per check: `ok`, `note` for what is worth knowing, `problem` for what will not work, with \
what to do. It exits with 0 when nothing is a problem, else with 1. It uses no network unless --network \
or --live asks for it, and shows no key.

Examples:
  windlass doctor
  windlass doctor --network
  windlass doctor --json | jq '.checks[] | select(.verdict == \"problem\")'";

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory};

    use super::*;

    /// Whether the writer of these lines broke the first one although the next word would have fitted.
    fn is_broken_early(line: &str, next: &str, width: usize) -> bool {
        let indent = |text: &str| text.len() - text.trim_start().len();
        let goes_on = next.trim_start().starts_with(|first: char| first.is_ascii_lowercase());
        let is_example = |text: &str| text.trim_start().starts_with("windlass ");
        let word = next.split_whitespace().next().unwrap_or_default();
        let fits = line.chars().count() + 1 + word.chars().count() <= width;
        let is_prose = line.split_whitespace().count() > 1 && !is_example(line) && !line.contains("   ");
        goes_on
            && is_prose
            && fits
            && !is_example(next)
            && !next.trim_start().contains("   ")
            && indent(line) == indent(next)
    }

    fn early_breaks(command: &mut Command, width: usize) -> Vec<String> {
        let help = command.render_long_help().to_string();
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        let broken = lines.windows(2).filter(|pair| is_broken_early(pair[0], pair[1], width));
        let name = command.get_bin_name().unwrap_or_default().to_owned();
        let mut found: Vec<String> =
            broken.map(|pair| format!("{name} at {width}:\n{}\n{}", pair[0], pair[1])).collect();
        found.extend(command.get_subcommands_mut().flat_map(|verb| early_breaks(verb, width)));
        found
    }

    #[test]
    fn no_paragraph_of_any_help_is_broken_before_its_line_is_full() {
        for width in [80, 100] {
            let mut windlass = Windlass::command().term_width(width);
            windlass.build();
            let found = early_breaks(&mut windlass, width);
            assert!(found.is_empty(), "{}", found.join("\n\n"));
        }
    }
}
