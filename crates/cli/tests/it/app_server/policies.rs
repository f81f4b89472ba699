//! The policies of commands: those that their client sends, or those with which the server was started.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_testkit::survivors;
use windlass_testkit::wire::Message;

use super::client::App;
use crate::rig::Home;

/// Tries to write into the server's directory, into another one, and below `/tmp`; reports which writes succeeded.
struct Trial {
    app: App,
    /// A directory beside the server's own.
    beside: PathBuf,
    common: PathBuf,
}

impl Trial {
    fn of(name: &str, words: &[&str]) -> Self {
        Self::configured(name, "", words)
    }

    /// The same with settings of the user.
    fn configured(name: &str, settings: &str, words: &[&str]) -> Self {
        let app = App::start_in_a_folder(name, settings, words);
        let beside = app.home.path().join("beside");
        std::fs::create_dir(&beside).expect("it can be made");
        let common = PathBuf::from("/tmp").join(survivors::token("app-policies"));
        Self { app, beside, common }
    }

    fn command(&self) -> Vec<String> {
        let script = "for it in \"$@\"; do (echo x > \"$it\") 2>/dev/null && echo \"${it##*/}\"; done; true";
        let places = ["here".to_owned(), format!("{}/beside", self.beside.display()), self.common()];
        ["/bin/sh", "-c", script, "-"].map(str::to_owned).into_iter().chain(places).collect()
    }

    fn common(&self) -> String {
        self.common.display().to_string()
    }

    /// Checks which paths a command could write, and which it could not.
    fn check(&mut self, more: &Value, expected: &[&str]) {
        let mut params = more.clone();
        params["command"] = json!(self.command());
        let result = self.app.request("command/exec", &params).unwrap_or_else(|no| panic!("{no}: {more}"));
        self.judge(&result, (more, expected));
    }

    fn judge(&self, result: &Value, (about, expected): (&Value, &[&str])) {
        let common = self.common.file_name().and_then(|name| name.to_str()).expect("text");
        let wrote: Vec<&str> = result["stdout"].as_str().expect("text").lines().collect();
        let expected: Vec<&str> =
            expected.iter().map(|name| if *name == "tmp" { common } else { *name }).collect();
        assert_eq!(wrote, expected, "{about}: {result}");
        let denials = result["receipt"]["denials"].as_array().map_or(0, Vec::len);
        assert_eq!(denials, 3 - expected.len(), "{about}: {result}");
    }

    /// The same for a process, for which a client cannot send a policy.
    fn check_process(&mut self, about: &str, expected: &[&str]) {
        let cwd = self.app.home.path().join("work");
        let spawn = json!({ "command": self.command(), "processHandle": "p", "cwd": cwd });
        self.app.request("process/spawn", &spawn).expect("it starts");
        let is_over = |message: &Message| matches!(message, Message::Notice { method, .. } if method == "process/exited");
        let exited = self.app.wire.wait_for(is_over).expect("it comes to an end");
        let Message::Notice { params, .. } = exited else { panic!("{exited:?}") };
        self.judge(&params, (&json!(about), expected));
    }

    fn end(self) {
        let _ = std::fs::remove_file(&self.common);
        self.app.end();
    }
}

#[test]
fn every_form_of_a_policy_is_enforced_and_what_was_refused_is_told() {
    let mut trial = Trial::of("policies", &[]);
    let all = &["here", "beside", "tmp"][..];
    trial.check(&json!({}), &[]);
    trial.check(&json!({ "sandboxPolicy": { "type": "dangerFullAccess" } }), all);
    trial.check(&json!({ "sandboxPolicy": { "type": "externalSandbox" } }), all);
    trial.check(&json!({ "sandboxPolicy": { "type": "readOnly" } }), &[]);
    let write = |more: Value| {
        let mut policy = json!({ "type": "workspaceWrite" });
        policy.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({ "sandboxPolicy": policy })
    };
    trial.check(&write(json!({})), &["here", "tmp"]);
    trial.check(&write(json!({ "excludeSlashTmp": true })), &["here"]);
    trial.check(&write(json!({ "writableRoots": [&trial.beside] })), all);
    trial.check(&json!({ "permissionProfile": ":read-only" }), &[]);
    trial.check(&json!({ "permissionProfile": ":danger-full-access" }), all);
    // A profile applies to the command's directory, not the server's.
    trial.check(&json!({ "permissionProfile": ":workspace", "cwd": &trial.beside }), all);
    trial.end();
}

#[test]
fn a_network_that_a_policy_does_not_allow_is_not_reached() {
    let mut trial = Trial::of("policy-network", &[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("an address");
    let port = listener.local_addr().expect("it has one").port().to_string();
    let script = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])))";
    for (allowed, code) in [(true, 0), (false, 1)] {
        let policy = json!({ "sandboxPolicy": { "type": "readOnly", "networkAccess": allowed } });
        let result = trial.app.run_with(&["python3", "-c", script, &port], policy);
        assert_eq!(result["exitCode"], code, "{result}");
    }
    trial.end();
}

#[test]
fn a_denied_address_names_the_field_of_the_policy_that_allows_it() {
    let mut app = App::start_in_a_folder("policy-words", "", &[]);
    let command = json!(["/bin/bash", "-c", "echo > /dev/tcp/127.0.0.1/9"]);
    let params = json!({ "command": command, "sandboxPolicy": { "type": "readOnly" } });
    let result = app.request("command/exec", &params).unwrap_or_else(|no| panic!("{no}"));
    let rule = result["receipt"]["denials"][0]["rule"].as_str().unwrap_or_default();
    assert!(rule.contains("`networkAccess: true` in the sandboxPolicy") && !rule.contains("--"), "{result}");
    app.end();
}

