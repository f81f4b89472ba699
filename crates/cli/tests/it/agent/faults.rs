//! Errors of a provider: which requests are retried, which are not, and which messages the user gets.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_testkit::model::{Reply, always, say, turn};

use super::stage::{BOTH, SECRETS, Stage, exec};

#[test]
fn a_rate_limit_is_waited_out_as_long_as_the_provider_asks() {
    let limited = Reply::refusal(429, "too many requests").with_header("retry-after", "1");
    let mut stage = Stage::playing(vec![always(limited), always(say("patience pays"))]);
    let began = Instant::now();
    let ran = stage.run(&["--json", "go"]).well();
    assert!(began.elapsed() >= Duration::from_secs(1), "it came back after {:?}", began.elapsed());
    let warnings = ran.events_of("error");
    assert_eq!(warnings.len(), 1, "{ran:?}");
    assert!(warnings[0]["message"].as_str().unwrap().contains("too many requests"), "{ran:?}");
    stage.finish();
}

#[test]
fn a_wait_that_is_only_in_the_words_is_kept_too() {
    let limited = Reply::failed("rate_limit_exceeded", "Rate limit reached. Please try again in 300ms.");
    let mut stage = Stage::playing(vec![always(limited), always(say("patience pays"))]);
    let began = Instant::now();
    stage.run(&["go"]).well();
    assert!(began.elapsed() >= Duration::from_millis(300), "it came back after {:?}", began.elapsed());
    stage.finish();
}

#[test]
fn a_server_that_fails_once_is_asked_again() {
    for dialect in BOTH {
        for fault in
            [Reply::refusal(500, "oh dear"), Reply::hang_up(), Reply::failed("server_error", "oh dear")]
        {
            let mut stage = Stage::speaking(dialect, vec![always(fault), always(say("well again"))]);
            assert_eq!(stage.run(&["go"]).well().stdout, "well again\n");
            assert_eq!(stage.finish().len(), 2);
        }
    }
}

#[test]
fn a_server_that_goes_on_failing_is_given_up_after_the_tries_that_are_set() {
    let mut stage = Stage::answering(|_| Reply::refusal(503, "no capacity"))
        .with("model_providers.scripted.stream_max_retries = 1");
    let ran = stage.run(&["--json", "go"]).badly(1, "no capacity");
    assert_eq!(ran.events_of("turn.failed").len(), 1, "{ran:?}");
    assert_eq!(ran.events_of("turn.completed").len(), 0, "{ran:?}");
    assert_eq!(stage.finish().len(), 2);
}

#[test]
fn what_will_not_get_better_is_not_tried_again() {
    let quota =
        json!({ "error": { "message": "You exceeded your current quota", "code": "insufficient_quota" } });
    for (fault, told) in [
        (Reply::refusal(400, "no such parameter"), "no such parameter"),
        (Reply::refusal(401, "who are you?"), SECRETS[0].0),
        (Reply::refusal(403, "not you"), "not you"),
        (Reply::refusal(404, "no such model"), "no such model"),
        (Reply::refusal_with_body(429, &quota.to_string()), "current quota"),
        (Reply::failed("insufficient_quota", "You exceeded your current quota"), "current quota"),
        (Reply::failed("invalid_prompt", "not this prompt"), "not this prompt"),
    ] {
        for dialect in BOTH {
            let mut stage = Stage::speaking(dialect, vec![always(fault.clone())]);
            stage.run(&["go"]).badly(1, told);
            assert_eq!(stage.finish().len(), 1);
        }
    }
}

#[test]
fn a_key_that_is_not_set_is_named_before_anything_is_asked() {
    let mut stage = Stage::playing(Vec::new());
    let mut command = stage.command(&["go"]);
    command.env_remove(SECRETS[0].0);
    stage.start_command(&mut command).end(&mut stage).badly(1, SECRETS[0].0);
    stage.finish();
}

#[test]
fn a_provider_that_is_not_there_is_said_with_its_address() {
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let address = format!("http://{closed}/v1");
    let mut stage = Stage::playing(Vec::new());
    let words = [
        "-c".to_owned(),
        format!("model_providers.scripted.base_url={address}"),
        "-c".to_owned(),
        "model_providers.scripted.stream_max_retries=1".to_owned(),
        "go".to_owned(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    stage.run(&words).badly(1, &closed.to_string());
    stage.finish();
}

#[test]
fn a_fault_in_the_middle_of_the_work_loses_nothing_that_was_done() {
    for dialect in BOTH {
        let mut stage = Stage::speaking(
            dialect,
            vec![
                always(exec("echo once >> log")),
                always(Reply::refusal(502, "bad gateway")),
                turn(|request| {
                    assert_eq!(request.results().len(), 1);
                    say("done")
                }),
            ],
        );
        stage.run(&["go"]).well();
        assert_eq!(stage.read("work/log"), "once\n");
        stage.finish();
    }
}
