//! `session/*`, Windlass's own: everything that the commands and processes of a connection printed, by address.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command::OutputStream;
use super::receipt::Receipt;

/// Which session is meant: exactly one of the three.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionTarget {
    /// By its number, also after it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<u64>,
    /// The command that has this name now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    /// The process that has this handle now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_handle: Option<String>,
}

/// Parameters of `session/list`: what the connection runs, and the latest that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListParams {}

/// Result of `session/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionListResult {
    /// The sessions, oldest first.
    pub sessions: Vec<SessionInfo>,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its number.
    pub session_id: u64,
    /// The name that the client gave it in `command/exec`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    /// The handle that the client gave it in `process/spawn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_handle: Option<String>,
    /// The process id of its root process.
    pub pid: u32,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Where it was started.
    pub cwd: String,
    /// Whether it runs on a terminal.
    pub tty: bool,
    /// When it was started, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// Where it is in its life.
    pub state: SessionState,
    /// How many bytes it has printed so far.
    pub end: u64,
    /// How it ended, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<SessionExit>,
}

/// Where a session is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SessionState {
    /// Its root process runs.
    Running,
    /// It is being ended.
    Stopping,
    /// Its root process is gone, and its last output is being read.
    Draining,
    /// It has ended.
    Exited,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExit {
    /// What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known.
    pub exit_code: i32,
    /// The number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether it was ended because its time was up.
    pub timed_out: bool,
    /// Whether something it had started still held its output when waiting for the end of that was given up.
    pub drain_timed_out: bool,
    /// The whole account.
    pub receipt: Receipt,
}

/// Parameters of `session/read`: output by its address. At most one of `span`, `lines` and `grep`; without any, everything
/// from the beginning on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionReadParams {
    /// Which session.
    #[serde(flatten)]
    pub target: SessionTarget,
    /// The bytes between two offsets, as they were printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<SpanChoice>,
    /// Lines by number, as a terminal would finally show them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineChoice>,
    /// Lines that match, as a terminal would finally show them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grep: Option<Grep>,
    /// The most bytes of output in the answer: 1 MiB where it is left out, at most 16 MiB. It has at most 65,536 lines, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<usize>,
}

/// The bytes between two offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpanChoice {
    /// The offset of the first byte.
    #[serde(default)]
    pub from: u64,
    /// The offset after the last byte; what there is now, where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// Lines by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LineChoice {
    /// The first line; they are counted from 1.
    pub first: u64,
    /// The last line; what there is now, where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
}

/// Lines that match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grep {
    /// A regular expression.
    pub pattern: String,
    /// How many lines around each match are given, too; at most 1000.
    #[serde(default)]
    pub context: usize,
    /// The first line that is given; they are counted from 1. To go on after an answer that was truncated: the number after
    /// that of its last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
}

/// Result of `session/read`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionReadResult {
    /// The number of the session.
    pub session_id: u64,
    /// How many bytes it has printed so far.
    pub end: u64,
    /// Whether it can print no more, so that `end` is final.
    pub closed: bool,
    /// What was read by span, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<OutputChunk>,
    /// What was read by lines or by matching, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<OutputLine>,
    /// Output in the requested part that is no longer kept or cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<OutputSpan>,
    /// Spans of `dropped` that retention did not drop: the file is gone or unreadable, or a write failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<UnreadableOutput>,
    /// Of a span: the offset at which to go on. It is the end of the span when all of it was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Whether `maxBytes` kept something out of the answer.
    pub truncated: bool,
}

/// Bytes of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputChunk {
    /// Where the first of them is.
    pub offset: u64,
    /// Where they were printed. A terminal's output is `stdout`.
    pub stream: OutputStream,
    /// When the first of them was printed, in microseconds after the session's start.
    pub at_us: u64,
    /// The bytes, as base64 with padding.
    pub delta_base64: String,
}

/// A line as a terminal would finally show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputLine {
    /// Its number; lines are counted from 1, among those that are kept: what was dropped has none, see `dropped`.
    pub number: u64,
    /// Its text, without the end of line.
    pub text: String,
    /// Whether it matches, as opposed to standing around a match.
    #[serde(default)]
    pub matches: bool,
    /// The bytes it came from, the end of line among them: what to read by span for all of it as it was printed.
    pub span: OutputSpan,
    /// Whether `text` is only a part of it, because all of it is more than the answer may have or, of a search, more than
    /// 64 KiB: what is around the match, or else the beginning. So is the last line before output that is no longer kept.
    #[serde(default)]
    pub cut: bool,
}

