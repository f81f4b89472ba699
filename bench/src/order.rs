//! The work of one side in one round, and its settings, as words. Both sides get the same ones.

use anyhow::{Context, Result};
use std::fmt::Display;
use std::str::FromStr;

/// A work and its settings.
#[derive(Clone, Debug)]
pub(crate) struct WorkSpec {
    pub(crate) work: String,
    settings: Vec<(String, String)>,
}

/// Reads an order from a command line.
pub(crate) fn parse(words: &[String]) -> Result<WorkSpec> {
    let (work, rest) = words.split_first().context("a work is missing")?;
    let pair = |word: &String| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    let settings: Option<_> = rest.iter().map(pair).collect();
    Ok(WorkSpec { work: work.clone(), settings: settings.context("a setting is name=value")? })
}

impl WorkSpec {
    pub(crate) fn new(work: &str) -> Self {
        Self { work: work.to_owned(), settings: Vec::new() }
    }

    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// As words on a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let settings = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        std::iter::once(self.work.clone()).chain(settings).collect()
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        let found = self.settings.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str()).with_context(|| format!("`{name}=` is missing"))
    }

    pub(crate) fn number<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name)?;
        text.parse().ok().with_context(|| format!("`{name}={text}` is no number"))
    }
}
