//! A sandbox without namespaces says so in its result, in every interface: if a flag requests it, and if user
//! namespaces are really forbidden.

use serde_json::{Value, json};
use windlass_testkit::wire::Wire;

use super::prepared::Server;
use super::stage::{Owner, Stage};

const SAID: &str = "this sandbox works without namespaces";

/// Runs the following words in a user namespace that allows no others.
const FORBIDDEN: [&str; 5] = ["unshare", "--user", "--map-root-user", "sh", "-c"];
const FORBID: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

/// The ways to have no namespaces: words before the program, and arguments for it.
fn ways() -> [(Vec<&'static str>, &'static [&'static str]); 2] {
    let forbidden = [&FORBIDDEN[..], &[FORBID, "sh"]].concat();
    [(Vec::new(), &["--sandbox-layers", "landlock"]), (forbidden, &[])]
}

fn for_each_user_and_way(check: impl Fn(&Stage, &[&str], &[&str])) {
    for (name, owner) in [("fallback", Owner::Myself), ("fallback-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        for (before, layers) in ways() {
            check(&stage, &before, layers);
        }
    }
}

/// Writes in the workspace, tries to write outside, and prints the reason for the lack of namespaces.
const SCRIPT: &str =
    "echo inside > inside; cat inside; touch \"$OUTSIDE/planted\" 2>/dev/null || echo kept out";
const PRINTED: &str = "inside\nkept out\n";

#[test]
fn a_command_without_namespaces_says_so() {
    for_each_user_and_way(|stage, before, layers| {
        let windlass = stage.windlass();
        let run = [&windlass, "run", "--sandbox", "workspace-write"];
        let words = [before, &run, layers, &["--", "sh", "-c", SCRIPT]].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let output = stage.command(&words).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED, "{before:?}: {output:?}");
        assert_eq!(said.matches(SAID).count(), 1, "{before:?}: {said}");
    });
    let stage = Stage::new("no-fallback", Owner::Myself);
    let words = [&stage.windlass(), "run", "--sandbox", "workspace-write", "--", "true"].map(str::to_owned);
    let output = stage.command(&words).output().expect("it starts");
    assert!(output.stderr.is_empty(), "with namespaces there is nothing to say: {output:?}");
}

#[test]
fn the_first_reply_of_an_mcp_server_without_namespaces_says_so() {
    for_each_user_and_way(|stage, before, layers| {
        let mut server = Server::start(stage, &stage.path("work"), before, layers);
        let mut reply = || server.call(&json!({ "cmd": SCRIPT, "shell": "sh", "login": false }));
        let (first, second) = (reply(), reply());
        assert_eq!(first["output"], PRINTED, "{before:?}: {first}");
        assert_eq!(first["notes"].to_string().matches(SAID).count(), 1, "{before:?}: {first}");
        assert!(!second["notes"].to_string().contains(SAID), "{before:?}: once is enough: {second}");
    });
}

#[test]
fn the_receipt_of_an_app_server_without_namespaces_says_so() {
    let receipt = |stage: &Stage, before: &[&str], layers: &[&str]| -> Value {
        let windlass = stage.windlass();
        let words = [before, &[&windlass, "app-server", "--sandbox", "workspace-write"], layers].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let mut wire = Wire::start(&mut stage.command(&words)).expect("windlass starts");
        let hello = json!({ "clientInfo": { "name": "test", "version": "1" } });
        wire.request("initialize", &hello).expect("it answers").expect("it is served");
        let params = json!({ "command": ["/bin/sh", "-c", SCRIPT] });
        let result = wire.request("command/exec", &params).expect("it answers").expect("it runs");
        assert_eq!(result["stdout"], PRINTED, "{before:?}: {result}");
        result["receipt"].clone()
    };
    for_each_user_and_way(|stage, before, layers| {
        let receipt = receipt(stage, before, layers);
        assert_eq!(receipt["notes"].to_string().matches(SAID).count(), 1, "{before:?}: {receipt}");
    });
    let stage = Stage::new("no-fallback-app", Owner::Myself);
    let receipt = receipt(&stage, &[], &[]);
    assert_eq!(receipt["notes"], Value::Null, "with namespaces there is nothing to say: {receipt}");
}
