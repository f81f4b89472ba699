//! The entry of windlass in Goose's YAML: `windlass` under the top level's `extensions`. This file reads only a small
//! part of YAML: the lines of a block mapping and their indentation. It rejects everything else instead of guessing.
//!
//! Goose writes this file itself, sorted and in its own style; an entry that Goose rewrote is recognised.

use std::ops::Range;

use serde_json::Value;

use super::{Broken, Field, SERVER_NAME, When};

/// The mapping with all servers.
const EXTENSIONS: &str = "extensions";
const UNIT: &str = "  ";

/// Inserts the entry. An existing entry keeps the fields that its user may choose.
pub(super) fn insert(text: &str, fields: &[Field]) -> Result<String, Broken> {
    let lines = Line::all(text);
    match YamlPosition::find(&lines)? {
        YamlPosition::NoList => Ok(appended(text, fields)),
        YamlPosition::Empty { line } => {
            let written = format!("{EXTENSIONS}:{}", lines[line].comment()) + newline(text);
            let block = block(fields, UNIT, newline(text));
            Ok(replaced(&lines, &(line..line + 1), &(written + &block)))
        }
        // The entry becomes the first one, because the end of the last entry is not certain without parsing all of
        // YAML.
        YamlPosition::NoEntry { first, indent } => {
            Ok(replaced(&lines, &(first..first), &block(fields, &" ".repeat(indent), newline(text))))
        }
        YamlPosition::Entry { lines: entry, .. } => updated(text, &lines, entry, fields),
    }
}

/// Removes the entry, and the list too if nothing else is in it.
pub(super) fn remove(text: &str) -> Result<String, Broken> {
    let lines = Line::all(text);
    let YamlPosition::Entry { lines: entry, list, alone } = YamlPosition::find(&lines)? else {
        return Ok(text.to_owned());
    };
    let without = replaced(&lines, &entry, "");
    if !alone {
        return Ok(without);
    }
    let lines = Line::all(&without);
    Ok(replaced(&lines, &(list..list + 1), ""))
}

/// A line, including its line end.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    text: &'a str,
}

impl<'a> Line<'a> {
    fn all(text: &'a str) -> Vec<Self> {
        text.split_inclusive('\n').map(|text| Self { text }).collect()
    }

    /// The line without its indentation and line end.
    fn content(self) -> &'a str {
        self.text.trim()
    }

    fn indent(self) -> usize {
        self.text.len() - self.text.trim_start_matches(' ').len()
    }

    /// Whether the line has content besides blanks and comments.
    fn counts(self) -> bool {
        !self.content().is_empty() && !self.content().starts_with('#')
    }

    /// The key of a `key: value` line.
    fn key(self) -> Option<&'a str> {
        let content = self.content();
        for quote in ['"', '\''] {
            if let Some(rest) = content.strip_prefix(quote) {
                let (key, rest) = rest.split_once(quote)?;
                return rest.trim_start().starts_with(':').then_some(key);
            }
        }
        let (key, rest) = content.split_once(':')?;
        let ends = rest.is_empty() || rest.starts_with([' ', '\t']);
        let plain =
            !key.is_empty() && !key.starts_with(['-', '?', '[', '{', '&', '*', '!', '|', '>', '%', '@']);
        (ends && plain).then_some(key.trim_end())
    }

    /// The text after the key, without a comment.
    fn value(self) -> &'a str {
        let rest = self.key().and_then(|key| {
            let content = self.content();
            let after = content.find(key)? + key.len();
            content[after..].split_once(':').map(|(_, rest)| rest.trim())
        });
        without_comment(rest.unwrap_or_default())
    }

    /// The comment at the end of the line, with the blank before it.
    fn comment(self) -> &'a str {
        let content = self.text.trim_end();
        content.find(" #").map_or("", |at| &content[at..])
    }
}

