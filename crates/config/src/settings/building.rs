//! From a checked tree to typed settings. Cannot fail: the tree's values were checked when they were read, and each
//! missing value has a default in the built-in layer or here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{
    Agents, EnvironmentPolicy, History, McpServer, McpTransport, NetworkAccess, Prices, Provider, Role,
    Settings, Tools, WorkspaceWrite,
};
use crate::choices::{
    ApprovalPolicy, Effort, HistoryPersistence, Inherit, InstructionsRole, SandboxMode, Summary,
    ToolApproval, TrustLevel, Verbosity, WebSearch, WireApi,
};
use crate::tree::{Node, Tree, Value};

const REQUEST_RETRIES: u64 = 4;
const STREAM_RETRIES: u64 = 5;
const STREAM_IDLE_MS: u64 = 300_000;
const MCP_START_SECONDS: f64 = 30.0;
const MCP_CALL_SECONDS: f64 = 300.0;

pub(crate) fn build(tree: &Tree) -> Settings {
    let root = View(Some(tree));
    Settings {
        model: root.text("model"),
        model_provider: root.text("model_provider").unwrap_or_default(),
        providers: root
            .tables("model_providers")
            .map(|(name, view)| (name.clone(), provider(&name, view)))
            .collect(),
        reasoning_effort: root.word("model_reasoning_effort", Effort::from_word),
        reasoning_summary: root.word("model_reasoning_summary", Summary::from_word),
        verbosity: root.word("model_verbosity", Verbosity::from_word),
        context_window: root.whole("model_context_window"),
        auto_compact_token_limit: root.whole("model_auto_compact_token_limit"),
        prices: prices(root.below("model_prices")),
        compact_prompt: root.text("compact_prompt"),
        instructions_file: root.text("model_instructions_file").map(PathBuf::from),
        developer_instructions: root.text("developer_instructions"),
        approval_policy: root
            .word("approval_policy", ApprovalPolicy::from_word)
            .unwrap_or(ApprovalPolicy::OnRequest),
        sandbox_mode: root.word("sandbox_mode", SandboxMode::from_word).unwrap_or(SandboxMode::ReadOnly),
        deny_read: root.below("sandbox").texts("deny_read").unwrap_or_default(),
        workspace_write: workspace_write(root.below("sandbox_workspace_write")),
        environment: environment(root.below("shell_environment_policy")),
        allow_login_shell: root.flag("allow_login_shell").unwrap_or(true),
        project_doc_max_bytes: root.size("project_doc_max_bytes"),
        project_doc_fallback_filenames: root.texts("project_doc_fallback_filenames").unwrap_or_default(),
        project_root_markers: root.texts("project_root_markers").unwrap_or_default(),
        tool_output_token_limit: root.whole("tool_output_token_limit").unwrap_or_default(),
        background_terminal_max_timeout_ms: root.whole("background_terminal_max_timeout").unwrap_or_default(),
        mcp_servers: root
            .tables("mcp_servers")
            .filter_map(|(name, view)| Some((name, server(view)?)))
            .collect(),
        agents: agents(root.below("agents")),
        tools: tools(root.below("tools")),
        web_search: web_search(root),
        history: history(root.below("history")),
        notify: root.texts("notify").unwrap_or_default(),
        projects: root.tables("projects").filter_map(|(path, view)| trust_level(path, view)).collect(),
        profile: root.text("profile"),
    }
}

fn provider(name: &str, view: View<'_>) -> Provider {
    let retries =
        |key: &str, default: u64| u32::try_from(view.whole(key).unwrap_or(default)).unwrap_or(u32::MAX);
    Provider {
        name: view.text("name").unwrap_or_else(|| name.to_owned()),
        base_url: view.text("base_url").unwrap_or_default().trim_end_matches('/').to_owned(),
        env_key: view.text("env_key").filter(|variable| !variable.is_empty()),
        env_key_instructions: view.text("env_key_instructions"),
        wire_api: view.word("wire_api", WireApi::from_word).unwrap_or(WireApi::Responses),
        query_params: view.map("query_params"),
        http_headers: view.map("http_headers"),
        env_http_headers: view.map("env_http_headers"),
        request_max_retries: retries("request_max_retries", REQUEST_RETRIES),
        stream_max_retries: retries("stream_max_retries", STREAM_RETRIES),
        stream_idle_timeout_ms: view.whole("stream_idle_timeout_ms").unwrap_or(STREAM_IDLE_MS),
        instructions_role: view
            .word("instructions_role", InstructionsRole::from_word)
            .unwrap_or(InstructionsRole::Developer),
        proxy: view.text("proxy"),
    }
}

