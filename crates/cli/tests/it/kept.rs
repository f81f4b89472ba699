//! Detached sessions of `windlass mcp`: they outlive the server that started them, and the next one finds them again.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::{HANG, hang_deadline, survivors};

use crate::mcp::Served;
use crate::rig::{Home, held};

fn served(home: &Home) -> Served {
    let mut served = Served::start(home, &[]);
    served.greet();
    served
}

fn call(served: &mut Served, tool: &str, arguments: &Value) -> Value {
    let answer = served.ask(tool, "tools/call", &json!({ "name": tool, "arguments": arguments }));
    answer["result"].clone()
}

fn leave(mut served: Served) {
    drop(served.input.take());
    assert_eq!(served.exit_code(), Some(0));
}

/// The sockets of shims.
fn doors(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.path().join("keepers"));
    entries.map(|entries| entries.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default()
}

/// Ends all detached sessions of a test, also if it fails.
struct Ends<'a>(&'a Home);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        for door in doors(self.0) {
            let session = door.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            drop(self.0.windlass(&["stop", &session]).output());
        }
    }
}

/// Checks that no shim is left. A shim removes its socket shortly before it exits.
fn nobody_is_kept(home: &Home) {
    let deadline = hang_deadline();
    while !doors(home).is_empty() {
        assert!(Instant::now() < deadline, "still kept: {:?}", doors(home));
        std::thread::yield_now();
    }
}

const STAYS: &str = "echo up; while read -r line; do echo \"got $line\"; done";

fn detached(name: &str) -> Value {
    json!({ "cmd": STAYS, "tty": true, "login": false, "lifetime": "detached", "name": name })
}

#[test]
fn a_detached_session_outlives_its_server_and_the_next_one_goes_on_with_it() {
    let home = Home::new("kept-next");
    let _ends = Ends(&home);
    let mut first = served(&home);
    let started = call(&mut first, "exec_command", &detached("pet"));
    let session = started["structuredContent"]["session_id"].clone();
    assert_eq!(started["structuredContent"]["output"], "up\n", "{started}");
    leave(first);

    let mut second = served(&home);
    let listed = call(&mut second, "list_sessions", &json!({}));
    assert_eq!(listed["structuredContent"]["sessions"][0]["session"], session, "{listed}");
    let said = call(&mut second, "write_stdin", &json!({ "session_id": "pet", "chars": "one\n" }));
    assert_eq!(said["structuredContent"]["output"], "one\ngot one\n", "{said}");
    let read = call(&mut second, "read_output", &json!({ "session_id": session, "tail_lines": 1 }));
    assert_eq!(read["structuredContent"]["output"], "got one\n", "{read}");
    let taken = call(&mut second, "exec_command", &detached("pet"));
    assert_eq!(taken["isError"], true, "{taken}");
    let stopped = call(&mut second, "stop_session", &json!({ "session_id": session }));
    assert_eq!(stopped["structuredContent"]["remaining"], json!([]), "{stopped}");
    let ended = call(&mut second, "write_stdin", &json!({ "session_id": session }));
    assert!(ended["structuredContent"]["exit_code"].is_number(), "{ended}");
    nobody_is_kept(&home);
    leave(second);
}

