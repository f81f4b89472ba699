//! A server prepares the sandbox of the next command before it knows the command. These tests change things in between:
//! the next command gets the sandbox that it would get without any preparation.

use serde_json::{Value, json};
use windlass_testkit::hang_deadline;

use super::stage::{Owner, Stage};
use crate::mcp::Served;
use crate::rig::{escapees, held, nothing_survives};
use windlass_testkit::survivors;

/// A server whose commands all have the same sandbox.
pub(super) struct Server {
    served: Served,
}

impl Server {
    /// Starts one in a directory, with these words before its own, such as `unshare --mount`.
    pub(super) fn start(stage: &Stage, directory: &str, before: &[&str], rules: &[&str]) -> Self {
        let windlass = stage.windlass();
        let words = [before, &[&windlass, "mcp", "--sandbox", "workspace-write"], rules].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let mut command = stage.command(&words);
        let temporary = format!("{directory}/tmp");
        let mut served = Served::of(command.current_dir(directory).env("TMPDIR", temporary));
        served.greet();
        Self { served }
    }

    /// Runs a script and returns its output.
    pub(super) fn run(&mut self, script: &str) -> String {
        let answer = self.call(&json!({ "cmd": script, "login": false }));
        answer["output"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    pub(super) fn call(&mut self, arguments: &Value) -> Value {
        let params = json!({ "name": "exec_command", "arguments": arguments });
        let mut answer = self.served.ask("run", "tools/call", &params);
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["structuredContent"].take()
    }

    /// Waits until a prepared process is ready that lacks only its command: a child of the server with a system call
    /// filter.
    pub(super) fn wait_until_prepared(&self) {
        let deadline = hang_deadline();
        while !self.children().iter().any(|child| is_filtered(child)) {
            assert!(std::time::Instant::now() < deadline, "nothing was prepared");
            std::thread::yield_now();
        }
    }

    fn children(&self) -> Vec<String> {
        let tasks = format!("/proc/{}/task", self.served.child.id());
        let tasks = std::fs::read_dir(tasks).expect("the server runs").flatten();
        let children = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("children")).unwrap_or_default()
        };
        tasks
            .flat_map(|task| children(task).split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.served.input = None;
        let _ = self.served.child.wait();
    }
}

fn is_filtered(process: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(|text| text.contains("Seccomp:\t2"))
}

/// A change that a user makes between two commands, and the expected output of the second one.
struct Case {
    name: &'static str,
    before: &'static str,
    rules: &'static [&'static str],
    between: &'static str,
    second: &'static str,
    says: &'static str,
}

const CASES: [Case; 6] = [
    Case {
        name: "nothing is changed",
        before: "true",
        rules: &[],
        between: "true",
        second: "touch new && echo made; touch ../outside && echo GOT",
        says: "made\n",
    },
    Case {
        name: "the workspace is another directory",
        before: "true",
        rules: &[],
        between: "mv ../place ../old; mkdir ../place",
        second: "touch new && echo made; touch ../old/x && echo GOT",
        says: "made\n",
    },
    Case {
        name: "the workspace was removed and made again",
        before: "true",
        rules: &[],
        between: "cd ..; rm -r place; mkdir place",
        second: "touch new && echo made",
        says: "made\n",
    },
    Case {
        name: "hooks are others",
        before: "git init -q; rm -rf .git/hooks; mkdir .git/hooks",
        rules: &[],
        between: "mv .git/hooks .git/harmless; mkdir .git/hooks",
        second: "touch .git/harmless/x && echo made; touch .git/hooks/x && echo GOT",
        says: "made\n",
    },
    Case {
        name: "a denied file was saved anew",
        before: "echo secret > denied",
        rules: &["--deny-read", "denied"],
        between: "echo 'a new secret' > saved; mv saved denied",
        second: "cat denied && echo GOT; touch new && echo made",
        says: "made\n",
    },
    Case {
        name: "a protected file came",
        before: "true",
        rules: &["--read-only", "kept"],
        between: "echo kept > kept",
        second: "echo x > kept && echo GOT; cat kept",
        says: "kept\n",
    },
];

