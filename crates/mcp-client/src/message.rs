//! JSON-RPC messages: lenient parsing of those from a server, which accepts any bytes, and building of those to it.

use serde_json::{Map, Value, json};

/// The code of an unknown method.
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
/// The code of a rejection that has no more specific one.
pub(crate) const REFUSED: i64 = -1;

/// A message from a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// The response to one of our requests.
    Answer {
        /// The request's id.
        id: u64,
        /// The result or the error.
        answer: Result<Value, RpcError>,
    },
    /// An error that names none of our requests.
    Complaint(RpcError),
    /// A request of the server.
    Request {
        /// The id, which the response repeats unchanged.
        id: Value,
        /// The method.
        method: String,
        /// The parameters.
        params: Map<String, Value>,
    },
    /// A notification of the server.
    Notification {
        /// The method.
        method: String,
        /// The parameters.
        params: Map<String, Value>,
    },
}

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RpcError {
    /// The code.
    pub(crate) code: i64,
    /// The message.
    pub(crate) message: String,
}

/// The most bytes of an error's message that are kept.
const WORDS: usize = 8 * 1024;

/// Parses one message, or an array of several. The error says why the bytes are invalid.
pub(crate) fn read(bytes: &[u8]) -> Result<Vec<Message>, String> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| format!("not JSON ({error})"))?;
    match value {
        Value::Array(messages) => messages.into_iter().map(Message::read).collect(),
        message => Ok(vec![Message::read(message)?]),
    }
}

impl Message {
    fn read(value: Value) -> Result<Self, String> {
        let Value::Object(mut message) = value else { return Err("not a message".to_owned()) };
        let id = message.remove("id").filter(|id| !id.is_null());
        if let Some(Value::String(method)) = message.remove("method") {
            let params = match message.remove("params") {
                Some(Value::Object(params)) => params,
                _ => Map::new(),
            };
            return Ok(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let answer = match (message.remove("error"), message.remove("result")) {
            (Some(error), _) if !error.is_null() => Err(RpcError::read(&error)),
            (_, Some(result)) => Ok(result),
            _ => return Err("neither a request nor an answer".to_owned()),
        };
        match (id, answer) {
            (Some(id), answer) => {
                let id =
                    number(&id).ok_or_else(|| format!("an answer to nothing that was asked (id {id})"))?;
                Ok(Self::Answer { id, answer })
            }
            (None, Err(refusal)) => Ok(Self::Complaint(refusal)),
            (None, Ok(_)) => Err("an answer without id".to_owned()),
        }
    }
}

impl RpcError {
    pub(crate) fn method_not_found(method: &str) -> Self {
        Self { code: METHOD_NOT_FOUND, message: format!("method not found: {method}") }
    }

    fn read(error: &Value) -> Self {
        let code = error.get("code").and_then(Value::as_i64).unwrap_or(REFUSED);
        let words = error.get("message").and_then(Value::as_str);
        let mut message = words.map_or_else(|| error.to_string(), str::to_owned);
        if let Some(data) = error.get("data").filter(|data| !data.is_null()) {
            message = format!("{message} ({data})");
        }
        message.truncate(message.floor_char_boundary(WORDS));
        Self { code, message }
    }
}

/// The number of an id. Our ids are numbers, but some servers return them as strings.
fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| id.as_str()?.parse().ok()).or_else(|| {
        let id = id.as_f64()?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and small"
        )]
        (id.fract() == 0.0 && (0.0..1e15).contains(&id)).then_some(id as u64)
    })
}

/// Builds a request.
pub(crate) fn request(id: u64, method: &str, params: &Map<String, Value>) -> Vec<u8> {
    line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Builds a notification.
pub(crate) fn notification(method: &str, params: &Map<String, Value>) -> Vec<u8> {
    let message = if params.is_empty() {
        json!({ "jsonrpc": "2.0", "method": method })
    } else {
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
    };
    line(&message)
}

/// Builds the notification that cancels a request.
pub(crate) fn cancellation(id: u64) -> Vec<u8> {
    let params = json!({ "requestId": id, "reason": "nobody waits for the answer any more" });
    line(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
}

/// Builds the response to a request of the server.
pub(crate) fn answer(id: &Value, answer: Result<Value, RpcError>) -> Vec<u8> {
    line(&match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(RpcError { code, message }) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    })
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let read = match read(text.as_bytes()) {
            Ok(messages) => messages.iter().map(describe).collect::<Vec<_>>().join(" "),
            Err(problem) => problem,
        };
        assert!(read.starts_with(expected), "{text}: {read}");
    }

    fn describe(message: &Message) -> String {
        match message {
            Message::Answer { id, answer: Ok(result) } => format!("{id}={result}"),
            Message::Answer { id, answer: Err(refusal) } => {
                format!("{id}!{}:{}", refusal.code, refusal.message)
            }
            Message::Complaint(refusal) => format!("!{}:{}", refusal.code, refusal.message),
            Message::Request { id, method, .. } => format!("{method}?{id}"),
            Message::Notification { method, params } => format!("{method}.{}", params.len()),
        }
    }

    #[test]
    fn messages_are_read_leniently() {
        check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "1={}");
        check(r#"{"id":"1","result":{}}"#, "1={}");
        check(r#"{"id":1.0,"result":{}}"#, "1={}");
        check(r#"{"id":1,"result":null}"#, "1=null");
        check(r#"{"id":1,"result":{},"error":null}"#, "1={}");
        check(r#"{"id":1,"error":{"code":-32601,"message":"no"}}"#, "1!-32601:no");
        check(r#"{"id":1,"error":{"code":5,"message":"no","data":{"a":1}}}"#, r#"1!5:no ({"a":1})"#);
        check(r#"{"id":1,"error":"no"}"#, r#"1!-1:"no""#);
        check(r#"{"id":null,"error":{"code":-32700,"message":"what"}}"#, "!-32700:what");
        check(r#"{"id":"x","method":"ping"}"#, r#"ping?"x""#);
        check(r#"{"method":"notifications/progress","params":{"a":1}}"#, "notifications/progress.1");
        check(r#"{"method":"notifications/progress","params":[1]}"#, "notifications/progress.0");
        check(r#"[{"id":1,"result":1},{"method":"m"}]"#, "1=1 m.0");
        check("[]", "");
    }

    #[test]
    fn what_is_no_message_is_said() {
        check("", "not JSON");
        check("listening on port 3000", "not JSON");
        check("{\"id\":1,", "not JSON");
        check("17", "not a message");
        check("{}", "neither");
        check(r#"{"id":"abc","result":{}}"#, "an answer to nothing that was asked");
        check(r#"{"id":-1,"result":{}}"#, "an answer to nothing that was asked");
        check(r#"{"result":{}}"#, "an answer without id");
        check(&"[".repeat(100_000), "not JSON");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_not(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
        }

        #[test]
        fn what_we_say_is_one_line(text in any::<String>(), id in any::<u64>()) {
            let mut params = Map::new();
            params.insert("text".into(), text.clone().into());
            let said = request(id, &text, &params);
            prop_assert_eq!(said.iter().filter(|byte| **byte == b'\n').count(), 1);
            prop_assert_eq!(said.last(), Some(&b'\n'));
        }
    }
}
