//! All processes that a program left behind, in any way, are gone when the program has been ended.

use serde_json::json;
use windlass_testkit::survivors;

use super::client::App;
use crate::rig::{WINDLASS, held, nothing_survives};

const KINDS: [&str; 2] = ["pipes", "terminal"];

fn on(kind: &str) -> serde_json::Value {
    json!({ "tty": kind == "terminal" })
}

#[test]
fn terminate_ends_the_whole_tree() {
    for kind in KINDS {
        for deaf in ["HUP", "TERM HUP INT"] {
            let mut app = App::start("terminate");
            let token = survivors::token("terminate");
            let mut more = on(kind);
            more["disableTimeout"] = json!(true);
            let (asked, held) = app.start_escapees(more, (&token, deaf));
            app.terminate(&token).expect("it can be ended");
            app.finished(asked, &token);
            nothing_survives(&held, &format!("{token}-"));
            app.end();
        }
    }
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    for kind in KINDS {
        let mut app = App::start("timeout");
        let token = survivors::token("timeout");
        let mut more = on(kind);
        // Long enough for all of them to start on few processors.
        more["timeoutMs"] = json!(6000);
        let (asked, held) = app.start_escapees(more, (&token, "HUP"));
        let finished = app.finished(asked, &token);
        assert_eq!((finished.code(), &finished.result["timedOut"]), (&json!(124), &json!(true)));
        nothing_survives(&held, &format!("{token}-"));
        app.end();
    }
}

#[test]
fn what_a_program_left_in_its_group_ends_with_it_and_the_rest_with_the_client() {
    let mut app = App::start("natural");
    let token = survivors::token("natural");
    let stray = |way: &str| format!("'{WINDLASS}' demo-stray {token}-{way}");
    let fifo = app.home.path().join("fifo");
    let script = format!(
        "mkfifo '{0}'; {1} & setsid {2} & read x < '{0}'; exit 6",
        fifo.display(),
        stray("group"),
        stray("session")
    );
    let params = json!({
        "command": ["/bin/sh", "-c", script], "processId": "n", "streamStdoutStderr": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    app.printed_times("n", "is up", 2);
    let in_group = held(&survivors::bearing(&format!("{token}-group")));
    std::fs::write(&fifo, "go\n").expect("somebody reads");
    let finished = app.finished(asked, "n");
    assert_eq!(finished.code(), 6);
    nothing_survives(&in_group, &format!("demo-stray\0{token}-group"));
    assert!(
        finished.result["receipt"]["leftRunning"].as_array().is_some_and(|left| !left.is_empty()),
        "{finished:?}"
    );
    let detached = held(&survivors::bearing(&format!("{token}-session")));
    assert_eq!(detached.len(), 1, "it lives on while the client is there");
    app.end();
    nothing_survives(&detached, &format!("{token}-session"));
}

#[test]
fn background_jobs_of_an_interactive_shell_end_with_it() {
    for end in ["terminate", "timeout", "disconnect"] {
        let mut app = App::start("jobs");
        let token = survivors::token("jobs");
        let mut params = json!({
            "command": ["/bin/bash", "--norc", "--noprofile", "-i"], "processId": "b", "tty": true,
        });
        match end {
            "timeout" => params["timeoutMs"] = json!(6000),
            _ => params["disableTimeout"] = json!(true),
        }
        let asked = app.exec(&params);
        let job = format!("'{WINDLASS}' demo-stray {token}-one & '{WINDLASS}' demo-stray {token}-two &\n");
        app.write("b", job.as_bytes());
        app.printed_times("b", "is up", 2);
        let jobs = held(&survivors::bearing(&format!("demo-stray\0{token}-")));
        assert_eq!(jobs.len(), 2);
        if end == "terminate" {
            app.terminate("b").expect("it can be ended");
        }
        if end == "disconnect" {
            app.end();
        } else {
            app.finished(asked, "b");
            nothing_survives(&jobs, &format!("demo-stray\0{token}-"));
            app.end();
        }
        nothing_survives(&jobs, &format!("demo-stray\0{token}-"));
    }
}

#[test]
fn a_fork_storm_is_ended() {
    let mut app = App::start("storm");
    let token = survivors::token("storm");
    // Each starts the next in a session of its own and stays; the echo shows that the chain has begun.
    let script = format!(
        "n=0; while [ $n -lt 400 ]; do n=$((n+1)); setsid sh -c ': {token}-storm; sleep 1000' & [ $n = 20 ] && echo up; done; wait"
    );
    let params = json!({
        "command": ["/bin/sh", "-c", script], "processId": "s", "streamStdoutStderr": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    app.printed("s", "up");
    app.terminate("s").expect("it can be ended");
    app.finished(asked, "s");
    let left = held(&survivors::bearing(&format!(": {token}-storm")));
    nothing_survives(&left, &format!(": {token}-storm"));
    app.works();
    app.end();
}
