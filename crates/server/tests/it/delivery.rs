//! Every request is answered under its own id, and the contents of a lost reply are in the next one.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use windlass_server::shim::Meeting;
use windlass_tools::{Call, Reply};

use crate::bench::{Bench, exec};
use crate::http::Server;
use crate::rig::{Client, HANG, modern, request};

/// A program that answers each line.
const ECHO: &str = "stty -echo; echo ready; while read -r line; do echo \"got $line.\"; done";

fn write(id: &str, session: &Value, line: &str) -> Value {
    let until = json!({ "pattern": format!("got {line}\\.") });
    let arguments = json!({ "session_id": session, "chars": format!("{line}\n"), "until": until });
    request(id, "tools/call", json!({ "name": "write_stdin", "arguments": arguments }))
}

fn output(answer: &Value) -> String {
    answer["result"]["structuredContent"]["output"].as_str().unwrap_or_default().to_owned()
}

async fn start_echo(client: &mut Client) -> Value {
    let arguments = json!({ "cmd": ECHO, "tty": true, "until": { "pattern": "ready" } });
    client.say(&exec("start", arguments)).await;
    client.answer("start").await["result"]["structuredContent"]["session"].clone()
}

/// Regression test: a reply that was made while its request was cancelled was lost, and no later one showed its output.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_output_of_a_call_that_is_cancelled_at_any_moment_is_shown_by_the_next_one() {
    const ROUNDS: usize = 150;
    let bench = Bench::new("cancelled-reply");
    let mut client = bench.client(json!({})).await;
    let session = start_echo(&mut client).await;
    let mut cancelled = 0;
    for round in 0..ROUNDS {
        let (first, second) = (format!("a{round}"), format!("b{round}"));
        client.say(&write(&first, &session, &first)).await;
        // Cancels at moments from before the call begins to after its reply.
        for _ in 0..round * 20 {
            tokio::task::yield_now().await;
        }
        let params = json!({ "requestId": first });
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
        client.say(&write(&second, &session, &second)).await;
        let (mut seen, mut is_answered) = (String::new(), false);
        loop {
            let said = client.hear().await;
            if said["id"] == second.as_str() {
                seen += &output(&said);
                break;
            }
            if said["id"] == first.as_str() {
                is_answered = true;
                seen += &output(&said);
            }
        }
        cancelled += usize::from(!is_answered);
        // A call that is cancelled before it begins types nothing, and one that is cancelled late may type after the
        // next.
        let answer = format!("got {first}.");
        if !seen.contains(&answer) && was_typed(&mut client, &session, &first).await {
            let until = json!({ "pattern": format!("got {first}\\.") });
            let call =
                json!({ "name": "write_stdin", "arguments": { "session_id": session, "until": until } });
            let shown = client.request("again", "tools/call", call).await;
            assert!(output(&shown).contains(&answer), "round {round}: {seen} {shown}");
        }
    }
    println!("{cancelled} of {ROUNDS} calls were cancelled in time");
    assert!(cancelled > 0);
    client.stop().await;
    bench.end().await;
}

/// Whether the program has read this line, by its whole output.
async fn was_typed(client: &mut Client, session: &Value, line: &str) -> bool {
    let arguments = json!({ "session_id": session, "grep": format!("got {line}\\.") });
    let call = json!({ "name": "read_output", "arguments": arguments });
    output(&client.request("look", "tools/call", call).await).contains(line)
}

