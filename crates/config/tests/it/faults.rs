//! All faults are reported at once, with file, line, key and a suggestion.

use windlass_config::Request;

use crate::world::{World, overriding};

/// The faults of a user's file, without the name of the file.
fn check(text: &str, expected: &[&str]) {
    let world = World::with_user("faults", text);
    let found = world.faults(&Request::default());
    let file = "~/.config/windlass/config.toml:";
    let found: Vec<&str> = found.iter().map(|line| line.strip_prefix(file).unwrap_or(line)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn an_unknown_key_names_the_one_that_was_meant() {
    check("modle = 'x'", &["1: `modle` is not known; did you mean `model`?"]);
    check(
        "\n[tools]\nupdateplan = true",
        &["3: `tools.updateplan` is not known; did you mean `update_plan`?"],
    );
    check(
        "[mcp_servers.a]\ncommand = 'x'\nbearer_token = 'y'",
        &["3: `mcp_servers.a.bearer_token` is not known; did you mean `bearer_token_env_var`?"],
    );
    check("[agents]\nmax_thread = 3", &["2: `agents.max_thread` is not known; did you mean `max_threads`?"]);
    check("[history]\nzzz = 1", &["2: `history.zzz` is not known; there are `persistence`, `max_bytes`"]);
    check("[profiles.a]\nmodle = 'x'", &["2: `profiles.a.modle` is not known; did you mean `model`?"]);
    let nested = World::with_user("nested", "[profiles.a.projects]\n").faults(&Request::default());
    assert!(nested[0].contains(":1: `profiles.a.projects` is not known; there are `model`, "), "{nested:?}");
}

#[test]
fn a_wrong_value_tells_what_was_expected_and_what_stands_there() {
    check("model = 5", &["1: `model` must be a text, not the whole number 5"]);
    check("notify = 'x'", &["1: `notify` must be a list of texts, not the text \"x\""]);
    check("notify = ['x', 1]", &["1: `notify` must be a list of texts, not a list"]);
    check(
        "allow_login_shell = 'yes'",
        &["1: `allow_login_shell` must be `true` or `false`, not the text \"yes\""],
    );
    check("tools = 1", &["1: `tools` must be a table, not the whole number 1"]);
    check("[[tools]]", &["1: `tools` must be a table, not a list of tables"]);
    check(
        "model_context_window = 0",
        &["1: `model_context_window` must be a whole number from 1, not the whole number 0"],
    );
    check(
        "[model_providers.a]\nbase_url = 'h'",
        &[
            "2: `model_providers.a.base_url` must be an address that begins with `http://` or `https://`, not the text \"h\"",
        ],
    );
    check(
        "sandbox_mode = 'workspace_write'",
        &["1: `sandbox_mode` must be one of `read-only`, `workspace-write`, `external`, `full-access`, not \
           \"workspace_write\"; did you mean `workspace-write`?"],
    );
    check(
        "project_doc_fallback_filenames = ['../x']",
        &[
            "1: `project_doc_fallback_filenames` must be a list of names of files, without folders, not a list of texts",
        ],
    );
}

#[test]
fn all_faults_of_all_files_come_at_once() {
    let world = World::with_user("all", "modle = 'x'\nnotify = 1\n[history]\npersistence = 'all'\n");
    world.write("etc/config.toml", "= broken");
    let found = world.faults(&overriding(&["colour=blue", "model"]));
    let beginnings = [
        "/etc/config.toml:1: is not TOML: ",
        "~/.config/windlass/config.toml:1: `modle` is not known",
        "~/.config/windlass/config.toml:2: `notify` must be",
        "~/.config/windlass/config.toml:4: `history.persistence` must be one of",
        "command line: `colour` is not known",
        "command line: `model` needs a value",
    ];
    assert_eq!(found.len(), beginnings.len(), "{found:#?}");
    for (line, beginning) in found.iter().zip(beginnings) {
        assert!(line.starts_with(beginning), "{line}");
    }
}

#[test]
fn names_must_lead_somewhere() {
    check(
        "model_provider = 'nobody'",
        &[
            "1: `model_provider` names the provider \"nobody\", which is not there; there are `local`, `ollama`, \
           `openai`, `vllm`",
        ],
    );
    check("\n[model_providers.a]\nname = 'A'", &["2: `model_providers.a` needs a `base_url`"]);
    check("[mcp_servers.a]\nenabled = true", &["1: `mcp_servers.a` needs a `command` or a `url`"]);
    check(
        "[mcp_servers.a]\ncommand = 'x'\nurl = 'http://h'",
        &["1: `mcp_servers.a` has both `command` and `url`; a server has one of them"],
    );
    check(
        "[agents]\nmax_threads = 1\nmax_concurrent_threads_per_session = 2",
        &[
            "3: `agents.max_concurrent_threads_per_session` says the same as `max_threads`, which is there too",
        ],
    );
    let world = World::with_user("no-profile", "[profiles.slow]\n");
    world.write("home/.config/windlass/quick.config.toml", "");
    let found = world.faults(&Request { profile: Some("fast".into()), ..Request::default() });
    let expected =
        "command line: `profile` names the profile \"fast\", which is not there; there are `quick`, `slow`";
    assert_eq!(found, [expected]);
}

#[test]
fn a_servers_fault_is_told_at_the_projects_file() {
    let world = World::new("project-fault");
    world.write("project/.windlass/config.toml", "\n[mcp_servers.a]\nargs = ['x']\n");
    world.trust();
    let expected = "/project/.windlass/config.toml:3: `mcp_servers.a` needs a `command` or a `url`";
    assert_eq!(world.faults(&Request::default()), [expected]);
}

#[test]
fn an_override_cannot_bring_a_second_key_along() {
    let world = World::new("smuggled");
    let settings = world.ask(&overriding(&["model=1\nnotify = ['x']"])).unwrap().settings;
    assert_eq!(settings.notify, Vec::<String>::new());
    assert_eq!(settings.model.as_deref(), Some("1\nnotify = ['x']"));
}

#[test]
fn what_cannot_be_read_is_a_fault_and_not_an_empty_file() {
    let world = World::new("unreadable");
    world.folder("home/.config/windlass/config.toml");
    let found = world.faults(&Request::default());
    assert_eq!(found, ["~/.config/windlass/config.toml: cannot be read: this is not a regular file"]);
}
