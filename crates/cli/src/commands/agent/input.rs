//! Builds the task of an agent from the prompt, piped input, and pictures.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use windlass_agent::{HistoryEntry, ItemOrigin};
use windlass_config::skills;
use windlass_files::{FileContext, FileOutput, view_image};
use windlass_llm::{ContentPart, Item, Role};

use super::context::Configured;
use crate::args::AgentOptions;
use crate::config::Config;
use crate::failure::Usage;

/// The most bytes that are read from standard input; no model accepts more.
const MOST_INPUT: u64 = 8 << 20;

/// The input of an agent.
pub(super) struct AgentInput {
    /// The words of the user, without piped input.
    words: String,
    pub(super) items: Vec<Item>,
}

/// Builds the task.
pub(super) fn task(prompt: Option<&str>, options: &AgentOptions, config: &Config) -> Result<AgentInput> {
    let words = match prompt {
        Some(prompt) if prompt != "-" => prompt.to_owned(),
        None if config.terminals.stdin => {
            return Err(Usage("say what to do: windlass agent 'make the tests pass'".into()).into());
        }
        _ => read_input()?,
    };
    let text = match prompt {
        Some(prompt) if prompt != "-" && !config.terminals.stdin => with_input(prompt, &read_input()?),
        _ => words.clone(),
    };
    if text.trim().is_empty() {
        bail!("there is nothing to do: the prompt is empty");
    }
    let mut parts = vec![ContentPart::Text(text.clone())];
    for path in &options.image {
        parts.extend(picture(path)?);
    }
    Ok(AgentInput { words, items: vec![Item::message(Role::User, parts)] })
}

/// All new entries together: changes since an earlier conversation, the skills that the task names, and the task.
pub(super) fn entries(
    task: AgentInput,
    configured: &Configured,
    news: Vec<HistoryEntry>,
) -> Vec<HistoryEntry> {
    let mut entries = news;
    entries.extend(mentioned_skills(&task.words, configured));
    entries.extend(task.items.into_iter().map(HistoryEntry::user));
    entries
}

/// The complete skills that the words name with `$name`. A skill that cannot be read is reported and left out.
pub(super) fn mentioned_skills(words: &str, configured: &Configured) -> Vec<HistoryEntry> {
    if !words.contains('$') {
        return Vec::new();
    }
    let may_read = |path: &Path| configured.may_read(path);
    let skills = skills::find_readable(&configured.places, &configured.loaded.project, &may_read);
    let mut entries = Vec::new();
    for skill in skills.mentioned(words) {
        match skill.inject_readable(&may_read) {
            Ok(text) => entries.push(HistoryEntry { origin: ItemOrigin::Context, item: Item::user(text) }),
            Err(fault) => crate::printing::say!("windlass: skill {fault}"),
        }
    }
    entries
}

/// A prompt together with the piped input that it is about.
fn with_input(prompt: &str, input: &str) -> String {
    if input.trim().is_empty() {
        return prompt.to_owned();
    }
    crate::printing::say!("windlass: standard input is added to the prompt");
    format!("{prompt}\n\n<stdin>\n{}\n</stdin>", input.trim_end_matches('\n'))
}

fn read_input() -> Result<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST_INPUT + 1).read_to_end(&mut bytes);
    read.context("cannot read standard input")?;
    if bytes.len() as u64 > MOST_INPUT {
        bail!("standard input is larger than {} MB; put it into a file and name the file", MOST_INPUT >> 20);
    }
    String::from_utf8(bytes).context("standard input is not UTF-8")
}

fn picture(path: &Path) -> Result<Vec<ContentPart>> {
    let directory = Config::working_directory()?;
    let mut arguments = serde_json::Map::new();
    arguments.insert("path".into(), path.to_string_lossy().into_owned().into());
    let looked = view_image::Arguments::parse(arguments)
        .and_then(|arguments| view_image::run(&arguments, &FileContext::open(&directory)));
    match looked.with_context(|| format!("cannot show the model {}", path.display()))? {
        FileOutput::Image { data_url, .. } => Ok(vec![ContentPart::Image(data_url)]),
        FileOutput::Text(text) => bail!("{}: {text}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_piped_in_follows_the_prompt() {
        assert_eq!(with_input("review", "\n"), "review");
        assert_eq!(with_input("review", "a\nb\n"), "review\n\n<stdin>\na\nb\n</stdin>");
    }
}
