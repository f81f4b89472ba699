//! Sessions as resources: listed, read and followed.

use serde_json::{Value, json};

use crate::bench::{Bench, exec};
use crate::rig::{Client, modern, request};

/// Reads messages up to one of this method.
async fn until(client: &mut Client, method: &str) -> Value {
    loop {
        let said = client.hear().await;
        if said["method"] == method {
            return said;
        }
    }
}

fn uri(session: &Value, view: &str) -> String {
    format!("windlass://session/{session}/{view}")
}

#[tokio::test]
async fn what_a_session_printed_and_what_became_of_it_can_be_read() {
    let bench = Bench::new("read");
    let mut client = bench.client(json!({})).await;
    client
        .say(&exec("1", json!({ "cmd": "echo on a terminal", "tty": true, "until": { "exit": true } })))
        .await;
    let shown = client.answer("1").await["result"]["structuredContent"]["session"].clone();
    client.say(&exec("2", json!({ "cmd": "echo through a pipe" }))).await;
    let piped = client.answer("2").await["result"]["structuredContent"]["session"].clone();
    let listed = client.request("3", "resources/list", json!({})).await["result"]["resources"].clone();
    let uris: Vec<_> = listed.as_array().expect("a list").iter().map(|found| found["uri"].clone()).collect();
    let expected = [
        uri(&shown, "transcript"),
        uri(&shown, "events"),
        uri(&shown, "screen"),
        uri(&piped, "transcript"),
        uri(&piped, "events"),
    ];
    assert_eq!(uris, expected);
    let templates = client.request("4", "resources/templates/list", json!({})).await;
    assert_eq!(templates["result"]["resourceTemplates"].as_array().map(Vec::len), Some(3), "{templates}");
    let mut read = async |uri: String| {
        let answer = client.request("5", "resources/read", json!({ "uri": uri })).await;
        answer["result"]["contents"][0]["text"].as_str().map(str::to_owned)
    };
    assert!(read(uri(&piped, "transcript")).await.is_some_and(|text| text.contains("through a pipe")));
    assert!(read(uri(&shown, "screen")).await.is_some_and(|text| text.contains("on a terminal")));
    let history: Value =
        serde_json::from_str(&read(uri(&piped, "events")).await.expect("a history")).expect("JSON");
    assert!(history["events"].as_array().is_some_and(|events| events.len() == 2), "{history}");
    assert_eq!(read(uri(&piped, "screen")).await, None, "what has no terminal has no screen");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_that_follows_a_session_hears_of_its_output_and_its_end() {
    let bench = Bench::new("follow");
    let mut client = bench.client(json!({})).await;
    let script = format!("{}; echo something new", bench.until_sign("print"));
    client.say(&exec("1", json!({ "cmd": script, "yield_time_ms": 250 }))).await;
    until(&mut client, "notifications/resources/list_changed").await;
    let session = client.answer("1").await["result"]["structuredContent"]["session"].clone();
    let followed = uri(&session, "transcript");
    let answer = client.request("2", "resources/subscribe", json!({ "uri": followed })).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    let unknown =
        client.request("3", "resources/subscribe", json!({ "uri": uri(&json!(7), "transcript") })).await;
    assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    bench.give_sign("print");
    let updated = until(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], followed, "{updated}");
    let answer = client.request("4", "resources/unsubscribe", json!({ "uri": followed })).await;
    assert_eq!(answer["result"], json!({}), "{answer}");
    client.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_of_the_newer_protocol_listens_for_what_it_asked_for() {
    let bench = Bench::new("listen");
    let mut client = Client::of(bench.server());
    let script = format!("{}; echo something new", bench.until_sign("print"));
    let arguments = json!({ "cmd": script, "yield_time_ms": 250 });
    let call = json!({ "name": "exec_command", "arguments": arguments, "_meta": modern(json!({})) });
    let session =
        client.request("1", "tools/call", call).await["result"]["structuredContent"]["session"].clone();
    let followed = uri(&session, "transcript");
    let wanted =
        json!({ "resourceSubscriptions": [followed, "file:///etc/passwd"], "toolsListChanged": true });
    let params = json!({ "notifications": wanted, "_meta": modern(json!({})) });
    client.say(&request("listening", "subscriptions/listen", params)).await;
    let accepted = until(&mut client, "notifications/subscriptions/acknowledged").await;
    assert_eq!(
        accepted["params"]["notifications"],
        json!({ "resourceSubscriptions": [followed] }),
        "{accepted}"
    );
    bench.give_sign("print");
    let updated = until(&mut client, "notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], followed, "{updated}");
    assert_eq!(
        updated["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listening",
        "{updated}"
    );
    client.stop().await;
    bench.end().await;
}
