//! The agent's key: no command of the model finds it, in its own environment or in that of another process.

use std::process::Command;

use serde_json::json;
use windlass_testkit::model::{Model, Request, always, call, say, turn};

use crate::rig::WINDLASS;
use crate::workbench::{More, SECRET, Workbench, seen};

/// A script that looks for the key in the environment of every process that it can read, and prints the number of
/// those. The pattern does not match itself.
const SEARCH: &str = "exec 2>/dev/null; looked=0; for place in /proc/[0-9]*/environ; do \
    if tr '\\0' '\\n' <$place | grep -q 'sk-not-for-[a]nybody'; then echo \"found in $place\"; fi; \
    tr '\\0' '\\n' <$place >/dev/null && looked=$((looked+1)); done; echo \"looked at $looked\"";

/// An ordinary user, if root runs the tests: root may read every process, and no process can hide from it.
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

/// The setup of a sandbox uses files of this program's own process that are now closed to others.
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
