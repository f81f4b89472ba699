//! Parses a line into messages, or into the errors for the client.

use std::collections::VecDeque;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId};
use serde_json::{Value, json};
use windlass_protocol::envelope::{self, Salvaged};

use crate::lines::LINE_LIMIT;
use crate::mcp::repair::{self, Repaired};
use crate::mcp::wire::IN_FLIGHT_LIMIT;

/// The error for a message that the server rejected.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RejectedMessage {
    id: Value,
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// The messages in a line, and the errors for the rest. An empty line has neither.
pub(crate) fn read(line: &[u8]) -> (VecDeque<ClientJsonRpcMessage>, Vec<RejectedMessage>) {
    let line = line.trim_ascii();
    if line.is_empty() {
        return (VecDeque::new(), Vec::new());
    }
    // Nearly every line is a valid message: it is parsed once, and examined only if that fails.
    if line.starts_with(b"{")
        && let Ok(message) = serde_json::from_slice(line)
    {
        return (VecDeque::from([message]), Vec::new());
    }
    let Some((repaired, count)) = repair::without_lone_surrogates(line) else { return read_any(line) };
    let (mut messages, refusals) = read_any(&repaired);
    messages.iter_mut().for_each(|message| Repaired(count).mark(message));
    (messages, refusals)
}

fn read_any(line: &[u8]) -> (VecDeque<ClientJsonRpcMessage>, Vec<RejectedMessage>) {
    match serde_json::from_slice(line) {
        Err(error) => (VecDeque::new(), RejectedMessage::not_json(line, &error).into_iter().collect()),
        // The protocol of 2025-03-26 allows several messages in one line. Each is answered by itself.
        Ok(Value::Array(several)) if !several.is_empty() => read_each(several),
        Ok(other) => read_each(vec![other]),
    }
}

fn read_each(several: Vec<Value>) -> (VecDeque<ClientJsonRpcMessage>, Vec<RejectedMessage>) {
    let mut messages = VecDeque::new();
    let mut refusals = Vec::new();
    for value in several {
        let refusal = RejectedMessage::no_message(&value);
        match serde_json::from_value(value) {
            Ok(message) => messages.push_back(message),
            Err(_) => refusals.push(refusal),
        }
    }
    (messages, refusals)
}

impl RejectedMessage {
    /// An error under the id of the request, if it can be found; `None` if the sender expects no reply.
    pub(crate) fn not_json(line: &[u8], error: &serde_json::Error) -> Option<Self> {
        let id = match envelope::salvage(line) {
            Salvaged::Request(id) => serde_json::to_value(id).unwrap_or_default(),
            Salvaged::Unanswerable => return None,
            Salvaged::Unknown => Value::Null,
        };
        Some(Self { id, code: ErrorCode::PARSE_ERROR, message: format!("not JSON: {error}") })
    }

    fn no_message(value: &Value) -> Self {
        let id = value.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        Self {
            id: id.unwrap_or_default(),
            code: ErrorCode::INVALID_REQUEST,
            message: "not a JSON-RPC 2.0 request, notification or response".to_owned(),
        }
    }

    /// An error under the id at the beginning of the message, if there is one.
    pub(crate) fn too_long(beginning: &[u8]) -> Self {
        let id = envelope::id_at_the_beginning(beginning).and_then(|id| serde_json::to_value(id).ok());
        Self {
            id: id.unwrap_or(Value::Null),
            code: ErrorCode::INVALID_REQUEST,
            message: format!("the message is longer than {LINE_LIMIT} bytes"),
        }
    }

    pub(crate) fn id_in_use(id: &RequestId) -> Self {
        Self {
            id: id.clone().into_json_value(),
            code: ErrorCode::INVALID_REQUEST,
            message: "a request with this id is still under way".to_owned(),
        }
    }

    pub(crate) fn too_many(id: &RequestId) -> Self {
        Self {
            id: id.clone().into_json_value(),
            code: ErrorCode::INTERNAL_ERROR,
            message: format!("{IN_FLIGHT_LIMIT} requests are under way already; wait for one to be answered"),
        }
    }

    /// The line that is sent to the client.
    pub(crate) fn line(&self) -> Vec<u8> {
        let error = json!({ "code": self.code.0, "message": self.message });
        let mut line = json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string().into_bytes();
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, messages: usize, refusals: &[(i32, Value)]) {
        let (read, refused) = read(line.as_bytes());
        let refused: Vec<_> = refused.into_iter().map(|refusal| (refusal.code.0, refusal.id)).collect();
        assert_eq!((read.len(), refused.as_slice()), (messages, refusals), "{line}");
    }

    #[test]
    fn a_line_is_a_message_or_says_why_not() {
        const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        check("", 0, &[]);
        check("  \r", 0, &[]);
        check(PING, 1, &[]);
        check(&format!("{PING}\r"), 1, &[]);
        check("{", 0, &[(-32700, Value::Null)]);
        check("nonsense", 0, &[(-32700, Value::Null)]);
        check("[]", 0, &[(-32600, Value::Null)]);
        check("7", 0, &[(-32600, Value::Null)]);
        check(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, 0, &[(-32600, json!(7))]);
        check(r#"{"jsonrpc":"2.0","id":"x"}"#, 0, &[(-32600, json!("x"))]);
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, 0, &[(-32600, json!(1.5))]);
        check(r#"{"jsonrpc":"2.0","id":{},"method":7}"#, 0, &[(-32600, Value::Null)]);
        check(&format!("[{PING},7,{PING}]"), 2, &[(-32600, Value::Null)]);
    }

    #[test]
    fn bytes_that_are_no_text_are_no_json() {
        let (messages, refusals) = read(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}");
        assert!(messages.is_empty());
        assert_eq!(refusals[0].code, ErrorCode::PARSE_ERROR);
    }

    proptest! {
        #[test]
        fn every_line_is_taken_or_answered(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let (messages, refusals) = read(&line);
            let blank = line.trim_ascii().is_empty();
            prop_assert_eq!(messages.is_empty() && refusals.is_empty(), blank);
            for refusal in refusals {
                let line = refusal.line();
                prop_assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
                let said: Value = serde_json::from_slice(&line).expect("what we say is JSON");
                prop_assert!(said["error"]["code"].is_i64());
            }
        }
    }
}
