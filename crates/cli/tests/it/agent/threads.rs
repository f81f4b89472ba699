//! Resumed conversations: later, in another directory, after a crash.

use std::fs;

use windlass_sys::signal::Signal;
use windlass_testkit::model::{Gate, RequestDialect, always, custom, say, think, turn};

use super::stage::{BOTH, Stage, exec, fifo};

#[test]
fn the_last_conversation_of_a_directory_is_gone_on_with() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("echo one")),
                always(say("first")),
                turn(|request| {
                    assert!(request.is_asked("begin") && request.is_asked("go on"));
                    assert_eq!(request.results().len(), 1, "{}", request.text());
                    say("second")
                }),
            ],
        );
        let first = stage.run(&["--json", "begin"]).well();
        let second = stage.run(&["resume", "--last", "--json", "go on"]).well();
        assert_eq!(first.thread(), second.thread());
        assert_eq!(stage.threads().len(), 1);
        let requests = stage.finish();
        assert_eq!(requests[0].thread(), requests[2].thread());
    }
}

#[test]
fn a_conversation_is_gone_on_with_by_its_name_from_anywhere() {
    let mut stage = Stage::playing(vec![
        always(say("first")),
        turn(|request| {
            assert!(request.is_asked("begin"), "{}", request.text());
            say("second")
        }),
    ]);
    stage.write("elsewhere/.keep", "");
    let thread = stage.run(&["--json", "begin"]).well().thread();
    stage.run(&["resume", "--last", "-C", "../elsewhere", "go on"]).badly(1, "no conversation");
    stage.run(&["resume", &thread, "-C", "../elsewhere", "go on"]).well();
    stage.run(&["resume", "01990000-0000-7000-8000-000000000000", "go on"]).badly(1, "there is no thread");
    stage.finish();
}

#[test]
fn a_fork_begins_with_a_copy_and_leaves_the_original_alone() {
    let mut stage = Stage::playing(vec![
        always(exec("echo one")),
        always(say("first")),
        turn(|request| {
            assert!(request.is_asked("begin") && request.is_asked("otherwise"));
            assert_eq!(request.results().len(), 1);
            say("second")
        }),
        turn(|request| {
            assert!(!request.is_asked("otherwise"), "{}", request.text());
            say("third")
        }),
    ]);
    let thread = stage.run(&["--json", "begin"]).well().thread();
    let fork = stage.run(&["fork", &thread, "--json", "otherwise"]).well().thread();
    assert_ne!(fork, thread);
    stage.run(&["resume", &thread, "as it was"]).well();
    assert_eq!(stage.threads().len(), 2);
    let listed = stage.run(&["threads", "--json"]).well();
    assert_eq!(listed.stdout.lines().count(), 2, "{listed:?}");
    stage.finish();
}

#[test]
fn a_crash_in_the_middle_of_a_command_leaves_a_conversation_that_goes_on() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("echo here > pipe; exec cat pipe")),
                turn(|request| {
                    // The call whose end was not recorded has an answer all the same.
                    assert_eq!(request.results().len(), 1, "{}", request.text());
                    say("where was I?")
                }),
            ],
        );
        let pipe = stage.work().join("pipe");
        fifo(&pipe);
        let going = stage.start(&["begin"]);
        assert_eq!(fs::read_to_string(&pipe).expect("the command writes"), "here\n");
        going.signal(Signal::KILL);
        assert_eq!(going.end(&mut stage).code, None);
        assert_eq!(stage.run(&["resume", "--last", "go on"]).well().stdout, "where was I?\n");
        stage.finish();
    }
}

#[test]
fn a_crash_in_the_middle_of_an_answer_loses_only_that_answer() {
    let gate = Gate::closed();
    let mut stage = Stage::playing(vec![
        always(exec("echo once >> log")),
        always(say("half of").stalled_after_events(4, &gate)),
        turn(|request| {
            assert_eq!(request.results().len(), 1, "{}", request.text());
            assert!(!request.text().contains("half of"), "{}", request.text());
            say("all of it")
        }),
    ]);
    let going = stage.start(&["begin"]);
    stage.model().wait_for_requests(2);
    going.signal(Signal::KILL);
    going.end(&mut stage);
    stage.run(&["resume", "--last", "go on"]).well();
    assert_eq!(stage.read("work/log"), "once\n");
    stage.finish();
}

#[test]
fn a_file_with_a_torn_last_line_is_read_and_mended() {
    let mut stage = Stage::playing(vec![
        always(exec("echo one")),
        always(say("first")),
        turn(|request| {
            assert_eq!(request.results().len(), 1, "{}", request.text());
            say("second")
        }),
        always(say("third")),
    ]);
    stage.run(&["begin"]).well();
    let file = stage.threads().pop().expect("a thread file");
    let text = fs::read_to_string(&file).expect("it can be read");
    let whole = text.lines().count();
    fs::write(&file, format!("{text}{{\"type\":\"item\",\"ori")).expect("it can be torn");
    stage.run(&["resume", "--last", "go on"]).well();
    stage.run(&["resume", "--last", "and on"]).well();
    assert!(fs::read_to_string(&file).expect("it can be read").lines().count() > whole);
    stage.finish();
}

#[test]
fn two_programs_do_not_write_the_same_conversation() {
    let gate = Gate::closed();
    let mut stage =
        Stage::playing(vec![always(say("first")), always(say("busy").stalled_after_events(2, &gate))]);
    let thread = stage.run(&["--json", "begin"]).well().thread();
    let going = stage.start(&["resume", &thread, "go on"]);
    stage.model().wait_for_requests(2);
    let mut command = stage.command(&["resume", &thread, "me too"]);
    let refused = command.output().expect("windlass starts");
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("another program"), "{refused:?}");
    gate.open();
    going.end(&mut stage).well();
    stage.finish();
}

#[test]
fn a_conversation_is_gone_on_with_in_the_other_dialect() {
    for (dialect, other) in [(RequestDialect::Responses, "chat"), (RequestDialect::Chat, "responses")] {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(think("hm").and(exec("echo one")).and(custom("apply_patch", "no patch"))),
                always(say("first")),
                turn(move |request| {
                    assert_ne!(request.dialect(), dialect);
                    assert_eq!(request.results().len(), 2, "{}", request.text());
                    assert!(request.is_asked("begin") && request.is_asked("go on"));
                    say("second")
                }),
            ],
        )
        // The wording differs, so it does not begin like the same conversation.
        .compacting(1);
        stage.run(&["begin"]).well();
        let setting = format!("model_providers.scripted.wire_api={other}");
        stage.run(&["resume", "--last", "-c", &setting, "go on"]).well();
        stage.finish();
    }
}
