//! Everything that can be configured, typed, as plain data. How it comes about is in `layers.rs`; which keys there are, and
//! what a project's file may say, in `keys/tables.rs`; the defaults are the lowest layer, `built_in.toml`.

mod building;

use std::collections::BTreeMap;
use std::path::PathBuf;

pub(crate) use building::build;

use crate::choices::{
    ApprovalPolicy, Effort, HistoryPersistence, Inherit, InstructionsRole, SandboxMode, Summary,
    ToolApproval, TrustLevel, Verbosity, WebSearch, WireApi,
};

/// What holds for this agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The model, if one was named.
    pub model: Option<String>,
    /// The name of the provider it is asked at; always one of `providers`.
    pub model_provider: String,
    /// Providers by name, the built-in ones included.
    pub providers: BTreeMap<String, Provider>,
    /// How long the model thinks.
    pub reasoning_effort: Option<Effort>,
    /// Whether it tells what it thought.
    pub reasoning_summary: Option<Summary>,
    /// How many words it makes.
    pub verbosity: Option<Verbosity>,
    /// How many tokens it can take in, where nobody else knows.
    pub context_window: Option<u64>,
    /// At how many tokens the conversation is compacted; see [`Settings::compaction_limit`].
    pub auto_compact_token_limit: Option<u64>,
    /// What models cost, by name; the empty name is for all others.
    pub prices: BTreeMap<String, Prices>,
    /// What is asked for when a conversation is compacted.
    pub compact_prompt: Option<String>,
    /// A file that replaces the built-in base instructions; absolute.
    pub instructions_file: Option<PathBuf>,
    /// More instructions, as a developer message.
    pub developer_instructions: Option<String>,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicy,
    /// What commands may touch.
    pub sandbox_mode: SandboxMode,
    /// Patterns of places that nothing may read, wherever there is a sandbox.
    pub deny_read: Vec<String>,
    /// The bounds of the mode `workspace-write`.
    pub workspace_write: WorkspaceWrite,
    /// What commands find in their environment; see [`crate::withheld()`].
    pub environment: EnvironmentPolicy,
    /// Whether commands may run in a login shell.
    pub allow_login_shell: bool,
    /// How many bytes of a project's instructions are read; 0 is none.
    pub project_doc_max_bytes: usize,
    /// Names of files with instructions, where there is no AGENTS.md.
    pub project_doc_fallback_filenames: Vec<String>,
    /// What stands in the topmost directory of a project.
    pub project_root_markers: Vec<String>,
    /// How many tokens of a tool's output the model gets.
    pub tool_output_token_limit: u64,
    /// The longest that an empty poll of a running command waits, in milliseconds.
    pub background_terminal_max_timeout_ms: u64,
    /// Servers of the Model Context Protocol, by name.
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// Sub-agents.
    pub agents: Agents,
    /// Which tools are offered.
    pub tools: Tools,
    /// Whether the provider's web search is offered.
    pub web_search: WebSearch,
    /// What is kept of conversations.
    pub history: History,
    /// A program, with its arguments, that is told when a turn is over.
    pub notify: Vec<String>,
    /// Which projects are trusted, by their path as it was written.
    pub projects: BTreeMap<PathBuf, TrustLevel>,
    /// The profile that is in force.
    pub profile: Option<String>,
}

/// Who serves models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name for people.
    pub name: String,
    /// Where it is, up to and without `/responses` or `/chat/completions`, and without a slash at the end.
    pub base_url: String,
    /// The variable that holds the key; without one, no key is sent.
    pub env_key: Option<String>,
    /// How to get that key, for people.
    pub env_key_instructions: Option<String>,
    /// The protocol it speaks.
    pub wire_api: WireApi,
    /// What is added to the address after `?`.
    pub query_params: BTreeMap<String, String>,
    /// Headers of every request.
    pub http_headers: BTreeMap<String, String>,
    /// Headers whose values are in variables: header to name of variable.
    pub env_http_headers: BTreeMap<String, String>,
    /// How often a request that was not answered is made again.
    pub request_max_retries: u32,
    /// How often an answer that broke off is asked for again.
    pub stream_max_retries: u32,
    /// After how many milliseconds of silence an answer counts as broken off.
    pub stream_idle_timeout_ms: u64,
    /// Under which role instructions go, on the chat wire.
    pub instructions_role: InstructionsRole,
    /// The proxy through which it is reached.
    pub proxy: Option<String>,
}

/// What a million tokens cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// Tokens that go in.
    pub input: f64,
    /// Those of them that the provider had seen before.
    pub cached_input: f64,
    /// Tokens that come out.
    pub output: f64,
}

/// The bounds of the mode `workspace-write`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkspaceWrite {
    /// Places that may be written beside the working directory; absolute.
    pub writable_roots: Vec<PathBuf>,
    /// What of the network may be reached.
    pub network_access: NetworkAccess,
    /// Whether `$TMPDIR` may not be written.
    pub exclude_tmpdir_env_var: bool,
    /// Whether `/tmp` may not be written.
    pub exclude_slash_tmp: bool,
}

