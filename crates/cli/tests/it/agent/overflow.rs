//! Conversations that grow too long.

use serde_json::json;
use windlass_testkit::model::{Reply, Request, RequestDialect, Usage, always, say, turn};

use super::stage::{BOTH, Stage, exec};

const TASK: &str = "count the grains of sand, and be exact";

fn too_long(dialect: RequestDialect) -> Reply {
    match dialect {
        RequestDialect::Responses => {
            Reply::failed("context_length_exceeded", "Your input exceeds the context window")
        }
        RequestDialect::Chat => Reply::refusal(400, "This model's maximum context length is 4096 tokens"),
    }
}

/// The request for a summary: the same conversation, without tools.
fn summed_up(request: &Request) -> Reply {
    assert!(request.tools().is_empty(), "{:?}", request.tools());
    say("SUMMARY: half of the beach is counted")
}

/// Checks the request after a compaction: it contains the user's messages and the summary, and no calls.
fn check_shortened(request: &Request) {
    assert!(request.is_asked(TASK), "{}", request.text());
    assert!(request.is_asked("half of the beach is counted"), "{}", request.text());
    assert!(request.results().is_empty(), "{}", request.text());
    assert!(request.offers("exec_command"));
}

#[test]
fn a_conversation_that_is_too_long_is_summed_up_once_and_goes_on() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("echo 1000")),
                always(too_long(dialect)),
                turn(summed_up),
                turn(|request| {
                    check_shortened(request);
                    say("a million")
                }),
            ],
        )
        .compacting(1);
        assert_eq!(stage.run(&[TASK]).well().stdout, "a million\n");
        stage.finish();
    }
}

#[test]
fn one_that_stays_too_long_fails_instead_of_being_summed_up_for_ever() {
    let mut stage = Stage::playing(vec![
        always(too_long(RequestDialect::Responses)),
        turn(summed_up),
        always(too_long(RequestDialect::Responses)),
    ])
    .compacting(1);
    stage.run(&[TASK]).badly(1, "context window");
    stage.finish();
}

#[test]
fn a_conversation_at_its_limit_is_summed_up_and_keeps_the_users_words() {
    for dialect in BOTH {
        let full = Usage { input: 90_000, ..Usage::default() };
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("echo 1000").costing(full)),
                turn(summed_up),
                turn(|request| {
                    check_shortened(request);
                    say("a million")
                }),
            ],
        )
        .with("model_auto_compact_token_limit = 50000")
        .compacting(1);
        let ran = stage.run(&["--json", TASK]).well();
        let notes = ran.items("error");
        assert_eq!(notes.len(), 1, "{ran:?}");
        assert!(notes[0]["message"].as_str().unwrap().contains("summed up"), "{ran:?}");
        stage.finish();
    }
}

#[test]
fn what_was_summed_up_stays_so_in_the_next_program() {
    let full = Usage { input: 90_000, ..Usage::default() };
    let mut stage = Stage::playing(vec![
        always(exec("echo 1000").costing(full)),
        turn(summed_up),
        always(say("a million")),
        turn(|request| {
            check_shortened(request);
            assert!(request.is_asked("and in the sea?"));
            say("more")
        }),
    ])
    .with("model_auto_compact_token_limit = 50000")
    .compacting(1);
    stage.run(&[TASK]).well();
    stage.run(&["resume", "--last", "and in the sea?"]).well();
    stage.finish();
}

#[test]
fn the_model_is_told_what_is_asked_for_in_a_summary() {
    let mut stage = Stage::playing(vec![
        always(too_long(RequestDialect::Responses)),
        turn(|request| {
            assert!(request.is_asked("sum up in one word"), "{}", request.text());
            assert_eq!(request.body()["parallel_tool_calls"], json!(false));
            say("sand")
        }),
        always(say("done")),
    ])
    .with("compact_prompt = \"sum up in one word\"")
    .compacting(1);
    stage.run(&[TASK]).well();
    stage.finish();
}
