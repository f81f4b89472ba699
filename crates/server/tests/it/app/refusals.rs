//! Refusals: their messages, and the order in which faults are reported.

use serde_json::{Value, json};

use super::rig::{Bench, with};

const REQUEST: i64 = -32600;
const PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;

async fn check(capabilities: Value, table: &[(&str, Value, (i64, &str))]) {
    let bench = Bench::new("app-refusals");
    let mut client = bench.client_with(capabilities).await;
    for (method, params, expected) in table {
        client.refused(method, params.clone(), *expected).await;
    }
    // The rejected request had no effect, and the connection goes on.
    let done = client.get("command/exec", json!({ "command": ["true"] })).await;
    assert_eq!(done["exitCode"], 0);
    client.vanish().await;
    bench.end().await;
}

fn exec(more: Value) -> Value {
    with(json!({ "command": ["true"] }), more)
}

#[tokio::test]
async fn types_are_told_in_the_words_of_the_dialect() {
    let request = |params: Value, message: &'static str| ("command/exec", params, (REQUEST, message));
    let table = [
        ("command/exec", Value::Null, (REQUEST, "Invalid request: missing field `params`")),
        request(json!({}), "Invalid request: missing field `command`"),
        request(
            json!({ "command": "ls" }),
            "Invalid request: invalid type: string \"ls\", expected a sequence",
        ),
        request(exec(json!({ "tty": null })), "Invalid request: invalid type: null, expected a boolean"),
        request(
            exec(json!({ "timeoutMs": 1.5 })),
            "Invalid request: invalid type: floating point `1.5`, expected i64",
        ),
        request(
            exec(json!({ "sandboxPolicy": { "type": "bogus" } })),
            "Invalid request: unknown variant `bogus`, expected one of `dangerFullAccess`, `readOnly`, `externalSandbox`, `workspaceWrite`",
        ),
        request(
            json!([["true"]]),
            "Invalid request: invalid length 1, expected struct CommandExecParams with 14 elements",
        ),
        ("command/exec/write", json!({}), (REQUEST, "Invalid request: missing field `processId`")),
        (
            "command/exec/resize",
            json!({ "processId": "a" }),
            (REQUEST, "Invalid request: missing field `size`"),
        ),
        (
            "command/exec/resize",
            json!({ "processId": "a", "size": { "rows": 1 } }),
            (REQUEST, "Invalid request: missing field `cols`"),
        ),
        ("command/exec/terminate", json!({}), (REQUEST, "Invalid request: missing field `processId`")),
    ];
    check(json!({}), &table).await;
}

/// Each row also has the fault of the row before it, so the test shows the order of the checks.
#[tokio::test]
async fn the_faults_of_a_command_are_found_in_the_dialects_order() {
    let full = json!({ "type": "dangerFullAccess" });
    let zero = json!({ "rows": 0, "cols": 0 });
    let all = json!({
        "command": [], "permissionProfile": "x", "sandboxPolicy": full, "size": zero, "outputBytesCap": 1,
        "disableOutputCap": true, "timeoutMs": -5, "disableTimeout": true, "streamStdin": true,
    });
    let without = |gone: &[&str]| {
        let mut params = all.clone();
        for member in gone {
            params.as_object_mut().expect("an object").remove(*member);
        }
        with(params, json!({ "command": ["true"] }))
    };
    let refused = |params: Value, code: i64, message: &'static str| ("command/exec", params, (code, message));
    let sized = |gone: &[&str]| with(without(gone), json!({ "tty": true }));
    let table = [
        refused(all.clone(), REQUEST, "command must not be empty"),
        refused(without(&[]), REQUEST, "`permissionProfile` cannot be combined with `sandboxPolicy`"),
        refused(without(&["sandboxPolicy"]), PARAMS, "command/exec size requires tty: true"),
        refused(
            sized(&["sandboxPolicy"]),
            PARAMS,
            "command/exec cannot set both outputBytesCap and disableOutputCap",
        ),
        refused(
            sized(&["sandboxPolicy", "outputBytesCap"]),
            PARAMS,
            "command/exec cannot set both timeoutMs and disableTimeout",
        ),
        refused(
            sized(&["sandboxPolicy", "outputBytesCap", "disableTimeout"]),
            PARAMS,
            "command/exec timeoutMs must be non-negative, got -5",
        ),
        refused(
            sized(&["sandboxPolicy", "outputBytesCap", "timeoutMs"]),
            REQUEST,
            "invalid permission profile: default_permissions requires a `[permissions]` table",
        ),
        refused(
            with(
                sized(&["sandboxPolicy", "outputBytesCap", "timeoutMs"]),
                json!({ "permissionProfile": ":bogus" }),
            ),
            REQUEST,
            "invalid permission profile: default_permissions refers to unknown built-in profile `:bogus`",
        ),
        refused(
            sized(&["permissionProfile", "outputBytesCap", "timeoutMs"]),
            PARAMS,
            "command/exec size rows and cols must be greater than 0",
        ),
        refused(
            without(&["permissionProfile", "outputBytesCap", "timeoutMs", "size"]),
            REQUEST,
            "command/exec tty or streaming requires a client-supplied processId",
        ),
    ];
    check(json!({ "experimentalApi": true }), &table).await;
}

