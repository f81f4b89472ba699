//! The agent is ended by a person or by the system, at any moment. No process is left, and the conversation can be
//! resumed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::json;
use windlass_sys::process::{Pid, Process};
use windlass_sys::signal::Signal;
use windlass_testkit::model::{Gate, Reply, always, call, role, say, turn};

use super::stage::{BOTH, Going, Ran, Stage, exec, fifo};

/// A script that reports that it runs and then stays until it is ended.
const STAYS: &str = "echo here > pipe; exec cat other";

fn pipes(stage: &Stage) -> PathBuf {
    fifo(&stage.work().join("pipe"));
    fifo(&stage.work().join("other"));
    stage.work().join("pipe")
}

/// Starts an agent and waits until its command runs.
fn at_work(stage: &Stage, words: &[&str]) -> Going {
    let pipe = pipes(stage);
    let going = stage.start(words);
    assert_eq!(fs::read_to_string(pipe).expect("the command writes"), "here\n");
    going
}

#[test]
fn an_interrupt_ends_the_command_and_the_conversation_can_be_gone_on_with() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec(STAYS)),
                turn(|request| {
                    let result = request.last_result();
                    assert!(result.contains("aborted by user"), "{result}");
                    assert!(request.is_asked("<turn_aborted>"), "{}", request.text());
                    say("what now?")
                }),
            ],
        );
        let going = at_work(&stage, &["--json", "begin"]);
        going.signal(Signal::INT);
        let ran = going.end(&mut stage);
        assert_eq!(ran.code, Some(130), "{ran:?}");
        let commands = ran.items("command_execution");
        assert_eq!((commands.len(), &commands[0]["status"]), (1, &json!("failed")), "{ran:?}");
        assert_eq!(ran.events().pop().expect("an event")["type"], "turn.failed", "{ran:?}");
        stage.run(&["resume", "--last", "go on"]).well();
        stage.finish();
    }
}

#[test]
fn a_request_to_end_leaves_an_answer_that_is_still_coming() {
    let gate = Gate::closed();
    let mut stage = Stage::playing(vec![
        always(say("half of it").stalled_after_events(4, &gate)),
        turn(|request| {
            assert!(
                request.is_asked("begin") && !request.text().contains("half of it"),
                "{}",
                request.text()
            );
            say("whole")
        }),
    ]);
    let going = stage.start(&["begin"]);
    stage.model().wait_for_requests(1);
    going.signal(Signal::TERM);
    assert_eq!(going.end(&mut stage).code, Some(143));
    assert_eq!(stage.model().wait_for_departures(1), [1]);
    stage.run(&["resume", "--last", "go on"]).well();
    stage.finish();
}

