//! Random requests are answered once each, and the server goes on.

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use super::rig::Bench;

const METHODS: [&str; 26] = [
    "initialize",
    "process/start",
    "process/read",
    "process/write",
    "process/signal",
    "process/terminate",
    "process/resize",
    "process/closeStdin",
    "process/list",
    "environment/info",
    "environment/status",
    "fs/readFile",
    "fs/writeFile",
    "fs/createDirectory",
    "fs/getMetadata",
    "fs/canonicalize",
    "fs/readDirectory",
    "fs/walk",
    "fs/remove",
    "fs/copy",
    "fs/open",
    "fs/readBlock",
    "fs/close",
    "process/",
    "fs/",
    "",
];

const MEMBERS: [&str; 16] = [
    "processId",
    "argv",
    "cwd",
    "env",
    "tty",
    "chunk",
    "writeId",
    "path",
    "afterSeq",
    "maxBytes",
    "waitMs",
    "signal",
    "size",
    "handleId",
    "options",
    "sandbox",
];

/// Random JSON, with meaningful members now and then. It contains no path, so no request has an effect.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,8}".prop_map(Value::from),
        Just(json!("interrupt")),
    ];
    leaf.prop_recursive(3, 24, 8, |inner| {
        let members = prop::collection::vec((prop::sample::select(&MEMBERS[..]), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Value>()
            }),
        ]
    })
}

#[test]
fn every_request_is_answered_exactly_once_whatever_it_says() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let bench = runtime.block_on(async { Bench::new("random") });
    let request = (prop::sample::select(&METHODS[..]), anything());
    let requests = prop::collection::vec(request, 1..20);
    let tried = TestRunner::default().run(&requests, |requests| {
        runtime.block_on(async {
            let mut client = bench.client().await;
            let mut asked = Vec::new();
            for (method, params) in requests {
                asked.push(client.ask(method, params).await);
            }
            let mut answered = Vec::new();
            while answered.len() < asked.len() {
                let answer = client.hear().await.expect("the server is there");
                answered.push(answer["id"].as_i64().expect("an id"));
            }
            answered.sort_unstable();
            assert_eq!(answered, asked);
            assert_eq!(client.get("environment/status", json!(null)).await["status"], "ready");
            client.vanish().await;
        });
        Ok(())
    });
    tried.expect("nothing goes wrong");
    runtime.block_on(bench.end());
}