#[tokio::test]
async fn experimental_things_need_the_capability() {
    let spawn = json!({ "command": [], "processHandle": "", "cwd": "/" });
    let written = json!({ "processHandle": "a" });
    let size = json!({ "processHandle": "a", "size": { "rows": 0, "cols": 0 } });
    let gate =
        |method: &'static str, params: Value, message: &'static str| (method, params, (REQUEST, message));
    let table = [
        gate(
            "command/exec",
            json!({ "command": [], "permissionProfile": "x" }),
            "command/exec.permissionProfile requires experimentalApi capability",
        ),
        gate("process/spawn", spawn, "process/spawn requires experimentalApi capability"),
        gate("process/writeStdin", written.clone(), "process/writeStdin requires experimentalApi capability"),
        gate("process/kill", written, "process/kill requires experimentalApi capability"),
        gate("process/resizePty", size, "process/resizePty requires experimentalApi capability"),
    ];
    check(json!({}), &table).await;
}

#[tokio::test]
async fn what_cannot_be_started_says_so_in_the_systems_words() {
    let bench = Bench::new("app-starts");
    std::fs::write(bench.scratch.path().join("plain"), "").expect("a file");
    let mut client = bench.client().await;
    let tty = json!({ "tty": true, "processId": "t" });
    let command = |words: &[&str]| json!({ "command": words });
    let missing = "No such file or directory (os error 2)";
    let long = "x".repeat(200_000);
    let unfound = "Unable to spawn nope because:\nNo viable candidates found in PATH \"/usr/bin:/bin\"";
    let table = [
        (command(&["nope"]), missing),
        (command(&["/nope/x"]), missing),
        (exec(json!({ "cwd": "nowhere" })), missing),
        (with(exec(json!({ "cwd": "nowhere" })), tty.clone()), missing),
        (exec(json!({ "cwd": "plain" })), "Not a directory (os error 20)"),
        (command(&["/tmp"]), "Permission denied (os error 13)"),
        (command(&["./plain"]), "Permission denied (os error 13)"),
        (command(&["true", &long]), "Argument list too long (os error 7)"),
        (command(&["true", "a\0b"]), "nul byte found in provided data"),
        (command(&["a\0"]), "nul byte found in provided data"),
        (command(&["no-such-program", "a\0"]), "nul byte found in provided data"),
        (exec(json!({ "env": { "A": "a\0b" } })), "data provided contains a nul byte"),
        (command(&[""]), "missing program for pipe spawn"),
        (with(command(&[""]), tty.clone()), "missing program for PTY spawn"),
        (with(command(&["nope"]), tty.clone()), unfound),
    ];
    for (params, why) in table {
        let message = format!("failed to spawn command: {why}");
        client.refused("command/exec", params, (INTERNAL, &message)).await;
    }
    // None of the rejected requests took the name.
    let done = client.run(with(exec(json!({})), tty)).await;
    assert_eq!(done.result["exitCode"], 0);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn restrictions_that_cannot_be_enforced_are_refused_and_the_others_run() {
    let bench = Bench::new("app-sandbox");
    let mut client = bench.client().await;
    let policies = ["readOnly", "workspaceWrite"].map(|form| json!({ "sandboxPolicy": { "type": form } }));
    let profiles = [":read-only", ":workspace"].map(|profile| json!({ "permissionProfile": profile }));
    // This engine has no helper for sandboxes; the program's own engine has one.
    for restriction in policies.into_iter().chain(profiles) {
        let refused = client.request("command/exec", exec(restriction)).await;
        let message = refused["error"]["message"].as_str().expect("it is refused");
        assert!(message.contains("without a helper for sandboxes"), "{message}");
    }
    for form in ["dangerFullAccess", "externalSandbox"] {
        let done = client.get("command/exec", exec(json!({ "sandboxPolicy": { "type": form } }))).await;
        assert_eq!(done["exitCode"], 0, "{form}");
    }
    let free = client.get("command/exec", exec(json!({ "permissionProfile": ":danger-full-access" }))).await;
    assert_eq!(free["exitCode"], 0);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn controls_are_refused_in_the_dialects_order() {
    let bench = Bench::new("app-controls");
    let mut client = bench.client().await;
    let running = with(exec(json!({ "processId": "b1" })), json!({ "command": ["sleep", "60"] }));
    let plain = client.ask("command/exec", running.clone()).await;
    let write = |id: &str, more: Value| with(json!({ "processId": id }), more);
    let (method, nope) = ("command/exec/write", "no active command/exec for process id \"nope\"");
    let zero = json!({ "rows": 0, "cols": 80 });
    let size = json!({ "rows": 10, "cols": 80 });
    let table = [
        (method, write("nope", json!({})), PARAMS, "command/exec/write requires deltaBase64 or closeStdin"),
        (
            method,
            write("nope", json!({ "deltaBase64": "!" })),
            PARAMS,
            "invalid deltaBase64: Invalid symbol 33, offset 0.",
        ),
        (
            method,
            write("nope", json!({ "deltaBase64": "YQ" })),
            PARAMS,
            "invalid deltaBase64: Invalid padding",
        ),
        (
            method,
            write("nope", json!({ "deltaBase64": "Y" })),
            PARAMS,
            "invalid deltaBase64: Invalid input length: 1",
        ),
        (
            method,
            write("nope", json!({ "deltaBase64": "YWl=" })),
            PARAMS,
            "invalid deltaBase64: Invalid last symbol 108, offset 2.",
        ),
        (method, write("nope", json!({ "deltaBase64": "YQ==" })), REQUEST, nope),
        (
            method,
            write("b1", json!({ "deltaBase64": "YQ==" })),
            REQUEST,
            "stdin streaming is not enabled for this command/exec",
        ),
        (
            method,
            write("b1", json!({ "closeStdin": true })),
            REQUEST,
            "stdin streaming is not enabled for this command/exec",
        ),
        (
            "command/exec/resize",
            write("nope", json!({ "size": zero })),
            PARAMS,
            "command/exec size rows and cols must be greater than 0",
        ),
        ("command/exec/resize", write("nope", json!({ "size": size })), REQUEST, nope),
        (
            "command/exec/resize",
            write("b1", json!({ "size": size })),
            REQUEST,
            "failed to resize PTY: process is not attached to a PTY",
        ),
        ("command/exec/terminate", write("nope", json!({})), REQUEST, nope),
        (
            "command/exec/terminate",
            write("a\"b\\c\né", json!({})),
            REQUEST,
            "no active command/exec for process id \"a\\\"b\\\\c\\né\"",
        ),
        ("command/exec", running, REQUEST, "duplicate active command/exec process id: \"b1\""),
        (
            "process/kill",
            json!({ "processHandle": "b1" }),
            REQUEST,
            "no active process for process handle \"b1\"",
        ),
    ];
    for (method, params, code, message) in table {
        client.refused(method, params, (code, message)).await;
    }
    client.get("command/exec/terminate", json!({ "processId": "b1" })).await;
    assert_eq!(client.result(plain).await["signal"], 15);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn nothing_is_done_before_the_client_has_said_who_it_is() {
    let bench = Bench::new("app-handshake");
    let mut client = bench.stranger();
    let info = json!({ "clientInfo": { "name": "test", "version": "1" } });
    client.refused("command/exec", exec(json!({})), (REQUEST, "Not initialized")).await;
    client.refused("command/exec", json!({ "command": [] }), (REQUEST, "Not initialized")).await;
    client.refused("command/exec", json!({}), (REQUEST, "Invalid request: missing field `command`")).await;
    client.refused("initialize", json!({}), (REQUEST, "Invalid request: missing field `clientInfo`")).await;
    let odd = json!({ "clientInfo": { "name": "a\nb", "version": "1" } });
    let message = "Invalid clientInfo.name: 'a\nb'. Must be a valid HTTP header value.";
    client.refused("initialize", odd, (REQUEST, message)).await;
    let welcome = client.get("initialize", info.clone()).await;
    assert_eq!(welcome["platformFamily"], "unix");
    assert_eq!(welcome["platformOs"], "linux");
    assert_eq!(welcome["codexHome"], "/state");
    assert!(welcome["userAgent"].as_str().is_some_and(|agent| agent.starts_with("windlass/")));
    client.refused("initialize", info, (REQUEST, "Already initialized")).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn an_unknown_method_is_answered_with_those_there_are() {
    let bench = Bench::new("app-unknown");
    let mut client = bench.client().await;
    let answer = client.request("bogus", json!({})).await;
    let message = answer["error"]["message"].as_str().expect("it is refused");
    let beginning =
        "Invalid request: unknown variant `bogus`, expected one of `initialize`, `command/exec`, ";
    assert!(message.starts_with(beginning), "{message}");
    assert_eq!(answer["error"]["code"], REQUEST);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_is_no_request_is_passed_over_and_the_connection_goes_on() {
    let bench = Bench::new("app-noise");
    let mut client = bench.client().await;
    let noise: [&[u8]; 9] = [
        b"",
        b"not json",
        b"[]",
        b"null",
        b"{}",
        b"{\"id\":null,\"method\":\"command/exec\",\"params\":{\"command\":[\"touch\",\"ran\"]}}",
        b"{\"id\":1.5,\"method\":\"command/exec\",\"params\":{\"command\":[\"touch\",\"ran\"]}}",
        b"{\"method\":\"command/exec\",\"params\":{\"command\":[\"touch\",\"ran\"]}}",
        b"\"\\ud800\"",
    ];
    for line in noise {
        client.say_bytes(&[line, b"\r\n"].concat()).await;
    }
    // Their senders wait for a reply, and half of a character has no place in a command.
    let deep = format!(r#"{{"params":{}{},"id":7,"method":"m"}}"#, "[".repeat(500), "]".repeat(500));
    let unreadable: [&[u8]; 4] = [
        b"{\"id\":7,\"method\":\"\xff\xfe\",\"params\":{}}",
        b"{\"id\":7,\"method\":\"command/exec\",\"params\":{\"command\":[\"touch\",\"ran\\ud83d\"]}}",
        b"{\"id\":7,\"method\":\"command/exec\",\"params\":{\"command\":[\"touch\"",
        deep.as_bytes(),
    ];
    for line in unreadable {
        client.say_bytes(&[line, b"\n"].concat()).await;
        let answer = client.hear().await.expect("an answer");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
    }
    let params = json!({ "command": ["ls"] });
    for id in [json!("12"), json!(12), json!(-3)] {
        client.say(&json!({ "jsonrpc": 7, "id": id, "method": "command/exec", "params": params })).await;
        let answer = client.hear().await.expect("an answer");
        assert_eq!((&answer["id"], &answer["result"]["stdout"]), (&id, &json!("")));
        assert_eq!(answer.get("jsonrpc"), None);
    }
    client.vanish().await;
    bench.end().await;
}
