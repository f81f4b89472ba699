//! A windlass inside a session of another one: it works without messages, and reports why it cannot have a sandbox of
//! its own.

use std::process::Output;

use super::stage::{Owner, Stage};

/// Runs a windlass with these arguments in a session of another one.
fn nested(stage: &Stage, around: &[&str], inner: &[&str]) -> Output {
    let windlass = stage.windlass();
    let words = [&[windlass.as_str(), "run"], around, &["--", &windlass], inner].concat();
    let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
    stage.command(&words).output().expect("windlass starts")
}

fn everywhere(check: impl Fn(&Stage, &[&str])) {
    for (name, owner) in [("nested", Owner::Myself), ("nested-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        for layers in ["all", "landlock"] {
            check(&stage, &["--sandbox", "workspace-write", "--sandbox-layers", layers]);
        }
    }
}

#[test]
fn a_windlass_inside_a_sandbox_makes_no_noise() {
    everywhere(|stage, around| {
        let around = match around[3] {
            "landlock" => [around, &["--json"]].concat(),
            _ => around.to_vec(),
        };
        let output = nested(stage, &around, &["run", "--", "echo", "hello"]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("hello"), "{around:?}: {output:?}");
        // Without namespaces the outer windlass says so; the rest of its report is in the JSON.
        assert!(!said.contains("\"denials\":[{"), "{around:?}: {said}");
        let remarks = String::from_utf8_lossy(&output.stderr);
        let noise = remarks.lines().find(|line| !line.contains("works without namespaces"));
        assert_eq!(noise, None, "{around:?}: {output:?}");
    });
}

/// Run several times: the guardian outlives its runtime by a moment, and the outer windlass sometimes saw it.
#[test]
fn a_windlass_inside_a_session_leaves_no_guardian_to_be_reported() {
    let stage = Stage::new("nested-bare", Owner::Myself);
    for _ in 0..10 {
        let output = nested(&stage, &[], &["run", "--", "echo", "hello"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn a_second_sandbox_inside_is_refused_with_the_reason() {
    everywhere(|stage, around| {
        let output = nested(stage, around, &["run", "--sandbox", "read-only", "--", "echo", "hello"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{around:?}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{around:?}");
        for part in ["a sandbox of Windlass is already in force here", "--sandbox external"] {
            assert!(said.contains(part), "{around:?}: {said}");
        }
        let inner = ["run", "--sandbox", "external", "--", "echo", "hello"];
        let output = nested(stage, around, &inner);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "hello\n", "{around:?}: {output:?}");
    });
}
