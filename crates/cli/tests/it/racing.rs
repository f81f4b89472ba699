//! Requests that arrive at the same time: one name goes to one session, and a server whose client disappears in the
//! middle exits.

use std::process::{Child, Stdio};

use serde_json::{Value, json};
use windlass_sys::guardian::wait_until_gone;
use windlass_sys::process::{Pid, Process};
use windlass_testkit::HANG;

use crate::mcp::Served;
use crate::rig::{Doomed, Home};

/// Every session that `ps` lists as live.
fn live(home: &Home) -> Vec<Value> {
    let listed = home.json(&["ps", "--all", "--json"]);
    let is_live = |listed: &&Value| listed["state"] == "running" || listed["state"] == "detached";
    listed.as_array().expect("an array").iter().filter(is_live).cloned().collect()
}

fn one_of_twenty_starts(lifetime: &str) {
    let home = Home::new(&format!("racing-{lifetime}"));
    let mut server = Served::start(&home, &[]);
    server.greet();
    let arguments = json!({
        "cmd": "exec sleep 1000", "login": false, "name": "only", "lifetime": lifetime, "yield_time_ms": 0 });
    let calls: Vec<(String, Value)> = (0..20)
        .map(|number| (format!("call-{number}"), json!({ "name": "exec_command", "arguments": arguments })))
        .collect();
    let answers = server.ask_together("tools/call", &calls);
    // Before all assertions, so that no shim outlives the test.
    let live = live(&home);
    let _shims: Vec<Doomed> = match lifetime {
        "detached" => live.iter().map(|listed| Doomed::hold(&listed["runtime_pid"])).collect(),
        _ => Vec::new(),
    };
    let is_refused = |answer: &&Value| answer["result"]["isError"] == true;
    let refused: Vec<&Value> = answers.iter().filter(is_refused).collect();
    assert_eq!((live.len(), refused.len()), (1, 19), "{live:?} {answers:?}");
    for answer in refused {
        assert!(answer.to_string().contains("only"), "the name is not in {answer}");
    }
}

#[test]
fn of_twenty_calls_that_want_one_name_one_starts() {
    one_of_twenty_starts("runtime");
}

#[test]
fn of_twenty_calls_that_want_one_name_for_a_detached_session_one_starts() {
    one_of_twenty_starts("detached");
}

#[test]
fn of_fifty_detached_runs_that_want_one_name_at_once_one_starts() {
    let home = Home::new("racing-runs");
    let words = ["run", "--detach", "--name", "only", "--", "sleep", "1000"];
    let start = || home.windlass(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let started: Vec<Child> = (0..50).map(|_| start().expect("windlass starts")).collect();
    let ended = started.into_iter().map(|child| child.wait_with_output().expect("it ends"));
    let (first, others): (Vec<_>, Vec<_>) = ended.partition(|output| output.status.success());
    let live = live(&home);
    let _shims: Vec<Doomed> = live.iter().map(|listed| Doomed::hold(&listed["runtime_pid"])).collect();
    assert_eq!((first.len(), live.len()), (1, 1), "{live:?} {others:?}");
    for output in others {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(125) && said.contains("the name `only`"), "{said}");
    }
}

#[test]
fn a_server_whose_client_closes_both_pipes_while_calls_start_exits() {
    for round in 0..30 {
        let home = Home::new(&format!("racing-gone-{round}"));
        let mut server = Served::start(&home, &[]);
        server.greet();
        let process = Process::open(Pid::new(server.child.id())).expect("windlass is there");
        let arguments = json!({ "cmd": "exec sleep 1000", "login": false, "yield_time_ms": 30_000 });
        let call = json!({ "name": "exec_command", "arguments": arguments });
        for number in 0..=round % 6 {
            server.say(&json!({ "jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call }));
        }
        let mut child = server.close_both();
        wait_until_gone(std::slice::from_ref(&process), HANG);
        let is_hung = process.is_alive();
        let _ = child.kill();
        let _ = child.wait();
        assert!(!is_hung, "it does not exit in round {round}");
        assert_eq!(live(&home), Vec::<Value>::new(), "round {round}");
    }
}