fn prices(view: View<'_>) -> BTreeMap<String, Prices> {
    let of = |view: View<'_>| {
        let input = view.number("input");
        let cached_input = view.number("cached_input").or(input);
        let output = view.number("output");
        let said = input.or(cached_input).or(output).is_some();
        said.then(|| Prices {
            input: input.unwrap_or_default(),
            cached_input: cached_input.unwrap_or_default(),
            output: output.unwrap_or_default(),
        })
    };
    let named = view.all_tables().filter_map(|(model, view)| Some((model, of(view)?)));
    let for_all = of(view).map(|prices| (String::new(), prices));
    named.chain(for_all).collect()
}

fn workspace_write(view: View<'_>) -> WorkspaceWrite {
    WorkspaceWrite {
        writable_roots: view.paths("writable_roots"),
        network_access: network_access(view),
        exclude_tmpdir_env_var: view.flag("exclude_tmpdir_env_var").unwrap_or_default(),
        exclude_slash_tmp: view.flag("exclude_slash_tmp").unwrap_or_default(),
    }
}

fn network_access(view: View<'_>) -> NetworkAccess {
    match view.value("network_access") {
        Some(Value::Flag(true)) => NetworkAccess::On,
        Some(Value::Text(_)) => NetworkAccess::Loopback,
        Some(Value::Texts(hosts)) => NetworkAccess::Hosts(hosts.clone()),
        _ => NetworkAccess::Off,
    }
}

fn environment(view: View<'_>) -> EnvironmentPolicy {
    EnvironmentPolicy {
        inherit: view.word("inherit", Inherit::from_word).unwrap_or(Inherit::All),
        ignore_default_excludes: view.flag("ignore_default_excludes").unwrap_or_default(),
        exclude: view.texts("exclude").unwrap_or_default(),
        include_only: view.texts("include_only").unwrap_or_default(),
        set: view.map("set"),
    }
}

fn server(view: View<'_>) -> Option<McpServer> {
    let approval = |view: View<'_>, key: &str| view.word(key, ToolApproval::from_word);
    let tool_approvals = view.tables("tools");
    Some(McpServer {
        transport: transport(view)?,
        enabled: view.flag("enabled").unwrap_or(true),
        required: view.flag("required").unwrap_or_default(),
        startup_timeout_sec: view.number("startup_timeout_sec").unwrap_or(MCP_START_SECONDS),
        tool_timeout_sec: view.number("tool_timeout_sec").unwrap_or(MCP_CALL_SECONDS),
        enabled_tools: view.texts("enabled_tools"),
        disabled_tools: view.texts("disabled_tools").unwrap_or_default(),
        supports_parallel_tool_calls: view.flag("supports_parallel_tool_calls").unwrap_or_default(),
        default_tools_approval_mode: approval(view, "default_tools_approval_mode")
            .unwrap_or(ToolApproval::Auto),
        tool_approvals: tool_approvals
            .filter_map(|(tool, view)| Some((tool, approval(view, "approval_mode")?)))
            .collect(),
    })
}

fn transport(view: View<'_>) -> Option<McpTransport> {
    if let Some(url) = view.text("url") {
        return Some(McpTransport::Http {
            url,
            bearer_token_env_var: view.text("bearer_token_env_var"),
            http_headers: view.map("http_headers"),
            env_http_headers: view.map("env_http_headers"),
        });
    }
    Some(McpTransport::Stdio {
        command: view.text("command")?,
        args: view.texts("args").unwrap_or_default(),
        env: view.map("env"),
        env_vars: view.texts("env_vars").unwrap_or_default(),
        cwd: view.text("cwd").map(PathBuf::from),
    })
}

fn agents(view: View<'_>) -> Agents {
    Agents {
        max_threads: view.size("max_concurrent_threads_per_session"),
        max_depth: view.size("max_depth"),
        default_subagent_model: view.text("default_subagent_model"),
        roles: view.all_tables().map(|(name, view)| (name, role(view))).collect(),
    }
}

