//! One agent and its turns.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_agent::{AgentConfig, Background, Beginning, EventKind, Status};
use windlass_llm::{Failure, Remedy, Role};

use super::stage::{Setting, Stage, call, calls, done, has_heard, heard, message, outputs, run, say};

#[tokio::test(flavor = "multi_thread")]
async fn calls_run_beside_each_other_and_answer_in_their_order() {
    // Each waits for the other: they only end if they run at the same time.
    let first = "mkfifo a b 2>/dev/null; echo one > a; cat b";
    let second = "until test -p a -a -p b; do :; done; cat a; echo two > b";
    let mut stage = Stage::playing(vec![
        calls(&[("1", "exec_command", run(first)), ("2", "exec_command", run(second))]),
        say("done"),
    ]);
    assert_eq!(stage.work("go").await, Status::Completed(Some("done".into())));
    let outputs = outputs(&stage.asked(1));
    assert!(outputs[0].contains("two") && outputs[1].contains("one"), "{outputs:?}");
    stage.end().await;
}

/// Calls that add a file each, and behind each patch a command that reads the file.
fn patches_and_readers(patch_by: fn(&str) -> (&'static str, Value)) -> Vec<(String, &'static str, Value)> {
    let pair = |number: usize| {
        let patch = format!("*** Begin Patch\n*** Add File: f{number}\n+text {number}\n*** End Patch\n");
        let (tool, arguments) = patch_by(&patch);
        [
            (format!("p{number}"), tool, arguments),
            (format!("c{number}"), "exec_command", run(&format!("cat f{number}"))),
        ]
    };
    (0..20).flat_map(pair).collect()
}

async fn each_reader_sees_its_patch(patch_by: fn(&str) -> (&'static str, Value)) {
    let made = patches_and_readers(patch_by);
    let made: Vec<(&str, &str, Value)> =
        made.iter().map(|(id, name, value)| (id.as_str(), *name, value.clone())).collect();
    let mut stage = Stage::playing(vec![calls(&made), say("done")]);
    stage.work("go").await;
    let outputs = outputs(&stage.asked(1));
    for (number, pair) in outputs.chunks(2).enumerate() {
        assert!(pair[1].contains(&format!("text {number}")), "{pair:?}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_behind_a_patch_in_one_answer_runs_after_the_patch() {
    each_reader_sees_its_patch(|patch| ("apply_patch", json!({ "input": patch }))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_behind_a_patch_that_is_written_as_a_command_runs_after_the_patch() {
    let heredoc = |patch: &str| ("exec_command", run(&format!("apply_patch <<'EOF'\n{patch}EOF\n")));
    each_reader_sees_its_patch(heredoc).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_patches_and_runs_at_once_runs_after_the_patch() {
    let source = r"
        const calls = [];
        for (let n = 0; n < 10; n++) {
            calls.push(tools.apply_patch(`*** Begin Patch\n*** Add File: f${n}\n+text ${n}\n*** End Patch\n`));
            calls.push(tools.exec_command({cmd: `cat f${n}`}));
        }
        for (const answer of await Promise.all(calls)) text(answer);
    ";
    let setting = Setting { change: |config| config.free_text = true, ..Setting::default() };
    let mut sayings = vec![calls(&[("1", "exec", json!({ "input": source }))]), say("done")].into_iter();
    let mut stage = Stage::set(setting, move |_| sayings.next().unwrap_or_else(|| say("over")));
    stage.work("go").await;
    let output = &outputs(&stage.asked(1))[0];
    let seen = (0..10).filter(|number| output.contains(&format!("\ntext {number}\n"))).count();
    assert_eq!(seen, 10, "{output}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_to_one_session_in_one_answer_keep_their_order_and_have_their_own_replies() {
    let copy = json!({ "cmd": "cat", "tty": true, "name": "copy", "until": { "input": true } });
    let ids: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let write = |id: &String| json!({ "session_id": "copy", "chars": format!("line {id}\n") });
    let writes: Vec<(&str, &str, Value)> =
        ids.iter().map(|id| (id.as_str(), "write_stdin", write(id))).collect();
    let mut stage =
        Stage::playing(vec![calls(&[("start", "exec_command", copy)]), calls(&writes), say("done")]);
    stage.work("go").await;
    let replies = outputs(&stage.asked(2)).split_off(1);
    for (id, reply) in ids.iter().zip(replies) {
        let (_, shown) = reply.split_once("Output:\n").unwrap();
        assert_eq!(shown.trim_end(), format!("line {id}\nline {id}"), "{reply}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_failure_of_a_tool_is_an_answer() {
    let mut stage = Stage::playing(vec![
        calls(&[
            ("1", "exec_command", json!([])),
            ("2", "nope", json!({})),
            ("3", "read_file", json!({ "file_path": "missing" })),
            ("4", "update_plan", json!({ "plan": 3 })),
        ]),
        say("done"),
    ]);
    stage.work("go").await;
    let outputs = outputs(&stage.asked(1));
    let expected =
        ["must be a JSON object", "there is no tool `nope`", "no such file", "arguments of update_plan"];
    for (output, expected) in outputs.iter().zip(expected) {
        assert!(output.contains(expected), "{output}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_stream_runs_no_call_twice_and_shows_no_message_twice() {
    let cut = || Err(Failure::passing("cut"));
    let counted = run("echo x >> count; wc -l < count");
    let mut stage = Stage::playing(vec![
        vec![Ok(message("first words")), cut()],
        vec![Ok(message("first words")), Ok(call("1", "exec_command", &counted)), Ok(message("lost")), cut()],
        vec![Ok(call("1", "exec_command", &counted)), done()],
        say("done"),
    ]);
    assert_eq!(stage.work("go").await, Status::Completed(Some("done".into())));
    let messages: Vec<&EventKind> = stage
        .seen
        .iter()
        .map(|event| &event.kind)
        .filter(|kind| matches!(kind, EventKind::Message(_)))
        .collect();
    let expected = ["first words", "done"].map(|text| EventKind::Message(text.into()));
    assert_eq!(messages, expected.iter().collect::<Vec<_>>());
    let last = stage.asked(stage.requests() - 1);
    assert_eq!(outputs(&last).len(), 1);
    let count = std::fs::read_to_string(stage.scratch.path().join("home/count")).unwrap();
    assert_eq!(count, "x\n");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tries_end_and_what_cannot_pass_ends_at_once() {
    let mut stage = Stage::answering(|_| vec![Err(Failure::passing("overloaded"))]);
    assert_eq!(stage.work("go").await, Status::Errored("overloaded".into()));
    assert_eq!(stage.requests(), 3);
    stage.end().await;
    let mut stage = Stage::answering(|_| vec![Err(Failure::lasting("no such model"))]);
    assert_eq!(stage.work("go").await, Status::Errored("no such model".into()));
    assert_eq!(stage.requests(), 1);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_is_summed_up_and_the_users_words_stay() {
    let mut overflowed = false;
    let mut stage = Stage::answering(move |request| {
        if has_heard(request, "is about to be replaced") {
            return say("half of it is done");
        }
        if std::mem::replace(&mut overflowed, true) {
            return say("done");
        }
        vec![Err(Failure { remedy: Remedy::Shorten, message: "too long".into() })]
    });
    assert_eq!(stage.work("make it so").await, Status::Completed(Some("done".into())));
    let last = stage.asked(2);
    assert_eq!(heard(&last)[0], "make it so");
    assert!(has_heard(&last, "half of it is done") && !has_heard(&last, "is about to be replaced"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_command_wakes_an_agent_that_has_nothing_else_to_do() {
    let mut stage = Stage::playing(vec![
        calls(&[("1", "exec_command", json!({ "cmd": "read x < gate", "yield_time_ms": 250 }))]),
        say("it runs; I wait"),
        say("now it is over"),
    ]);
    let gate = stage.scratch.path().join("home/gate");
    rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    stage.say("go").await;
    stage.until(|event| matches!(event.kind, EventKind::Waiting(_))).await;
    std::fs::write(&gate, "go on\n").unwrap();
    stage.until(|event| matches!(event.kind, EventKind::TurnCompleted { .. })).await;
    assert_eq!(stage.last_message().as_deref(), Some("now it is over"));
    let told = heard(&stage.asked(2)).iter().filter(|text| text.contains("<session_notification>")).count();
    assert_eq!(told, 1);
    stage.end().await;
}

/// An agent that leaves a command running, which ends when the pipe `gate` is written.
fn leaving_a_command(change: fn(&mut AgentConfig)) -> (Stage, PathBuf) {
    let mut sayings = vec![
        calls(&[("1", "exec_command", json!({ "cmd": "read x < gate", "yield_time_ms": 250 }))]),
        say("the answer"),
    ]
    .into_iter();
    let setting = Setting { change, ..Setting::default() };
    let stage = Stage::set(setting, move |_| sayings.next().unwrap_or_else(|| say("a remark")));
    let gate = stage.scratch.path().join("home/gate");
    rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    (stage, gate)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_message_without_calls_is_the_answer_and_what_still_runs_is_named() {
    let (mut stage, gate) = leaving_a_command(|config| config.background = Background::End);
    assert_eq!(stage.work("go").await, Status::Completed(Some("the answer".into())));
    let left = stage.seen.iter().find_map(|event| match &event.kind {
        EventKind::LeftRunning(left) => Some(left.clone()),
        _ => None,
    });
    assert_eq!(left, Some(vec!["session 1001 (read x < gate)".to_owned()]));
    // Its end comes too late to change anything.
    std::fs::write(&gate, "go on\n").unwrap();
    stage.until(|event| matches!(event.kind, EventKind::CommandEnded { .. })).await;
    assert_eq!(stage.requests(), 2);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_agent_is_woken_by_the_end_of_its_command() {
    let (mut stage, gate) = leaving_a_command(|config| config.background = Background::Wake);
    assert_eq!(stage.work("go").await, Status::Completed(Some("the answer".into())));
    assert!(!stage.seen.iter().any(|event| matches!(event.kind, EventKind::LeftRunning(_))));
    std::fs::write(&gate, "go on\n").unwrap();
    stage.until(|event| matches!(event.kind, EventKind::TurnCompleted { .. })).await;
    assert_eq!(stage.last_message().as_deref(), Some("a remark"));
    assert!(has_heard(&stage.asked(2), "<session_notification>"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_command_and_leaves_the_conversation_whole() {
    let mut stage = Stage::playing(vec![
        calls(&[(
            "1",
            "exec_command",
            json!({ "cmd": "echo up > up; exec sleep 1000", "yield_time_ms": 30000 }),
        )]),
        say("as you wish"),
    ]);
    stage.say("go").await;
    stage.until(|event| matches!(event.kind, EventKind::CommandStarted(_))).await;
    assert!(stage.team.interrupt(&stage.root).await);
    stage.until(|event| matches!(event.kind, EventKind::TurnInterrupted)).await;
    assert_eq!(stage.work("and now?").await, Status::Completed(Some("as you wish".into())));
    let last = stage.asked(1);
    assert!(outputs(&last)[0].contains("aborted by user"));
    assert!(has_heard(&last, "<turn_aborted>"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_where_it_was_left() {
    let mut stage = Stage::playing(vec![say("first answer")]);
    stage.work("first").await;
    let (root, first) = (stage.root.clone(), stage.asked(0));
    let scratch = stage.end().await;
    let setting = Setting { beginning: Beginning::Resume(root.clone()), scratch, ..Setting::default() };
    let mut stage = Stage::set(setting, |_| say("second answer"));
    assert_eq!(stage.root, root);
    stage.work("second").await;
    let second = stage.asked(0);
    let texts: Vec<&str> = second.items.iter().map(windlass_llm::Item::json).collect();
    assert_eq!(texts[0], first.items[0].json());
    assert_eq!(second.items[1].words_of(Role::Assistant).as_deref(), Some("first answer"));
    let scratch = stage.end().await;
    let setting = Setting { beginning: Beginning::Fork(root.clone()), scratch, ..Setting::default() };
    let mut stage = Stage::set(setting, |_| say("another answer"));
    assert_ne!(stage.root, root);
    stage.work("third").await;
    assert_eq!(stage.asked(0).items.len(), 5);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_call_the_other_tools() {
    let source = "const r = await tools.exec_command({cmd: 'echo from a command'}); text(r); text(1 + 1);";
    let mut stage = Stage::playing(vec![calls(&[("1", "exec", json!({ "input": source }))]), say("done")]);
    stage.work("go").await;
    let output = &outputs(&stage.asked(1))[0];
    assert!(output.contains("Script completed") && output.contains("from a command"), "{output}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_in_a_script_is_applied_without_a_shell() {
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.txt\n+text\n*** End Patch\nEOF\n";
    let mut stage = Stage::playing(vec![calls(&[("1", "exec_command", run(patch))]), say("done")]);
    stage.work("go").await;
    assert!(outputs(&stage.asked(1))[0].contains("Success. Updated the following files:\nA new.txt"));
    assert_eq!(std::fs::read_to_string(stage.scratch.path().join("home/new.txt")).unwrap(), "text\n");
    stage.end().await;
}
