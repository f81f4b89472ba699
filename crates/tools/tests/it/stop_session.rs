//! `stop_session`: the whole tree, the receipt, and the list of ended processes.

use crate::workbench::{SLEEPER, bench, is_alive, output, session};
use serde_json::{Value, json};

fn pids(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|process| process["pid"].as_u64().unwrap()).collect()
}

#[test]
fn it_answers_with_the_receipt_and_the_list_of_processes_ended() {
    bench(async |bench| {
        let cmd = format!("{SLEEPER}; echo $$ $!; wait");
        let reply = bench.run(json!({ "cmd": cmd, "until": { "pattern": "\\d \\d" } })).await;
        let id = session(&reply);
        let started: Vec<u64> = output(&reply).split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        let reply = bench.stop(id).await;
        let structured = &reply.structured;
        assert_eq!(structured["session"], id);
        assert_eq!(structured["receipt"]["cause"], "stopped");
        assert_eq!(structured["receipt"]["signal"], "SIGTERM");
        assert!(
            structured["receipt"]["cpu_seconds"].is_number()
                && structured["receipt"]["peak_memory_bytes"].is_number()
        );
        assert_eq!(pids(&structured["ended"]), started);
        assert_eq!(structured["ended"][0]["command"], cmd);
        assert_eq!(structured["ended"][1]["command"], "sleep 61");
        assert_eq!(structured["remaining"], json!([]));
        assert!(started.iter().all(|pid| !is_alive(*pid)));
        assert!(
            reply.text.starts_with(&format!("Session {id} exited with code 143 (killed: stopped)\n")),
            "{}",
            reply.text
        );
    });
}

#[test]
fn the_default_is_term_then_kill_after_the_grace() {
    bench(async |bench| {
        let polite = bench
            .start("trap 'echo asked; exit 7' TERM; echo ready; while :; do sleep 0.02; done", "ready")
            .await;
        let reply = bench.stop(polite).await;
        assert_eq!(reply.structured["exit_code"], 7);
        assert!(output(&bench.read(polite, json!({})).await).contains("asked\n"));
        let stubborn = bench.start("trap '' TERM; echo ready; while :; do sleep 0.02; done", "ready").await;
        let reply = bench.stop(stubborn).await;
        assert_eq!(reply.structured["receipt"]["signal"], "SIGKILL");
    });
}

#[test]
fn the_grace_is_two_seconds_by_default_and_half_a_second_after_the_kill() {
    let patience = windlass_engine::KillDelays::default();
    assert_eq!(patience.grace, std::time::Duration::from_secs(2));
    assert_eq!(patience.after_kill, std::time::Duration::from_millis(500));
}

#[test]
fn an_explicit_signal_is_only_sent() {
    bench(async |bench| {
        let id = bench.start("trap 'echo got' USR1; echo ready; while :; do sleep 0.02; done", "ready").await;
        for signal in ["USR1", "SIGUSR1"] {
            let reply = bench.ask("stop_session", json!({ "session_id": id, "signal": signal })).await;
            assert_eq!(reply.text, format!("SIGUSR1 sent to session {id}\n"));
            let poll = json!({ "session_id": id, "until": { "pattern": "got" } });
            assert_eq!(bench.ask("write_stdin", poll).await.structured["session_id"], id);
        }
        let complaint = bench.refused("stop_session", json!({ "session_id": id, "signal": "NOSUCH" })).await;
        assert!(complaint.starts_with("signal: ") && complaint.contains("NOSUCH"), "{complaint}");
        let over = session(&bench.exec("true").await);
        let complaint = bench.refused("stop_session", json!({ "session_id": over, "signal": "INT" })).await;
        assert!(complaint.contains("already exited"), "{complaint}");
    });
}

#[test]
fn on_an_exited_session_it_ends_what_that_left_running() {
    bench(async |bench| {
        let reply = bench.exec("sleep 61 & echo $!").await;
        let pid = output(&reply).trim().parse().unwrap();
        assert!(is_alive(pid));
        let stopped = bench.stop(session(&reply)).await;
        assert_eq!(pids(&stopped.structured["ended"]), [pid]);
        assert!(!is_alive(pid));
        assert!(stopped.text.contains("had exited before\n"), "{}", stopped.text);
        let again = bench.stop(session(&reply)).await;
        assert_eq!(again.structured["ended"], json!([]));
    });
}

#[test]
fn daemons_that_left_the_process_group_and_the_session_are_ended_too() {
    bench(async |bench| {
        let cmd = "setsid sh -c 'env -i sleep 61 & echo $!; exec sleep 62' & echo $!; wait";
        let reply = bench.run(json!({ "cmd": cmd, "until": { "pattern": "\\d+\\n\\d+" } })).await;
        let stopped = bench.stop(session(&reply)).await;
        // By number: either may be ended before it has become `sleep`.
        let daemons: Vec<_> = output(&reply).split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        let ended = pids(&stopped.structured["ended"]);
        assert!(
            daemons.len() == 2 && daemons.iter().all(|pid| ended.contains(pid)),
            "{daemons:?} in {ended:?}"
        );
        assert!(ended.into_iter().all(|pid| !is_alive(pid)));
    });
}

#[test]
fn a_shell_on_a_terminal_is_ended_without_waiting_out_the_grace() {
    bench(async |bench| {
        let id = bench.start_waiting("bash --norc --noprofile -i").await;
        let reply = bench.stop(id).await;
        assert_ne!(reply.structured["receipt"]["signal"], "SIGKILL", "{}", reply.text);
    });
}

#[test]
fn the_end_of_the_runtime_stops_every_session_with_the_same_ladder() {
    bench(async |bench| {
        let id = bench
            .start(
                "trap 'echo asked > asked; exit 7' TERM; echo ready; while :; do sleep 0.02; done",
                "ready",
            )
            .await;
        let stubborn = bench.start("trap '' TERM; sleep 61 & echo ready; wait; wait", "ready").await;
        let sessions =
            [id, stubborn].map(|id| bench.engine.session(windlass_engine::SessionId::new(id)).unwrap());
        bench.shutdown().await;
        assert_eq!(bench.contents("asked"), "asked\n");
        for session in sessions {
            assert_eq!(session.receipt().unwrap().cause.to_string(), "shutdown");
            assert!(session.processes().is_empty());
        }
    });
}
