//! What surrounds every message: requests, notifications and answers, without the `jsonrpc` member.
//!
//! A message is read into a value first and into its shape afterwards: of a member that is written twice the last one
//! counts, and a wrong type is described in the same words whatever stood around it.

mod salvage;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::salvage::rest_of_string;
pub use self::salvage::{Salvaged, salvage};

/// What a request is called by whoever sent it. Echoed as it came: `"12"` is not `12`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A whole number.
    Number(i64),
    /// A string.
    Text(String),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The request is not one we know, or its members have the wrong types.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The members are well-formed and make no sense together.
pub const INVALID_PARAMS: i64 = -32602;
/// What was asked for could not be done.
pub const INTERNAL_ERROR: i64 = -32603;
/// There is no room for it now.
pub const OVERLOADED: i64 = -32001;
/// The session is in use by another connection.
pub const ATTACHED_ELSEWHERE: i64 = -32010;

/// The most values that a message may hold. In memory each takes many times the room that it has in the message.
pub const MOST_VALUES: usize = 256 * 1024;

/// Why a request was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// What kind of failure it is, for programs.
    pub code: i64,
    /// What is wrong, for people.
    pub message: String,
}

impl Refusal {
    /// A refusal in these words.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// One message of the other side.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// To be answered exactly once.
    Request {
        /// Echoed in the answer.
        id: RequestId,
        /// What is asked for.
        method: String,
        /// What with; `Null` where it was left out.
        params: Value,
    },
    /// Not to be answered.
    Notification {
        /// What it is about.
        method: String,
        /// What it says; `Null` where it was left out.
        params: Value,
    },
    /// What came of a request of ours.
    Answer {
        /// The request's own.
        id: RequestId,
        /// What it gave, or why it gave nothing.
        outcome: Result<Value, Refusal>,
    },
}

/// Bytes that are no message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMessage {
    /// What is wrong with them.
    pub reason: String,
    /// Whom it may concern, if that could be made out.
    pub id: Option<RequestId>,
}

/// Reads one message.
pub fn read(bytes: &[u8]) -> Result<Message, NoMessage> {
    let unnamed = |reason: String| NoMessage { reason, id: None };
    if holds_too_many_values(bytes) {
        return Err(NoMessage {
            reason: format!("more than {MOST_VALUES} values"),
            id: id_at_the_beginning(bytes),
        });
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let reason = match is_too_deep(&error) {
            true => "nested too deeply".to_owned(),
            false => format!("not JSON: {error}"),
        };
        NoMessage { reason, id: id_at_the_beginning(bytes) }
    })?;
    let Value::Object(members) = value else {
        return Err(unnamed("not a JSON object".to_owned()));
    };
    read_members(members)
}

/// The library has no other way to tell.
fn is_too_deep(error: &serde_json::Error) -> bool {
    error.is_syntax() && error.to_string().starts_with("recursion limit exceeded")
}

fn read_members(mut members: Map<String, Value>) -> Result<Message, NoMessage> {
    let id = members.remove("id").and_then(|id| RequestId::deserialize(id).ok());
    match (members.remove("method"), id) {
        (Some(Value::String(method)), id) => {
            let params = members.remove("params").unwrap_or(Value::Null);
            Ok(match id {
                Some(id) => Message::Request { id, method, params },
                None => Message::Notification { method, params },
            })
        }
        (Some(_), id) => Err(NoMessage { reason: "the method is not a string".to_owned(), id }),
        // Nobody waits for an answer to what is no request, though somebody may for another one under the same id.
        (None, id) => id
            .and_then(|id| outcome(&mut members).map(|outcome| Message::Answer { id, outcome }))
            .ok_or(NoMessage { reason: "neither a request nor an answer".to_owned(), id: None }),
    }
}

fn outcome(members: &mut Map<String, Value>) -> Option<Result<Value, Refusal>> {
    if let Some(result) = members.remove("result") {
        return Some(Ok(result));
    }
    Some(Err(Refusal::deserialize(members.remove("error")?).ok()?))
}

/// Counts what begins a value or separates two. An empty list counts as if it held something.
fn holds_too_many_values(bytes: &[u8]) -> bool {
    // Every value takes a byte at least.
    if bytes.len() <= MOST_VALUES {
        return false;
    }
    let (mut values, mut at) = (1, 0);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b',' | b'[' | b'{' => values += 1,
            b'"' => at += rest_of_string(&bytes[at..]),
            _ => {}
        }
    }
    values > MOST_VALUES
}