#[test]
fn a_server_that_is_killed_leaves_its_detached_sessions_and_nothing_else() {
    let home = Home::new("kept-killed");
    let _ends = Ends(&home);
    let token = survivors::token("kept-killed");
    let mut first = served(&home);
    let stray = format!("sh -c ': {token}; sleep 1000; :' & echo up; wait");
    let other = json!({ "cmd": stray, "login": false, "until": { "pattern": "up" } });
    call(&mut first, "exec_command", &other);
    let mortal = held(&survivors::bearing(&token));
    assert!(!mortal.is_empty());
    let started = call(&mut first, "exec_command", &detached("pet"));
    let session = started["structuredContent"]["session_id"].clone();
    first.signal(Signal::KILL);
    assert_eq!(first.exit_code(), None);
    wait_until_gone(&mortal, HANG);
    assert!(mortal.iter().all(|process| !process.is_alive()));

    let mut second = served(&home);
    let said = call(&mut second, "write_stdin", &json!({ "session_id": session, "chars": "x\n" }));
    // If a server is killed between its reply and the acknowledgement to the shim, the shim cannot know whether the
    // client has the reply. It then shows the bytes again, and the reply says so.
    let is_repeated = said["structuredContent"]["notes"].to_string().contains("bytes 0..4 are shown again");
    let expected = if is_repeated { "up\nx\ngot x\n" } else { "x\ngot x\n" };
    assert_eq!(said["structuredContent"]["output"], expected, "{said}");
    let waited = call(&mut second, "wait_sessions", &json!({ "session_ids": [session], "timeout_ms": 1 }));
    assert_eq!(waited["structuredContent"]["results"][0]["session"], session, "{waited}");
    call(
        &mut second,
        "write_stdin",
        &json!({ "session_id": session, "eof": true, "until": { "exit": true } }),
    );
    nobody_is_kept(&home);
    leave(second);
}

#[test]
fn the_end_of_a_detached_session_is_announced_once() {
    let home = Home::new("kept-announced");
    let _ends = Ends(&home);
    let mut server = served(&home);
    let door = home.path().join("go");
    let cmd = format!("mkfifo '{0}'; echo up; cat '{0}'; exit 3", door.display());
    let started = call(
        &mut server,
        "exec_command",
        &json!({ "cmd": cmd, "lifetime": "detached", "login": false, "until": { "pattern": "up" } }),
    );
    let session = started["structuredContent"]["session_id"].clone();
    std::fs::write(&door, "").unwrap();
    let deadline = hang_deadline();
    loop {
        let notes = call(&mut server, "list_sessions", &json!({}));
        let text = notes["content"][0]["text"].as_str().unwrap().to_owned();
        // Its shim and its server both know; only one of them may announce it.
        let announced = text.matches(&format!("Note: session {session} exited with code 3")).count();
        assert!(announced <= 1, "{text}");
        if announced == 1 {
            break;
        }
        assert!(Instant::now() < deadline, "{text}");
    }
    let again = call(&mut server, "list_sessions", &json!({}));
    assert!(!again["content"][0]["text"].as_str().unwrap().contains("Note:"), "{again}");
    let told = call(&mut server, "write_stdin", &json!({ "session_id": session }));
    assert_eq!(told["structuredContent"]["exit_code"], 3, "{told}");
    nobody_is_kept(&home);
    leave(server);
}

#[test]
fn a_detached_session_is_answered_for_when_its_shim_is_gone() {
    let home = Home::new("kept-over");
    let _ends = Ends(&home);
    let mut server = served(&home);
    let cmd =
        json!({ "cmd": "echo printed; exit 9", "lifetime": "detached", "login": false, "name": "over" });
    let told = call(&mut server, "exec_command", &cmd);
    assert_eq!(told["structuredContent"]["exit_code"], 9, "{told}");
    let session = told["structuredContent"]["session"].clone();
    nobody_is_kept(&home);
    for asked in [session.clone(), json!("over")] {
        let again = call(&mut server, "write_stdin", &json!({ "session_id": asked }));
        let text = again["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("exited with code 9 before; read_output session_id="), "{text}");
        assert!(again["isError"] != true && again["structuredContent"].get("exit_code").is_none(), "{again}");
        let read = call(&mut server, "read_output", &json!({ "session_id": asked }));
        assert_eq!(read["structuredContent"]["output"], "printed\n", "{read}");
        let waited = call(&mut server, "wait_sessions", &json!({ "session_ids": [asked] }));
        assert_eq!(waited["structuredContent"]["met"]["condition"], "exit", "{waited}");
    }
    let listed = call(&mut server, "list_sessions", &json!({}));
    let entry = &listed["structuredContent"]["sessions"][0];
    assert_eq!((&entry["session"], &entry["exit_code"]), (&session, &json!(9)), "{listed}");
    leave(server);
}

#[test]
fn a_detached_session_has_resources_and_its_shim_leaves_when_it_was_stopped() {
    let home = Home::new("kept-resources");
    let _ends = Ends(&home);
    let mut server = served(&home);
    let started = call(&mut server, "exec_command", &detached("pet"));
    let session = started["structuredContent"]["session_id"].clone();
    let listed = server.ask("list", "resources/list", &json!({}));
    let uri = format!("windlass://session/{session}/transcript");
    let all = listed["result"]["resources"].as_array().unwrap();
    assert!(all.iter().any(|resource| resource["uri"] == uri.as_str()), "{listed}");
    let read = server.ask("read", "resources/read", &json!({ "uri": uri }));
    assert_eq!(read["result"]["contents"][0]["text"], "up\n", "{read}");
    let events = uri.replace("transcript", "events");
    let read = server.ask("events", "resources/read", &json!({ "uri": events }));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("started"), "{read}");
    let stopped = call(&mut server, "stop_session", &json!({ "session_id": session }));
    assert!(stopped["structuredContent"]["exit_code"].is_number(), "{stopped}");
    nobody_is_kept(&home);
    leave(server);
}

