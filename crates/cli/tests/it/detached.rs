//! `windlass run --detach` and `windlass stop`: sessions that outlive the process that started them, and how they end.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use serde_json::{Value, json};
use windlass_engine::{
    CommandSpec, Engine, EngineOptions, Lifetime, ProcessKey, StartRecord, Store, StoreLimits,
};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::mark::{Fate, RuntimeTag};
use windlass_sys::process::{Pid, Process};
use windlass_sys::pty::{self, Size};
use windlass_sys::signal::Signal;
use windlass_sys::spawn::{self, Kinship, Launch};
use windlass_testkit::{HANG, survivors};

use crate::rig::{Doomed, Home, Running, WINDLASS, escapees, held, hold_escapees, nothing_survives};

/// A detached session whose shim does not outlive the test.
struct Kept {
    id: String,
    shim: Doomed,
}

impl Kept {
    fn start(home: &Home, words: &[&str]) -> Self {
        let told = home.json(&[&["run", "--detach", "--json"], words].concat());
        assert_eq!(told["state"], "running");
        Self::find(home, &told["session"])
    }

    fn find(home: &Home, session: &Value) -> Self {
        let shim = Doomed::hold(&listed(home, session)["runtime_pid"]);
        Self { id: session.to_string(), shim }
    }

    fn follow(&self, home: &Home) -> Running {
        home.start(&["log", "--follow", &self.id])
    }

    /// Polls until there is a receipt: processes that the root left running prevent all other events.
    fn exits(&self, home: &Home) {
        while self.state(home) == "running" || self.state(home) == "exiting" {}
        assert_eq!(self.state(home), "exited");
    }

    fn state(&self, home: &Home) -> Value {
        listed(home, &self.id.parse().unwrap())["state"].clone()
    }
}

fn listed(home: &Home, session: &Value) -> Value {
    let all = home.json(&["ps", "--all", "--json"]);
    let found = all.as_array().unwrap().iter().find(|listed| listed["session"] == *session);
    found.unwrap_or_else(|| panic!("no session {session} in {all}")).clone()
}

