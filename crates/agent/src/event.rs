//! The events of a team of agents: one stream for all agents, in the order in which things happened.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use windlass_llm::Usage;

use crate::team::Status;
use crate::thread::ThreadId;

/// An event of one agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEvent {
    /// The agent.
    pub agent: ThreadId,
    /// The event itself.
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// An agent was started.
    Born {
        /// The agent that started it; `None` for the root agent.
        parent: Option<ThreadId>,
        /// Its nickname.
        nickname: String,
        /// Its task, shortened.
        task: String,
    },
    /// A turn began.
    TurnStarted,
    /// A turn ended because the agent has nothing left to do.
    TurnCompleted {
        /// The tokens of this turn.
        turn: Usage,
        /// The tokens of the whole thread so far.
        thread: Usage,
    },
    /// A turn failed.
    TurnFailed {
        /// The reason.
        message: String,
    },
    /// The turn was interrupted.
    TurnInterrupted,
    /// A delta of the message that the model is writing. The whole text follows in `Message` when the item is kept.
    Text(String),
    /// A delta of the model's reasoning.
    Thought(String),
    /// A message is complete.
    Message(String),
    /// A reasoning item is complete.
    Reasoning(String),
    /// A tool call began.
    CallStarted(CallNote),
    /// Progress of a call.
    CallProgress {
        /// The call's id.
        call: String,
        /// The last lines that the command printed.
        tail: Vec<String>,
        /// The time since the call began.
        elapsed: Duration,
    },
    /// A tool call ended.
    CallEnded {
        /// The call.
        call: CallNote,
        /// Whether the call succeeded.
        ok: bool,
        /// How long it took.
        wall: Duration,
        /// The result, shortened.
        answer: String,
    },
    /// A command was started.
    CommandStarted(CommandNote),
    /// A command ended, whichever call noticed it.
    CommandEnded {
        /// The command.
        command: CommandNote,
        /// How it ended.
        outcome: CommandOutcome,
        /// Its output, within bounds.
        output: String,
    },
    /// A patch changed files, or failed to.
    FilesChanged {
        /// The call's id.
        call: String,
        /// The changes.
        changes: Vec<FileChange>,
        /// Whether they were applied.
        ok: bool,
    },
    /// A tool of an MCP server was called, or has answered.
    Foreign {
        /// The call's id.
        call: String,
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
        /// The arguments.
        arguments: Value,
        /// The outcome; `None` while the call runs.
        outcome: Option<Result<Value, String>>,
    },
    /// An agent called one of the collaboration tools.
    Collaboration {
        /// The call's id.
        call: String,
        /// The tool's name.
        tool: &'static str,
        /// The other agents.
        others: Vec<ThreadId>,
        /// The message to them.
        prompt: Option<String>,
        /// Their states; `None` while the call runs.
        states: Option<Vec<(ThreadId, Status)>>,
        /// Whether the call succeeded.
        ok: bool,
    },
    /// The provider searched the web.
    WebSearch(Value),
    /// The plan has changed.
    Plan(Vec<PlanStep>),
    /// A problem that ends nothing, such as a retry or a fault in a configuration.
    Warning(String),
    /// The conversation was compacted.
    Compacted {
        /// Its estimated tokens before.
        before: u64,
        /// Its estimated tokens after.
        after: u64,
    },
    /// The agent has nothing left to do but to wait for these.
    Waiting(Vec<String>),
    /// The agent reached the limit of its wait for background work, and goes on without it.
    WaitExpired(Duration),
    /// The agent is closed, and this work of it still runs and is ended with it.
    LeftRunning(Vec<String>),
    /// The agent is gone.
    Gone,
}

impl EventKind {
    /// Whether this event ends a turn.
    pub fn ends_turn(&self) -> bool {
        matches!(self, Self::TurnCompleted { .. } | Self::TurnFailed { .. } | Self::TurnInterrupted)
    }
}

/// A short description of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNote {
    /// The id that all events of the call share.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// One line about the call.
    pub about: String,
}

/// A short description of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandNote {
    /// The id that all events of the command share.
    pub id: String,
    /// The script.
    pub script: String,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// It exited with this code.
    Exited(i64),
    /// It was not allowed, or could not be started.
    Declined,
    /// It was ended together with the agent.
    Ended,
}

/// The change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The absolute path.
    pub path: PathBuf,
    /// `add`, `delete` or `update`.
    pub kind: &'static str,
    /// Lines that were added.
    pub added: usize,
    /// Lines that were removed.
    pub removed: usize,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The step, in the model's words.
    pub text: String,
    /// The state of the step.
    pub state: StepState,
}

/// The state of a step of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    /// Not begun.
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// Sends the events of one agent. The channel is bounded: a slow receiver slows the agents, and no event is lost.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    agent: ThreadId,
    events: mpsc::Sender<AgentEvent>,
}

impl Reporter {
    pub(crate) fn new(agent: ThreadId, events: mpsc::Sender<AgentEvent>) -> Self {
        Self { agent, events }
    }

    pub(crate) async fn tell(&self, kind: EventKind) {
        // The receiver is gone only when the program is about to end.
        let _ = self.events.send(AgentEvent { agent: self.agent.clone(), kind }).await;
    }

    /// For callers that cannot wait. An event that does not fit now is dropped, so this is only for deltas whose whole
    /// text follows later.
    pub(crate) fn tell_if_room(&self, kind: EventKind) {
        let _ = self.events.try_send(AgentEvent { agent: self.agent.clone(), kind });
    }
}
