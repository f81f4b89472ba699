//! `command/exec`: a command that is answered when it has ended, and the requests that control it meanwhile.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::receipt::Receipt;
use super::sandbox::{SandboxPolicy, path_text};

/// Parameters of `command/exec`: runs a command and answers when it has ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecParams {
    /// The program and its arguments, not a line for a shell. Must not be empty.
    pub command: Vec<String>,
    /// The client's name for it on this connection. Needed with `tty`, `streamStdin` and `streamStdoutStderr`, and by
    /// the requests that control it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_id: Option<String>,
    /// Whether it gets a terminal. Implies `streamStdin` and `streamStdoutStderr`.
    #[serde(default)]
    pub tty: bool,
    /// Whether its input stays open for `command/exec/write`. Otherwise there is nothing to read.
    #[serde(default)]
    pub stream_stdin: bool,
    /// Whether its output comes in `command/exec/outputDelta` notifications. `stdout` and `stderr` of the result are empty
    /// then.
    #[serde(default)]
    pub stream_stdout_stderr: bool,
    /// The most bytes of each stream that are returned or sent. 1 MiB where it is left out. What comes after is read, kept
    /// in the session, and not sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes_cap: Option<usize>,
    /// Whether output is returned or sent however much it is. Excludes `outputBytesCap`.
    #[serde(default)]
    pub disable_output_cap: bool,
    /// Whether it may take as long as it likes. Excludes `timeoutMs`.
    #[serde(default)]
    pub disable_timeout: bool,
    /// When it is ended, in milliseconds after its start. 10 seconds where it is left out; 0 is at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Where it runs: absolute, or seen from the server's directory, which is also the default. A leading `~` is the home
    /// directory.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "path_text_if_any")]
    pub cwd: Option<String>,
    /// Changes to the server's environment; `null` removes a variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<HashMap<String, Option<String>>>,
    /// The terminal's size, with `tty` only. 24 rows and 80 columns where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<TerminalSize>,
    /// What it may touch. What cannot be enforced on the server's machine is refused. Where it is left out, the
    /// server's operator chooses it (`--sandbox`, or `sandbox_mode` in the settings): read-only without a network, if neither
    /// names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox_policy: Option<SandboxPolicy>,
    /// What it may touch, by the name of a profile. Experimental; excludes `sandboxPolicy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_profile: Option<String>,
}

fn path_text_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    struct Given(#[serde(deserialize_with = "path_text")] String);
    Ok(Option::<Given>::deserialize(deserializer)?.map(|Given(path)| path))
}

/// The size of a terminal in character cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminalSize {
    /// Its height; more than 0.
    pub rows: u16,
    /// Its width; more than 0.
    pub cols: u16,
}

/// As it is read. The name of this type is what a client sees that sends something else.
#[derive(Deserialize)]
struct CommandExecTerminalSize {
    rows: u16,
    cols: u16,
}

impl<'de> Deserialize<'de> for TerminalSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let CommandExecTerminalSize { rows, cols } = Deserialize::deserialize(deserializer)?;
        Ok(Self { rows, cols })
    }
}

/// Result of `command/exec`. Comes after the last delta, and its `processId` is free by then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResult {
    /// What it returned; 128 plus the signal that ended it; 124 when its time was up; -1 when it is not known.
    pub exit_code: i32,
    /// Its standard output, if it was not sent as deltas. Bytes that are not UTF-8 are replaced one by one.
    pub stdout: String,
    /// Its standard error, likewise.
    pub stderr: String,
    /// Windlass's own: the number of the signal that ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Windlass's own: whether it was ended because its time was up.
    #[serde(default)]
    pub timed_out: bool,
    /// Windlass's own: whether it printed more to its standard output, or its terminal, than was returned or sent.
    #[serde(default)]
    pub stdout_truncated: bool,
    /// Windlass's own: whether it printed more to its standard error than was returned or sent.
    #[serde(default)]
    pub stderr_truncated: bool,
    /// Windlass's own: whether something it had started still held its output when waiting for the end of that was given
    /// up, 2 seconds after its exit.
    #[serde(default)]
    pub drain_timed_out: bool,
    /// Windlass's own: the whole account of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// Parameters of `command/exec/write`: input for a command. Answered when the bytes are in the command's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecWriteParams {
    /// The command.
    pub process_id: String,
    /// The bytes, as base64 with padding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta_base64: Option<String>,
    /// Whether the input ends after them. On a terminal in line mode this ends the line and types the end-of-file
    /// character; a terminal in raw mode has no end of input, and the request is refused.
    #[serde(default)]
    pub close_stdin: bool,
}

