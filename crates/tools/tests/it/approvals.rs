//! An approval covers everything that decides what runs, and holds for nothing else.

use std::collections::HashSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_tools::{
    Approval, Approved, Emphasis, Person, Question, Rules, RulesFile, ToolboxOptions, UserReplyFuture,
};

use crate::workbench::{Answering, Workbench, bench_with, object, output};

const RULES: &str = "default = \"allow\"\n[[rule]]\ncommand = [\"make\"]\nverdict = \"ask\"\n";

fn with_rules(options: &mut ToolboxOptions) {
    options.rules = Some(Arc::new(Rules::of(RulesFile::parse(RULES, "rules.toml").unwrap())));
}

/// The details that a person sees about a call, `!` before the emphasised ones.
async fn shown(bench: &Workbench, arguments: Value) -> Vec<String> {
    let person = Answering::with(&["no"]);
    let asked = Arc::clone(&person) as Arc<dyn Person>;
    let reply = bench.call_with("exec_command", arguments, |call| call.person = Some(asked)).await;
    assert!(reply.is_error, "{}", reply.text);
    let approval = person.proposed.lock().unwrap().pop().expect("they were asked");
    let line = |detail: &windlass_tools::Detail| {
        let mark = if detail.emphasis == Emphasis::Warning { "!" } else { "" };
        format!("{mark}{}: {}", detail.label, detail.text)
    };
    approval.details().iter().map(line).collect()
}

fn check(shown: &[String], expected: &[&str]) {
    for line in expected {
        assert!(shown.iter().any(|known| known == line), "{line:?} in {shown:#?}");
    }
}

#[test]
fn a_person_sees_the_circumstances_of_a_command() {
    bench_with(with_rules, async |bench| {
        std::fs::create_dir(bench.home().join("real")).unwrap();
        symlink("real", bench.home().join("link")).unwrap();
        let real = bench.home().canonicalize().unwrap().join("real");
        let call = json!({
            "cmd": "make test", "workdir": "link", "stdin": "yes\n", "login": false,
            "env": { "PATH": "/tmp/evil:/bin", "NAME": "a b", "HOME": null },
        });
        let shown = shown(bench, call).await;
        let given = bench.home().join("link").display().to_string();
        check(
            &shown,
            &[
                "command: make test",
                "!runs others: PATH=/tmp/evil:/bin",
                "environment: HOME is removed\nNAME='a b'",
                &format!("!directory: {} (given as {given})", real.display()),
                "stdin: yes\n",
                "login: no: without the login environment",
            ],
        );
    });
}

#[test]
fn a_program_that_is_a_link_is_shown_by_where_it_leads() {
    bench_with(with_rules, async |bench| {
        let home = bench.home().canonicalize().unwrap();
        symlink("/bin/true", home.join("make")).unwrap();
        let real = std::path::Path::new("/bin/true").canonicalize().unwrap();
        let shown = shown(bench, json!({ "cmd": "./make test" })).await;
        let expected = format!("!program: {} (given as {}/./make)", real.display(), home.display());
        check(&shown, &[&expected]);
    });
}

#[test]
fn letters_of_other_alphabets_are_named() {
    bench_with(with_rules, async |bench| {
        check(&shown(bench, json!({ "cmd": "make аll" })).await, &["not ASCII: а U+0430"]);
    });
}

#[test]
fn a_shell_that_only_bears_the_name_of_one_is_refused_unasked() {
    bench_with(with_rules, async |bench| {
        let (fake, marker) = (bench.home().join("bash"), bench.home().join("marker"));
        std::fs::write(&fake, format!("#!/bin/sh\ntouch {}\n", marker.display())).unwrap();
        std::fs::set_permissions(&fake, std::fs::Permissions::from_mode(0o755)).unwrap();
        let call = json!({ "cmd": "echo hi", "shell": fake });
        let person = Answering::with(&["yes"]);
        let asked = Arc::clone(&person) as Arc<dyn Person>;
        let refused = bench.call_with("exec_command", call, |call| call.person = Some(asked)).await;
        assert!(refused.is_error && refused.text.starts_with("shell: "), "{}", refused.text);
        assert!(person.proposed.lock().unwrap().is_empty());
        assert!(!marker.exists());
        let usual =
            bench.call_with("exec_command", json!({ "cmd": "echo hi", "shell": "/bin/sh" }), |_| {}).await;
        assert_eq!(output(&usual), "hi\n");
    });
}

#[test]
fn arguments_that_a_tool_does_not_know_do_not_lead_around_the_rules() {
    bench_with(with_rules, async |bench| {
        let call = json!({ "command": ["make", "test"], "login": "neither", "env": 5, "tty": "x" });
        let reply = bench.call_with("shell", call, |_| {}).await;
        assert!(reply.is_error && reply.text.contains("needs a person's approval"), "{}", reply.text);
    });
}

/// Approves, and redirects a link before it does.
struct Swapping {
    bench: std::path::PathBuf,
    asked: Mutex<Vec<Approval>>,
}

