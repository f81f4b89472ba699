//! Many agents at once.

use serde_json::json;
use windlass_testkit::model::{Reply, Request, call, say};

use super::stage::{Stage, exec};

const CROWD: usize = 50;

/// The root starts all children in one answer and waits until each has answered; each child runs one command.
fn play(request: &Request) -> Reply {
    let child = (0..CROWD).find(|number| request.is_asked(&format!("task {number}.")));
    match (child, request.results().len()) {
        (Some(number), 0) => exec(&format!("echo {number} > made-{number}")),
        (Some(number), _) => say(&format!("made {number}.")),
        (None, 0) => {
            let spawn = |number| call("spawn_agent", json!({ "message": format!("do task {number}.") }));
            (1..CROWD).map(spawn).fold(spawn(0), Reply::and)
        }
        (None, _) => {
            let told = request.user_texts().join("\n") + &request.results().join("\n");
            let all = (0..CROWD).all(|number| told.contains(&format!("made {number}.")));
            if all { say("all are back") } else { call("wait_agent", json!({})) }
        }
    }
}

#[test]
fn fifty_sub_agents_at_once_each_run_a_command_and_all_are_heard() {
    let mut stage = Stage::answering(play).with(&format!("agents.max_threads = {CROWD}"));
    let ran = stage.run(&["--json", "a crowd"]).well();
    assert_eq!(ran.items("agent_message").pop().expect("a message")["text"], "all are back");
    for number in 0..CROWD {
        assert_eq!(stage.read(&format!("work/made-{number}")), format!("{number}\n"));
    }
    assert_eq!(stage.threads().len(), CROWD + 1);
    stage.finish();
}
