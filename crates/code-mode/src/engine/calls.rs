//! The calls of tools that have not been answered yet. Each runs in its own task on tokio, all concurrently; when the
//! cell ends, they are dropped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::engine::Message;
use crate::host::{Arguments, Host, ToolInfo};

/// One call of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallNumber(pub(crate) u32);

/// The calls under way.
pub(crate) struct Calls {
    host: Arc<dyn Host>,
    tools: Vec<ToolInfo>,
    runtime: Handle,
    messages: Sender<Message>,
    most: usize,
    under_way: BTreeMap<CallNumber, AbortHandle>,
    last: u32,
}

/// The reason why a call does not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadCall {
    #[error("{most} calls are under way, and no more are at once: await some of them first")]
    TooMany { most: usize },
    #[error("the arguments are no JSON object that a tool can take: {fault}")]
    NotJson { fault: String },
    #[error("there is no such tool")]
    NoSuchTool,
}

impl Calls {
    /// An empty set of calls.
    pub(crate) fn new(host: Arc<dyn Host>, runtime: Handle, messages: Sender<Message>, most: usize) -> Self {
        let tools = host.tools();
        Self { host, tools, runtime, messages, most, under_way: BTreeMap::new(), last: 0 }
    }

    /// The tools, in the order of the indices that [`begin`](Self::begin) takes.
    pub(crate) fn tools(&self) -> &[ToolInfo] {
        &self.tools
    }

    /// Starts a call; its answer arrives as a message.
    pub(crate) fn begin(&mut self, tool: usize, payload: String) -> Result<CallNumber, BadCall> {
        if self.under_way.len() >= self.most {
            return Err(BadCall::TooMany { most: self.most });
        }
        let tool = self.tools.get(tool).ok_or(BadCall::NoSuchTool)?;
        let arguments = arguments(tool, payload)?;
        self.last += 1;
        let number = CallNumber(self.last);
        let reply = Reply { messages: self.messages.clone(), number, sent: false };
        // Called here and not in the task, so that the host sees calls in the script's order: spawned tasks are polled
        // in any order.
        let answer = self.host.call(&tool.name, arguments);
        let task = self.runtime.spawn(async move { reply.send(answer.await) });
        self.under_way.insert(number, task.abort_handle());
        Ok(number)
    }

    /// Removes a call that has been answered.
    pub(crate) fn finish(&mut self, number: CallNumber) {
        self.under_way.remove(&number);
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        self.under_way.values().for_each(AbortHandle::abort);
    }
}

fn arguments(tool: &ToolInfo, payload: String) -> Result<Arguments, BadCall> {
    if tool.parameters.is_none() {
        return Ok(Arguments::Text(payload));
    }
    match serde_json::from_str::<Value>(&payload) {
        Ok(value @ Value::Object(_)) => Ok(Arguments::Json(value)),
        Ok(_) => Err(BadCall::NotJson { fault: "it is something else".to_string() }),
        Err(fault) => Err(BadCall::NotJson { fault: fault.to_string() }),
    }
}

/// Sends exactly one answer, whatever happens to the task: a tool that panics must not leave a script waiting.
struct Reply {
    messages: Sender<Message>,
    number: CallNumber,
    sent: bool,
}

impl Reply {
    fn send(mut self, answer: Result<Value, String>) {
        self.sent = true;
        // Sending fails if the cell is over; then no answer is needed.
        let _ = self.messages.send(Message::Answered(self.number, answer));
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        if !self.sent {
            let broke_off = Err("the tool broke off without an answer".to_string());
            let _ = self.messages.send(Message::Answered(self.number, broke_off));
        }
    }
}
