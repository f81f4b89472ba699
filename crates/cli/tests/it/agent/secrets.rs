//! Keys and tokens are used and never shown. Every scenario checks at its end that no secret is found anywhere; the
//! scenarios here try to reveal one.

use serde_json::json;
use windlass_testkit::model::{always, call, custom, role, say, turn};

use super::stage::{SECRETS, Stage, exec};
use crate::rig::WINDLASS;

/// Prints its own environment.
const LOOK: &str = "env; set; export -p; tr '\\0' '\\n' < /proc/self/environ";
/// Prints everything that a confined process can find out about environments. Without a sandbox a process may read the
/// environments of its user's processes, and so that of windlass.
const SNOOP: &str =
    "env; set; cat /proc/self/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; true";

#[test]
fn a_command_finds_no_secret_in_its_environment() {
    for tool in [
        exec(SNOOP),
        call("exec_command", json!({ "cmd": SNOOP, "tty": true })),
        call("shell_command", json!({ "command": SNOOP })),
        call("shell", json!({ "command": ["env"] })),
    ] {
        let mut stage = Stage::playing(vec![
            always(tool),
            turn(|request| {
                let result = request.last_result();
                assert!(result.contains("WINDLASS_TEST_QUARTERS"), "it did look: {result}");
                say("nothing")
            }),
        ]);
        stage.run(&["snoop"]).well();
        for request in stage.finish() {
            for (name, secret) in SECRETS {
                // A note names the withheld variables; an assignment would mean that a command has one.
                let assignment = format!("{name}=");
                assert!(!request.text().contains(&assignment), "{name} is known to commands");
                assert_ne!(
                    request.header("x-route").is_some_and(|route| route == secret),
                    name != SECRETS[2].0
                );
            }
        }
    }
}

#[test]
fn a_command_without_a_sandbox_finds_none_either() {
    let mut stage = Stage::playing(vec![always(exec(LOOK)), always(say("nothing"))]);
    stage.run(&["--dangerously-bypass-approvals-and-sandbox", "look"]).well();
    stage.finish();
}

#[test]
fn what_a_key_is_used_for_is_not_written_down_when_it_is_refused() {
    let mut stage = Stage::playing(Vec::new());
    let mut command = stage.command(&["--json", "go"]);
    // The endpoint expects another key.
    command.env(SECRETS[0].0, SECRETS[1].1);
    stage.start_command(&mut command).end(&mut stage).badly(1, SECRETS[0].0);
    stage.finish();
}

#[test]
fn the_commands_of_sub_agents_and_scripts_find_none() {
    let mut stage = Stage::casting(vec![
        role("child's task", vec![always(exec(SNOOP)), always(say("nothing"))]),
        role(
            "root's task",
            vec![
                always(call("spawn_agent", json!({ "message": "child's task" }))),
                always(call("wait_agent", json!({}))),
                always(custom(
                    "exec",
                    &format!("text(await tools.exec_command({{ cmd: {} }}))", json!(SNOOP)),
                )),
                always(say("nothing")),
            ],
        ),
    ])
    .with("tools.code_mode = true");
    stage.run(&["root's task"]).well();
    stage.finish();
}

#[test]
fn servers_of_other_peoples_tools_get_none_unless_they_are_named() {
    let mut stage = Stage::playing(vec![
        turn(|request| call(request.tool_of("own", "exec_command"), json!({ "cmd": LOOK }))),
        always(say("nothing")),
    ])
    .with(&format!("mcp_servers.own.command = {WINDLASS:?}"))
    .with("mcp_servers.own.args = [\"mcp\"]");
    stage.run(&["snoop"]).well();
    stage.finish();
}

#[test]
fn settings_are_shown_without_what_is_secret_in_them() {
    let mut stage =
        Stage::playing(Vec::new()).with("model_providers.scripted.http_headers.x-api-key = \"plain-secret\"");
    let ran = stage.run(&["config"]).well();
    assert!(ran.stdout.contains("env_key") && ran.stdout.contains(SECRETS[0].0), "{ran:?}");
    assert!(!ran.stdout.contains("plain-secret"), "{ran:?}");
    stage.finish();
}
