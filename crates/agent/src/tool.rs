//! A tool as the agent's loop sees it: a name, a description, and a future.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use windlass_llm::{Call, ContentPart, Input, ToolSpec};
use windlass_tools::Delivery;

/// The future of a call.
pub(crate) type ToolFuture = Pin<Box<dyn Future<Output = Output> + Send>>;

/// A tool that the model can call.
pub(crate) trait Tool: Send + Sync {
    /// The name by which the model calls it.
    fn name(&self) -> &str;

    /// The name, description and schema for the model.
    fn spec(&self) -> ToolSpec;

    /// Whether a call of it may run in parallel with others.
    fn pace(&self, _call: &Call) -> Pace {
        Pace::Together
    }

    /// One line about a call, for people.
    fn about(&self, call: &Call) -> String {
        shortened(call.input.text(), 120)
    }

    /// Carries a call out. Dropping the future cancels the call.
    ///
    /// Calls are made in the model's order, but their futures are polled in any order: a tool whose calls must keep
    /// their order takes their positions before it returns.
    fn call(&self, call: Call) -> ToolFuture;
}

/// Whether a call may run in parallel with other calls of its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// In parallel with all others of this pace.
    Together,
    /// Alone.
    Alone,
}

/// The result of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) parts: Vec<ContentPart>,
    pub(crate) ok: bool,
    /// Confirmed by the code that shows the result to the model. A result that is dropped, as by an interruption,
    /// counts as not delivered.
    pub(crate) delivery: Delivery,
}

impl PartialEq for Output {
    fn eq(&self, other: &Self) -> bool {
        (&self.parts, self.ok) == (&other.parts, other.ok)
    }
}

impl Output {
    /// A result that can be produced again, so nothing is lost if it is dropped.
    pub(crate) fn new(parts: Vec<ContentPart>, ok: bool) -> Self {
        Self { parts, ok, delivery: Delivery::new() }
    }

    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::Text(text.into())], true)
    }

    /// The error of a call that was wrong or could not be carried out. The model reads the reason.
    pub(crate) fn refused(text: impl Into<String>) -> Self {
        Self::new(vec![ContentPart::Text(text.into())], false)
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::text(value.to_string())
    }

    /// Its text, for people.
    pub(crate) fn shown(&self) -> String {
        let text = |part: &ContentPart| match part {
            ContentPart::Text(text) => text.clone(),
            ContentPart::Image(_) => "[picture]".to_owned(),
        };
        self.parts.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// The tools of one agent, in an order that never changes.
#[derive(Clone, Default)]
pub(crate) struct ToolSet {
    tools: Arc<Vec<Arc<dyn Tool>>>,
}

impl ToolSet {
    pub(crate) fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { tools: Arc::new(tools) }
    }

    pub(crate) fn specs(&self) -> Arc<[ToolSpec]> {
        self.tools.iter().map(|tool| tool.spec()).collect()
    }

    pub(crate) fn all(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// Finds the tool that a call names. Some models put the group before the name.
    pub(crate) fn find(&self, call: &Call) -> Option<&Arc<dyn Tool>> {
        let exact = |name: &str| self.tools.iter().find(|tool| tool.name() == name);
        let grouped = || exact(&format!("{}__{}", call.namespace.as_deref()?, call.name));
        exact(&call.name).or_else(grouped).or_else(|| exact(call.name.rsplit('.').next()?))
    }

    /// Whether a call may run in parallel. A call of an unknown tool does nothing, so it may.
    pub(crate) fn pace(&self, call: &Call) -> Pace {
        self.find(call).map_or(Pace::Together, |tool| tool.pace(call))
    }

    /// Carries any call out: every failure becomes a result.
    pub(crate) fn call(&self, call: Call) -> ToolFuture {
        let Some(tool) = self.find(&call) else {
            let unknown = self.unknown(&call);
            return Box::pin(async move { unknown });
        };
        let failed = |message| Output::refused(format!("the tool failed: {message}"));
        match std::panic::catch_unwind(AssertUnwindSafe(|| tool.call(call))) {
            Ok(running) => {
                Box::pin(async move { CatchPanic(AssertUnwindSafe(running)).await.unwrap_or_else(failed) })
            }
            Err(panic) => {
                let output = failed(words(panic.as_ref()));
                Box::pin(async move { output })
            }
        }
    }

    fn unknown(&self, call: &Call) -> Output {
        let names: Vec<&str> = self.tools.iter().map(|tool| tool.name()).collect();
        let name = shortened(&call.name, 80);
        Output::refused(format!("there is no tool `{name}`; there are: {}", names.join(", ")))
    }
}

/// A future that catches the panic of the inner one and returns it.
struct CatchPanic(AssertUnwindSafe<ToolFuture>);

impl Future for CatchPanic {
    type Output = Result<Output, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
        let running = &mut self.0.0;
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context)));
        match polled {
            Ok(poll) => poll.map(Ok),
            Err(panic) => std::task::Poll::Ready(Err(words(panic.as_ref()))),
        }
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "it panicked".into())
}

