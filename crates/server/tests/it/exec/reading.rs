//! Reading events by number: past, current and future ones.

use serde_json::{Value, json};
use windlass_testkit::bytes::Fingerprint;
use windlass_testkit::puppet;

use super::rig::{Bench, chunks, with};

fn read(process: &str, after: u64) -> Value {
    json!({ "processId": process, "afterSeq": after })
}

#[tokio::test]
async fn what_was_told_can_be_read_again_by_number() {
    let bench = Bench::new("again");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("p", "echo one; exit 3")).await;
    client.story("p").await;
    let whole = client.get("process/read", read("p", 0)).await;
    let expected = json!({
        "chunks": [{ "seq": 1, "stream": "stdout", "chunk": "b25lCg==" }], "nextSeq": 4, "exited": true,
        "exitCode": 3, "closed": true, "failure": null, "sandboxDenied": false,
    });
    assert_eq!(whole, expected);
    let nothing = with(expected.clone(), "chunks", json!([]));
    assert_eq!(client.get("process/read", read("p", 1)).await, nothing);
    assert_eq!(client.get("process/read", read("p", 99)).await, nothing);
    assert_eq!(client.get("process/read", with(read("p", 1), "maxBytes", 0)).await, nothing);
    let one = with(expected, "nextSeq", 2);
    assert_eq!(client.get("process/read", with(read("p", 0), "maxBytes", 0)).await, one);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn nothing_comes_after_the_greatest_number() {
    let bench = Bench::new("greatest");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("p", "echo out")).await;
    let read = client.get("process/read", json!({ "processId": "p", "afterSeq": u64::MAX })).await;
    assert_eq!(read["chunks"], json!([]));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_limit_is_kept_and_lets_at_least_one_chunk_through() {
    let bench = Bench::new("limit");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("p", "head -c 300000 /dev/zero")).await;
    client.story("p").await;
    let (mut after, mut seen) = (0, 0);
    while seen < 300_000 {
        let answer = client.get("process/read", with(read("p", after), "maxBytes", 100_000)).await;
        let count = chunks(&answer).len();
        assert!((1..=100_000).contains(&count), "{count}");
        seen += count;
        after = answer["nextSeq"].as_u64().expect("a number") - 1;
    }
    let rest = client.get("process/read", read("p", after)).await;
    assert_eq!((seen, chunks(&rest).len()), (300_000, 0));
    client.vanish().await;
    bench.end().await;
}

/// In the reference implementation one such read blocks every request after it.
#[tokio::test]
async fn a_read_that_waits_holds_up_nothing_and_ends_when_something_happens() {
    let bench = Bench::new("waits");
    let mut client = bench.client().await;
    client.get("process/start", with(bench.argv("p", ["cat"]), "pipeStdin", true)).await;
    let patient = with(read("p", 0), "waitMs", 600_000);
    let first = client.ask("process/read", patient.clone()).await;
    assert_eq!(client.get("environment/status", json!(null)).await["status"], "ready");
    let empty = client.get("process/read", read("p", 0)).await;
    assert_eq!(
        (&empty["chunks"], &empty["nextSeq"], &empty["exited"]),
        (&json!([]), &json!(1), &json!(false))
    );
    client.get("process/write", json!({ "processId": "p", "chunk": "YQ==", "writeId": "1" })).await;
    let answer = client.answer(first).await;
    assert_eq!(chunks(&answer["result"]), b"a");
    let second = client.ask("process/read", with(patient, "afterSeq", 1)).await;
    client.get("process/terminate", json!({ "processId": "p" })).await;
    let answer = client.answer(second).await;
    assert_eq!(answer["result"]["exited"], true, "{answer}");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_wait_that_brings_nothing_is_answered_with_nothing() {
    let bench = Bench::new("nothing");
    let mut client = bench.client().await;
    client.get("process/start", bench.argv("p", ["sleep", "1000"])).await;
    let answer = client.get("process/read", with(read("p", 0), "waitMs", 20)).await;
    assert_eq!((&answer["chunks"], &answer["nextSeq"]), (&json!([]), &json!(1)));
    client.vanish().await;
    bench.end().await;
}

/// In the reference implementation such a client loses all but the newest megabyte.
#[tokio::test]
async fn a_client_that_does_not_read_for_a_while_loses_nothing() {
    const MUCH: usize = 100 * 1024 * 1024;
    let bench = Bench::new("slow");
    let mut client = bench.client().await;
    let program = puppet();
    let program = program.to_str().expect("a plain path");
    client.get("process/start", bench.argv("p", [program, "flood", "7", &MUCH.to_string(), "65536"])).await;
    // It has printed its whole window before a client reads: far more than the reference implementation keeps.
    let mut progress = bench.runs()[0].watch();
    progress.wait_for(|progress| progress.end.get() >= 64 * 1024 * 1024).await.expect("it prints");
    drop(progress);
    let mut seen = Fingerprint::default();
    let story = loop {
        let event = client.event("p").await;
        match event["method"].as_str() {
            Some("process/output") => seen.add(&super::rig::bytes_of(&event["params"]["chunk"])),
            _ => break event,
        }
    };
    assert_eq!(story["params"]["exitCode"], 0, "{story}");
    assert_eq!(seen, Fingerprint::of_noise(7, MUCH));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn all_of_a_long_output_can_be_read_later_without_a_limit_of_ones_own() {
    const MUCH: usize = 20 * 1024 * 1024;
    let bench = Bench::new("later");
    let mut client = bench.client().await;
    let program = puppet();
    let program = program.to_str().expect("a plain path");
    client.get("process/start", bench.argv("p", [program, "flood", "9", &MUCH.to_string(), "65536"])).await;
    client.story("p").await;
    let (mut after, mut seen) = (0, Fingerprint::default());
    loop {
        let answer = client.get("process/read", read("p", after)).await;
        seen.add(&chunks(&answer));
        after = answer["nextSeq"].as_u64().expect("a number") - 1;
        assert_eq!(
            answer["exited"], answer["closed"],
            "an answer that is not the last tells of no end: {after}"
        );
        if answer["closed"] == true {
            break;
        }
    }
    assert_eq!(seen, Fingerprint::of_noise(9, MUCH));
    client.vanish().await;
    bench.end().await;
}
