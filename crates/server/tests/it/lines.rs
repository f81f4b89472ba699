//! One client on a pair of pipes, and all the mistakes that it can make.

use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_server::mcp::fixtures::Fixtures;
use windlass_server::mcp::{IN_FLIGHT_LIMIT, LINE_LIMIT};

use crate::rig::{Client, modern, request};

fn simple_text() -> Value {
    json!({ "name": "test_simple_text" })
}

#[tokio::test]
async fn every_older_protocol_is_spoken_as_the_client_asks() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::of_fixtures();
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": info });
        let answer = client.request("1", "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        let answer = client.request("2", "tools/call", simple_text()).await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        assert_eq!(answer["result"].get("resultType"), None, "{answer}");
        assert_eq!(client.close().await, [] as [Value; 0]);
    }
}

#[tokio::test]
async fn the_newer_protocol_needs_no_handshake() {
    let mut client = Client::of_fixtures();
    let answer = client.request("1", "server/discover", json!({ "_meta": modern(json!({})) })).await;
    assert!(answer["result"]["supportedVersions"].as_array().is_some_and(|all| all.len() >= 4), "{answer}");
    let call = json!({ "name": "test_simple_text", "_meta": modern(json!({})) });
    let answer = client.request("2", "tools/call", call).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    client.stop().await;
}

#[tokio::test]
async fn a_probe_for_the_newer_protocol_leaves_the_older_one_open() {
    let mut client = Client::of_fixtures();
    client.request("1", "server/discover", json!({ "_meta": modern(json!({})) })).await;
    // Before the handshake this is out of place, but must not close the connection.
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    client.greet(json!({})).await;
    let answer = client.request("2", "tools/call", simple_text()).await;
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    client.stop().await;
}

