//! The rules file: TOML that people write and read. Every fault names its line and the correct form, and all faults of
//! a file are reported at once.

mod reading;

use crate::examples;
use crate::rule::Rule;
use crate::verdict::Verdict;

/// A rules file that was read and whose examples hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesFile {
    /// Its name, for people.
    pub(crate) name: String,
    /// The verdict for commands that no rule matches.
    pub(crate) default: Option<Verdict>,
    /// Whether files of projects may also loosen things.
    pub(crate) trust_projects: bool,
    pub(crate) rules: Vec<Rule>,
}

/// Something wrong in a rules file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct Fault {
    /// The line, counted from one.
    pub line: usize,
    /// The fault, and the text to write instead.
    pub message: String,
}

impl RulesFile {
    /// Reads a file's text and checks its rules against their examples. `name`: the name of the file in messages.
    pub fn parse(text: &str, name: &str) -> Result<Self, Vec<Fault>> {
        let file = reading::read(text, name)?;
        let faults = examples::check(&file.rules);
        if faults.is_empty() { Ok(file) } else { Err(faults) }
    }

    /// The same rules, with the other file's default for commands that no rule matches; never less strict.
    #[must_use]
    pub fn with_default_of(mut self, other: &Self) -> Self {
        self.default = self.default.max(other.default);
        self
    }

    /// The same for a file of a project, which cannot decide for its user.
    pub fn parse_project(text: &str, name: &str) -> Result<Self, Vec<Fault>> {
        let file = Self::parse(text, name)?;
        if file.trust_projects {
            let message =
                "`trust_projects` belongs in your own rules file; a project cannot trust itself".to_owned();
            return Err(vec![Fault { line: 1, message }]);
        }
        Ok(file)
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// How many examples were checked.
    pub fn example_count(&self) -> usize {
        self.rules.iter().map(|rule| rule.matches.len() + rule.except.len()).sum()
    }
}
