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
    /// In which way its sandbox is another than its policy asks for, in sentences: without namespaces, or without a place that is missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Processes it started that were still alive when it ended, and were left so until the connection ends.
    pub left_running: Vec<ProcessLine>,
    /// Processes other than its root process that the server ended.
    pub ended: Vec<ProcessLine>,
    /// Processes that could not be ended.
    pub remaining: Vec<ProcessLine>,
    /// The limit that it was ended for, if its cause is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<CrossedLimit>,
    /// The most that everything it started used together, as far as that was measured: what is limited is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<ResourcePeak>,
    /// The limits it was under, and by what each was kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub enforced: Vec<EnforcedLimit>,
}

/// A limit that was crossed, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CrossedLimit {
    /// Of what.
    pub resource: LimitedResource,
    /// Whose limit it was.
    pub scope: LimitScope,
    /// The limit, in the unit of the resource.
    pub limit: u64,
    /// The most that was measured, in the same unit.
    pub peak: u64,
    /// What noticed it.
    pub means: LimitMeans,
}

/// The most that was measured of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcePeak {
    /// Of what.
    pub resource: LimitedResource,
    /// The most, in the unit of the resource.
    pub peak: u64,
}

/// A limit that was in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnforcedLimit {
    /// Of what.
    pub resource: LimitedResource,
    /// Whose limit it was.
    pub scope: LimitScope,
    /// The limit, in the unit of the resource.
    pub limit: u64,
    /// What kept it.
    pub means: LimitMeans,
}

/// What can be limited, each in its own unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitedResource {
    /// Memory, in bytes.
    Memory,
    /// Processes and threads at a time.
    Processes,
    /// CPU time, in microseconds.
    CpuTime,
    /// Files that one process has open at a time.
    OpenFiles,
    /// Bytes printed.
    Output,
    /// Bytes printed in a second.
    OutputRate,
    /// Bytes written to disks.
    Disk,
}

/// Whose limit it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitScope {
    /// The session's own.
    Session,
    /// That of all sessions of the server together.
    Runtime,
}

/// By what a limit is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LimitMeans {
    /// A control group of version 2.
    CgroupV2,
    /// Control groups of version 1.
    CgroupV1,
    /// A resource limit of each process.
    Rlimit,
    /// The server looks again and again.
    Watcher,
    /// The server counts what it reads.
    Reader,
}

/// Something that a sandbox refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// What the command tried: `read`, `write`, `create`, `make directory`, `make node`, `remove`, `rename`, `link`,
    /// `change mode`, `change owner`, `change times`, `change attributes`, `truncate`, `connect`, `send`, `socket`,
    /// `execute`, `watch` (inotify) or `call` (a system call that no sandbox allows). `more`, last: there were too many different things to
    /// list, and this is how often others were refused.
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
