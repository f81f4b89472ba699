//! The tools that run commands, which the crate `tools` defines for every protocol, as an agent's own: with its
//! sandbox, its user's approvals, and its events.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_llm::{Call, ToolSpec};
use windlass_patch::Heredoc;
use windlass_tools::{
    Call as ToolCall, CallTicket, Dismissal, HeldDirectory, Person, Policy, Progress, Reply, Toolbox,
};

use super::ToolContext;
use super::patch::Patcher;
use super::permission::{declined, reason};
use crate::deps::ApprovalMode;
use crate::event::{CommandNote, CommandOutcome, EventKind, Reporter};
use crate::thread::ThreadId;
use crate::tool::{Output, Pace, Tool, ToolFuture, arguments, shortened};
use crate::user_prompter::{ApprovedForGood, AtTheTools, Decision, UserPrompter};
use crate::worker::Commands;

/// The longest that one call may wait: no client cuts an agent's call off.
const CEILING: Duration = Duration::from_secs(3600);

/// The tools of a toolbox.
pub(super) fn tools(around: &ToolContext, patches: &Arc<Patcher>) -> Vec<Arc<dyn Tool>> {
    let bench = Arc::new(ProcessToolsShared {
        me: around.me.clone(),
        toolbox: around.toolbox.clone(),
        commands: Arc::clone(&around.commands),
        report: around.report.clone(),
        prompter: around.deps.prompter.clone(),
        patches: Arc::clone(patches),
        mode: around.deps.config.approval,
        approved: Arc::default(),
        output_limit: around.deps.config.output_limit,
    });
    let made = |tool: &windlass_tools::Tool| {
        Arc::new(ProcessTool { tool: tool.clone(), bench: Arc::clone(&bench) }) as Arc<dyn Tool>
    };
    around.toolbox.tools().iter().map(made).collect()
}

/// The state that these tools share.
struct ProcessToolsShared {
    me: ThreadId,
    toolbox: Toolbox,
    commands: Arc<Commands>,
    report: Reporter,
    prompter: Option<Arc<dyn UserPrompter>>,
    /// Applies scripts that only call `apply_patch`, which need no shell.
    patches: Arc<Patcher>,
    mode: ApprovalMode,
    approved: Arc<ApprovedForGood>,
    output_limit: u64,
}

struct ProcessTool {
    tool: windlass_tools::Tool,
    bench: Arc<ProcessToolsShared>,
}

impl Tool for ProcessTool {
    fn name(&self) -> &str {
        self.tool.name
    }

    fn spec(&self) -> ToolSpec {
        let mut parameters = self.tool.input_schema();
        if starts(self.tool.name) && self.bench.can_ask() {
            offer_escalation(&mut parameters);
        }
        ToolSpec::Function {
            name: self.tool.name.into(),
            description: self.tool.description.into(),
            parameters: Value::Object(parameters),
        }
    }

    /// A command that is only a patch has the pace of a patch.
    fn pace(&self, call: &Call) -> Pace {
        let script = script(self.tool.name, &arguments(call).unwrap_or_default());
        if script.as_deref().and_then(Heredoc::find).is_some() { Pace::Alone } else { Pace::Together }
    }

    fn about(&self, call: &Call) -> String {
        let arguments = arguments(call).unwrap_or_default();
        let script = script(self.tool.name, &arguments);
        shortened(script.as_deref().unwrap_or(call.input.text()), 120)
    }

    fn call(&self, call: Call) -> ToolFuture {
        let (tool, bench) = (self.tool.clone(), Arc::clone(&self.bench));
        let mut arguments = match arguments(&call) {
            Ok(arguments) => arguments,
            Err(refusal) => return Box::pin(async move { refusal }),
        };
        let ticket = bench.toolbox.ticket(tool.name, &arguments);
        Box::pin(async move {
            bench.bound_output(&tool, &mut arguments);
            bench.run(tool.name, (&call, ticket), arguments).await
        })
    }
}

/// Whether the tool starts commands.
fn starts(name: &str) -> bool {
    matches!(name, "exec_command" | "shell" | "shell_command")
}

