//! All keys, as tables. A new setting is a line here, a field of `Settings`, a line in `settings/building.rs` and, if it
//! has a default, one in `built_in.toml`.
//!
//! The last argument but one of each line is what a project's file may set. The rule: a project may make the agent work
//! well inside of the project, and may be stricter. It may not reach the user's secrets, change what the user
//! configured, or loosen the user's restrictions. It may bring servers of its own, which are programs: a trusted
//! project may do that much, and `Loaded::project_servers` names them.

use super::{Key, Others, ProjectReach, Shape, Table};
use crate::choices::{
    ApprovalPolicy, Effort, HistoryPersistence, Inherit, InstructionsRole, SandboxMode, Summary,
    ToolApproval, TrustLevel, Verbosity, WebSearch, WireApi,
};
use ProjectReach::{
    Approval, AtMost, Fewer, Free, More, OnlyFalse, OnlyTrue, Stricter, Unclaimed, Users, Within,
};
use Shape::{Address, FileNames, Flag, Network, Number, Place, Places, Text, Texts, Word};

/// All keys of a file.
pub(crate) static ROOT: Table = Table { keys: &[COMMON, ROOT_ONLY], others: None };
/// All keys of a profile.
pub(crate) static PROFILE: Table = Table { keys: &[COMMON], others: None };
/// All profiles.
pub(crate) static PROFILES: Table = named("NAME", Shape::Table(&PROFILE), Users);

const COUNT: Shape = Shape::Whole { least: 1, most: i64::MAX };
const AMOUNT: Shape = Shape::Whole { least: 0, most: i64::MAX };

const ROOT_ONLY: &[Key] = &[
    key("profile", Text, Users, "The profile that holds if none is named with `-p`."),
    key("profiles", Shape::Table(&PROFILES), Users, "`[profiles.NAME]`: any keys, in force with `-p NAME`."),
    key("projects", Shape::Table(&PROJECTS), Users, "Which projects are trusted."),
];

const COMMON: &[Key] = &[
    key("model", Text, Free, "The model."),
    key("model_provider", Text, Users, "Which of `model_providers` it is asked at."),
    key("model_providers", Shape::Table(&PROVIDERS), Users, "Who serves models."),
    key("model_reasoning_effort", Word(Effort::WORDS), Free, "How long the model thinks."),
    key("model_reasoning_summary", Word(Summary::WORDS), Free, "Whether it tells what it thought."),
    key("model_verbosity", Word(Verbosity::WORDS), Free, "How many words it makes."),
    key("model_context_window", COUNT, Free, "How many tokens the model can take in."),
    key("model_auto_compact_token_limit", COUNT, Free, "At how many tokens a conversation is compacted."),
    key("model_prices", Shape::Table(&PRICES), Users, "What a million tokens cost."),
    key("compact_prompt", Text, Free, "What is asked for when a conversation is compacted."),
    key("model_instructions_file", Place, Within, "A file in place of the built-in base instructions."),
    key("developer_instructions", Text, Free, "More instructions, as a developer message."),
    key("approval_policy", Word(ApprovalPolicy::WORDS), Approval, "When a person is asked."),
    key("sandbox_mode", Word(SandboxMode::WORDS), Stricter(SANDBOX_MODES), "What commands may touch."),
    key("sandbox", Shape::Table(&SANDBOX), Users, "The bounds of every sandbox."),
    key("sandbox_workspace_write", Shape::Table(&WORKSPACE_WRITE), Users, "The bounds of `workspace-write`."),
    key("shell_environment_policy", Shape::Table(&ENVIRONMENT), Users, "The environment of commands."),
    key("allow_login_shell", Flag, OnlyFalse, "Whether commands may run in a login shell."),
    key("project_doc_max_bytes", AMOUNT, Free, "How much of a project's instructions is read; 0 is none."),
    key("project_doc_fallback_filenames", FileNames, Free, "Instructions, where there is no AGENTS.md."),
    key("project_root_markers", FileNames, Users, "What stands in a project's topmost directory."),
    key("tool_output_token_limit", COUNT, Free, "How many tokens of a tool's output the model gets."),
    key("background_terminal_max_timeout", COUNT, Free, "The longest empty poll of a command, in ms."),
    key("mcp_servers", Shape::Table(&SERVERS), Unclaimed, "Servers of the Model Context Protocol."),
    key("agents", Shape::Table(&AGENTS), Free, "Sub-agents."),
    key("tools", Shape::Table(&TOOLS), Free, "Which tools are offered."),
    key(
        "web_search",
        Word(WebSearch::WORDS),
        Stricter(WEB_SEARCHES),
        "Whether the provider's search is offered.",
    ),
    key("history", Shape::Table(&HISTORY), Users, "What is kept of conversations."),
    key("notify", Texts, Users, "A program, with arguments, that is told when a turn is over."),
];