#[test]
fn what_changes_before_the_command_comes_holds_for_it() {
    for (name, owner) in [("prepared", Owner::Myself), ("prepared-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        for case in &CASES {
            let place = stage.directory(&["prepared", "place"]);
            let plainly = |script: &str| {
                let words = ["sh", "-ec", script].map(str::to_owned);
                let output = stage.command(&words).current_dir(&place).output().expect("it starts");
                assert!(output.status.success(), "{}: {output:?}", case.name);
            };
            plainly(case.before);
            let mut server = Server::start(&stage, &place, &[], case.rules);
            server.run("true");
            server.wait_until_prepared();
            plainly(case.between);
            let said = server.run(&format!("({}) 2>/dev/null", case.second));
            assert_eq!(said, case.says, "{} ({owner:?})", case.name);
            drop(server);
            plainly("cd ..; rm -rf place old");
        }
    }
}

#[test]
fn what_is_mounted_before_the_command_comes_is_there() {
    if !rustix::process::geteuid().is_root() {
        // Only root can mount something there in the first place.
        return;
    }
    let stage = Stage::new("prepared-mounts", Owner::Myself);
    let place = stage.directory(&["place"]);
    let mut server = Server::start(&stage, &place, &["unshare", "--mount"], &[]);
    server.run("mkdir mounted");
    server.run("true");
    server.wait_until_prepared();
    let script = "mount -t tmpfs none mounted; echo there > mounted/file";
    let number = server.served.child.id().to_string();
    let words = ["nsenter", "--mount", "--target", &number, "--wd", "sh", "-ec", script].map(str::to_owned);
    let output = stage.command(&words).output().expect("it starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(server.run("cat mounted/file"), "there\n");
}

#[test]
fn a_prepared_sandbox_has_the_terminal_of_its_command() {
    for (name, owner) in [("prepared-tty", Owner::Myself), ("prepared-tty-user", Owner::ordinary())] {
        let stage = Stage::new(name, owner);
        let place = stage.directory(&["place"]);
        let mut server = Server::start(&stage, &place, &[], &[]);
        let script = "tty; stty size; ls -l $(tty) | cut -c1; echo said > /dev/tty; echo seen > $(tty)";
        let arguments = json!({ "cmd": script, "tty": true, "login": false });
        for number in 0..4 {
            let answer = server.call(&arguments);
            let expected = "/dev/console\n24 80\nc\nsaid\nseen\n";
            assert_eq!(answer["output"], expected, "{number} {owner:?}");
            assert!(answer.get("denials").is_none(), "{answer} {owner:?}");
        }
    }
}

#[test]
fn a_command_in_a_prepared_sandbox_ends_with_a_server_that_is_killed() {
    let stage = Stage::new("prepared-killed", Owner::Myself);
    let place = stage.directory(&["place"]);
    let mut server = Server::start(&stage, &place, &[], &[]);
    server.run("true");
    server.wait_until_prepared();
    let token = format!("prepared-{}", std::process::id());
    let answer = server.call(&json!({
        "cmd": escapees(&token, "HUP"),
        "login": false,
        "until": { "pattern": "(?s)(is up.*){5}" },
    }));
    assert_eq!(answer["met"], "pattern", "{answer}");
    let processes = held(&survivors::bearing(&token));
    assert!(processes.len() >= 5, "{answer}");
    server.wait_until_prepared();
    let waiting: Vec<String> = server.children();
    server.served.child.kill().expect("it can be killed");
    let _ = server.served.child.wait();
    nothing_survives(&processes, &token);
    let deadline = hang_deadline();
    while waiting.iter().any(|child| is_filtered(child)) {
        assert!(std::time::Instant::now() < deadline, "a helper outlives its server");
        std::thread::yield_now();
    }
}