/// Output between two offsets that should be there and cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnreadableOutput {
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the last byte.
    pub to: u64,
    /// The file, what the system said, and what to do.
    pub reason: String,
}

/// Output between two offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputSpan {
    /// The offset of the first byte.
    pub from: u64,
    /// The offset after the last byte.
    pub to: u64,
}

/// Parameters of `session/wait`: answered when the first of the conditions holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWaitParams {
    /// Which session.
    #[serde(flatten)]
    pub target: SessionTarget,
    /// What to wait for besides the session's end.
    #[serde(default)]
    pub until: WaitUntil,
    /// How long to wait at most, in milliseconds; for ever where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// What to wait for besides the session's end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitUntil {
    /// A regular expression that matches what is printed, as a terminal would show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The offset from which on the pattern is looked for.
    #[serde(default)]
    pub pattern_from: u64,
    /// Nothing was printed for so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
    /// The output has got as far as this offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// It has read all its input and waits for more.
    #[serde(default)]
    pub input: bool,
    /// It listens on this TCP port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// Result of `session/wait`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionWaitResult {
    /// The number of the session.
    pub session_id: u64,
    /// Which condition held first.
    pub met: WaitMet,
    /// How many bytes it has printed so far.
    pub end: u64,
    /// What the pattern matched.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matched: Option<OutputMatch>,
    /// How the session ended, if it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<SessionExit>,
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WaitMet {
    /// The session ended.
    Exit,
    /// The pattern was found.
    Pattern,
    /// There was silence for long enough.
    Idle,
    /// The output got that far.
    Offset,
    /// It waits for input.
    Input,
    /// It listens on the port.
    Port,
    /// Nothing more can be printed, and nothing else of it holds.
    Closed,
    /// The time was up.
    Timeout,
}

/// What a pattern matched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputMatch {
    /// The text.
    pub text: String,
    /// The offset of its first byte.
    pub from: u64,
    /// The offset after its last byte.
    pub to: u64,
}

/// Parameters of `session/signal`: a signal for the process group of the session's root process, and nothing more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSignalParams {
    /// Which session.
    #[serde(flatten)]
    pub target: SessionTarget,
    /// The signal's name, such as `SIGINT` or `INT`.
    pub signal: String,
}

/// Parameters of `session/subscribe`: everything from an offset on as `session/output` notifications, then `session/exited`
/// and `session/closed`. One subscription a session and connection; another one takes its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeParams {
    /// Which session.
    #[serde(flatten)]
    pub target: SessionTarget,
    /// The offset to begin at; what is printed from now on, where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
}

/// Result of `session/subscribe`. Comes before the first notification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSubscribeResult {
    /// The number of the session, as in the notifications.
    pub session_id: u64,
    /// The offset at which the output begins.
    pub from: u64,
}

/// Parameters of `session/unsubscribe`: no more notifications about a session. Fine also where there is no subscription.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionUnsubscribeParams {
    /// Which session.
    #[serde(flatten)]
    pub target: SessionTarget,
}

/// Parameters of `session/endAll`: ends everything that the connection runs or that its commands left running, and is answered when
/// that has ended. Whoever says so will not come back: a connection that is lost afterwards is not waited for. Where another
/// connection has taken everything over, nothing happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEndAllParams {}

/// Notification `session/output`: output of a session that is followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionOutput {
    /// The session.
    pub session_id: u64,
    /// Where it was printed. A terminal's output is `stdout`.
    pub stream: OutputStream,
    /// Where the first of the bytes is. The next one begins where this one ends.
    pub offset: u64,
    /// The bytes, as base64 with padding. Characters may be split between two notifications.
    pub delta_base64: String,
}

/// Notification `session/dropped`: this part of the output is no longer kept, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDropped {
    /// The session.
    pub session_id: u64,
    /// The offset of the first byte that is gone.
    pub from: u64,
    /// The offset after the last byte that is gone.
    pub to: u64,
    /// Why it cannot be read, if retention did not drop it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Notification `session/exited`: a session that is followed has ended. Only what it left running can still print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionExited {
    /// The session.
    pub session_id: u64,
    /// How it ended.
    pub exit: SessionExit,
}

/// Notification `session/closed`: nothing more can be printed. The last about its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionClosed {
    /// The session.
    pub session_id: u64,
    /// How many bytes it printed.
    pub end: u64,
}
