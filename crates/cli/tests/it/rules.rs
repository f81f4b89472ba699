//! `windlass rules`, and a server that applies the rules.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::Served;
use crate::rig::{Home, Seen};

const USER: &str = r#"
[[rule]]
command = ["git", "push"]
verdict = "ask"
why = "pushes need a person's word"
matches = ["git push origin main", "git -C sub push"]
except = ["git pull"]
"#;
const PROJECT: &str = "[[rule]]\ncommand = [\"rm\"]\nverdict = \"forbid\"\n";

/// A home directory with both files, and a project in it.
fn home(name: &str) -> Home {
    let home = Home::new(name);
    put(&home.path().join(".config/windlass/rules.toml"), USER);
    put(&home.path().join("project/.windlass/rules.toml"), PROJECT);
    home
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has a folder")).expect("folders can be made");
    fs::write(path, text).expect("files can be written");
}

fn seen(home: &Home, words: &[&str]) -> Seen {
    let mut command = home.windlass(&[&["rules"], words].concat());
    command.current_dir(home.path().join("project")).env("HOME", home.path()).env("SHELL", "/bin/bash");
    let output = command.env_remove("XDG_CONFIG_HOME").output().expect("windlass starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it prints text");
    let code = output.status.code().expect("windlass exits by itself");
    Seen { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn a_verdict_is_explained_and_is_the_exit_code() {
    let home = home("rules-test");
    let ask = seen(&home, &["test", "cd sub && git push"]);
    assert_eq!(ask.code, 3, "{ask:?}");
    assert_eq!(
        ask.stdout,
        "allow   cd sub    it changes nothing outside the shell\n\
         ask     git push  rule `git push` at ~/.config/windlass/rules.toml:2: pushes need a person's word\n\
         verdict: ask\n"
    );
    let forbid = seen(&home, &["test", "--", "env", "rm", "-rf", "x"]);
    assert_eq!(forbid.code, 4, "{forbid:?}");
    assert!(forbid.stdout.contains("in env: rule `rm` at ~/project/.windlass/rules.toml:1"), "{forbid:?}");
    assert_eq!(seen(&home, &["test", "ls | wc -l"]).code, 0);
    // Arguments are not a script.
    assert_eq!(seen(&home, &["test", "--", "echo", "$(git push)"]).code, 0);
}

#[test]
fn a_verdict_comes_as_json_too() {
    let home = home("rules-json");
    let seen = seen(&home, &["test", "--json", "sudo git push"]);
    let json: Value = serde_json::from_str(&seen.stdout).expect("it prints JSON");
    assert_eq!((seen.code, &json["verdict"]), (3, &json!("ask")));
    let part = &json["parts"][1];
    assert_eq!((&part["command"], &part["within"]), (&json!("git push"), &json!(["sudo"])));
    assert_eq!(part["rule"]["line"], 2);
}

#[test]
fn files_are_found_checked_and_complained_about() {
    let home = home("rules-check");
    let checked = seen(&home, &["check"]);
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(
        checked.stdout.contains("~/.config/windlass/rules.toml: 1 rules, 3 examples hold"),
        "{checked:?}"
    );
    assert!(seen(&home, &["path"]).stdout.contains("/project/.windlass/rules.toml  the project's\n"));
    put(&home.path().join("bad.toml"), &USER.replace("git pull", "sudo git push"));
    let bad = home.path().join("bad.toml").display().to_string();
    let wrong = seen(&home, &["check", &bad]);
    assert_eq!(wrong.code, 1, "{wrong:?}");
    assert!(
        wrong.stderr.contains("bad.toml:2: rule `git push` speaks of its example `sudo git push`"),
        "{wrong:?}"
    );
    assert_eq!(seen(&home, &["check", "/nowhere/rules.toml"]).code, 1);
    assert_eq!(seen(&home, &["test", "--file", &bad, "ls"]).code, 1);
}

/// The server's answer to a command that requires a person's approval.
fn pushed(home: &Home, words: &[&str]) -> Value {
    let mut command = home.windlass(&[&["mcp"], words].concat());
    command.current_dir(home.path().join("project")).env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
    let mut served = Served::of(&mut command);
    served.greet();
    let arguments = json!({ "cmd": "git push --nowhere || rm --nothing" });
    let call = json!({ "name": "exec_command", "arguments": arguments });
    let answer = served.ask("1", "tools/call", &call);
    drop(served.input.take());
    served.child.wait().expect("it ends");
    answer["result"].clone()
}

#[test]
fn the_server_keeps_to_the_usual_files_unless_it_is_told_otherwise() {
    let home = home("rules-mcp");
    let text = |result: &Value| result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let usual = pushed(&home, &[]);
    assert!(usual["isError"] == true && text(&usual).contains("forbidden by the rules"), "{usual}");
    let own = home.path().join(".config/windlass/rules.toml").display().to_string();
    let chosen = pushed(&home, &["--rules", &own]);
    assert!(text(&chosen).contains("needs a person's approval"), "{chosen}");
    let none = pushed(&home, &["--no-rules"]);
    assert!(none["isError"] != true && text(&none).contains("Process exited"), "{none}");
}

#[test]
fn a_server_does_not_start_with_rules_that_are_wrong() {
    let home = home("rules-wrong");
    put(&home.path().join("project/.windlass/rules.toml"), "defualt = \"ask\"");
    let mut command = home.windlass(&["mcp"]);
    command.current_dir(home.path().join("project")).env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
    let output = command.output().expect("windlass starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("`defualt` is not known here; did you mean `default`?"), "{told}");
}
