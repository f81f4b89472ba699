//! The collaboration tools, with which an agent starts, messages, awaits, closes, reopens and lists its sub-agents.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_llm::{Call, ContentPart, Item, Role, ToolSpec};

use super::ToolContext;
use crate::deps::AgentDeps;
use crate::event::{EventKind, Reporter};
use crate::history::HistoryEntry;
use crate::team::{Status, SubAgentRequest, Team, Waited};
use crate::thread::ThreadId;
use crate::tool::{Output, Pace, Tool, ToolFuture, typed};

const DEFAULT_WAIT: Duration = Duration::from_secs(30);
const SHORTEST_WAIT: Duration = Duration::from_secs(10);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The tools, in the order in which they are listed.
pub(super) fn tools(around: &ToolContext) -> Vec<Arc<dyn Tool>> {
    let shared = Arc::new(Shared {
        me: around.me.clone(),
        deps: Arc::clone(&around.deps),
        team: around.team.clone(),
        report: around.report.clone(),
        heard: Arc::clone(&around.heard),
    });
    let verbs = [Verb::Spawn, Verb::Send, Verb::Wait, Verb::Close, Verb::Resume, Verb::List];
    verbs.map(|verb| Arc::new(TeamTool { verb, shared: Arc::clone(&shared) }) as Arc<dyn Tool>).to_vec()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Spawn,
    Send,
    Wait,
    Close,
    Resume,
    List,
}

struct Shared {
    me: ThreadId,
    deps: Arc<AgentDeps>,
    team: Team,
    report: Reporter,
    heard: Arc<Mutex<Vec<HistoryEntry>>>,
}

struct TeamTool {
    verb: Verb,
    shared: Arc<Shared>,
}

impl Tool for TeamTool {
    fn name(&self) -> &str {
        match self.verb {
            Verb::Spawn => "spawn_agent",
            Verb::Send => "send_input",
            Verb::Wait => "wait_agent",
            Verb::Close => "close_agent",
            Verb::Resume => "resume_agent",
            Verb::List => "list_agents",
        }
    }

    fn spec(&self) -> ToolSpec {
        let (description, parameters) = self.shared.told(self.verb);
        ToolSpec::Function { name: self.name().into(), description, parameters }
    }

    /// A wait for one agent must not block calls that start or message others.
    fn pace(&self, _call: &Call) -> Pace {
        Pace::Together
    }

