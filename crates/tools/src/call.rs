//! The interface between the tools and the protocols that carry their calls.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use windlass_engine::HeldDirectory;
use windlass_engine::sandbox::Policy;
use windlass_output::Shown;

use crate::delivery::Delivery;
use crate::execution::{Detail, Emphasis, Execution};
use crate::session_queue::CallTicket;

/// One call of a tool.
#[derive(Clone)]
pub struct Call {
    /// The tool's name.
    pub tool: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// The longest the reply may take when the arguments ask for more.
    pub ceiling: Duration,
    /// A listener for the progress of a long call, about once a second.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// The person who can type secrets and approve commands, if there is one.
    pub person: Option<Arc<dyn Person>>,
    /// The policy for the command that this call starts, if it differs from the toolbox's.
    pub sandbox: Option<Policy>,
    /// The directory that a person approved it for: it runs in no other.
    pub directory: Option<Arc<HeldDirectory>>,
    /// The owner of a session that this call has another runtime start; here the toolbox knows it.
    pub owner: Option<String>,
    /// The treatment of a session that this call started, if the call is dropped before its reply.
    pub dismissal: Dismissal,
    /// Additional notes for the reply.
    pub remarks: Vec<String>,
    /// Its place among the calls about the same session, if it was taken when the call arrived.
    pub ticket: Option<CallTicket>,
    /// Whether the reply reaches the caller. The reply carries the same handle; the owner of this one can revoke it
    /// early.
    pub delivery: Delivery,
}

/// The treatment of a session whose caller went away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dismissal {
    /// It goes on, and can be found in the list.
    #[default]
    GoOn,
    /// It is ended, with everything it started.
    End,
}

impl Call {
    /// The longest a call takes when its host cuts off calls after a minute without progress reports.
    pub const QUIET_CEILING: Duration = Duration::from_secs(45);
    /// The longest a call takes when its host receives progress reports, or does not wait at all.
    pub const PATIENT_CEILING: Duration = Duration::from_secs(300);

    /// A call without a progress listener and without a person.
    pub fn new(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            ceiling: Self::PATIENT_CEILING,
            progress: None,
            person: None,
            sandbox: None,
            directory: None,
            owner: None,
            dismissal: Dismissal::GoOn,
            remarks: Vec::new(),
            ticket: None,
            delivery: Delivery::new(),
        }
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("tool", &self.tool)
            .field("ceiling", &self.ceiling)
            .finish_non_exhaustive()
    }
}

/// How far a call got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Since the call began.
    pub elapsed: Duration,
    /// Printed by the session so far, in all.
    pub bytes: u64,
    /// The last lines that it printed and that are not blank, shortened; at most [`Self::TAIL`].
    pub tail: Vec<String>,
}

impl Progress {
    /// The number of lines in a report.
    pub const TAIL: usize = 3;

    /// The last line it printed, shortened.
    pub fn last_line(&self) -> &str {
        self.tail.last().map(String::as_str).unwrap_or_default()
    }
}

/// The reply to a call. If it is dropped before its delivery is confirmed, its contents count as not delivered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// For a model to read.
    pub text: String,
    /// The same, for programs.
    pub structured: Value,
    /// The call was wrong or could not be carried out. A command that fails is not an error.
    pub is_error: bool,
    /// To be confirmed once the reply was handed to the transport.
    pub delivery: Delivery,
}

impl Reply {
    /// A reply to a call that was carried out.
    pub fn new(text: String, structured: Value) -> Self {
        Self { text, structured, is_error: false, delivery: Delivery::new() }
    }

    /// An error reply with its reason.
    pub fn error(message: impl fmt::Display) -> Self {
        let text = message.to_string();
        let structured = serde_json::json!({ "error": text });
        Self { text, structured, is_error: true, delivery: Delivery::new() }
    }
}

/// No tool has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tool `{0}`")]
pub struct UnknownTool(pub String);

/// An event of a session, sent whether or not a call waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// It was started.
    Started {
        /// Its id, as the caller writes it.
        session: String,
    },
    /// It printed something. Sent at most about once a second for each session.
    Output {
        /// Its id.
        session: String,
    },
    /// It ended.
    Ended {
        /// Its id.
        session: String,
        /// One sentence about how.
        line: String,
    },
}

/// A session in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSummary {
    /// Its id, as the caller writes it.
    pub id: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The script it was started with.
    pub command: String,
    /// Its present activity, or how it ended.
    pub state: String,
    /// Whether it has a terminal, and so a screen.
    pub terminal: bool,
}

/// A process that a command left running when it exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftProcess {
    /// The id of the command's session.
    pub session: String,
    /// Its number.
    pub pid: u32,
    /// Its command line.
    pub command: String,
}

/// A hidden prompt: a program asks for a secret that only the person and the program may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The session's id.
    pub session: String,
    /// The script it runs.
    pub command: String,
    /// The line that the program shows, if it shows one.
    pub prompt: String,
}

/// The future of a person's answer.
pub type UserReplyFuture<'a> = Pin<Box<dyn Future<Output = Option<String>> + Send + 'a>>;

/// A command that a rule wants a person to approve before anything of it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The command, and the circumstances in which it would run.
    pub execution: Execution,
    /// The parts that are in question, each with its rule or doubt.
    pub reasons: String,
}

impl Approval {
    /// Everything that the person decides on.
    pub fn details(&self) -> Vec<Detail> {
        let mut details = self.execution.details();
        details.push(Detail { label: "why", text: Shown::whole(&self.reasons), emphasis: Emphasis::Plain });
        details
    }
}

/// The future of a person's decision.
pub type Approved<'a> = Pin<Box<dyn Future<Output = bool> + Send + 'a>>;

/// A person who can answer a program's hidden prompt and approve a command.
pub trait Person: Send + Sync {
    /// Asks. `None`: no answer came, or the person declined.
    fn ask(&self, question: Question) -> UserReplyFuture<'_>;

    /// Asks whether a command may run. `false`: no answer came, or the person declined.
    fn approve(&self, approval: Approval) -> Approved<'_>;
}
