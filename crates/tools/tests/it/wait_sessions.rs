//! `wait_sessions`: the first of several.

use crate::workbench::{bench, output, session};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn it_answers_when_the_first_of_them_meets_its_condition() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let one = bench.start("echo ready; sleep 60", "ready").await;
        let two = bench.start("echo ready; read x < gate; echo done; exit 3", "ready").await;
        gate.open().await;
        let reply = bench.ask("wait_sessions", json!({ "session_ids": [one, two] })).await;
        let structured = &reply.structured;
        assert_eq!(structured["met"], json!({ "session": two, "condition": "exit" }));
        assert_eq!(structured["timed_out"], false);
        let results = json!([
            { "session": one, "state": "running", "unread_tokens": 0 },
            { "session": two, "state": "exited with code 3", "exit_code": 3, "unread_tokens": 2 },
        ]);
        assert_eq!(structured["results"], results);
        assert!(
            reply.text.starts_with(&format!("Session {two} met its condition: exited\n")),
            "{}",
            reply.text
        );
        // It read nothing and reported no end as polling would.
        let poll = bench.finish(two).await;
        assert_eq!((output(&poll), &poll.structured["exit_code"]), ("done\n", &json!(3)));
    });
}

#[test]
fn the_condition_may_be_any_that_until_knows() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let one = bench.start("echo ready; sleep 60", "ready").await;
        let two = bench.start("echo ready; read x < gate; echo needle; sleep 60", "ready").await;
        gate.open().await;
        for until in [json!({ "pattern": "needle" }), json!([{ "exit": true }, { "pattern": "needle" }])] {
            let reply =
                bench.ask("wait_sessions", json!({ "session_ids": [one, two], "until": until })).await;
            assert_eq!(reply.structured["met"], json!({ "session": two, "condition": "pattern" }));
        }
    });
}

#[test]
fn a_timeout_is_told_as_one() {
    bench(async |bench| {
        let one = bench.start("echo ready; sleep 60", "ready").await;
        let reply = bench.ask("wait_sessions", json!({ "session_ids": [one], "timeout_ms": 100 })).await;
        assert_eq!((&reply.structured["met"], &reply.structured["timed_out"]), (&Value::Null, &json!(true)));
        assert!(reply.text.starts_with("No condition held within 0."), "{}", reply.text);
        assert!(!reply.is_error);
    });
}

#[test]
fn the_ceiling_of_the_call_ends_the_wait() {
    bench(async |bench| {
        let one = bench.start("echo ready; sleep 60", "ready").await;
        let arguments = json!({ "session_ids": [one], "timeout_ms": 600_000 });
        let change = |call: &mut windlass_tools::Call| call.ceiling = Duration::from_millis(200);
        let reply = bench.call_with("wait_sessions", arguments, change).await;
        assert_eq!(reply.structured["timed_out"], true);
    });
}

#[test]
fn sessions_are_named_by_number_or_name_one_or_several() {
    bench(async |bench| {
        let id = session(&bench.run(json!({ "cmd": "exit 6", "name": "six" })).await);
        for named in [json!([id]), json!(["six"]), json!([id, "six"]), json!("six"), json!(id)] {
            let reply = bench.ask("wait_sessions", json!({ "session_ids": named })).await;
            assert_eq!(reply.structured["met"], json!({ "session": id, "condition": "exit" }));
        }
        let complaint = bench.refused("wait_sessions", json!({ "session_ids": [] })).await;
        assert!(complaint.starts_with("session_ids: "), "{complaint}");
        let complaint = bench.refused("wait_sessions", json!({ "session_ids": [id, true] })).await;
        assert!(complaint.starts_with("session_ids[1]: "), "{complaint}");
    });
}

#[test]
fn one_that_can_meet_no_condition_any_more_does_not_hold_up_the_answer_for_the_others() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let over = session(&bench.exec("true").await);
        let two = bench.start("echo ready; read x < gate; echo needle; sleep 60", "ready").await;
        gate.open().await;
        let until = json!({ "pattern": "needle" });
        let reply = bench.ask("wait_sessions", json!({ "session_ids": [over, two], "until": until })).await;
        assert_eq!(reply.structured["met"], json!({ "session": two, "condition": "pattern" }));
        let reply = bench.ask("wait_sessions", json!({ "session_ids": [over], "until": until })).await;
        assert_eq!(reply.structured["met"], Value::Null);
    });
}