/// A named pipe: its reader blocks until it has a writer.
fn fifo(home: &Home, name: &str) -> PathBuf {
    let path = home.path().join(name);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

fn wait_for(process: &Process) {
    wait_until_gone(std::slice::from_ref(process), HANG);
    assert!(!process.is_alive());
}

#[test]
fn a_detached_session_is_told_at_once_and_has_nothing_to_read() {
    let home = Home::new("detach");
    let seen = home.seen(&["run", "--detach", "--name", "web", "cat; echo end of input; exec sleep 1000"]);
    assert_eq!((seen.code, seen.stdout.as_str(), seen.stderr.as_str()), (0, "session 1001 (web)\n", ""));
    let kept = Kept::find(&home, &json!(1001));
    kept.follow(&home).printed("end of input");
    let listed = listed(&home, &json!(1001));
    assert_eq!((&listed["state"], &listed["name"]), (&json!("running"), &json!("web")));
    let told = home.json(&["stop", "web", "--json"]);
    assert_eq!((&told["state"], &told["already_over"]), (&json!("stopped"), &json!(false)));
}

/// Starts a shell that leads a session on a terminal of its own, as a window or a login does.
fn at_a_terminal(home: &Home, script: &str) -> (pty::Pty, Process) {
    let c_string = |text: &OsStr| CString::new(text.as_bytes()).unwrap();
    let terminal = pty::open(Size::default()).unwrap();
    let state = format!("WINDLASS_STATE_DIR={}", home.path().display());
    let path = format!("PATH={}", std::env::var("PATH").unwrap());
    let launch = Launch {
        program: c"/bin/sh",
        arguments: &["sh", "-c", script].map(|word| c_string(word.as_ref())),
        environment: &[state, path].map(|variable| c_string(variable.as_ref())),
        directory: c"/",
        identity: None,
        stdio: spawn::Stdio::Terminal { slave: rustix::fd::AsFd::as_fd(&terminal.slave) },
        mark: None,
        open_files: None,
        limits: windlass_sys::limits::ProcessLimits::default(),
        groups: &[],
        passed: &[],
        kinship: Kinship::Child,
    };
    let shell = spawn::launch(&launch).unwrap();
    (terminal, shell)
}

#[test]
fn a_detached_session_outlives_its_starter_and_its_starters_terminal() {
    let home = Home::new("detach-terminal");
    let (go, started) = (fifo(&home, "go"), fifo(&home, "started"));
    let script = format!("echo up; read line < {}; echo $line; exec sleep 1000", go.display());
    let typed =
        format!("'{WINDLASS}' run --detach '{script}'; echo done > {}; exec sleep 1000", started.display());
    let (terminal, shell) = at_a_terminal(&home, &typed);
    assert_eq!(std::fs::read_to_string(&started).unwrap(), "done\n");
    let kept = Kept::find(&home, &json!(1001));
    let mut follow = kept.follow(&home);
    follow.printed("up");
    // Closing the window kills all processes that belong to it.
    drop(terminal);
    shell.signal_group(Signal::KILL).unwrap();
    shell.reap_blocking().unwrap();
    std::fs::write(&go, "went on\n").unwrap();
    follow.printed("went on");
    assert_eq!(kept.state(&home), "running");
    assert_eq!(home.seen(&["log", "1001"]).stdout, "up\nwent on\n");
    assert_eq!(home.seen(&["stop", "1001"]).code, 0);
    assert_eq!(follow.exit_code(), Some(0), "whoever follows is told of the end");
}

#[test]
fn a_shim_is_deaf_to_what_terminals_send() {
    let home = Home::new("detach-deaf");
    let go = fifo(&home, "go");
    let kept = Kept::start(&home, &[&format!("echo up; read line < {}; echo $line", go.display())]);
    let mut follow = kept.follow(&home);
    follow.printed("up");
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT] {
        kept.shim.process().signal(signal).unwrap();
    }
    std::fs::write(&go, "went on\n").unwrap();
    follow.printed("went on");
    wait_for(kept.shim.process());
    assert_eq!(kept.state(&home), "exited");
}

#[test]
fn a_detached_session_waits_for_no_reader() {
    let home = Home::new("detach-flood");
    let puppet = windlass_testkit::puppet().display().to_string();
    let go = fifo(&home, "go");
    // More than a streamed command may get ahead of its reader.
    let script = format!("read line < {}; exec '{puppet}' flood 5 20000000 65536", go.display());
    let kept = Kept::start(&home, &[&script]);
    std::fs::write(&go, "go\n").unwrap();
    wait_for(kept.shim.process());
    let listed = listed(&home, &json!(1001));
    assert_eq!((&listed["state"], &listed["output_bytes"]), (&json!("exited"), &json!(20_000_000)));
}

#[test]
fn a_detached_session_may_have_a_terminal() {
    let home = Home::new("detach-tty");
    let kept = Kept::start(&home, &["--tty", "--size", "30x100", "stty size; tty; exec sleep 1000"]);
    kept.follow(&home).printed("/dev/pts/");
    assert_eq!(home.seen(&["log", "1001", "--lines", "1"]).stdout, "30 100\n");
    home.seen(&["stop", "1001"]);
    assert_eq!(kept.state(&home), "stopped");
}

#[test]
fn a_timeout_ends_a_detached_session() {
    let home = Home::new("detach-timeout");
    // The session may be over before the test could look for its shim.
    assert_eq!(home.seen(&["run", "--detach", "--timeout", "200ms", "sleep 1000"]).code, 0);
    home.seen(&["log", "--follow", "1001"]);
    assert_eq!(listed(&home, &json!(1001))["state"], "timeout");
}

