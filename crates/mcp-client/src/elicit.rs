//! Questions that a server has for the person: asked through whoever can ask, and declined where nobody can.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};

/// Asks a person on behalf of a server.
pub trait Elicitor: Send + Sync {
    /// Asks, and waits for the answer. Dropped when the server no longer wants to know.
    fn elicit(&self, question: Elicitation) -> ElicitationFuture<'_>;
}

/// An answer that is waited for.
pub type ElicitationFuture<'a> = Pin<Box<dyn Future<Output = ElicitationAnswer> + Send + 'a>>;

/// What a server wants to know from a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// The server that asks.
    pub server: String,
    /// What it asks.
    pub message: String,
    /// The shape of the answer, as a flat JSON Schema; an empty object where an address is to be visited.
    pub schema: Value,
    /// The address that the person is asked to visit, if it is that kind of question.
    pub url: Option<String>,
}

/// What the person said.
#[derive(Clone, Debug, PartialEq)]
pub enum ElicitationAnswer {
    /// An answer of the shape that was asked for.
    Accept(Map<String, Value>),
    /// No.
    Decline,
    /// Nothing: the question was put away.
    Cancel,
}

impl ElicitationAnswer {
    /// As servers read it.
    pub(crate) fn into_json(self) -> Value {
        match self {
            Self::Accept(content) => serde_json::json!({ "action": "accept", "content": content }),
            Self::Decline => serde_json::json!({ "action": "decline" }),
            Self::Cancel => serde_json::json!({ "action": "cancel" }),
        }
    }
}
