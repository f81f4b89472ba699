//! The status of an agent.

use serde_json::{Value, json};

/// The status of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It is open, and has had no input yet.
    PendingInit,
    /// It is at work.
    Running,
    /// It was interrupted, and waits for input.
    Interrupted,
    /// It has nothing left to do. Holds its last message.
    Completed(Option<String>),
    /// Its turn failed. Holds the reason.
    Errored(String),
    /// It was closed.
    Shutdown,
    /// There is no such agent.
    NotFound,
}

impl Status {
    /// Whether `wait_agent` regards it as final. An interrupted agent is not final.
    pub fn is_final(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running | Self::Interrupted)
    }

    /// Whether the agent is idle.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::PendingInit | Self::Running)
    }

    /// This status, preceded by the message of an earlier one that its reader has not seen.
    pub(crate) fn after(self, earlier: Self) -> Self {
        match (earlier, self) {
            (Self::Completed(Some(first)), Self::Completed(Some(then))) => {
                Self::Completed(Some(format!("{first}\n\n{then}")))
            }
            (Self::Completed(Some(first)), Self::Completed(None)) => Self::Completed(Some(first)),
            (_, latest) => latest,
        }
    }

    /// The status as JSON, for models and programs.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_was_not_told_yet_is_not_replaced_by_a_later_remark() {
        let said = |text: &str| Status::Completed(Some(text.into()));
        assert_eq!(said("remark").after(said("answer")), said("answer\n\nremark"));
        assert_eq!(Status::Completed(None).after(said("answer")), said("answer"));
        assert_eq!(Status::Errored("x".into()).after(said("answer")), Status::Errored("x".into()));
    }
}
