//! The agent's key: no command of the model's finds it, in its own environment or in anybody's.

use std::process::Command;

use serde_json::json;
use windlass_testkit::model::{Model, Request, always, call, say, turn};

use crate::rig::WINDLASS;
use crate::workbench::{More, SECRET, Workbench, seen};

/// Looks for the key in the environment of every process that can be looked at, and says how many those were. The pattern
/// does not find itself.
const SEARCH: &str = "exec 2>/dev/null; looked=0; for place in /proc/[0-9]*/environ; do \
    if tr '\\0' '\\n' <$place | grep -q 'sk-not-for-[a]nybody'; then echo \"found in $place\"; fi; \
    tr '\\0' '\\n' <$place >/dev/null && looked=$((looked+1)); done; echo \"looked at $looked\"";

/// An ordinary user, when root runs the tests: root may look at everybody, and no process can hide from it.
fn ordinary(bench: &Workbench, words: &[&str]) -> Command {
    let windlass = bench.windlass(words);
    if !rustix::process::geteuid().is_root() {
        return windlass;
    }
    let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(bench.home.path()).status();
    assert!(owned.expect("chown runs").success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", WINDLASS]).args(words);
    command.envs(windlass.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(bench.work()).stdin(std::process::Stdio::null());
    command
}

#[test]
fn a_command_without_a_sandbox_does_not_find_the_key_in_any_process() {
    let model = Model::playing(vec![
        always(call("exec_command", json!({ "cmd": SEARCH }))),
        turn(|request: &Request| say(&request.last_result())),
    ]);
    let bench = Workbench::new("private", &model, &More::default());
    let seen = seen(&mut ordinary(&bench, &["agent", "-s", "danger-full-access", "look for the key"]));
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("looked at ") && !seen.stdout.contains("looked at 0"), "{seen:?}");
    assert!(!seen.stdout.contains("found in"), "{seen:?}");
    let requests = model.finish();
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {SECRET}").as_str()));
}

/// The way to a sandbox leads through files of our own process that are closed to others now.
#[test]
fn a_sandbox_is_built_as_ever() {
    let model = Model::playing(vec![
        always(call("exec_command", json!({ "cmd": "touch made 2>/dev/null || echo refused" }))),
        turn(|request: &Request| say(&request.last_result())),
    ]);
    let bench = Workbench::new("private-sandbox", &model, &More::default());
    let seen = seen(&mut ordinary(&bench, &["agent", "-s", "read-only", "try it"]));
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.ends_with("refused\n"), "{seen:?}");
    assert!(!bench.work().join("made").exists(), "{seen:?}");
    model.finish();
}
