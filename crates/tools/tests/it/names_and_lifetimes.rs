//! Names, ids and lifetimes.

use crate::workbench::{bench, bench_with, is_alive, object, output, session, state};
use serde_json::{Value, json};
use windlass_tools::{Call, Numbering, Toolbox};

#[test]
fn a_name_is_usable_wherever_a_session_id_is() {
    bench(async |bench| {
        let arguments = json!({ "cmd": "echo a; cat", "tty": true, "name": "the web server" });
        let id = session(&bench.run(arguments).await);
        for (tool, arguments) in [
            ("write_stdin", json!({ "session_id": "the web server", "chars": "x\n" })),
            ("read_output", json!({ "session_id": "the web server" })),
            ("stop_session", json!({ "session_id": "the web server" })),
        ] {
            assert_eq!(bench.ask(tool, arguments).await.structured["session"], id, "{tool}");
        }
        let reply = bench.ask("wait_sessions", json!({ "session_ids": ["the web server"] })).await;
        assert_eq!(reply.structured["met"]["session"], id);
    });
}

#[test]
fn a_name_held_by_a_live_session_is_refused_with_its_id_and_how_to_reach_it() {
    bench(async |bench| {
        let arguments =
            json!({ "cmd": "echo ready; sleep 60", "name": "web", "until": { "pattern": "ready" } });
        let id = session(&bench.run(arguments.clone()).await);
        let complaint = bench.refused("exec_command", arguments).await;
        assert!(complaint.starts_with("name: `web` is held by session "), "{complaint}");
        assert!(complaint.contains(&id.to_string()) && complaint.contains("write_stdin"), "{complaint}");
        assert_eq!(bench.engine.sessions().len(), 1);
    });
}

#[test]
fn a_finished_sessions_name_moves_to_the_new_one() {
    bench(async |bench| {
        let first = session(&bench.run(json!({ "cmd": "echo first", "name": "job" })).await);
        let second = session(&bench.run(json!({ "cmd": "echo second", "name": "job" })).await);
        let reply = bench.ask("read_output", json!({ "session_id": "job" })).await;
        assert_eq!((session(&reply), output(&reply)), (second, "second\n"));
        assert_eq!(output(&bench.read(first, json!({})).await), "first\n");
    });
}

#[test]
fn a_name_that_could_be_a_number_or_is_no_name_is_refused() {
    bench(async |bench| {
        for name in ["", "12", "a\nb", &"x".repeat(65)] {
            let complaint = bench.refused("exec_command", json!({ "cmd": "true", "name": name })).await;
            assert!(complaint.starts_with("name: "), "{complaint}");
        }
        assert!(bench.engine.sessions().is_empty());
    });
}

#[test]
fn structured_results_always_carry_session_and_session_id_only_while_the_process_runs() {
    bench(async |bench| {
        let running = bench.run(json!({ "cmd": "cat", "tty": true })).await;
        assert_eq!(running.structured["session"], running.structured["session_id"]);
        let over = bench.exec("true").await;
        assert!(over.structured["session"].is_u64());
        assert_eq!(over.structured.get("session_id"), None);
        let polled = bench.ask("write_stdin", json!({ "session_id": session(&over) })).await;
        assert_eq!(polled.structured["session"], over.structured["session"]);
        assert_eq!(polled.structured.get("session_id"), None);
    });
}

#[test]
fn a_call_session_that_still_runs_at_the_yield_is_ended_with_its_tree_before_the_answer() {
    bench(async |bench| {
        bench.prepare().await;
        let arguments =
            json!({ "cmd": "sleep 61 & echo $$ $!; wait", "lifetime": "call", "yield_time_ms": 1000 });
        let reply = bench.run(arguments).await;
        let pids: Vec<u64> = output(&reply).split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        assert_eq!(pids.len(), 2);
        assert!(pids.iter().all(|pid| !is_alive(*pid)));
        assert_eq!(state(&reply), "killed: its lifetime was the call");
        assert_eq!((&reply.structured["exit_code"], reply.structured.get("session_id")), (&json!(143), None));
    });
}

