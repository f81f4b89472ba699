//! `--json`: events as one JSON object per line, in the format of `codex exec --json`. Events of sub-agents are wrapped
//! and carry the agent's name, so that readers do not take them for events of the root agent.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::{Value, json};
use windlass_agent::{
    AgentEvent, CommandNote, CommandOutcome, EventKind, PlanStep, Status, StepState, ThreadId,
};
use windlass_config::Prices;
use windlass_llm::Usage;

use super::text::{cost, left_running, wait_expired};
use crate::printing;

/// Writes events as lines.
pub(super) struct JsonLines {
    prices: Option<Prices>,
    items: u64,
    /// The numbers of unfinished items, by agent and by the key that connects their events.
    open: HashMap<(ThreadId, String), u64>,
    /// The latest plan of each agent.
    plans: HashMap<ThreadId, (u64, Vec<PlanStep>)>,
    nicknames: HashMap<ThreadId, String>,
    /// The line that ends the root agent's turn. It must be the last line, so it is held back until the commands and
    /// sub-agents that end with the agent have ended.
    turn_end: Option<Value>,
}

impl JsonLines {
    pub(super) fn new(prices: Option<Prices>) -> Self {
        Self {
            prices,
            items: 0,
            open: HashMap::new(),
            plans: HashMap::new(),
            nicknames: HashMap::new(),
            turn_end: None,
        }
    }

    /// Writes the lines for an event.
    pub(super) fn show(&mut self, root: &ThreadId, event: &AgentEvent) -> Result<()> {
        let mut lines = self.lines(event);
        if event.agent != *root {
            lines = lines.iter().map(|line| self.wrapped(&event.agent, line)).collect();
        } else if event.kind.ends_turn() {
            self.turn_end = lines.pop();
        } else if event.kind == EventKind::TurnStarted {
            lines.splice(0..0, self.turn_end.take());
        }
        print_lines(&lines)
    }

    /// Writes the line that ends the turn: no event can follow.
    pub(super) fn finish(&mut self) -> Result<()> {
        print_lines(self.turn_end.take().as_slice())
    }

    fn wrapped(&self, agent: &ThreadId, line: &Value) -> Value {
        let nickname = self.nicknames.get(agent);
        json!({ "type": "agent.event", "thread_id": agent.as_str(), "nickname": nickname, "event": line })
    }

    fn lines(&mut self, event: &AgentEvent) -> Vec<Value> {
        let agent = &event.agent;
        match &event.kind {
            EventKind::Born { nickname, parent, .. } => {
                self.nicknames.insert(agent.clone(), nickname.clone());
                let mut line = json!({ "type": "thread.started", "thread_id": agent.as_str() });
                if let Some(parent) = parent {
                    line["parent_thread_id"] = parent.as_str().into();
                }
                vec![line]
            }
            EventKind::TurnStarted => vec![json!({ "type": "turn.started" })],
            EventKind::TurnCompleted { turn, thread } => self.completed(agent, *turn, *thread),
            EventKind::TurnFailed { message } => {
                let mut lines = self.plan_done(agent);
                lines.push(json!({ "type": "error", "message": message }));
                lines.push(json!({ "type": "turn.failed", "error": { "message": message } }));
                lines
            }
            EventKind::TurnInterrupted => {
                let mut lines = self.plan_done(agent);
                lines.push(json!({ "type": "turn.failed", "error": { "message": "interrupted" } }));
                lines
            }
            EventKind::Warning(message) => vec![json!({ "type": "error", "message": message })],
            EventKind::WaitExpired(limit) => {
                vec![json!({ "type": "error", "message": wait_expired(*limit) })]
            }
            EventKind::LeftRunning(what) => vec![json!({ "type": "error", "message": left_running(what) })],
            EventKind::Plan(steps) => vec![self.plan(agent, steps)],
            kind => self.item(agent, kind).into_iter().collect(),
        }
    }

    fn completed(&mut self, agent: &ThreadId, turn: Usage, thread: Usage) -> Vec<Value> {
        let mut lines = self.plan_done(agent);
        let mut line = json!({ "type": "turn.completed", "usage": usage(thread), "turn_usage": usage(turn) });
        if let Some(prices) = self.prices {
            line["cost_usd"] = cost(prices, thread).into();
        }
        lines.push(line);
        lines
    }

