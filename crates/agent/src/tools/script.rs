//! Code mode: `exec` runs JavaScript that calls the other tools, and `wait` waits for a script that still runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use windlass_code_mode::{
    Arguments, CallFuture, Cells, DESCRIPTION, GRAMMAR, Host, NAME, Options, Outcome, OutputItem, Status,
    ToolInfo, WAIT_DESCRIPTION, WAIT_NAME, Wait, wait_parameters,
};
use windlass_llm::{Call, CallId, ContentPart, Grammar, Input, ToolSpec};

use crate::call_queue::CallQueue;
use crate::event::{CallNote, EventKind, Reporter};
use crate::notices::Notices;
use crate::tool::{Output, Tool, ToolFuture, ToolSet, arguments};

use super::ToolContext;

/// The two tools, over the tools that scripts may call.
pub(super) fn tools(others: &[Arc<dyn Tool>], around: &ToolContext) -> Vec<Arc<dyn Tool>> {
    let scripts = Arc::new(Scripts {
        cells: match &around.deps.cells {
            Some(spawner) => Cells::in_processes(Options::default(), Arc::clone(spawner)),
            None => Cells::new(Options::default()),
        },
        host: Arc::new(Tools {
            tools: ToolSet::new(others.to_vec()),
            report: around.report.clone(),
            notices: around.notices.clone(),
            calls: AtomicU64::new(0),
            queue: CallQueue::default(),
        }),
    });
    vec![Arc::new(Exec(Arc::clone(&scripts))), Arc::new(WaitForCell(scripts))]
}

/// The cells of one agent. They end with it.
struct Scripts {
    cells: Cells,
    host: Arc<Tools>,
}

struct Exec(Arc<Scripts>);

impl Tool for Exec {
    fn name(&self) -> &str {
        NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Custom {
            name: NAME.into(),
            description: DESCRIPTION.into(),
            grammar: Some(Grammar { syntax: "lark".into(), definition: GRAMMAR.into() }),
            as_function: DESCRIPTION.into(),
        }
    }

    fn call(&self, call: Call) -> ToolFuture {
        let scripts = Arc::clone(&self.0);
        Box::pin(async move {
            let source = source(&call);
            let host: Arc<dyn Host> = Arc::clone(&scripts.host) as Arc<dyn Host>;
            shown(&scripts.cells.exec(&source, host).await)
        })
    }
}

/// The script, which comes as an argument where a wire has no free-text tools.
fn source(call: &Call) -> String {
    let input = |text: &str| {
        let object: Value = serde_json::from_str(text).ok()?;
        Some(object.get("input")?.as_str()?.to_owned())
    };
    match &call.input {
        Input::Text(text) => text.clone(),
        Input::Arguments(text) => input(text).unwrap_or_else(|| text.clone()),
    }
}

struct WaitForCell(Arc<Scripts>);

impl Tool for WaitForCell {
    fn name(&self) -> &str {
        WAIT_NAME
    }

    fn spec(&self) -> ToolSpec {
        ToolSpec::Function {
            name: WAIT_NAME.into(),
            description: WAIT_DESCRIPTION.into(),
            parameters: wait_parameters(),
        }
    }

    fn call(&self, call: Call) -> ToolFuture {
        let scripts = Arc::clone(&self.0);
        Box::pin(async move {
            let arguments = match arguments(&call) {
                Ok(arguments) => arguments,
                Err(refusal) => return refusal,
            };
            match Wait::from_arguments(Value::Object(arguments)) {
                Ok(wait) => shown(&scripts.cells.wait(&wait).await),
                Err(error) => Output::refused(error.to_string()),
            }
        })
    }
}

fn shown(outcome: &Outcome) -> Output {
    let part = |item: OutputItem| match item {
        OutputItem::Text(text) => ContentPart::Text(text),
        OutputItem::Image(address) => ContentPart::Image(address),
    };
    let parts = outcome.render().into_iter().map(part).collect();
    Output::new(parts, !matches!(outcome.status, Status::Failed))
}

/// The other tools, as scripts call them.
struct Tools {
    tools: ToolSet,
    report: Reporter,
    notices: Notices,
    calls: AtomicU64,
    /// The order of the calls that scripts make. The call that runs the script is itself in the queue of its agent.
    queue: CallQueue,
}

impl Host for Tools {
    fn tools(&self) -> Vec<ToolInfo> {
        self.tools.all().iter().filter_map(|tool| info(&tool.spec())).collect()
    }

    fn call(&self, name: &str, arguments: Arguments) -> CallFuture {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let input = match arguments {
            Arguments::Json(value) => Input::Arguments(value.to_string()),
            Arguments::Text(text) => Input::Text(text),
        };
        let call =
            Call { id: CallId(format!("script-{number}")), name: name.to_owned(), namespace: None, input };
        let about = self.tools.find(&call).map(|tool| tool.about(&call)).unwrap_or_default();
        let note = CallNote { id: call.id.0.clone(), tool: call.name.clone(), about };
        let ticket = self.queue.ticket(self.tools.pace(&call));
        let (running, report) = (self.tools.call(call), self.report.clone());
        Box::pin(async move {
            let began = std::time::Instant::now();
            report.tell(EventKind::CallStarted(note.clone())).await;
            ticket.turn().await;
            let output = running.await;
            drop(ticket);
            output.delivery.confirm();
            let (ok, answer, wall) = (output.ok, output.shown(), began.elapsed());
            report.tell(EventKind::CallEnded { call: note, ok, wall, answer: answer.clone() }).await;
            if ok { Ok(value(answer)) } else { Err(answer) }
        })
    }

    fn notify(&self, text: &str) {
        self.report.tell_if_room(EventKind::Warning(text.to_owned()));
        self.notices.add(text);
    }
}

/// The value that a script gets: data where the tool answered in JSON, else text.
fn value(answer: String) -> Value {
    match serde_json::from_str::<Value>(&answer) {
        Ok(data @ (Value::Object(_) | Value::Array(_))) => data,
        _ => Value::String(answer),
    }
}

fn info(spec: &ToolSpec) -> Option<ToolInfo> {
    match spec {
        ToolSpec::Function { name, description, parameters } => Some(ToolInfo {
            name: name.clone(),
            description: description.clone(),
            parameters: Some(parameters.clone()),
        }),
        ToolSpec::Custom { name, description, .. } => {
            Some(ToolInfo { name: name.clone(), description: description.clone(), parameters: None })
        }
        ToolSpec::WebSearch => None,
    }
}
