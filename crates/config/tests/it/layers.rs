//! The precedence of layers, and the origin of every value.

use proptest::prelude::*;
use windlass_config::{
    ApprovalPolicy, Effort, Layer, McpTransport, NetworkAccess, Request, SandboxMode, Settings, WebSearch,
    WireApi,
};

use crate::world::{World, overriding};

#[test]
fn what_is_built_in_holds_if_nobody_says_anything() {
    let loaded = World::new("built-in").load();
    let settings = loaded.settings;
    assert_eq!(settings, Settings::default());
    assert_eq!(
        (settings.approval_policy, settings.sandbox_mode),
        (ApprovalPolicy::OnRequest, SandboxMode::WorkspaceWrite)
    );
    assert_eq!((settings.agents.max_threads, settings.agents.max_depth), (6, 1));
    assert_eq!((settings.project_doc_max_bytes, settings.tool_output_token_limit), (32 << 10, 10_000));
    let openai = settings.provider().unwrap();
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
    assert_eq!(openai.env_key.as_deref(), Some("OPENAI_API_KEY"));
    assert_eq!(
        (openai.request_max_retries, openai.stream_max_retries, openai.stream_idle_timeout_ms),
        (4, 5, 300_000)
    );
    let ollama = &settings.providers["ollama"];
    assert_eq!((ollama.base_url.as_str(), ollama.wire_api), ("http://127.0.0.1:11434/v1", WireApi::Chat));
    assert_eq!(ollama.env_key, None);
    assert!(settings.providers.contains_key("vllm") && settings.providers.contains_key("local"));
}

#[test]
fn each_layer_wins_over_those_below() {
    let world = World::new("order");
    let request = |overrides: &[&str]| Request {
        profile: Some("fast".into()),
        import_codex: true,
        ..overriding(overrides)
    };
    let check = |request: &Request, model: &str, layer: Layer| {
        let loaded = world.ask(request).unwrap();
        assert_eq!(loaded.settings.model.as_deref(), Some(model));
        assert_eq!(loaded.origin("model").unwrap().layer, layer);
    };
    world.write("home/.codex/config.toml", "");
    world.write("home/.config/windlass/config.toml", "[profiles.fast]\n");
    world.write("etc/config.toml", "model = 'system'");
    check(&request(&[]), "system", Layer::System);
    world.write("home/.codex/config.toml", "model = 'codex'");
    check(&request(&[]), "codex", Layer::Codex);
    world.user("model = 'user'\n[profiles.fast]\n");
    check(&request(&[]), "user", Layer::User);
    world.user("model = 'user'\n[profiles.fast]\nmodel = 'table'\n");
    check(&request(&[]), "table", Layer::Profile("fast".into()));
    world.write("home/.config/windlass/fast.config.toml", "model = 'file'");
    check(&request(&[]), "file", Layer::Profile("fast".into()));
    world.trust();
    world.write("project/.windlass/config.toml", "model = 'root'");
    check(&request(&[]), "root", Layer::Project);
    world.write("project/inner/.windlass/config.toml", "model = 'inner'");
    check(&request(&[]), "inner", Layer::Project);
    check(&request(&["model=line"]), "line", Layer::CommandLine);
    check(&request(&["model=line", "model=later"]), "later", Layer::CommandLine);
}

#[test]
fn values_know_their_file_and_line() {
    let world = World::with_user("origins", "model = 'a'\n\n[tools]\nupdate_plan = false\n");
    let loaded = world.load();
    let origin = loaded.origin("tools.update_plan").unwrap();
    assert_eq!((origin.file, origin.line), (world.places.user_file(), Some(4)));
    let stated = loaded.stated();
    let find = |key: &str| stated.iter().find(|one| one.key == key).unwrap();
    assert_eq!(find("model").origin.line, Some(1));
    assert_eq!(find("agents.max_depth").origin.layer, Layer::BuiltIn);
    assert_eq!(find("agents.max_depth").value.to_string(), "1");
}

#[test]
fn secrets_are_marked_where_values_are_listed() {
    let text =
        "[mcp_servers.a]\nurl = 'https://h'\nhttp_headers = { Authorization = 'Bearer 1', X-Team = 'ada' }\n";
    let stated = World::with_user("marked", text).load().stated();
    let secret: Vec<&str> = stated.iter().filter(|one| one.secret).map(|one| one.key.as_str()).collect();
    assert_eq!(secret, ["mcp_servers.a.http_headers.Authorization"]);
}

#[test]
fn tables_are_joined_value_by_value() {
    let world = World::with_user("joined", "[model_providers.openai]\nstream_max_retries = 1\n");
    world.write("etc/config.toml", "[model_providers.mine]\nbase_url = 'http://h/v1/'\nwire_api = 'chat'\n");
    let settings = world.load().settings;
    assert_eq!(settings.providers["openai"].stream_max_retries, 1);
    assert_eq!(settings.providers["openai"].env_key.as_deref(), Some("OPENAI_API_KEY"));
    assert_eq!(settings.providers["mine"].base_url, "http://h/v1");
    assert_eq!(settings.providers["mine"].name, "mine");
}