/// There, such a program ends with code 101 and the message of a panic.
#[test]
fn what_cannot_start_says_the_same_in_a_sandbox() {
    let mut trial = Trial::of("policy-missing", &[]);
    for tty in [false, true] {
        for policy in ["dangerFullAccess", "readOnly", "workspaceWrite"] {
            let params = |command: &str, cwd: &str| {
                json!({ "command": [command], "processId": "p", "tty": tty, "cwd": cwd,
                        "sandboxPolicy": { "type": policy } })
            };
            for params in [params("/no/such/program", "/"), params("/bin/true", "/no/such/folder")] {
                let refusal = trial.app.request("command/exec", &params).expect_err("it cannot start");
                let expected = "failed to spawn command: No such file or directory (os error 2)";
                assert_eq!((refusal.code, refusal.message.as_str()), (-32603, expected), "{params}");
            }
        }
    }
    trial.end();
}

/// The option was once ignored for `process/spawn`, and so for the clients that use it.
#[test]
fn what_the_server_was_started_with_holds_for_everything_that_says_nothing_else() {
    for (policy, expected) in [
        ("read-only", &[][..]),
        ("workspace-write", &["here", "tmp"]),
        ("danger-full-access", &["here", "beside", "tmp"]),
    ] {
        let mut trial = Trial::of(&format!("policy-{policy}"), &["--sandbox", policy]);
        trial.check(&json!({}), expected);
        trial.check_process(policy, expected);
        trial.check(&json!({ "sandboxPolicy": { "type": "readOnly" } }), &[]);
        trial.end();
    }
}

/// `sandbox_mode` was ignored, and a command whose client named no policy ran without a sandbox.
#[test]
fn a_command_without_a_policy_has_the_users_sandbox_mode_and_is_read_only_without_one() {
    let all = &["here", "beside", "tmp"][..];
    for (settings, words, command, process) in [
        ("", &[][..], &[][..], all),
        ("sandbox_mode = \"read-only\"", &[], &[], &[]),
        ("sandbox_mode = \"workspace-write\"", &[], &["here", "tmp"], &["here", "tmp"]),
        (
            "sandbox_mode = \"workspace-write\"\nsandbox_workspace_write.exclude_slash_tmp = true",
            &[],
            &["here"],
            &["here"],
        ),
        ("sandbox_mode = \"danger-full-access\"", &[], all, all),
        ("sandbox_mode = \"danger-full-access\"", &["--sandbox", "read-only"], &[], &[]),
        ("sandbox_mode = \"read-only\"", &["--sandbox", "danger-full-access"], all, all),
    ] {
        let mut trial = Trial::configured("policy-settings", settings, words);
        trial.check(&json!({}), command);
        trial.check_process(settings, process);
        trial.check(&json!({ "sandboxPolicy": { "type": "dangerFullAccess" } }), all);
        trial.end();
    }
}

#[test]
fn a_server_whose_settings_cannot_be_read_does_not_start_unless_its_sandbox_is_named() {
    let home = Home::new("app-policy-broken");
    let folder = home.path().join(".config/windlass");
    std::fs::create_dir_all(&folder).expect("folders can be made");
    std::fs::write(folder.join("config.toml"), "sandbox_mode = \"nowhere\"").expect("a file can be written");
    let serve = |words: &[&str]| {
        let mut command = home.windlass(&[&["app-server"], words].concat());
        command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME");
        let ended = command.output().expect("windlass starts");
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    let (code, told) = serve(&[]);
    assert_ne!(code, Some(0), "{told}");
    assert!(told.contains("sandbox_mode") && told.contains("--sandbox"), "{told}");
    assert_eq!(serve(&["--sandbox", "read-only"]).0, Some(0));
}

#[test]
fn a_directory_behind_a_link_of_a_command_is_no_workspace_of_a_later_command() {
    for layers in ["all", "landlock"] {
        let mut trial = Trial::of(&format!("linked-{layers}"), &["--sandbox-layers", layers]);
        let outside = windlass_testkit::Scratch::below(std::path::Path::new("/var/tmp"), "app-behind-a-link");
        let work = trial.app.home.path().join("work");
        std::fs::create_dir(work.join("d")).expect("it can be made");
        let link = format!("rmdir d && ln -s '{}' d", outside.path().display());
        let params = json!({
            "command": ["/bin/sh", "-c", link], "sandboxPolicy": { "type": "workspaceWrite" },
        });
        assert_eq!(trial.app.request("command/exec", &params).expect("it runs")["exitCode"], 0);
        std::fs::write(work.join("d/direct"), "").expect("the link leads outside");
        std::fs::remove_file(outside.path().join("direct")).expect("it was made there");
        let params = json!({
            "command": ["/bin/sh", "-c", "echo x > file"], "permissionProfile": ":workspace", "cwd": work.join("d"),
        });
        let outcome = trial.app.request("command/exec", &params);
        assert_eq!(outside.names(), Vec::<String>::new(), "{layers}: {outcome:?}");
        let refusal = outcome.expect_err("it is refused").to_string();
        assert!(refusal.contains("an earlier command can have made"), "{refusal}");
        let params = json!({
            "command": ["/bin/sh", "-c", "echo x > file"], "permissionProfile": ":workspace", "cwd": outside.path(),
        });
        assert_eq!(trial.app.request("command/exec", &params).expect("it runs")["exitCode"], 0, "{layers}");
        assert_eq!(outside.names(), ["file"], "{layers}");
        trial.end();
    }
}
