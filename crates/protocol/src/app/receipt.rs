//! The account of a session's end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Windlass's own: the whole account of how a command or process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Receipt {
    /// The number of its session, by which `session/*` finds it.
    pub session_id: u64,
    /// The process id that its root process had.
    pub pid: u32,
    /// Why it ended.
    pub cause: EndCause,
    /// From its start to its root process's exit, in microseconds.
    pub wall_us: u64,
    /// CPU time in user mode of its root process and the descendants that one waited for, in microseconds.
    pub cpu_user_us: u64,
    /// CPU time in the kernel, likewise.
    pub cpu_system_us: u64,
    /// The most memory that the largest of them had resident, in bytes.
    pub peak_memory_bytes: u64,
    /// Whether that is only known as a bound: not more than this.
    pub peak_memory_is_bound: bool,
    /// Bytes it printed to its standard output; 0 on a terminal.
    pub stdout_bytes: u64,
    /// Bytes it printed to its standard error; 0 on a terminal.
    pub stderr_bytes: u64,
    /// Bytes it printed to its terminal; 0 on pipes.
    pub terminal_bytes: u64,
    /// Bytes of input that were taken for it and never reached it.
    pub undelivered_input: u64,
    /// What its sandbox refused it.
    #[serde(default)]
    pub denials: Vec<Denial>,
    /// Processes it started that were still alive when it ended, and were left so until the connection ends.
    pub left_running: Vec<ProcessLine>,
    /// Processes other than its root process that the server ended.
    pub ended: Vec<ProcessLine>,
    /// Processes that could not be ended.
    pub remaining: Vec<ProcessLine>,
}

/// Something that a sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// What the command tried: `read`, `write`, `create`, `make directory`, `make node`, `remove`, `rename`, `link`,
    /// `change mode`, `change owner`, `change times`, `change attributes`, `truncate`, `connect`, `send` or `socket`.
    pub operation: String,
    /// On what: a path, an address or a kind of socket.
    pub target: String,
    /// Which rule of the policy said no.
    pub rule: String,
    /// How often.
    pub times: u32,
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EndCause {
    /// Nobody asked: it returned, or something outside the server signalled it.
    Itself,
    /// Its time was up.
    Timeout,
    /// Somebody asked for it to be ended.
    Stopped,
    /// It crossed a resource limit.
    Limit,
    /// The server was shutting down.
    Shutdown,
    /// There were too many sessions, and this one had to make room.
    Evicted,
    /// The connection that started it went away.
    Dropped,
}

/// One process, as a person would name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessLine {
    /// Its process id.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}
