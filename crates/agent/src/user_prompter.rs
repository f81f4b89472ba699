//! The person beside an agent: who is asked before something is done, and when the model has a question. Where nobody is
//! there, nobody is asked, and the model is told so.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use windlass_tools::{Approved, Detail, Execution, Person, Question, UserReplyFuture};

use crate::thread::ThreadId;

/// What a person is waited for with.
pub type Waited<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Somebody who can be asked.
pub trait UserPrompter: Send + Sync {
    /// Whether something may be done.
    fn approve(&self, asked: Approval) -> Waited<'_, Decision>;

    /// Something that only the person and a program may know. `None`: they declined.
    fn secret(&self, question: Question) -> Waited<'_, Option<String>>;

    /// The model's questions. `None`: they declined.
    fn answer(&self, questions: Vec<UserQuestion>) -> Waited<'_, Option<Vec<UserAnswer>>>;
}

/// What a person is asked to allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Which agent asks.
    pub agent: ThreadId,
    /// What would be done, and why the question comes up.
    pub details: Vec<Detail>,
    /// Whether a yes may hold for the same again.
    pub lasting: Lasting,
}

/// Whether a yes can be given for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// For exactly the same, until the agent ends.
    Possible,
    /// Each time is asked about.
    No,
}

impl Approval {
    /// Whether the person can see everything that they decide on.
    pub fn is_whole(&self) -> bool {
        self.details.iter().all(|detail| detail.text.is_whole())
    }
}

/// What they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this once.
    Yes,
    /// Yes, and exactly the same again until the agent ends.
    Always,
    /// No, for this reason, which the model is told; the reason may be empty.
    No(String),
}

/// A question of the model's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserQuestion {
    /// What ties the answer to it.
    pub id: String,
    /// A word or two.
    #[serde(default)]
    pub header: String,
    /// The question.
    pub question: String,
    /// What can be chosen; something else may always be said.
    #[serde(default)]
    pub options: Vec<Choice>,
}

/// One of several answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The answer.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAnswer {
    /// The question's.
    pub id: String,
    /// What was chosen or said.
    pub text: String,
}

/// The person, as tools that run commands see them.
pub(crate) struct AtTheTools {
    pub(crate) prompter: Arc<dyn UserPrompter>,
    pub(crate) agent: ThreadId,
    pub(crate) approved: Arc<ApprovedForGood>,
}

/// What a person said yes to for good: commands with everything that decides what they run.
#[derive(Debug, Default)]
pub(crate) struct ApprovedForGood(Mutex<HashSet<Execution>>);

impl ApprovedForGood {
    /// Asks, unless the person answered for good. What could not be shown whole is never approved for good.
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