impl Person for Swapping {
    fn ask(&self, _: Question) -> UserReplyFuture<'_> {
        Box::pin(async { None })
    }

    fn approve(&self, approval: Approval) -> Approved<'_> {
        self.asked.lock().unwrap().push(approval);
        std::fs::remove_file(self.bench.join("link")).unwrap();
        symlink("evil", self.bench.join("link")).unwrap();
        Box::pin(async { true })
    }
}

#[test]
fn an_approved_command_runs_in_the_directory_that_the_person_saw() {
    bench_with(with_rules, async |bench| {
        for directory in ["good", "evil"] {
            std::fs::create_dir(bench.home().join(directory)).unwrap();
        }
        symlink("good", bench.home().join("link")).unwrap();
        let person = Arc::new(Swapping { bench: bench.home(), asked: Mutex::default() });
        let asked = Arc::clone(&person) as Arc<dyn Person>;
        let call = json!({ "cmd": "make --version >/dev/null 2>&1; pwd -P", "workdir": "link" });
        let reply = bench.call_with("exec_command", call, |call| call.person = Some(asked)).await;
        assert!(output(&reply).ends_with("/good\n"), "{}", reply.text);
        assert_eq!(person.asked.lock().unwrap().len(), 1);
    });
}

/// Says yes, and has another directory at the path of the shown one before it does.
struct Exchanging(std::path::PathBuf);

impl Person for Exchanging {
    fn ask(&self, _: Question) -> UserReplyFuture<'_> {
        Box::pin(async { None })
    }

    fn approve(&self, _: Approval) -> Approved<'_> {
        std::fs::rename(self.0.join("shown"), self.0.join("shown.old")).unwrap();
        symlink("other", self.0.join("shown")).unwrap();
        Box::pin(async { true })
    }
}

#[test]
fn an_approved_command_does_not_run_in_a_directory_that_took_the_place_of_the_shown_one() {
    for tool in ["exec_command", "shell_command", "shell"] {
        bench_with(with_rules, async |bench| {
            for directory in ["shown", "other"] {
                std::fs::create_dir(bench.home().join(directory)).unwrap();
            }
            let script = "make --version >/dev/null 2>&1; touch here";
            let call = match tool {
                "exec_command" => json!({ "cmd": script, "workdir": "shown" }),
                "shell_command" => json!({ "command": script, "workdir": "shown" }),
                _ => json!({ "command": ["make", "--version"], "workdir": "shown" }),
            };
            let person = Arc::new(Exchanging(bench.home())) as Arc<dyn Person>;
            let reply = bench.call_with(tool, call, |call| call.person = Some(person)).await;
            assert!(!bench.home().join("other/here").exists(), "{tool}: {}", reply.text);
            assert!(
                reply.is_error && reply.text.contains("another directory is there now"),
                "{}",
                reply.text
            );
        });
    }
}

#[test]
fn a_command_is_not_approved_for_a_directory_that_is_not_there_yet() {
    bench_with(with_rules, async |bench| {
        let person = Answering::with(&["yes"]);
        let asked = Arc::clone(&person) as Arc<dyn Person>;
        let call = json!({ "cmd": "make --version", "workdir": "absent" });
        let reply = bench.call_with("exec_command", call, |call| call.person = Some(asked)).await;
        assert!(reply.is_error && reply.text.contains("there was no such directory"), "{}", reply.text);
    });
}

#[test]
fn executions_are_the_same_only_with_the_same_circumstances() {
    bench_with(with_rules, async |bench| {
        for directory in ["one", "two"] {
            std::fs::create_dir(bench.home().join(directory)).unwrap();
        }
        let calls = [
            json!({ "cmd": "make" }),
            json!({ "cmd": "make " }),
            json!({ "cmd": "make", "workdir": "one" }),
            json!({ "cmd": "make", "workdir": "two" }),
            json!({ "cmd": "make", "env": { "PATH": "/x" } }),
            json!({ "cmd": "make", "env": { "PATH": null } }),
            json!({ "cmd": "make", "stdin": "" }),
            json!({ "cmd": "make", "shell": "/bin/bash" }),
            json!({ "cmd": "make", "tty": true }),
            json!({ "cmd": "make", "login": false }),
            json!({ "cmd": "make", "lifetime": "detached" }),
        ];
        let of = |call: &Value| bench.execution("exec_command", &object(call.clone())).unwrap();
        let different: HashSet<_> = calls.iter().map(of).collect();
        assert_eq!(different.len(), calls.len());
        assert_ne!(of(&calls[0]), of(&calls[0]).without_sandbox());
        assert_eq!(of(&json!({ "cmd": "make", "timeout_ms": 5, "env": {} })), of(&calls[0]));
        // The same path is another directory once its link is changed.
        symlink("one", bench.home().join("link")).unwrap();
        let before = of(&json!({ "cmd": "make", "workdir": "link" }));
        std::fs::remove_file(bench.home().join("link")).unwrap();
        symlink("two", bench.home().join("link")).unwrap();
        assert_ne!(of(&json!({ "cmd": "make", "workdir": "link" })), before);
    });
}