    /// The line for an event that is an item, or that begins or ends one.
    fn item(&mut self, agent: &ThreadId, kind: &EventKind) -> Option<Value> {
        Some(match kind {
            EventKind::Message(text) => self.whole(json!({ "type": "agent_message", "text": text })),
            EventKind::Reasoning(text) => self.whole(json!({ "type": "reasoning", "text": text })),
            EventKind::CommandStarted(note) => {
                let item = command(note, (String::new(), None), "in_progress");
                self.begun(agent, &note.id, item)
            }
            EventKind::CommandEnded { command: note, outcome, output } => {
                let (exit, status) = match outcome {
                    CommandOutcome::Exited(0) => (Some(0), "completed"),
                    CommandOutcome::Exited(code) => (Some(*code), "failed"),
                    CommandOutcome::Declined => (None, "declined"),
                    CommandOutcome::Ended => (None, "failed"),
                };
                self.ended(agent, &note.id, command(note, (output.clone(), exit), status))
            }
            EventKind::FilesChanged { changes, ok, .. } => {
                let changes: Vec<Value> = changes
                    .iter()
                    .map(|change| json!({ "path": change.path, "kind": change.kind }))
                    .collect();
                let status = if *ok { "completed" } else { "failed" };
                self.whole(json!({ "type": "file_change", "changes": changes, "status": status }))
            }
            EventKind::Foreign { call, server, tool, arguments, outcome } => {
                let (result, error, status) = match outcome {
                    None => (Value::Null, Value::Null, "in_progress"),
                    Some(Ok(result)) => (result.clone(), Value::Null, "completed"),
                    Some(Err(message)) => (Value::Null, json!({ "message": message }), "failed"),
                };
                let item = json!({
                    "type": "mcp_tool_call", "server": server, "tool": tool, "arguments": arguments,
                    "result": result, "error": error, "status": status,
                });
                match outcome {
                    None => self.begun(agent, call, item),
                    Some(_) => self.ended(agent, call, item),
                }
            }
            EventKind::Collaboration { call, states, .. } => {
                let item = collaboration(agent, kind)?;
                match states {
                    None => self.begun(agent, call, item),
                    Some(_) => self.ended(agent, call, item),
                }
            }
            EventKind::WebSearch(raw) => {
                let query = raw.pointer("/action/query").or_else(|| raw.get("query")).cloned();
                self.whole(json!({ "type": "web_search", "query": query, "action": raw.get("action") }))
            }
            EventKind::Compacted { before, after } => {
                let message = format!("the conversation was summed up: about {before} tokens became {after}");
                self.whole(json!({ "type": "error", "message": message }))
            }
            _ => return None,
        })
    }

    fn next_id(&mut self) -> u64 {
        self.items += 1;
        self.items - 1
    }

    fn whole(&mut self, item: Value) -> Value {
        let id = self.next_id();
        line("item.completed", id, item)
    }

    fn begun(&mut self, agent: &ThreadId, key: &str, item: Value) -> Value {
        let id = self.next_id();
        self.open.insert((agent.clone(), key.to_owned()), id);
        line("item.started", id, item)
    }

    fn ended(&mut self, agent: &ThreadId, key: &str, item: Value) -> Value {
        let id = self.open.remove(&(agent.clone(), key.to_owned())).unwrap_or_else(|| self.next_id());
        line("item.completed", id, item)
    }

    fn plan(&mut self, agent: &ThreadId, steps: &[PlanStep]) -> Value {
        let known = self.plans.get(agent).map(|(id, _)| *id);
        let id = known.unwrap_or_else(|| self.next_id());
        self.plans.insert(agent.clone(), (id, steps.to_vec()));
        line(if known.is_some() { "item.updated" } else { "item.started" }, id, plan_item(steps))
    }

    fn plan_done(&mut self, agent: &ThreadId) -> Vec<Value> {
        let done = self.plans.remove(agent);
        done.map(|(id, steps)| line("item.completed", id, plan_item(&steps))).into_iter().collect()
    }
}

fn print_lines(lines: &[Value]) -> Result<()> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    if text.is_empty() { Ok(()) } else { printing::print(text) }
}

fn line(kind: &str, id: u64, mut item: Value) -> Value {
    item["id"] = format!("item_{id}").into();
    json!({ "type": kind, "item": item })
}

fn command(note: &CommandNote, (output, exit): (String, Option<i64>), status: &str) -> Value {
    json!({
        "type": "command_execution", "command": note.script, "aggregated_output": output, "exit_code": exit,
        "status": status,
    })
}

fn plan_item(steps: &[PlanStep]) -> Value {
    let step =
        |step: &PlanStep| json!({ "text": step.text, "completed": step.state == StepState::Completed });
    json!({ "type": "todo_list", "items": steps.iter().map(step).collect::<Vec<_>>() })
}

fn collaboration(agent: &ThreadId, kind: &EventKind) -> Option<Value> {
    let EventKind::Collaboration { tool, others, prompt, states, ok, .. } = kind else { return None };
    let receivers: Vec<&str> = others.iter().map(ThreadId::as_str).collect();
    let status = match (states, ok) {
        (None, _) => "in_progress",
        (Some(_), true) => "completed",
        (Some(_), false) => "failed",
    };
    let state = |(id, status): &(ThreadId, Status)| (id.to_string(), state(status));
    let states: serde_json::Map<String, Value> = states.iter().flatten().map(state).collect();
    Some(json!({
        "type": "collab_tool_call", "tool": tool, "sender_thread_id": agent.as_str(),
        "receiver_thread_ids": receivers, "prompt": prompt, "agents_states": states, "status": status,
    }))
}

fn state(status: &Status) -> Value {
    let (word, message) = match status {
        Status::PendingInit => ("pending_init", None),
        Status::Running => ("running", None),
        Status::Interrupted => ("interrupted", None),
        Status::Completed(text) => ("completed", text.clone()),
        Status::Errored(text) => ("errored", Some(text.clone())),
        Status::Shutdown => ("shutdown", None),
        Status::NotFound => ("not_found", None),
    };
    json!({ "status": word, "message": message })
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cached_input_tokens": usage.cached,
        "cache_write_input_tokens": usage.cache_written,
        "output_tokens": usage.output,
        "reasoning_output_tokens": usage.reasoning,
    })
}