/// From the strictest to the loosest.
const SANDBOX_MODES: &[&str] = &["read-only", "workspace-write", "external", "full-access"];
const WEB_SEARCHES: &[&str] = &["disabled", "cached", "live"];
const INHERITANCES: &[&str] = &["none", "core", "all"];

static PROVIDERS: Table = named("NAME", Shape::Table(&PROVIDER), Users);
static PROVIDER: Table = fixed(&[&[
    key("name", Text, Users, "Its name for people."),
    key("base_url", Address, Users, "Where it is, such as `https://api.openai.com/v1`."),
    key("env_key", Text, Users, "The variable that holds the key."),
    key("env_key_instructions", Text, Users, "How to get the key, for people."),
    key("wire_api", Word(WireApi::WORDS), Users, "The protocol it speaks."),
    key("query_params", Shape::Table(&VALUES), Users, "What is added to the address after `?`."),
    key("http_headers", Shape::Table(&VALUES), Users, "Headers of every request."),
    key("env_http_headers", Shape::Table(&VALUES), Users, "Headers whose values are in these variables."),
    key("request_max_retries", RETRIES, Users, "How often a request without answer is made again."),
    key("stream_max_retries", RETRIES, Users, "How often an answer that broke off is asked for again."),
    key("stream_idle_timeout_ms", COUNT, Users, "After how much silence an answer counts as broken off."),
    key("instructions_role", Word(InstructionsRole::WORDS), Users, "The role of instructions (chat only)."),
    key("proxy", Text, Users, "The proxy through which it is reached."),
]]);
const RETRIES: Shape = Shape::Whole { least: 0, most: 100 };
static VALUES: Table = named("NAME", Text, Users);

static PRICES: Table = Table {
    keys: &[PRICE_KEYS],
    others: Some(Others { placeholder: "MODEL", shape: Shape::Table(&MODEL_PRICES), reach: Users }),
};
static MODEL_PRICES: Table = fixed(&[PRICE_KEYS]);
const PRICE_KEYS: &[Key] = &[
    key("input", Number, Users, "What a million tokens cost that go in."),
    key("cached_input", Number, Users, "The same, if the provider had seen them before."),
    key("output", Number, Users, "What a million tokens cost that come out."),
];

static WORKSPACE_WRITE: Table = fixed(&[&[
    key("writable_roots", Places, Fewer, "Places that may be written beside the working directory."),
    key("network_access", Network, OnlyFalse, "Whether the network may be reached, and what of it."),
    key("exclude_tmpdir_env_var", Flag, OnlyTrue, "Whether `$TMPDIR` may not be written."),
    key("exclude_slash_tmp", Flag, OnlyTrue, "Whether `/tmp` may not be written."),
]]);

static SANDBOX: Table = fixed(&[&[key(
    "deny_read",
    Texts,
    More,
    "Patterns of places that nothing may read, such as `~/.ssh` or `**/.env`; in `read-only` and `workspace-write`.",
)]]);

static ENVIRONMENT: Table = fixed(&[&[
    key("inherit", Word(Inherit::WORDS), Stricter(INHERITANCES), "How much commands inherit."),
    key("ignore_default_excludes", Flag, OnlyFalse, "Whether what looks like a secret is passed on."),
    key("exclude", Texts, More, "Patterns of names that are kept from commands."),
    key("include_only", Texts, Fewer, "Patterns of the only names that commands get."),
    key("set", Shape::Table(&VALUES), Users, "What is set for all commands."),
]]);

