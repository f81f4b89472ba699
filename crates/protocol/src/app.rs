//! The app-server dialect: commands and processes of one connection, with what Windlass adds to it.
//!
//! A client runs commands (`command/exec`) and long-lived processes (`process/spawn`) under names of its own, hears of
//! their output by notifications, and controls them. `session/*` is Windlass's own: everything that a command printed
//! has an address, and can be read, searched, waited for and followed from any offset. Members that Windlass adds say so;
//! whoever does not know them ignores them.
//!
//! Types are described to a client that gets them wrong in the words of `serde`, so the names of the shapes and the order
//! of their members are part of the dialect.

mod command;
mod handshake;
mod process;
mod receipt;
mod sandbox;
mod session;

pub use self::command::{
    CommandExecOutputDelta, CommandExecParams, CommandExecResizeParams, CommandExecResult,
    CommandExecTerminateParams, CommandExecWriteParams, OutputStream, TerminalSize,
};
pub use self::handshake::{
    Capabilities, ClientInfo, InitializeParams, InitializeResult, Resumable, ResumeRequest,
};
pub use self::process::{
    ProcessExited, ProcessKillParams, ProcessOutputDelta, ProcessResizePtyParams, ProcessSpawnParams,
    ProcessSpawnResult, ProcessWriteStdinParams,
};
pub use self::receipt::{
    CrossedLimit, Denial, EndCause, EnforcedLimit, LimitMeans, LimitScope, LimitedResource, ProcessLine,
    Receipt, ResourcePeak,
};
pub use self::sandbox::{AbsolutePath, NetworkAccess, SandboxPolicy};
pub use self::session::{
    Grep, LineChoice, OutputChunk, OutputLine, OutputMatch, OutputSpan, SessionClosed, SessionDropped,
    SessionEndAllParams, SessionExit, SessionExited, SessionInfo, SessionListParams, SessionListResult,
    SessionOutput, SessionReadParams, SessionReadResult, SessionSignalParams, SessionState,
    SessionSubscribeParams, SessionSubscribeResult, SessionTarget, SessionUnsubscribeParams,
    SessionWaitParams, SessionWaitResult, SpanChoice, UnreadableOutput, WaitMet, WaitUntil,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An answer that says nothing but that it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Done {}

/// Every method that a client may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Says who the client is. Comes first.
    Initialize,
    /// Runs a command; answered when it has ended.
    CommandExec,
    /// Input for a command.
    CommandExecWrite,
    /// Another size for a command's terminal.
    CommandExecResize,
    /// Ends a command.
    CommandExecTerminate,
    /// Starts a process; answered at once.
    ProcessSpawn,
    /// Input for a process.
    ProcessWriteStdin,
    /// Another size for a process's terminal.
    ProcessResizePty,
    /// Ends a process.
    ProcessKill,
    /// What the connection runs and ran.
    SessionList,
    /// What a session printed.
    SessionRead,
    /// Waits for something to become true of a session.
    SessionWait,
    /// Sends a signal to a session.
    SessionSignal,
    /// Follows a session's output from an offset on.
    SessionSubscribe,
    /// Follows it no more.
    SessionUnsubscribe,
    /// Ends everything; the client will not come back.
    SessionEndAll,
}

impl Method {
    /// All of them, in the order in which they are listed to a client that asks for another one.
    pub const ALL: [Self; 16] = [
        Self::Initialize,
        Self::CommandExec,
        Self::CommandExecWrite,
        Self::CommandExecTerminate,
        Self::CommandExecResize,
        Self::ProcessSpawn,
        Self::ProcessWriteStdin,
        Self::ProcessKill,
        Self::ProcessResizePty,
        Self::SessionList,
        Self::SessionRead,
        Self::SessionWait,
        Self::SessionSignal,
        Self::SessionSubscribe,
        Self::SessionUnsubscribe,
        Self::SessionEndAll,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::CommandExec => "command/exec",
            Self::CommandExecWrite => "command/exec/write",
            Self::CommandExecResize => "command/exec/resize",
            Self::CommandExecTerminate => "command/exec/terminate",
            Self::ProcessSpawn => "process/spawn",
            Self::ProcessWriteStdin => "process/writeStdin",
            Self::ProcessResizePty => "process/resizePty",
            Self::ProcessKill => "process/kill",
            Self::SessionList => "session/list",
            Self::SessionRead => "session/read",
            Self::SessionWait => "session/wait",
            Self::SessionSignal => "session/signal",
            Self::SessionSubscribe => "session/subscribe",
            Self::SessionUnsubscribe => "session/unsubscribe",
            Self::SessionEndAll => "session/endAll",
        }
    }

    /// The method of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

/// The names of what a server tells without being asked.
pub mod notification {
    /// Output of a command; [`CommandExecOutputDelta`](super::CommandExecOutputDelta).
    pub const COMMAND_EXEC_OUTPUT_DELTA: &str = "command/exec/outputDelta";
    /// Output of a process; [`ProcessOutputDelta`](super::ProcessOutputDelta).
    pub const PROCESS_OUTPUT_DELTA: &str = "process/outputDelta";
    /// The end of a process; [`ProcessExited`](super::ProcessExited).
    pub const PROCESS_EXITED: &str = "process/exited";
    /// Output of a session that is followed; [`SessionOutput`](super::SessionOutput).
    pub const SESSION_OUTPUT: &str = "session/output";
    /// Output of a session that is followed and is no longer kept; [`SessionDropped`](super::SessionDropped).
    pub const SESSION_DROPPED: &str = "session/dropped";
    /// The end of a session that is followed; [`SessionExited`](super::SessionExited).
    pub const SESSION_EXITED: &str = "session/exited";
    /// The end of what a session that is followed can print; [`SessionClosed`](super::SessionClosed).
    pub const SESSION_CLOSED: &str = "session/closed";
    /// What a client says after the handshake.
    pub const INITIALIZED: &str = "initialized";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_is_found_by_its_name() {
        for method in Method::ALL {
            assert_eq!(Method::from_name(method.name()), Some(method));
        }
        assert_eq!(Method::from_name("initialized"), None);
    }
}
