//! Approval by rules: forbidden commands do not run, and others run when a person approves.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_tools::{Reply, Rules, RulesFile, ToolboxOptions};

use crate::workbench::{Answering, Workbench, bench_with, output};

const RULES: &str = r#"
[[rule]]
command = ["touch"]
verdict = "ask"
why = "files are precious"
[[rule]]
command = ["mkdir"]
verdict = "forbid"
why = "there are enough folders"
"#;

fn with_rules(options: &mut ToolboxOptions) {
    options.rules = Some(Arc::new(Rules::of(RulesFile::parse(RULES, "rules.toml").unwrap())));
}

async fn call(bench: &Workbench, tool: &str, arguments: Value, person: Option<&Arc<Answering>>) -> Reply {
    let person = person.map(|person| Arc::clone(person) as _);
    bench.call_with(tool, arguments, |call| call.person = person).await
}

/// Every way to start a command, as the tools take it.
fn ways(script: &str) -> [(&'static str, Value); 3] {
    [
        ("exec_command", json!({ "cmd": script })),
        ("shell_command", json!({ "command": script })),
        ("shell", json!({ "command": ["bash", "-c", script] })),
    ]
}

#[test]
fn what_is_forbidden_does_not_run_and_the_refusal_says_why() {
    bench_with(with_rules, async |bench| {
        for (tool, arguments) in ways("echo hi; env mkdir folder") {
            let person = Answering::with(&["yes"]);
            let reply = call(bench, tool, arguments, Some(&person)).await;
            assert!(reply.is_error, "{tool}: {}", reply.text);
            for word in [
                "`mkdir folder` (in ",
                "rule `mkdir` at rules.toml:6: there are enough folders",
                "nothing was run",
            ] {
                assert!(reply.text.contains(word), "{tool}: {}", reply.text);
            }
            assert!(person.proposed.lock().unwrap().is_empty());
        }
        assert!(!bench.home().join("folder").exists() && bench.sessions().is_empty());
    });
}

#[test]
fn what_is_asked_about_runs_when_a_person_says_so() {
    bench_with(with_rules, async |bench| {
        for (place, (tool, arguments)) in ways("touch file && echo done").into_iter().enumerate() {
            let person = Answering::with(&["yes"]);
            let reply = call(bench, tool, arguments, Some(&person)).await;
            assert!(!reply.is_error && reply.text.contains("done"), "{tool}: {}", reply.text);
            let proposed = person.proposed.lock().unwrap().pop().expect("they were asked");
            let command = proposed.details().remove(0).text;
            assert!(command.text().contains("touch file && echo done"), "{proposed:?}");
            assert!(proposed.reasons.contains("rules.toml:2: files are precious"), "{proposed:?}");
            assert_eq!(bench.sessions().len(), place + 1);
        }
    });
}

#[test]
fn without_a_yes_nothing_runs_and_the_refusal_says_how_to_get_one() {
    bench_with(with_rules, async |bench| {
        for (tool, arguments) in ways("touch file") {
            for person in [None, Some(Answering::with(&[])), Some(Answering::with(&["no"]))] {
                let reply = call(bench, tool, arguments.clone(), person.as_ref()).await;
                assert!(reply.is_error && reply.text.contains("needs a person's approval"), "{}", reply.text);
                assert!(reply.text.contains("can allow it in rules.toml"), "{}", reply.text);
                let why = if person.is_some() { "they declined" } else { "nobody can be asked" };
                assert!(reply.text.contains(why), "{}", reply.text);
            }
        }
        assert!(!bench.home().join("file").exists() && bench.sessions().is_empty());
    });
}

/// No rule can allow a variable, so the refusal must not point to the rules file.
#[test]
fn the_refusal_of_what_is_always_asked_about_names_no_rules_file() {
    bench_with(with_rules, async |bench| {
        let arguments = json!({ "cmd": "echo a", "env": { "PATH": "/bin" } });
        let reply = call(bench, "exec_command", arguments, None).await;
        assert!(reply.is_error && reply.text.contains("`PATH=/bin`"), "{}", reply.text);
        assert!(reply.text.contains("leave out the part named above"), "{}", reply.text);
        assert!(!reply.text.contains("rules.toml"), "{}", reply.text);
    });
}

#[test]
fn what_no_rule_speaks_of_runs_unasked() {
    bench_with(with_rules, async |bench| {
        let person = Answering::with(&[]);
        let reply = call(bench, "exec_command", json!({ "cmd": "echo mkdir touch" }), Some(&person)).await;
        assert_eq!(output(&reply), "mkdir touch\n");
        assert!(person.proposed.lock().unwrap().is_empty());
    });
}

#[test]
fn variables_and_shells_of_a_call_are_judged_too() {
    bench_with(with_rules, async |bench| {
        for arguments in [
            json!({ "cmd": "true", "env": { "BASH_ENV": "/tmp/x" } }),
            json!({ "cmd": "sh", "stdin": "mkdir folder" }),
            json!({ "cmd": "bash", "tty": true }),
            json!({ "cmd": "true", "env": { "PAGER": "mkdir folder" } }),
            json!({ "cmd": "touch x", "lifetime": "detached" }),
        ] {
            let reply = call(bench, "exec_command", arguments.clone(), None).await;
            assert!(reply.is_error && reply.text.contains("nothing was run"), "{arguments}: {}", reply.text);
        }
        let reply = call(bench, "exec_command", json!({ "cmd": "echo $X", "env": { "X": "1" } }), None).await;
        assert_eq!(output(&reply), "1\n");
    });
}

#[test]
fn arguments_that_cannot_be_used_are_refused_as_ever() {
    bench_with(with_rules, async |bench| {
        let reply = call(bench, "exec_command", json!({ "cmd": 5 }), None).await;
        assert!(reply.is_error && reply.text.starts_with("cmd: "), "{}", reply.text);
        let reply = call(bench, "shell", json!({ "command": [] }), None).await;
        assert!(reply.is_error && reply.text.starts_with("command: "), "{}", reply.text);
    });
}
