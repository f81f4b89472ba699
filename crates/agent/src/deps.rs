//! The dependencies and the configuration that all agents of a team share: the model client, the toolbox, limits, roles
//! and the event stream.

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

/// The dependencies of a team. The caller that starts the team chooses all of them.
pub struct AgentDeps {
    /// The client through which agents call the model.
    pub model_client: Arc<dyn ModelClient>,
    /// Makes a toolbox of the commands' tools for each agent, all over one engine.
    pub toolbox: Box<dyn Fn() -> Toolbox + Send + Sync>,
    /// MCP servers whose tools the agents may use. They must be up before the team starts.
    pub foreign: Option<Servers>,
    /// The directory of thread files. `None`: conversations are not stored.
    pub threads: Option<Threads>,
    /// The wall clock, for names and dates.
    pub clock: fn() -> SystemTime,
    /// The way to ask the user. `None`: there is no user to ask.
    pub prompter: Option<Arc<dyn UserPrompter>>,
    /// The channel for the events of all agents.
    pub events: mpsc::Sender<AgentEvent>,
    /// Starts the processes in which scripts run. `None`: scripts run in this process.
    pub cells: Option<Arc<dyn CellSpawner>>,
    /// The configuration of the agents.
    pub config: AgentConfig,
}

/// The configuration of a team's agents.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The model and its parameters, unless a role or a call sets others.
    pub params: ModelParams,
    /// The working directory of the agents. Absolute.
    pub directory: PathBuf,
    /// The entries with which every conversation begins.
    pub context: Vec<HistoryEntry>,
    /// The size of a conversation, in tokens, from which it is compacted. `None`: only on request, or when it
    /// overflows.
    pub compact_at: Option<u64>,
    /// The prompt for compaction, if not the default one.
    pub compact_prompt: Option<String>,
    /// Failed attempts in a row before a turn fails.
    pub most_tries: u32,
    /// The most tokens that one result of a tool may show.
    pub output_limit: u64,
    /// The JSON schema for the root agent's final message.
    pub output_schema: Option<Value>,
    /// The policy for commands and patches.
    pub sandbox: Policy,
    /// How to start a program that calls [`crate::run_patch_helper`]. Without it, no patch is applied under a sandbox.
    pub patch_helper: Option<HelperProgram>,
    /// When the user is asked for approval.
    pub approval: ApprovalMode,
    /// The treatment of commands and sub-agents that still run when an agent has given its answer.
    pub background: Background,
    /// Whether the provider may search the web for the model.
    pub web_search: bool,
    /// Whether the model accepts images.
    pub sees: bool,
    /// Whether `apply_patch` is offered as a free-text tool.
    pub free_text: bool,
    /// Whether the tools that read and search files are offered.
    pub looks_at_files: bool,
    /// Files of ignore patterns that every search applies.
    pub excludes: Vec<PathBuf>,
    /// Whether `update_plan` is offered.
    pub plans: bool,
    /// Whether code mode is on: JavaScript that calls the tools.
    pub code_mode: bool,
    /// The limits of a team.
    pub team: TeamLimits,
    /// The roles that a sub-agent can be given.
    pub roles: Vec<Role>,
}

/// The model that an agent uses, and its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelParams {
    /// The model's name.
    pub model: String,
    /// The reasoning effort.
    pub effort: Option<String>,
    /// The form in which the provider summarises the model's reasoning.
    pub summary: Option<String>,
    /// The verbosity of the model's messages.
    pub verbosity: Option<String>,
}

/// How an agent treats commands and sub-agents that still run when it has given its answer, its first message without
/// calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// The root agent is about to be closed. Its turn is over, the end of background work begins no further turn, and
    /// the work that is ended with the agent is reported.
    End,
    /// The turn is over and the agent is idle. The end of background work begins another turn.
    Wake,
    /// The turn goes on until the work has ended, at most for this long. The model is called again at each end.
    Wait(Duration),
}

/// When the user is asked for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApprovalMode {
    /// Never: operations that the policy does not allow are denied.
    #[default]
    Never,
    /// When the model asks to go beyond the sandbox, and where a rule demands it.
    OnRequest,
    /// Before every command that no rule allows.
    Untrusted,
}

impl ApprovalMode {
    /// The mode's name in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnRequest => "on-request",
            Self::Untrusted => "untrusted",
        }
    }
}

/// The limits on the size of a team.
#[derive(Clone, Copy, Debug)]
pub struct TeamLimits {
    /// The most sub-agents that may be open at once.
    pub most_open: usize,
    /// The most levels of sub-agents below the root agent.
    pub most_depth: u32,
}

/// A role that a sub-agent can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The name by which a caller asks for the role.
    pub name: String,
    /// The description that the model reads when it chooses a role.
    pub description: String,
    /// Instructions in addition to those that every agent gets.
    pub instructions: Option<String>,
    /// Its model, if not its parent's.
    pub model: Option<String>,
    /// The reasoning effort, if not its parent's.
    pub effort: Option<String>,
    /// Preferred nicknames.
    pub nicknames: Vec<String>,
}
