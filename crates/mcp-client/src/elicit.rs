//! Elicitation: the questions of a server to the user, asked through an [`Elicitor`] and declined without one.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};

/// Asks the user on behalf of a server.
pub trait Elicitor: Send + Sync {
    /// Asks, and waits for the answer. The future is dropped when the server no longer needs it.
    fn elicit(&self, question: Elicitation) -> ElicitationFuture<'_>;
}

/// The future of an answer.
pub type ElicitationFuture<'a> = Pin<Box<dyn Future<Output = ElicitationAnswer> + Send + 'a>>;

/// A server's question to the user.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// The server that asks.
    pub server: String,
    /// The question.
    pub message: String,
    /// The schema of the answer, a flat JSON Schema. An empty object if the user is asked to visit a URL.
    pub schema: Value,
    /// The URL that the user is asked to visit, if it is that kind of question.
    pub url: Option<String>,
}

/// The user's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// An answer that matches the schema.
    Accept(Map<String, Value>),
    /// The user declined.
    Decline,
    /// The user dismissed the question.
    Cancel,
}

impl ElicitationAnswer {
    /// The answer in the form of the protocol.
    pub(crate) fn into_json(self) -> Value {
        match self {
            Self::Accept(content) => serde_json::json!({ "action": "accept", "content": content }),
            Self::Decline => serde_json::json!({ "action": "decline" }),
            Self::Cancel => serde_json::json!({ "action": "cancel" }),
        }
    }
}
