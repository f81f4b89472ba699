//! What is told about a team of agents while it works: one stream for all of them, in the order in which things happened.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use windlass_llm::Usage;

use crate::team::Status;
use crate::thread::ThreadId;

/// Something happened to an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEvent {
    /// Which one.
    pub agent: ThreadId,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum EventKind {
    /// An agent is there.
    Born {
        /// Who started it; nobody, if it is the first.
        parent: Option<ThreadId>,
        /// What it is called.
        nickname: String,
        /// What it was told to do, shortened.
        task: String,
    },
    /// It began to work on something.
    TurnStarted,
    /// It has nothing left to do.
    TurnCompleted {
        /// What this turn cost.
        turn: Usage,
        /// What the conversation cost so far.
        thread: Usage,
    },
    /// It could not go on.
    TurnFailed {
        /// Why.
        message: String,
    },
    /// It was told to stop.
    TurnInterrupted,
    /// More words of the message that is being written. They are told again, whole, once they count.
    Text(String),
    /// More of a thought.
    Thought(String),
    /// A message is complete.
    Message(String),
    /// A thought is complete.
    Reasoning(String),
    /// A tool is called.
    CallStarted(CallNote),
    /// How a call gets on.
    CallProgress {
        /// Which.
        call: String,
        /// The last lines that the command printed.
        tail: Vec<String>,
        /// Since it began.
        elapsed: Duration,
    },
    /// A tool has answered.
    CallEnded {
        /// Which.
        call: CallNote,
        /// Whether it did what was asked.
        ok: bool,
        /// How long it took.
        wall: Duration,
        /// What it answered, shortened.
        answer: String,
    },
    /// A command runs.
    CommandStarted(CommandNote),
    /// A command has ended, in whichever call that was noticed.
    CommandEnded {
        /// Which.
        command: CommandNote,
        /// How.
        outcome: CommandOutcome,
        /// What it printed, within bounds.
        output: String,
    },
    /// Files were changed, or were to be.
    FilesChanged {
        /// The call.
        call: String,
        /// Which.
        changes: Vec<FileChange>,
        /// Whether they were.
        ok: bool,
    },
    /// A tool of another program is called, or has answered.
    Foreign {
        /// The call.
        call: String,
        /// Whose.
        server: String,
        /// Which.
        tool: String,
        /// With what.
        arguments: Value,
        /// How it ended; nothing while it runs.
        outcome: Option<Result<Value, String>>,
    },
    /// An agent deals with others.
    Collaboration {
        /// The call.
        call: String,
        /// Which tool.
        tool: &'static str,
        /// With whom.
        others: Vec<ThreadId>,
        /// What it told them.
        prompt: Option<String>,
        /// How they are; nothing while the call runs.
        states: Option<Vec<(ThreadId, Status)>>,
        /// Whether it worked.
        ok: bool,
    },
    /// The provider searched the web.
    WebSearch(Value),
    /// The plan has changed.
    Plan(Vec<PlanStep>),
    /// Something worth knowing that ends nothing: a retry, a fault in a configuration.
    Warning(String),
    /// The conversation was made shorter.
    Compacted {
        /// About how many tokens it had.
        before: u64,
        /// About how many it has.
        after: u64,
    },
    /// It has nothing left to do but to wait for these.
    Waiting(Vec<String>),
    /// It has waited for background work for as long as it may, and goes on without it.
    WaitExpired(Duration),
    /// It is closed, and these still run and are ended with it.
    LeftRunning(Vec<String>),
    /// It is gone.
    Gone,
}

impl EventKind {
    /// Whether a turn is over with it.
    pub fn ends_turn(&self) -> bool {
        matches!(self, Self::TurnCompleted { .. } | Self::TurnFailed { .. } | Self::TurnInterrupted)
    }
}

/// A call, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallNote {
    /// What ties its events together.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What it is about, in one line.
    pub about: String,
}

/// A command, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandNote {
    /// What ties its events together.
    pub id: String,
    /// The script.
    pub script: String,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// With this code.
    Exited(i64),
    /// It was not allowed, or could not be started.
    Declined,
    /// It was ended with the agent.
    Ended,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Which, from the root.
    pub path: PathBuf,
    /// `add`, `delete` or `update`.
    pub kind: &'static str,
    /// Lines that are there now and were not before.
    pub added: usize,
    /// Lines that were there before and are not now.
    pub removed: usize,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: StepState,
}

/// How far a step of a plan is.
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

/// Where one agent tells what happens to it. Whoever listens slowly slows the agents; nothing is lost.
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
        // Nobody listens any more when the program is about to end.
        let _ = self.events.send(AgentEvent { agent: self.agent.clone(), kind }).await;
    }

    /// For places that cannot wait: what does not fit now is left out, so only for what is told again later.
    pub(crate) fn tell_if_room(&self, kind: EventKind) {
        let _ = self.events.try_send(AgentEvent { agent: self.agent.clone(), kind });
    }
}