#[test]
fn a_detached_command_that_cannot_start_leaves_no_shim() {
    let home = Home::new("kept-refused");
    let _ends = Ends(&home);
    let mut server = served(&home);
    let mut order = detached("pet");
    order["workdir"] = "/nowhere".into();
    let refused = call(&mut server, "exec_command", &order);
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("/nowhere"), "{refused}");
    nobody_is_kept(&home);
    let unknown = call(&mut server, "write_stdin", &json!({ "session_id": "pet" }));
    assert_eq!(unknown["isError"], true);
    leave(server);
}

#[test]
fn the_list_of_sessions_shows_the_script_and_what_was_kept_from_it() {
    let home = Home::new("kept-listed");
    let mut server = Served::of(home.windlass(&["mcp"]).env("DEPLOY_TOKEN", "precious"));
    server.greet();
    let cmd = "echo one;\n  echo two";
    call(&mut server, "exec_command", &json!({ "cmd": cmd, "login": false }));
    leave(server);
    assert!(home.seen(&["ps", "--all"]).stdout.contains("echo one; echo two"));
    let listed = &home.json(&["ps", "--all", "--json"])[0];
    assert_eq!(listed["script"], cmd, "{listed}");
    let withheld = listed["withheld_variables"].as_array().unwrap();
    assert!(withheld.contains(&json!("DEPLOY_TOKEN")), "{listed}");
}

#[test]
fn no_shim_is_left_unless_a_session_is_detached() {
    let home = Home::new("kept-none");
    let _ends = Ends(&home);
    let mut server = served(&home);
    call(&mut server, "exec_command", &json!({ "cmd": "true", "login": false }));
    leave(server);
    assert_eq!(doors(&home), [] as [PathBuf; 0]);
}

/// The shim of a session.
fn shim(home: &Home, session: &Value) -> Process {
    let all = home.json(&["ps", "--all", "--json"]);
    let entry = all.as_array().unwrap().iter().find(|entry| entry["session"] == *session).unwrap().clone();
    let pid = entry["runtime_pid"].as_u64().unwrap();
    Process::open(Pid::new(u32::try_from(pid).unwrap())).unwrap()
}

/// A stopped shim, which is continued at the end of the test, also if that fails.
struct Stopped(Process);

impl Stopped {
    fn new(process: Process) -> Self {
        process.signal(Signal::STOP).unwrap();
        Self(process)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = self.0.signal(Signal::CONT);
    }
}