fn stop_ends_the_tree(name: &str, deaf: &str) {
    let home = Home::new(name);
    let token = survivors::token(name);
    let kept = Kept::start(&home, &["--name", "tree", &escapees(&token, deaf)]);
    let held = hold_escapees(&mut kept.follow(&home), &token);
    let seen = home.seen(&["stop", "tree"]);
    nothing_survives(&held, &token);
    assert_eq!((seen.code, seen.stderr.as_str()), (0, ""));
    assert!(seen.stdout.contains("session 1001 was stopped by SIG"), "{seen:?}");
    assert!(seen.stdout.contains("processes: ") && seen.stdout.contains(&token), "{seen:?}");
    let listed = listed(&home, &json!(1001));
    assert_eq!((&listed["state"], &listed["cause"]), (&json!("stopped"), &json!("stopped")));
    assert!(!kept.shim.process().is_alive());
}

#[test]
fn stop_ends_the_whole_tree_and_the_receipt_says_stopped() {
    stop_ends_the_tree("stop", "HUP");
}

#[test]
fn stop_ends_a_tree_that_is_deaf_to_it() {
    stop_ends_the_tree("stop-deaf", "TERM HUP INT");
}

#[test]
fn a_session_that_is_over_is_not_stopped_again_and_that_is_no_error() {
    let home = Home::new("stop-over");
    home.seen(&["run", "exit 3"]);
    let seen = home.seen(&["stop", "1001"]);
    assert_eq!(
        (seen.code, seen.stdout.as_str()),
        (0, "session 1001 is over already: it exited with code 3\n")
    );
    assert_eq!(home.json(&["stop", "1001", "--json"])["already_over"], true);
    let seen = home.seen(&["stop", "nobody"]);
    assert_eq!(seen.code, 1);
    assert!(seen.stderr.contains("no session `nobody`; the newest are 1001"), "{seen:?}");
}