/// The arguments of a call, or the result that says why they are invalid.
pub(crate) fn arguments(call: &Call) -> Result<Map<String, Value>, Output> {
    let text = match &call.input {
        Input::Arguments(text) => text.trim(),
        Input::Text(text) => text.trim(),
    };
    if text.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(Output::refused(format!(
            "the arguments of {} must be a JSON object, not {}; nothing was done",
            call.name,
            kind(&other)
        ))),
        Err(error) => Err(Output::refused(format!(
            "the arguments of {} are not valid JSON ({error}); nothing was done. Send them again as one JSON object.",
            call.name
        ))),
    }
}

/// The arguments of a call as a type, or the result that says why they are invalid.
pub(crate) fn typed<T: serde::de::DeserializeOwned>(call: &Call) -> Result<T, Output> {
    let map = arguments(call)?;
    serde_json::from_value(Value::Object(map)).map_err(|error| {
        Output::refused(format!("the arguments of {} are wrong: {error}; nothing was done", call.name))
    })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The beginning of a text, in one line.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use windlass_llm::CallId;

    use super::*;

    struct Echo;

    impl Tool for Echo {
        fn name(&self) -> &str {
            "echo"
        }

        fn spec(&self) -> ToolSpec {
            ToolSpec::WebSearch
        }

        fn call(&self, call: Call) -> ToolFuture {
            Box::pin(async move {
                let arguments = match arguments(&call) {
                    Ok(arguments) => arguments,
                    Err(refusal) => return refusal,
                };
                assert!(!arguments.contains_key("panic"), "asked to");
                Output::text(Value::Object(arguments).to_string())
            })
        }
    }

    async fn answer(name: &str, arguments: &str) -> (String, bool) {
        let input = Input::Arguments(arguments.into());
        let call = Call { id: CallId("c".into()), name: name.into(), namespace: None, input };
        let output = ToolSet::new(vec![Arc::new(Echo)]).call(call).await;
        (output.shown(), output.ok)
    }

    #[tokio::test]
    async fn every_failure_of_a_call_is_an_answer() {
        for (name, arguments, expected) in [
            ("echo", r#"{"a":1}"#, ("{\"a\":1}", true)),
            ("tools.echo", "", ("{}", true)),
            ("echo", "{", ("not valid JSON", false)),
            ("echo", "[1]", ("must be a JSON object, not a list", false)),
            ("echo", r#"{"panic":1}"#, ("the tool failed: asked to", false)),
            ("nope", "{}", ("there is no tool `nope`; there are: echo", false)),
        ] {
            let (text, ok) = answer(name, arguments).await;
            assert!(text.contains(expected.0) && ok == expected.1, "{name} {arguments}: {text}");
        }
    }
}