fn role(view: View<'_>) -> Role {
    Role {
        description: view.text("description"),
        config_file: view.text("config_file").map(PathBuf::from),
        nickname_candidates: view.texts("nickname_candidates").unwrap_or_default(),
        model: view.text("model"),
        reasoning_effort: view.word("model_reasoning_effort", Effort::from_word),
        instructions: view.text("instructions"),
    }
}

fn tools(view: View<'_>) -> Tools {
    let offered = |key: &str| view.flag(key).unwrap_or_default();
    Tools {
        update_plan: offered("update_plan"),
        view_image: offered("view_image"),
        files: offered("files"),
        agents: offered("agents"),
        code_mode: offered("code_mode"),
    }
}

/// `tools.web_search = true` is an older way to write `web_search = "live"`; of the two, the one from the higher layer
/// counts.
fn web_search(root: View<'_>) -> WebSearch {
    let said = root.word("web_search", WebSearch::from_word).unwrap_or(WebSearch::Disabled);
    let Some(older) = root.0.and_then(|tree| tree.table("tools")?.leaf("web_search")) else { return said };
    let layer = root.0.and_then(|tree| tree.leaf("web_search")).map(|leaf| &leaf.origin.layer);
    match older.value {
        Value::Flag(true) if layer < Some(&older.origin.layer) => WebSearch::Live,
        Value::Flag(false) if layer < Some(&older.origin.layer) => WebSearch::Disabled,
        _ => said,
    }
}

fn history(view: View<'_>) -> History {
    History {
        persistence: view
            .word("persistence", HistoryPersistence::from_word)
            .unwrap_or(HistoryPersistence::SaveAll),
        max_bytes: view.whole("max_bytes"),
    }
}

fn trust_level(path: String, view: View<'_>) -> Option<(PathBuf, TrustLevel)> {
    Some((path.into(), view.word("trust_level", TrustLevel::from_word)?))
}

/// A table that may be absent, and its values by name.
#[derive(Clone, Copy)]
struct View<'t>(Option<&'t Tree>);

impl<'t> View<'t> {
    fn value(self, key: &str) -> Option<&'t Value> {
        Some(&self.0?.leaf(key)?.value)
    }

    fn text(self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    fn word<T>(self, key: &str, from_word: fn(&str) -> Option<T>) -> Option<T> {
        match self.value(key)? {
            Value::Text(text) => from_word(text),
            _ => None,
        }
    }

    fn flag(self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Flag(flag) => Some(*flag),
            _ => None,
        }
    }

    fn whole(self, key: &str) -> Option<u64> {
        match self.value(key)? {
            Value::Whole(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    fn size(self, key: &str) -> usize {
        self.whole(key).and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
    }

    fn number(self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    fn texts(self, key: &str) -> Option<Vec<String>> {
        match self.value(key)? {
            Value::Texts(texts) => Some(texts.clone()),
            _ => None,
        }
    }

    fn paths(self, key: &str) -> Vec<PathBuf> {
        self.texts(key).unwrap_or_default().into_iter().map(PathBuf::from).collect()
    }

    fn below(self, key: &str) -> View<'t> {
        View(self.0.and_then(|tree| tree.table(key)))
    }

    fn tables(self, key: &str) -> impl Iterator<Item = (String, View<'t>)> {
        self.below(key).all_tables()
    }

    fn all_tables(self) -> impl Iterator<Item = (String, View<'t>)> {
        let nodes = self.0.into_iter().flat_map(|tree| &tree.nodes);
        nodes.filter_map(|(name, node)| match node {
            Node::Table(table) => Some((name.clone(), View(Some(table)))),
            Node::Leaf(_) => None,
        })
    }

    fn map(self, key: &str) -> BTreeMap<String, String> {
        let nodes = self.below(key).0.into_iter().flat_map(|tree| &tree.nodes);
        let texts = nodes.filter_map(|(name, node)| match node {
            Node::Leaf(leaf) => match &leaf.value {
                Value::Text(text) => Some((name.clone(), text.clone())),
                _ => None,
            },
            Node::Table(_) => None,
        });
        texts.collect()
    }
}
