//! Failures of responses, and their messages.

use std::time::Duration;

use windlass_llm::{Client, Failure, Key, Remedy, ResponseEvent, WireKind};
use windlass_testkit::model::{Gate, Model, Reply, always, call_verbatim, say, think};

use super::rig::{BOTH, LATER, ask, client, failure, hello, items, provider, words};

/// Expects that both wires fail with this remedy and message.
async fn check(reply: Reply, remedy: Remedy, message: &str) {
    for wire in BOTH {
        let model = Model::playing(vec![always(reply.clone())]);
        let seen = failure(&client(&model, wire)).await;
        assert_eq!(seen.remedy, remedy, "{wire:?}: {seen}");
        assert!(seen.message.contains(message), "{wire:?}: {seen} instead of {message}");
        model.finish();
    }
}

fn after(milliseconds: u64) -> Remedy {
    Remedy::Retry { after: Some(Duration::from_millis(milliseconds)) }
}

#[tokio::test]
async fn a_status_says_what_may_be_done() {
    let slow = Reply::refusal(429, "slow down").with_header("retry-after", "3");
    check(slow, after(3000), "it answered 429: slow down").await;
    let slow =
        Reply::refusal(429, "slow down").with_header("retry-after-ms", "250").with_header("retry-after", "1");
    check(slow, after(250), "slow down").await;
    let date = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:39 GMT");
    let slow = Reply::refusal(503, "busy").with_header("date", date.0).with_header("retry-after", date.1);
    check(slow, after(2000), "it answered 503: busy").await;
    check(Reply::refusal(429, "Please try again in 1.5s."), after(1500), "1.5s").await;
    check(Reply::refusal(500, "oops"), LATER, "it answered 500: oops").await;
    check(Reply::refusal(408, "late"), LATER, "late").await;
    check(Reply::refusal(400, "no such tool"), Remedy::GiveUp, "it answered 400: no such tool").await;
    check(Reply::refusal(400, "maximum context length is 4096 tokens"), Remedy::Shorten, "4096").await;
    let quota = r#"{"error":{"message":"no money","code":"insufficient_quota"}}"#;
    check(Reply::refusal_with_body(429, quota), Remedy::GiveUp, "no money").await;
    check(Reply::refusal(401, "who?"), Remedy::GiveUp, "it answered 401: who? (there was no key)").await;
    let page = Reply::refusal_with_body(502, "<html><body>Bad\n gateway</body></html>").of_type("text/html");
    check(page, LATER, "it answered 502: Bad gateway").await;
    check(Reply::refusal_with_body(404, ""), Remedy::GiveUp, "no reason was given").await;
    let moved = Reply::refusal_with_body(307, "").with_header("location", "http://elsewhere/");
    check(moved, Remedy::GiveUp, "leads to http://elsewhere/, which is not followed").await;
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_told_apart() {
    let page = Reply::refusal_with_body(200, "<h1>Welcome</h1>").of_type("text/html; charset=utf-8");
    check(page, Remedy::GiveUp, "text/html; charset=utf-8 and not with a stream of events").await;
    check(say("hello").of_type("text/html"), Remedy::GiveUp, "not with a stream of events").await;
    let error = r#"{"error":{"message":"overloaded","code":503}}"#;
    check(Reply::refusal_with_body(200, error), LATER, "it failed: overloaded").await;
}

#[tokio::test]
async fn a_stream_that_fails_says_why() {
    check(Reply::failed("context_length_exceeded", "too long"), Remedy::Shorten, "it failed: too long").await;
    check(Reply::failed("insufficient_quota", "no money"), Remedy::GiveUp, "it failed: no money").await;
    check(Reply::failed("rate_limit_exceeded", "try again in 20ms"), after(20), "20ms").await;
    check(Reply::failed("server_is_overloaded", "busy"), LATER, "busy").await;
    check(say("a").incomplete("content_filter"), Remedy::GiveUp, "incomplete: content_filter").await;
}

#[tokio::test]
async fn a_stream_that_breaks_off_may_be_tried_again() {
    let model = || say("a long answer");
    for events in 0..4 {
        check(model().cut_after_events(events), LATER, "the connection to it").await;
    }
    for bytes in [1, 7, 40, 100] {
        check(model().cut_after_bytes(bytes), LATER, "was lost").await;
    }
    check(Reply::hang_up(), LATER, "was lost").await;
    check(Reply::verbatim(&["{}"]), LATER, "ended before the answer was complete").await;
    check(Reply::verbatim(&[]), LATER, "ended before the answer was complete").await;
}

#[tokio::test]
async fn what_came_before_the_break_is_delivered_first_and_the_failure_stays() {
    let model = Model::playing(vec![always(say("whole").and(say("half")).cut_after_events(7))]);
    let mut answer = client(&model, WireKind::Responses).send(&hello()).await.unwrap();
    let mut events = Vec::new();
    let failure = loop {
        match answer.next().await {
            Ok(event) => events.extend(event),
            Err(failure) => break failure,
        }
    };
    assert_eq!(items(&events).len(), 1);
    assert_eq!(events.last(), Some(&ResponseEvent::Text("ha".to_owned())));
    assert_eq!(answer.next().await, Err(failure));
}

#[tokio::test]
async fn thoughts_alone_are_no_answer_over_chat() {
    let model = Model::playing(vec![always(think("hm"))]);
    let seen = failure(&client(&model, WireKind::Chat)).await;
    assert_eq!(
        seen,
        Failure { remedy: LATER, message: "it thought, but neither said nor called anything".to_owned() }
    );
}

#[tokio::test]
async fn arguments_that_are_no_json_are_still_a_call() {
    for wire in BOTH {
        let model = Model::playing(vec![always(call_verbatim("f", "{oops"))]);
        let events = ask(&client(&model, wire), &hello()).await.unwrap();
        let items = items(&events);
        assert_eq!(items[0].as_call().map(|call| call.input.text()), Some("{oops"), "{wire:?}");
    }
}

#[tokio::test]
async fn garbage_and_dribble_change_nothing() {
    for wire in BOTH {
        for reply in [
            say("naïve €😀").with_garbage(),
            say("naïve €😀").dribbled(),
            say("naïve €😀").with_garbage().dribbled(),
        ] {
            let model = Model::playing(vec![always(reply)]);
            assert_eq!(words(&client(&model, wire), &hello()).await.as_deref(), Ok("naïve €😀"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_silent_provider_is_given_up_after_a_time_that_is_named() {
    for (stalled, wire) in [(0, WireKind::Responses), (2, WireKind::Responses), (1, WireKind::Chat)] {
        let model = Model::playing(vec![always(say("never").stalled_after_events(stalled, &Gate::closed()))]);
        let mut provider = provider(&model, wire);
        provider.idle_timeout = Duration::from_millis(200);
        let seen = failure(&Client::new(provider).unwrap()).await;
        assert_eq!(seen.remedy, LATER);
        assert!(seen.message.contains("sent nothing for 0.2 s"), "{seen}");
        model.wait_for_departures(1);
        model.finish();
    }
}

#[tokio::test]
async fn whoever_cannot_be_reached_is_named() {
    let model = Model::answering(|_| say("hello"));
    let (address, provider) = (model.address(), provider(&model, WireKind::Responses));
    drop(model);
    let seen = failure(&Client::new(provider.clone()).unwrap()).await;
    assert_eq!(seen.remedy, LATER);
    assert!(seen.message.starts_with(&format!("cannot connect to {address}: ")), "{seen}");

    let mut nowhere = provider;
    nowhere.base_url = "http://no-such-name.invalid:81/v1".to_owned();
    let seen = failure(&Client::new(nowhere).unwrap()).await;
    assert!(seen.message.starts_with("no-such-name.invalid:81 was not found: "), "{seen}");
}

#[tokio::test]
async fn a_key_that_the_provider_repeats_is_not_repeated() {
    let secret = "sk-very-secret";
    let told = format!("the key {secret} is wrong");
    for reply in [Reply::refusal(401, &told), Reply::failed("server_error", &told)] {
        let model = Model::playing(vec![always(reply)]);
        let mut provider = provider(&model, WireKind::Responses);
        provider.key = Some(Key::new(secret));
        provider.key_source = Some("IT_KEY".to_owned());
        let seen = failure(&Client::new(provider).unwrap()).await;
        assert!(seen.message.contains("the key (hidden) is wrong"), "{seen}");
    }
}

#[test]
fn a_provider_that_cannot_be_asked_is_refused_before() {
    let model = Model::answering(|_| say("hello"));
    let check = |change: &dyn Fn(&mut windlass_llm::Provider), expected: &str| {
        let mut provider = provider(&model, WireKind::Responses);
        change(&mut provider);
        let error = Client::new(provider).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(expected));
    };
    check(
        &|provider| provider.base_url = "localhost:8080/v1".to_owned(),
        "the address of it is not one: localhost:8080/v1 (it looks like https://host/v1)",
    );
    check(
        &|provider| provider.headers = vec![("a b".to_owned(), Key::new(""))],
        "the header a b of it has a name or a value that cannot be sent",
    );
    check(
        &|provider| {
            provider.key = Some(Key::new("two\nlines"));
            provider.key_source = Some("IT_KEY".to_owned());
        },
        "the key of it has characters that no key has; it comes from IT_KEY",
    );
}
