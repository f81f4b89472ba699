//! How commands end: by themselves, by a timeout, on request, with their connection; and how the processes that they
//! started end.

use serde_json::json;

use super::rig::{Bench, sh, streamed, with};

#[tokio::test]
async fn time_that_is_up_is_said_with_what_was_printed_before() {
    let bench = Bench::new("app-timeout");
    let mut client = bench.client().await;
    let limited = json!({ "timeoutMs": 300, "processId": "t" });
    for tty in [false, true] {
        let params = with(with(sh("echo before; sleep 60"), limited.clone()), json!({ "tty": tty }));
        let heard = client.run(params).await;
        let printed = [
            String::from_utf8_lossy(&heard.stdout),
            heard.result["stdout"].as_str().unwrap_or_default().into(),
        ]
        .concat();
        assert_eq!(printed.trim_end(), "before");
        assert_eq!((&heard.result["exitCode"], &heard.result["timedOut"]), (&json!(124), &json!(true)));
        assert_eq!(heard.result["receipt"]["cause"], "timeout");
    }
    let at_once = client.run(with(sh("sleep 60"), json!({ "timeoutMs": 0 }))).await.result;
    assert_eq!(at_once["exitCode"], 124);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_signal_is_told_apart_from_an_exit_code_also_on_a_terminal() {
    let bench = Bench::new("app-signal");
    let mut client = bench.client().await;
    for tty in [false, true] {
        let params = with(sh("kill -9 $$"), json!({ "processId": "k", "tty": tty }));
        let result = client.run(params).await.result;
        assert_eq!((&result["exitCode"], &result["signal"]), (&json!(137), &json!(9)), "{tty}");
        let plain = client.run(with(sh("exit 1"), json!({ "processId": "k", "tty": tty }))).await.result;
        assert_eq!((&plain["exitCode"], plain.get("signal")), (&json!(1), None), "{tty}");
    }
    client.vanish().await;
    bench.end().await;
}

/// Session leaders, orphans and processes that ignore TERM.
const FAMILY: &str = "setsid sleep 1000 & (setsid sh -c 'sleep 1000 & sleep 1000' &) ; (trap '' TERM; sleep 1000) & sleep 1000 & echo ready; wait";

#[tokio::test]
async fn termination_ends_everything_that_was_started() {
    let bench = Bench::new("app-terminate");
    let mut client = bench.client().await;
    for tty in [false, true] {
        let exec = client.ask("command/exec", with(streamed("f", FAMILY), json!({ "tty": tty }))).await;
        client.printed("f", "ready").await;
        assert_eq!(client.get("command/exec/terminate", json!({ "processId": "f" })).await, json!({}));
        let result = client.result(exec).await;
        assert_eq!(bench.survivors(), Vec::<String>::new());
        assert_eq!(result["receipt"]["cause"], "stopped");
        assert_eq!(result["drainTimedOut"], false);
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_connection_that_ends_takes_its_processes_with_it_and_no_others() {
    let bench = Bench::new("app-vanish");
    let (mut going, mut staying) = (bench.client().await, bench.client().await);
    going.ask("command/exec", streamed("f", FAMILY)).await;
    going.ask("command/exec", with(streamed("flood", "yes"), json!({ "disableOutputCap": true }))).await;
    going.printed("f", "ready").await;
    let id = staying.ask("command/exec", streamed("f", "echo up; cat")).await;
    staying.printed("f", "up").await;
    going.vanish().await;
    assert_eq!(bench.survivors().len(), 2, "{:?}", bench.survivors());
    staying.get("command/exec/write", json!({ "processId": "f", "closeStdin": true })).await;
    assert_eq!(staying.result(id).await["exitCode"], 0);
    staying.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_a_command_leaves_in_its_group_ends_with_it_and_the_rest_with_the_connection() {
    let bench = Bench::new("app-left");
    let mut client = bench.client().await;
    let script = "mkfifo up; nohup sleep 1000 > out 2>&1 & \
                  until [ \"$(cat /proc/$!/comm)\" = sleep ]; do :; done; \
                  setsid sh -c 'echo > up; exec sleep 2000' > out 2>&1 & read _ < up; exit 4";
    let result = client.run(sh(script)).await.result;
    assert_eq!((&result["exitCode"], &result["drainTimedOut"]), (&json!(4), &json!(false)));
    let commands = |list: &str| -> Vec<String> {
        let list = result["receipt"][list].as_array().expect("a list");
        list.iter().map(|line| line["command"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(commands("ended"), ["sleep 1000"]);
    let left = commands("leftRunning");
    assert!(left.len() == 1 && left[0].contains("sleep 2000"), "{left:?}");
    assert_eq!(bench.survivors().len(), 1);
    client.vanish().await;
    assert_eq!(bench.survivors(), Vec::<String>::new());
    bench.end().await;
}

#[tokio::test]
async fn what_a_command_leaves_running_may_print_as_much_as_it_likes() {
    let bench = Bench::new("app-chatty");
    let mut client = bench.client().await;
    let script = "mkfifo gate up done; \
                  setsid sh -c 'echo > up; read _ < gate; seq 1000000; echo > done' & read _ < up";
    let left = client.run(sh(script)).await.result;
    assert_eq!((&left["exitCode"], &left["drainTimedOut"]), (&json!(0), &json!(true)));
    let after = client.run(with(sh("echo > gate; read _ < done"), json!({ "disableTimeout": true }))).await;
    assert_eq!(after.result["exitCode"], 0);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn late_output_counts_and_a_held_pipe_is_said() {
    let bench = Bench::new("app-drain");
    let mut client = bench.client().await;
    let late = client.run(sh("(sleep 0.05; echo late) & echo early")).await.result;
    assert_eq!((&late["stdout"], &late["drainTimedOut"]), (&json!("early\nlate\n"), &json!(false)));
    let held = client.run(sh("sleep 1000 & echo early")).await.result;
    assert_eq!((&held["stdout"], &held["drainTimedOut"]), (&json!("early\n"), &json!(true)));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_name_is_free_when_the_answer_comes() {
    let bench = Bench::new("app-reuse");
    let mut client = bench.client().await;
    for round in 0..100 {
        let params =
            with(json!({ "command": ["true"] }), json!({ "processId": "same", "tty": round % 2 == 0 }));
        assert_eq!(client.run(params).await.result["exitCode"], 0, "{round}");
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn every_request_of_a_burst_is_answered_once() {
    let bench = Bench::new("app-thousand");
    let mut client = bench.client().await;
    let mut burst = Vec::new();
    for id in 0..1000 {
        let request =
            json!({ "id": format!("b{id}"), "method": "command/exec", "params": { "command": ["true"] } });
        burst.extend(format!("{request}\n").into_bytes());
    }
    client.say_bytes(&burst).await;
    let mut answered = std::collections::HashSet::new();
    while answered.len() < 1000 {
        let answer = client.hear().await.expect("the server is there");
        assert_eq!(answer["result"]["exitCode"], 0, "{answer}");
        assert!(answered.insert(answer["id"].to_string()), "{answer} came twice");
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn commands_run_where_and_with_what_they_are_told() {
    let bench = Bench::new("app-where");
    std::fs::create_dir(bench.scratch.path().join("sub")).expect("a folder");
    let mut client = bench.client().await;
    let script = "pwd; echo ${FOO-unset} ${NEW-unset}";
    let here = std::fs::canonicalize(bench.scratch.path()).expect("it is there").display().to_string();
    let table = [
        (json!({}), format!("{here}\nbar unset\n")),
        (json!({ "cwd": "" }), format!("{here}\nbar unset\n")),
        (json!({ "cwd": "sub", "env": { "FOO": null, "NEW": "é" } }), format!("{here}/sub\nunset é\n")),
        (json!({ "cwd": "~" }), "/\nbar unset\n".to_owned()),
        (json!({ "cwd": "/", "env": { "NEW": "", "ABSENT": null } }), "/\nbar\n".to_owned()),
    ];
    for (more, expected) in table {
        assert_eq!(client.run(with(sh(script), more)).await.result["stdout"], expected);
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn names_are_the_connections_own() {
    let bench = Bench::new("app-names");
    let (mut one, mut two) = (bench.client().await, bench.client().await);
    let first = one.ask("command/exec", streamed("n", "echo up; cat")).await;
    one.printed("n", "up").await;
    let missing = (-32600, "no active command/exec for process id \"n\"");
    two.refused("command/exec/terminate", json!({ "processId": "n" }), missing).await;
    let second = two.ask("command/exec", streamed("n", "echo up; cat")).await;
    two.printed("n", "up").await;
    one.get("command/exec/terminate", json!({ "processId": "n" })).await;
    assert_eq!(one.result(first).await["signal"], 15);
    two.get("command/exec/write", json!({ "processId": "n", "closeStdin": true })).await;
    assert_eq!(two.result(second).await["exitCode"], 0);
    one.vanish().await;
    two.vanish().await;
    bench.end().await;
}
