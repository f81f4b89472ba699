//! Damaged answers: cut off, stalled, in single bytes, with garbage in between, or of the wrong type.

use serde_json::json;
use windlass_testkit::model::{Gate, Reply, RequestDialect, Usage, always, call, say, think, turn};

use super::stage::{BOTH, Stage, exec};

/// The numbers of events after which an answer is cut: at its beginning, in the middle of the message, and right before
/// its end.
fn cuts(dialect: RequestDialect) -> [usize; 3] {
    match dialect {
        RequestDialect::Responses => [1, 3, 5],
        RequestDialect::Chat => [1, 2, 3],
    }
}

#[test]
fn a_message_that_was_cut_off_is_asked_for_again_and_shown_once() {
    for dialect in BOTH {
        for events in cuts(dialect) {
            let cut = say("all is well").cut_after_events(events);
            let mut stage = Stage::speaking(dialect, vec![always(cut), always(say("all is well"))]);
            let ran = stage.run(&["--json", "go"]).well();
            let messages = ran.items("agent_message");
            assert_eq!(messages.len(), 1, "cut after {events} events: {ran:?}");
            assert_eq!(stage.finish().len(), 2, "cut after {events} events: {ran:?}");
        }
    }
}

#[test]
fn a_call_that_was_cut_off_halfway_is_never_run() {
    for dialect in BOTH {
        for bytes in [300, 600] {
            let half = think("hm").and(exec("echo half >> log")).cut_after_bytes(bytes);
            let mut stage = Stage::speaking(
                dialect,
                vec![always(half), always(exec("echo whole >> log")), always(say("done"))],
            );
            stage.run(&["go"]).well();
            assert_eq!(stage.read("work/log"), "whole\n", "cut after {bytes} bytes");
            stage.finish();
        }
    }
}

#[test]
fn a_call_that_arrived_whole_before_the_cut_is_run_once_and_answered() {
    // In the other dialect a call is complete only at the end of its answer.
    let cut = exec("echo once >> log").failing("server_error", "gone in the middle");
    let mut stage = Stage::playing(vec![
        always(cut),
        turn(|request| {
            assert_eq!(request.results().len(), 1, "{}", request.text());
            say("done")
        }),
    ]);
    let ran = stage.run(&["--json", "go"]).well();
    assert_eq!(stage.read("work/log"), "once\n");
    assert_eq!(ran.items("command_execution").len(), 1, "{ran:?}");
    stage.finish();
}

#[test]
fn an_answer_that_falls_silent_is_let_go_and_asked_for_again() {
    for dialect in BOTH {
        let gate = Gate::closed();
        let stalled = say("never finished").stalled_after_events(2, &gate);
        let mut stage = Stage::speaking(dialect, vec![always(stalled), always(say("finished"))])
            .with("model_providers.scripted.stream_idle_timeout_ms = 150");
        let ran = stage.run(&["go"]).well();
        assert_eq!(ran.stdout, "finished\n");
        assert_eq!(stage.model().wait_for_departures(1), [1]);
        stage.finish();
    }
}

#[test]
fn rubbish_between_events_and_single_bytes_are_borne() {
    for dialect in BOTH {
        for deliver in [Reply::with_garbage, Reply::dribbled] {
            let first = think("naïve — thought").and(exec("echo 'ä€😀' >> log"));
            let mut stage =
                Stage::speaking(dialect, vec![always(deliver(first)), always(deliver(say("fertig: ä€😀")))]);
            assert_eq!(stage.run(&["go"]).well().stdout, "fertig: ä€😀\n");
            assert_eq!(stage.read("work/log"), "ä€😀\n");
            stage.finish();
        }
    }
}

#[test]
fn a_page_in_place_of_a_stream_is_not_taken_for_an_answer() {
    for dialect in BOTH {
        let page = say("never shown").of_type("text/html");
        let mut stage = Stage::speaking(dialect, vec![always(page)]);
        let ran = stage.run(&["go"]).badly(1, "text/html");
        assert_eq!(ran.stdout, "");
        stage.finish();
    }
}

#[test]
fn an_answer_without_a_word_is_an_end_too() {
    let mut stage = Stage::playing(vec![always(Reply::silence())]);
    let ran = stage.run(&["--json", "go"]).well();
    assert_eq!(ran.items("agent_message").len(), 0, "{ran:?}");
    stage.finish();
}

#[test]
fn an_answer_that_ran_out_of_room_fails_the_turn_with_the_reason() {
    for (dialect, reason) in
        [(RequestDialect::Responses, "max_output_tokens"), (RequestDialect::Chat, "length")]
    {
        let mut stage = Stage::speaking(dialect, vec![always(say("as far as it").incomplete(reason))]);
        let ran = stage.run(&["--json", "go"]).badly(1, reason);
        // Items that the Responses wire finished before the failure are kept; the other wire finishes none before its
        // end.
        let finished = if dialect == RequestDialect::Responses { 1 } else { 0 };
        assert_eq!(ran.items("agent_message").len(), finished, "{ran:?}");
        let types: Vec<_> = ran.events().iter().map(|event| event["type"].clone()).collect();
        assert_eq!(types[types.len() - 2..], ["error", "turn.failed"], "{ran:?}");
        stage.finish();
    }
}

#[test]
fn what_answers_cost_is_added_up() {
    for dialect in BOTH {
        let usage = |input| Usage { input, cached: 10, output: 5, reasoning: 2 };
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(call("update_plan", json!({ "plan": [] })).costing(usage(100))),
                always(say("done").costing(usage(200))),
            ],
        );
        let ran = stage.run(&["--json", "go"]).well();
        let completed = ran.events_of("turn.completed");
        assert_eq!(
            completed[0]["usage"],
            json!({ "input_tokens": 300, "cached_input_tokens": 20, "cache_write_input_tokens": 0,
                    "output_tokens": 10, "reasoning_output_tokens": 4 }),
            "{ran:?}"
        );
        assert_eq!(completed[0]["usage"], completed[0]["turn_usage"]);
        stage.finish();
    }
}

#[test]
fn a_thought_goes_back_sealed_as_it_came_and_before_its_call() {
    let mut stage = Stage::playing(vec![
        always(think("first this").and(exec("true"))),
        turn(|request| {
            let items = request.body()["input"].as_array().unwrap();
            let place = |kind: &str| items.iter().position(|item| item["type"] == kind).unwrap();
            let thought = &items[place("reasoning")];
            assert_eq!(thought["encrypted_content"], "sealed rs_1_0", "{thought}");
            assert_eq!(place("reasoning") + 1, place("function_call"));
            say("done")
        }),
    ]);
    stage.run(&["go"]).well();
    stage.finish();
}
