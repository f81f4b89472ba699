//! What all agents of one team share: the model, the tools' surroundings, the limits, and where things are told.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::mpsc;
use windlass_code_mode::CellSpawner;
use windlass_mcp_client::Servers;
use windlass_tools::{HelperProgram, Policy, Toolbox};

use crate::event::AgentEvent;
use crate::history::HistoryEntry;
use crate::model_client::ModelClient;
use crate::record::Threads;
use crate::user_prompter::UserPrompter;

/// What a team is made of. Everything in it is decided by whoever starts it.
pub struct AgentDeps {
    /// Whom agents ask.
    pub model_client: Arc<dyn ModelClient>,
    /// Makes the tools that run commands, one box for each agent, over one engine.
    pub toolbox: Box<dyn Fn() -> Toolbox + Send + Sync>,
    /// Other programs whose tools the agents may use; they are up when a team is started.
    pub foreign: Option<Servers>,
    /// Where conversations are kept; nowhere, if `None`.
    pub threads: Option<Threads>,
    /// The wall clock, for names and dates.
    pub clock: fn() -> SystemTime,
    /// Who can be asked.
    pub prompter: Option<Arc<dyn UserPrompter>>,
    /// Where everything is told.
    pub events: mpsc::Sender<AgentEvent>,
    /// Starts the processes that scripts run in. Without it they run in this one.
    pub cells: Option<Arc<dyn CellSpawner>>,
    /// How agents work.
    pub config: AgentConfig,
}

/// How agents work.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The model, unless somebody says otherwise.
    pub params: ModelParams,
    /// Where they work. Absolute.
    pub directory: PathBuf,
    /// What every conversation begins with.
    pub context: Vec<HistoryEntry>,
    /// From how many tokens on a conversation is made shorter.
    pub compact_at: Option<u64>,
    /// What the model is asked for a summary with, if not the usual.
    pub compact_prompt: Option<String>,
    /// Failed tries in a row before a turn fails.
    pub most_tries: u32,
    /// The most tokens that one answer of a tool shows.
    pub output_limit: u64,
    /// How the last words of the first agent must look.
    pub output_schema: Option<Value>,
    /// What commands and patches may touch.
    pub sandbox: Policy,
    /// How to start a program that calls [`crate::run_patch_helper`]. Without it, no patch is applied under a sandbox.
    pub patch_helper: Option<HelperProgram>,
    /// When a person is asked.
    pub approval: ApprovalMode,
    /// What becomes of commands and sub-agents that still run when an agent has given its answer.
    pub background: Background,
    /// Whether the model may be asked to search the web by its provider.
    pub web_search: bool,
    /// Whether the model can look at pictures.
    pub sees: bool,
    /// Whether apply_patch is offered as free text.
    pub free_text: bool,
    /// Whether the tools that look at files are offered.
    pub looks_at_files: bool,
    /// Files of patterns that searches leave out everywhere.
    pub excludes: Vec<PathBuf>,
    /// Whether a plan is kept.
    pub plans: bool,
    /// Whether JavaScript may call the tools.
    pub code_mode: bool,
    /// The limits of a team.
    pub team: TeamLimits,
    /// What sub-agents can be.
    pub roles: Vec<Role>,
}

/// With which model an agent speaks, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelParams {
    /// The model's name.
    pub model: String,
    /// How hard it thinks.
    pub effort: Option<String>,
    /// How its thoughts are summed up.
    pub summary: Option<String>,
    /// How much it says.
    pub verbosity: Option<String>,
}

/// What becomes of commands and sub-agents that still run when an agent has given its answer: its first message without calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// The first agent is about to be closed. Its turn is over, no end of background work begins another one, and the work that
    /// is ended with it is reported.
    End,
    /// The turn is over and the agent idle. The end of background work begins another turn.
    Wake,
    /// The turn goes on until the work has ended, at most for this long, and the model is asked again at each end.
    Wait(Duration),
}

/// When a person is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Never: what is not allowed is refused.
    #[default]
    Never,
    /// When the model asks to go beyond the sandbox, and where rules say so.
    OnRequest,
    /// Before every command that no rule allows.
    Untrusted,
}

impl ApprovalMode {
    /// As configurations spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnRequest => "on-request",
            Self::Untrusted => "untrusted",
        }
    }
}

/// How large a team may become.
#[derive(Clone, Copy, Debug)]
pub struct TeamLimits {
    /// Sub-agents that are not closed.
    pub most_open: usize,
    /// How many generations there may be below the first agent.
    pub most_depth: u32,
}

/// What a sub-agent can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// What it is asked for by.
    pub name: String,
    /// What it is good for, for models.
    pub description: String,
    /// What it is told beyond what all are told.
    pub instructions: Option<String>,
    /// Its model, if not its parent's.
    pub model: Option<String>,
    /// How hard it thinks, if not like its parent.
    pub effort: Option<String>,
    /// Names it likes.
    pub nicknames: Vec<String>,
}
