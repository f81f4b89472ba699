//! A standing adversary: confined programs attack the tree while the runtime works in it, both in an order that a seed
//! decides. It runs for a few seconds here, and for `WINDLASS_TEST_ADVERSARY_SECONDS` if that is set; the seed is
//! printed, and `WINDLASS_TEST_ADVERSARY_SEED` repeats it.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::stage::{Owner, Stage};
use crate::mcp::Served;

const PROGRAM: &str = include_str!("adversary.c");

/// A confined program that attacks until this is dropped.
struct Adversary {
    child: Child,
    input: Option<ChildStdin>,
}

impl Adversary {
    /// `None`: another adversary kept its sandbox from being set up.
    fn try_start(stage: &Stage, layers: &str, seed: u64) -> Option<Self> {
        let (program, seed, outside) = (stage.path("adversary"), seed.to_string(), stage.path("outside"));
        Self::try_start_as(stage, &confined(stage, layers, &[], &[&program, &seed, &outside]))
    }

    fn try_start_as(stage: &Stage, words: &[String]) -> Option<Self> {
        let mut command = stage.command(words);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("it can be read");
        let adversary = Self { input: child.stdin.take(), child };
        (line == "hostile\n").then_some(adversary)
    }
}

impl Adversary {
    fn start(stage: &Stage, layers: &str, seed: u64) -> Self {
        const TRIES: usize = 200;
        let mut tries = (0..TRIES).map(|_| Self::try_start(stage, layers, seed));
        tries.find_map(|adversary| adversary).expect("one of the tries succeeds")
    }
}

impl Drop for Adversary {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn confined(stage: &Stage, layers: &str, rules: &[&str], command: &[&str]) -> Vec<String> {
    let program = stage.windlass();
    let policy = [program.as_str(), "run", "--sandbox", "workspace-write", "--sandbox-layers", layers];
    [&policy[..], rules, &["--"], command].concat().into_iter().map(str::to_owned).collect()
}

/// A number of seconds or a seed from the environment of the tests.
fn chosen(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The work of the runtime, and of the user beside it, while the tree is attacked.
fn work(stage: &Stage, layers: &str, served: &mut Served, turn: u64) {
    let run = |words: &[String]| stage.command(words).output().expect("it starts");
    let is_sound = |output: &Output| {
        // A tree that changes all the time may prevent a sandbox from being set up; then no command was started.
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code().is_some_and(|code| code != 101), "{layers}: {output:?}");
        assert!(!said.contains("panicked"), "{layers}: {said}");
    };
    // In no fixed order, so that every kind of work meets every state of the tree.
    match (turn.wrapping_mul(6_364_136_223_846_793_005) >> 33) % 5 {
        0 => is_sound(&run(&confined(stage, layers, &[], &["sh", "-c", "echo x > a/x; git add -A; true"]))),
        1 => {
            let rules = ["--deny-read", "denied", "--read-only", "**/x"];
            let output = run(&confined(stage, layers, &rules, &["sh", "-c", "cat denied; true"]));
            is_sound(&output);
            assert!(!String::from_utf8_lossy(&output.stdout).contains("secret"), "{layers}: {output:?}");
        }
        2 => {
            let arguments = json!({ "cmd": "echo from the server > b/x; true", "shell": "bash" });
            served.ask("exec", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
        }
        3 => {
            // An editor of the user saves a denied file.
            run(&["sh", "-c", "echo 'secret of the user' > ../saved && mv -f ../saved denied"]
                .map(str::to_owned));
        }
        _ => {
            let arguments = json!({ "cmd": "cd sub 2>/dev/null; pwd", "workdir": "a" });
            served.ask("exec", "tools/call", &json!({ "name": "exec_command", "arguments": arguments }));
        }
    }
}

fn check(name: &str, owner: Owner, layers: &str) {
    let seconds = chosen("WINDLASS_TEST_ADVERSARY_SECONDS").unwrap_or(3);
    let seed = chosen("WINDLASS_TEST_ADVERSARY_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("seed {seed} ({name}, {layers})");
    let stage = Stage::new(&format!("adversary-{name}"), owner);
    stage.compile_also("adversary", PROGRAM);
    let made = "mkdir a b sub; git init -q sub; echo 'secret: one' > denied; ln -s a link";
    assert!(stage.command(&["sh", "-ec", made].map(str::to_owned)).status().expect("it starts").success());
    let before = stage.traces();
    let words = ["mcp", "--sandbox", "workspace-write", "--sandbox-layers", layers].map(str::to_owned);
    let words: Vec<String> = [stage.windlass()].into_iter().chain(words).collect();
    let mut served = Served::of(stage.command(&words).stderr(Stdio::null()));
    served.greet();
    let adversaries: Vec<Adversary> =
        (0..2).map(|number| Adversary::start(&stage, layers, seed + number)).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    for turn in seed.. {
        work(&stage, layers, &mut served, turn);
        if Instant::now() >= end {
            break;
        }
    }
    drop(adversaries);
    assert_eq!(stage.traces(), before, "seed {seed} ({name}, {layers})");
    let heard = std::fs::metadata(stage.path("outside/signals")).expect("the victim made it").len();
    assert_eq!(heard, 0, "seed {seed} ({name}, {layers}): the victim got a signal");
    for planted in ["planted", "outside/planted", "home/planted"] {
        assert!(!std::path::Path::new(&stage.path(planted)).exists(), "seed {seed}: {planted}");
    }
}

#[test]
fn an_adversary_changes_nothing_outside_while_the_runtime_works_beside_it() {
    for layers in ["all", "landlock"] {
        check("root", Owner::Myself, layers);
        check("user", Owner::ordinary(), layers);
    }
}

/// Without this test, the one beside it would show nothing.
#[test]
fn the_adversary_changes_what_is_outside_where_nothing_confines_it() {
    let stage = Stage::new("adversary-bare", Owner::ordinary());
    stage.compile_also("adversary", PROGRAM);
    let made = "mkdir a b sub; git init -q sub; echo 'secret: one' > denied; ln -s a link";
    assert!(stage.command(&["sh", "-ec", made].map(str::to_owned)).status().expect("it starts").success());
    let words = [stage.path("adversary"), "1".to_owned(), stage.path("outside")];
    let _adversary = Adversary::try_start_as(&stage, &words).expect("nothing keeps it from starting");
    let is_there = |name: &str| std::path::Path::new(&stage.path(name)).exists();
    let heard = || std::fs::metadata(stage.path("outside/signals")).is_ok_and(|about| about.len() > 0);
    let deadline = windlass_testkit::hang_deadline();
    while !(is_there("outside/planted") && is_there("work/.windlass") && heard()) {
        assert!(Instant::now() < deadline, "it changed nothing outside");
        std::thread::yield_now();
    }
}
