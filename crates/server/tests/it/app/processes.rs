//! `process/*`: started at once, with the end in a later notification.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_engine::{Bytes, Limits};
use windlass_testkit::base64;

use super::rig::{Bench, with};

fn spawn(handle: &str, script: &str) -> Value {
    json!({ "command": ["sh", "-c", script], "processHandle": handle, "cwd": "/" })
}

#[tokio::test]
async fn a_process_is_answered_at_once_and_its_end_is_told() {
    let bench = Bench::new("app-spawn");
    let mut client = bench.client().await;
    let started = client.get("process/spawn", spawn("p", "pwd; echo err >&2; exit 3")).await;
    assert!(started["sessionId"].is_u64() && started["pid"].is_u64(), "{started}");
    let exited = client.notice("process/exited").await;
    let expected = json!({
        "processHandle": "p", "exitCode": 3, "stdout": "/\n", "stderr": "err\n", "stdoutCapReached": false,
        "stderrCapReached": false, "outputDrainTimedOut": false,
    });
    for (member, value) in expected.as_object().expect("an object") {
        assert_eq!(&exited[member], value, "{member}");
    }
    assert_eq!(exited["receipt"]["sessionId"], started["sessionId"]);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_limit_that_ended_a_process_is_in_its_receipt() {
    let limits =
        Limits { output: Some(Bytes(4096)), cpu_time: Some(Duration::from_secs(9)), ..Limits::default() };
    let bench = Bench::limited("app-limits", limits);
    let mut client = bench.client().await;
    client.get("process/spawn", spawn("p", "yes")).await;
    let receipt = client.notice("process/exited").await["receipt"].clone();
    let limit = &receipt["limit"];
    assert_eq!((&receipt["cause"], &limit["resource"]), (&json!("limit"), &json!("output")), "{receipt}");
    assert_eq!(
        (&limit["scope"], &limit["limit"], &limit["means"]),
        (&json!("session"), &json!(4096), &json!("reader"))
    );
    assert!(limit["peak"].as_u64() > Some(4096), "{receipt}");
    let cpu = json!({ "resource": "cpuTime", "scope": "session", "limit": 9_000_000, "means": "watcher" });
    assert!(receipt["enforced"].as_array().is_some_and(|enforced| enforced.contains(&cpu)), "{receipt}");
    assert!(
        receipt["peaks"].as_array().is_some_and(|peaks| peaks.iter().any(|it| it["resource"] == "output"))
    );
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_process_can_be_written_to_resized_and_killed() {
    let bench = Bench::new("app-process");
    let mut client = bench.client().await;
    let tty = json!({ "tty": true, "timeoutMs": null, "outputBytesCap": null });
    let script =
        "trap 'stty size' WINCH; stty -echo; echo ready; while :; do read line && echo got $line; done";
    client.get("process/spawn", with(spawn("t", script), tty)).await;
    client.printed("t", "ready").await;
    let size = json!({ "processHandle": "t", "size": { "rows": 5, "cols": 6 } });
    assert_eq!(client.get("process/resizePty", size).await, json!({}));
    client.printed("t", "5 6").await;
    let write = json!({ "processHandle": "t", "deltaBase64": base64::encode(b"it\n") });
    assert_eq!(client.get("process/writeStdin", write).await, json!({}));
    client.printed("t", "got it").await;
    assert_eq!(client.get("process/kill", json!({ "processHandle": "t" })).await, json!({}));
    let exited = client.notice("process/exited").await;
    assert_eq!(exited["receipt"]["cause"], "stopped");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_is_wrong_is_told_in_its_own_words() {
    let bench = Bench::new("app-process-refusals");
    let mut client = bench.client().await;
    client.get("process/spawn", with(spawn("d", "sleep 60"), json!({ "timeoutMs": null }))).await;
    let p = |more: Value| with(spawn("x", "true"), more);
    let zero = json!({ "rows": 0, "cols": 1 });
    let table = [
        ("process/spawn", p(json!({ "command": [] })), -32600, "command must not be empty"),
        ("process/spawn", p(json!({ "processHandle": "" })), -32600, "processHandle must not be empty"),
        ("process/spawn", p(json!({ "size": zero })), -32602, "process/spawn size requires tty: true"),
        (
            "process/spawn",
            p(json!({ "timeoutMs": -1 })),
            -32602,
            "process/spawn timeoutMs must be non-negative, got -1",
        ),
        (
            "process/spawn",
            p(json!({ "tty": true, "size": zero })),
            -32602,
            "process size rows and cols must be greater than 0",
        ),
        (
            "process/spawn",
            p(json!({ "processHandle": "d" })),
            -32600,
            "duplicate active process handle: \"d\"",
        ),
        (
            "process/spawn",
            p(json!({ "command": ["nope"] })),
            -32603,
            "failed to spawn process: No such file or directory (os error 2)",
        ),
        (
            "process/spawn",
            p(json!({ "cwd": "x" })),
            -32600,
            "Invalid request: AbsolutePathBuf deserialized without a base path",
        ),
        (
            "process/writeStdin",
            json!({ "processHandle": "zz" }),
            -32602,
            "process/writeStdin requires deltaBase64 or closeStdin",
        ),
        (
            "process/writeStdin",
            json!({ "processHandle": "zz", "closeStdin": true }),
            -32600,
            "no active process for process handle \"zz\"",
        ),
        (
            "process/writeStdin",
            json!({ "processHandle": "d", "closeStdin": true }),
            -32600,
            "stdin streaming is not enabled for this process",
        ),
        (
            "process/resizePty",
            json!({ "processHandle": "zz", "size": zero }),
            -32602,
            "process size rows and cols must be greater than 0",
        ),
        (
            "process/kill",
            json!({ "processHandle": "zz" }),
            -32600,
            "no active process for process handle \"zz\"",
        ),
        (
            "command/exec/terminate",
            json!({ "processId": "d" }),
            -32600,
            "no active command/exec for process id \"d\"",
        ),
    ];
    for (method, params, code, message) in table {
        client.refused(method, params, (code, message)).await;
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_filled_cap_is_said_even_where_it_fits_exactly() {
    let bench = Bench::new("app-process-cap");
    let mut client = bench.client().await;
    for (cap, reached, truncated) in [(3, true, true), (4, true, false), (5, false, false)] {
        client.get("process/spawn", with(spawn("c", "printf 1234"), json!({ "outputBytesCap": cap }))).await;
        let exited = client.notice("process/exited").await;
        assert_eq!(exited["stdout"], "1234"[..cap.min(4)]);
        assert_eq!(
            (&exited["stdoutCapReached"], &exited["stdoutTruncated"]),
            (&json!(reached), &json!(truncated))
        );
    }
    client.vanish().await;
    bench.end().await;
}
