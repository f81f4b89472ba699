//! The path of a reply to its client: by the response to the request that made the call, or later, if the call became a
//! task or waits for a person. Settles the delivery of the reply accordingly.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{DetailedTask, Task, TaskStatus};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::TaskManager;
use windlass_tools::{Delivery, Outcome};

use crate::mcp::handler::extension;

/// The delivery of the response to a request, which its transport settles.
pub(super) fn of_response(context: &RequestContext<RoleServer>) -> Delivery {
    // Every transport of this crate attaches one. Another transport could not report whether a response arrived.
    extension(context).cloned().unwrap_or_else(Delivery::certain)
}

/// Settles the delivery of a reply together with that of a response, until it is cut.
pub(super) struct Link(Arc<Mutex<Option<Delivery>>>);

impl Link {
    pub(super) fn new(response: &Delivery, reply: &Delivery) -> Self {
        let linked = Arc::new(Mutex::new(Some(reply.clone())));
        let link = Self(Arc::clone(&linked));
        response.on_settled(move |outcome| {
            let reply = linked.lock().unwrap_or_else(PoisonError::into_inner).take();
            match (reply, outcome) {
                (Some(reply), Outcome::Delivered) => reply.confirm(),
                (Some(reply), Outcome::Lost) => reply.revoke(),
                (None, _) => {}
            }
        });
        link
    }

    /// The response does not carry the reply.
    pub(super) fn cut(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Replies of tasks that no client has fetched yet. Each is lost when its task is forgotten.
#[derive(Default)]
pub(super) struct UnclaimedReplies {
    replies: Mutex<HashMap<String, Delivery>>,
}

impl UnclaimedReplies {
    /// Adds the delivery of a task's reply, and removes those of tasks that are forgotten.
    pub(super) fn add(&self, task: &Task, reply: Delivery, tasks: &TaskManager) {
        let mut replies = self.lock();
        let forgotten = replies.extract_if(|id, _| tasks.get_task(id).is_err()).collect::<Vec<_>>();
        replies.insert(task.task_id.clone(), reply);
        drop(replies);
        // Outside of the lock: this drop revokes the deliveries.
        drop(forgotten);
    }

    /// Links a finished task's reply with the response that shows it to a client. A lost response changes nothing: the
    /// client can ask again.
    pub(super) fn shown(&self, task: &DetailedTask, response: &Delivery) {
        match task.status() {
            TaskStatus::Completed => {
                let Some(reply) = self.lock().get(&task.task.task_id).cloned() else { return };
                response.on_settled(move |outcome| {
                    if outcome == Outcome::Delivered {
                        reply.confirm();
                    }
                });
            }
            TaskStatus::Cancelled | TaskStatus::Failed => {
                let reply = self.lock().remove(&task.task.task_id);
                drop(reply);
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Delivery>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