#[test]
fn an_interrupt_ends_a_long_pause_between_tries() {
    let limited = Reply::refusal(429, "much later").with_header("retry-after", "500");
    let stage = Stage::playing(vec![always(limited)]);
    let mut command = stage.command(&["go"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("windlass starts");
    let said = BufReader::new(child.stderr.take().expect("its errors are piped")).lines();
    // The test stops reading after that, which must not make the agent fail.
    assert!(said.map_while(Result::ok).any(|line| line.contains("much later")), "the pause is announced");
    let process = Process::open(Pid::new(child.id())).expect("windlass is there");
    process.signal(Signal::INT).expect("windlass can be signalled");
    assert_eq!(child.wait().expect("it can be waited for").code(), Some(130));
    stage.finish();
}

#[test]
fn commands_that_are_deaf_or_leave_their_session_end_with_the_agent() {
    let script =
        "trap '' INT TERM HUP; setsid sh -c 'trap \"\" TERM; echo here > pipe; exec cat other' & wait";
    for signal in [Signal::INT, Signal::TERM] {
        let mut stage = Stage::playing(vec![always(exec(script))]);
        let going = at_work(&stage, &["begin"]);
        going.signal(signal);
        let ran = going.end(&mut stage);
        assert_eq!(ran.code, Some(128 + signal.number()), "{ran:?}");
        stage.finish();
    }
}

#[test]
fn what_still_runs_when_the_task_is_done_ends_with_it() {
    let background =
        json!({ "cmd": "echo ready; cat other & cat", "tty": true, "until": { "pattern": "ready" } });
    let mut stage = Stage::playing(vec![always(call("exec_command", background)), always(say("done"))]);
    pipes(&stage);
    stage.run(&["start something"]).well();
    stage.finish();
}

#[test]
fn an_interrupt_ends_sub_agents_and_what_they_run() {
    let mut stage = Stage::casting(vec![
        role("child's task", vec![always(exec(STAYS))]),
        role(
            "root's task",
            vec![
                always(call("spawn_agent", json!({ "message": "child's task" }))),
                always(call("wait_agent", json!({ "timeout_ms": 600_000 }))),
                turn(|request| {
                    assert!(request.last_result().contains("aborted by user"), "{}", request.last_result());
                    say("alone again")
                }),
            ],
        ),
    ]);
    let going = at_work(&stage, &["root's task"]);
    going.signal(Signal::INT);
    assert_eq!(going.end(&mut stage).code, Some(130));
    assert_eq!(stage.threads().len(), 2);
    stage.run(&["resume", "--last", "go on"]).well();
    stage.finish();
}

#[test]
fn a_reader_that_goes_away_ends_the_agent_and_its_command() {
    // The first command exits on request; the others would stay.
    let stage = Stage::answering(|request| {
        exec(if request.results().is_empty() {
            "echo here > pipe; exec cat other"
        } else {
            "exec cat another"
        })
    });
    let pipe = pipes(&stage);
    fifo(&stage.work().join("another"));
    let mut command = stage.command(&["--json", "begin"]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("windlass starts");
    assert_eq!(fs::read_to_string(pipe).expect("the command writes"), "here\n");
    drop(child.stdout.take());
    // The agent notices that the reader has gone only when it has something to print.
    fs::write(stage.work().join("other"), "").expect("the command reads");
    let status = child.wait().expect("windlass can be waited for");
    assert_eq!(status.code(), Some(141), "{status}");
    stage.finish();
}

#[test]
fn an_interrupt_ends_a_summary_and_the_conversation_stays_as_it_was() {
    let gate = Gate::closed();
    let mut stage = Stage::playing(vec![
        always(exec("echo kept")),
        always(Reply::failed("context_length_exceeded", "too long")),
        always(say("half a summary").stalled_after_events(3, &gate)),
        turn(|request| {
            assert_eq!(request.results().len(), 1, "{}", request.text());
            assert!(!request.text().contains("half a summary"), "{}", request.text());
            say("all is there")
        }),
    ])
    // The request for a summary has a last message that the conversation does not have.
    .compacting(1);
    let going = stage.start(&["begin"]);
    stage.model().wait_for_requests(3);
    going.signal(Signal::INT);
    assert_eq!(going.end(&mut stage).code, Some(130));
    stage.run(&["resume", "--last", "go on"]).well();
    stage.finish();
}

/// A command that exits once the process that it leaves behind runs.
const LEAVES: &str = "cat pipe other > /dev/null 2>&1 & echo go > pipe";

/// The lines that name the processes which ended with the agent.
fn named(ran: &Ran) -> String {
    let lines = ran.stdout.lines().chain(ran.stderr.lines());
    lines.filter(|line| line.contains("ended with the agent")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_process_that_an_exited_command_left_running_is_named_when_it_is_ended() {
    for words in [&["go"][..], &["--json", "go"]] {
        let mut stage = Stage::playing(vec![always(exec(LEAVES)), always(say("done"))]);
        pipes(&stage);
        let ran = stage.run(words).well();
        let named = named(&ran);
        assert!(named.contains("(cat pipe other), left by session "), "{ran:?}");
        stage.finish();
    }
}

#[test]
fn a_process_that_a_sub_agents_command_left_running_is_named_when_it_is_ended() {
    let mut stage = Stage::casting(vec![
        role("child's task", vec![always(exec(LEAVES)), always(say("left it"))]),
        role(
            "root's task",
            vec![
                always(call("spawn_agent", json!({ "message": "child's task" }))),
                always(call("wait_agent", json!({}))),
                always(say("the end")),
            ],
        ),
    ]);
    pipes(&stage);
    let ran = stage.run(&["root's task"]).well();
    assert!(named(&ran).contains("(cat pipe other), left by session "), "{ran:?}");
    stage.finish();
}

#[test]
fn when_the_limit_of_a_wait_expires_that_and_what_still_ran_is_reported() {
    for words in [&["--wait-background=50ms", "go"][..], &["--json", "--wait-background=50ms", "go"]] {
        let start = json!({ "cmd": "echo ready; cat other", "until": { "pattern": "ready" } });
        let mut stage = Stage::playing(vec![always(call("exec_command", start)), always(say("the answer"))]);
        pipes(&stage);
        let ran = stage.run(words).well();
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert!(told.contains("--wait-background expired after 0.05 s"), "{ran:?}");
        assert!(named(&ran).contains("cat other"), "{ran:?}");
        stage.finish();
    }
}
