//! `list_sessions`: work is found again.

use crate::workbench::{SLEEPER, bench, bench_with, output, session};
use serde_json::{Value, json};

#[test]
fn each_session_is_listed_with_what_a_model_needs_to_find_it_again() {
    bench(async |bench| {
        let gate = bench.gate("gate");
        let arguments = json!({ "cmd": "echo ready; read x < gate; echo unread line", "name": "build", "until": { "pattern": "ready" } });
        let id = session(&bench.run(arguments).await);
        let entry = bench.listed(id).await;
        assert_eq!(entry["name"], "build");
        assert_eq!(entry["command"], "echo ready; read x < gate; echo unread line");
        assert_eq!(entry["cwd"], bench.home().display().to_string());
        assert_eq!((&entry["state"], &entry["unread_tokens"]), (&json!("running"), &json!(0)));
        assert_eq!(entry.get("exit_code"), None);
        let moment = regex::Regex::new(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$").unwrap();
        assert!(moment.is_match(entry["started"].as_str().unwrap()));
        assert!(moment.is_match(entry["last_output"].as_str().unwrap()));
        assert_eq!(entry["left_running"], json!([]));
        gate.open().await;
        bench.ended(id).await;
        let entry = bench.listed(id).await;
        assert_eq!((&entry["state"], &entry["exit_code"]), (&json!("exited with code 0"), &json!(0)));
        assert_eq!(entry["unread_tokens"], windlass_output::Tokenizer::O200k.count("unread line\n").get());
    });
}

#[test]
fn the_text_says_the_same_in_a_line_for_each() {
    bench(async |bench| {
        let reply = bench.ask("list_sessions", json!({})).await;
        assert_eq!(
            (reply.text.as_str(), &reply.structured),
            ("No sessions yet\n", &json!({ "sessions": [] }))
        );
        let one = session(
            &bench.run(json!({ "cmd": format!("{SLEEPER}; echo   a;\n exit 2"), "name": "web" })).await,
        );
        let two = bench.start_waiting("cat").await;
        let text = bench.ask("list_sessions", json!({})).await.text;
        let lines: Vec<&str> = text.lines().collect();
        let home = regex::escape(&bench.home().display().to_string());
        let moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ";
        for (line, expected) in lines.iter().zip([
            format!(r"^{one} web: exited with code 2 \| sleep 61 & until .* done; echo a; exit 2 \| in {home} \| started {moment} \| last output \d+\.\d s ago \| left running: \d+ sleep 61$"),
            format!(r"^{two}: running, waiting for input \| cat \| in {home} \| started {moment}$"),
        ]) {
            assert!(regex::Regex::new(&expected).unwrap().is_match(line), "{line}");
        }
        assert_eq!(lines.len(), 2);
    });
}

#[test]
fn the_state_is_what_the_kernel_says_now() {
    bench(async |bench| {
        for (cmd, expected) in
            [("cat", "running, waiting for input"), ("stty -echo; cat", "running, waiting for hidden input")]
        {
            let id = bench.start_waiting(cmd).await;
            assert_eq!(bench.listed(id).await["state"], expected);
        }
        let serve = "python3 -c 'import socket,time; s=socket.socket(); s.bind((\"127.0.0.1\",0)); s.listen(); print(s.getsockname()[1],flush=True); time.sleep(60)'";
        let reply = bench.run(json!({ "cmd": serve, "until": { "pattern": "\\d" } })).await;
        let expected = format!("running, listening on 127.0.0.1:{}", output(&reply).trim());
        assert_eq!(bench.listed(session(&reply)).await["state"], expected);
    });
}

#[test]
fn finished_sessions_stay_listed() {
    bench(async |bench| {
        let ids: Vec<u64> =
            [session(&bench.exec("exit 1").await), session(&bench.exec("kill -9 $$").await)].into();
        let reply = bench.ask("list_sessions", json!({})).await;
        let listed = reply.structured["sessions"].as_array().unwrap();
        assert_eq!(listed.iter().map(|entry| entry["session"].as_u64().unwrap()).collect::<Vec<_>>(), ids);
        assert_eq!(listed[1]["state"], "exited with code 137 (killed by SIGKILL)");
    });
}

#[test]
fn the_names_of_removed_variables_are_in_the_sessions_record_and_in_the_text() {
    let set = |options: &mut windlass_tools::ToolboxOptions| {
        options.environment.push(("API_KEY".into(), "sesame".into()));
        options.environment.push(("Db_Password".into(), "sesame".into()));
    };
    bench_with(set, async |bench| {
        let id = session(&bench.exec("true").await);
        let entry = bench.listed(id).await;
        assert_eq!(entry["removed_variables"], json!(["API_KEY", "Db_Password"]));
        let reply = bench.ask("list_sessions", json!({})).await;
        assert!(reply.text.contains(" | withheld variables: API_KEY, Db_Password\n"), "{}", reply.text);
        let text = Value::to_string(&reply.structured);
        assert!(!text.contains("sesame") && !reply.text.contains("sesame"));
    });
}

#[test]
fn a_long_script_does_not_make_a_long_list() {
    bench(async |bench| {
        let cmd = format!(": {}", "x".repeat(200_000));
        bench.exec(&cmd).await;
        let reply = bench.ask("list_sessions", json!({})).await;
        assert!(reply.text.len() < 1000 && reply.structured.to_string().len() < 4000);
    });
}

#[test]
fn finished_sessions_that_are_no_longer_listed_are_still_answered_for() {
    bench(async |bench| {
        let told = session_of(&bench.run(json!({ "cmd": "echo first; exit 3", "name": "told" })).await);
        let gate = bench.gate("go");
        let cmd = "read x < go; echo unread; exit 5";
        let untold = session_of(&bench.run(json!({ "cmd": cmd, "yield_time_ms": 250 })).await);
        gate.open().await;
        bench.ended(untold).await;
        for _ in 0..330 {
            bench.exec("true").await;
        }
        // Sessions whose end or output was not reported stay listed.
        let reply = bench.ask("write_stdin", json!({ "session_id": untold })).await;
        assert_eq!((&reply.structured["exit_code"], output(&reply)), (&json!(5), "unread\n"));
        let list = bench.ask("list_sessions", json!({})).await;
        assert!(
            list.text.contains("older finished sessions are not listed; read_output reads them"),
            "{}",
            list.text
        );
        let numbers: Vec<_> =
            list.structured["sessions"].as_array().unwrap().iter().map(|s| s["session"].clone()).collect();
        assert!(!numbers.contains(&json!(told)) && numbers.contains(&json!(untold)));
        let tokens = windlass_output::Tokenizer::O200k.count(&list.text).get();
        assert!(tokens < 10_000, "{tokens} tokens for {} sessions", numbers.len());
        // The other sessions are still known.
        for asked in [json!(told), json!("told")] {
            let reply = bench.ask("write_stdin", json!({ "session_id": asked })).await;
            let remark = format!(
                "Session {told} exited with code 3 before; read_output session_id={told} reads its transcript"
            );
            assert!(reply.text.contains(&remark), "{}", reply.text);
            let reply = bench.ask("read_output", json!({ "session_id": asked })).await;
            assert_eq!(output(&reply), "first\n");
            let reply = bench.ask("wait_sessions", json!({ "session_ids": [asked] })).await;
            assert_eq!(reply.structured["met"], json!({ "session": told, "condition": "exit" }));
            assert_eq!(reply.structured["results"][0]["exit_code"], 3);
            let reply = bench.ask("stop_session", json!({ "session_id": asked })).await;
            assert_eq!((&reply.structured["exit_code"], &reply.structured["ended"]), (&json!(3), &json!([])));
        }
    });
}

fn session_of(reply: &windlass_tools::Reply) -> u64 {
    reply.structured["session"].as_u64().unwrap()
}
