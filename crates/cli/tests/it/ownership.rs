//! Processes that a session started belong to it, whichever processes of windlass are killed; a name belongs to one
//! session; and windlass never mistakes one process for another.

use std::process::{Child, Command, Stdio};
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};
use windlass_engine::{Lifetime, PidScope, ProcessKey, StartRecord, Store, StoreLimits};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::mark::{Fate, RuntimeTag};
use windlass_sys::process::{Pid, Process, is_stopped};
use windlass_sys::signal::Signal;
use windlass_testkit::{HANG, hang_deadline, survivors};

use crate::mcp::Served;
use crate::rig::{Doomed, Home, Running, Seen, WINDLASS, escapees, hold_escapees, nothing_survives};

/// The guardians that are children of this runtime.
fn guardians_of(runtime: u32) -> Vec<Process> {
    let children = std::fs::read_dir(format!("/proc/{runtime}/task")).into_iter().flatten().flatten();
    let lists = children.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let pids: Vec<u32> = lists
        .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect();
    pids.into_iter()
        .filter(|pid| comm(*pid) == "wl-guardian")
        .filter_map(|pid| Process::open(Pid::new(pid)).ok())
        // A dead one keeps its name until it is reaped.
        .filter(Process::is_alive)
        .collect()
}

fn comm(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The one guardian of a runtime. It gets its name a moment after its start.
fn guardian_of(runtime: u32) -> Process {
    let deadline = hang_deadline();
    loop {
        if let Some(guardian) = guardians_of(runtime).pop() {
            return guardian;
        }
        assert!(Instant::now() < deadline, "no guardian of {runtime}");
        std::thread::yield_now();
    }
}

fn eventually(what: &str, is_true: impl Fn() -> bool) {
    let deadline = hang_deadline();
    while !is_true() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// A tree that tries all ways to escape, whose runtime and guardian were killed together.
fn abandoned(home: &Home, token: &str) -> Vec<Process> {
    let mut running = home.start(&["run", "--name", "tree", &escapees(token, "HUP")]);
    let mut held = hold_escapees(&mut running, token);
    held.retain(|process| process.pid().get() != running.child.id());
    let guardian = guardian_of(running.child.id());
    // Both are stopped first and killed in one step: neither sees the other die.
    running.signal(Signal::STOP);
    guardian.signal(Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    assert_eq!(running.exit_code(), None);
    assert!(held.iter().all(Process::is_alive), "the tree survived both");
    held
}

#[test]
fn the_next_windlass_ends_what_a_runtime_left_that_died_with_its_guardian() {
    let home = Home::new("own-sweep");
    let token = survivors::token("tree-sweep");
    let held = abandoned(&home, &token);
    assert_eq!(home.seen(&["run", "--", "true"]).code, 0);
    nothing_survives(&held, &token);
    assert_eq!(home.json(&["ps", "--all", "--json"])[0]["state"], "lost");
}

#[test]
fn a_list_that_says_ending_makes_it_true() {
    let home = Home::new("own-ps");
    let token = survivors::token("tree-ps");
    let held = abandoned(&home, &token);
    assert_eq!(home.json(&["ps", "--json"])[0]["state"], "ending");
    nothing_survives(&held, &token);
}

#[test]
fn a_list_ends_what_is_left_of_a_lost_session_whose_root_is_dead() {
    let home = Home::new("own-lost");
    let token = survivors::token("tree-lost");
    let mut running = home.start(&["run", "--name", "tree", &escapees(&token, "HUP")]);
    let held = hold_escapees(&mut running, &token);
    let root = home.json(&["ps", "--json"])[0]["root_pid"].as_u64().unwrap();
    let root = Process::open(Pid::new(u32::try_from(root).unwrap())).unwrap();
    let guardian = guardian_of(running.child.id());
    running.signal(Signal::STOP);
    guardian.signal(Signal::KILL).unwrap();
    root.signal(Signal::KILL).unwrap();
    running.signal(Signal::KILL);
    assert_eq!(running.exit_code(), None);
    wait_until_gone(std::slice::from_ref(&root), HANG);
    // The state was once `lost` while the sweep of this very list was still running.
    assert_eq!(home.json(&["ps", "--json"])[0]["state"], "ending");
    nothing_survives(&held, &token);
    assert_eq!(home.json(&["ps", "--json"])[0]["state"], "lost");
}

/// This once took a minute, and the list said `exiting` without a reason.
#[test]
fn stop_ends_a_session_whose_runtime_is_stopped_without_it_and_says_so() {
    let home = Home::new("own-halted");
    let token = survivors::token("tree-halted");
    let mut running = home.start(&["run", &escapees(&token, "HUP")]);
    let mut held = hold_escapees(&mut running, &token);
    let pid = running.child.id();
    held.retain(|process| process.pid().get() != pid);
    running.signal(Signal::STOP);
    eventually("the runtime is stopped", || is_stopped(Pid::new(pid)));
    let seen = home.seen(&["stop", "1001"]);
    let alive = held.iter().filter(|process| process.is_alive()).count();
    let listed = home.json(&["ps", "--json"]);
    running.signal(Signal::CONT);
    assert_eq!((seen.code, alive), (0, 0), "{seen:?}");
    let said = format!("its windlass (process {pid}) is stopped");
    assert!(seen.stdout.contains(&said) && seen.stdout.contains(&format!("kill -CONT {pid}")), "{seen:?}");
    assert_eq!(listed[0]["state"], "exiting", "{listed}");
    assert!(listed[0]["reason"].to_string().contains(&said), "{listed}");
    assert_eq!(running.exit_code(), Some(143));
    assert_eq!(home.json(&["ps", "--json"])[0]["state"], "stopped");
}

/// Removes the records of all sessions, as if the disk had refused them.
fn remove_records(home: &Home) {
    let files = std::fs::read_dir(home.path()).unwrap().flatten().map(|entry| entry.path());
    let records: Vec<_> = files.filter(|path| path.extension().is_some_and(|it| it == "rec")).collect();
    assert!(!records.is_empty());
    records.iter().for_each(|record| std::fs::remove_file(record).unwrap());
}

/// The runtimes that are registered in the state directory.
fn registered(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.path().join("runtimes")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_next_windlass_ends_a_tree_that_has_no_record_and_whose_runtime_died_with_its_guardian() {
    for words in [&["run", "--", "true"][..], &["ps"]] {
        let home = Home::new("own-unrecorded");
        let token = survivors::token("tree-unrecorded");
        let held = abandoned(&home, &token);
        remove_records(&home);
        assert_eq!(home.seen(words).code, 0);
        nothing_survives(&held, &token);
        eventually("the dead runtime is no longer registered", || registered(&home).is_empty());
    }
}

#[test]
fn a_runtime_is_registered_while_it_has_sessions_and_not_after_it() {
    let home = Home::new("own-registered");
    let mut running = home.start(&["run", "echo up; exec sleep 1000"]);
    running.printed("up");
    let registered_as = registered(&home);
    let [runtime] = registered_as.as_slice() else { panic!("{registered_as:?}") };
    assert!(runtime.contains(&format!("-{}-", running.child.id())), "{runtime}");
    // The command leaves a living runtime alone.
    assert_eq!(home.seen(&["ps"]).code, 0);
    assert_eq!(home.seen(&["run", "--", "true"]).code, 0);
    assert_eq!(registered(&home), registered_as);
    running.signal(Signal::TERM);
    assert_eq!(running.exit_code(), Some(143));
    assert_eq!(registered(&home), Vec::<String>::new());
}

#[test]
fn the_guardian_of_a_killed_runtime_ends_its_registration() {
    let home = Home::new("own-unregistered");
    let mut running = home.start(&["run", "echo up; exec sleep 1000"]);
    running.printed("up");
    assert_eq!(registered(&home).len(), 1);
    running.signal(Signal::KILL);
    assert_eq!(running.exit_code(), None);
    eventually("the guardian removes the file", || registered(&home).is_empty());
}

/// Registers a dead runtime of this family in a state directory, with a change to its key.
fn register_dead(home: &Home, family: u32, change: impl FnOnce(&mut ProcessKey)) {
    let mut key = ProcessKey { start_ticks: 1, ..ProcessKey::of(Pid::of_this_process()) };
    change(&mut key);
    std::fs::create_dir_all(home.path().join("runtimes")).unwrap();
    std::fs::write(home.path().join(format!("runtimes/{family}-{key}")), "").unwrap();
}

#[test]
fn the_family_of_another_boot_or_pid_namespace_or_living_runtime_is_not_ended() {
    let home = Home::new("own-foreign");
    let runtime_tag = RuntimeTag::generate();
    let mut command = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let doomed = Doomed::hold(&command.id().into());
    let process = doomed.process();
    runtime_tag.halves(runtime_tag.mark(1, Fate::WithRuntime)).unwrap().put_on(process.pid()).unwrap();
    register_dead(&home, runtime_tag.family(), |key| key.scope.as_mut().unwrap().boot ^= 1);
    assert_eq!(home.seen(&["ps"]).code, 0);
    assert_eq!(registered(&home), Vec::<String>::new(), "nothing of another boot is left");
    register_dead(&home, runtime_tag.family(), |key| key.scope.as_mut().unwrap().pid_namespace += 1);
    assert_eq!(home.seen(&["ps"]).code, 0);
    register_dead(&home, runtime_tag.family(), |_| {});
    // The key of a living runtime of the same family.
    register_dead(&home, runtime_tag.family(), |key| *key = ProcessKey::of(Pid::of_this_process()));
    assert_eq!(home.seen(&["ps"]).code, 0);
    assert!(process.is_alive());
    let living = format!("runtimes/{}-{}", runtime_tag.family(), ProcessKey::of(Pid::of_this_process()));
    std::fs::remove_file(home.path().join(living)).unwrap();
    assert_eq!(home.seen(&["ps"]).code, 0);
    command.wait().unwrap();
}

#[test]
fn stop_ends_the_whole_family_of_a_dead_runtime() {
    let home = Home::new("own-stop");
    let token = survivors::token("tree-stop");
    let held = abandoned(&home, &token);
    let seen = home.seen(&["stop", "tree"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("had lost its windlass") && seen.stdout.contains(&token), "{seen:?}");
    nothing_survives(&held, &token);
}

#[test]
fn the_sweep_leaves_sessions_of_other_state_directories_alone() {
    let (home, other) = (Home::new("own-mine"), Home::new("own-theirs"));
    let token = survivors::token("tree-theirs");
    let held = abandoned(&other, &token);
    assert_eq!(home.seen(&["run", "--", "true"]).code, 0);
    // The sweep runs beside the command; that of the second command comes after that of the first.
    assert_eq!(home.seen(&["run", "--", "sleep", "0.2"]).code, 0);
    assert!(held.iter().all(Process::is_alive));
    assert_eq!(other.seen(&["stop", "tree"]).code, 0);
    nothing_survives(&held, &token);
}

#[test]
fn a_guardian_is_not_called_like_a_runtime() {
    let home = Home::new("own-name");
    let mut running = home.start(&["run", "echo up; exec sleep 1000"]);
    running.printed("up");
    let guardian = guardian_of(running.child.id());
    assert_eq!(comm(running.child.id()), "windlass");
    let words = std::fs::read_to_string(format!("/proc/{}/cmdline", guardian.pid())).unwrap();
    assert!(!words.contains("windlass") && words.starts_with("wl-guardian\0"), "{words:?}");
    running.signal(Signal::TERM);
    running.exit_code();
}

#[test]
fn a_stopped_guardian_works_all_the_same_when_its_runtime_is_killed() {
    let home = Home::new("own-stopped");
    let token = survivors::token("tree-stopped");
    let mut running = home.start(&["run", &escapees(&token, "HUP")]);
    let held = hold_escapees(&mut running, &token);
    guardian_of(running.child.id()).signal(Signal::STOP).unwrap();
    running.signal(Signal::KILL);
    running.exit_code();
    nothing_survives(&held, &token);
}

/// After nine kills no guardian was started any more, without a message.
#[test]
fn a_guardian_is_replaced_however_often_it_is_killed() {
    let home = Home::new("own-replaced");
    let token = survivors::token("tree-replaced");
    let mut running = home.start(&["run", &escapees(&token, "HUP")]);
    let held = hold_escapees(&mut running, &token);
    for _ in 0..11 {
        let guardian = guardian_of(running.child.id());
        guardian.signal(Signal::KILL).unwrap();
        eventually("the guardian dies", || !guardian.is_alive());
    }
    drop(guardian_of(running.child.id()));
    running.signal(Signal::KILL);
    running.exit_code();
    nothing_survives(&held, &token);
}

/// A child that sheds its mark is found by its root's session while the root lives. It was once lost when the root died
/// of TERM before the KILL.
#[test]
fn a_child_that_sheds_its_mark_and_ignores_term_ends_with_its_killed_runtime() {
    let home = Home::new("own-shed");
    let token = survivors::token("tree-shed");
    let stray = format!("ulimit -x 7; trap '' TERM HUP; exec '{WINDLASS}' demo-stray {token}-shed");
    let mut running = home.start(&["run", &format!("sh -c \"{stray}\" & wait")]);
    running.printed("is up");
    let held = crate::rig::held(&survivors::bearing(&token));
    running.signal(Signal::KILL);
    running.exit_code();
    nothing_survives(&held, &token);
}

/// Forks and exits, over and over, and ignores TERM: it has another pid each time. A reader of the pipe that it opens
/// sees EOF when all of these processes are dead.
const HOPPER: &str = r#"
import os, signal, sys
for number in (signal.SIGTERM, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
os.open(sys.argv[1], os.O_WRONLY)
print("is up", flush=True)
os.fork(), os.fork()
while True:
    if os.fork(): os._exit(0)
"#;

#[test]
fn processes_that_go_from_number_to_number_end_with_their_killed_runtime() {
    for _ in 0..5 {
        let home = Home::new("own-hop");
        let (file, pipe) = (home.path().join("hopper.py"), home.path().join("alive"));
        std::fs::write(&file, HOPPER).unwrap();
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let script = format!("python3 {} {} & wait; sleep 1000", file.display(), pipe.display());
        let mut running = home.start(&["run", &script]);
        let mut alive = std::fs::File::open(&pipe).unwrap();
        running.printed("is up");
        running.signal(Signal::KILL);
        running.exit_code();
        assert_eq!(std::io::Read::read(&mut alive, &mut [0]).unwrap(), 0);
    }
}

/// The innermost of three runtimes overwrites the mark of the middle one.
#[test]
fn the_innermost_tree_of_three_runtimes_ends_with_the_middle_one() {
    for (round, victim) in ["KILL", "TERM", "KILL"].into_iter().enumerate() {
        let home = Home::new("own-nested");
        let token = survivors::token("tree-nested");
        let pid = home.path().join("middle");
        let file = home.path().join("innermost.sh");
        std::fs::write(&file, escapees(&token, "TERM HUP INT")).unwrap();
        let inner = format!("'{WINDLASS}' run -- sh {}", file.display());
        let middle = format!("echo $$ > {}; exec '{WINDLASS}' run -- sh -c \"{inner}\"", pid.display());
        let mut outer =
            home.start(&["run", &format!("sh -c '{}'; sleep 1000", middle.replace('\'', "'\\''"))]);
        let held = hold_escapees(&mut outer, &token);
        let middle: u32 = std::fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        assert!(
            Command::new("kill")
                .args([&format!("-{victim}"), &middle.to_string()])
                .status()
                .unwrap()
                .success()
        );
        wait_until_gone(&held, HANG);
        let left = survivors::bearing(&token);
        assert_eq!(left, Vec::<String>::new(), "round {round}");
        outer.signal(Signal::TERM);
        outer.exit_code();
    }
}

fn all_end(home: &Home) {
    for session in home.json(&["ps", "--all", "--json"]).as_array().unwrap() {
        home.seen(&["stop", &session["session"].to_string()]);
    }
}

#[test]
fn of_many_that_want_a_name_at_once_one_gets_it() {
    let home = Home::new("own-names");
    let words = ["run", "--detach", "--name", "same", "--", "sleep", "1000"];
    let children: Vec<Child> = (0..20)
        .map(|_| home.windlass(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let ends: Vec<_> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let started = ends.iter().filter(|end| end.status.success()).count();
    let refused = |said: &[u8]| String::from_utf8_lossy(said).contains("the name `same` is held by session");
    let are_refused = ends.iter().filter(|end| !end.status.success()).all(|end| refused(&end.stderr));
    all_end(&home);
    assert_eq!(started, 1);
    assert!(are_refused, "{ends:?}");
    let again = home.json(&["run", "--detach", "--json", "--name", "same", "--", "sleep", "1000"]);
    assert_eq!(again["state"], "running");
    all_end(&home);
}

fn call(served: &mut Served, tool: &str, arguments: &Value) -> Value {
    served.ask(tool, "tools/call", &json!({ "name": tool, "arguments": arguments }))["result"].clone()
}

fn sleeper(name: &str, lifetime: &str) -> Value {
    json!({ "cmd": "exec sleep 1000", "login": false, "yield_time_ms": 250, "name": name, "lifetime": lifetime })
}

#[test]
fn a_session_of_a_server_and_a_detached_one_do_not_share_a_name() {
    let home = Home::new("own-mcp-name");
    let mut served = Served::start(&home, &[]);
    served.greet();
    let is_error = |reply: &Value| reply["isError"] == true;
    let first = call(&mut served, "exec_command", &sleeper("web", "runtime"));
    assert!(!is_error(&first), "{first}");
    let second = call(&mut served, "exec_command", &sleeper("web", "detached"));
    assert!(is_error(&second) && second.to_string().contains("`web` is held by session"), "{second}");
    let kept = call(&mut served, "exec_command", &sleeper("db", "detached"));
    assert!(!is_error(&kept), "{kept}");
    let third = call(&mut served, "exec_command", &sleeper("db", "runtime"));
    assert!(is_error(&third), "{third}");
    call(&mut served, "stop_session", &json!({ "session_id": "db" }));
    drop(served.input.take());
    assert_eq!(served.exit_code(), Some(0));
}

/// This once ended the server, and was rejected if the server had several sessions.
#[test]
fn stop_ends_one_session_of_a_server_and_the_server_goes_on() {
    let home = Home::new("own-mcp-stop");
    let mut served = Served::start(&home, &[]);
    served.greet();
    let started = call(&mut served, "exec_command", &sleeper("only", "runtime"));
    let only = started["structuredContent"]["session_id"].to_string();
    let seen = home.seen(&["stop", &only]);
    assert_eq!(
        (seen.code, seen.stdout.as_str()),
        (0, format!("session {only} was stopped by SIGTERM\n").as_str()),
        "{seen:?}"
    );
    let told = call(&mut served, "write_stdin", &json!({ "session_id": "only" }));
    assert!(told.to_string().contains("stopped"), "{told}");
    for name in ["one", "two"] {
        call(&mut served, "exec_command", &sleeper(name, "runtime"));
    }
    assert_eq!(home.seen(&["stop", "one"]).code, 0);
    let listed = home.json(&["ps", "--json"]);
    let state = |name: &str| {
        let found = listed.as_array().unwrap().iter().find(|session| session["name"] == name);
        found.unwrap()["state"].clone()
    };
    assert_eq!((state("one"), state("two")), (json!("stopped"), json!("running")));
    drop(served.input.take());
    assert_eq!(served.exit_code(), Some(0));
}

/// A record that names a process: the result of `stop`, and whether the process still lives.
fn stop_recorded(name: &str, change: impl FnOnce(&mut StartRecord, u32)) -> (Seen, bool) {
    let home = Home::new(name);
    let store = Store::open(home.path(), StoreLimits::default()).unwrap();
    let mut command = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let key = ProcessKey::of(Pid::new(command.id()));
    let mut record = StartRecord {
        id: store.claim_id().unwrap(),
        name: Some("it".to_owned()),
        argv: vec!["sleep".into()],
        script: None,
        withheld: Vec::new(),
        owner: None,
        cwd: "/".into(),
        terminal: false,
        lifetime: Lifetime::Detached,
        sandbox: None,
        started: SystemTime::UNIX_EPOCH,
        runtime: ProcessKey { start_ticks: 1, ..ProcessKey::of(Pid::of_this_process()) },
        root: key,
        mark: None,
        limits: windlass_engine::Limits::default(),
    };
    change(&mut record, command.id());
    store.begin(&record).unwrap();
    let seen = home.seen(&["stop", "it"]);
    let lives = Process::open(Pid::new(command.id())).is_ok_and(|process| process.is_alive());
    command.kill().unwrap();
    command.wait().unwrap();
    (seen, lives)
}

#[test]
fn a_process_that_a_record_names_and_that_has_no_mark_is_not_signalled() {
    let (seen, lives) = stop_recorded("own-forged", |_, _| {});
    assert!(lives && seen.code == 1 && seen.stderr.contains("not its mark"), "{seen:?}");
    // As a root with another session's mark, and as a runtime.
    let (seen, lives) = stop_recorded("own-forged-mark", |record, pid| {
        let runtime_tag = RuntimeTag::generate();
        runtime_tag.halves(runtime_tag.mark(1, Fate::Detached)).unwrap().put_on(Pid::new(pid)).unwrap();
        record.mark = Some(runtime_tag.mark(2, Fate::Detached));
    });
    assert!(lives, "{seen:?}");
    let (seen, lives) = stop_recorded("own-forged-runtime", |record, _| {
        record.runtime = record.root;
        record.root.start_ticks = 1;
    });
    assert!(lives, "{seen:?}");
}

#[test]
fn a_session_of_another_pid_namespace_is_neither_lost_nor_stopped_from_here() {
    let (seen, lives) = stop_recorded("own-elsewhere", |record, _| {
        let elsewhere =
            PidScope::of_this_process().map(|own| PidScope { pid_namespace: own.pid_namespace + 1, ..own });
        (record.runtime.scope, record.root.scope) = (elsewhere, elsewhere);
    });
    assert!(lives && seen.code == 1 && seen.stderr.contains("another pid namespace"), "{seen:?}");
    let (seen, lives) = stop_recorded("own-boot", |record, _| {
        let rebooted = PidScope::of_this_process().map(|own| PidScope { boot: own.boot ^ 1, ..own });
        (record.runtime.scope, record.root.scope) = (rebooted, rebooted);
    });
    assert!(lives && seen.stdout.contains("is over already"), "{seen:?}");
}

/// A real one: a session of a container that shares the state directory.
#[test]
fn from_another_pid_namespace_a_running_session_keeps_its_state_and_its_name() {
    let home = Home::new("own-namespace");
    let mut running: Running = home.start(&["run", "--name", "web", "echo up; exec sleep 1000"]);
    running.printed("up");
    let inside = |words: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", "sh", "-c"]);
        command.arg(format!("'{WINDLASS}' {words}")).env("WINDLASS_STATE_DIR", home.path());
        let output = command.output().unwrap();
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
    };
    let listed = inside("ps --json");
    if listed.contains("unshare:") {
        // If the kernel forbids user namespaces, the tests above cover this one.
        assert!(!listed.contains("lost"));
    } else {
        assert!(listed.contains("\"elsewhere\""), "{listed}");
        let refused = inside("run --name web -- true");
        assert!(refused.contains("the name `web` is held by session"), "{refused}");
        // From there, the state of the session is not visible.
        assert!(refused.contains("another pid namespace") && !refused.contains("still running"), "{refused}");
        assert!(inside("stop web").contains("another pid namespace"));
    }
    assert_eq!(home.seen(&["stop", "web"]).code, 0);
    assert_eq!(running.exit_code(), Some(143));
}
