//! Requests of servers to the client: roots, elicitation, and requests that the client rejects.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_mcp_client::{Elicitation, ElicitationAnswer, ElicitationFuture, Elicitor, Standing};

use crate::rig::{Rig, With, object, peer, stateless};

/// An elicitor that records the questions.
#[derive(Default)]
pub(crate) struct Ada {
    pub(crate) asked: Mutex<Vec<Elicitation>>,
}

impl Elicitor for Ada {
    fn elicit(&self, question: Elicitation) -> ElicitationFuture<'_> {
        self.asked.lock().expect("nobody panicked").push(question);
        Box::pin(async { ElicitationAnswer::Accept(object(json!({ "name": "Ada" }))) })
    }
}

async fn check(rig: &Rig, method: &str, params: Value, expected: Value) {
    let answer = rig.text("ask", json!({ "method": method, "params": params })).await;
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    assert_eq!(answer, expected, "{method}");
}

#[tokio::test]
async fn a_server_is_told_what_is_harmless_and_refused_the_rest() {
    let rig = Rig::start("questions", vec![peer("plain")]);
    rig.ready().await;
    check(&rig, "ping", json!({}), json!({ "result": {} })).await;
    let roots = json!({ "roots": [{ "uri": "file:///srv/tree", "name": "tree" }] });
    check(&rig, "roots/list", json!({}), json!({ "result": roots })).await;
    let question = json!({ "message": "who?", "requestedSchema": {} });
    check(&rig, "elicitation/create", question, json!({ "result": { "action": "decline" } })).await;
    let refused = json!({ "error": { "code": -1, "message": "this client lends its model to nobody" } });
    check(&rig, "sampling/createMessage", json!({}), refused).await;
    let unknown = json!({ "error": { "code": -32601, "message": "method not found: tasks/list" } });
    check(&rig, "tasks/list", json!({}), unknown).await;
    rig.end().await;
}

#[tokio::test]
async fn a_person_is_asked_where_there_is_one() {
    let ada = Arc::new(Ada::default());
    let with = With { elicitor: Some(ada.clone()), ..With::default() };
    let rig = Rig::start_with("person", vec![peer("plain")], with);
    rig.ready().await;
    let question = json!({ "message": "who?", "requestedSchema": { "type": "object" } });
    let answer = json!({ "result": { "action": "accept", "content": { "name": "Ada" } } });
    check(&rig, "elicitation/create", question, answer).await;
    let asked = ada.asked.lock().expect("nobody panicked").clone();
    let expected = Elicitation {
        server: "peer".into(),
        message: "who?".into(),
        schema: json!({ "type": "object" }),
        url: None,
    };
    assert_eq!(asked, [expected]);
    rig.end().await;
}

#[tokio::test]
async fn a_server_without_a_greeting_is_discovered_and_given_what_it_asks_for() {
    let with = With { elicitor: Some(Arc::new(Ada::default())), ..With::default() };
    let rig = Rig::start_with("stateless", vec![stateless()], with);
    match rig.ready().await.standing {
        Standing::Up(handshake) => {
            assert_eq!(
                (handshake.software.as_str(), handshake.protocol.as_str()),
                ("stateless 9", "2026-07-28")
            );
        }
        other => panic!("it should be up, but is {other:?}"),
    }
    assert_eq!(rig.text("greet", json!({})).await, "Ada file:///srv/tree s1");
    rig.end().await;
}

#[tokio::test]
async fn without_a_person_such_a_question_is_declined() {
    let rig = Rig::start("declined", vec![stateless()]);
    rig.ready().await;
    assert_eq!(rig.text("greet", json!({})).await, "decline file:///srv/tree s1");
    rig.end().await;
}
