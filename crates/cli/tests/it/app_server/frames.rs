//! Lines that are not messages. No input of a client ends the server or prevents the answer to another request.

use std::fs;

use serde_json::json;
use windlass_testkit::bytes::Noise;
use windlass_testkit::wire::RequestId;

use super::client::App;

#[test]
fn a_line_that_is_not_utf_8_ends_nothing() {
    let mut app = App::start("utf8");
    let params = json!({
        "command": ["/bin/cat"], "processId": "c", "streamStdin": true, "streamStdoutStderr": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    for line in [&b"\xff\xfe\xfd\n"[..], b"{\"id\":99,\"method\":\"\xff\"}\n", b"\xc3\n", b"\x80{}\n"] {
        app.wire.send_bytes(line).expect("it listens");
    }
    app.works();
    app.write("c", b"still here\n");
    app.printed("c", "still here\n");
    let close = json!({ "processId": "c", "closeStdin": true });
    app.request("command/exec/write", &close).expect("it can be closed");
    assert_eq!(app.finished(asked, "c").code(), 0);
    app.end();
}

#[test]
fn lines_that_mean_nothing_are_passed_over() {
    let mut app = App::start("nonsense");
    let deep = format!("{}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        "\n",
        "\r\n",
        "   \n",
        "null\n",
        "1\n",
        "\"text\"\n",
        "[]\n",
        "[{\"id\":1}]\n",
        "{}\n",
        "{\n",
        "}{\n",
        "{\"id\":1}\n",
        "{\"method\":1}\n",
        "{\"id\":{},\"method\":\"initialize\"}\n",
        "\"\\ud800\"\n",
        "\0\n",
        "{\"method\":\"nothing/like/it\",\"params\":{}}\n",
        "{\"id\":7,\"result\":{}}\n",
        "{\"id\":1e400,\"method\":\"command/exec\"}\n",
        deep.as_str(),
    ] {
        app.wire.send_bytes(line.as_bytes()).expect("it listens");
    }
    app.works();
    app.end();
}

#[test]
fn a_request_without_a_usable_id_is_not_run() {
    let mut app = App::start("no-id");
    let file = app.home.path().join("made");
    let params = json!({ "command": ["/usr/bin/touch", file] });
    for id in [json!(null), json!(1.5), json!([1]), json!({})] {
        app.wire.send(&json!({ "id": id, "method": "command/exec", "params": params })).expect("it listens");
    }
    app.wire.send(&json!({ "method": "command/exec", "params": params })).expect("it listens");
    app.works();
    assert!(!file.exists());
    app.end();
}

#[test]
fn a_line_without_end_costs_bounded_memory_and_only_itself() {
    let mut app = App::start("endless");
    let part = vec![b'x'; 1 << 20];
    for _ in 0..200 {
        app.wire.send_bytes(&part).expect("it listens");
        app.wire.flush().expect("it goes on reading");
    }
    let peak = memory_kib(app.wire.pid(), "VmHWM:");
    assert!(peak < 150 * 1024, "{peak} KiB at the most");
    app.wire.send_bytes(b"\n").expect("it listens");
    app.works();
    // The end of the input in the middle of a line is handled like any other end.
    app.wire.send_bytes(&part).expect("it listens");
    app.wire.flush().expect("it goes on reading");
    app.end();
}

#[test]
fn a_request_that_is_too_long_is_answered_if_it_begins_with_its_id() {
    let mut app = App::start("too-long");
    app.wire.send_bytes(br#"{"id":4711,"method":"command/exec","params":{"x":""#).expect("it listens");
    let part = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        app.wire.send_bytes(&part).expect("it listens");
    }
    app.wire.send_bytes(b"\"}}\n").expect("it listens");
    let refusal = app.answer(RequestId(4711)).expect_err("it is too long");
    assert!(refusal.code == -32600 && refusal.message.contains("longer than 67108864 bytes"), "{refusal}");
    app.works();
    app.end();
}

#[test]
fn a_message_of_many_megabytes_is_taken_whole() {
    let mut app = App::start("large");
    let params = json!({
        "command": ["/usr/bin/wc", "-c"], "processId": "w", "streamStdin": true, "disableTimeout": true,
    });
    let asked = app.exec(&params);
    let write = app.write("w", &vec![b'x'; 32 << 20]);
    let close = json!({ "processId": "w", "closeStdin": true });
    app.request("command/exec/write", &close).expect("it can be closed");
    app.answer(write).expect("it is taken");
    let result = app.answer(asked).expect("the command comes to an end");
    assert_eq!(result["stdout"].as_str().map(str::trim), Some("33554432"), "{result}");
    app.end();
}

/// A valid request with damage: bytes changed, removed, doubled, or cut off.
fn damaged(noise: &mut Noise, valid: &str) -> Vec<u8> {
    let mut line = valid.as_bytes().to_vec();
    for _ in 0..=noise.word() % 4 {
        let at = noise.word() as usize % line.len().max(1);
        match noise.word() % 5 {
            0 if !line.is_empty() => line[at] = noise.word() as u8,
            1 if !line.is_empty() => drop(line.remove(at)),
            2 => line.insert(at, b"\"{}[]:,\\0n\xff"[noise.word() as usize % 11]),
            3 => line.truncate(at),
            _ => line.extend_from_within(at..),
        }
    }
    line.retain(|byte| *byte != b'\n');
    line.push(b'\n');
    line
}

#[test]
fn damaged_requests_and_noise_leave_the_server_working() {
    let mut app = App::start("fuzz");
    // The server answers a damaged request under the id that is left of it: `-3` without its sign is 3. No damage makes
    // an id as large as these.
    app.wire.number_requests_above(RequestId(1 << 60));
    let valid = [
        json!({ "id": 900_001, "method": "command/exec", "params": { "command": ["/bin/true"], "processId": "f", "tty": true,
            "size": { "rows": 24, "cols": 80 }, "outputBytesCap": 8, "timeoutMs": 500 } }),
        json!({ "id": "s", "method": "command/exec", "params": { "command": ["/bin/true"], "env": { "A": null },
            "cwd": "/", "sandboxPolicy": { "type": "dangerFullAccess" } } }),
        json!({ "id": -3, "method": "command/exec/write", "params": { "processId": "f", "deltaBase64": "eA==", "closeStdin": true } }),
        json!({ "id": 900_002, "method": "command/exec/resize", "params": { "processId": "f", "size": { "rows": 1, "cols": 1 } } }),
        json!({ "id": 900_003, "method": "command/exec/terminate", "params": { "processId": "f" } }),
        json!({ "id": 900_004, "method": "process/spawn", "params": { "command": ["/bin/true"], "processHandle": "h", "cwd": "/" } }),
        json!({ "id": 900_005, "method": "initialize", "params": { "clientInfo": { "name": "n", "version": "1" } } }),
        json!({ "id": 900_006, "method": "session/list", "params": {} }),
    ]
    .map(|message| message.to_string());
    let seed = u64::from(std::process::id());
    println!("the seed is {seed}");
    let mut noise = Noise::new(seed);
    for _ in 0..40 {
        for _ in 0..50 {
            let line = if noise.word().is_multiple_of(8) {
                let mut line = vec![0; noise.word() as usize % 300];
                noise.fill(&mut line);
                [line, b"\n".to_vec()].concat()
            } else {
                let which = noise.word() as usize % valid.len();
                damaged(&mut noise, &valid[which])
            };
            app.wire.send_bytes(&line).expect("it listens");
        }
        app.works();
    }
    app.end();
}

fn memory_kib(pid: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("the server is there");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("the field is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
