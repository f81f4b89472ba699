//! Input: it arrives in order and in any amount, and never delays other requests.

use serde_json::json;
use windlass_testkit::base64;

use super::rig::{Bench, bytes_of, sh, streamed, with};

/// The hash of 24 MiB each of a, b and c, and of a d behind them.
const ABCD: &str = "4ee00bd014054e4fd99966ee8373ccf778a993c47f1a796c1d3db768d3a392a3";

#[tokio::test]
async fn everything_may_be_sent_in_one_burst_and_is_taken_in_order() {
    let bench = Bench::new("app-burst");
    let mut client = bench.client().await;
    let exec = client.ask("command/exec", streamed("c", "cat")).await;
    let mut writes = Vec::new();
    for number in 0..200 {
        let bytes = base64::encode(format!("{number}\n").as_bytes());
        writes
            .push(client.ask("command/exec/write", json!({ "processId": "c", "deltaBase64": bytes })).await);
    }
    let last = json!({ "processId": "c", "deltaBase64": base64::encode(b"end"), "closeStdin": true });
    writes.push(client.ask("command/exec/write", last).await);
    let result = client.result(exec).await;
    assert_eq!(result["exitCode"], 0);
    let mut printed = Vec::new();
    for message in std::mem::take(&mut client.kept) {
        match message.get("method") {
            Some(_) => printed.extend(bytes_of(&message["params"])),
            None => {
                assert_eq!(message["result"], json!({}));
                assert_eq!(message["id"], writes.remove(0), "answers are in the order of the requests");
            }
        }
    }
    assert_eq!(writes, Vec::<i64>::new());
    let expected: String = (0..200).map(|number| format!("{number}\n")).chain(["end".to_owned()]).collect();
    assert_eq!(String::from_utf8_lossy(&printed), expected);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_large_write_arrives_whole() {
    let bench = Bench::new("app-large");
    let mut client = bench.client().await;
    let bytes: Vec<u8> = (0..5_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let exec =
        client.ask("command/exec", with(streamed("w", "cksum"), json!({ "disableTimeout": true }))).await;
    let write = json!({ "processId": "w", "deltaBase64": base64::encode(&bytes), "closeStdin": true });
    client.get("command/exec/write", write).await;
    client.result(exec).await;
    let printed = client.printed("w", "\n").await;
    std::fs::write(bench.scratch.path().join("same"), &bytes).expect("a file");
    let same = client.run(sh("cksum < same")).await;
    assert_eq!(same.result["stdout"], printed);
    client.vanish().await;
    bench.end().await;
}

/// In another implementation, unread input kept timeouts and terminations from ever happening.
#[tokio::test]
async fn input_that_nobody_reads_holds_up_only_its_own_answers() {
    let bench = Bench::new("app-unread");
    let mut client = bench.client().await;
    let endless = json!({ "disableTimeout": true });
    let exec = client.ask("command/exec", with(streamed("d", "exec sleep 1000"), endless)).await;
    let delta = base64::encode(&[b'x'; 64 * 1024]);
    let mut writes = Vec::new();
    for _ in 0..200 {
        writes
            .push(client.ask("command/exec/write", json!({ "processId": "d", "deltaBase64": delta })).await);
    }
    let other = client.get("command/exec", sh("echo alive")).await;
    assert_eq!(other["stdout"], "alive\n");
    client.get("command/exec/terminate", json!({ "processId": "d" })).await;
    let result = client.result(exec).await;
    assert_eq!((&result["exitCode"], &result["signal"]), (&json!(143), &json!(15)));
    for write in writes {
        assert_eq!(client.result(write).await, json!({}));
    }
    let undelivered = result["receipt"]["undeliveredInput"].as_u64().expect("a number");
    let sent = 200 * 64 * 1024;
    assert!((sent - 128 * 1024..=sent).contains(&undelivered), "{undelivered}");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_is_written_after_the_end_is_refused_and_an_end_may_be_repeated() {
    let bench = Bench::new("app-closed");
    let mut client = bench.client().await;
    let exec = client.ask("command/exec", streamed("e", "cat; read _ < gate || sleep 60")).await;
    let close = json!({ "processId": "e", "closeStdin": true });
    assert_eq!(client.get("command/exec/write", close.clone()).await, json!({}));
    let data = json!({ "processId": "e", "deltaBase64": "YQ==" });
    client.refused("command/exec/write", data, (-32600, "stdin is already closed")).await;
    assert_eq!(client.get("command/exec/write", close).await, json!({}));
    let nothing = json!({ "processId": "e", "deltaBase64": "" });
    assert_eq!(client.get("command/exec/write", nothing).await, json!({}));
    client.get("command/exec/terminate", json!({ "processId": "e" })).await;
    client.result(exec).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_process_that_closed_its_input_may_still_be_written_to() {
    let bench = Bench::new("app-deaf");
    let mut client = bench.client().await;
    let exec = client.ask("command/exec", streamed("g", "exec 0<&-; echo closed; exec sleep 60")).await;
    client.printed("g", "closed\n").await;
    client.write("g", &[b'x'; 200_000]).await;
    client.write("g", b"more").await;
    client.get("command/exec/terminate", json!({ "processId": "g" })).await;
    client.result(exec).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn the_end_of_input_on_a_terminal_ends_the_line_first() {
    let bench = Bench::new("app-eof");
    let mut client = bench.client().await;
    let tty = json!({ "tty": true, "processId": "t" });
    let exec = client.ask("command/exec", with(sh("stty -echo; echo ready; cat"), tty)).await;
    client.printed("t", "ready\r\n").await;
    let last = json!({ "processId": "t", "deltaBase64": base64::encode(b"half a line"), "closeStdin": true });
    client.get("command/exec/write", last).await;
    assert_eq!(client.printed("t", "line\r\n").await, "half a line\r\n");
    assert_eq!(client.result(exec).await["exitCode"], 0);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_terminal_in_raw_mode_has_no_end_of_input_and_gets_no_stray_bytes() {
    let bench = Bench::new("app-raw");
    let mut client = bench.client().await;
    let tty = json!({ "tty": true, "processId": "r" });
    let script = "stty raw -echo; echo ready; head -c 3 | od -An -c";
    let exec = client.ask("command/exec", with(sh(script), tty)).await;
    client.printed("r", "ready\n").await;
    let refused = client.request("command/exec/write", json!({ "processId": "r", "closeStdin": true })).await;
    let message = refused["error"]["message"].as_str().expect("it is refused");
    assert!(message.contains("not in line mode"), "{message}");
    client.write("r", b"abc").await;
    assert!(client.printed("r", "c").await.contains("a   b   c"));
    client.result(exec).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_terminal_is_ended_once_however_often_that_is_asked_for() {
    let bench = Bench::new("app-eof-twice");
    let mut client = bench.client().await;
    let tty = json!({ "tty": true, "processId": "t" });
    let script = "stty -echo; echo ready; cat; echo between; cat; echo after";
    let exec = client.ask("command/exec", with(sh(script), tty)).await;
    client.printed("t", "ready\r\n").await;
    let close = json!({ "processId": "t", "closeStdin": true });
    assert_eq!(client.get("command/exec/write", close.clone()).await, json!({}));
    client.printed("t", "between\r\n").await;
    let sessions = client.get("session/list", json!({})).await;
    let session = bench.session(&sessions["sessions"][0]["sessionId"]);
    let before = session.progress().input.accepted;
    assert_eq!(client.get("command/exec/write", close).await, json!({}));
    assert_eq!(session.progress().input.accepted, before, "nothing more was typed");
    client.get("command/exec/terminate", json!({ "processId": "t" })).await;
    client.result(exec).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_may_wait_is_limited_for_all_processes_together() {
    let bench = Bench::new("app-held");
    let mut client = bench.client().await;
    let endless = json!({ "disableTimeout": true });
    let delta = base64::encode(&vec![b'x'; 24 << 20]);
    let mut writes = Vec::new();
    for name in ["a", "b", "c"] {
        client.ask("command/exec", with(streamed(name, "exec sleep 1000"), endless.clone())).await;
        let write = json!({ "processId": name, "deltaBase64": delta });
        writes.push(client.ask("command/exec/write", write).await);
    }
    // Input that fits in the process's own queue is taken at once, and not rejected because of other processes.
    client.ask("command/exec", with(streamed("r", "cat"), endless)).await;
    client.write("r", b"read").await;
    client.printed("r", "read").await;
    for name in ["a", "b", "c", "r"] {
        client.get("command/exec/terminate", json!({ "processId": name })).await;
    }
    let refused = client.answer(writes.remove(2)).await;
    assert_eq!(refused["error"]["code"], -32001, "{refused}");
    let message = refused["error"]["message"].as_str().expect("it says why");
    assert!(message.contains("more than 64 MiB of input would wait"), "{message}");
    for write in writes {
        assert_eq!(client.result(write).await, json!({}));
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_finds_no_room_in_memory_waits_on_disk_and_comes_in_order() {
    let bench = Bench::with_a_disk("app-spill");
    let mut client = bench.client().await;
    let script = "mkfifo gate; echo up; read x < gate; sha256sum";
    client.ask("command/exec", with(streamed("p", script), json!({ "disableTimeout": true }))).await;
    client.printed("p", "up").await;
    let mut writes = Vec::new();
    for letter in [b'a', b'b', b'c'] {
        let delta = base64::encode(&vec![letter; 24 << 20]);
        writes
            .push(client.ask("command/exec/write", json!({ "processId": "p", "deltaBase64": delta })).await);
    }
    let last = json!({ "processId": "p", "deltaBase64": base64::encode(b"d"), "closeStdin": true });
    writes.push(client.ask("command/exec/write", last).await);
    // Other requests do not wait.
    client.ask("command/exec", streamed("q", "echo beside")).await;
    client.printed("q", "beside").await;
    std::fs::write(bench.scratch.path().join("gate"), "\n").expect("the gate opens");
    for write in writes {
        assert_eq!(client.result(write).await, json!({}));
    }
    client.printed("p", ABCD).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn nothing_is_taken_behind_a_write_that_was_refused_until_it_is_written_again() {
    let bench = Bench::new("app-hole");
    let mut client = bench.client().await;
    let script = "mkfifo gate; echo up; read x < gate; sha256sum";
    client.ask("command/exec", with(streamed("p", script), json!({ "disableTimeout": true }))).await;
    client.printed("p", "up").await;
    let chunk = |letter: u8| base64::encode(&vec![letter; 24 << 20]);
    let write = |delta: String| json!({ "processId": "p", "deltaBase64": delta });
    let mut writes = Vec::new();
    for letter in [b'a', b'b', b'c'] {
        writes.push(client.ask("command/exec/write", write(chunk(letter))).await);
    }
    let behind = client.ask("command/exec/write", write(base64::encode(b"d"))).await;
    let refused = client.answer(writes.remove(2)).await;
    assert_eq!(refused["error"]["code"], -32001, "{refused}");
    let refused = client.answer(behind).await;
    let message = refused["error"]["message"].as_str().expect("it says why");
    assert!(message.contains("nothing behind it is taken until it is written again"), "{message}");
    std::fs::write(bench.scratch.path().join("gate"), "\n").expect("the gate opens");
    for write in writes {
        assert_eq!(client.result(write).await, json!({}));
    }
    assert_eq!(client.get("command/exec/write", write(chunk(b'c'))).await, json!({}));
    let last = json!({ "processId": "p", "deltaBase64": base64::encode(b"d"), "closeStdin": true });
    assert_eq!(client.get("command/exec/write", last).await, json!({}));
    client.printed("p", ABCD).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_a_process_did_not_read_is_counted_and_answered_before_its_end_is_told() {
    let bench = Bench::new("app-uncounted");
    let mut client = bench.client().await;
    let sent = 4 << 20;
    let delta = base64::encode(&vec![b'x'; sent]);
    for round in 0..10 {
        let name = format!("u{round}");
        let exec = client.ask("command/exec", streamed(&name, "exec sleep 0.1")).await;
        let write = json!({ "processId": name, "deltaBase64": delta });
        let write = client.ask("command/exec/write", write).await;
        let result = client.result(exec).await;
        let answered = client.kept.iter().any(|message| message["id"] == write);
        let answer = client.answer(write).await;
        if answer.get("error").is_some() {
            // The process had ended before the server read the write.
            continue;
        }
        assert!(answered, "round {round}: the write is answered before the end");
        let undelivered = result["receipt"]["undeliveredInput"].as_u64().expect("a number") as usize;
        assert!((sent - 128 * 1024..=sent).contains(&undelivered), "round {round}: {undelivered}");
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_is_written_to_a_process_that_closed_its_input_counts_as_undelivered() {
    let bench = Bench::new("app-deaf-count");
    let mut client = bench.client().await;
    let exec = client.ask("command/exec", streamed("g", "exec 0<&-; echo closed; exec sleep 60")).await;
    client.printed("g", "closed\n").await;
    for _ in 0..3 {
        client.write("g", &[b'x'; 100_000]).await;
    }
    client.get("command/exec/terminate", json!({ "processId": "g" })).await;
    assert_eq!(client.result(exec).await["receipt"]["undeliveredInput"], 300_000);
    client.vanish().await;
    bench.end().await;
}