fn text(answer: &Value) -> String {
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_whose_shim_is_stopped_is_running_and_says_how_to_go_on() {
    let home = Home::new("kept-stopped");
    let _ends = Ends(&home);
    let mut server = served(&home);
    let stuck =
        call(&mut server, "exec_command", &detached("stuck"))["structuredContent"]["session_id"].clone();
    let well =
        call(&mut server, "exec_command", &detached("well"))["structuredContent"]["session_id"].clone();
    let stopped = Stopped::new(shim(&home, &stuck));
    let pid = stopped.0.pid();

    let listed = call(&mut server, "list_sessions", &json!({}));
    let entries = listed["structuredContent"]["sessions"].as_array().unwrap();
    let state =
        |id: &Value| entries.iter().find(|entry| entry["session"] == *id).unwrap()["state"].to_string();
    assert!(
        state(&stuck).contains(&format!("running, its runtime (process {pid}) does not answer")),
        "{listed}"
    );
    assert!(state(&well).contains("running") && !state(&well).contains("answer"), "{listed}");

    let refused = call(&mut server, "write_stdin", &json!({ "session_id": stuck, "chars": "x\n" }));
    assert_eq!(refused["isError"], true, "{refused}");
    for words in ["is running", "it is stopped", &format!("kill -CONT {pid}")] {
        assert!(text(&refused).contains(words), "{words} is not in {refused}");
    }
    let read = call(&mut server, "read_output", &json!({ "session_id": stuck }));
    assert_eq!(read["structuredContent"]["output"], "up\n", "{read}");
    assert!(text(&read).contains("it is stopped"), "{read}");
    let waited = call(&mut server, "wait_sessions", &json!({ "session_ids": [stuck], "timeout_ms": 1 }));
    assert!(text(&waited).contains("does not answer"), "{waited}");

    drop(stopped);
    let said = call(&mut server, "write_stdin", &json!({ "session_id": stuck, "chars": "x\n" }));
    assert_eq!(said["structuredContent"]["output"], "x\ngot x\n", "{said}");
    leave(server);
}

/// It was once missing from the list, and an unknown session.
#[test]
fn a_detached_session_whose_shim_was_killed_is_listed_as_lost_with_the_reason() {
    let home = Home::new("kept-lost");
    let _ends = Ends(&home);
    let mut first = served(&home);
    let session =
        call(&mut first, "exec_command", &detached("pet"))["structuredContent"]["session_id"].clone();
    let kept = shim(&home, &session);
    kept.signal(Signal::KILL).unwrap();
    wait_until_gone(std::slice::from_ref(&kept), HANG);
    let check = |server: &mut Served| {
        let listed = call(server, "list_sessions", &json!({}));
        let entries = listed["structuredContent"]["sessions"].as_array().unwrap();
        let [entry] = entries.as_slice() else { panic!("{listed}") };
        assert_eq!((&entry["session"], &entry["name"]), (&session, &json!("pet")), "{listed}");
        let reason = format!("lost, its runtime (process {}) was killed", kept.pid());
        assert!(entry["state"].as_str().unwrap().contains(&reason), "{listed}");
        assert!(text(&listed).contains(&reason), "{listed}");
    };
    // One list finds the shim dead, and the next ones must not forget that.
    check(&mut first);
    check(&mut first);
    let refused = call(&mut first, "write_stdin", &json!({ "session_id": session, "chars": "x\n" }));
    assert!(refused["isError"] == true && text(&refused).contains("is lost"), "{refused}");
    let waited = call(&mut first, "wait_sessions", &json!({ "session_ids": [session], "timeout_ms": 1 }));
    assert!(text(&waited).contains("lost, its runtime"), "{waited}");
    let read = call(&mut first, "read_output", &json!({ "session_id": session }));
    assert_eq!(read["structuredContent"]["output"], "up\n", "{read}");
    leave(first);
    let mut second = served(&home);
    check(&mut second);
    leave(second);
}

/// Answers every caller at this socket with a line; without one it accepts and sends nothing.
fn impostor(home: &Home, session: u64, answer: Option<Value>) {
    let shims = home.path().join("keepers");
    std::fs::create_dir_all(&shims).unwrap();
    let door = shims.join(format!("{session}.sock"));
    let listener = std::os::unix::net::UnixListener::bind(door).unwrap();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let mut reader = std::io::BufReader::new(stream);
            let _ = std::io::BufRead::read_line(&mut reader, &mut line);
            match &answer {
                Some(answer) => {
                    drop(std::io::Write::write_all(reader.get_mut(), format!("{answer}\n").as_bytes()));
                }
                None => silent.push(reader),
            }
        }
    });
}

