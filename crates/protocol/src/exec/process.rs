//! Processes: starting, following, feeding and ending them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ManagedNetwork, PathUri, SandboxContext};

/// `process/start`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecParams {
    /// What the client calls it, for as long as the session knows it. Any text.
    pub process_id: String,
    /// The program and its arguments; not empty. A program without a slash is looked for in the process's own `PATH`.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: PathUri,
    /// Which variables of the server it has, before `env` is laid over them. Left out or null: none.
    #[serde(default)]
    pub env_policy: Option<ExecEnvPolicy>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Whether it has a terminal of its own. Otherwise it has pipes.
    pub tty: bool,
    /// Whether its input stays open for `process/write`. A terminal's always does.
    #[serde(default)]
    pub pipe_stdin: bool,
    /// The name the program sees itself under, where it is not `argv[0]`.
    #[serde(default)]
    pub arg0: Option<String>,
    /// What it is to be kept from. What cannot be enforced is refused.
    #[serde(default)]
    pub sandbox: Option<SandboxContext>,
    /// Whether its network is to be controlled. Without `managedNetwork`, it has none.
    #[serde(default)]
    pub enforce_managed_network: bool,
    /// How its network is to be controlled.
    #[serde(default)]
    pub managed_network: Option<ManagedNetwork>,
    /// A proxy to start for it. Refused unless null.
    #[serde(default)]
    pub network_proxy: Option<Value>,
    /// The terminal's first size; 24 rows of 80 columns, if it is left out. Added by Windlass.
    #[serde(default)]
    pub size: Option<TerminalSize>,
}

/// Which variables of the server a process has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecEnvPolicy {
    /// What to begin with.
    pub inherit: Inherit,
    /// Whether variables whose names contain `KEY`, `SECRET` or `TOKEN` stay.
    pub ignore_default_excludes: bool,
    /// Names that go; `*` stands for any characters, `?` for one, and case does not matter.
    pub exclude: Vec<String>,
    /// Variables that are set then.
    pub set: BTreeMap<String, String>,
    /// If not empty, only names that match one of these stay.
    pub include_only: Vec<String>,
}

/// What to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inherit {
    /// Home, path, user, locale and the like.
    Core,
    /// Everything.
    All,
    /// Nothing.
    None,
}

/// What `process/start` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecResponse {
    /// As it was asked for.
    pub process_id: String,
    /// What it is kept from by what.
    pub sandbox_type: SandboxType,
}

/// What keeps a process from what it may not touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SandboxType {
    /// Nothing.
    None,
    /// A sandbox of this machine.
    LinuxSeccomp,
}

/// The size of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TerminalSize {
    /// Lines; more than none.
    pub rows: u16,
    /// Characters in a line; more than none.
    pub cols: u16,
}

/// `process/read`: what happened after some event, at once if there is anything, else when it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadParams {
    /// Of which process.
    pub process_id: String,
    /// The number of the last event that is known; 0 for none.
    pub after_seq: Option<u64>,
    /// The most bytes of output to give. One chunk is always given, however long.
    pub max_bytes: Option<u64>,
    /// How long to wait for something to happen, in milliseconds.
    pub wait_ms: Option<u64>,
}

/// What `process/read` gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadResponse {
    /// Output, in order.
    pub chunks: Vec<ProcessOutputChunk>,
    /// The number of the first event that is not in this answer. Ask on with `afterSeq` one less.
    pub next_seq: u64,
    /// Whether the process has exited.
    pub exited: bool,
    /// How: its code, or 128 and the number of the signal that ended it.
    pub exit_code: Option<i32>,
    /// The number of the signal that ended it. Added by Windlass, and left out when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether no more output can come.
    pub closed: bool,
    /// Why the process cannot be followed any more.
    pub failure: Option<String>,
    /// Whether a sandbox kept it from something.
    pub sandbox_denied: bool,
}

/// Some output of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputChunk {
    /// Its number among the events of the process.
    pub seq: u64,
    /// Where it was printed.
    pub stream: ExecOutputStream,
    /// The bytes, as base64.
    pub chunk: String,
    /// So many bytes stood here and are kept no longer. Added by Windlass, and left out when nothing is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_bytes: Option<u64>,
}

/// Where output was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ExecOutputStream {
    /// The pipe of standard output.
    Stdout,
    /// The pipe of standard error.
    Stderr,
    /// The terminal.
    Pty,
}

/// `process/write`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WriteParams {
    /// To which process.
    pub process_id: String,
    /// The bytes, as base64.
    pub chunk: String,
    /// What the client calls this write; not empty. Asked for again under the same name, it is not written again.
    pub write_id: String,
}

/// What `process/write` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteResponse {
    /// What became of it.
    pub status: WriteStatus,
}

/// What became of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WriteStatus {
    /// It is in the queue for the process, or was written before under the same name.
    Accepted,
    /// There is no such process.
    UnknownProcess,
    /// The process reads nothing any more, or never did.
    StdinClosed,
    /// The process is being started. Windlass does not answer this: a start is over before the next request is read.
    Starting,
}

/// `process/signal`. A process that is gone or unknown is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignalParams {
    /// To which process; all of its process group is signalled.
    pub process_id: String,
    /// Which signal.
    pub signal: ProcessSignal,
}

/// A signal, by name. All but `interrupt` were added by Windlass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ProcessSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
    /// SIGQUIT.
    Quit,
    /// SIGKILL.
    Kill,
    /// SIGSTOP.
    Stop,
    /// SIGCONT.
    Continue,
}

/// `process/terminate`: ends a process and everything it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminateParams {
    /// Which one.
    pub process_id: String,
}

/// What `process/terminate` gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TerminateResponse {
    /// Whether it was still running, and is being ended now.
    pub running: bool,
}

/// `process/resize`. Added by Windlass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResizeParams {
    /// Which process; it must have a terminal.
    pub process_id: String,
    /// The new size.
    pub size: TerminalSize,
}

/// `process/closeStdin`: ends the input after what was written before. Answered like a write. Added by Windlass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloseStdinParams {
    /// Of which process.
    pub process_id: String,
}

/// What `process/list` gives. Added by Windlass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListResponse {
    /// The processes that the session knows, by name.
    pub processes: Vec<ListedProcess>,
}

/// One process of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedProcess {
    /// What the client calls it.
    pub process_id: String,
    /// What the system calls it.
    pub pid: u32,
    /// Its program and arguments.
    pub argv: Vec<String>,
    /// Whether it has a terminal.
    pub tty: bool,
    /// How it exited; null while it runs.
    pub exit_code: Option<i32>,
    /// The number its next event will have.
    pub next_seq: u64,
}

/// `process/output`: some output, as it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecOutputDeltaNotification {
    /// Of which process.
    pub process_id: String,
    /// Which bytes.
    #[serde(flatten)]
    pub output: ProcessOutputChunk,
}

/// `process/exited`: the process itself is gone, and everything it printed has been told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecExitedNotification {
    /// Which process.
    pub process_id: String,
    /// Its number among the events of the process.
    pub seq: u64,
    /// Its code, or 128 and the number of the signal that ended it.
    pub exit_code: i32,
    /// The number of the signal that ended it. Added by Windlass, and left out when none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether a sandbox kept it from something.
    pub sandbox_denied: bool,
}

/// `process/closed`: no more output can come, also not from what the process left running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExecClosedNotification {
    /// Which process.
    pub process_id: String,
    /// Its number among the events of the process: the last one.
    pub seq: u64,
}
