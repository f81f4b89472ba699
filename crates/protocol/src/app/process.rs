//! `process/*`: a process whose start is answered at once and whose end is told by a notification.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::command::{OutputStream, TerminalSize};
use super::receipt::Receipt;
use super::sandbox::AbsolutePath;

/// Parameters of `process/spawn`: starts a process and answers at once. The server's
/// operator chooses its sandbox (`--sandbox`, or `sandbox_mode` in the settings): none, if neither names one. Experimental.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSpawnParams {
    /// The program and its arguments, not a line for a shell. Must not be empty.
    pub command: Vec<String>,
    /// The client's name for it on this connection. Must not be empty.
    pub process_handle: String,
    /// Where it runs. Absolute.
    pub cwd: AbsolutePath,
    /// Whether it gets a terminal. Implies `streamStdin` and `streamStdoutStderr`.
    #[serde(default)]
    pub tty: bool,
    /// Whether its input stays open for `process/writeStdin`. Otherwise there is nothing to read.
    #[serde(default)]
    pub stream_stdin: bool,
    /// Whether its output comes in `process/outputDelta` notifications. Otherwise it comes in `process/exited`.
    #[serde(default)]
    pub stream_stdout_stderr: bool,
    /// The most bytes of each stream that are sent: 1 MiB where it is left out, however many where it is `null`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<usize>")]
    pub output_bytes_cap: Option<Option<usize>>,
    /// When it is ended, in milliseconds after its start: 10 seconds where it is left out, never where it is `null`.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub timeout_ms: Option<Option<i64>>,
    /// Changes to the server's environment; `null` removes a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<HashMap<String, Option<String>>>,
    /// The terminal's size, with `tty` only. 24 rows and 80 columns where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "size_if_any")]
    pub size: Option<TerminalSize>,
}

/// A member that was written, be it `null`, as opposed to one that was left out.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A size as it is read, by the name that it has for processes.
#[derive(Deserialize)]
struct ProcessTerminalSize {
    rows: u16,
    cols: u16,
}

impl From<ProcessTerminalSize> for TerminalSize {
    fn from(ProcessTerminalSize { rows, cols }: ProcessTerminalSize) -> Self {
        Self { rows, cols }
    }
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TerminalSize, D::Error> {
    ProcessTerminalSize::deserialize(deserializer).map(TerminalSize::from)
}

fn size_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TerminalSize>, D::Error> {
    Ok(Option::<ProcessTerminalSize>::deserialize(deserializer)?.map(TerminalSize::from))
}

/// Result of `process/spawn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSpawnResult {
    /// Windlass's own: the number of its session, by which `session/*` finds it.
    pub session_id: u64,
    /// Windlass's own: the process id of its root process.
    pub pid: u32,
}

/// Parameters of `process/writeStdin`: input for a process. Answered when the bytes are in the process's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWriteStdinParams {
    /// The process.
    pub process_handle: String,
    /// The bytes, as base64 with padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_base64: Option<String>,
    /// Whether the input ends after them. On a terminal in line mode this ends the line and types the end-of-file
    /// character; a terminal in raw mode has no end of input, and the request is refused.
    #[serde(default)]
    pub close_stdin: bool,
}

/// Parameters of `process/resizePty`: another size for a process's terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessResizePtyParams {
    /// The process.
    pub process_handle: String,
    /// The size.
    #[serde(deserialize_with = "size")]
    pub size: TerminalSize,
}

/// Parameters of `process/kill`: ends a process and everything it started, by TERM and, after a grace, KILL. Answered at
/// once; `process/exited` follows, on the connection that started it. One that came back follows it with `session/subscribe`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessKillParams {
    /// The process.
    pub process_handle: String,
}

/// Notification `process/outputDelta`: output as it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOutputDelta {
    /// The process.
    pub process_handle: String,
    /// Where it was printed. A terminal's output is `stdout`.
    pub stream: OutputStream,
    /// The bytes, as base64 with padding. Characters may be split between two deltas.
    pub delta_base64: String,
    /// Whether this delta fills the cap of its stream, and so is its last one.
    pub cap_reached: bool,
    /// Windlass's own: the number of this delta among all of the process's, from 1 on.
    #[serde(default)]
    pub seq: u64,
    /// Windlass's own: where the first of the bytes is in everything the process printed.
    #[serde(default)]
    pub offset: u64,
}

/// Notification `process/exited`: the end of a process, after its last delta. Its handle is free by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessExited {
    /// The process.
    pub process_handle: String,
    /// What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known.
    pub exit_code: i32,
    /// Its standard output, if it was not sent as deltas. Bytes that are not UTF-8 are replaced one by one.
    pub stdout: String,
    /// Whether its standard output, or its terminal's, filled the cap.
    pub stdout_cap_reached: bool,
    /// Its standard error, if it was not sent as deltas.
    pub stderr: String,
    /// Whether its standard error filled the cap.
    pub stderr_cap_reached: bool,
    /// Whether something it had started still held its output when waiting for the end of that was given up.
    pub output_drain_timed_out: bool,
    /// Windlass's own: the number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Windlass's own: whether it was ended because its time was up.
    #[serde(default)]
    pub timed_out: bool,
    /// Windlass's own: whether it printed more to its standard output, or its terminal, than was sent.
    #[serde(default)]
    pub stdout_truncated: bool,
    /// Windlass's own: whether it printed more to its standard error than was sent.
    #[serde(default)]
    pub stderr_truncated: bool,
    /// Windlass's own: the whole account of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_not_the_same_as_left_out() {
        let params = json!({ "command": ["a"], "processHandle": "h", "cwd": "/", "timeoutMs": null });
        let read = ProcessSpawnParams::deserialize(params).expect("it is well-formed");
        assert_eq!((read.timeout_ms, read.output_bytes_cap), (Some(None), None));
    }

    #[test]
    fn a_directory_must_be_absolute() {
        let params = json!({ "command": ["a"], "processHandle": "h", "cwd": "x" });
        let error = ProcessSpawnParams::deserialize(params).expect_err("it is relative").to_string();
        assert_eq!(error, "AbsolutePathBuf deserialized without a base path");
    }
}
