//! Calls that became tasks: the client polls them, answers their questions, and may cancel the wait, which never ends
//! the session.

use rmcp::model::{CallToolResult, CreateTaskResult, InputRequest};
use rmcp::task_manager::{TaskContext, TaskExit, TaskOptions};

use crate::mcp::handler::HandlerShared;
use crate::mcp::handler::asking;
use crate::mcp::handler::calls::{CallEvent, RunningCall, in_words};
use crate::panics::survived;

/// The limit on tasks at a time. Beyond it a call keeps its request waiting.
const TASK_LIMIT: usize = 32;

/// How long a task is kept, from its start and again from its end: longer than the longest call takes.
const TASK_LASTS_MS: u64 = 6 * 60 * 1000;

/// How often a client should poll.
const ASK_EVERY_MS: u64 = 500;

impl HandlerShared {
    pub(super) fn has_room_for_a_task(&self) -> bool {
        self.tasks.running_task_count() < TASK_LIMIT
    }

    /// Turns a call into a task.
    pub(super) fn hand_over(&self, running: RunningCall) -> CreateTaskResult {
        let options = TaskOptions::new().with_ttl_ms(TASK_LASTS_MS).with_poll_interval_ms(ASK_EVERY_MS);
        let delivery = running.delivery.clone();
        let carried_on = |task| async {
            survived(carry_on(running, task))
                .await
                .unwrap_or_else(|panicked| Err(TaskExit::Error(panicked.into())))
        };
        let task = self.tasks.spawn(options, |task| Box::pin(carried_on(task)));
        self.unclaimed.add(&task, delivery, &self.tasks);
        CreateTaskResult::new(task)
    }
}

async fn carry_on(mut running: RunningCall, task: TaskContext) -> Result<CallToolResult, TaskExit> {
    let mut questions = 0;
    loop {
        let turn = tokio::select! {
            biased;
            turn = running.turn() => turn,
            () = task.cancelled() => return Err(TaskExit::Cancelled),
        };
        match turn {
            CallEvent::Answered(answer) => return answer.map_err(TaskExit::Error),
            CallEvent::Progressed(progress) => task.set_status_message(in_words(&progress)),
            CallEvent::Asked(asked) => {
                let (matter, answer) = asked.split();
                questions += 1;
                let form = InputRequest::Elicitation(asking::form(&matter));
                let asking = task.request_input(format!("answer-{questions}"), form);
                let said = async {
                    let answer = asking.await.ok().as_ref().and_then(asking::read)?;
                    asking::said(&matter, answer)
                };
                let done = tokio::select! {
                    done = running.beside(said, answer) => done,
                    () = task.cancelled() => return Err(TaskExit::Cancelled),
                };
                if let Some(done) = done {
                    return done.map_err(TaskExit::Error);
                }
            }
        }
    }
}
