//! The variables that commands never get.

use windlass_config::withheld;

use crate::world::{World, overriding};

#[test]
fn the_variables_that_hold_keys_are_withheld_whatever_they_are_called() {
    let text = "[model_providers.a]\nbase_url = 'http://a'\nenv_key = 'MY_LOGIN'\nenv_http_headers = { X = 'TEAM' }\n\
                [mcp_servers.b]\nurl = 'http://b'\nbearer_token_env_var = 'ENTRY'\nenv_http_headers = { Y = 'DOOR' }\n\
                [shell_environment_policy]\nexclude = ['AWS_*']\n";
    let world = World::with_user("withheld", text);
    let names = withheld(&world.load().settings);
    for expected in ["MY_LOGIN", "TEAM", "ENTRY", "DOOR", "OPENAI_API_KEY", "AWS_*"] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
    let lifted =
        world.ask(&overriding(&["shell_environment_policy.ignore_default_excludes=true"])).unwrap().settings;
    let names = withheld(&lifted);
    assert!(names.iter().any(|name| name == "MY_LOGIN"), "{names:?}");
}
