//! Secrets in a server's environment that its commands do not get: no command finds them in the server's process
//! either.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use windlass_testkit::wire::Wire;
use windlass_testkit::{base64, survivors};

use super::User;
use crate::mcp::Served;
use crate::rig::{Home, WINDLASS, as_ordinary};

const NAME: &str = "WINDLASS_CANARY_KEY";

/// The user and the home directory of a server, and a secret in its environment.
struct Canary {
    home: Home,
    value: String,
    user: User,
}

impl Canary {
    fn new(name: &str, user: User) -> Self {
        let home = Home::new(&format!("secrets-{name}-{user:?}"));
        std::fs::create_dir(home.path().join("work")).expect("a directory");
        if user == User::Ordinary && rustix::process::geteuid().is_root() {
            let owned = Command::new("chown").args(["-R", "65534:65534"]).arg(home.path()).status();
            assert!(owned.expect("chown runs").success());
        }
        let value = survivors::token(&format!("canary-{name}-{user:?}"));
        Self { home, value, user }
    }

    /// A windlass of that user with the secret in its environment.
    fn windlass(&self, words: &[&str]) -> Command {
        let mut command = if self.user == User::Ordinary && rustix::process::geteuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", WINDLASS]);
            command
        } else {
            Command::new(WINDLASS)
        };
        command.args(words).stdin(Stdio::null()).current_dir(self.work());
        command.env("WINDLASS_STATE_DIR", self.home.path().join("state")).env("SHELL", "/bin/sh");
        command.env("HOME", self.home.path()).env(NAME, &self.value);
        command
    }

    fn work(&self) -> std::path::PathBuf {
        self.home.path().join("work")
    }

    /// A script that looks for the secret in every readable environment of a process, and prints the number of those;
    /// it also tries to open the memory of the process that started it.
    fn search(&self) -> String {
        let (first, rest) = self.value.split_at(1);
        format!(
            "exec 2>/dev/null; looked=0; for file in /proc/[0-9]*/environ; do \
             if tr '\\0' '\\n' <$file | grep -q '[{first}]{rest}'; then echo \"found in $file\"; fi; \
             tr '\\0' '\\n' <$file >/dev/null && looked=$((looked+1)); done; \
             (exec 3</proc/$PPID/mem) && echo opened the memory; echo \"looked at $looked\""
        )
    }

    fn check(&self, server: &str, printed: &str) {
        let place = format!("{server} for {:?}", self.user);
        assert!(printed.contains("looked at ") && !printed.contains("looked at 0"), "{place}: {printed}");
        assert!(!printed.contains("found in"), "{place}: {printed}");
        // Unconfined root may open the memory of any process.
        if self.user == User::Ordinary {
            assert!(!printed.contains("opened the memory"), "{place}: {printed}");
        }
    }

    fn by_mcp(&self, words: &[&str], lifetime: &str) -> String {
        let mut served = Served::of(&mut self.windlass(&[&["mcp", "--no-rules"], words].concat()));
        served.greet();
        let arguments = json!({
            "cmd": self.search(), "login": false, "lifetime": lifetime, "until": { "exit": true },
        });
        let call = json!({ "name": "exec_command", "arguments": arguments });
        served.ask("search", "tools/call", &call)["result"]["content"].to_string()
    }

    fn by_app_server(&self) -> String {
        let mut wire = Wire::start(&mut self.windlass(&["app-server", "--sandbox", "danger-full-access"]))
            .expect("windlass starts");
        let hello = json!({ "clientInfo": { "name": "test", "version": "1" } });
        wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
        let params = json!({ "command": ["/bin/sh", "-c", self.search()], "env": { NAME: null } });
        let answer = wire.request("command/exec", &params).expect("it answers").expect("it runs");
        answer["stdout"].as_str().unwrap_or_default().to_owned()
    }

    fn by_exec_server(&self) -> String {
        let mut wire = Wire::start(&mut self.windlass(&["exec-server"])).expect("windlass starts");
        let hello = json!({ "clientName": "test", "resumeSessionId": null });
        wire.request("initialize", &hello).expect("it answers").expect("it is glad to");
        wire.notify("initialized").expect("it listens");
        let params = json!({
            "processId": "p", "argv": ["/bin/sh", "-c", self.search()], "cwd": file_url(&self.work()),
            "env": { "PATH": "/usr/bin:/bin" }, "tty": false,
        });
        wire.request("process/start", &params).expect("it answers").expect("it starts");
        wire.wait_for(|message| message.notice("process/closed").is_some()).expect("it ends");
        let read = wire.request("process/read", &json!({ "processId": "p" })).expect("it answers");
        let chunks = read.expect("it is known")["chunks"].as_array().cloned().unwrap_or_default();
        let bytes = |chunk: &Value| base64::decode(chunk["chunk"].as_str()?.as_bytes());
        String::from_utf8_lossy(&chunks.iter().filter_map(bytes).flatten().collect::<Vec<u8>>()).into_owned()
    }

    fn by_run(&self) -> String {
        let output = self.windlass(&["run", "-e", NAME, "--", "sh", "-c", &self.search()]).output();
        String::from_utf8_lossy(&output.expect("windlass starts").stdout).into_owned()
    }

    fn by_detached_run(&self) -> String {
        let words = ["run", "--detach", "--name", "d", "-e", NAME, "--", "sh", "-c", &self.search()];
        assert!(self.windlass(&words).status().expect("windlass starts").success());
        let output = self.windlass(&["log", "d", "--follow"]).output();
        String::from_utf8_lossy(&output.expect("windlass starts").stdout).into_owned()
    }
}

fn file_url(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
fn no_command_finds_a_withheld_secret_in_the_process_that_runs_it() {
    for user in [User::Own, User::Ordinary] {
        let canary = Canary::new("commands", user);
        canary.check("mcp", &canary.by_mcp(&[], "runtime"));
        canary.check("mcp, detached", &canary.by_mcp(&[], "detached"));
        canary.check("app-server", &canary.by_app_server());
        canary.check("exec-server", &canary.by_exec_server());
        canary.check("run", &canary.by_run());
        canary.check("run --detach", &canary.by_detached_run());
    }
}

/// The same script finds the secret in a parent that hides nothing: otherwise the tests here would show nothing.
#[test]
fn the_searching_script_finds_the_secret_in_a_parent_that_is_not_protected() {
    for user in [User::Own, User::Ordinary] {
        let canary = Canary::new("control", user);
        // A shell with the secret in its environment starts one without it.
        let mut command = Command::new("sh");
        command.args(["-c", &format!("env -u {NAME} sh -c \"$1\"; true"), "sh", &canary.search()]);
        let mut command = if user == User::Ordinary { as_ordinary(&command) } else { command };
        let output = command.env(NAME, &canary.value).stdin(Stdio::null()).output().expect("it starts");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("found in /proc/"), "{user:?}: {output:?}");
    }
}

/// The setup of a sandbox uses files of this program's own process that are closed to other processes.
#[test]
fn a_confined_command_finds_no_secret_and_opens_no_memory_of_its_server() {
    for user in [User::Own, User::Ordinary] {
        for layers in ["all", "landlock"] {
            let canary = Canary::new(&format!("confined-{layers}"), user);
            let words = ["--sandbox", "workspace-write", "--sandbox-layers", layers];
            let printed = canary.by_mcp(&words, "runtime");
            canary.check(layers, &printed);
            assert!(!printed.contains("opened the memory"), "{layers} for {user:?}: {printed}");
        }
    }
}
