//! The messages of a server, parsed.

use std::fmt;

use serde_json::Value;

/// Which request an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub i64);

/// An error of the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    /// The number of its kind.
    pub code: i64,
    /// The error's text.
    pub message: String,
}

/// A message from the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// An answer to one of this client's requests.
    Answer {
        /// The request, if it was asked with a number.
        id: Option<RequestId>,
        /// The result or the error.
        result: Result<Value, ServerError>,
    },
    /// A notification.
    Notice {
        /// The name of the notification.
        method: String,
        /// Its parameters.
        params: Value,
    },
}

impl Message {
    pub(super) fn of(mut value: Value) -> Self {
        if let Some(method) = value["method"].as_str() {
            return Self::Notice { method: method.to_owned(), params: value["params"].take() };
        }
        let id = value["id"].as_i64().map(RequestId);
        let result = match value.get_mut("error") {
            Some(error) => Err(ServerError {
                code: error["code"].as_i64().unwrap_or_default(),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
            }),
            None => Ok(value["result"].take()),
        };
        Self::Answer { id, result }
    }

    /// The request that this answers.
    pub fn answers(&self) -> Option<RequestId> {
        match self {
            Self::Answer { id, .. } => *id,
            Self::Notice { .. } => None,
        }
    }

    /// The particulars, if it is a notice about this.
    pub fn notice(&self, about: &str) -> Option<&Value> {
        match self {
            Self::Notice { method, params } if method == about => Some(params),
            _ => None,
        }
    }
}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.message)
    }
}

impl std::error::Error for ServerError {}
