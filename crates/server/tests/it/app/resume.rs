//! A client that lost its connection resumes its processes.

use serde_json::{Value, json};

use windlass_engine::Cause;
use windlass_testkit::HANG;

use super::rig::{Bench, Client, bytes_of, sh, streamed, with};

fn resumable(grace_ms: u64) -> Value {
    json!({ "experimentalApi": true, "resume": { "graceMs": grace_ms } })
}

/// A client with a token for resuming.
async fn greeted(bench: &Bench, resume: Value) -> (Client, Value) {
    let mut client = bench.stranger();
    let capabilities = json!({ "experimentalApi": true, "resume": resume });
    let info = json!({ "name": "test", "version": "1" });
    let welcome = client.get("initialize", json!({ "clientInfo": info, "capabilities": capabilities })).await;
    (client, welcome["resume"].clone())
}

#[tokio::test]
async fn processes_go_on_without_their_client_and_can_be_taken_over() {
    let bench = Bench::new("app-resume");
    let (mut client, first) = greeted(&bench, json!({ "graceMs": 60_000 })).await;
    assert_eq!((&first["graceMs"], &first["resumed"]), (&json!(60_000), &json!(false)));
    let endless = json!({ "disableTimeout": true, "disableOutputCap": true });
    client.ask("command/exec", with(streamed("r", "echo one; read _; seq 300000; cat"), endless)).await;
    client.printed("r", "one").await;
    client.vanish().await;
    assert_ne!(bench.survivors(), Vec::<String>::new());

    let (mut back, second) = greeted(&bench, json!({ "token": first["token"] })).await;
    assert_eq!(second["resumed"], true);
    assert_eq!(first["token"], second["token"]);
    back.get("session/subscribe", json!({ "processId": "r", "from": 4 })).await;
    back.write("r", b"\n").await;
    back.write("r", b"the end").await;
    back.get("command/exec/write", json!({ "processId": "r", "closeStdin": true })).await;
    let mut heard = Vec::new();
    while !heard.ends_with(b"the end") {
        heard.extend(bytes_of(&back.notice("session/output").await));
    }
    let expected: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    assert!(heard == [expected.as_bytes(), b"the end"].concat(), "{} bytes", heard.len());
    assert_eq!(back.notice("session/exited").await["exit"]["exitCode"], 0);
    // Its name is free again, although its end was never sent to a client.
    back.notice("session/closed").await;
    let again = back.get("command/exec", with(sh("true"), json!({ "processId": "r" }))).await;
    assert_eq!(again["exitCode"], 0);
    back.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_that_stays_away_loses_its_processes() {
    let bench = Bench::new("app-away");
    let mut client = bench.client_with(resumable(1)).await;
    client.ask("command/exec", streamed("a", "echo up; exec sleep 1000")).await;
    client.printed("a", "up").await;
    let sessions = client.get("session/list", json!({})).await;
    let session = bench.session(&sessions["sessions"][0]["sessionId"]);
    client.vanish().await;
    let receipt =
        tokio::time::timeout(HANG, session.exited()).await.expect("it ends").expect("it is watched");
    assert_eq!(receipt.cause, Cause::Dropped);
    bench.end().await;
}

#[tokio::test]
async fn a_connection_that_is_only_about_to_be_lost_is_taken_over_too() {
    let bench = Bench::new("app-takeover");
    let (mut client, first) = greeted(&bench, json!({ "graceMs": 60_000 })).await;
    client.ask("command/exec", streamed("t", "echo up; cat")).await;
    client.printed("t", "up").await;
    let (mut back, second) = greeted(&bench, json!({ "token": first["token"] })).await;
    assert_eq!(second["resumed"], true);
    // Requests of the old connection have no effect now.
    client.vanish().await;
    let waiting = back.ask("session/wait", json!({ "processId": "t" })).await;
    back.get("command/exec/write", json!({ "processId": "t", "closeStdin": true })).await;
    assert_eq!(back.result(waiting).await["exit"]["exitCode"], 0);
    back.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_wrong_token_opens_nothing_and_the_right_one_again_and_again() {
    let bench = Bench::new("app-token");
    let (mut client, first) = greeted(&bench, json!({ "graceMs": 60_000 })).await;
    client.ask("command/exec", streamed("t", "echo up; cat")).await;
    client.printed("t", "up").await;
    client.vanish().await;
    for token in [json!("wrong"), json!("")] {
        let (mut other, resume) = greeted(&bench, json!({ "token": token })).await;
        assert_eq!(resume["resumed"], false);
        assert_eq!(other.get("session/list", json!({})).await, json!({ "sessions": [] }));
        other.vanish().await;
    }
    // A client that is cut off before it gets the reply has no other token than the one it came with.
    for _ in 0..3 {
        let (back, resume) = greeted(&bench, json!({ "token": first["token"] })).await;
        assert_eq!((&resume["resumed"], &resume["token"]), (&json!(true), &first["token"]));
        back.vanish().await;
    }
    let (mut back, _) = greeted(&bench, json!({ "token": first["token"] })).await;
    let waiting = back.ask("session/wait", json!({ "processId": "t" })).await;
    back.get("command/exec/write", json!({ "processId": "t", "closeStdin": true })).await;
    assert_eq!(back.result(waiting).await["exit"]["exitCode"], 0);
    back.vanish().await;
    bench.end().await;
}

/// Regression test: processes that commands had left running lived on for the whole grace.
#[tokio::test]
async fn a_client_that_will_not_come_back_has_everything_ended() {
    let bench = Bench::new("app-end-all");
    let (mut client, first) = greeted(&bench, json!({ "graceMs": 60_000 })).await;
    let script = "setsid sh -c 'echo left; exec sleep 1000' > out & until grep -q left out; do :; done";
    let left = client.run(sh(script)).await.result;
    assert_eq!(left["receipt"]["leftRunning"].as_array().map(Vec::len), Some(1), "{left}");
    let mut asked = Vec::new();
    for number in 0..10 {
        let (name, script) = (format!("t{number}"), "trap '' TERM; echo up; cat");
        asked.push(client.ask("command/exec", streamed(&name, script)).await);
        client.printed(&name, "up").await;
    }
    assert_eq!(client.get("session/endAll", json!({})).await, json!({}));
    assert_eq!(bench.survivors(), Vec::<String>::new());
    // The client is still connected: it gets the replies, and can start new processes.
    for asked in asked {
        assert_eq!(client.result(asked).await["exitCode"], 137);
    }
    assert_eq!(client.run(with(sh("true"), json!({ "processId": "t0" }))).await.result["exitCode"], 0);
    // The token is not valid any more.
    let (back, second) = greeted(&bench, json!({ "token": first["token"] })).await;
    assert_eq!(second["resumed"], false);
    for gone in [client, back] {
        gone.vanish().await;
    }
    bench.end().await;
}

#[tokio::test]
async fn a_client_whose_processes_another_has_ends_none_of_them() {
    let bench = Bench::new("app-end-none");
    let (mut client, first) = greeted(&bench, json!({ "graceMs": 60_000 })).await;
    client.ask("command/exec", streamed("t", "echo up; cat")).await;
    client.printed("t", "up").await;
    let (mut back, _) = greeted(&bench, json!({ "token": first["token"] })).await;
    assert_eq!(client.get("session/endAll", json!({})).await, json!({}));
    client.vanish().await;
    let waiting = back.ask("session/wait", json!({ "processId": "t" })).await;
    back.get("command/exec/write", json!({ "processId": "t", "closeStdin": true })).await;
    assert_eq!(back.result(waiting).await["exit"]["exitCode"], 0);
    back.vanish().await;
    bench.end().await;
}
