//! Commands: running, typing into them, watching, waiting and stopping.

use std::fs;

use serde_json::json;
use windlass_testkit::model::{always, call, call_verbatim, say, think, turn};

use super::stage::{BOTH, Stage, exec, fifo, session_in};

#[test]
fn what_a_command_prints_is_what_the_model_reads_next() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(think("let me look").and(exec("echo seen; exit 3"))),
                turn(|request| {
                    let result = request.last_result();
                    assert!(result.contains("Process exited with code 3"), "{result}");
                    assert!(result.ends_with("Output:\nseen\n"), "{result}");
                    say("it says seen")
                }),
            ],
        );
        let ran = stage.run(&["what does it say?"]).well();
        assert_eq!(ran.stdout, "it says seen\n");
        assert!(ran.stderr.contains("$ echo seen; exit 3"), "{ran:?}");
        stage.finish();
    }
}

#[test]
fn a_program_on_a_terminal_is_typed_into_until_it_ends() {
    let mut stage = Stage::playing(vec![
        always(call("exec_command", json!({ "cmd": "read name; echo hello $name", "tty": true }))),
        turn(|request| {
            let session = session_in(&request.last_result());
            call("write_stdin", json!({ "session_id": session, "chars": "world\n" }))
        }),
        turn(|request| {
            let result = request.last_result();
            assert!(result.contains("hello world") && result.contains("exited with code 0"), "{result}");
            say("greeted")
        }),
    ]);
    stage.run(&["greet"]).well();
    stage.finish();
}

#[test]
fn a_session_is_listed_read_again_and_stopped() {
    let mut stage = Stage::playing(vec![
        always(call(
            "exec_command",
            json!({ "cmd": "echo ready; exec cat pipe", "name": "cat", "until": { "pattern": "ready" } }),
        )),
        turn(|request| {
            let session = session_in(&request.last_result());
            call("list_sessions", json!({}))
                .and(call("read_output", json!({ "session_id": session, "grep": "ready" })))
                .and(call("stop_session", json!({ "session_id": "cat" })))
        }),
        turn(|request| {
            let results = request.results();
            assert!(results[1].contains("exec cat pipe"), "{results:?}");
            assert!(results[2].contains("ready"), "{results:?}");
            assert!(results[3].contains("exited with code 143"), "{results:?}");
            say("stopped")
        }),
    ]);
    fifo(&stage.work().join("pipe"));
    let ran = stage.run(&["--json", "start and stop"]).well();
    assert_eq!(ran.items("command_execution").len(), 1, "{ran:?}");
    stage.finish();
}

#[test]
fn wait_sessions_returns_when_a_command_ends_that_another_call_lets_go() {
    let mut stage = Stage::playing(vec![
        always(call("exec_command", json!({ "cmd": "cat pipe", "yield_time_ms": 250 }))),
        turn(|request| {
            let session = session_in(&request.last_result());
            call("wait_sessions", json!({ "session_ids": [session] })).and(exec("echo released > pipe"))
        }),
        turn(|request| {
            let results = request.results();
            assert!(
                results[1].contains("exited with code 0") && !results[1].contains("Note:"),
                "{results:?}"
            );
            say("both ended")
        }),
    ]);
    fifo(&stage.work().join("pipe"));
    stage.run(&["wait"]).well();
    stage.finish();
}

#[test]
fn the_two_older_shell_tools_answer_in_their_own_form() {
    let mut stage = Stage::playing(vec![
        always(
            call("shell", json!({ "command": ["printf", "%s", "two words"] }))
                .and(call("shell_command", json!({ "command": "echo out; echo err >&2; exit 4" }))),
        ),
        turn(|request| {
            let results = request.results();
            assert!(results[0].contains("Exit code: 0") && results[0].contains("two words"), "{results:?}");
            assert!(results[1].contains("Exit code: 4") && results[1].contains("err"), "{results:?}");
            say("done")
        }),
    ]);
    stage.run(&["run both"]).well();
    stage.finish();
}

#[test]
fn calls_of_one_answer_run_side_by_side_and_are_answered_in_their_order() {
    for dialect in BOTH {
        // The first command ends only once the second runs.
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("cat pipe").and(exec("echo met > pipe; echo second"))),
                turn(|request| {
                    let results = request.results();
                    assert!(results[0].ends_with("met\n") && results[1].ends_with("second\n"), "{results:?}");
                    say("they met")
                }),
            ],
        );
        fifo(&stage.work().join("pipe"));
        stage.run(&["let them meet"]).well();
        stage.finish();
    }
}

