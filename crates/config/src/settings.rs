//! All settings, typed, as plain data. `layers.rs` builds them; `keys/tables.rs` defines the keys and what a project's
//! file may set; the defaults are the lowest layer, `built_in.toml`.

mod building;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use building::build;

use crate::choices::{
    ApprovalPolicy, Effort, HistoryPersistence, Inherit, InstructionsRole, SandboxMode, Summary,
    ToolApproval, TrustLevel, Verbosity, WebSearch, WireApi,
};

/// The settings of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The model, if one was named.
    pub model: Option<String>,
    /// The name of the provider; always one of `providers`.
    pub model_provider: String,
    /// Providers by name, the built-in ones included.
    pub providers: BTreeMap<String, Provider>,
    /// The reasoning effort.
    pub reasoning_effort: Option<Effort>,
    /// The form of the reasoning summaries.
    pub reasoning_summary: Option<Summary>,
    /// The verbosity of the model's messages.
    pub verbosity: Option<Verbosity>,
    /// The model's context window in tokens, for models whose window is not known.
    pub context_window: Option<u64>,
    /// The size in tokens from which the conversation is compacted; see [`Settings::compaction_limit`].
    pub auto_compact_token_limit: Option<u64>,
    /// The prices of models, by name; the empty name is for all others.
    pub prices: BTreeMap<String, Prices>,
    /// The prompt for compaction.
    pub compact_prompt: Option<String>,
    /// A file that replaces the built-in base instructions; absolute.
    pub instructions_file: Option<PathBuf>,
    /// More instructions, as a developer message.
    pub developer_instructions: Option<String>,
    /// When the user is asked for approval.
    pub approval_policy: ApprovalPolicy,
    /// The access that commands have.
    pub sandbox_mode: SandboxMode,
    /// Patterns of paths that no command may read, wherever there is a sandbox.
    pub deny_read: Vec<String>,
    /// The bounds of the mode `workspace-write`.
    pub workspace_write: WorkspaceWrite,
    /// The environment of commands; see [`crate::withheld()`].
    pub environment: EnvironmentPolicy,
    /// Whether commands may run in a login shell.
    pub allow_login_shell: bool,
    /// The most bytes of a project's instructions that are read; 0 is none.
    pub project_doc_max_bytes: usize,
    /// Names of instructions files to look for if there is no AGENTS.md.
    pub project_doc_fallback_filenames: Vec<String>,
    /// The names of files or directories that mark the root of a project.
    pub project_root_markers: Vec<String>,
    /// The most tokens of a tool's output that the model gets.
    pub tool_output_token_limit: u64,
    /// The longest that an empty poll of a running command waits, in milliseconds.
    pub background_terminal_max_timeout_ms: u64,
    /// MCP servers, by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Sub-agents.
    pub agents: Agents,
    /// Which tools are offered.
    pub tools: Tools,
    /// Whether the provider's web search is offered.
    pub web_search: WebSearch,
    /// The storage of conversations.
    pub history: History,
    /// A program, with its arguments, that is run when a turn is over.
    pub notify: Vec<String>,
    /// The user's trust in projects, by their path as it was written.
    pub projects: BTreeMap<PathBuf, TrustLevel>,
    /// The profile in force.
    pub profile: Option<String>,
}

/// A provider of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its display name.
    pub name: String,
    /// Its URL up to and without `/responses` or `/chat/completions`, and without a slash at the end.
    pub base_url: String,
    /// The variable that holds the key; without one, no key is sent.
    pub env_key: Option<String>,
    /// Instructions for people on how to get that key.
    pub env_key_instructions: Option<String>,
    /// The protocol it speaks.
    pub wire_api: WireApi,
    /// The query parameters that are added to each URL.
    pub query_params: BTreeMap<String, String>,
    /// Headers of every request.
    pub http_headers: BTreeMap<String, String>,
    /// Headers whose values are in variables: header to name of variable.
    pub env_http_headers: BTreeMap<String, String>,
    /// The most retries of a request that failed.
    pub request_max_retries: u32,
    /// The most retries after a response that broke off.
    pub stream_max_retries: u32,
    /// The silence in milliseconds after which a response counts as broken off.
    pub stream_idle_timeout_ms: u64,
    /// The role of instructions on the chat wire.
    pub instructions_role: InstructionsRole,
    /// The proxy through which it is reached.
    pub proxy: Option<String>,
}

/// The prices of a model, for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Input tokens.
    pub input: f64,
    /// Input tokens from the provider's cache.
    pub cached_input: f64,
    /// Output tokens.
    pub output: f64,
}

/// The bounds of the mode `workspace-write`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceWrite {
    /// Directories that may be written in addition to the working directory; absolute.
    pub writable_roots: Vec<PathBuf>,
    /// The network access.
    pub network_access: NetworkAccess,
    /// Whether `$TMPDIR` may not be written.
    pub exclude_tmpdir_env_var: bool,
    /// Whether `/tmp` may not be written.
    pub exclude_slash_tmp: bool,
}

/// The network access of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// None.
    #[default]
    Off,
    /// The loopback device that commands of one runtime share.
    Loopback,
    /// These hosts, and the loopback device.
    Hosts(Vec<String>),
    /// Unrestricted.
    On,
}

