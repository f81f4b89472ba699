//! Lost connections, and clients that resume.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_server::exec::AfterLoss;
use windlass_testkit::bytes::Fingerprint;
use windlass_testkit::puppet;

use super::rig::{Bench, Client, bytes_of, chunks, with};

async fn attached(bench: &Bench) -> (Client, String) {
    let mut client = bench.stranger(AfterLoss::Waits);
    let session = client.greet(json!({ "clientName": "test" })).await;
    (client, session)
}

async fn resumed(bench: &Bench, session: &str) -> Client {
    let mut client = bench.stranger(AfterLoss::Waits);
    let again = client.greet(json!({ "clientName": "test", "resumeSessionId": session })).await;
    assert_eq!(again, session);
    client
}

#[tokio::test]
async fn a_client_that_comes_back_misses_nothing() {
    let bench = Bench::new("back");
    let (mut client, session) = attached(&bench).await;
    let script = "echo before; read x; echo between; mkfifo gate; read y < gate; echo after; exit 5";
    client.get("process/start", with(bench.sh("p", script), "pipeStdin", true)).await;
    client.printed("p", "before").await;
    client.get("process/write", json!({ "processId": "p", "chunk": "Cg==", "writeId": "1" })).await;
    client.vanish().await;

    let mut client = resumed(&bench, &session).await;
    let read = json!({ "processId": "p", "afterSeq": 1, "waitMs": 60_000 });
    let missed = client.get("process/read", read).await;
    assert_eq!(
        (String::from_utf8_lossy(&chunks(&missed)).as_ref(), &missed["exited"]),
        ("between\n", &json!(false))
    );
    // The client does not know whether its last write arrived.
    let again =
        client.get("process/write", json!({ "processId": "p", "chunk": "Cg==", "writeId": "1" })).await;
    assert_eq!(again["status"], "accepted");
    let gate = bench.scratch.path().join("gate");
    tokio::task::spawn_blocking(move || std::fs::write(gate, "\n"))
        .await
        .expect("no panic")
        .expect("it is read");
    let mut events = Vec::new();
    while events.last().is_none_or(|event: &Value| event["method"] != "process/closed") {
        events.push(client.event("p").await);
    }
    let numbers: Vec<_> =
        events.iter().map(|event| event["params"]["seq"].as_u64().expect("a number")).collect();
    let last = *numbers.last().expect("an event");
    assert!(numbers.ends_with(&[last - 2, last - 1, last]), "{numbers:?}");
    assert_eq!(events[events.len() - 2]["params"]["exitCode"], 5, "{events:?}");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_ended_meanwhile_can_be_asked_about() {
    let bench = Bench::new("meanwhile");
    let (mut client, session) = attached(&bench).await;
    client.get("process/start", with(bench.sh("p", "read x; echo done; exit 6"), "pipeStdin", true)).await;
    client.ask("process/write", json!({ "processId": "p", "chunk": "Cg==", "writeId": "1" })).await;
    client.get("environment/status", json!(null)).await;
    client.vanish().await;
    let mut client = resumed(&bench, &session).await;
    let mut after = 0;
    let mut seen = Vec::new();
    let last = loop {
        let read = json!({ "processId": "p", "afterSeq": after, "waitMs": 60_000 });
        let answer = client.get("process/read", read).await;
        seen.extend(chunks(&answer));
        after = answer["nextSeq"].as_u64().expect("a number") - 1;
        if answer["closed"] == true {
            break answer;
        }
    };
    assert_eq!(
        (seen.as_slice(), &last["exitCode"], &last["nextSeq"]),
        (&b"done\n"[..], &json!(6), &json!(4))
    );
    client.vanish().await;
    bench.end().await;
}

/// The events of a process that a client has received.
#[derive(Default)]
struct Received {
    last: u64,
    print: Fingerprint,
    is_closed: bool,
}

impl Received {
    /// Takes a chunk unless it has it already.
    fn take(&mut self, seq: u64, chunk: &Value) {
        if seq == self.last + 1 {
            self.last = seq;
            chunk.as_str().inspect(|_| self.print.add(&bytes_of(chunk)));
        }
        assert!(seq <= self.last, "{seq} came after {}", self.last);
    }

    /// Reads the events that were lost with a connection.
    async fn catch_up(&mut self, client: &mut Client) {
        let answer = client.get("process/read", json!({ "processId": "p", "afterSeq": self.last })).await;
        for chunk in answer["chunks"].as_array().expect("a list") {
            self.take(chunk["seq"].as_u64().expect("a number"), &chunk["chunk"]);
        }
    }

    /// Receives at most this many events.
    async fn hear(&mut self, client: &mut Client, most: usize) {
        for _ in 0..most {
            let event = client.event("p").await;
            self.take(event["params"]["seq"].as_u64().expect("a number"), &event["params"]["chunk"]);
            self.is_closed = event["method"] == "process/closed";
            if self.is_closed {
                return;
            }
        }
    }
}

#[tokio::test]
async fn nothing_of_a_flood_is_lost_with_the_connections_it_goes_through() {
    const MUCH: usize = 30 * 1024 * 1024;
    let bench = Bench::new("flood");
    let (mut client, session) = attached(&bench).await;
    let program = puppet();
    let argv = [program.to_str().expect("a plain path"), "flood", "5", &MUCH.to_string(), "4096"];
    client.get("process/start", bench.argv("p", argv)).await;
    let mut received = Received::default();
    for events in [10, 1, 100, 33, 0, 200] {
        received.hear(&mut client, events).await;
        client.vanish().await;
        client = resumed(&bench, &session).await;
        received.catch_up(&mut client).await;
    }
    received.hear(&mut client, usize::MAX).await;
    assert!(received.is_closed);
    assert_eq!(received.print, Fingerprint::of_noise(5, MUCH));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_session_has_one_client_at_a_time() {
    let bench = Bench::new("taken");
    let (client, session) = attached(&bench).await;
    let resume = json!({ "clientName": "test", "resumeSessionId": session });
    let mut thief = bench.stranger(AfterLoss::Waits);
    let message = format!("session {session} is already attached to another connection");
    thief.refused("initialize", resume.clone(), (-32010, &message)).await;
    client.vanish().await;
    // The same connection may try again after a refusal.
    thief.get("initialize", resume).await;
    let mut lost = bench.stranger(AfterLoss::Waits);
    let bogus = json!({ "clientName": "test", "resumeSessionId": "bogus" });
    lost.refused("initialize", bogus, (-32600, "unknown session id bogus")).await;
    lost.vanish().await;
    thief.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_session_whose_client_does_not_come_back_ends_with_all_that_runs_in_it() {
    let bench = Bench::with_grace("gone", Duration::from_millis(50));
    let (mut client, session) = attached(&bench).await;
    client.get("process/start", bench.sh("p", "setsid sleep 1000 & echo up; exec sleep 1000")).await;
    client.printed("p", "up").await;
    client.get("process/start", bench.sh("q", "sleep 1000 > /dev/null 2>&1 &")).await;
    client.story("q").await;
    client.vanish().await;
    for run in bench.runs() {
        run.exited().await.expect("it is ended");
    }
    let mut late = bench.stranger(AfterLoss::Waits);
    let resume = json!({ "clientName": "test", "resumeSessionId": session });
    late.refused("initialize", resume, (-32600, &format!("unknown session id {session}"))).await;
    late.vanish().await;
    bench.end().await;
}
