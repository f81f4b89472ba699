//! Calls of the newer protocol that wait for a person: the client got a question as its reply, and sends the same
//! request again, with the answer and the state that identifies the call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use rmcp::model::{ErrorData, InputRequest, InputRequiredResult, InputResponses};

use crate::gate::Token;
use crate::mcp::handler::asking::{self, Go, PendingQuestion};
use crate::mcp::handler::calls::RunningCall;

/// The limit on calls that wait. With one more the oldest is forgotten: its client has had long enough.
const PARKED_LIMIT: usize = 32;

/// The name of the answer.
const KEY: &str = "answer";

/// The calls that wait.
#[derive(Default)]
pub(super) struct ParkedCalls {
    calls: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    state: Token,
    running: RunningCall,
    asked: PendingQuestion,
}

impl ParkedCalls {
    /// Keeps a call until its question is answered, and returns the question.
    pub(super) fn park(
        &self,
        running: RunningCall,
        asked: PendingQuestion,
    ) -> Result<InputRequiredResult, ErrorData> {
        let state = Token::random().map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let question = question(&asked, &state);
        let mut calls = self.lock();
        calls.truncate(PARKED_LIMIT - 1);
        calls.push_front(Waiting { state, running, asked });
        Ok(question)
    }

    /// Continues a call.
    pub(super) fn resume(&self, state: &str, answers: Option<&InputResponses>) -> Result<Go, ErrorData> {
        let mut calls = self.lock();
        let unknown = || ErrorData::invalid_params("no call waits under this request state (any more)", None);
        let place =
            calls.iter().position(|waiting| waiting.state.is(state.as_bytes())).ok_or_else(unknown)?;
        let Some(answer) = answers.and_then(|answers| answers.get(KEY)).and_then(asking::read) else {
            let waiting = &calls[place];
            return Ok(Go::AskAgain(question(&waiting.asked, &waiting.state)));
        };
        let waiting = calls.remove(place).ok_or_else(unknown)?;
        let (matter, answer_to) = waiting.asked.split();
        answer_to.give(asking::said(&matter, answer));
        Ok(Go::On(waiting.running))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Waiting>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn question(asked: &PendingQuestion, state: &Token) -> InputRequiredResult {
    let request = InputRequest::Elicitation(asking::form(asked.matter()));
    InputRequiredResult::new(
        Some(BTreeMap::from([(KEY.to_owned(), request)])),
        Some(state.reveal().to_owned()),
    )
}