#[test]
fn calls_that_make_no_sense_are_answered_and_the_turn_goes_on() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(
                    call("launch_rockets", json!({}))
                        .and(call_verbatim("exec_command", "{\"cmd\": \"ec"))
                        .and(call("exec_command", json!({ "command": "echo wrong name" })))
                        .and(call("write_stdin", json!({ "session_id": 77, "chars": "x" }))),
                ),
                turn(|request| {
                    let results = request.results();
                    assert!(results[0].contains("there is no tool `launch_rockets`"), "{results:?}");
                    assert!(results[1].contains("not valid JSON"), "{results:?}");
                    assert!(results[2].contains("cmd"), "{results:?}");
                    assert!(results[3].contains("77"), "{results:?}");
                    say("I will do better")
                }),
            ],
        );
        stage.run(&["go"]).well();
        stage.finish();
    }
}

#[test]
fn with_wait_background_an_agent_waits_for_a_running_command_and_is_woken_by_its_end_exactly_once() {
    let mut stage = Stage::playing(vec![
        always(call("exec_command", json!({ "cmd": "cat pipe", "yield_time_ms": 250 }))),
        always(say("it still runs")),
        turn(|request| {
            let texts = request.user_texts().join("\n");
            assert_eq!(texts.matches("<session_notification>").count(), 1, "{texts}");
            say("now it has ended")
        }),
    ]);
    let pipe = stage.work().join("pipe");
    fifo(&pipe);
    let going = stage.start(&["--json", "--wait-background", "wait for it"]);
    stage.model().wait_for_requests(2);
    fs::write(&pipe, "at last\n").expect("the command reads");
    let ran = going.end(&mut stage).well();
    let commands = ran.items("command_execution");
    assert_eq!((commands.len(), &commands[0]["exit_code"]), (1, &json!(0)), "{ran:?}");
    assert_eq!(commands[0]["aggregated_output"], "at last\n");
    assert_eq!(stage.finish().len(), 3);
}

#[test]
fn the_answer_is_written_before_what_still_runs_is_ended_and_is_never_replaced() {
    // When the agent's end terminates the command, it records whether the answer is in its file already.
    let script = "trap 'cp answer seen; exit' TERM; echo ready; while :; do read x < pipe; done";
    let start = json!({ "cmd": script, "until": { "pattern": "ready" } });
    let mut stage = Stage::playing(vec![always(call("exec_command", start)), always(say("the answer"))]);
    fifo(&stage.work().join("pipe"));
    let ran = stage.run(&["-o", "answer", "start it"]).well();
    assert_eq!(ran.stdout, "the answer\n");
    for file in ["answer", "seen"] {
        let written = fs::read_to_string(stage.work().join(file)).unwrap_or_default();
        assert_eq!(written, "the answer", "{file}: {ran:?}");
    }
    assert!(ran.stderr.contains("still running, ended with the agent: session "), "{ran:?}");
    assert_eq!(stage.finish().len(), 2);
}

#[test]
fn a_command_that_waits_for_input_does_not_keep_the_agent() {
    let mut stage = Stage::playing(vec![
        always(call("exec_command", json!({ "cmd": "cat", "tty": true }))),
        always(say("it waits for somebody")),
    ]);
    let ran = stage.run(&["--json", "start it"]).well();
    let commands = ran.items("command_execution");
    assert_eq!((commands.len(), &commands[0]["exit_code"]), (1, &json!(null)), "{ran:?}");
    stage.finish();
}

#[test]
fn a_flood_is_cut_for_the_model_and_says_so() {
    let mut stage = Stage::playing(vec![
        always(exec("yes windlass | head -c 300000")),
        turn(|request| {
            let result = request.last_result();
            assert!(result.len() < 60_000, "{} bytes", result.len());
            assert!(result.contains("Original token count: 100000"), "{}", &result[..300]);
            say("a lot")
        }),
    ]);
    stage.run(&["flood"]).well();
    stage.finish();
}

#[test]
fn a_command_may_take_its_time_limit_directory_and_variables() {
    let mut stage = Stage::playing(vec![
        always(
            call(
                "exec_command",
                json!({ "cmd": "pwd; echo $COLOUR", "workdir": "below", "env": { "COLOUR": "red" } }),
            )
            .and(call("exec_command", json!({ "cmd": "cat pipe", "timeout_ms": 50 }))),
        ),
        turn(|request| {
            let results = request.results();
            assert!(results[0].contains("/below\nred\n"), "{results:?}");
            assert!(!results[1].contains("exited with code 0"), "{results:?}");
            assert!(results[1].contains("Process exited"), "{results:?}");
            say("done")
        }),
    ]);
    stage.write("work/below/.keep", "");
    fifo(&stage.work().join("pipe"));
    stage.run(&["go"]).well();
    stage.finish();
}

#[test]
fn a_command_that_is_to_outlive_the_agent_is_not_started() {
    let mut stage = Stage::playing(vec![
        always(call("exec_command", json!({ "cmd": "exec cat pipe", "lifetime": "detached" }))),
        turn(|request| {
            assert!(request.last_result().contains("detached"), "{}", request.last_result());
            assert!(!request.last_result().contains("Process running"), "{}", request.last_result());
            say("then not")
        }),
    ]);
    fifo(&stage.work().join("pipe"));
    stage.run(&["stay"]).well();
    stage.finish();
}
