//! Locks: a confined command can lock every file that it can read, and no windlass outside may wait for it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};

use serde_json::json;

use super::stage::{Owner, Stage};
use crate::mcp::Served;

/// Kills a windlass that waits for a lock; no other signal ends that wait. Longer than any step here takes.
const PATIENCE: [&str; 4] = ["timeout", "--signal", "KILL", "30"];

fn outside(stage: &Stage, words: &[&str]) -> Output {
    let windlass = stage.windlass();
    let words = PATIENCE.iter().copied().chain([&*windlass]).chain(words.iter().copied()).map(str::to_owned);
    stage.command(&words.collect::<Vec<_>>()).output().expect("it starts")
}

fn succeeds(stage: &Stage, words: &[&str], expected: &str) {
    let output = outside(stage, words);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains(expected), "{words:?}: {output:?}");
}

/// A confined command that locks everything it can; it exits when its input ends.
fn hold(stage: &Stage, layers: &str) -> Child {
    let state = stage.path("home/state");
    let holder = stage.path("locks");
    let words = [&stage.windlass(), "run", "--sandbox", "workspace-write", "--sandbox-layers", layers];
    let words = words.into_iter().chain(["--", &holder, &state]).map(str::to_owned);
    let mut command = stage.command(&words.collect::<Vec<_>>());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("its output is piped");
    BufReader::new(stdout).read_line(&mut line).expect("its output is text");
    let held: usize = line.trim().strip_prefix("held ").and_then(|text| text.parse().ok()).unwrap_or(0);
    assert!(held > 2, "{layers}: it holds the directory and files in it: {line}");
    child
}

fn check(stage: &Stage) {
    stage.compile_also("locks", include_str!("locks.c"));
    for layers in ["all", "landlock"] {
        succeeds(stage, &["run", "--name", "before", "--", "echo", "printed before"], "printed before");
        let mut holder = hold(stage, layers);
        succeeds(stage, &["run", "--", "echo", "ran"], "ran");
        succeeds(stage, &["ps", "--all"], "before");
        succeeds(stage, &["log", "before"], "printed before");
        succeeds(stage, &["run", "--detach", "--name", "kept", "--", "sleep", "600"], "");
        succeeds(stage, &["stop", "kept"], "");
        let words = PATIENCE.map(str::to_owned).into_iter().chain([stage.windlass(), "mcp".to_owned()]);
        let mut served = Served::of(&mut stage.command(&words.collect::<Vec<_>>()));
        served.greet();
        for lifetime in ["runtime", "detached"] {
            let arguments = json!({ "cmd": "echo served", "login": false, "lifetime": lifetime });
            let call = json!({ "name": "exec_command", "arguments": arguments });
            let answer = served.ask(lifetime, "tools/call", &call);
            assert_eq!(answer["result"]["structuredContent"]["output"], "served\n", "{layers}: {answer}");
        }
        assert_eq!(holder.try_wait().expect("it can be asked"), None, "{layers}: it held all along");
        drop(holder.stdin.take());
        assert!(holder.wait().expect("it ends").success(), "{layers}");
        // Once there were detached sessions, Landlock no longer lets commands list the directory.
        let state = stage.path("home/state");
        let cleared = stage.command(&["rm", "-rf", &state].map(str::to_owned)).status().expect("it starts");
        assert!(cleared.success());
    }
}

#[test]
fn locks_of_a_command_hold_no_windlass_up() {
    check(&Stage::new("locks", Owner::Myself));
}

#[test]
fn locks_of_a_command_of_an_ordinary_user_hold_no_windlass_up() {
    check(&Stage::new("locks-user", Owner::ordinary()));
}
