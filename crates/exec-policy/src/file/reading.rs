//! From TOML to rules.

use std::ops::Range;

use toml_edit::{Document, Item, Key, TableLike, Value};

use super::{Fault, RulesFile};
use crate::rule::{MOST_ELEMENTS, Rule};
use crate::verdict::Verdict;

/// The largest file, and the most rules in it.
const LARGEST: usize = 1 << 20;
const MOST_RULES: usize = 1000;

const FILE_KEYS: [&str; 3] = ["default", "trust_projects", "rule"];
const RULE_KEYS: [&str; 6] = ["command", "verdict", "writes", "why", "matches", "except"];

/// Reads everything, and collects what is wrong.
pub(super) fn read(text: &str, name: &str) -> Result<RulesFile, Vec<Fault>> {
    if text.len() > LARGEST {
        return Err(vec![Fault { line: 1, message: format!("the file has more than {LARGEST} bytes") }]);
    }
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        vec![Fault { line, message: format!("this is not TOML: {}", error.message().trim()) }]
    })?;
    let mut reader = Reader { text, faults: Vec::new() };
    let file = reader.file(document.as_table(), name);
    if reader.faults.is_empty() { Ok(file) } else { Err(reader.faults) }
}

struct Reader<'t> {
    text: &'t str,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn file(&mut self, table: &dyn TableLike, name: &str) -> RulesFile {
        self.check_keys(table, &FILE_KEYS);
        let default = table.get("default").and_then(|item| self.verdict("default", item));
        let trust_projects =
            table.get("trust_projects").is_some_and(|item| self.switch("trust_projects", item));
        let rules = table.get("rule").map(|item| self.rules(item)).unwrap_or_default();
        RulesFile { name: name.to_owned(), default, trust_projects, rules }
    }

    fn rules(&mut self, item: &Item) -> Vec<Rule> {
        let Some(tables) = item.as_array_of_tables() else {
            self.fault(item.span(), "rules are written as tables that begin with a line `[[rule]]`");
            return Vec::new();
        };
        if tables.len() > MOST_RULES {
            self.fault(tables.span(), &format!("there are more than {MOST_RULES} rules"));
            return Vec::new();
        }
        tables.iter().filter_map(|table| self.rule(table, table.span())).collect()
    }

    fn rule(&mut self, table: &dyn TableLike, span: Option<Range<usize>>) -> Option<Rule> {
        self.check_keys(table, &RULE_KEYS);
        let line = span.clone().map_or(1, |span| line_of(self.text, span.start));
        let command = match table.get("command") {
            Some(item) => self.command(item),
            None => {
                self.fault(span.clone(), "a rule needs a command, such as `command = [\"git\", \"push\"]`");
                None
            }
        };
        let verdict = match table.get("verdict") {
            Some(item) => self.verdict("verdict", item),
            None => {
                self.fault(span, "a rule needs a verdict: `verdict = \"allow\"`, `\"ask\"` or `\"forbid\"`");
                None
            }
        };
        let writes = table.get("writes").is_some_and(|item| self.writes(item, verdict));
        let why = table.get("why").and_then(|item| self.text(item, "`why` is a text in quotes"));
        let matches = self.examples(table.get("matches"), "matches");
        let except = self.examples(table.get("except"), "except");
        Some(Rule { command: command?, verdict: verdict?, writes, why, matches, except, line })
    }

    /// Whether a rule also lets its commands write files. That says something only where it allows them.
    fn writes(&mut self, item: &Item, verdict: Option<Verdict>) -> bool {
        let writes = self.switch("writes", item);
        if writes && verdict.is_some_and(|verdict| verdict > Verdict::Allow) {
            self.fault(item.span(), "`writes` belongs in a rule with `verdict = \"allow\"`");
        }
        writes
    }

    fn switch(&mut self, key: &str, item: &Item) -> bool {
        if item.as_bool().is_none() {
            self.fault(item.span(), &format!("`{key}` is `true` or `false`"));
        }
        item.as_bool().unwrap_or_default()
    }

    fn command(&mut self, item: &Item) -> Option<Vec<Vec<String>>> {
        const SHAPE: &str = "`command` is a list of words, such as `command = [\"git\", \"push\"]`";
        let Some(array) = item.as_array() else {
            let advice = match item.as_str() {
                Some(text) => {
                    let words: Vec<String> =
                        text.split_whitespace().map(|word| format!("{word:?}")).collect();
                    format!("`command` is a list of words: write `command = [{}]`", words.join(", "))
                }
                None => SHAPE.to_owned(),
            };
            self.fault(item.span(), &advice);
            return None;
        };
        if array.is_empty() || array.len() > MOST_ELEMENTS {
            let advice =
                format!("`command` names between 1 and {MOST_ELEMENTS} words, beginning with the program");
            self.fault(item.span(), &advice);
            return None;
        }
        let elements: Vec<Option<Vec<String>>> = array.iter().map(|value| self.element(value)).collect();
        elements.into_iter().collect()
    }

    /// A word, or a list of words that may stand there.
    fn element(&mut self, value: &Value) -> Option<Vec<String>> {
        const SHAPE: &str = "a word of `command` is a text, or a list of texts any of which may stand there";
        let words: Option<Vec<String>> = match value {
            Value::String(word) => Some(vec![word.value().clone()]),
            Value::Array(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let Some(words) = words.filter(|words| !words.is_empty()) else {
            self.fault(value.span(), SHAPE);
            return None;
        };
        if let Some(word) = words.iter().find(|word| word.is_empty() || word.contains(char::is_whitespace)) {
            let advice = if word.is_empty() {
                "a word of `command` is empty".to_owned()
            } else {
                let parts: Vec<String> = word.split_whitespace().map(|part| format!("{part:?}")).collect();
                format!("{word:?} is more than one word: write {}", parts.join(", "))
            };
            self.fault(value.span(), &advice);
            return None;
        }
        Some(words)
    }

    fn verdict(&mut self, key: &str, item: &Item) -> Option<Verdict> {
        let written = item.as_str();
        let found = Verdict::ALL.into_iter().find(|verdict| Some(verdict.word()) == written);
        if found.is_none() {
            let words = Verdict::ALL.map(Verdict::word);
            let meant = written.and_then(|written| closest(written, &words));
            let meant = meant.map(|word| format!("; did you mean \"{word}\"?")).unwrap_or_default();
            self.fault(item.span(), &format!("`{key}` is \"allow\", \"ask\" or \"forbid\"{meant}"));
        }
        found
    }

    fn examples(&mut self, item: Option<&Item>, key: &str) -> Vec<String> {
        let Some(item) = item else { return Vec::new() };
        let shape = format!("`{key}` is a list of commands, such as `{key} = [\"git push origin main\"]`");
        let texts = item.as_array().map(|array| array.iter().map(|value| value.as_str().map(str::to_owned)));
        match texts.and_then(Iterator::collect::<Option<Vec<String>>>) {
            Some(examples) => examples,
            None => {
                self.fault(item.span(), &shape);
                Vec::new()
            }
        }
    }

    fn text(&mut self, item: &Item, shape: &str) -> Option<String> {
        if item.as_str().is_none() {
            self.fault(item.span(), shape);
        }
        item.as_str().map(str::to_owned)
    }

    fn check_keys(&mut self, table: &dyn TableLike, known: &[&str]) {
        for (name, _) in table.iter().filter(|(name, _)| !known.contains(name)) {
            let span = table.key(name).and_then(Key::span);
            if FILE_KEYS.contains(&name) {
                let advice =
                    "TOML puts what follows a line `[[rule]]` into that rule; write it above the first one";
                self.fault(
                    span,
                    &format!("`{name}` is about the whole file, but stands in a rule: {advice}"),
                );
                continue;
            }
            let meant = match closest(name, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "there are {}",
                    known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
                ),
            };
            self.fault(span, &format!("`{name}` is not known here; {meant}"));
        }
    }

    fn fault(&mut self, span: Option<Range<usize>>, message: &str) {
        let line = span.map_or(1, |span| line_of(self.text, span.start));
        self.faults.push(Fault { line, message: message.to_owned() });
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The word that was probably meant: one that takes at most two changes, or begins the same.
fn closest<'w>(written: &str, words: &[&'w str]) -> Option<&'w str> {
    let written = written.to_ascii_lowercase();
    let close = words.iter().map(|word| (distance(&written, word), *word)).min()?;
    let begins = words
        .iter()
        .find(|word| word.len() > 2 && (written.starts_with(**word) || word.starts_with(&written)));
    if close.0 <= 2 && !written.is_empty() {
        Some(close.1)
    } else {
        begins.copied().filter(|_| written.len() > 2)
    }
}

/// How many letters must be changed, added or removed. Long words are not worth comparing.
fn distance(one: &str, other: &str) -> usize {
    const LONGEST: usize = 40;
    if one.len() > LONGEST {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], line + 1);
        for (column, against) in other.chars().enumerate() {
            let changed = diagonal + usize::from(letter != against);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
