//! Misbehaving servers: none of them crashes or hangs the client, and every failure is reported.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_mcp_client::{CallError, RequiredError, ServerSpec, Standing, Transport, Which};
use windlass_testkit::{HANG, survivors};

use crate::rig::{Rig, object, peer, python, within};

/// The timeout in tests in which something hangs on purpose.
const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn what_is_no_message_is_skipped_and_noted() {
    let rig = Rig::start("garbage", vec![peer("garbage")]);
    let state = rig.ready().await;
    assert!(matches!(state.standing, Standing::Up(_)), "{state:?}");
    assert_eq!(rig.text("echo", json!({ "text": "still here" })).await, "still here");
    let notes = rig.servers.states()[0].notes.join("\n");
    assert!(notes.contains("`DEBUG answering` to its standard output: not JSON"), "{notes}");
    rig.end().await;
}

#[tokio::test]
async fn a_server_that_exits_at_its_start_is_down_with_its_last_words() {
    let rig = Rig::start("exit", vec![peer("exit")]);
    let expected = "it exited with code 3; the end of its standard error:\ncannot open the database";
    assert_eq!(rig.reason().await, expected);
    rig.end().await;
}

#[tokio::test]
async fn a_server_that_hangs_at_its_start_is_down_in_time() {
    let rig =
        Rig::start("hang", vec![ServerSpec { startup_timeout: Duration::from_secs(2), ..peer("hang") }]);
    let expected = "it did not answer `initialize` within 2 seconds; the end of its standard error:\nwaiting for the moon";
    assert_eq!(rig.reason().await, expected);
    rig.end().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let rig = Rig::start("missing", vec![python("peer", "no-such-server", &[])]);
    let reason = rig.reason().await;
    assert!(reason.starts_with("it cannot be started: program not found: no-such-server"), "{reason}");
    rig.end().await;
}

#[tokio::test]
async fn a_required_server_that_is_down_is_an_error() {
    let required = ServerSpec { required: true, ..python("needed", "no-such-server", &[]) };
    let rig = Rig::start("required", vec![peer("plain"), required]);
    let states = within(rig.servers.ready()).await;
    let error = RequiredError::check(&states).expect_err("one is missing").to_string();
    assert!(error.starts_with("the required MCP server `needed` is not available: it cannot be"), "{error}");
    assert_eq!(RequiredError::check(&states[..1]), Ok(()));
    rig.end().await;
}

#[tokio::test]
async fn a_server_that_dies_within_a_call_is_reported_and_comes_back_for_the_next() {
    let rig = Rig::start("die", vec![peer("plain")]);
    rig.ready().await;
    let first = rig.text("pid", json!({})).await;
    let error = rig.error("die", json!({ "code": 9 })).await;
    let expected = "the MCP server `peer` ended before it answered: it exited with code 9; \
                    the end of its standard error:\nfirst line\nout of cheese";
    assert_eq!(error, expected);
    let second = rig.text("pid", json!({})).await;
    assert_ne!(first, second, "another process answers");
    assert!(matches!(rig.ready().await.standing, Standing::Up(_)));
    rig.end().await;
}

#[tokio::test]
async fn a_server_that_cannot_come_back_is_tried_once_for_each_call() {
    // The server runs as long as its file exists.
    let rig_file = windlass_testkit::Scratch::new("once");
    let marker = rig_file.path().join("marker");
    std::fs::write(&marker, "").expect("a file");
    let script = "test -e \"$1\" || { echo gone >&2; exit 4; }; exec python3 -c \"$2\" plain";
    let source = include_str!("servers/peer.py");
    let path = marker.to_str().expect("a plain path");
    let rig = Rig::start("once", vec![python("peer", "sh", &["-c", script, "sh", path, source])]);
    rig.ready().await;
    std::fs::remove_file(&marker).expect("it is there");
    assert!(rig.error("die", json!({})).await.contains("exited with code 7"));
    for _ in 0..2 {
        let error = rig.error("echo", json!({})).await;
        let expected = "the MCP server `peer` is not available: it exited with code 4; \
                        the end of its standard error:\ngone";
        assert_eq!(error, expected);
    }
    std::fs::write(&marker, "").expect("a file");
    assert_eq!(rig.text("echo", json!({ "text": "back" })).await, "back");
    rig.end().await;
}

#[tokio::test]
async fn an_answer_that_is_not_json_is_none() {
    let rig = Rig::start("broken", vec![ServerSpec { tool_timeout: SHORT, ..peer("plain") }]);
    rig.ready().await;
    let error = rig.error("broken", json!({})).await;
    assert_eq!(error, "the MCP server `peer` did not answer the call of `broken` within 0.3 seconds");
    let notes = rig.servers.states()[0].notes.join("\n");
    assert!(notes.contains("not JSON"), "{notes}");
    rig.end().await;
}

#[tokio::test]
async fn a_second_answer_to_the_same_question_is_overlooked() {
    let rig = Rig::start("twice", vec![peer("twice")]);
    rig.ready().await;
    for text in ["one", "two", "three"] {
        assert_eq!(rig.text("echo", json!({ "text": text })).await, text);
    }
    let notes = rig.servers.states()[0].notes.join("\n");
    assert!(notes.contains("it answered something that nobody waits for"), "{notes}");
    rig.end().await;
}