#[test]
fn overrides_are_toml_or_bare_text() {
    let world = World::new("overrides");
    let settings = |overrides: &[&str]| world.ask(&overriding(overrides)).unwrap().settings;
    assert_eq!(settings(&["model=gpt-5"]).model.as_deref(), Some("gpt-5"));
    assert_eq!(settings(&["model=\"gpt 5\""]).model.as_deref(), Some("gpt 5"));
    assert_eq!(settings(&["model=4"]).model.as_deref(), Some("4"));
    assert_eq!(settings(&["model = a = b"]).model.as_deref(), Some("a = b"));
    let network = |word: &str| {
        settings(&[&format!("sandbox_workspace_write.network_access={word}")]).workspace_write.network_access
    };
    assert_eq!(network("true"), NetworkAccess::On);
    assert_eq!(network("on"), NetworkAccess::On);
    assert_eq!(network("off"), NetworkAccess::Off);
    assert_eq!(network("loopback"), NetworkAccess::Loopback);
    assert_eq!(network("['crates.io']"), NetworkAccess::Hosts(vec!["crates.io".into()]));
    assert_eq!(settings(&["notify=[\"a\", \"b\"]"]).notify, ["a", "b"]);
    assert_eq!(settings(&["agents.max_threads=2"]).agents.max_threads, 2);
    assert_eq!(settings(&["approval_policy=on-failure"]).approval_policy, ApprovalPolicy::OnRequest);
    assert_eq!(settings(&["sandbox_mode=danger-full-access"]).sandbox_mode, SandboxMode::FullAccess);
    let provider = settings(&["model_providers.\"a.b\".base_url=http://h", "model_provider=a.b"]);
    assert_eq!(provider.provider().unwrap().base_url, "http://h");
    let inline = settings(&["mcp_servers.x={command=\"srv\", args=[\"-v\"]}"]);
    assert!(
        matches!(&inline.mcp_servers["x"].transport, McpTransport::Stdio { args, .. } if args == &["-v"])
    );
}

#[test]
fn the_address_of_openai_can_come_from_outside_but_files_know_better() {
    let world = World::new("base-url");
    let request = Request { openai_base_url: Some("http://127.0.0.1:9/v1/".into()), ..Request::default() };
    let loaded = world.ask(&request).unwrap();
    assert_eq!(loaded.settings.provider().unwrap().base_url, "http://127.0.0.1:9/v1");
    let origin = loaded.origin("model_providers.openai.base_url").unwrap();
    assert_eq!(origin.layer, Layer::Variable("OPENAI_BASE_URL"));
    let wrong = Request { openai_base_url: Some("example.org".into()), ..Request::default() };
    let expected = "the environment: `OPENAI_BASE_URL` must be an address that begins with `http://` or `https://`, not \
                    \"example.org\"";
    assert_eq!(world.faults(&wrong), [expected]);
    world.user("[model_providers.openai]\nbase_url = 'https://mine/v1'\n");
    assert_eq!(world.ask(&request).unwrap().settings.provider().unwrap().base_url, "https://mine/v1");
}

#[test]
fn a_sub_agent_is_never_less_confined_than_its_parent() {
    let world = World::with_user("looser", "[agents.free]\nconfig_file = 'free.toml'\n");
    let text = "sandbox_mode = 'full-access'\napproval_policy = 'never'\nmodel_provider = 'ollama'\n";
    world.write("home/.config/windlass/free.toml", text);
    let loaded = world.ask(&overriding(&["sandbox_mode=read-only", "approval_policy=untrusted"])).unwrap();
    let role = loaded.for_role("free").unwrap();
    assert_eq!(role.settings.sandbox_mode, SandboxMode::ReadOnly);
    assert_eq!(role.settings.approval_policy, ApprovalPolicy::Untrusted);
    assert_eq!(role.settings.model_provider, "ollama");
    assert_eq!(role.notes.len(), 2);
}

#[test]
fn the_users_file_can_be_ignored() {
    let world = World::with_user("ignored", "model = 'a'\nnonsense = 1\n");
    let request = Request { ignore_user_config: true, ..Request::default() };
    assert_eq!(world.ask(&request).unwrap().settings.model, None);
}

#[test]
fn a_file_can_name_its_profile_and_the_command_line_another() {
    let text = "profile = 'a'\n[profiles.a]\nmodel = 'of a'\n[profiles.b]\nmodel = 'of b'\n";
    let world = World::with_user("profiles", text);
    assert_eq!(world.load().settings.model.as_deref(), Some("of a"));
    assert_eq!(world.load().settings.profile.as_deref(), Some("a"));
    let other = world.ask(&Request { profile: Some("b".into()), ..Request::default() }).unwrap().settings;
    assert_eq!((other.model.as_deref(), other.profile.as_deref()), (Some("of b"), Some("b")));
    let third = world.ask(&overriding(&["profile=b"])).unwrap().settings;
    assert_eq!(third.model.as_deref(), Some("of b"));
    let spoken = world.ask(&overriding(&["profile=c", "profiles.c.model=of-c"])).unwrap().settings;
    assert_eq!(spoken.model.as_deref(), Some("of-c"));
}

