//! Tools of MCP servers. The server is windlass itself, started like any other program.

use serde_json::json;
use windlass_testkit::model::{always, call, say, turn};

use super::stage::{BOTH, Stage};
use crate::rig::WINDLASS;

fn served(stage: Stage, name: &str) -> Stage {
    stage
        .with(&format!("mcp_servers.{name}.command = {WINDLASS:?}"))
        .with(&format!("mcp_servers.{name}.args = [\"mcp\"]"))
}

#[test]
fn a_tool_of_a_server_is_called_and_told_as_such() {
    for dialect in BOTH {
        let stage = Stage::speaking(
            dialect,
            vec![
                turn(|request| {
                    call(request.tool_of("other", "exec_command"), json!({ "cmd": "echo served" }))
                }),
                turn(|request| {
                    assert!(request.last_result().contains("served"), "{}", request.last_result());
                    say("it works")
                }),
            ],
        );
        let mut stage = served(stage, "other");
        let ran = stage.run(&["--json", "use it"]).well();
        let calls = ran.items("mcp_tool_call");
        assert_eq!(calls.len(), 1, "{ran:?}");
        let item = &calls[0];
        assert_eq!((&item["server"], &item["tool"]), (&json!("other"), &json!("exec_command")), "{item}");
        assert_eq!((&item["status"], &item["error"]), (&json!("completed"), &json!(null)), "{item}");
        assert_eq!(item["arguments"], json!({ "cmd": "echo served" }));
        assert!(item["result"]["content"][0]["text"].as_str().unwrap().contains("served"), "{item}");
        stage.finish();
    }
}

#[test]
fn what_a_server_started_ends_with_the_agent() {
    let stage = Stage::playing(vec![
        turn(|request| {
            let arguments = json!({ "cmd": "echo up; exec cat", "tty": true, "until": { "pattern": "up" } });
            call(request.tool_of("other", "exec_command"), arguments)
        }),
        always(say("left running")),
    ]);
    let mut stage = served(stage, "other");
    stage.run(&["start it"]).well();
    stage.finish();
}

#[test]
fn a_server_that_does_not_start_is_said_and_the_work_goes_on() {
    let mut stage = Stage::playing(vec![always(say("without it"))])
        .with("mcp_servers.broken.command = \"/nowhere/at/all\"");
    let ran = stage.run(&["go"]).well();
    assert!(ran.stderr.contains("MCP server broken is not there"), "{ran:?}");
    stage.finish();
}

#[test]
fn a_server_that_is_required_and_does_not_start_is_the_end() {
    let mut stage = Stage::playing(Vec::new())
        .with("mcp_servers.broken.command = \"/nowhere/at/all\"")
        .with("mcp_servers.broken.required = true");
    stage.run(&["go"]).badly(1, "broken");
    stage.finish();
}

#[test]
fn only_the_tools_that_are_enabled_are_offered() {
    let stage = Stage::playing(vec![turn(|request| {
        let names: Vec<String> = request.tools().iter().map(|tool| format!("{tool:?}")).collect();
        let own = names.iter().filter(|name| name.contains("mcp__other") || name.contains("other__")).count();
        assert_eq!(own, 1, "{names:?}");
        say("one is enough")
    })]);
    let mut stage = served(stage, "other").with("mcp_servers.other.enabled_tools = [\"list_sessions\"]");
    stage.run(&["go"]).well();
    stage.finish();
}
