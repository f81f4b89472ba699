//! Codex, from npm.

use std::process::Command;
use std::sync::mpsc;

use serde_json::json;
use windlass_testkit::codex::Configuration;
use windlass_testkit::model::{Model, Reply, turn};
use windlass_testkit::{HANG, survivors};

use super::{Agent, Quarters, call, check, conversation};
use crate::rig::{WINDLASS, held, nothing_survives};

#[test]
fn codex_starts_a_program_on_a_terminal_and_types_into_it() {
    let quarters = Quarters::of("codex");
    let model = Model::playing(conversation());
    check(codex(&quarters, &model), &quarters, model);
}

#[test]
fn nothing_is_left_of_a_codex_that_is_killed_while_a_program_runs() {
    let quarters = Quarters::of("codex-killed");
    let (tell, told) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let model = Model::playing(vec![
        turn(|request| call(request, "exec_command", json!({ "cmd": "cat", "tty": true }))),
        turn(move |request| {
            tell.send(request.last_result()).expect("the test waits");
            // The answer arrives after its reader has gone.
            let _ = released.recv_timeout(HANG);
            Reply::text("too late")
        }),
    ]);
    let agent = Agent::start(&mut codex(&quarters, &model));
    let result = told.recv_timeout(HANG).expect("codex runs the program");
    let running = survivors::bearing(&quarters.token);
    assert!(running.iter().any(|line| line.ends_with(" cat ")), "{running:?} after {result}");
    let left = held(&running);

    drop(agent);
    nothing_survives(&left, &quarters.token);
    release.send(()).expect("the model waits");
    model.finish();
}

fn codex(quarters: &Quarters, model: &Model) -> Command {
    let variables = quarters.variables().map(|(name, value)| format!("{name} = {value:?}")).join(", ");
    // Windlass is its only MCP server.
    let more = format!(
        "[mcp_servers.windlass]\ncommand = \"{WINDLASS}\"\nargs = [\"mcp\"]\nenv = {{ {variables} }}\n"
    );
    let configuration = Configuration { model: &model.base_url(), features: "", more: &more };
    configuration.write(quarters.path()).expect("the configuration can be written");
    let mut codex = quarters.agent("codex");
    codex.env("CODEX_HOME", quarters.path());
    codex.args(["exec", "--json", "--skip-git-repo-check", "Is anybody there?"]);
    codex
}
