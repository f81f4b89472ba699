//! The configuration of Codex: known keys count, unknown ones are noted, secrets are not copied.

use windlass_config::{McpTransport, Request, Trust, WireApi};

use crate::world::World;

fn importing() -> Request {
    Request { import_codex: true, ..Request::default() }
}

#[test]
fn known_keys_count_and_others_are_noted() {
    let world = World::new("codex");
    let path = world.project().display().to_string();
    let token = ["sk-", "live0123456789abcdef"].concat();
    let text = format!(
        "model = 'gpt-5'\npersonality = 'friendly'\nsandbox_mode = 'danger-full-access'\n\
         approval_policy = {{ granular = {{}} }}\n[features]\nweb = true\n[model_providers.x]\nbase_url = 'http://x/v1'\n\
         wire_api = 'chat'\nexperimental_bearer_token = '{token}'\n[mcp_servers.docs]\ncommand = 'docs'\n\
         [projects.{path:?}]\ntrust_level = 'trusted'\n"
    );
    world.write("home/.codex/config.toml", text);
    world.write("home/.codex/auth.json", format!("{{\"OPENAI_API_KEY\": \"{token}\"}}"));
    let loaded = world.ask(&importing()).unwrap();
    assert_eq!(loaded.settings.model.as_deref(), Some("gpt-5"));
    assert_eq!(loaded.settings.sandbox_mode.word(), "full-access");
    assert_eq!(loaded.settings.providers["x"].wire_api, WireApi::Chat);
    assert!(matches!(loaded.settings.mcp_servers["docs"].transport, McpTransport::Stdio { .. }));
    assert_eq!(loaded.project.trust, Trust::Unknown);
    let file = "~/.codex/config.toml";
    assert_eq!(
        world.notes(&loaded),
        [
            format!("{file}:2: `personality` does not count: it means nothing here"),
            format!("{file}:4: `approval_policy` does not count: here it must be `untrusted`, `on-request`, `never`"),
            format!("{file}:5: `features` does not count: it means nothing here"),
            format!(
                "{file}:10: `model_providers.x.experimental_bearer_token` does not count: secrets are not taken over; \
                 name a variable with `env_key` or `bearer_token_env_var`"
            ),
            format!("{file}: `projects` does not count: whom Codex trusts is not taken over; trust projects here yourself"),
            "~/.codex/auth.json: Codex keeps its login in auth.json, which is not read; set OPENAI_API_KEY, or the \
             variable that the provider's `env_key` names"
                .to_owned(),
        ]
    );
    assert!(!format!("{loaded:?}").contains(&token), "no secret was taken over");
}

#[test]
fn the_users_own_file_wins_and_profiles_come_along() {
    let world = World::with_user("codex-below", "model = 'mine'\n");
    world.write(
        "home/.codex/config.toml",
        "model = 'theirs'\n[profiles.deep]\nmodel_reasoning_effort = 'high'\n",
    );
    world.write("home/.codex/wide.config.toml", "model_verbosity = 'high'\npersonality = 'x'\n");
    assert_eq!(world.ask(&importing()).unwrap().settings.model.as_deref(), Some("mine"));
    let deep = Request { profile: Some("deep".into()), ..importing() };
    assert_eq!(world.ask(&deep).unwrap().settings.reasoning_effort.unwrap().word(), "high");
    let wide = world.ask(&Request { profile: Some("wide".into()), ..importing() }).unwrap();
    assert_eq!(wide.settings.verbosity.unwrap().word(), "high");
    assert_eq!(
        world.notes(&wide),
        ["~/.codex/wide.config.toml:2: `personality` does not count: it means nothing here"]
    );
    assert_eq!(world.load().settings.model.as_deref(), Some("mine"));
}

#[test]
fn nothing_to_import_and_a_broken_file_are_faults() {
    let world = World::new("codex-none");
    let missing = world.faults(&importing());
    assert_eq!(missing, ["~/.codex/config.toml: cannot be read: there is nothing to import from Codex"]);
    world.write("home/.codex/config.toml", "= broken");
    let broken = world.faults(&importing());
    assert!(broken[0].starts_with("~/.codex/config.toml:1: is not TOML"), "{broken:?}");
}