/// What of the network commands may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// Nothing.
    #[default]
    Off,
    /// The loopback device that commands of one runtime share.
    Loopback,
    /// These hosts, beside the loopback device.
    Hosts(Vec<String>),
    /// Everything.
    On,
}

impl NetworkAccess {
    /// In a word, or as the list of hosts.
    pub fn words(&self) -> String {
        match self {
            Self::Off => "off".to_owned(),
            Self::Loopback => "loopback".to_owned(),
            Self::Hosts(hosts) => hosts.join(", "),
            Self::On => "on".to_owned(),
        }
    }
}

/// What commands find in their environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentPolicy {
    /// How much they inherit.
    pub inherit: Inherit,
    /// Whether names that look like secrets are passed on all the same.
    pub ignore_default_excludes: bool,
    /// Patterns of names that are kept from them.
    pub exclude: Vec<String>,
    /// If there are any: patterns of the only names that they get.
    pub include_only: Vec<String>,
    /// What is set for all of them.
    pub set: BTreeMap<String, String>,
}

/// A server of the Model Context Protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct McpServer {
    /// How it is reached.
    pub transport: McpTransport,
    /// Whether it is used at all.
    pub enabled: bool,
    /// Whether the agent refuses to start without it.
    pub required: bool,
    /// How many seconds it has to start.
    pub startup_timeout_sec: f64,
    /// How many seconds a call has.
    pub tool_timeout_sec: f64,
    /// If said: the only tools that are offered.
    pub enabled_tools: Option<Vec<String>>,
    /// Tools that are not offered.
    pub disabled_tools: Vec<String>,
    /// Whether its tools may be called at the same time.
    pub supports_parallel_tool_calls: bool,
    /// Whether calls need consent.
    pub default_tools_approval_mode: ToolApproval,
    /// Whether calls of single tools need it.
    pub tool_approvals: BTreeMap<String, ToolApproval>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// It is started, and spoken to over pipes.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What is set in its environment.
        env: BTreeMap<String, String>,
        /// Names of variables that it gets from ours.
        env_vars: Vec<String>,
        /// Where it runs; absolute.
        cwd: Option<PathBuf>,
    },
    /// It is there already, over HTTP.
    Http {
        /// Where.
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
    /// How many may be open at a time.
    pub max_threads: usize,
    /// How deep they may start others: 1 is only the root agent.
    pub max_depth: usize,
    /// Their model, unless something else says.
    pub default_subagent_model: Option<String>,
    /// What kinds there are, by name.
    pub roles: BTreeMap<String, Role>,
}

/// A kind of sub-agent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Role {
    /// What it is for, for the model that chooses.
    pub description: Option<String>,
    /// A configuration file that holds for it; see [`crate::Loaded::for_role`].
    pub config_file: Option<PathBuf>,
    /// Names that agents of this kind get.
    pub nickname_candidates: Vec<String>,
    /// Its model.
    pub model: Option<String>,
    /// How long its model thinks.
    pub reasoning_effort: Option<Effort>,
    /// More instructions for it.
    pub instructions: Option<String>,
}

/// Which tools are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tools {
    /// The plan that the model keeps.
    pub update_plan: bool,
    /// Looking at images.
    pub view_image: bool,
    /// Reading, listing and searching files without a command.
    pub files: bool,
    /// Starting other agents.
    pub agents: bool,
    /// Calling tools from JavaScript.
    pub code_mode: bool,
}

/// What is kept of conversations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// Whether they are kept at all.
    pub persistence: HistoryPersistence,
    /// How many bytes are kept at most.
    pub max_bytes: Option<u64>,
}

impl Settings {
    /// The provider that is in force. It is there: loading fails otherwise.
    pub fn provider(&self) -> Option<&Provider> {
        self.providers.get(&self.model_provider)
    }

    /// The network that commands reach. `sandbox_workspace_write.network_access` counts in that sandbox alone: a read-only one
    /// has no network, and without a sandbox of ours the network is not restricted.
    pub fn effective_network(&self) -> NetworkAccess {
        match self.sandbox_mode {
            SandboxMode::ReadOnly => NetworkAccess::Off,
            SandboxMode::WorkspaceWrite => self.workspace_write.network_access.clone(),
            SandboxMode::External | SandboxMode::FullAccess => NetworkAccess::On,
        }
    }

    /// What a model costs, if it was said.
    pub fn prices_of(&self, model: &str) -> Option<Prices> {
        self.prices.get(model).or_else(|| self.prices.get("")).copied()
    }

    /// At how many tokens a conversation is compacted: as was said, but at nine tenths of the window at the latest.
    pub fn compaction_limit(&self, window: Option<u64>) -> Option<u64> {
        let most = window.or(self.context_window).map(|window| window / 10 * 9 + window % 10 * 9 / 10);
        match (self.auto_compact_token_limit, most) {
            (Some(limit), Some(most)) => Some(limit.min(most)),
            (limit, most) => limit.or(most),
        }
    }
}

impl Default for Settings {
    /// What is built in.
    fn default() -> Self {
        build(&crate::layers::built_in())
    }
}
