//! The judgement on a command: the verdict, and for each of its parts the rule or reason behind it.

use std::fmt;

/// The verdict on a command: allow, ask or forbid. Later variants are stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It may run.
    #[default]
    Allow,
    /// A person is asked first.
    Ask,
    /// It may not run.
    Forbid,
}

impl Verdict {
    /// As it is written in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Forbid => "forbid",
        }
    }

    pub(crate) const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Forbid];
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The strictest verdict of the parts.
    pub verdict: Verdict,
    /// Every command that was found, in order.
    pub parts: Vec<JudgedCommand>,
}

/// One command among those that a script can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedCommand {
    /// The command, as it would be typed; shortened.
    pub text: String,
    /// The wrappers around it, such as `sudo` or `sh -c`, outermost first.
    pub within: Vec<String>,
    /// The verdict on this part.
    pub verdict: Verdict,
    /// The rule or other reason for the verdict.
    pub reason: Reason,
}

/// Why a part got its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A rule matches it.
    Rule(RuleSource),
    /// No rule matches it, and this is the file with the default; or no file has one.
    Default(Option<String>),
    /// It is not understood, or hides the command that it runs; why.
    Doubt(String),
    /// It runs nothing by itself.
    Harmless(&'static str),
}

/// A rule that matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleSource {
    /// The file it stands in.
    pub file: String,
    /// The line it begins at.
    pub line: usize,
    /// The beginning of the commands that it matches.
    pub command: String,
    /// Why, in its author's words.
    pub why: Option<String>,
}

/// How much of a command is shown.
const SHOWN: usize = 200;

impl Judgement {
    pub(crate) fn of(parts: Vec<JudgedCommand>) -> Self {
        let verdict = parts.iter().map(|part| part.verdict).max().unwrap_or_default();
        Self { verdict, parts }
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        Self::of(self.parts)
    }

    /// The parts that made the verdict what it is.
    pub fn decisive(&self) -> impl Iterator<Item = &JudgedCommand> {
        self.parts.iter().filter(|part| part.verdict == self.verdict)
    }

    /// Whether rules could change the verdict: doubtful commands are asked about whatever rules allow.
    pub fn is_up_to_rules(&self) -> bool {
        !self.decisive().any(|part| matches!(part.reason, Reason::Doubt(_)))
    }

    /// The decisive parts, one line each; not more than a reader wants to see.
    pub fn explanation(&self) -> String {
        const MOST: usize = 5;
        let lines: Vec<String> = self.decisive().map(ToString::to_string).collect();
        let mut text = lines[..lines.len().min(MOST)].join("\n");
        if lines.len() > MOST {
            text.push_str(&format!("\nand {} more", lines.len() - MOST));
        }
        text
    }
}

impl JudgedCommand {
    pub(crate) fn new(text: &str, within: &[String], (verdict, reason): (Verdict, Reason)) -> Self {
        Self { text: shortened(text), within: within.to_vec(), verdict, reason }
    }
}

impl fmt::Display for JudgedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.text)?;
        if !self.within.is_empty() {
            write!(f, " (in {})", self.within.join(", "))?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(speaker) => speaker.fmt(f),
            Self::Default(Some(file)) => write!(f, "no rule speaks of it, and this is the default of {file}"),
            Self::Default(None) => f.write_str("no rule speaks of it"),
            Self::Doubt(why) => f.write_str(why),
            Self::Harmless(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for RuleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} at {}:{}", self.command, self.file, self.line)?;
        match &self.why {
            Some(why) => write!(f, ": {why}"),
            None => Ok(()),
        }
    }
}

/// One line of bounded length.
pub(crate) fn shortened(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN + 1).collect();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