/// The id of a message of which only the beginning is known, if that is where it stands.
#[must_use]
pub fn id_at_the_beginning(bytes: &[u8]) -> Option<RequestId> {
    match salvage(bytes) {
        Salvaged::Request(id) => Some(id),
        Salvaged::Unanswerable | Salvaged::Unknown => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_of_a_message_that_breaks_off_is_known_if_it_came_first() {
        let number = Some(RequestId::Number(7));
        for (bytes, expected) in [
            (r#"{"id":7,"method":"m","params":{"x":"aaaa"#, number.clone()),
            (r#"{"method":"m","id":7,"params":"#, number),
            (r#"{ "jsonrpc": "2.0", "id": "a\"b", "par"#, Some(RequestId::Text("a\"b".to_owned()))),
            (r#"{"method":"m","params":{"id":7,"x":"aa"#, None),
            (r#"{"id":1.5,"method":"#, None),
            (r#"{"id":"aaaa"#, None),
            (r#"[{"id":7}"#, None),
            ("", None),
        ] {
            assert_eq!(id_at_the_beginning(bytes.as_bytes()), expected, "{bytes}");
        }
    }

    fn request(id: RequestId, params: Value) -> Result<Message, NoMessage> {
        Ok(Message::Request { id, method: "m".to_owned(), params })
    }

    #[test]
    fn an_id_keeps_its_type() {
        let (number, text) = (RequestId::Number(-12), RequestId::Text("-12".to_owned()));
        assert_eq!(read(br#"{"id":-12,"method":"m"}"#), request(number, Value::Null));
        assert_eq!(read(br#"{"id":"-12","method":"m","params":[]}"#), request(text, json!([])));
    }

    #[test]
    fn what_is_nested_too_deeply_is_refused_under_its_id() {
        let nested = |depth: usize| {
            format!(r#"{{"id":7,"method":"m","params":{}{}}}"#, "[".repeat(depth), "]".repeat(depth))
        };
        assert!(matches!(read(nested(100).as_bytes()), Ok(Message::Request { .. })));
        for depth in [200, 100_000] {
            let expected =
                NoMessage { reason: "nested too deeply".to_owned(), id: Some(RequestId::Number(7)) };
            assert_eq!(read(nested(depth).as_bytes()), Err(expected));
        }
        let broken = read(&nested(200).as_bytes()[..150]).expect_err("it breaks off");
        assert_eq!(broken.id, Some(RequestId::Number(7)));
    }

    #[test]
    fn what_has_no_usable_id_is_a_notification() {
        for id in ["null", "1.5", "[]", "9223372036854775808"] {
            let line = format!(r#"{{"id":{id},"method":"m"}}"#);
            let expected = Message::Notification { method: "m".to_owned(), params: Value::Null };
            assert_eq!(read(line.as_bytes()), Ok(expected), "{id}");
        }
    }

    #[test]
    fn of_a_member_that_is_written_twice_the_last_counts() {
        let line = br#"{"jsonrpc":7,"id":1,"method":"x","method":"m","params":{"a":1,"a":2}}"#;
        assert_eq!(read(line), request(RequestId::Number(1), json!({ "a": 2 })));
    }

    #[test]
    fn answers_are_told_from_requests() {
        let id = RequestId::Number(1);
        let good = Message::Answer { id: id.clone(), outcome: Ok(json!({})) };
        assert_eq!(read(br#"{"id":1,"result":{}}"#), Ok(good));
        let bad = Message::Answer { id, outcome: Err(Refusal::new(INVALID_REQUEST, "no")) };
        assert_eq!(read(br#"{"error":{"code":-32600,"message":"no"},"id":1}"#), Ok(bad));
    }

    #[test]
    fn what_is_no_message_says_why_and_whose_it_may_be() {
        for line in ["", "7", "[]", "null", "{}", "{", r#""\ud800""#, r#"{"method":7}"#] {
            assert!(read(line.as_bytes()).is_err_and(|no| no.id.is_none()), "{line}");
        }
        let named = read(br#"{"id":4,"method":7}"#);
        assert_eq!(named.expect_err("no message").id, Some(RequestId::Number(4)));
    }

    #[test]
    fn a_message_of_too_many_values_is_none_and_says_whose_it_is() {
        let check = |head: &str, values: usize, id: Option<RequestId>| {
            let list = vec!["0"; values].join(",");
            let refused = read(format!("{head}[{list}]}}").as_bytes()).expect_err("too many");
            assert_eq!(refused, NoMessage { reason: "more than 262144 values".to_owned(), id }, "{head}");
        };
        // The object, the id, the method and the list are values too.
        check(r#"{"id":7,"method":"m","params":"#, MOST_VALUES - 3, Some(RequestId::Number(7)));
        check(r#"{"id":"a","method":"m","params":"#, MOST_VALUES, Some(RequestId::Text("a".to_owned())));
        check(r#"{"method":"m","params":"#, MOST_VALUES, None);
        check(r#"{"method":"m","id":"#, MOST_VALUES, None);
        let most = vec!["0"; MOST_VALUES - 4].join(",");
        assert!(read(format!(r#"{{"id":7,"method":"m","params":[{most}]}}"#).as_bytes()).is_ok());
    }

    #[test]
    fn what_stands_in_a_string_is_no_value() {
        let text = r#"\"[,{\\"#.repeat(MOST_VALUES);
        let line = format!(r#"{{"id":7,"method":"m","params":"{text}"}}"#);
        assert!(read(line.as_bytes()).is_ok());
        for cut in [line.len() - 2, line.len() - 3, line.len() - 4] {
            assert!(read(&line.as_bytes()[..cut]).is_err());
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