#[test]
fn what_a_call_session_leaves_running_is_ended_too() {
    bench(async |bench| {
        let reply =
            bench.run(json!({ "cmd": "sleep 61 > /dev/null 2>&1 & echo $!", "lifetime": "call" })).await;
        let pid = output(&reply).trim().parse().unwrap();
        assert!(!is_alive(pid), "{}", reply.text);
        assert_eq!(
            (&reply.structured["exit_code"], &reply.structured["left_running"]),
            (&json!(0), &json!([]))
        );
    });
}

#[test]
fn a_cancelled_call_ends_the_tree_of_a_call_session() {
    bench(async |bench| {
        let toolbox = Toolbox::clone(bench);
        let arguments =
            json!({ "cmd": "sleep 61 & echo ready; wait", "lifetime": "call", "until": { "exit": true } });
        let mut events = bench.events();
        let calling =
            tokio::spawn(async move { toolbox.call(Call::new("exec_command", object(arguments))).await });
        while !matches!(events.recv().await.unwrap(), windlass_tools::SessionEvent::Output { .. }) {}
        let session = bench.engine.sessions().pop().unwrap();
        calling.abort();
        assert!(calling.await.unwrap_err().is_cancelled());
        let receipt = session.exited().await.unwrap();
        assert_eq!(receipt.cause.to_string(), "dropped");
        // The shell's child, whether it had become `sleep` by then or not.
        assert_eq!(receipt.ended.len(), 1);
        assert!(session.processes().is_empty());
    });
}

#[test]
fn a_cancelled_call_leaves_a_runtime_session_running() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let toolbox = Toolbox::clone(bench);
        let arguments = json!({ "cmd": "echo ready; read x < gate; echo done", "until": { "exit": true } });
        let mut events = bench.events();
        let calling =
            tokio::spawn(async move { toolbox.call(Call::new("exec_command", object(arguments))).await });
        while !matches!(events.recv().await.unwrap(), windlass_tools::SessionEvent::Output { .. }) {}
        calling.abort();
        assert!(calling.await.unwrap_err().is_cancelled());
        gate.open().await;
        let id = bench.engine.sessions().pop().unwrap().id().get();
        let reply = bench.finish(id).await;
        assert_eq!((output(&reply), &reply.structured["exit_code"]), ("ready\ndone\n", &json!(0)));
    });
}

#[test]
fn runtime_is_the_default_lifetime_and_dies_with_the_runtime() {
    bench(async |bench| {
        let reply = bench
            .run(json!({ "cmd": "sleep 61 & echo $!; disown; sleep 62", "until": { "pattern": "\\d" } }))
            .await;
        let pid = output(&reply).trim().parse().unwrap();
        assert!(is_alive(pid));
        bench.shutdown().await;
        assert!(!is_alive(pid));
        let complaint = bench.refused("exec_command", json!({ "cmd": "true" })).await;
        assert!(complaint.contains("shutting down"), "{complaint}");
    });
}

#[test]
fn secret_numbers_cannot_be_guessed_and_are_what_commands_are_told() {
    bench_with(
        |options| options.numbering = Numbering::Secret,
        async |bench| {
            let reply = bench.exec("echo $WINDLASS_SESSION").await;
            let id = session(&reply);
            assert!(id >= 1 << 52, "{id}");
            assert_eq!(output(&reply).trim(), id.to_string());
            assert_eq!(output(&bench.read(id, json!({})).await), output(&reply));
            for guess in [json!(1001), Value::from(id + 1)] {
                let complaint = bench.refused("read_output", json!({ "session_id": guess })).await;
                assert!(complaint.starts_with("Unknown session id "), "{complaint}");
            }
        },
    );
}