#[test]
fn everything_has_its_place_in_the_settings() {
    let settings = World::with_user("everything", EVERYTHING).load().settings;
    assert_eq!(settings.reasoning_effort, Some(Effort::High));
    assert_eq!(settings.prices_of("gpt-x").unwrap().cached_input, 0.1);
    assert_eq!(settings.prices_of("other").unwrap().output, 9.0);
    assert_eq!(settings.prices_of("other").unwrap().cached_input, 1.0);
    assert_eq!(settings.web_search, WebSearch::Live);
    assert_eq!(settings.environment.set["LANG"], "C");
    assert_eq!(settings.agents.roles["explorer"].nickname_candidates, ["Ada"]);
    let server = &settings.mcp_servers["remote"];
    assert_eq!(server.tool_approvals["drop"].word(), "prompt");
    assert_eq!((server.enabled, server.startup_timeout_sec, server.tool_timeout_sec), (false, 2.5, 300.0));
    assert_eq!(settings.compaction_limit(None), Some(80_000));
    assert_eq!(settings.compaction_limit(Some(10_000)), Some(9_000));
    assert!(settings.instructions_file.unwrap().ends_with("home/.config/windlass/base.md"));
    assert!(settings.workspace_write.writable_roots[0].ends_with("home/scratch"));
}

const EVERYTHING: &str = r#"
model = "gpt-x"
model_reasoning_effort = "high"
model_reasoning_summary = "detailed"
model_verbosity = "low"
model_context_window = 100000
model_auto_compact_token_limit = 80000
compact_prompt = "sum up"
model_instructions_file = "./sub/../base.md"
developer_instructions = "be brief"
allow_login_shell = false
project_doc_fallback_filenames = ["CLAUDE.md"]
notify = ["notify-send", "done"]
[model_prices]
input = 1
output = 9
[model_prices.gpt-x]
input = 2.0
cached_input = 0.1
[sandbox_workspace_write]
writable_roots = ["~/scratch"]
[shell_environment_policy]
inherit = "core"
set = { LANG = "C" }
[tools]
web_search = true
[history]
persistence = "none"
max_bytes = 1
[agents.explorer]
description = "looks around"
nickname_candidates = ["Ada"]
[mcp_servers.local]
command = "srv"
env = { A = "b" }
env_vars = ["HOME"]
cwd = "/"
[mcp_servers.remote]
url = "https://h/mcp"
bearer_token_env_var = "T"
enabled = false
startup_timeout_sec = 2.5
[mcp_servers.remote.tools.drop]
approval_mode = "prompt"
"#;

#[test]
fn a_role_has_the_settings_of_its_file() {
    let text = "model = 'big'\n[agents.small]\nconfig_file = 'small.toml'\nmodel_reasoning_effort = 'low'\n";
    let world = World::with_user("roles", text);
    let missing = world.load().for_role("small").unwrap_err().to_string();
    assert!(missing.contains("small.toml: cannot be read"), "{missing}");
    world.write("home/.config/windlass/small.toml", "model = 'small'\nsandbox_mode = 'read-only'\n");
    let loaded = world.load();
    let role = loaded.for_role("small").unwrap().settings;
    assert_eq!((role.model.as_deref(), role.sandbox_mode), (Some("small"), SandboxMode::ReadOnly));
    assert_eq!(role.reasoning_effort, Some(Effort::Low));
    assert_eq!(loaded.settings.model.as_deref(), Some("big"));
    let nobody = loaded.for_role("smal").unwrap_err().to_string();
    assert!(nobody.contains("`small`"), "{nobody}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_in_any_file_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        line in "[a-z_.\\[\\]='\"{}0-9\n]{0,80}",
        which in 0usize..6,
    ) {
        let world = World::new("bytes");
        let files = ["etc/config.toml", "home/.config/windlass/config.toml", "home/.config/windlass/p.config.toml",
            "home/.codex/config.toml", "project/.windlass/config.toml", "project/AGENTS.md"];
        world.write("home/.codex/config.toml", "");
        world.write(files[which], &bytes);
        let request = Request {
            import_codex: true,
            profile: Some("p".into()),
            trust: Some(windlass_config::Trust::Trusted),
            ..overriding(&[&line])
        };
        let _ = world.ask(&request);
        world.write("project/.agents/skills/a/SKILL.md", [b"---\nname: ".as_slice(), &bytes].concat());
        if let Ok(loaded) = world.ask(&Request { import_codex: false, profile: None, overrides: vec![], ..request.clone() }) {
            let told = windlass_config::instructions::find(&world.places, &loaded.project, &loaded.settings);
            let _ = told.render(&world.places.cwd);
            let skills = windlass_config::skills::find(&world.places, &loaded.project);
            prop_assert_eq!(skills.skills.len() + skills.faults.len(), 1);
            let _ = (skills.render(), skills.mentioned(&line).len());
        }
        world.write(files[which], &line);
        let _ = world.ask(&Request { overrides: vec![], ..request });
    }
}