    fn call(&self, call: Call) -> ToolFuture {
        let (verb, shared) = (self.verb, Arc::clone(&self.shared));
        Box::pin(async move {
            let id = call.id.0.clone();
            let done = match verb {
                Verb::Spawn => shared.spawn(&id, typed(&call)).await,
                Verb::Send => shared.send(&id, typed(&call)).await,
                Verb::Wait => shared.wait(&id, typed(&call)).await,
                Verb::Close => shared.close(&id, typed(&call)).await,
                Verb::Resume => shared.resume(typed(&call)).await,
                Verb::List => Ok(shared.list()),
            };
            done.unwrap_or_else(|refusal| refusal)
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SpawnArguments {
    message: Option<String>,
    items: Option<Vec<Value>>,
    agent_type: Option<String>,
    fork_context: bool,
    model: Option<String>,
    reasoning_effort: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SendArguments {
    #[serde(alias = "id", alias = "agent_id")]
    target: Option<String>,
    message: Option<String>,
    items: Option<Vec<Value>>,
    interrupt: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WaitArguments {
    #[serde(alias = "ids", alias = "target", alias = "id")]
    targets: OneOrMany,
    timeout_ms: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TargetArguments {
    #[serde(alias = "id", alias = "agent_id")]
    target: Option<String>,
}

/// Some models write a single name where the schema asks for a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<String>),
    One(String),
}

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl OneOrMany {
    fn list(self) -> Vec<String> {
        match self {
            Self::Many(list) => list,
            Self::One(name) => vec![name],
        }
    }
}

impl Shared {
    async fn spawn(&self, call: &str, arguments: Result<SpawnArguments, Output>) -> Result<Output, Output> {
        let arguments = arguments?;
        let words = words(arguments.message.as_deref(), arguments.items.as_deref())?;
        let prompt = text_of(&words);
        let heard = if arguments.fork_context { self.heard() } else { Vec::new() };
        let wanted = SubAgentRequest {
            words,
            role: arguments.agent_type,
            model: arguments.model,
            effort: arguments.reasoning_effort,
            heard,
        };
        self.tell(call, "spawn_agent", Collab { prompt: Some(prompt.clone()), ..Collab::default() }).await;
        match self.team.spawn(&self.me, wanted).await {
            Ok((id, nickname)) => {
                let others = vec![id.clone()];
                let states = Some(vec![(id.clone(), self.team.status(&id))]);
                let told = Collab { others, prompt: Some(prompt), states, ok: true };
                self.tell(call, "spawn_agent", told).await;
                Ok(Output::json(&json!({ "agent_id": id.as_str(), "nickname": nickname })))
            }
            Err(reason) => {
                let told = Collab { prompt: Some(prompt), states: Some(Vec::new()), ..Collab::default() };
                self.tell(call, "spawn_agent", told).await;
                Err(Output::refused(reason))
            }
        }
    }

    async fn send(&self, call: &str, arguments: Result<SendArguments, Output>) -> Result<Output, Output> {
        let arguments = arguments?;
        let target = self.target(arguments.target.as_deref())?;
        let words = words(arguments.message.as_deref(), arguments.items.as_deref())?;
        let prompt = Some(text_of(&words));
        let others = vec![target.clone()];
        let begun = Collab { others: others.clone(), prompt: prompt.clone(), ..Collab::default() };
        self.tell(call, "send_input", begun).await;
        let sent = self.team.send(&target, words, arguments.interrupt).await;
        let states = Some(vec![(target.clone(), self.team.status(&target))]);
        self.tell(call, "send_input", Collab { others, prompt, states, ok: sent }).await;
        if sent {
            Ok(Output::json(&json!({ "submission_id": call })))
        } else {
            Err(Output::refused(format!(
                "agent with id {target} not found (it was closed; resume_agent reopens it)"
            )))
        }
    }

    async fn wait(&self, call: &str, arguments: Result<WaitArguments, Output>) -> Result<Output, Output> {
        let arguments = arguments?;
        let patience = patience(arguments.timeout_ms)?;
        let asked = arguments.targets.list();
        let targets: Vec<ThreadId> =
            asked.iter().map(|asked| self.target(Some(asked))).collect::<Result<_, _>>()?;
        if targets.is_empty() && self.team.list(&self.me).is_empty() {
            return Err(Output::refused("there are no sub-agents to wait for; spawn_agent starts one"));
        }
        self.tell(call, "wait", Collab { others: targets.clone(), ..Collab::default() }).await;
        let waited = self.team.wait(&self.me, &targets, Instant::now() + patience).await;
        let timed_out = matches!(waited, Waited::TimedOut);
        let nothing = matches!(waited, Waited::Nothing);
        let found = if let Waited::News(found) = waited { found } else { Vec::new() };
        let limit = self.team.most_report() / found.len().max(1);
        let found: Vec<(ThreadId, Status)> =
            found.into_iter().map(|(id, status)| (id, status.cut(limit))).collect();
        let told = Collab { others: targets, states: Some(found.clone()), ok: true, ..Collab::default() };
        self.tell(call, "wait", told).await;
        let statuses: Map<String, Value> =
            found.iter().map(|(id, status)| (id.to_string(), status.json())).collect();
        let mut answer = json!({ "status": statuses, "timed_out": timed_out });
        if nothing {
            answer["message"] = "no sub-agent is at work, and you were told of every end".into();
        }
        if timed_out {
            let running = self.team.busy_children(&self.me);
            answer["still_running"] = running.into();
        }
        Ok(Output::json(&answer))
    }

    async fn close(&self, call: &str, arguments: Result<TargetArguments, Output>) -> Result<Output, Output> {
        let target = self.target(arguments?.target.as_deref())?;
        if target == self.me {
            return Err(Output::refused("an agent cannot close itself; finish instead"));
        }
        let others = vec![target.clone()];
        self.tell(call, "close_agent", Collab { others: others.clone(), ..Collab::default() }).await;
        let before = self.team.close_agent(&target).await.cut(self.team.most_report());
        let states = Some(vec![(target, before.clone())]);
        self.tell(call, "close_agent", Collab { others, states, ok: true, ..Collab::default() }).await;
        Ok(Output::json(&json!({ "previous_status": before.json() })))
    }

    async fn resume(&self, arguments: Result<TargetArguments, Output>) -> Result<Output, Output> {
        let asked = arguments?.target.ok_or_else(|| Output::refused("`id` is missing: which agent?"))?;
        let target = self.team.find(&asked).or_else(|| ThreadId::parse(&asked));
        let target = target.ok_or_else(|| Output::refused(format!("agent with id {asked} not found")))?;
        let status = self.team.resume(&self.me, &target).await.map_err(Output::refused)?;
        Ok(Output::json(&json!({ "status": status.cut(self.team.most_report()).json() })))
    }

    fn list(&self) -> Output {
        let entry = |listed: crate::team::Listed| {
            json!({
                "agent_id": listed.id.as_str(),
                "path": listed.path,
                "nickname": listed.nickname,
                "agent_type": listed.role.as_deref().unwrap_or("default"),
                "status": listed.status.cut(2000).json(),
                "task": listed.task,
            })
        };
        let agents: Vec<Value> = self.team.list(&self.me).into_iter().map(entry).collect();
        Output::json(&json!({ "agents": agents }))
    }

    fn target(&self, asked: Option<&str>) -> Result<ThreadId, Output> {
        let asked = asked.ok_or_else(|| Output::refused("`target` is missing: which agent?"))?;
        self.team.find(asked).ok_or_else(|| {
            let known = self.team.list(&self.me);
            let names: Vec<&str> = known.iter().map(|listed| listed.nickname.as_str()).collect();
            let known = if names.is_empty() { "there are none".into() } else { names.join(", ") };
            Output::refused(format!("agent with id {asked} not found; agents: {known}"))
        })
    }

    fn heard(&self) -> Vec<HistoryEntry> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn tell(&self, call: &str, tool: &'static str, told: Collab) {
        let Collab { others, prompt, states, ok } = told;
        let call = call.to_owned();
        self.report.tell(EventKind::Collaboration { call, tool, others, prompt, states, ok }).await;
    }
}

/// The parts of a call that its events report.
#[derive(Default)]
struct Collab {
    others: Vec<ThreadId>,
    prompt: Option<String>,
    states: Option<Vec<(ThreadId, Status)>>,
    ok: bool,
}

fn patience(asked: Option<i64>) -> Result<Duration, Output> {
    match asked {
        None => Ok(DEFAULT_WAIT),
        Some(asked) if asked <= 0 => Err(Output::refused("timeout_ms must be greater than zero")),
        Some(asked) => Ok(Duration::from_millis(asked.unsigned_abs()).clamp(SHORTEST_WAIT, LONGEST_WAIT)),
    }
}

/// The message for a sub-agent: a text, or items of several kinds.
fn words(message: Option<&str>, items: Option<&[Value]>) -> Result<Vec<HistoryEntry>, Output> {
    let parts: Vec<ContentPart> = match (message, items) {
        (Some(_), Some(items)) if !items.is_empty() => {
            return Err(Output::refused("give either `message` or `items`, not both"));
        }
        (Some(text), _) => vec![ContentPart::Text(text.to_owned())],
        (None, Some(items)) => items.iter().filter_map(part).collect(),
        (None, None) => Vec::new(),
    };
    let empty = |part: &ContentPart| matches!(part, ContentPart::Text(text) if text.trim().is_empty());
    if parts.iter().all(empty) {
        return Err(Output::refused("`message` is empty: say what the agent is to do"));
    }
    Ok(vec![HistoryEntry::user(Item::message(Role::User, parts))])
}

fn part(item: &Value) -> Option<ContentPart> {
    let text = |field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    match item.get("type").and_then(Value::as_str) {
        Some("image") => text("image_url").or_else(|| text("url")).map(ContentPart::Image),
        Some("skill" | "mention") => Some(ContentPart::Text(format!(
            "[{}]({})",
            text("name").unwrap_or_default(),
            text("path").unwrap_or_default()
        ))),
        Some("local_image") => Some(ContentPart::Text(format!("(look at the picture {})", text("path")?))),
        _ => text("text").map(ContentPart::Text),
    }
}

fn text_of(words: &[HistoryEntry]) -> String {
    words.iter().filter_map(|entry| entry.item.words_of(Role::User)).collect::<Vec<_>>().join("\n")
}

/// The specifications of the tools.
impl Shared {
    fn told(&self, verb: Verb) -> (String, Value) {
        match verb {
            Verb::Spawn => (self.spawn_description(), spawn_parameters()),
            Verb::Send => (
                "Tells a sub-agent something. It hears it when its present step is done, or at once with interrupt=true, \
                 which also ends what it is running. One that had finished goes on."
                    .into(),
                object(&json!({
                    "target": target_schema(),
                    "message": { "type": "string" },
                    "items": items_schema(),
                    "interrupt": { "type": "boolean" }
                }), &["target"]),
            ),
            Verb::Wait => (
                "Waits until one of these sub-agents has finished and answers with its last words; without targets, until \
                 any of them has news. You are also told of every end without waiting, so wait only when there is nothing \
                 else to do."
                    .into(),
                object(&json!({
                    "targets": { "type": "array", "items": { "type": "string" }, "description": "ids or nicknames" },
                    "timeout_ms": { "type": "integer", "description": "default 30000; 10000 to 3600000" }
                }), &[]),
            ),
            Verb::Close => (
                "Ends a sub-agent, its own sub-agents and everything they run. Close those you no longer need: open ones \
                 count towards the limit."
                    .into(),
                object(&json!({ "target": target_schema() }), &["target"]),
            ),
            Verb::Resume => (
                "Reopens a sub-agent that was closed, with all it knew; then tell it what to do with send_input.".into(),
                object(&json!({ "id": target_schema() }), &["id"]),
            ),
            Verb::List => (
                "Lists your sub-agents with their ids, names, tasks and states.".into(),
                object(&json!({}), &[]),
            ),
        }
    }

    fn spawn_description(&self) -> String {
        let config = &self.deps.config;
        let mut text = format!(
            "Starts a sub-agent on a task of its own, beside you, in the same workspace and with the same tools. It knows \
             nothing of this conversation unless fork_context is true, so say all it needs: {{\"message\":\"In /repo, find \
             every caller of parse(). Report file:line for each. Change nothing.\"}}. Answers at once with its agent_id; \
             you are told when it has finished. At most {} may be open.",
            config.team.most_open
        );
        for role in &config.roles {
            text += &format!(" agent_type {}: {}.", role.name, role.description.trim_end_matches('.'));
        }
        text
    }
}

fn spawn_parameters() -> Value {
    object(
        &json!({
            "message": { "type": "string", "description": "the task" },
            "items": items_schema(),
            "agent_type": { "type": "string" },
            "fork_context": { "type": "boolean", "description": "tell it what was said here so far" },
            "model": { "type": "string", "description": "only if the user asks for another" },
            "reasoning_effort": { "type": "string" }
        }),
        &[],
    )
}

fn target_schema() -> Value {
    json!({ "type": "string", "description": "agent_id or nickname" })
}

fn items_schema() -> Value {
    json!({
        "type": "array",
        "items": { "type": "object" },
        "description": "instead of message: [{\"type\":\"text\",\"text\":...}, {\"type\":\"image\",\"image_url\":...}]"
    })
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
