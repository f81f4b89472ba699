//! The person at the terminal, as agents reach them: every question goes through one queue to whoever draws the screen, and
//! waits there for its answer. A question that nobody waits for any more is gone by itself.

use tokio::sync::{mpsc, oneshot};
use windlass_agent::{Approval, Decision, UserAnswer, UserPrompter, UserQuestion, Waited};
use windlass_tools::Question;

/// Questions that may wait to be asked.
const QUESTIONS: usize = 16;

/// Something to be asked, and where the answer goes.
#[derive(Debug)]
pub(super) enum PendingPrompt {
    Approval(Approval, oneshot::Sender<Decision>),
    Secret(Question, oneshot::Sender<Option<String>>),
    Questions(Vec<UserQuestion>, oneshot::Sender<Option<Vec<UserAnswer>>>),
    /// Like a question, but saying nothing is an answer.
    Field(UserQuestion, oneshot::Sender<Option<Vec<UserAnswer>>>),
}

/// Hands questions on.
#[derive(Clone, Debug)]
pub(super) struct TerminalPrompter {
    asked: mpsc::Sender<PendingPrompt>,
}

impl TerminalPrompter {
    /// A person, and what they are asked.
    pub(super) fn new() -> (Self, mpsc::Receiver<PendingPrompt>) {
        let (asked, received) = mpsc::channel(QUESTIONS);
        (Self { asked }, received)
    }

    /// Asks, and waits. Nothing, if nobody sits there any more.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> PendingPrompt) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.asked.send(question(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl TerminalPrompter {
    /// Asks for something that may stay empty. Nothing, if the person declines.
    pub(super) async fn field(&self, question: UserQuestion) -> Option<String> {
        let answers = self.ask(|reply| PendingPrompt::Field(question, reply)).await.flatten();
        Some(answers?.pop()?.text)
    }
}

impl UserPrompter for TerminalPrompter {
    fn approve(&self, asked: Approval) -> Waited<'_, Decision> {
        let question = |reply| PendingPrompt::Approval(asked, reply);
        Box::pin(async { self.ask(question).await.unwrap_or(Decision::No(String::new())) })
    }

    fn secret(&self, question: Question) -> Waited<'_, Option<String>> {
        let question = |reply| PendingPrompt::Secret(question, reply);
        Box::pin(async { self.ask(question).await.flatten() })
    }

    fn answer(&self, questions: Vec<UserQuestion>) -> Waited<'_, Option<Vec<UserAnswer>>> {
        let question = |reply| PendingPrompt::Questions(questions, reply);
        Box::pin(async { self.ask(question).await.flatten() })
    }
}
