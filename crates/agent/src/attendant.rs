//! The person beside an agent: who is asked before something is done, and when the model has a question. Where nobody is
//! there, nobody is asked, and the model is told so.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_tools::{Answer, Approved, Person, Question};

use crate::thread::ThreadId;

/// What a person is waited for with.
pub type Waited<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Somebody who can be asked.
pub trait Attendant: Send + Sync {
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
    /// What would be done: a command, the files of a patch, permissions.
    pub what: String,
    /// Why the question comes up.
    pub why: String,
    /// Whether an answer may hold for the rest of the session.
    pub lasting: bool,
}

/// What they say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this once.
    Yes,
    /// Yes, and the same again until the end of the session.
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
    pub(crate) attendant: Arc<dyn Attendant>,
    pub(crate) agent: ThreadId,
}

impl Person for AtTheTools {
    fn ask(&self, question: Question) -> Answer<'_> {
        self.attendant.secret(question)
    }

    fn approve(&self, asked: windlass_tools::Approval) -> Approved<'_> {
        let approval =
            Approval { agent: self.agent.clone(), what: asked.command, why: asked.reasons, lasting: false };
        Box::pin(async move { !matches!(self.attendant.approve(approval).await, Decision::No(_)) })
    }
}