/// Parameters of `command/exec/resize`: another size for a command's terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecResizeParams {
    /// The command.
    pub process_id: String,
    /// The size.
    pub size: TerminalSize,
}

/// Parameters of `command/exec/terminate`: ends a command and everything it started, by TERM and, after a grace, KILL.
/// Answered at once; the command's own answer follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecTerminateParams {
    /// The command.
    pub process_id: String,
}

/// Notification `command/exec/outputDelta`: output as it comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandExecOutputDelta {
    /// The command.
    pub process_id: String,
    /// Where it was printed. A terminal's output is `stdout`.
    pub stream: OutputStream,
    /// The bytes, as base64 with padding. Characters may be split between two deltas.
    pub delta_base64: String,
    /// Whether this delta fills the cap of its stream, and so is its last one. Whether anything was cut is said in the
    /// result.
    pub cap_reached: bool,
    /// Windlass's own: the number of this delta among all of the command's, from 1 on.
    #[serde(default)]
    pub seq: u64,
    /// Windlass's own: where the first of the bytes is in everything the command printed, for `session/read` and
    /// `session/subscribe`.
    #[serde(default)]
    pub offset: u64,
}

/// Where output was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum OutputStream {
    /// Standard output, or the terminal.
    Stdout,
    /// Standard error.
    Stderr,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(params: Value) -> String {
        CommandExecParams::deserialize(params).expect_err("it has a wrong type").to_string()
    }

    #[test]
    fn wrong_types_are_told_in_the_dialects_words() {
        let with = |member: &str, value: Value| {
            let mut params = json!({ "command": ["true"] });
            params[member] = value;
            refused(params)
        };
        assert_eq!(refused(json!({})), "missing field `command`");
        assert_eq!(
            refused(json!([["a"]])),
            "invalid length 1, expected struct CommandExecParams with 14 elements"
        );
        let table = [
            ("command", json!("ls"), "invalid type: string \"ls\", expected a sequence"),
            ("command", json!([1]), "invalid type: integer `1`, expected a string"),
            ("processId", json!(1), "invalid type: integer `1`, expected a string"),
            ("tty", json!(null), "invalid type: null, expected a boolean"),
            ("disableTimeout", json!("true"), "invalid type: string \"true\", expected a boolean"),
            ("timeoutMs", json!(1.5), "invalid type: floating point `1.5`, expected i64"),
            ("timeoutMs", json!(1000.0), "invalid type: floating point `1000.0`, expected i64"),
            ("timeoutMs", json!("100"), "invalid type: string \"100\", expected i64"),
            (
                "timeoutMs",
                json!(9_223_372_036_854_775_808_u64),
                "invalid value: integer `9223372036854775808`, expected i64",
            ),
            ("outputBytesCap", json!(-1), "invalid value: integer `-1`, expected usize"),
            ("size", json!({ "rows": 65536, "cols": 1 }), "invalid value: integer `65536`, expected u16"),
            ("size", json!({ "rows": -1, "cols": 1 }), "invalid value: integer `-1`, expected u16"),
            ("size", json!({ "rows": 1 }), "missing field `cols`"),
            ("env", json!([]), "invalid type: sequence, expected a map"),
            ("env", json!({ "A": 1 }), "invalid type: integer `1`, expected a string"),
        ];
        for (member, value, expected) in table {
            assert_eq!(with(member, value.clone()), expected, "{member}: {value}");
        }
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let read = CommandExecParams::deserialize(json!({ "command": ["a"], "processId": null, "odd": 1 }));
        let expected = CommandExecParams { command: vec!["a".to_owned()], ..CommandExecParams::default() };
        assert_eq!(read.expect("it is well-formed"), expected);
    }
}
