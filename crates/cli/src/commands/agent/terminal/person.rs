//! Connects agents to the person at the terminal: all questions go through one queue to the task that draws the screen,
//! and wait there for their answers. A question whose asker no longer waits is removed.

use tokio::sync::{mpsc, oneshot};
use windlass_agent::{Approval, Decision, UserAnswer, UserPrompter, UserQuestion, Waited};
use windlass_tools::Question;

/// The capacity of the queue of questions.
const QUESTIONS: usize = 16;

/// A question, and the channel for its answer.
#[derive(Debug)]
pub(super) enum PendingPrompt {
    Approval(Approval, oneshot::Sender<Decision>),
    Secret(Question, oneshot::Sender<Option<String>>),
    Questions(Vec<UserQuestion>, oneshot::Sender<Option<Vec<UserAnswer>>>),
    /// Like a question, but an empty text is an answer.
    Field(UserQuestion, oneshot::Sender<Option<Vec<UserAnswer>>>),
}

/// Puts questions into the queue.
#[derive(Clone, Debug)]
pub(super) struct TerminalPrompter {
    asked: mpsc::Sender<PendingPrompt>,
}

impl TerminalPrompter {
    /// A prompter, and the queue of its questions.
    pub(super) fn new() -> (Self, mpsc::Receiver<PendingPrompt>) {
        let (asked, received) = mpsc::channel(QUESTIONS);
        (Self { asked }, received)
    }

    /// Asks, and waits for the answer. `None` if no person is at the terminal any more.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> PendingPrompt) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.asked.send(question(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl TerminalPrompter {
    /// Asks for a text that may be empty. `None` if the person declines.
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
