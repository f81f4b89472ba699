//! A session that ends while no call waits for it is announced once.

use crate::workbench::{bench, session};
use serde_json::{Value, json};
use windlass_tools::SessionEvent;

#[test]
fn an_end_that_nobody_waited_for_is_announced_exactly_once_on_the_next_answer_of_any_tool() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        for (tool, arguments) in [
            ("exec_command", json!({ "cmd": "true", "until": { "exit": true } })),
            ("list_sessions", json!({})),
            ("read_output", json!({ "session_id": 1001 })),
            ("wait_sessions", json!({ "session_ids": [1001] })),
            ("stop_session", json!({ "session_id": 1001 })),
            ("write_stdin", json!({ "session_id": 1001 })),
            ("write_stdin", json!({ "session_id": 99 })),
            ("exec_command", json!({ "cmd": 3 })),
            ("shell", json!({ "command": ["true"] })),
            ("shell_command", json!({ "command": "true" })),
        ] {
            let id = bench.start("echo ready; read x < gate; exit 5", "ready").await;
            gate.open().await;
            bench.ended(id).await;
            let note = format!("Note: session {id} exited with code 5\n");
            let told = bench.call_with(tool, arguments.clone(), |_| {}).await;
            assert_eq!(told.text.matches(&note).count(), 1, "{tool}: {}", told.text);
            let again = bench.call_with(tool, arguments, |_| {}).await;
            assert!(!again.text.contains(&note), "{tool}: {}", again.text);
            // An announcement is not the reply: polling still reports the end and the unread output.
            assert_eq!(bench.finish(id).await.structured["exit_code"], 5);
        }
    });
}

#[test]
fn an_end_that_is_the_answer_is_not_announced_as_well() {
    bench(async |bench| {
        let id = session(&bench.exec("exit 5").await);
        let reply = bench.ask("list_sessions", json!({})).await;
        assert!(!reply.text.contains("Note:"), "{}", reply.text);
        let gate = bench.gate("gate");
        let polled = bench.start("echo ready; read x < gate", "ready").await;
        gate.open().await;
        assert_eq!(bench.finish(polled).await.structured["notes"], json!([]));
        let waited = bench.start("echo ready; read x < gate", "ready").await;
        gate.open().await;
        let reply = bench.ask("wait_sessions", json!({ "session_ids": [waited] })).await;
        assert!(!reply.text.contains("Note:"), "{}", reply.text);
        let stopped = bench.start("echo ready; read x < gate", "ready").await;
        assert!(!bench.stop(stopped).await.text.contains("Note:"));
        let reply = bench.read(id, json!({})).await;
        assert!(!reply.text.contains("Note:"), "{}", reply.text);
    });
}

#[test]
fn a_session_that_somebody_waits_for_is_left_to_them() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo ready; read x < gate; exit 5", "ready").await;
        let toolbox = windlass_tools::Toolbox::clone(bench);
        let arguments = crate::workbench::object(json!({ "session_id": id, "until": { "exit": true } }));
        let waiting =
            tokio::spawn(
                async move { toolbox.call(windlass_tools::Call::new("write_stdin", arguments)).await },
            );
        let mut told = bench.events();
        gate.open().await;
        let ended = loop {
            if let SessionEvent::Ended { session, line } = told.recv().await.unwrap() {
                break (session, line);
            }
        };
        assert_eq!(ended, (id.to_string(), format!("session {id} exited with code 5")));
        let reply = waiting.await.unwrap().unwrap();
        reply.delivery.confirm();
        assert_eq!(reply.structured["exit_code"], 5);
        let list = bench.ask("list_sessions", json!({})).await;
        assert!(!list.text.contains("Note:"), "{}", list.text);
    });
}

#[test]
fn notes_are_in_the_structured_answer_as_well() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let id = bench.start("echo ready; read x < gate; kill -9 $$", "ready").await;
        gate.open().await;
        bench.ended(id).await;
        let reply = bench.exec("true").await;
        let note = format!("session {id} exited with code 137 (killed by SIGKILL)");
        assert_eq!(reply.structured["notes"], json!([note]));
        assert!(reply.text.contains(&format!("Note: {note}\n")), "{}", reply.text);
    });
}

#[test]
fn starting_printing_and_ending_are_events() {
    bench(async |bench| {
        let mut events = bench.events();
        let id = session(&bench.exec("echo a").await).to_string();
        let mut seen = Vec::new();
        while !matches!(seen.last(), Some(SessionEvent::Ended { .. })) {
            seen.push(events.recv().await.unwrap());
        }
        assert_eq!(seen[0], SessionEvent::Started { session: id.clone() });
        assert!(seen.contains(&SessionEvent::Output { session: id.clone() }), "{seen:?}");
        let history: Value = bench.history(&id).unwrap();
        assert_eq!(history["events"][1]["exit_code"], 0);
        assert_eq!(bench.transcript(&id).unwrap(), "a\n");
        assert_eq!(bench.screen(&id), None);
        assert_eq!(bench.sessions()[0].state, "exited with code 0");
    });
}
