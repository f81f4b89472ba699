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

    /// This one, with the words of an earlier one that its reader has not seen.
    pub(crate) fn after(self, earlier: Self) -> Self {
        match (earlier, self) {
            (Self::Completed(Some(first)), Self::Completed(Some(then))) => {
                Self::Completed(Some(format!("{first}\n\n{then}")))
            }
            (Self::Completed(Some(first)), Self::Completed(None)) => Self::Completed(Some(first)),
            (_, latest) => latest,
        }
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
