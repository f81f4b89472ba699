//! `session/*`: all output has an address.

use serde_json::{Value, json};
use windlass_engine::Retention;

use super::rig::{Bench, Client, bytes_of, sh, streamed, with};

/// Runs a script to its end and returns the number of its session.
async fn ran(client: &mut Client, script: &str) -> Value {
    client.run(sh(script)).await.result["receipt"]["sessionId"].clone()
}

#[tokio::test]
async fn running_and_ended_sessions_are_listed_with_their_names() {
    let bench = Bench::new("app-list");
    let mut client = bench.client().await;
    let ended = ran(&mut client, "exit 3").await;
    let exec = client.ask("command/exec", streamed("live", "echo up; cat")).await;
    client.printed("live", "up").await;
    let sessions = client.get("session/list", json!({})).await["sessions"].take();
    let [first, second] = sessions.as_array().expect("a list").as_slice() else { panic!("{sessions}") };
    assert_eq!((&first["sessionId"], &first["state"]), (&ended, &json!("exited")));
    assert_eq!(first["exit"]["exitCode"], 3);
    assert_eq!((&second["processId"], &second["state"]), (&json!("live"), &json!("running")));
    assert_eq!((&second["end"], &second["tty"]), (&json!(3), &json!(false)));
    assert_eq!(second["command"], json!(["sh", "-c", "echo up; cat"]));
    let mut other = bench.client().await;
    assert_eq!(other.get("session/list", json!({})).await, json!({ "sessions": [] }));
    client.get("command/exec/write", json!({ "processId": "live", "closeStdin": true })).await;
    client.result(exec).await;
    client.vanish().await;
    other.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_span_is_read_as_it_was_printed() {
    let bench = Bench::new("app-span");
    let mut client = bench.client().await;
    let id = ran(&mut client, "printf 'one\\377'; sleep 0.01; printf 'two' >&2").await;
    let read = async |client: &mut Client, span: Value, most: u64| {
        let params = json!({ "sessionId": id, "span": span, "maxBytes": most });
        client.get("session/read", params).await
    };
    let all = read(&mut client, json!({}), 100).await;
    let bytes: Vec<u8> = all["chunks"].as_array().expect("a list").iter().flat_map(bytes_of).collect();
    assert_eq!(bytes, b"one\xfftwo");
    assert_eq!(all["chunks"][1]["stream"], "stderr");
    assert_eq!((&all["next"], &all["end"], &all["closed"]), (&json!(7), &json!(7), &json!(true)));
    assert_eq!(all["truncated"], false);
    let part = read(&mut client, json!({ "from": 2, "to": 6 }), 3).await;
    let bytes: Vec<u8> = part["chunks"].as_array().expect("a list").iter().flat_map(bytes_of).collect();
    assert_eq!(
        (bytes.as_slice(), &part["next"], &part["truncated"]),
        (b"e\xfft".as_slice(), &json!(5), &json!(true))
    );
    let beyond = read(&mut client, json!({ "from": 50 }), 3).await;
    // A client that continues at an earlier `next` would get output that it did not ask for.
    assert_eq!((beyond.get("chunks"), &beyond["next"]), (None, &json!(50)));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn lines_are_read_by_number_and_by_what_they_match() {
    let bench = Bench::new("app-lines");
    let mut client = bench.client().await;
    let id = ran(&mut client, "seq 1 1000; printf '10%%\\r20%%\\r\\033[1mdone\\033[0m\\nlast'").await;
    let lines = |result: &Value| -> Vec<(u64, String, bool)> {
        let lines = result["lines"].as_array().cloned().unwrap_or_default();
        let line = |line: &Value| {
            let text = line["text"].as_str().unwrap_or_default().to_owned();
            (line["number"].as_u64().unwrap_or_default(), text, line["matches"] == true)
        };
        lines.iter().map(line).collect()
    };
    let choose = |more: Value| with(json!({ "sessionId": id }), more);
    let some = client.get("session/read", choose(json!({ "lines": { "first": 999, "last": 1001 } }))).await;
    let expected = [(999, "999"), (1000, "1000"), (1001, "done")];
    assert_eq!(lines(&some), expected.map(|(n, text)| (n, text.to_owned(), false)));
    let rest = client.get("session/read", choose(json!({ "lines": { "first": 1002 } }))).await;
    assert_eq!(lines(&rest), [(1002, "last".to_owned(), false)]);
    let found = client
        .get("session/read", choose(json!({ "grep": { "pattern": "^50$|do+ne", "context": 1 } })))
        .await;
    let expected = [
        (49, "49", false),
        (50, "50", true),
        (51, "51", false),
        (1000, "1000", false),
        (1001, "done", true),
        (1002, "last", false),
    ];
    assert_eq!(lines(&found), expected.map(|(n, text, hit)| (n, text.to_owned(), hit)));
    let few = client.get("session/read", choose(json!({ "lines": { "first": 1 }, "maxBytes": 10 }))).await;
    assert_eq!((lines(&few).len(), &few["truncated"]), (9, &json!(true)));
    client.vanish().await;
    bench.end().await;
}

/// The lines of `choice`, reply by reply, each request continuing after the last line of the reply before.
async fn page_by_page(client: &mut Client, id: &Value, (choice, most): (Value, u64)) -> Vec<Value> {
    let mut all = Vec::new();
    let name = if choice.get("grep").is_some() { "grep" } else { "lines" };
    let mut params = with(json!({ "sessionId": id, "maxBytes": most }), choice);
    loop {
        let answer = client.get("session/read", params.clone()).await;
        let lines = answer["lines"].as_array().cloned().unwrap_or_default();
        all.extend(lines.iter().cloned());
        if answer["truncated"] == false {
            return all;
        }
        let last = lines.last().expect("there is always one")["number"].as_u64().expect("a number");
        params[name]["first"] = json!(last + 1);
    }
}

/// Regression test: replies were cut in the middle of a line, were not marked as cut if lines are short, and a line
/// longer than a reply stopped all progress.
#[tokio::test]
async fn truncated_lines_and_matches_are_gone_on_with_and_none_is_missing() {
    let bench = Bench::new("app-pages");
    let mut client = bench.client().await;
    let script = "seq 1 30000; yes '' | head -n 70000; head -c 300000 /dev/zero | tr '\\0' x; printf 'needle\\n'; \
                  seq 100001 100009";
    let id = ran(&mut client, script).await;
    let text = |line: &Value| line["text"].as_str().unwrap_or_default().to_owned();
    for most in [1000, 200_000, 16 << 20] {
        let all = page_by_page(&mut client, &id, (json!({ "lines": { "first": 29_000 } }), most)).await;
        let numbers: Vec<u64> = all.iter().filter_map(|line| line["number"].as_u64()).collect();
        assert_eq!(numbers, (29_000..=100_010).collect::<Vec<u64>>());
        let [long] = all.iter().filter(|line| text(line).starts_with('x')).collect::<Vec<_>>()[..] else {
            panic!("there is one such line")
        };
        assert_eq!(long["cut"], most < 300_006);
        assert_eq!(text(long).len(), 300_006.min(usize::try_from(most).expect("small")));
        let span =
            (long["span"]["from"].as_u64().expect("it has"), long["span"]["to"].as_u64().expect("it has"));
        assert_eq!(span.1 - span.0, 300_007);
        assert_eq!(text(&all[all.len() - 1]), "100009");
        // Continuing after a last line that was cut is not an error.
        let one =
            json!({ "sessionId": id, "maxBytes": most, "lines": { "first": 100_001, "last": 100_001 } });
        let none = json!({ "sessionId": id, "lines": { "first": 100_002, "last": 100_001 } });
        assert_eq!(client.get("session/read", one).await["truncated"], most < 300_006);
        assert_eq!(client.get("session/read", none).await.get("lines"), None);

        let grep = json!({ "grep": { "pattern": "99$|needle", "context": 1 } });
        let found = page_by_page(&mut client, &id, (grep, most)).await;
        let matches: Vec<&Value> = found.iter().filter(|line| line["matches"] == true).collect();
        assert_eq!((matches.len(), found.len()), (301, 903));
        let needle = matches[300];
        assert_eq!((&needle["cut"], &needle["span"]), (&json!(true), &long["span"]));
        assert_eq!((&needle["number"], text(needle).ends_with("xneedle")), (&long["number"], true));
    }
    client.vanish().await;
    bench.end().await;
}

/// Regression test: the lines around dropped output were joined into one, with a word in it that was never printed.
#[tokio::test]
async fn lines_on_both_sides_of_what_is_dropped_are_two() {
    let bench = Bench::keeping("app-torn", Retention { limit: 64 << 10, head: 10_000 });
    let mut client = bench.client().await;
    let line = format!("begin{}end", "x".repeat(990));
    let id = ran(&mut client, &format!("yes {line} | head -n 1000")).await;
    let all = client.get("session/read", json!({ "sessionId": id, "lines": { "first": 1 } })).await;
    let [dropped] = all["dropped"].as_array().expect("some is dropped").as_slice() else { panic!("{all}") };
    let lines = all["lines"].as_array().expect("some is kept");
    let torn = lines.iter().position(|line| line["cut"] == true).expect("one ends at the hole");
    let text = |at: usize| lines[at]["text"].as_str().unwrap_or_default();
    assert_eq!(lines[torn]["span"]["to"], dropped["from"]);
    assert_eq!(lines[torn + 1]["span"]["from"], dropped["to"]);
    assert!(text(torn).starts_with("begin") && !text(torn).contains("end"), "{}", text(torn));
    assert!(text(torn + 1).ends_with("end") && !text(torn + 1).contains("begin"), "{}", text(torn + 1));
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["number"].as_u64()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<u64>>());
    let params = json!({ "sessionId": id, "grep": { "pattern": "begin.*end" } });
    let found = client.get("session/read", params).await["lines"].as_array().map_or(0, Vec::len);
    assert_eq!(found, lines.len() - 2);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_wait_ends_with_the_first_thing_that_holds() {
    let bench = Bench::new("app-wait");
    let mut client = bench.client().await;
    let exec = client.ask("command/exec", streamed("w", "echo ready to go; read line; exit 7")).await;
    let wait = |until: Value| json!({ "processId": "w", "until": until });
    let found = client.get("session/wait", wait(json!({ "pattern": "to g." }))).await;
    let expected = json!({ "text": "to go", "from": 6, "to": 11 });
    assert_eq!((&found["met"], &found["match"]), (&json!("pattern"), &expected));
    let reads = client.get("session/wait", wait(json!({ "input": true }))).await;
    assert_eq!((&reads["met"], reads.get("exit")), (&json!("input"), None));
    assert_eq!(client.get("session/wait", wait(json!({ "offset": 12 }))).await["met"], "offset");
    assert_eq!(client.get("session/wait", wait(json!({ "idleMs": 20 }))).await["met"], "idle");
    let limited = json!({ "processId": "w", "timeoutMs": 20 });
    assert_eq!(client.get("session/wait", limited).await["met"], "timeout");
    let waiting = client.ask("session/wait", json!({ "processId": "w" })).await;
    client.write("w", b"go\n").await;
    let over = client.result(waiting).await;
    assert_eq!((&over["met"], &over["exit"]["exitCode"]), (&json!("exit"), &json!(7)));
    let reached = |offset: u64| json!({ "sessionId": over["sessionId"], "until": { "offset": offset } });
    assert_eq!(client.get("session/wait", reached(12)).await["met"], "offset", "it was, before the exit");
    assert_eq!(client.get("session/wait", reached(1000)).await["met"], "exit");
    client.result(exec).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn signals_go_to_the_group_and_nothing_else_is_done() {
    let bench = Bench::new("app-kill");
    let mut client = bench.client().await;
    let script = "trap 'echo got usr1' USR1; echo ready; while :; do sleep 0.02; done";
    let exec = client.ask("command/exec", streamed("k", script)).await;
    client.printed("k", "ready").await;
    let signal = |name: &str| json!({ "processId": "k", "signal": name });
    // The signal ends the shell's `sleep`, too; the shell reports it when it next looks.
    assert_eq!(client.get("session/signal", signal("SIGUSR1")).await, json!({}));
    client.printed("k", "got usr1").await;
    let unknown = client.request("session/signal", signal("NOPE")).await;
    assert_eq!(unknown["error"]["code"], -32602);
    client.get("session/signal", signal("KILL")).await;
    let result = client.result(exec).await;
    assert_eq!((&result["signal"], &result["receipt"]["cause"]), (&json!(9), &json!("itself")));
    let over = json!({ "sessionId": result["receipt"]["sessionId"], "signal": "TERM" });
    let message = format!("session {} is no longer running", result["receipt"]["sessionId"]);
    client.refused("session/signal", over, (-32600, &message)).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_subscription_begins_at_any_offset_and_tells_the_end() {
    let bench = Bench::new("app-subscribe");
    let mut client = bench.client().await;
    let exec = client.ask("command/exec", streamed("s", "echo one; read _; echo two >&2; exit 5")).await;
    client.printed("s", "one").await;
    let subscribed = client.get("session/subscribe", json!({ "processId": "s", "from": 2 })).await;
    assert_eq!(subscribed["from"], 2);
    client.write("s", b"\n").await;
    let mut heard = Vec::new();
    while heard.len() < 6 {
        let output = client.notice("session/output").await;
        assert_eq!(
            (&output["sessionId"], &output["offset"]),
            (&subscribed["sessionId"], &json!(2 + heard.len()))
        );
        heard.extend(bytes_of(&output));
    }
    assert_eq!(heard, b"e\ntwo\n");
    let exited = client.notice("session/exited").await;
    assert_eq!((&exited["sessionId"], &exited["exit"]["exitCode"]), (&subscribed["sessionId"], &json!(5)));
    assert_eq!(client.notice("session/closed").await["end"], 8);
    client.result(exec).await;
    // The same again from the journal, and then no more.
    client.kept.clear();
    let again = json!({ "sessionId": subscribed["sessionId"], "from": 0 });
    client.get("session/subscribe", again.clone()).await;
    assert_eq!(client.notice("session/closed").await["end"], 8);
    assert_eq!(client.get("session/unsubscribe", again).await, json!({}));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_session_is_named_in_one_way_and_must_be_there() {
    let bench = Bench::new("app-targets");
    let mut client = bench.client().await;
    let one = "name the session by exactly one of sessionId, processId and processHandle";
    let table = [
        ("session/read", json!({}), -32602, one),
        ("session/wait", json!({ "sessionId": 1, "processId": "a" }), -32602, one),
        ("session/read", json!({ "sessionId": 7 }), -32600, "no session 7 on this connection"),
        (
            "session/subscribe",
            json!({ "processId": "a" }),
            -32600,
            "no active command/exec for process id \"a\"",
        ),
        (
            "session/unsubscribe",
            json!({ "processHandle": "a" }),
            -32600,
            "no active process for process handle \"a\"",
        ),
        (
            "session/read",
            json!({ "sessionId": 7, "span": {}, "lines": { "first": 1 } }),
            -32602,
            "session/read takes at most one of span, lines and grep",
        ),
        (
            "session/read",
            json!({ "sessionId": 7, "lines": { "first": 0 } }),
            -32602,
            "session/read counts lines from 1",
        ),
        (
            "session/read",
            json!({ "sessionId": 7, "lines": { "first": 9, "last": 7 } }),
            -32602,
            "session/read lines: the last, 7, is before the first, 9",
        ),
        (
            "session/read",
            json!({ "sessionId": 7, "grep": { "pattern": "x", "first": 0 } }),
            -32602,
            "session/read counts lines from 1",
        ),
    ];
    for (method, params, code, message) in table {
        client.refused(method, params, (code, message)).await;
    }
    let bad = client.request("session/read", json!({ "sessionId": 7, "grep": { "pattern": "(" } })).await;
    let message = bad["error"]["message"].as_str().expect("it is refused");
    assert!(message.starts_with("session/read grep.pattern: not a regular expression"), "{message}");
    let mut stranger = bench.stranger();
    for method in ["session/list", "session/read", "session/wait", "session/subscribe", "session/unsubscribe"]
    {
        stranger.refused(method, json!({}), (-32600, "Not initialized")).await;
    }
    client.vanish().await;
    stranger.vanish().await;
    bench.end().await;
}

/// However many requests arrive at once, only one large reply is in memory.
#[tokio::test]
async fn reads_are_carried_out_one_at_a_time() {
    let bench = Bench::new("app-turns");
    let mut client = bench.client().await;
    let id = ran(&mut client, "seq 300000").await;
    let grep = json!({ "sessionId": id, "grep": { "pattern": "^299999$" } });
    let slow = client.ask("session/read", grep).await;
    let quick = client.ask("session/read", json!({ "sessionId": id, "maxBytes": 1 })).await;
    let first = client.hear().await.expect("an answer");
    assert_eq!(first["id"], slow);
    assert_eq!(first["result"]["lines"][0]["number"], 299_999);
    assert_eq!(client.result(quick).await["next"], 1);
    client.vanish().await;
    bench.end().await;
}
