//! Requests about one session are carried out and answered in the order in which they arrive.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::bench::{Bench, exec};
use crate::http::{Answer, Server};
use crate::rig::{HANG, request};

const BURSTS: usize = 20;
/// A line, an interrupt that ends the program, and a line that comes too late.
const TYPED: [&str; 3] = ["a\n", "\u{3}", "b\n"];

fn start() -> Value {
    exec("start", json!({ "cmd": "cat", "tty": true, "until": { "input": true } }))
}

fn writes(session: &Value) -> [Value; 3] {
    TYPED.map(|chars| {
        let mut arguments = json!({ "session_id": session, "chars": chars });
        if chars == "\u{3}" {
            // On a busy machine the program may take longer to end than a reply waits by default.
            arguments["until"] = json!({ "exit": true });
            arguments["yield_time_ms"] = json!(30_000);
        }
        request(chars, "tools/call", json!({ "name": "write_stdin", "arguments": arguments }))
    })
}

fn session(started: &Value) -> Value {
    started["result"]["structuredContent"]["session"].clone()
}

/// The second reply reports the end, with the output, and the third one that nothing was written.
fn check(replies: &[Value]) {
    let ids: Vec<&str> = replies.iter().filter_map(|reply| reply["id"].as_str()).collect();
    assert_eq!(ids, TYPED, "{replies:#?}");
    let [first, second, third] =
        [0, 1, 2].map(|number: usize| &replies[number]["result"]["structuredContent"]);
    assert_eq!(first["output"], "a\na\n", "{first}");
    assert_eq!((&second["output"], &second["exit_code"]), (&json!("^C"), &json!(130)), "{second}");
    assert!(second["receipt"].is_object(), "{second}");
    for other in [first, third] {
        assert!(other.get("exit_code").is_none() && other.get("receipt").is_none(), "{other}");
    }
    assert_eq!(third["state"], "exited with code 130 (killed by SIGINT)", "{third}");
    assert_eq!(third["notes"], json!(["nothing was written: the process has exited"]), "{third}");
    assert_eq!(third["output"], "", "{third}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_of_writes_on_pipes_that_ends_the_session_is_answered_in_its_order() {
    let bench = Bench::new("burst");
    let mut client = bench.client(json!({})).await;
    for _ in 0..BURSTS {
        client.say(&start()).await;
        let session = session(&client.answer("start").await);
        let burst: String = writes(&session).iter().map(|write| format!("{write}\n")).collect();
        client.say_bytes(burst.as_bytes()).await;
        let mut replies = Vec::new();
        while replies.len() < TYPED.len() {
            let said = client.hear().await;
            if said.get("result").is_some() {
                replies.push(said);
            }
        }
        check(&replies);
    }
    client.stop().await;
    bench.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_burst_of_writes_on_one_http_connection_is_answered_in_its_order() {
    let bench = Bench::new("http-burst");
    let toolbox = bench.toolbox.clone();
    let server = Server::of(move || windlass_server::mcp::Windlass::new(toolbox.clone())).await;
    let headers = server.greet().await;
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    for _ in 0..BURSTS {
        let session = session(&server.post(&headers, &start()).await.json());
        let [first, second, third] = writes(&session).map(|write| write.to_string());
        let mut stays = headers.to_vec();
        stays.push(("Connection", "keep-alive"));
        let burst = server.posting(&stays, &first)
            + &server.posting(&stays, &second)
            + &server.posting(&headers, &third);
        check(&replies(&server.exchange(&burst).await));
    }
    server.stop().await;
    bench.end().await;
}

/// The client knows no order between connections, but each reply still has the output of its own call.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writes_on_several_http_connections_tell_the_end_once() {
    let bench = Bench::new("http-connections");
    let toolbox = bench.toolbox.clone();
    let server = Server::of(move || windlass_server::mcp::Windlass::new(toolbox.clone())).await;
    let headers = server.greet().await;
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    for _ in 0..BURSTS {
        let session = session(&server.post(&headers, &start()).await.json());
        let requests = writes(&session).map(|write| server.posting(&headers, &write.to_string()));
        let mut streams = Vec::new();
        for request in &requests {
            let mut stream = TcpStream::connect(server.address).await.expect("the server is there");
            stream.write_all(request.as_bytes()).await.expect("it takes the request");
            streams.push(stream);
        }
        let mut ends = 0;
        for mut stream in streams {
            let mut answer = String::new();
            let read = tokio::time::timeout(HANG, stream.read_to_string(&mut answer)).await;
            read.expect("the server answers").expect("it can be read");
            let reply = &Answer(answer).json()["result"]["structuredContent"];
            ends += usize::from(reply["receipt"].is_object());
        }
        assert_eq!(ends, 1);
    }
    server.stop().await;
    bench.end().await;
}

/// The JSON of each response on one connection.
fn replies(answer: &Answer) -> Vec<Value> {
    let lines = answer.0.lines().map(|line| line.trim_start_matches("data:").trim());
    // The next response follows a body without a line break.
    let objects = lines.filter(|line| line.starts_with('{')).flat_map(|line| {
        serde_json::Deserializer::from_str(line)
            .into_iter::<Value>()
            .map_while(Result::ok)
            .collect::<Vec<_>>()
    });
    objects.filter(|object| object.get("result").is_some()).collect()
}
