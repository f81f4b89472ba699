//! Output: collected or as deltas, capped, in order, and as text.

use serde_json::json;

use super::rig::{Bench, sh, streamed, with};

#[tokio::test]
async fn a_command_is_answered_with_its_output_and_exit_code() {
    let bench = Bench::new("app-answer");
    let mut client = bench.client().await;
    let heard = client.run(with(sh("echo out; echo err >&2; exit 3"), json!({ "processId": "x" }))).await;
    assert_eq!(heard.deltas, Vec::<serde_json::Value>::new());
    let result = &heard.result;
    assert_eq!(
        (&result["exitCode"], &result["stdout"], &result["stderr"]),
        (&json!(3), &json!("out\n"), &json!("err\n"))
    );
    for flag in ["timedOut", "stdoutTruncated", "stderrTruncated", "drainTimedOut"] {
        assert_eq!(result[flag], false, "{flag}");
    }
    let receipt = &result["receipt"];
    assert_eq!(
        (&receipt["cause"], &receipt["stdoutBytes"], &receipt["stderrBytes"]),
        (&json!("itself"), &json!(4), &json!(4))
    );
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn deltas_are_numbered_addressed_and_come_before_the_answer() {
    let bench = Bench::new("app-deltas");
    let mut client = bench.client().await;
    let heard = client.run(streamed("s", "seq 20000; echo end >&2")).await;
    let expected: String = (1..=20000).map(|n| format!("{n}\n")).collect();
    assert_eq!(heard.stdout, expected.as_bytes());
    assert_eq!(heard.stderr, b"end\n");
    assert_eq!((&heard.result["stdout"], &heard.result["stderr"]), (&json!(""), &json!("")));
    let mut address = 0;
    for (place, delta) in heard.deltas.iter().enumerate() {
        assert_eq!((&delta["seq"], &delta["offset"]), (&json!(place + 1), &json!(address)));
        assert_eq!((&delta["processId"], &delta["capReached"]), (&json!("s"), &json!(false)));
        address += super::rig::bytes_of(delta).len();
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_cap_counts_bytes_of_each_stream_and_holds_up_nothing() {
    let bench = Bench::new("app-cap");
    let mut client = bench.client().await;
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 10 /dev/zero | tr '\\0' y >&2; exit 5";
    for cap in [0_usize, 10, 100_000] {
        let capped = json!({ "outputBytesCap": cap });
        let heard = client.run(with(streamed("c", script), capped.clone())).await;
        assert_eq!(heard.stdout, vec![b'x'; cap]);
        assert_eq!(heard.stderr, vec![b'y'; cap.min(10)]);
        let last = |stream: &str| {
            let mut its = heard.deltas.iter().filter(|delta| delta["stream"] == stream);
            let reached: Vec<bool> = its.by_ref().map(|delta| delta["capReached"] == true).collect();
            assert!(reached.iter().rev().skip(1).all(|reached| !reached), "only the last delta fills it");
            reached.last().copied()
        };
        assert_eq!((last("stdout"), last("stderr")), (Some(true), Some(cap <= 10)), "{cap}");
        let collected = client.run(with(sh(script), capped)).await.result;
        assert_eq!(collected["stdout"].as_str().map(str::len), Some(cap));
        for result in [&heard.result, &collected] {
            assert_eq!(result["exitCode"], 5);
            assert_eq!(result["stdoutTruncated"], true);
            assert_eq!(result["stderrTruncated"], cap < 10, "{cap}");
            assert_eq!(result["receipt"]["stdoutBytes"], 3_000_000);
        }
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn without_a_cap_everything_comes() {
    let bench = Bench::new("app-uncapped");
    let mut client = bench.client().await;
    let script = "head -c 9000000 /dev/zero | tr '\\0' x";
    let heard = client.run(with(streamed("u", script), json!({ "disableOutputCap": true }))).await;
    assert_eq!((heard.stdout.len(), &heard.result["stdoutTruncated"]), (9_000_000, &json!(false)));
    let collected = client.run(with(sh(script), json!({ "disableOutputCap": true }))).await.result;
    assert_eq!(collected["stdout"].as_str().map(str::len), Some(9_000_000));
    client.vanish().await;
    bench.end().await;
}

/// In another implementation, one bad byte made it decode the whole output in another encoding.
#[tokio::test]
async fn text_is_utf_8_and_what_is_not_is_replaced_byte_by_byte() {
    let bench = Bench::new("app-text");
    let mut client = bench.client().await;
    let cut = with(sh("printf '日本語'"), json!({ "outputBytesCap": 8 }));
    let result = client.run(cut).await.result;
    assert_eq!((&result["stdout"], &result["stdoutTruncated"]), (&json!("日本"), &json!(true)));
    let bad = client.run(sh("printf 'na\\303\\257ve \\377 caf\\303\\251\\0\\033'")).await.result;
    assert_eq!(bad["stdout"], "naïve \u{fffd} café\0\u{1b}");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn who_does_not_want_deltas_gets_none_and_nothing_in_the_result() {
    let bench = Bench::new("app-opted-out");
    let mut client =
        bench.client_with(json!({ "optOutNotificationMethods": ["command/exec/outputDelta"] })).await;
    let heard = client.run(streamed("o", "head -c 9000000 /dev/zero; exit 2")).await;
    assert_eq!((heard.deltas.len(), &heard.result["stdout"]), (0, &json!("")));
    assert_eq!(
        (&heard.result["exitCode"], &heard.result["receipt"]["stdoutBytes"]),
        (&json!(2), &json!(9_000_000))
    );
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_terminal_mixes_both_streams_and_has_the_size_that_was_asked_for() {
    let bench = Bench::new("app-terminal");
    let mut client = bench.client().await;
    let tty = json!({ "tty": true, "size": { "rows": 7, "cols": 33 } });
    let script = "stty size; echo err >&2; test -t 0 && test -t 1 && test -t 2";
    let heard = client.run(with(with(sh(script), json!({ "processId": "t" })), tty)).await;
    assert_eq!(String::from_utf8_lossy(&heard.stdout), "7 33\r\nerr\r\n");
    assert!(heard.deltas.iter().all(|delta| delta["stream"] == "stdout"));
    assert_eq!(
        (&heard.result["exitCode"], &heard.result["receipt"]["terminalBytes"]),
        (&json!(0), &json!(11))
    );
    client.vanish().await;
    bench.end().await;
}

/// A client that reads nothing for a while gets all of it afterwards, and others are served meanwhile.
#[tokio::test]
async fn a_client_that_is_late_loses_nothing() {
    let bench = Bench::new("app-late");
    let (mut late, mut other) = (bench.client().await, bench.client().await);
    let flood = "i=0; while [ $i -lt 3 ]; do seq 300000; i=$((i+1)); done";
    let id = late.ask("command/exec", with(streamed("f", flood), json!({ "disableOutputCap": true }))).await;
    for _ in 0..20 {
        let done = other.get("command/exec", json!({ "command": ["true"] })).await;
        assert_eq!(done["exitCode"], 0);
    }
    let result = late.result(id).await;
    let once: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    let heard: Vec<u8> = late.kept.drain(..).flat_map(|it| super::rig::bytes_of(&it["params"])).collect();
    assert!(heard == once.repeat(3).as_bytes(), "{} bytes of {}", heard.len(), once.len() * 3);
    assert_eq!((&result["exitCode"], &result["timedOut"]), (&json!(0), &json!(false)));
    late.vanish().await;
    other.vanish().await;
    bench.end().await;
}