impl NetworkAccess {
    /// As a word, or as the list of hosts.
    pub fn words(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Loopback => "loopback".to_owned(),
            Self::Hosts(hosts) => hosts.join(", "),
            Self::On => "on".to_owned(),
        }
    }
}

/// The rules for the environment of commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// The part of our own environment that they inherit.
    pub inherit: Inherit,
    /// Whether variables whose names look like secrets are passed on, too.
    pub ignore_default_excludes: bool,
    /// Patterns of names that are withheld.
    pub exclude: Vec<String>,
    /// If there are any: patterns of the only names that are passed on.
    pub include_only: Vec<String>,
    /// Variables that are set for all commands.
    pub set: BTreeMap<String, String>,
}

/// A server of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct McpServer {
    /// The transport.
    pub transport: McpTransport,
    /// Whether it is enabled.
    pub enabled: bool,
    /// Whether the agent refuses to start without it.
    pub required: bool,
    /// The seconds within which it must start.
    pub startup_timeout_sec: f64,
    /// The seconds within which a call must end.
    pub tool_timeout_sec: f64,
    /// If present: the only tools that are offered.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not offered.
    pub disabled_tools: Vec<String>,
    /// Whether its tools may be called in parallel.
    pub supports_parallel_tool_calls: bool,
    /// Whether calls need the user's approval.
    pub default_tools_approval_mode: ToolApproval,
    /// The same for single tools.
    pub tool_approvals: BTreeMap<String, ToolApproval>,
}

/// The transport of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that is started and reached over pipes.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables that are set in its environment.
        env: BTreeMap<String, String>,
        /// Names of variables that it gets from our environment.
        env_vars: Vec<String>,
        /// Its working directory; absolute.
        cwd: Option<PathBuf>,
    },
    /// A running server that is reached over HTTP.
    Http {
        /// The URL.
        url: String,
        /// The variable that holds its token.
        bearer_token_env_var: Option<String>,
        /// Headers of every request.
        http_headers: BTreeMap<String, String>,
        /// Headers whose values are in variables: header to name of variable.
        env_http_headers: BTreeMap<String, String>,
    },
}

/// Sub-agents.
#[derive(Clone, Debug, PartialEq)]
pub struct Agents {
    /// The most sub-agents that may be open at a time.
    pub max_threads: usize,
    /// The most levels of agents: 1 is only the root agent.
    pub max_depth: usize,
    /// Their model, unless a role or a call names another.
    pub default_subagent_model: Option<String>,
    /// The roles, by name.
    pub roles: BTreeMap<String, Role>,
}

/// A role of sub-agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    /// Its description, by which a model chooses it.
    pub description: Option<String>,
    /// A configuration file for its agents; see [`crate::Loaded::for_role`].
    pub config_file: Option<PathBuf>,
    /// Nicknames for its agents.
    pub nickname_candidates: Vec<String>,
    /// Its model.
    pub model: Option<String>,
    /// The reasoning effort.
    pub reasoning_effort: Option<Effort>,
    /// Further instructions for its agents.
    pub instructions: Option<String>,
}

/// Which tools are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tools {
    /// `update_plan`.
    pub update_plan: bool,
    /// Viewing images.
    pub view_image: bool,
    /// Reading, listing and searching files without a command.
    pub files: bool,
    /// Starting sub-agents.
    pub agents: bool,
    /// Code mode: JavaScript that calls tools.
    pub code_mode: bool,
}

/// The storage of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Whether they are stored.
    pub persistence: HistoryPersistence,
    /// The most bytes that are stored.
    pub max_bytes: Option<u64>,
}

impl Settings {
    /// The provider in force. Always present after a successful load.
    pub fn provider(&self) -> Option<&Provider> {
        self.providers.get(&self.model_provider)
    }

    /// The network access that commands really have. `sandbox_workspace_write.network_access` applies to that sandbox
    /// alone: a read-only one has no network, and without a sandbox of ours the network is not restricted.
    pub fn effective_network(&self) -> NetworkAccess {
        match self.sandbox_mode {
            SandboxMode::ReadOnly => NetworkAccess::Off,
            SandboxMode::WorkspaceWrite => self.workspace_write.network_access.clone(),
            SandboxMode::External | SandboxMode::FullAccess => NetworkAccess::On,
        }
    }

    /// The prices of a model, if they are known.
    pub fn prices_of(&self, model: &str) -> Option<Prices> {
        self.prices.get(model).or_else(|| self.prices.get("")).copied()
    }

    /// The size in tokens from which a conversation is compacted: the configured one, but at most nine tenths of the
    /// window.
    pub fn compaction_limit(&self, window: Option<u64>) -> Option<u64> {
        let most = window.or(self.context_window).map(|window| window / 10 * 9 + window % 10 * 9 / 10);
        match (self.auto_compact_token_limit, most) {
            (Some(limit), Some(most)) => Some(limit.min(most)),
            (limit, most) => limit.or(most),
        }
    }
}

impl Default for Settings {
    /// The built-in defaults.
    fn default() -> Self {
        build(&crate::layers::built_in())
    }
}