#[tokio::test]
async fn answers_that_come_in_an_array_are_taken() {
    let rig = Rig::start("batch", vec![peer("plain")]);
    rig.ready().await;
    let outcome = rig.call("mcp__peer__batch", json!({})).await.expect("an answer");
    assert_eq!(outcome.content, []);
    rig.end().await;
}

#[tokio::test]
async fn pages_that_go_round_in_a_circle_end() {
    let rig = Rig::start("circle", vec![peer("circle")]);
    let state = rig.ready().await;
    assert_eq!(rig.servers.tools().len(), 1);
    assert!(state.notes.iter().any(|note| note.contains("go round in a circle")), "{state:?}");
    rig.end().await;
}

/// Calls `wait`, which never answers, and drops the call once the server has it.
async fn abandon_a_call(rig: &Rig) {
    let servers = rig.servers.clone();
    let call =
        tokio::spawn(async move { servers.call(Which::Full("mcp__peer__wait"), object(json!({}))).await });
    let session = rig.engine.sessions().pop().expect("the server is a session");
    within(async {
        let mut output = session.watch_output();
        while session.journal().account().bytes.stderr == 0 {
            output.changed().await.expect("it runs");
        }
    })
    .await;
    call.abort();
    let ended = call.await.expect_err("it was dropped");
    assert!(ended.is_cancelled());
}

#[tokio::test]
async fn a_call_that_is_dropped_is_taken_back() {
    let rig = Rig::start("dropped", vec![peer("plain")]);
    rig.ready().await;
    abandon_a_call(&rig).await;
    let seen: Value = serde_json::from_str(&rig.text("cancelled", json!({})).await).expect("JSON");
    assert_eq!(seen["waiting"], seen["cancelled"]);
    assert_eq!(seen["waiting"].as_array().map(Vec::len), Some(1));
    rig.end().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_taken_back() {
    let rig = Rig::start("late", vec![ServerSpec { tool_timeout: SHORT, ..peer("plain") }]);
    rig.ready().await;
    let error = rig.call("mcp__peer__wait", json!({})).await.expect_err("it never answers");
    assert!(matches!(error, CallError::TimedOut { after: SHORT, .. }), "{error:?}");
    let seen: Value = serde_json::from_str(&rig.text("cancelled", json!({})).await).expect("JSON");
    assert_eq!(seen["waiting"], seen["cancelled"]);
    rig.end().await;
}

#[tokio::test]
async fn a_server_that_reads_nothing_holds_up_only_its_own_calls() {
    let deaf = ServerSpec { tool_timeout: SHORT, ..peer("deaf") };
    let rig = Rig::start("deaf", vec![deaf]);
    rig.ready().await;
    let long = "x".repeat(3 << 20);
    for _ in 0..3 {
        let error = rig.error("echo", json!({ "text": &long })).await;
        assert!(error.contains("did not answer the call of `echo`"), "{error}");
    }
    rig.end().await;
}

#[tokio::test]
async fn a_stubborn_server_ends_with_everything_it_started() {
    let rig = Rig::start("stubborn", vec![peer("stubborn")]);
    rig.ready().await;
    assert_eq!(survivors::bearing(&rig.token).len(), 2, "it and what it started");
    rig.end().await;
}

#[tokio::test]
async fn a_server_that_is_still_starting_ends_with_the_others() {
    let rig = Rig::start("starting", vec![ServerSpec { startup_timeout: HANG, ..peer("hang") }]);
    let servers = rig.servers.clone();
    rig.end().await;
    let after = within(servers.list_resources(Some("peer"))).await.expect_err("all is over");
    assert_eq!(after, CallError::ShutDown { server: "peer".into() });
}

#[tokio::test]
async fn a_call_that_waits_when_all_is_ended_is_told_so() {
    let rig = Rig::start("waits", vec![peer("plain")]);
    rig.ready().await;
    let servers = rig.servers.clone();
    let waiting =
        tokio::spawn(async move { servers.call(Which::Full("mcp__peer__wait"), object(json!({}))).await });
    let session = rig.engine.sessions().pop().expect("the server is a session");
    within(async {
        let mut output = session.watch_output();
        while session.journal().account().bytes.stderr == 0 {
            output.changed().await.expect("it runs");
        }
    })
    .await;
    rig.end().await;
    let told = within(waiting).await.expect("it does not panic");
    assert_eq!(told, Err(CallError::ShutDown { server: "peer".into() }));
}

#[tokio::test]
async fn when_the_last_handle_goes_so_do_the_servers() {
    let Rig { leash: _leash, servers, engine, token, scratch: _scratch } =
        Rig::start("handle", vec![peer("stubborn")]);
    within(servers.ready()).await;
    let session = engine.sessions().pop().expect("the server is a session");
    drop(servers);
    within(session.exited()).await.expect("it is watched to its end");
    within(engine.shutdown()).await;
    assert_eq!(survivors::bearing(&token), [""; 0]);
}

#[tokio::test]
async fn without_a_way_to_the_web_a_server_there_is_down() {
    let transport =
        Transport::Http { url: "http://127.0.0.1:1/mcp".into(), bearer: None, headers: Vec::new() };
    let rig = Rig::start("no-web", vec![ServerSpec::new("peer", transport)]);
    assert_eq!(rig.reason().await, "nothing here can reach the web");
    rig.end().await;
}