static SERVERS: Table = named("NAME", Shape::Table(&SERVER), Unclaimed);
static SERVER: Table = fixed(&[&[
    key("command", Text, Unclaimed, "The program that is the server."),
    key("args", Texts, Unclaimed, "Its arguments."),
    key("env", Shape::Table(&OWN_VALUES), Unclaimed, "What is set in its environment."),
    key("env_vars", Texts, Users, "Variables that it gets from ours."),
    key(
        "cwd",
        Place,
        Unclaimed,
        "Where it runs. Without this: in the project if it is trusted, otherwise in an empty directory.",
    ),
    key("url", Address, Unclaimed, "Where it is, if it is not started."),
    key("bearer_token_env_var", Text, Users, "The variable that holds its token."),
    key("http_headers", Shape::Table(&OWN_VALUES), Unclaimed, "Headers of every request."),
    key("env_http_headers", Shape::Table(&VALUES), Users, "Headers whose values are in these variables."),
    key("enabled", Flag, OnlyFalse, "Whether it is used."),
    key("required", Flag, Unclaimed, "Whether the agent refuses to start without it."),
    key("startup_timeout_sec", Number, Unclaimed, "How long it has to start."),
    key("tool_timeout_sec", Number, Unclaimed, "How long a call has."),
    key("enabled_tools", Texts, Fewer, "The only tools that are offered."),
    key("disabled_tools", Texts, More, "Tools that are not offered."),
    key("supports_parallel_tool_calls", Flag, Unclaimed, "Whether its tools may be called at the same time."),
    key("default_tools_approval_mode", Word(ToolApproval::WORDS), Users, "Whether calls need consent."),
    key("tools", Shape::Table(&SERVER_TOOLS), Users, "Whether calls of single tools need it."),
]]);
static OWN_VALUES: Table = named("NAME", Text, Unclaimed);
static SERVER_TOOLS: Table = named("TOOL", Shape::Table(&SERVER_TOOL), Users);
static SERVER_TOOL: Table = fixed(&[&[key(
    "approval_mode",
    Word(ToolApproval::WORDS),
    Users,
    "Whether calls of this tool need consent.",
)]]);

static AGENTS: Table = Table {
    keys: &[&[
        key("max_concurrent_threads_per_session", AMOUNT, AtMost, "How many may be open at a time.")
            .also(&["max_threads"]),
        key("max_depth", AMOUNT, AtMost, "How deep they may start others."),
        key("default_subagent_model", Text, Free, "Their model, unless something else says."),
    ]],
    others: Some(Others { placeholder: "ROLE", shape: Shape::Table(&ROLE), reach: Free }),
};
static ROLE: Table = fixed(&[&[
    key("description", Text, Free, "What this kind of agent is for."),
    key("config_file", Place, Within, "A configuration file that holds for it."),
    key("nickname_candidates", Texts, Free, "Names that agents of this kind get."),
    key("model", Text, Free, "Its model."),
    key("model_reasoning_effort", Word(Effort::WORDS), Free, "How long its model thinks."),
    key("instructions", Text, Free, "More instructions for it.").also(&["developer_instructions"]),
]]);

static TOOLS: Table = fixed(&[&[
    key("web_search", Flag, OnlyFalse, "An older way to say `web_search`."),
    key("update_plan", Flag, Free, "The plan that the model keeps."),
    key("view_image", Flag, Free, "Looking at images."),
    key("files", Flag, Free, "Reading, listing and searching files without a command."),
    key("agents", Flag, OnlyFalse, "Starting other agents."),
    key("code_mode", Flag, OnlyFalse, "Calling tools from JavaScript."),
]]);

static HISTORY: Table = fixed(&[&[
    key("persistence", Word(HistoryPersistence::WORDS), Users, "Whether conversations are kept."),
    key("max_bytes", AMOUNT, Users, "How much of them is kept."),
]]);

static PROJECTS: Table = named("PATH", Shape::Table(&PROJECT), Users);
static PROJECT: Table = fixed(&[&[key(
    "trust_level",
    Word(TrustLevel::WORDS),
    Users,
    "Whether the project may contribute anything.",
)]]);

const fn key(name: &'static str, shape: Shape, reach: ProjectReach, about: &'static str) -> Key {
    Key { name, also: &[], shape, reach, about }
}

impl Key {
    const fn also(mut self, names: &'static [&'static str]) -> Self {
        self.also = names;
        self
    }
}

const fn fixed(keys: &'static [&'static [Key]]) -> Table {
    Table { keys, others: None }
}

/// A table whose entries have names that the user chooses.
const fn named(placeholder: &'static str, shape: Shape, reach: ProjectReach) -> Table {
    Table { keys: &[], others: Some(Others { placeholder, shape, reach }) }
}
