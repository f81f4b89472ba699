//! The interface to the user of an agent: approvals, and the model's questions. Without a user nothing is asked, and
//! the model reads that there is none.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use windlass_tools::{Approved, Detail, Execution, Person, Question, UserReplyFuture};

use crate::thread::ThreadId;

/// The future of the user's answer.
pub type Waited<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A user who can be asked.
pub trait UserPrompter: Send + Sync {
    /// Asks whether something may be done.
    fn approve(&self, asked: Approval) -> Waited<'_, Decision>;

    /// Asks for a value that only the user and a program may know. `None`: the user declined.
    fn secret(&self, question: Question) -> Waited<'_, Option<String>>;

    /// Asks the model's questions. `None`: the user declined.
    fn answer(&self, questions: Vec<UserQuestion>) -> Waited<'_, Option<Vec<UserAnswer>>>;
}

/// A request for the user's approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The agent that asks.
    pub agent: ThreadId,
    /// The operation, and the reason for the question.
    pub details: Vec<Detail>,
    /// Whether an approval may hold for later repetitions.
    pub lasting: Lasting,
}

/// Whether an approval can be remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// For exactly the same operation, until the agent ends.
    Possible,
    /// The user is asked each time.
    No,
}

impl Approval {
    /// Whether the user is shown everything that the decision covers.
    pub fn is_whole(&self) -> bool {
        self.details.iter().all(|detail| detail.text.is_whole())
    }
}

/// The user's decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this time.
    Yes,
    /// Yes, and for exactly the same operation until the agent ends.
    Always,
    /// No, with a reason that the model reads; it may be empty.
    No(String),
}

/// A question of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// The id that the answer repeats.
    pub id: String,
    /// A heading of one or two words.
    #[serde(default)]
    pub header: String,
    /// The question.
    pub question: String,
    /// The offered answers. The user may always give another one.
    #[serde(default)]
    pub options: Vec<Choice>,
}

/// One of the offered answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// Its meaning.
    #[serde(default)]
    pub description: String,
}

/// The user's answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAnswer {
    /// The question's id.
    pub id: String,
    /// The chosen or written answer.
    pub text: String,
}

/// The user, as the tools that run commands see them.
pub(crate) struct AtTheTools {
    pub(crate) prompter: Arc<dyn UserPrompter>,
    pub(crate) agent: ThreadId,
    pub(crate) approved: Arc<ApprovedForGood>,
}

/// The user's lasting approvals: commands, with everything that decides what they run.
#[derive(Debug, Default)]
pub(crate) struct ApprovedForGood(Mutex<HashSet<Execution>>);

impl ApprovedForGood {
    /// Asks, unless a lasting approval covers it. A request that could not be shown whole never gets a lasting
    /// approval.
    pub(crate) async fn ask(
        &self,
        prompter: &dyn UserPrompter,
        agent: &ThreadId,
        (execution, details): (Execution, Vec<Detail>),
    ) -> Decision {
        if self.lock().contains(&execution) {
            return Decision::Yes;
        }
        let mut asked = Approval { agent: agent.clone(), details, lasting: Lasting::No };
        if asked.is_whole() {
            asked.lasting = Lasting::Possible;
        }
        let lasting = asked.lasting;
        let decision = prompter.approve(asked).await;
        if decision == Decision::Always && lasting == Lasting::Possible {
            self.lock().insert(execution);
        }
        decision
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Execution>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Person for AtTheTools {
    fn ask(&self, question: Question) -> UserReplyFuture<'_> {
        self.prompter.secret(question)
    }

    fn approve(&self, asked: windlass_tools::Approval) -> Approved<'_> {
        let details = asked.details();
        Box::pin(async move {
            let asking = self.approved.ask(&*self.prompter, &self.agent, (asked.execution, details));
            !matches!(asking.await, Decision::No(_))
        })
    }
}