#[tokio::test]
async fn the_reply_of_a_task_is_delivered_when_its_client_fetches_it() {
    let bench = Bench::new("task-delivery");
    let mut client = Client::of(bench.server().with_tasks_after(Duration::ZERO));
    let meta = modern(json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let script = format!("echo before; {}; echo after", bench.until_sign("done"));
    let arguments = json!({ "cmd": script, "name": "job", "until": { "exit": true } });
    let call = json!({ "name": "exec_command", "arguments": arguments, "_meta": meta });
    let created = client.request("1", "tools/call", call).await["result"].clone();
    bench.give_sign("done");
    let task = json!({ "taskId": created["taskId"], "_meta": meta });
    let finished = loop {
        let state = client.request("poll", "tasks/get", task.clone()).await;
        if state["result"]["status"] != "working" {
            break state;
        }
    };
    let shown = &finished["result"]["result"]["structuredContent"];
    assert_eq!(shown["output"], "before\nafter\n", "{finished}");
    let arguments = json!({ "session_id": "job" });
    let poll = json!({ "name": "write_stdin", "arguments": arguments, "_meta": modern(json!({})) });
    let again = client.request("2", "tools/call", poll).await;
    assert_eq!(output(&again), "", "{again}");
    assert!(again.to_string().contains("already reported (exited with code 0)"), "{again}");
    client.stop().await;
    bench.end().await;
}

/// The runtime that called may lose the reply on the way to its own client.
#[tokio::test]
async fn a_shim_hears_whether_its_reply_was_delivered() {
    let bench = Bench::new("shim-delivery");
    let meeting = Meeting::below(&bench.sign("state"));
    let door = meeting.open("door").expect("a socket");
    let toolbox = bench.toolbox.clone();
    let shim = tokio::spawn(async move {
        while let Ok(caller) = door.knock().await {
            // A caller that disconnected gets no reply.
            let _ = caller.serve(&toolbox).await;
        }
    });
    let ask = async |tool: &str, arguments: Value| {
        let Value::Object(arguments) = arguments else { unreachable!("arguments are an object") };
        let call = Call::new(tool, arguments);
        tokio::time::timeout(HANG, meeting.ask("door", &call))
            .await
            .expect("the shim answers")
            .expect("and is there")
            .reply
    };
    let output = |reply: &Reply| reply.structured["output"].as_str().unwrap_or_default().to_owned();
    let exit = json!({ "exit": true });
    let lost = ask("exec_command", json!({ "cmd": "echo said", "name": "job", "until": exit })).await;
    assert_eq!(output(&lost), "said\n");
    drop(lost);
    let poll = json!({ "session_id": "job", "until": exit });
    let told = ask("write_stdin", poll.clone()).await;
    assert_eq!(output(&told), "said\n", "{}", told.text);
    assert!(told.text.contains("shown again"), "{}", told.text);
    told.delivery.confirm();
    let again = ask("write_stdin", poll).await;
    assert_eq!(output(&again), "", "{}", again.text);
    drop(again);
    shim.abort();
    bench.end().await;
}

/// Regression test: five were not answered, and one got the output of another call.
#[tokio::test]
async fn requests_under_one_id_at_once_are_answered_each_or_rejected() {
    let bench = Bench::new("same-id");
    let handler = bench.server();
    let server = Server::of(move || handler.for_another_client()).await;
    let headers = server.greet().await;
    let headers = headers.each_ref().map(|(name, value)| (*name, value.as_str()));
    let call = |number: usize| {
        let script = format!("echo number {number}; {}", bench.until_sign("go"));
        exec("same", json!({ "cmd": script, "until": { "exit": true } }))
    };
    let calls: Vec<_> = (0..6).map(call).collect();
    let mut under_way: Vec<_> = calls.iter().map(|call| Box::pin(server.post(&headers, call))).collect();
    let mut answers: Vec<Option<Value>> = vec![None; calls.len()];
    // The first of them is carried out; the others are rejected before it ends.
    std::future::poll_fn(|cx| {
        for (call, answer) in under_way.iter_mut().zip(&mut answers).filter(|(_, answer)| answer.is_none()) {
            if let std::task::Poll::Ready(answered) = call.as_mut().poll(cx) {
                *answer = Some(answered.json());
            }
        }
        let rejected = answers.iter().flatten().count();
        if rejected == calls.len() - 1 { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    for answer in answers.iter().flatten() {
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("same"), &json!(-32600)), "{answer}");
        assert!(
            answer["error"]["message"].as_str().is_some_and(|text| text.contains("under way")),
            "{answer}"
        );
    }
    bench.give_sign("go");
    let number = answers.iter().position(Option::is_none).expect("one is carried out");
    let answer = under_way.remove(number).await.json();
    assert_eq!(answer["id"], "same", "{answer}");
    assert_eq!(output(&answer), format!("number {number}\n"));
    drop(under_way);
    // The id is free again.
    let again = server.post(&headers, &exec("same", json!({ "cmd": "echo again" }))).await.json();
    assert_eq!(output(&again), "again\n", "{again}");
    server.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn requests_of_the_newer_protocol_may_share_an_id() {
    let bench = Bench::new("same-id-newer");
    let handler = bench.server();
    let server = Server::of(move || handler.for_another_client()).await;
    let auth = server.authorization();
    let headers = [
        ("Authorization", auth.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "exec_command"),
    ];
    let call = |number: usize| {
        let arguments = json!({ "cmd": format!("echo number {number}"), "until": { "exit": true } });
        let params = json!({ "name": "exec_command", "arguments": arguments, "_meta": modern(json!({})) });
        request("same", "tools/call", params)
    };
    let (a, b, c) = (call(1), call(2), call(3));
    let answers =
        tokio::join!(server.post(&headers, &a), server.post(&headers, &b), server.post(&headers, &c));
    for (number, answer) in [(1, answers.0), (2, answers.1), (3, answers.2)] {
        let answer = answer.json();
        assert_eq!((&answer["id"], output(&answer)), (&json!("same"), format!("number {number}\n")));
    }
    server.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn the_output_of_a_call_whose_connection_is_lost_is_shown_by_the_next_one() {
    for legacy in [true, false] {
        let bench = Bench::new("lost-connection");
        let handler = bench.server();
        let server = Server::of(move || handler.for_another_client()).await;
        let greeted = server.greet().await;
        let newer = [
            ("Authorization", greeted[0].1.clone()),
            ("MCP-Protocol-Version", "2026-07-28".to_owned()),
            ("Mcp-Method", "tools/call".to_owned()),
        ];
        let headers = if legacy { greeted.to_vec() } else { newer.to_vec() };
        let call = |tool: &str, arguments: Value| {
            let mut params = json!({ "name": tool, "arguments": arguments });
            if !legacy {
                params["_meta"] = modern(json!({}));
            }
            request(tool, "tools/call", params)
        };
        let with_name = |tool: &'static str| {
            let mut headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
            headers.extend((!legacy).then_some(("Mcp-Name", tool)));
            headers
        };
        let script = format!("echo before; {}; echo after", bench.until_sign("lost"));
        let start = call("exec_command", json!({ "cmd": script, "name": "job", "until": { "exit": true } }));
        let mut events = bench.toolbox.events();
        let mut stream = TcpStream::connect(server.address).await.expect("the server is there");
        let posting = server.posting(&with_name("exec_command"), &start.to_string());
        stream.write_all(posting.as_bytes()).await.expect("it takes the request");
        events.recv().await.expect("the session starts");
        drop(stream);
        bench.give_sign("lost");
        let wait = call("wait_sessions", json!({ "session_ids": ["job"], "until": { "exit": true } }));
        server.post(&with_name("wait_sessions"), &wait).await;
        // The reply of a request of the older protocol is made all the same, perhaps right now.
        let poll = call("write_stdin", json!({ "session_id": "job", "until": { "exit": true } }));
        let shown = server.post(&with_name("write_stdin"), &poll).await.json();
        assert_eq!(output(&shown), "before\nafter\n", "{shown}");
        server.stop().await;
        bench.end().await;
    }
}

/// JavaScript writes half of an emoji like this. Regression test: the request was answered under `id: null`, or with a
/// page of text.
#[tokio::test]
async fn half_of_a_character_is_replaced_and_the_reply_says_so() {
    let bench = Bench::new("surrogate");
    let script = r#"{"cmd":"printf %s 'a\ud83db\ud83d\ude00'","until":{"exit":true}}"#;
    let line = |id: &str, meta: &str| {
        let params = format!(r#"{{"name":"exec_command","arguments":{script}{meta}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let check = |answer: &Value| {
        assert_eq!(output(answer), "a\u{fffd}b\u{1f600}", "{answer}");
        let notes = answer["result"]["structuredContent"]["notes"].to_string();
        assert!(notes.contains("1 unpaired surrogate") && notes.contains("U+FFFD"), "{answer}");
    };
    let mut client = bench.client(json!({})).await;
    client.say_bytes(format!("{}\n", line("\"five\"", "")).as_bytes()).await;
    check(&client.answer("five").await);
    client.stop().await;

    let handler = bench.server();
    let server = Server::of(move || handler.for_another_client()).await;
    let greeted = server.greet().await;
    let headers = greeted.each_ref().map(|(name, value)| (*name, value.as_str()));
    let answer = server.exchange(&server.posting(&headers, &line("5", ""))).await.json();
    assert_eq!(answer["id"], 5, "{answer}");
    check(&answer);
    let newer = [
        headers[0],
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "exec_command"),
    ];
    let meta = format!(r#","_meta":{}"#, modern(json!({})));
    check(&server.exchange(&server.posting(&newer, &line("6", &meta))).await.json());
    server.stop().await;
    bench.end().await;
}

#[tokio::test]
async fn a_body_that_is_no_json_is_refused_under_the_id_of_its_request() {
    let bench = Bench::new("unreadable-body");
    let handler = bench.server();
    let server = Server::of(move || handler.for_another_client()).await;
    let greeted = server.greet().await;
    let headers = greeted.each_ref().map(|(name, value)| (*name, value.as_str()));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","method":"ping","params":{}{},"id":7}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    for (body, id) in [
        (deep.as_str(), json!(7)),
        (r#"{"jsonrpc":"2.0","id":"x","method":"ping","params":{"#, json!("x")),
        ("nonsense", Value::Null),
    ] {
        let answer = server.exchange(&server.posting(&headers, body)).await;
        assert_eq!(answer.status(), 400, "{}", answer.0);
        let refusal = answer.json();
        assert_eq!((&refusal["id"], &refusal["error"]["code"]), (&id, &json!(-32700)), "{refusal}");
    }
    server.stop().await;
    bench.end().await;
}