#[test]
fn stop_ends_a_run_in_the_foreground_too() {
    let home = Home::new("stop-front");
    let mut running = home.start(&["run", "--name", "front", "echo up; exec sleep 1000"]);
    running.printed("up");
    let seen = home.seen(&["stop", "front"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (0, "session 1001 was stopped by SIGTERM\n"), "{seen:?}");
    assert_eq!(running.exit_code(), Some(143));
}

#[test]
fn a_name_that_is_live_is_refused_and_free_again_after_the_stop() {
    let home = Home::new("detach-name");
    let _first = Kept::start(&home, &["--name", "web", "--", "sleep", "1000"]);
    let seen = home.seen(&["run", "--detach", "--name", "web", "--", "sleep", "1000"]);
    assert_eq!((seen.code, seen.stdout.as_str()), (125, ""));
    assert!(seen.stderr.contains("the name `web` is held by session 1001"), "{seen:?}");
    assert!(seen.stderr.contains("windlass stop"), "{seen:?}");
    home.seen(&["stop", "web"]);
    let second = Kept::start(&home, &["--name", "web", "--", "sleep", "1000"]);
    home.seen(&["stop", "web"]);
    assert_eq!(second.state(&home), "stopped");
}

#[test]
fn a_start_that_fails_is_told_in_the_foreground_and_leaves_nothing() {
    let home = Home::new("detach-missing");
    let token = survivors::token("detach-missing");
    let seen = home.seen(&["run", "--detach", "--", &token]);
    assert_eq!((seen.code, seen.stdout.as_str()), (127, ""));
    assert!(seen.stderr.starts_with(&format!("windlass: program not found: {token}")), "{seen:?}");
    assert!(seen.stderr.contains("hint: "), "{seen:?}");
    assert_eq!(home.seen(&["run", "--detach", "--", "/etc/passwd", &token]).code, 126);
    let seen = home.seen(&["run", "--detach", "--cwd", "/no/such/directory", "--", "true", &token]);
    assert_eq!(seen.code, 125);
    assert_eq!(home.json(&["ps", "--json"]), json!([]));
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[test]
fn a_session_that_nobody_could_read_later_is_not_detached() {
    let home = Home::new("detach-nowhere");
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    let token = survivors::token("detach-nowhere");
    let mut command = home.windlass(&["run", "--detach", "--", WINDLASS, "demo-stray", &token]);
    let output = command.env("WINDLASS_STATE_DIR", file.join("state")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(said.contains("a detached session needs a state directory"), "{said}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[test]
fn a_session_whose_starter_died_before_it_was_told_is_ended_again() {
    let home = Home::new("detach-untold");
    let token = survivors::token("detach-untold");
    // The shim itself, with its output on a pipe without a reader.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut shim = home.windlass(&["keep", "--detach", "--", WINDLASS, "demo-stray", &token]);
    assert!(!shim.stdout(writer).status().unwrap().success());
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
    assert_eq!(listed(&home, &json!(1001))["state"], "stopped");
}

#[test]
fn a_killed_shim_leaves_nothing_behind_and_its_session_is_lost() {
    let home = Home::new("detach-kill");
    let token = survivors::token("detach-kill");
    let kept = Kept::start(&home, &[&escapees(&token, "HUP")]);
    let mut follow = kept.follow(&home);
    let held = hold_escapees(&mut follow, &token);
    kept.shim.end();
    nothing_survives(&held, &token);
    assert_eq!(kept.state(&home), "lost");
    assert_eq!(follow.exit_code(), Some(0));
    let seen = home.seen(&["stop", "1001"]);
    assert_eq!(seen.code, 0);
    assert!(seen.stdout.contains("is over already: its windlass died"), "{seen:?}");
}

#[test]
fn a_shim_stays_for_what_its_command_left_running_and_goes_when_that_does() {
    let home = Home::new("detach-left");
    let (go, up) = (fifo(&home, "go"), fifo(&home, "up"));
    let script = left_behind(&go, &up);
    let kept = Kept::start(&home, &[&script]);
    std::fs::write(&up, "go\n").unwrap();
    kept.exits(&home);
    assert!(kept.shim.process().is_alive());
    std::fs::write(&go, "go\n").unwrap();
    wait_for(kept.shim.process());
}

#[test]
fn what_a_command_left_running_is_still_read_and_followed() {
    let home = Home::new("detach-printing");
    let (go, up) = (fifo(&home, "go"), fifo(&home, "up"));
    let script = format!("read line < {}; (setsid sh -c 'cat {}' &); echo left", up.display(), go.display());
    let kept = Kept::start(&home, &[&script]);
    std::fs::write(&up, "go\n").unwrap();
    kept.exits(&home);
    let mut follow = kept.follow(&home);
    follow.printed("left");
    std::fs::write(&go, "went on\n").unwrap();
    follow.printed("went on");
    assert_eq!(follow.exit_code(), Some(0));
    wait_for(kept.shim.process());
    assert_eq!(home.seen(&["log", "1001"]).stdout, "left\nwent on\n");
}

#[test]
fn stop_ends_what_a_command_left_running() {
    let home = Home::new("stop-left");
    let (go, up) = (fifo(&home, "go"), fifo(&home, "up"));
    let token = survivors::token("stop-left");
    let script = format!("{}; : {token}", left_behind(&go, &up));
    let kept = Kept::start(&home, &[&script]);
    std::fs::write(&up, "go\n").unwrap();
    kept.exits(&home);
    let held = held(&survivors::bearing(&token));
    let seen = home.seen(&["stop", "1001"]);
    assert!(seen.stdout.starts_with("session 1001 exited with code 0\nended 1 process: "), "{seen:?}");
    nothing_survives(&held, &token);
}

/// A command that waits for a line in `up` and then leaves a process without any output behind, which exits after a
/// line in `go`.
fn left_behind(go: &Path, up: &Path) -> String {
    let stray = format!("read line < {}", go.display());
    format!("read line < {}; (setsid sh -c '{stray}' > /dev/null 2>&1 &)", up.display())
}

#[test]
fn a_session_that_was_detached_within_another_ends_with_it() {
    let home = Home::new("detach-nested");
    let token = survivors::token("detach-nested");
    let inner = format!("'{WINDLASS}' run --detach -- '{WINDLASS}' demo-stray {token}");
    let seen = home.seen(&["run", &inner]);
    assert!(seen.code == 0 && seen.stdout.starts_with("session 1"), "{seen:?}");
    assert!(seen.stderr.contains("left running"), "{seen:?}");
    assert_eq!(survivors::bearing(&token), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_shares_its_runtime_is_stopped_alone() {
    let home = Home::new("stop-shared");
    let store = Store::open(home.path(), StoreLimits::default()).unwrap();
    // This test is the runtime: a signal would end it.
    let engine = Engine::new(EngineOptions { store: Some(store), ..EngineOptions::default() }).unwrap();
    let start = || engine.start(CommandSpec::new(["/bin/sleep", "1000"], "/")).unwrap();
    let (first, second) = (start(), start());
    let words = ["stop".to_owned(), first.id().to_string()];
    let home = std::sync::Arc::new(home);
    let stopping = std::sync::Arc::clone(&home);
    let stop = move || stopping.seen(&words.each_ref().map(String::as_str));
    let seen = tokio::task::spawn_blocking(stop).await.unwrap();
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(first.receipt().unwrap().cause, windlass_engine::Cause::Stopped);
    assert!(second.receipt().is_none());
    engine.shutdown().await;
}

#[test]
fn a_command_that_lost_its_windlass_is_ended_without_it() {
    let home = Home::new("stop-orphan");
    let store = Store::open(home.path(), StoreLimits::default()).unwrap();
    let mut command = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let root = ProcessKey::of(Pid::new(command.id()));
    let runtime_tag = RuntimeTag::generate();
    let mark = runtime_tag.mark(1, Fate::Detached);
    runtime_tag.halves(mark).unwrap().put_on(Pid::new(command.id())).unwrap();
    let record = StartRecord {
        id: store.claim_id().unwrap(),
        name: Some("orphan".to_owned()),
        argv: vec!["sleep".into(), "1000".into()],
        script: None,
        withheld: Vec::new(),
        owner: None,
        cwd: "/".into(),
        terminal: false,
        lifetime: Lifetime::Detached,
        sandbox: None,
        started: SystemTime::UNIX_EPOCH,
        // A runtime with the same pid from an earlier time: that process is gone.
        runtime: ProcessKey { start_ticks: 1, ..ProcessKey::of(Pid::of_this_process()) },
        root,
        mark: Some(mark),
        limits: windlass_engine::Limits::default(),
    };
    store.begin(&record).unwrap();
    let seen = home.seen(&["stop", "orphan"]);
    assert!(seen.stdout.contains("had lost its windlass; its command was ended"), "{seen:?}");
    assert!(seen.stdout.contains(&format!("ended 1 process: {} sleep 1000", root.pid)), "{seen:?}");
    assert!(!command.wait().unwrap().success());
    assert_eq!(seen.code, 0);
}

#[test]
fn stop_takes_several_sessions_reports_each_and_fails_if_one_fails() {
    let home = Home::new("stop-several");
    for name in ["web", "db"] {
        assert_eq!(home.seen(&["run", "--detach", "--name", name, "exec sleep 1000"]).code, 0);
    }
    let seen = home.seen(&["stop", "web", "nobody", "1002"]);
    assert_eq!(seen.code, 1, "{seen:?}");
    let stopped = "session 1001 was stopped by SIGTERM\nsession 1002 was stopped by SIGTERM\n";
    assert_eq!(seen.stdout, stopped, "{seen:?}");
    assert!(seen.stderr.contains("nobody"), "{seen:?}");
    let seen = home.seen(&["stop", "--json", "1001", "1002"]);
    let told: Vec<Value> =
        seen.stdout.lines().map(|line| serde_json::from_str(line).expect("a line is an object")).collect();
    let sessions: Vec<_> = told.iter().map(|one| (&one["session"], &one["already_over"])).collect();
    assert_eq!(sessions, [(&json!(1001), &json!(true)), (&json!(1002), &json!(true))]);
}
