//! Processes from their start to their end, and the processes that they leave running.

use serde_json::{Value, json};
use windlass_server::exec::AfterLoss;
use windlass_testkit::survivors;

use super::rig::{Bench, Client, with};

#[tokio::test]
async fn a_process_is_told_from_its_start_to_its_end() {
    let bench = Bench::new("story");
    let mut client = bench.client().await;
    let answer = client.get("process/start", bench.sh("p", "printf out; printf err >&2; exit 3")).await;
    assert_eq!(answer, json!({ "processId": "p", "sandboxType": "none" }));
    let story = client.story("p").await;
    story.check_numbers(1);
    assert_eq!((story.bytes.len(), story.stderr.as_slice()), (6, &b"err"[..]));
    assert_eq!((story.exit_code, story.before_exit), (Some(3), 6));
    assert_eq!(
        client.get("process/terminate", json!({ "processId": "p" })).await,
        json!({ "running": false })
    );
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn the_exit_is_told_after_the_last_output() {
    let bench = Bench::new("last");
    let mut client = bench.client().await;
    for number in 0..20 {
        let id = number.to_string();
        client.get("process/start", bench.sh(&id, "head -c 100000 /dev/zero; echo end >&2")).await;
        let story = client.story(&id).await;
        assert_eq!((story.before_exit, story.bytes.len()), (100_004, 100_004));
        story.check_numbers(1);
    }
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_cannot_be_started_says_why_and_leaves_its_name_free() {
    let bench = Bench::new("refused");
    let mut client = bench.client().await;
    let mut check = async |params: Value, expected: (i64, &str)| {
        client.refused("process/start", params, expected).await;
    };
    let missing = (-32603, "No such file or directory (os error 2)");
    let sh = || bench.sh("p", "true");
    check(with(sh(), "argv", json!([])), (-32602, "argv must not be empty")).await;
    check(with(sh(), "argv", json!(["no-such-program"])), missing).await;
    check(with(sh(), "argv", json!(["/"])), (-32603, "Permission denied (os error 13)")).await;
    check(with(sh(), "cwd", bench.uri("nowhere")), missing).await;
    // A command that was meant for another directory must not run in this one.
    check(with(with(sh(), "cwd", bench.uri("nowhere")), "tty", true), missing).await;
    check(
        with(sh(), "size", json!({ "rows": 2, "cols": 2 })),
        (-32602, "process/start size requires tty: true"),
    )
    .await;
    client.get("process/start", sh()).await;
    client.story("p").await;
    client.refused("process/start", sh(), (-32600, "process p already exists")).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_would_have_to_be_enforced_is_refused_and_nothing_runs() {
    let bench = Bench::new("enforced");
    let mut client = bench.client().await;
    let managed = json!({ "permissions": {
        "type": "managed", "file_system": { "type": "restricted", "entries": [] }, "network": "restricted",
    } });
    let start = || bench.sh("p", "touch ran");
    let mut refused = Vec::new();
    for params in [
        with(start(), "sandbox", managed.clone()),
        with(start(), "enforceManagedNetwork", true),
        with(start(), "managedNetwork", json!({ "loopbackPorts": [1] })),
        with(start(), "networkProxy", json!({})),
    ] {
        refused.push(client.request("process/start", params).await);
    }
    let write = json!({ "path": bench.uri("ran"), "dataBase64": "", "sandbox": managed });
    refused.push(client.request("fs/writeFile", write).await);
    for answer in refused {
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("sandbox: "), "{answer}");
    }
    assert_eq!(bench.scratch.names(), Vec::<String>::new());
    let open = json!({ "permissions": { "type": "disabled" } });
    client.get("process/start", with(start(), "sandbox", open)).await;
    client.story("p").await;
    assert_eq!(bench.scratch.names(), ["ran"]);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_process_finds_the_variables_its_policy_gives_it_and_the_name_it_was_given() {
    let bench = Bench::new("variables");
    let mut client = bench.client().await;
    let mut params = bench.argv("p", ["/usr/bin/env"]);
    params["env"] = json!({ "OWN": "1" });
    client.get("process/start", params.clone()).await;
    assert_eq!(client.story("p").await.text(), "OWN=1\n");
    params["processId"] = json!("q");
    params["envPolicy"] = json!({
        "inherit": "all", "ignoreDefaultExcludes": false, "exclude": ["pa*"], "set": { "SET": "2" }, "includeOnly": [],
    });
    client.get("process/start", params).await;
    assert_eq!(client.story("q").await.text(), "FOO=bar\nOWN=1\nSET=2\n");
    let params = with(bench.sh("r", "echo $0"), "arg0", "zero");
    client.get("process/start", params).await;
    assert_eq!(client.story("r").await.text(), "zero\n");
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_terminal_has_the_size_it_was_given_and_can_be_resized() {
    let bench = Bench::new("size");
    let mut client = bench.client().await;
    let params = with(bench.sh("p", "stty size; read line; stty size"), "tty", true);
    client.get("process/start", with(params, "size", json!({ "rows": 11, "cols": 22 }))).await;
    client.printed("p", "11 22\r\n").await;
    let resize = json!({ "processId": "p", "size": { "rows": 33, "cols": 44 } });
    assert_eq!(client.get("process/resize", resize.clone()).await, json!({}));
    client.get("process/write", json!({ "processId": "p", "chunk": "Cg==", "writeId": "1" })).await;
    let story = client.story("p").await;
    assert!(story.text().ends_with("33 44\r\n"), "{:?}", story.text());
    client.refused("process/resize", with(resize, "processId", "q"), (-32600, "unknown process id q")).await;
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn signals_reach_the_process() {
    let bench = Bench::new("signals");
    let mut client = bench.client().await;
    let mut check = async |name: &str, expected: i64| {
        client.get("process/start", bench.sh(name, "echo up; exec sleep 1000")).await;
        client.printed(name, "up").await;
        let answer = client.get("process/signal", json!({ "processId": name, "signal": name })).await;
        assert_eq!(answer, json!({}));
        assert_eq!(client.story(name).await.exit_code, Some(expected), "{name}");
        let read = client.get("process/read", json!({ "processId": name, "afterSeq": 1 })).await;
        assert_eq!(read["signal"], expected - 128, "{read}");
    };
    check("interrupt", 130).await;
    check("terminate", 143).await;
    check("hangup", 129).await;
    check("kill", 137).await;
    let nobody = json!({ "processId": "nobody", "signal": "interrupt" });
    assert_eq!(client.get("process/signal", nobody).await, json!({}));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn terminating_ends_everything_the_process_started() {
    let bench = Bench::new("tree");
    let mut client = bench.client().await;
    let script = "setsid sleep 1000 & (sleep 1000 &); trap '' TERM; echo up; while :; do sleep 1000; done";
    client.get("process/start", bench.sh("p", script)).await;
    client.printed("p", "up").await;
    assert_eq!(
        client.get("process/terminate", json!({ "processId": "p" })).await,
        json!({ "running": true })
    );
    let story = client.story("p").await;
    assert_eq!(story.exit_code, Some(137), "it did not obey");
    assert_eq!(survivors::bearing(&bench.token), Vec::<String>::new());
    let nobody = client.get("process/terminate", json!({ "processId": "nobody" })).await;
    assert_eq!(nobody, json!({ "running": false }));
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn what_a_process_left_running_lives_as_long_as_the_session() {
    let bench = Bench::new("left");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("p", "sleep 1000 > /dev/null 2>&1 & echo up")).await;
    assert_eq!(client.story("p").await.exit_code, Some(0));
    client.get("process/terminate", json!({ "processId": "p" })).await;
    assert_eq!(survivors::bearing(&bench.token).len(), 1);
    client.vanish().await;
    assert_eq!(survivors::bearing(&bench.token), Vec::<String>::new());
    bench.end().await;
}

#[tokio::test]
async fn what_keeps_the_output_of_an_exited_process_open_can_be_ended() {
    let bench = Bench::new("holds");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("p", "setsid sleep 1000 & echo up")).await;
    let read = json!({ "processId": "p", "waitMs": 100 });
    while client.get("process/read", read.clone()).await["exited"] != true {}
    assert_eq!(survivors::bearing(&bench.token).len(), 1, "it holds the output");
    let ended = client.get("process/terminate", json!({ "processId": "p" })).await;
    assert_eq!(ended, json!({ "running": false }));
    assert_eq!(client.story("p").await.exit_code, Some(0));
    assert_eq!(survivors::bearing(&bench.token), Vec::<String>::new());
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn output_of_what_was_left_running_comes_after_the_exit() {
    let bench = Bench::new("late");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("p", "mkfifo gate; (read x < gate; echo late) & echo up")).await;
    let mut story = client.printed("p", "up").await;
    while story.exit_code.is_none() {
        let event = client.event("p").await;
        story.add(&event);
    }
    std::fs::write(bench.scratch.path().join("gate"), "\n").expect("somebody reads");
    while !story.closed {
        let event = client.event("p").await;
        story.add(&event);
    }
    assert_eq!((story.text().as_str(), story.before_exit), ("up\nlate\n", 3));
    story.check_numbers(1);
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn processes_are_listed_with_what_is_known_of_them() {
    let bench = Bench::new("list");
    let mut client = bench.client().await;
    client.get("process/start", bench.sh("b", "exit 4")).await;
    client.story("b").await;
    let params = with(bench.argv("a", ["sleep", "1000"]), "tty", true);
    client.get("process/start", params).await;
    let list = client.get("process/list", json!(null)).await;
    let [first, second] = [&list["processes"][0], &list["processes"][1]];
    assert_eq!((&first["processId"], &first["exitCode"]), (&json!("a"), &json!(null)));
    assert_eq!((&first["tty"], &first["argv"]), (&json!(true), &json!(["sleep", "1000"])));
    assert_eq!(
        (&second["processId"], &second["exitCode"], &second["nextSeq"]),
        (&json!("b"), &json!(4), &json!(3))
    );
    client.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn two_clients_do_not_know_each_others_processes() {
    let bench = Bench::new("apart");
    let mut one = bench.client().await;
    let mut other = bench.client().await;
    one.get("process/start", bench.sh("p", "exec sleep 1000")).await;
    other.refused("process/read", json!({ "processId": "p" }), (-32600, "unknown process id p")).await;
    other.get("process/start", bench.sh("p", "echo mine")).await;
    assert_eq!(other.story("p").await.text(), "mine\n");
    other.vanish().await;
    assert_eq!(survivors::bearing(&bench.token).len(), 1, "the other's process runs on");
    one.vanish().await;
    bench.end().await;
}

#[tokio::test]
async fn a_client_that_was_never_greeted_leaves_nothing() {
    let bench = Bench::new("stranger");
    let mut client: Client = bench.stranger(AfterLoss::Waits);
    client.get("initialize", json!({ "clientName": "test" })).await;
    client.vanish().await;
    bench.end().await;
}
