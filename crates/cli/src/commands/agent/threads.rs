//! Stored conversations: finding and listing them.

use anyhow::{Result, anyhow};
use serde_json::json;
use windlass_agent::{Beginning, HistoryEntry, ItemOrigin, Thread, ThreadId, Threads};
use windlass_llm::Role;

use super::context::{self, Configured};
use super::deps::thread_files;
use super::task_words::one_task;
use crate::args::{AgentResume, AgentThreads};
use crate::config::Config;
use crate::failure::{Exit, Usage};
use crate::{printing, report};

/// The most conversations that are listed.
const MOST_LISTED: usize = 50;

/// The conversation to resume, and its new task.
pub(super) fn resumed(order: &AgentResume, config: &Config) -> Result<(ThreadId, Option<String>)> {
    let (id, words) = order.words();
    if order.last {
        if words.len() > 1 && ThreadId::parse(words[0]).is_some() {
            return Err(Usage("with --last there is no ID: give only the prompt".into()).into());
        }
        let prompt = one_task("windlass agent resume --last", &words, &order.options)?;
        return Ok((last(order, config)?, prompt));
    }
    let id = id.ok_or_else(|| Usage("name the conversation, or say --last".into()))?;
    let prompt = one_task(&format!("windlass agent resume {id}"), &words, &order.options)?;
    let parsed = ThreadId::parse(id).ok_or_else(|| {
        anyhow!(
            "`{id}` names no conversation; `windlass agent threads` lists them, and --last takes the newest"
        )
    })?;
    Ok((parsed, prompt))
}

fn last(order: &AgentResume, config: &Config) -> Result<ThreadId> {
    let directory = match &order.options.directory {
        Some(directory) => directory.canonicalize()?,
        None => Config::working_directory()?,
    };
    let asked = Some(directory.as_path()).filter(|_| !order.all);
    files(config)?.last(asked).ok_or_else(|| match asked {
        Some(directory) => {
            anyhow!("there is no conversation of {} yet; --all looks everywhere", directory.display())
        }
        None => anyhow!("there is no conversation yet"),
    })
}

/// The changes since a conversation that is resumed or forked, as its first new entries. An error in reading it is
/// reported later, when the conversation begins.
pub(super) fn told(beginning: &Beginning, config: &Config, configured: &Configured) -> Vec<HistoryEntry> {
    let (Beginning::Resume(id) | Beginning::Fork(id)) = beginning else { return Vec::new() };
    let thread = thread_files(config).and_then(|files| files.load(id).ok());
    thread.map(|thread| context::changes(configured, config, &thread.entries)).unwrap_or_default()
}

fn files(config: &Config) -> Result<Threads> {
    thread_files(config)
        .ok_or_else(|| anyhow!("no state directory: neither HOME nor WINDLASS_STATE_DIR is set"))
}

/// `windlass agent threads`
pub(super) fn list(order: &AgentThreads, config: &Config) -> Result<Exit> {
    let files = files(config)?;
    let here = Config::working_directory()?;
    let mut text = String::new();
    let mut listed = 0;
    for id in files.list() {
        let Ok(facts) = files.facts(&id) else { continue };
        if facts.parent.is_some() || (!order.all && facts.directory != here) || listed >= MOST_LISTED {
            continue;
        }
        if !files.has_user_message(&id) {
            continue;
        }
        listed += 1;
        let task = first_words(&files, &id);
        let began = std::time::UNIX_EPOCH + std::time::Duration::from_secs(facts.began);
        let line = if order.json {
            let began = facts.began;
            json!({ "id": id.as_str(), "began": began, "directory": facts.directory, "model": facts.model, "task": task })
                .to_string()
        } else {
            printing::displayable(&format!("{id}  {}  {}  {task}", report::timestamp(began), facts.model))
        };
        text += &(line + "\n");
    }
    printing::print(text)?;
    Ok(Exit::SUCCESS)
}

/// The subject of a conversation: the user's first words.
pub(super) fn first_words(files: &Threads, id: &ThreadId) -> String {
    let Ok(thread) = files.load(id) else { return String::new() };
    let own = thread.entries.iter().filter(|entry| entry.origin == ItemOrigin::User);
    let first = own.filter_map(|entry| entry.item.words_of(Role::User)).next().unwrap_or_default();
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(80).collect()
}

/// The last messages of the user and of the model, each with its mark.
pub(super) fn last_words(thread: &Thread) -> Vec<(&'static str, String)> {
    let last = |origin: ItemOrigin, role: Role| {
        let entries = thread.entries.iter().rev().filter(|entry| entry.origin == origin);
        entries.filter_map(|entry| entry.item.words_of(role)).next()
    };
    let asked = last(ItemOrigin::User, Role::User).map(|text| ("› ", text));
    let answered = last(ItemOrigin::Model, Role::Assistant).map(|text| ("", text));
    asked.into_iter().chain(answered).collect()
}
