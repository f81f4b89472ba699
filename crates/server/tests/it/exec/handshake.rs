//! The handshake: which requests are allowed before and after it.

use serde_json::json;
use windlass_server::exec::AfterLoss;

use super::rig::Bench;

#[tokio::test]
async fn nothing_works_before_the_handshake_is_complete() {
    let bench = Bench::new("early");
    let mut client = bench.stranger(AfterLoss::Ends);
    let early = (-32600, "client must call initialize before using exec methods");
    client.refused("process/read", json!({ "processId": "a" }), early).await;
    client.refused("process/start", bench.sh("a", "true"), early).await;
    let early = (-32600, "client must call initialize before using filesystem methods");
    client.refused("fs/getMetadata", json!({ "path": "file:///" }), early).await;
    let early = (-32600, "client must call initialize before using environment info methods");
    client.refused("environment/info", json!(null), early).await;
    client.refused("initialize", json!({}), (-32602, "missing field `clientName`")).await;
    client.get("initialize", json!({ "clientName": "test", "resumeSessionId": null })).await;
    let early = (-32600, "client must send initialized before using exec methods");
    client.refused("process/read", json!({ "processId": "a" }), early).await;
    let again = (-32600, "initialize may only be sent once per connection");
    client.refused("initialize", json!({ "clientName": "test" }), again).await;
    client.say(&json!({ "method": "initialized", "params": {} })).await;
    client.refused("process/read", json!({ "processId": "a" }), (-32600, "unknown process id a")).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn the_server_says_where_it_runs() {
    let bench = Bench::new("where");
    let mut client = bench.stranger(AfterLoss::Ends);
    let info = client.get("initialize", json!({ "clientName": "test" })).await["environmentInfo"].clone();
    assert_eq!(info["shell"], json!({ "name": "bash", "path": "/bin/bash" }));
    assert_eq!(info["cwd"], bench.uri("").trim_end_matches('/'));
    assert_eq!(info["userHomeDir"], "file:///nobody/home");
    assert_eq!(info["platformOs"], "linux");
    assert_eq!(info["tempDir"], "file:///tmp");
    client.say(&json!({ "method": "initialized" })).await;
    assert_eq!(client.get("environment/info", json!(null)).await, info);
    assert_eq!(client.get("environment/status", json!(null)).await, json!({ "status": "ready" }));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_connection_goes_on() {
    let bench = Bench::new("nonsense");
    let mut client = bench.client().await;
    let unusable = [
        &b"{\"id\":null,\"method\":\"environment/status\"}\n"[..],
        b"{\"id\":1.5,\"method\":\"environment/status\"}\n",
    ];
    let nonsense = [&b"{nonsense\n"[..], b"[]\n", b"7\n", b"\n", b"\xff\xfe\n", b"{\"method\":7}\n"];
    for nonsense in nonsense.into_iter().chain(unusable) {
        client.say_bytes(nonsense).await;
        let answer = client.hear().await.expect("the server is there");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(-1), &json!(-32600)), "{answer}");
    }
    let deep = format!("{{\"params\":{}{},\"id\":7,\"method\":\"m\"}}\n", "[".repeat(500), "]".repeat(500));
    let surrogate = b"{\"id\":7,\"method\":\"fs/getMetadata\",\"params\":{\"path\":\"\\ud83d\"}}\n";
    for unreadable in [deep.as_bytes(), surrogate] {
        client.say_bytes(unreadable).await;
        let answer = client.hear().await.expect("the server is there");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
    }
    let unknown = (-32601, "exec-server stub does not implement `process/dance` yet");
    client.refused("process/dance", json!({}), unknown).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_notification_that_nobody_knows_ends_the_connection() {
    for line in [r#"{"method":"bogus"}"#, r#"{"id":7,"result":{}}"#] {
        let bench = Bench::new("bogus");
        let mut client = bench.client().await;
        client.say_bytes(format!("{line}\n").as_bytes()).await;
        assert_eq!(client.hear().await, None);
        client.vanish().await;
        bench.end().await;
    }
}

#[tokio::test]
async fn members_of_the_wrong_type_are_named() {
    let bench = Bench::new("types");
    let mut client = bench.client().await;
    client.refused("process/start", json!({ "processId": "p" }), (-32602, "missing field `argv`")).await;
    let mut params = bench.sh("p", "true");
    params["cwd"] = json!("/tmp");
    client.refused("process/start", params, (-32602, "invalid URI: relative URL without a base")).await;
    let mut params = bench.sh("p", "true");
    params["env"] = json!(null);
    client.refused("process/start", params, (-32602, "invalid type: null, expected a map")).await;
    let write = json!({ "processId": "p", "chunk": "!", "writeId": "1" });
    client.refused("process/write", write, (-32602, "Invalid symbol 33, offset 0.")).await;
    let write = json!({ "processId": "p", "chunk": "", "writeId": "" });
    client.refused("process/write", write, (-32602, "writeId must not be empty")).await;
    client.vanish().await;
    bench.end().await;
}
