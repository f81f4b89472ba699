//! How an agent is.

use serde_json::{Value, json};

/// How an agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is there, and has heard nothing yet.
    PendingInit,
    /// It works.
    Running,
    /// It was told to stop, and waits for words.
    Interrupted,
    /// It has nothing left to do; its last words.
    Completed(Option<String>),
    /// It could not go on; why.
    Errored(String),
    /// It was closed.
    Shutdown,
    /// There is no such agent.
    NotFound,
}

impl Status {
    /// Whether nothing more will come of it by itself, as `wait_agent` means it.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running | Self::Interrupted)
    }

    /// Whether it does nothing at present.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running)
    }

    /// As models and programs read it.
    pub fn json(&self) -> Value {
        match self {
            Self::PendingInit => json!("pending_init"),
            Self::Running => json!("running"),
            Self::Interrupted => json!("interrupted"),
            Self::Completed(text) => json!({ "completed": text }),
            Self::Errored(text) => json!({ "errored": text }),
            Self::Shutdown => json!("shutdown"),
            Self::NotFound => json!("not_found"),
        }
    }
}
