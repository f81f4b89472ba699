//! Commands of one runtime: processes and files that one of them leaves, and their effect on the next.

use serde_json::{Value, json};

use super::Quarters;
use crate::mcp::Served;

/// An MCP server, and the output of its commands.
struct Tools(Served);

impl Tools {
    fn of(quarters: &Quarters, layers: &str) -> Self {
        let words = ["mcp", "--sandbox", "workspace-write", "--sandbox-layers", layers];
        let mut command = quarters.home.windlass(&words);
        // As in a terminal inside the user's own tmux, whose server no command can reach.
        command.env("TMUX", "/tmp/tmux-0/default,1,0").env("TMUX_PANE", "%0").env_remove("TMUX_TMPDIR");
        let mut served = Served::of(command.current_dir(&quarters.work));
        served.greet();
        Self(served)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.0.ask(tool, "tools/call", &json!({ "name": tool, "arguments": arguments }));
        answer["result"].clone()
    }

    fn exec(&mut self, script: &str) -> Value {
        self.call("exec_command", &json!({ "cmd": script, "yield_time_ms": 30_000 }))
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

/// A tmux client executes what its server sends, so a command must reach neither the user's tmux nor the tmux of
/// another command.
#[test]
fn a_command_takes_no_part_in_the_users_tmux_nor_in_that_of_another_command() {
    let quarters = Quarters::new("tmux");
    let mut tools = Tools::of(&quarters, "all");
    let first = tools.exec("touch $TMUX_TMPDIR/socket; ls $TMUX_TMPDIR; echo $TMUX_TMPDIR $TMUX $TMUX_PANE");
    assert_eq!(first["structuredContent"]["output"], "socket\n/dev/shm\n", "{first}");
    let second = tools.exec("ls $TMUX_TMPDIR");
    assert_eq!(second["structuredContent"]["output"], "", "{second}");
}

#[test]
fn a_process_that_a_command_left_running_is_named_by_both_numbers_and_with_what_ends_it() {
    let quarters = Quarters::new("left");
    let mut tools = Tools::of(&quarters, "all");
    let left = tools.exec("sleep 1000 & echo $!");
    let data = &left["structuredContent"];
    let inside = data["output"].as_str().unwrap_or_default().trim();
    assert_eq!(data["left_running"][0]["pid_in_sandbox"].to_string(), inside, "{left}");
    let session = &data["session"];
    let name = format!("sleep 1000 [{inside} in its sandbox]");
    let advice = format!("other commands cannot signal them, stop_session session_id={session} ends them");
    assert!(text(&left).contains(&name) && text(&left).contains(&advice), "{left}");
    let listed = tools.call("list_sessions", &json!({}));
    assert!(text(&listed).contains(&name) && text(&listed).contains("stop_session ends them"), "{listed}");
    let stopped = tools.call("stop_session", &json!({ "session_id": session }));
    assert!(text(&stopped).contains("sleep 1000"), "{stopped}");
}
