//! Responses that arrive as they should.

use serde_json::json;
use windlass_llm::{Call, CallId, Content, ContentPart, Input, Item, ResponseEvent, Usage, WireKind};
use windlass_testkit::model::{
    self, Invariants, Model, always, call, call_verbatim, custom, say, think, turn,
};

use super::rig::{BOTH, ask, client, hello, items, question};

#[tokio::test]
async fn an_answer_comes_piece_by_piece_and_item_by_item() {
    for wire in BOTH {
        let usage = model::Usage { input: 20, cached: 8, output: 6, reasoning: 2 };
        let said = think("let me see").and(say("I look")).and(call("f", json!({ "a": 1 })));
        let model = Model::playing(vec![always(said.and(custom("apply_patch", "*** Bégin")).costing(usage))]);
        let events = ask(&client(&model, wire), &hello()).await.unwrap();

        assert_eq!(events.first(), Some(&ResponseEvent::Started));
        let text: String =
            pieces(&events, |event| if let ResponseEvent::Text(text) = event { Some(text) } else { None });
        let thought: String =
            pieces(&events, |event| if let ResponseEvent::Thought(text) = event { Some(text) } else { None });
        assert_eq!((text.as_str(), thought.as_str()), ("I look", "let me see"), "{wire:?}");
        let calling = events.iter().filter(|event| matches!(event, ResponseEvent::Calling(_)));
        assert_eq!(calling.count(), 2);
        let usage = Usage { input: 20, cached: 8, cache_written: 0, output: 6, reasoning: 2 };
        assert_eq!(events.last(), Some(&ResponseEvent::Completed(usage)));
        check_items(&items(&events));
        model.finish();
    }
}

fn pieces(events: &[ResponseEvent], piece: impl Fn(&ResponseEvent) -> Option<&String>) -> String {
    events.iter().filter_map(piece).map(String::as_str).collect()
}

fn check_items(items: &[Item]) {
    let [thought, message, first, second] = items else { panic!("{items:?}") };
    assert_eq!(thought.content(), &Content::Reasoning { text: "let me see".to_owned() });
    assert_eq!(message.words_of(windlass_llm::Role::Assistant).as_deref(), Some("I look"));
    assert_eq!(first.as_call().unwrap().input, Input::Arguments(r#"{"a":1}"#.to_owned()));
    assert_eq!(second.as_call().unwrap().input, Input::Text("*** Bégin".to_owned()));
}

#[tokio::test]
async fn a_conversation_grows_byte_by_byte() {
    for wire in BOTH {
        let model = Model::playing(vec![
            always(think("hm").and(call("f", json!({ "a": [1, 2] }))).and(custom("apply_patch", "*** é"))),
            always(say("half way").and(call_verbatim("f", "{ \"b\" : 1.0 }"))),
            turn(|request| say(&request.last_result())),
        ]);
        let client = client(&model, wire);
        let mut request = question(vec![Item::developer("be exact"), Item::user("hello")]);
        let mut last = Vec::new();
        for _ in 0..3 {
            last = ask(&client, &request).await.unwrap();
            let items = items(&last);
            let calls: Vec<Call> = items.iter().filter_map(|item| item.as_call().cloned()).collect();
            request.items.extend(items);
            request.items.extend(calls.iter().map(|call| Item::output(call, vec![answer_to(&call.id)])));
        }
        assert!(last.contains(&ResponseEvent::Item(items(&last)[0].clone())), "{last:?}");
        let requests = model.finish();
        Invariants::strict().check(&requests);
        let bodies: Vec<&str> = requests.iter().map(model::Request::text).collect();
        for pair in bodies.windows(2) {
            assert!(pair[1].starts_with(pair[0].strip_suffix("]}").unwrap()), "{pair:?}");
        }
        if wire == WireKind::Responses {
            assert!(bodies[2].contains(r#"{ \"b\" : 1.0 }"#), "{}", bodies[2]);
        }
    }
}

fn answer_to(call: &CallId) -> ContentPart {
    ContentPart::Text(format!("the answer to {call}"))
}

#[tokio::test]
async fn a_request_carries_its_headers_and_its_query() {
    let model = Model::answering(|_| say("hello"));
    model.require_key("sk-secret");
    let mut provider = super::rig::provider(&model, WireKind::Chat);
    provider.key = Some(windlass_llm::Key::new("sk-secret"));
    let value = windlass_llm::Key::new;
    provider.headers = vec![("X-Team".to_owned(), value("blue")), ("user-agent".to_owned(), value("us"))];
    provider.query = vec![("api-version".to_owned(), value("1"))];
    let client = windlass_llm::Client::new(provider).unwrap();
    ask(&client, &hello()).await.unwrap();
    let requests = model.finish();
    let check = |name: &str, expected: &str| assert_eq!(requests[0].header(name), Some(expected), "{name}");
    check("authorization", "Bearer sk-secret");
    check("accept", "text/event-stream");
    check("content-type", "application/json");
    check("x-team", "blue");
    check("user-agent", "us");
    check("thread-id", "thread");
    check("session-id", "root");
}