/// Where the text has an entry of windlass. Numbers are line numbers.
enum YamlPosition {
    NoList,
    /// The list is present and empty.
    Empty {
        line: usize,
    },
    NoEntry {
        first: usize,
        indent: usize,
    },
    Entry {
        lines: Range<usize>,
        list: usize,
        alone: bool,
    },
}

impl YamlPosition {
    fn find(lines: &[Line<'_>]) -> Result<Self, Broken> {
        check(lines)?;
        let is_list = |line: &Line<'_>| line.indent() == 0 && line.key() == Some(EXTENSIONS);
        let mut lists = lines.iter().enumerate().filter(|(_, line)| is_list(line)).map(|(at, _)| at);
        let Some(list) = lists.next() else { return Ok(Self::NoList) };
        if let Some(again) = lists.next() {
            return Err(broken(again, format!("`{EXTENSIONS}` is here a second time")));
        }
        let first = list + 1;
        let below = |line: &Line<'_>| !line.counts() || line.indent() > 0 || line.content().starts_with('-');
        let end = first + lines[first..].iter().take_while(|line| below(line)).count();
        let child = lines[first..end].iter().position(|line| line.counts()).map(|at| first + at);
        match (lines[list].value(), child) {
            ("" | "{}" | "null" | "~", None) => Ok(Self::Empty { line: list }),
            ("", Some(child)) => Self::below(lines, (list, end), child),
            _ => Err(broken(list, format!("`{EXTENSIONS}` is not written as one entry per line"))),
        }
    }

    /// Looks for the entry of windlass in the list.
    fn below(lines: &[Line<'_>], (list, end): (usize, usize), child: usize) -> Result<Self, Broken> {
        let indent = lines[child].indent();
        if lines[child].key().is_none() || indent == 0 {
            return Err(broken(child, format!("this is no entry of `{EXTENSIONS}`")));
        }
        let is_entry = |line: &Line<'_>| line.counts() && line.indent() <= indent;
        let is_ours = |line: &Line<'_>| is_entry(line) && line.key() == Some(SERVER_NAME);
        let Some(start) = (child..end).find(|at| is_ours(&lines[*at])) else {
            return Ok(Self::NoEntry { first: list + 1, indent });
        };
        let next = (start + 1..end).find(|at| is_entry(&lines[*at])).unwrap_or(end);
        // Blank lines and comments before the next entry belong to that one.
        let last = (start..next).rfind(|at| lines[*at].counts()).unwrap_or(start);
        let alone = (child..end).filter(|at| is_entry(&lines[*at])).count() == 1;
        Ok(Self::Entry { lines: start..last + 1, list, alone })
    }
}

/// Rejects text that is certainly no block mapping.
fn check(lines: &[Line<'_>]) -> Result<(), Broken> {
    let mut documents = 0;
    for (at, line) in lines.iter().enumerate() {
        let content = line.content();
        let blanks = &line.text[..line.text.len() - line.text.trim_start_matches([' ', '\t']).len()];
        if line.counts() && blanks.contains('\t') {
            return Err(broken(at, "a line is indented with a tab".to_owned()));
        }
        if !line.counts() || line.indent() > 0 {
            continue;
        }
        let is_start = content == "---" || content.starts_with("--- ");
        documents += usize::from(is_start);
        if documents > 1 || content == "..." || is_start && lines[..at].iter().any(|line| line.counts()) {
            return Err(broken(at, "the file holds more than one document".to_owned()));
        }
        // A list may stand at its key's own level, and a bracket close there.
        let plain = is_start || content.starts_with(['-', '}', ']', '%']) || line.key().is_some();
        if !plain {
            return Err(broken(at, "this is no `key: value`".to_owned()));
        }
    }
    Ok(())
}

fn broken(line: usize, what: String) -> Broken {
    Broken { line: line + 1, what }
}

fn appended(text: &str, fields: &[Field]) -> String {
    let newline = newline(text);
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
    format!("{text}{gap}{EXTENSIONS}:{newline}{}", block(fields, UNIT, newline))
}

/// The entry of windlass as lines.
fn block(fields: &[Field], indent: &str, newline: &str) -> String {
    let line = |field: &Field| format!("{indent}{UNIT}{}: {}{newline}", field.name, written(&field.value));
    format!("{indent}{SERVER_NAME}:{newline}") + &fields.iter().map(line).collect::<String>()
}

/// Sets the fields that must be set in the existing entry.
fn updated(text: &str, lines: &[Line<'_>], entry: Range<usize>, fields: &[Field]) -> Result<String, Broken> {
    let Some(inner) = lines[entry.start + 1..entry.end].iter().find(|line| line.counts()) else {
        return Err(broken(entry.start, format!("`{SERVER_NAME}` is not written as one line per value")));
    };
    let indent = inner.indent();
    let mut edited = text.to_owned();
    for field in fields {
        let lines = Line::all(&edited);
        let YamlPosition::Entry { lines: entry, .. } = YamlPosition::find(&lines)? else { break };
        let Some(range) = to_write(&lines, entry.start + 1..entry.end, indent, field) else { continue };
        let new = format!("{}{}: {}{}", " ".repeat(indent), field.name, written(&field.value), newline(text));
        edited = replaced(&lines, &range, &new);
    }
    Ok(edited)
}

/// The lines of an entry that a field replaces; `None` if the field may stay as it is.
fn to_write(lines: &[Line<'_>], body: Range<usize>, indent: usize, field: &Field) -> Option<Range<usize>> {
    let is_field = |at: &usize| lines[*at].indent() == indent && lines[*at].key() == Some(field.name);
    let Some(start) = body.clone().find(is_field) else { return Some(body.end..body.end) };
    let belongs = |at: &usize| {
        let line = lines[*at];
        !line.counts() || line.indent() > indent || line.content().starts_with('-')
    };
    let end = start + 1 + (start + 1..body.end).take_while(belongs).count();
    let stays = field.when == When::Absent || said(&lines[start..end]).as_ref() == Some(&field.value);
    (!stays).then_some(start..end)
}

/// The value in the lines of a field, if it is a word or a list of words.
fn said(lines: &[Line<'_>]) -> Option<Value> {
    let (first, rest) = lines.split_first()?;
    let value = first.value();
    if let Some(inside) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        // Values in JSON syntax are parsed as JSON; words without quotes are strings.
        let plain = || inside.split(',').map(|item| scalar(item.trim())).collect::<Option<_>>();
        return serde_json::from_str(value).ok().or_else(plain);
    }
    if !value.is_empty() {
        return scalar(value);
    }
    let items = rest.iter().filter(|line| line.counts());
    let items = items.map(|line| scalar(without_comment(line.content().strip_prefix('-')?.trim())));
    items.collect()
}

fn scalar(text: &str) -> Option<Value> {
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    if let Some(inside) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Some(inside.replace("''", "'").into());
    }
    Some(text.into())
}

/// A value without the comment behind it; a `#` in quotes starts no comment.
fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    let mut comments = value.match_indices(" #").map(|(at, _)| value[..at].trim_end());
    let closing = value.chars().next().and_then(|first| match first {
        '"' | '\'' => Some(first),
        '[' => Some(']'),
        _ => None,
    });
    comments.find(|before| closing.is_none_or(|closing| before.ends_with(closing))).unwrap_or(value)
}

/// A value in a form that all YAML parsers read alike: strings as in JSON, which is also YAML.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Value::String(text) if is_plain(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Words that need no quotes.
fn is_plain(text: &str) -> bool {
    let letters = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let known = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    letters && known && !words.contains(&text.to_ascii_lowercase().as_str())
}

/// The lines with some of them replaced.
fn replaced(lines: &[Line<'_>], range: &Range<usize>, new: &str) -> String {
    let join = |lines: &[Line<'_>]| lines.iter().map(|line| line.text).collect::<String>();
    let mut before = join(&lines[..range.start]);
    if !new.is_empty() && !before.is_empty() && !before.ends_with('\n') {
        before.push('\n');
    }
    before + new + &join(&lines[range.end..])
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ours(arguments: &[&str]) -> Vec<Field> {
        let field = |name, value, when| Field { name, value, when };
        vec![
            field("enabled", json!(true), When::Absent),
            field("type", json!("stdio"), When::Always),
            field("cmd", json!("/opt/a b/windlass"), When::Always),
            field("args", json!(arguments), When::Always),
        ]
    }

    fn entry(indent: &str) -> String {
        let lines = [
            "windlass:",
            "  enabled: true",
            "  type: stdio",
            "  cmd: \"/opt/a b/windlass\"",
            "  args: [mcp]",
        ];
        lines.iter().map(|line| format!("{indent}{line}\n")).collect()
    }

    /// Inserts the entry and removes it again, and checks that a second insertion changes nothing.
    fn check(before: &str, after: &str) {
        let inserted = insert(before, &ours(&["mcp"])).expect("it can be edited");
        assert_eq!(inserted, after);
        assert_eq!(insert(&inserted, &ours(&["mcp"])).as_ref(), Ok(&inserted), "the second time");
        assert_eq!(remove(&inserted).as_deref(), Ok(before), "after removing");
    }

    #[test]
    fn an_entry_joins_others_and_leaves_no_trace() {
        check("", &format!("extensions:\n{}", entry("  ")));
        check("A: 1 # one\n", &format!("A: 1 # one\nextensions:\n{}", entry("  ")));
        let head = "# Mine.\nGOOSE_MODEL: 'x: y'\nPATHS:\n- a\n- b\nextensions: # all of them\n";
        let tail = "    # about a\n    developer:\n        name: developer\n        text: |\n            # not a comment\n\nz: 1\n";
        check(&format!("{head}{tail}"), &format!("{head}{}{tail}", entry("    ")));
    }

    #[test]
    fn an_empty_list_is_filled() {
        for empty in ["extensions: {}\nz: 1\n", "extensions:\nz: 1\n", "extensions: null\nz: 1\n"] {
            let inserted = insert(empty, &ours(&["mcp"])).expect("it can be edited");
            assert_eq!(inserted, format!("extensions:\n{}z: 1\n", entry("  ")));
            assert_eq!(remove(&inserted).as_deref(), Ok("z: 1\n"));
        }
    }

    #[test]
    fn what_goose_rewrote_is_recognised_and_what_is_its_owners_stays() {
        let before = "extensions:\n  windlass:\n    args:\n    - mcp\n    bundled: null\n    cmd: '/opt/a b/windlass' # here\n    enabled: false\n    type: stdio\n  z:\n    name: z\n";
        assert_eq!(insert(before, &ours(&["mcp"])).as_deref(), Ok(before));
        let after = insert(before, &ours(&["mcp", "--profile"])).expect("it can be edited");
        assert_eq!(after, before.replace("args:\n    - mcp\n", "args: [mcp, \"--profile\"]\n"));
        assert_eq!(remove(before).as_deref(), Ok("extensions:\n  z:\n    name: z\n"));
    }

    #[test]
    fn a_text_that_is_not_understood_is_refused_with_its_line() {
        for (text, line) in [
            ("A: 1\nnonsense\n", 2),
            ("extensions:\n\ta: 1\n", 2),
            ("extensions: {a: {b: c}}\n", 1),
            ("extensions:\n- a\n", 2),
            ("extensions:\n  a:\n    b: 1\nextensions:\n", 4),
            ("a: 1\n---\nb: 2\n", 2),
            ("{\"extensions\": {}}\n", 1),
            ("extensions:\n  windlass: {}\n", 2),
        ] {
            let broken = insert(text, &ours(&[])).expect_err(text);
            assert_eq!(broken.line, line, "{text:?} {broken}");
        }
    }
}
