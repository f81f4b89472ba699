//! Input: it arrives in order and once, and never delays other requests.

use serde_json::{Value, json};
use windlass_testkit::base64;

use super::rig::{Bench, with};

fn write(process: &str, name: &str, bytes: &[u8]) -> Value {
    json!({ "processId": process, "chunk": base64::encode(bytes), "writeId": name })
}

#[tokio::test]
async fn input_arrives_once_however_often_it_is_sent_under_one_name() {
    let bench = Bench::new("once");
    let mut client = bench.client().await;
    client.get("process/start", with(bench.argv("p", ["cat"]), "pipeStdin", true)).await;
    for (name, text) in [("1", "a"), ("2", "b"), ("1", "a"), ("2", "x"), ("3", "c")] {
        let answer = client.get("process/write", write("p", name, text.as_bytes())).await;
        assert_eq!(answer, json!({ "status": "accepted" }));
    }
    let closed = client.get("process/closeStdin", json!({ "processId": "p" })).await;
    assert_eq!(closed, json!({ "status": "accepted" }));
    let story = client.story("p").await;
    assert_eq!((story.text().as_str(), story.exit_code), ("abc", Some(0)));
    let repeated = client.get("process/write", write("p", "3", b"c")).await;
    assert_eq!(repeated, json!({ "status": "accepted" }), "it was, before");
    let late = client.get("process/write", write("p", "4", b"d")).await;
    assert_eq!(late, json!({ "status": "stdinClosed" }));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn who_has_no_input_takes_none() {
    let bench = Bench::new("none");
    let mut client = bench.client().await;
    client.get("process/start", bench.argv("p", ["sleep", "1000"])).await;
    let closed = json!({ "status": "stdinClosed" });
    assert_eq!(client.get("process/write", write("p", "1", b"a")).await, closed);
    assert_eq!(client.get("process/closeStdin", json!({ "processId": "p" })).await, closed);
    let unknown = json!({ "status": "unknownProcess" });
    assert_eq!(client.get("process/write", write("nobody", "1", b"a")).await, unknown);
    assert_eq!(client.get("process/closeStdin", json!({ "processId": "nobody" })).await, unknown);
    client.vanish().await;
    bench.end().await;
}

/// In the reference implementation the connection stalls here: 130 writes are answered, and no request after them.
#[tokio::test]
async fn a_process_that_does_not_read_holds_up_nobody_but_its_own_writers() {
    for tty in [false, true] {
        let bench = Bench::new("deaf");
        let mut client = bench.client().await;
        let deaf = with(bench.sh("deaf", "echo up; exec sleep 1000"), "pipeStdin", true);
        client.get("process/start", with(deaf, "tty", tty)).await;
        client.printed("deaf", "up").await;
        let block = vec![b'x'; 64 * 1024];
        let mut writes = Vec::new();
        for number in 0..200 {
            writes.push(client.ask("process/write", write("deaf", &number.to_string(), &block)).await);
        }
        assert_eq!(client.get("environment/status", json!(null)).await["status"], "ready");
        client.get("process/start", bench.sh("other", "echo other")).await;
        assert_eq!(client.story("other").await.text(), "other\n");
        let signal = json!({ "processId": "deaf", "signal": "continue" });
        assert_eq!(client.get("process/signal", signal).await, json!({}), "signals overtake input");
        let ended = client.get("process/terminate", json!({ "processId": "deaf" })).await;
        assert_eq!(ended, json!({ "running": true }));
        for id in writes {
            let answer = client.answer(id).await;
            let status = answer["result"]["status"].as_str().unwrap_or_else(|| panic!("{answer}"));
            assert!(["accepted", "stdinClosed"].contains(&status), "{answer}");
        }
        client.vanish().await;
        bench.end().await;
    }
}

#[tokio::test]
async fn a_write_that_waits_can_be_asked_for_again_and_is_written_once() {
    let bench = Bench::new("again");
    let mut client = bench.client().await;
    let script = "echo up; read go < gate; exec wc -c";
    std::fs::write(bench.scratch.path().join("gate"), "").expect("a file");
    let script = format!("mkfifo wait; {}", script.replace("gate", "wait"));
    client.get("process/start", with(bench.sh("p", &script), "pipeStdin", true)).await;
    client.printed("p", "up").await;
    let large = vec![b'x'; 4 * 1024 * 1024];
    let first = client.ask("process/write", write("p", "1", &large)).await;
    let second = client.ask("process/write", write("p", "1", &large)).await;
    let end = client.ask("process/closeStdin", json!({ "processId": "p" })).await;
    // The server has read the three earlier requests when it answers this one.
    client.get("environment/status", json!(null)).await;
    std::fs::write(bench.scratch.path().join("wait"), "\n").expect("somebody reads");
    for id in [first, second, end] {
        assert_eq!(client.answer(id).await["result"]["status"], "accepted");
    }
    assert_eq!(client.story("p").await.text().trim(), "4194304");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn large_input_arrives_whole() {
    let bench = Bench::new("large");
    let mut client = bench.client().await;
    client.get("process/start", with(bench.argv("p", ["md5sum"]), "pipeStdin", true)).await;
    let large: Vec<u8> = (0..32 * 1024 * 1024u32).map(|number| (number % 251) as u8).collect();
    let answer = client.get("process/write", write("p", "1", &large)).await;
    assert_eq!(answer["status"], "accepted");
    client.get("process/closeStdin", json!({ "processId": "p" })).await;
    let seen = client.story("p").await.text();
    std::fs::write(bench.scratch.path().join("large"), &large).expect("a file");
    client.get("process/start", bench.sh("q", "md5sum < large")).await;
    assert_eq!(client.story("q").await.text(), seen);
    client.vanish().await;
    bench.end().await;
}

/// More than fits in memory: the rest waits on disk, in its order.
#[tokio::test]
async fn input_that_is_too_much_for_memory_arrives_whole_when_it_is_read_at_last() {
    let bench = Bench::new("much");
    let mut client = bench.client().await;
    let script = "mkfifo wait; echo up; read go < wait; exec md5sum";
    client.get("process/start", with(bench.sh("p", script), "pipeStdin", true)).await;
    client.printed("p", "up").await;
    let (mut all, mut writes) = (Vec::new(), Vec::new());
    for number in 0..80_u8 {
        let block = vec![number; 1024 * 1024];
        writes.push(client.ask("process/write", write("p", &number.to_string(), &block)).await);
        all.extend(block);
    }
    let end = client.ask("process/closeStdin", json!({ "processId": "p" })).await;
    client.get("environment/status", json!(null)).await;
    std::fs::write(bench.scratch.path().join("wait"), "\n").expect("somebody reads");
    for id in writes.into_iter().chain([end]) {
        assert_eq!(client.answer(id).await["result"]["status"], "accepted");
    }
    let seen = client.story("p").await.text();
    std::fs::write(bench.scratch.path().join("all"), &all).expect("a file");
    client.get("process/start", bench.sh("q", "md5sum < all")).await;
    assert_eq!(seen, client.story("q").await.text());
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_terminal_echoes_and_ends_its_input_at_the_keys_for_that() {
    let bench = Bench::new("keys");
    let mut client = bench.client().await;
    client.get("process/start", with(bench.argv("p", ["cat"]), "tty", true)).await;
    client.get("process/write", write("p", "1", b"hello\n")).await;
    client.printed("p", "hello\r\nhello\r\n").await;
    client.get("process/write", write("p", "2", b"\x04")).await;
    assert_eq!(client.story("p").await.exit_code, Some(0));
    client.vanish().await;
    bench.end().await;
}