/// A session of a person that seems to have a shim: it has a runtime of its own, which does not know of the socket. It
/// ends with the test.
struct Impostor<'a>(&'a Home);

impl<'a> Impostor<'a> {
    /// Starts it, and a server that may see all sessions.
    fn start(home: &'a Home, answer: Option<Value>) -> (Self, Served, u64) {
        home.seen(&["run", "--detach", "--", "sleep", "1000"]);
        let ends = Self(home);
        impostor(home, 1001, answer);
        let mut server = Served::start(home, &["--share"]);
        server.greet();
        (ends, server, 1001)
    }
}

impl Drop for Impostor<'_> {
    fn drop(&mut self) {
        let _ = self.0.windlass(&["stop", "1001"]).output();
    }
}

#[test]
fn a_shim_that_never_answers_holds_up_no_call() {
    let home = Home::new("kept-silent");
    let (_ends, mut server, session) = Impostor::start(&home, None);
    let listed = call(&mut server, "list_sessions", &json!({}));
    assert!(text(&listed).contains("running, its runtime (process"), "{listed}");
    assert!(text(&listed).contains("does not answer within"), "{listed}");
    let refused = call(&mut server, "write_stdin", &json!({ "session_id": session, "chars": "x" }));
    assert!(text(&refused).contains("does not answer within"), "{refused}");
    assert!(!text(&refused).contains("Unknown session"), "{refused}");
    leave(server);
}

#[test]
fn a_shim_of_a_later_version_is_named_with_what_to_do() {
    let home = Home::new("kept-later");
    let greeting = json!({ "protocol": 9, "oldest_protocol": 8, "version": "9.1.0" });
    let answer = json!({ "text": "", "structured": greeting, "is_error": false, "id": null });
    let (_ends, mut server, session) = Impostor::start(&home, Some(answer));
    let refused = call(&mut server, "stop_session", &json!({ "session_id": session, "signal": "INT" }));
    for words in ["is running", "windlass 9.1.0", "protocol 9", "`windlass stop`"] {
        assert!(text(&refused).contains(words), "{words} is not in {refused}");
    }
    leave(server);
}

#[test]
fn a_shim_that_speaks_something_else_is_not_an_unknown_session() {
    let home = Home::new("kept-garbled");
    let (_ends, mut server, session) = Impostor::start(&home, Some(json!(["what?"])));
    let refused = call(&mut server, "write_stdin", &json!({ "session_id": session, "chars": "x" }));
    assert!(text(&refused).contains("no answer that this windlass understands"), "{refused}");
    leave(server);
}

/// A shim from before there were versions does not know the greeting, and calls to it work all the same.
#[test]
fn a_shim_of_the_first_version_is_talked_to() {
    let home = Home::new("kept-first");
    let answer = json!({ "text": "as ever", "structured": { "error": "x" }, "is_error": true, "id": null });
    let (_ends, mut server, session) = Impostor::start(&home, Some(answer));
    let said = call(&mut server, "write_stdin", &json!({ "session_id": session, "chars": "x" }));
    assert!(text(&said).starts_with("as ever"), "{said}");
    leave(server);
}

#[test]
fn shims_that_cannot_be_listed_are_not_no_shims() {
    let home = Home::new("kept-unlisted");
    // No user can list this directory, not even root: it is a link to itself.
    std::os::unix::fs::symlink("keepers", home.path().join("keepers")).unwrap();
    let mut server = served(&home);
    let listed = call(&mut server, "list_sessions", &json!({}));
    assert!(text(&listed).contains("detached sessions cannot be listed, and may be running"), "{listed}");
    let refused = call(&mut server, "write_stdin", &json!({ "session_id": 1001 }));
    assert!(text(&refused).contains("cannot be listed"), "{refused}");
    leave(server);
}