fn script(tool: &str, arguments: &Map<String, Value>) -> Option<String> {
    let key = if tool == "exec_command" { "cmd" } else { "command" };
    match arguments.get(key).filter(|_| starts(tool))? {
        Value::String(script) => Some(script.clone()),
        Value::Array(words) => Some(words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")),
        _ => None,
    }
}

fn offer_escalation(parameters: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = parameters.get_mut("properties") {
        let about = "require_escalated: run without the sandbox, if the user agrees; only after the sandbox was in the way";
        let levels =
            json!({ "type": "string", "enum": ["use_default", "require_escalated"], "description": about });
        properties.insert("sandbox_permissions".into(), levels);
        let why =
            json!({ "type": "string", "description": "for the user: why it must run without the sandbox" });
        properties.insert("justification".into(), why);
    }
}

impl ProcessToolsShared {
    async fn run(
        &self,
        tool: &'static str,
        (call, ticket): (&Call, Option<CallTicket>),
        mut arguments: Map<String, Value>,
    ) -> Output {
        let script = script(tool, &arguments);
        if let Some(heredoc) = script.as_deref().and_then(Heredoc::find) {
            return self.patch(call, heredoc, &arguments).await;
        }
        let (sandbox, directory) = match self.sandbox(tool, &mut arguments).await {
            Ok(granted) => granted,
            Err(refusal) => return refusal,
        };
        let note = script.map(|script| CommandNote { id: call.id.0.clone(), script });
        if let Some(note) = &note {
            self.report.tell(EventKind::CommandStarted(note.clone())).await;
        }
        let unfinished = Unfinished { note: note.clone(), report: self.report.clone() };
        let call = ToolCall { ticket, directory, ..self.tool_call(call, (tool, arguments), sandbox) };
        let reply = self.toolbox.call(call).await;
        unfinished.finished();
        let reply = reply.unwrap_or_else(Reply::error);
        if let Some(note) = note {
            self.follow(note, &reply).await;
        }
        let parts = vec![windlass_llm::ContentPart::Text(reply.text)];
        Output { parts, ok: !reply.is_error, delivery: reply.delivery }
    }

    /// Applies a patch that was written as a command. Applied here, it is verified first and undone if it fails.
    async fn patch(&self, call: &Call, heredoc: Heredoc, arguments: &Map<String, Value>) -> Output {
        let workdir = arguments.get("workdir").and_then(Value::as_str).unwrap_or_default();
        let directory = Path::new(workdir).join(heredoc.directory.unwrap_or_default());
        self.patches.apply(&call.id.0, heredoc.patch, &directory).await
    }

    fn tool_call(
        &self,
        call: &Call,
        (tool, arguments): (&str, Map<String, Value>),
        sandbox: Policy,
    ) -> ToolCall {
        let (report, id) = (self.report.clone(), call.id.0.clone());
        let progress = move |progress: Progress| {
            let Progress { elapsed, tail, .. } = progress;
            report.tell_if_room(EventKind::CallProgress { call: id.clone(), tail, elapsed });
        };
        let person = self.prompter.clone().map(|prompter| {
            let (agent, approved) = (self.me.clone(), Arc::clone(&self.approved));
            Arc::new(AtTheTools { prompter, agent, approved }) as Arc<dyn Person>
        });
        ToolCall {
            ceiling: CEILING,
            progress: Some(Arc::new(progress)),
            person,
            sandbox: Some(sandbox),
            dismissal: Dismissal::End,
            ..ToolCall::new(tool, arguments)
        }
    }

    /// What a command may touch: what is granted, or everything if a person says so; then with the directory that they saw.
    async fn sandbox(
        &self,
        tool: &str,
        arguments: &mut Map<String, Value>,
    ) -> Result<(Policy, Option<Arc<HeldDirectory>>), Output> {
        let asked = arguments.remove("sandbox_permissions");
        let why = arguments.remove("justification");
        arguments.remove("prefix_rule");
        let escalates = asked.as_ref().and_then(Value::as_str) == Some("require_escalated");
        let policy = self.patches.policy();
        if !escalates || matches!(policy, Policy::FullAccess | Policy::External) {
            return Ok((policy, None));
        }
        let Some(prompter) = self.prompter.as_ref().filter(|_| self.can_ask()) else {
            return Err(Output::refused(
                "commands cannot run without the sandbox here: nobody may be asked (approval policy `never`). \
                 Nothing was run; do it within the sandbox, or say what you would need.",
            ));
        };
        // Arguments that cannot be used are for the tool to refuse.
        let Some(execution) = self.toolbox.execution(tool, arguments) else { return Ok((policy, None)) };
        let execution = execution.without_sandbox();
        let why = why.as_ref().and_then(Value::as_str).unwrap_or("the model gives no reason");
        let mut details = execution.details();
        details.push(reason(&format!("to run without the sandbox: {why}")));
        let asking = self.approved.ask(&**prompter, &self.me, (execution.clone(), details));
        match asking.await {
            Decision::Yes | Decision::Always => match execution.pin_directory(arguments) {
                Ok(held) => Ok((Policy::FullAccess, Some(held))),
                Err(reason) => Err(Output::refused(reason)),
            },
            Decision::No(reason) => Err(Output::refused(format!("nothing was run: {}", declined(&reason)))),
        }
    }

    fn can_ask(&self) -> bool {
        self.prompter.is_some() && self.mode != ApprovalMode::Never
    }

    /// Bounds the tool's own limit by the agent's.
    fn bound_output(&self, tool: &windlass_tools::Tool, arguments: &mut Map<String, Value>) {
        const NAME: &str = "max_output_tokens";
        if tool.input_schema().get("properties").is_none_or(|known| known.get(NAME).is_none()) {
            return;
        }
        let asked = arguments.get(NAME).and_then(Value::as_u64);
        if asked.is_none_or(|asked| asked > self.output_limit) {
            arguments.insert(NAME.into(), self.output_limit.into());
        }
    }

    /// Reports how a command ended, now or when it does.
    async fn follow(&self, note: CommandNote, reply: &Reply) {
        let exit = reply.structured.get("exit_code").and_then(Value::as_i64);
        let session = reply.structured.get("session").map(Value::to_string);
        let outcome = match (exit, session) {
            (Some(code), _) => CommandOutcome::Exited(code),
            (None, Some(session)) if !reply.is_error => return self.commands.goes_on(session, note).await,
            _ => CommandOutcome::Declined,
        };
        let output = printed(reply);
        self.report.tell(EventKind::CommandEnded { command: note, outcome, output }).await;
    }
}

/// The output of a command, from either shape of reply.
fn printed(reply: &Reply) -> String {
    let text = |field: &str| reply.structured.get(field).and_then(Value::as_str).map(str::to_owned);
    let streams = || Some(text("stdout")? + &text("stderr").unwrap_or_default());
    text("output").or_else(streams).unwrap_or_else(|| reply.text.clone())
}

/// Reports the end of a command whose call is cancelled before it is answered.
struct Unfinished {
    note: Option<CommandNote>,
    report: Reporter,
}

impl Unfinished {
    fn finished(mut self) {
        self.note = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(command) = self.note.take() {
            let (outcome, output) = (CommandOutcome::Ended, String::new());
            self.report.tell_if_room(EventKind::CommandEnded { command, outcome, output });
        }
    }
}