/// Regression test: the reply had `id: null`, so that the client waited for ever.
#[tokio::test]
async fn json_that_is_nested_too_deeply_is_refused_under_its_id_unless_nobody_waits() {
    let mut client = Client::greeted(Fixtures::new(), json!({})).await;
    let (open, close) = ("[".repeat(500), "]".repeat(500));
    for (head, tail, id) in [(r#""id":5,"#, "", json!(5)), ("", r#","id":"six""#, json!("six"))] {
        let line =
            format!(r#"{{"jsonrpc":"2.0",{head}"method":"ping","params":{{"x":{open}{close}}}{tail}}}"#);
        client.say_bytes(format!("{line}\n").as_bytes()).await;
        let said = client.hear().await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&json!(-32700), &id), "{said}");
    }
    let notification =
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"x":{open}{close}}}}}"#);
    let answer = format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"x":{open}{close}}}}}"#);
    client.say_bytes(format!("{notification}\n{answer}\n").as_bytes()).await;
    client.say(&request("next", "ping", json!({}))).await;
    let said = client.hear().await;
    assert_eq!(said["id"], "next", "nothing is said about the others: {said}");
    client.stop().await;
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_reading_goes_on() {
    let cases: [(&[u8], i64, Value); 6] = [
        (b"no JSON at all\n", -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"p\xff\xfe\"}\n", -32700, json!(5)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":5\n", -32700, Value::Null),
        (b"{\"id\":5,\"method\":\"ping\"}\n", -32600, json!(5)),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"six\",\"method\":7}\n", -32600, json!("six")),
        (b"[1, 2]\n", -32600, Value::Null),
    ];
    let mut client = Client::of_fixtures();
    for greeted in [false, true] {
        if greeted {
            client.greet(json!({})).await;
        }
        for (bytes, code, id) in &cases {
            client.say_bytes(bytes).await;
            let said = client.hear().await;
            assert_eq!((said["error"]["code"].as_i64(), &said["id"]), (Some(*code), id), "{said}");
            if bytes.starts_with(b"[") {
                client.hear().await;
            }
        }
        let answer = client.request("still there", "ping", json!({})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    client.stop().await;
}

#[tokio::test]
async fn a_message_that_is_too_long_is_refused_and_the_next_one_read() {
    let mut client = Client::greeted(Fixtures::new(), json!({})).await;
    let piece = vec![b'x'; 1024 * 1024];
    for (beginning, id) in [("", Value::Null), (r#"{"jsonrpc":"2.0","id":"big","method":""#, json!("big"))] {
        client.say_bytes(beginning.as_bytes()).await;
        for _ in 0..=LINE_LIMIT / piece.len() {
            client.say_bytes(&piece).await;
        }
        let said = client.hear().await;
        assert_eq!((&said["error"]["code"], &said["id"]), (&json!(-32600), &id), "{said}");
        client.say_bytes(b"the end of it\n").await;
        let answer = client.request("1", "ping", json!({})).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    client.stop().await;
}

#[tokio::test]
async fn several_messages_in_one_line_are_taken_one_by_one() {
    let mut client = Client::greeted(Fixtures::new(), json!({})).await;
    let both = json!([request("a", "ping", json!({})), 7, request("b", "ping", json!({}))]);
    client.say(&both).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(client.hear().await["id"].clone());
    }
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, [json!("a"), json!("b"), Value::Null]);
    client.stop().await;
}

#[tokio::test]
async fn requests_run_beside_each_other_and_are_answered_as_they_are_done() {
    let asks = json!({ "elicitation": {} });
    let mut client = Client::greeted(Fixtures::new(), asks).await;
    // Each of these waits until the client has answered a question.
    let waiting: Vec<String> = (0..32).map(|number| format!("waiting {number}")).collect();
    let mut questions = Vec::new();
    for id in &waiting {
        let call = json!({ "name": "test_elicitation", "arguments": { "message": id } });
        client.say(&request(id, "tools/call", call)).await;
        questions.push(client.hear().await);
    }
    let quick = client.request("quick", "tools/call", simple_text()).await;
    assert_eq!(quick["result"]["isError"], false, "{quick}");
    for question in questions.iter().rev() {
        let result = json!({ "action": "decline" });
        client.say(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
        let answer = client.hear().await;
        assert_eq!(answer["id"], question["params"]["message"], "{answer}");
    }
    client.stop().await;
}

#[tokio::test]
async fn one_request_more_than_can_be_under_way_is_refused_until_one_is_answered_or_cancelled() {
    let asks = json!({ "elicitation": {} });
    let mut client = Client::greeted(Fixtures::new(), asks).await;
    let call = |id: &str| {
        let call = json!({ "name": "test_elicitation", "arguments": { "message": id } });
        request(id, "tools/call", call)
    };
    for number in 0..IN_FLIGHT_LIMIT {
        client.say(&call(&number.to_string())).await;
        client.hear().await;
    }
    let twice = client.request("0", "ping", json!({})).await;
    assert_eq!(twice["error"]["code"], -32600, "an id that is in use: {twice}");
    let refused = client.request("one more", "ping", json!({})).await;
    assert_eq!(refused["error"]["code"], -32603, "{refused}");
    let cancelled = json!({ "requestId": "7" });
    client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    let answer = client.request("now", "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    client.stop().await;
}

#[tokio::test]
async fn what_is_under_way_is_still_answered_when_the_client_has_closed_its_side() {
    let mut client = Client::greeted(Fixtures::new(), json!({})).await;
    // This one takes a while.
    let slow = json!({ "name": "test_tool_with_progress" });
    client.say(&request("slow", "tools/call", slow)).await;
    client.say(&request("quick", "tools/call", simple_text())).await;
    // The last message needs no end of line.
    client.say_bytes(request("last", "ping", json!({})).to_string().as_bytes()).await;
    let said = client.close().await;
    let mut ids: Vec<_> = said.iter().map(|answer| answer["id"].as_str().unwrap_or_default()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["last", "quick", "slow"], "{said:?}");
}

#[tokio::test]
async fn nobody_is_waited_for_once_the_client_is_gone() {
    let asks = json!({ "elicitation": {} });
    let mut client = Client::greeted(Fixtures::new(), asks.clone()).await;
    let call = json!({ "name": "test_elicitation", "arguments": { "message": "never answered" } });
    client.say(&request("1", "tools/call", call)).await;
    client.hear().await;
    client.vanish().await;
    Client::of_fixtures().vanish().await;
    assert_eq!(Client::of_fixtures().close().await, [] as [Value; 0]);
}

#[tokio::test]
async fn a_client_that_reads_late_loses_nothing() {
    // Their replies are more than the pipe and the queue hold before the server stops reading.
    const MANY: usize = 250;
    let mut client = Client::greeted(Fixtures::new(), json!({})).await;
    for number in 0..MANY {
        client.say(&request(&number.to_string(), "tools/list", json!({}))).await;
    }
    let mut bytes = 0;
    for _ in 0..MANY {
        let answer = client.hear().await;
        assert!(answer["result"]["tools"].is_array(), "{answer}");
        bytes += answer.to_string().len();
    }
    assert!(bytes > 1024 * 1024, "the answers are too short for this test: {bytes}");
    client.stop().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_bytes_end_the_server(bytes in proptest::collection::vec(prop_oneof![6 => any::<u8>(), 1 => Just(b'\n')], 0..2000)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let mut client = Client::of_fixtures();
            client.say_bytes(&bytes).await;
            client.say_bytes(b"\n").await;
            client.greet(json!({})).await;
            client.say_bytes(&bytes).await;
            client.say_bytes(b"\n").await;
            let answer = client.request("still there", "ping", json!({})).await;
            assert_eq!(answer["result"], json!({}), "{answer}");
            client.stop().await;
        });
    }
}
