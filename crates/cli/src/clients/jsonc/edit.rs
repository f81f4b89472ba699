//! Small edits of a JSON text: add a member, remove a member, replace a value. Everything else stays as it is, and new
//! text is laid out like its neighbours.

use serde_json::Value;

use super::scan::{Kind, Member, Node};

/// A value to write, with its members in the order in which they are written.
#[derive(Debug)]
pub(super) enum Shape<'a> {
    Value(&'a Value),
    Object(Vec<(&'a str, Shape<'a>)>),
}

/// Adds a member at the end of an object. The root is needed for the layout.
pub(super) fn add(text: &str, (root, object): (&Node, &Node), name: &str, shape: &Shape<'_>) -> String {
    let layout = Layout::of(text, root);
    let inside = &text[object.span.clone()];
    match object.members().last() {
        None => add_first(text, (&layout, object), name, shape),
        Some(last) if !inside.contains('\n') => {
            let at = last.comma.map_or(last.value.span.end, |comma| comma + 1);
            let (before, after) = if last.comma.is_some() { (" ", ",") } else { (", ", "") };
            let member = format!("{before}{}: {}{after}", quoted(name), compact(shape));
            spliced(text, &[(at..at, member)])
        }
        Some(last) => add_after(text, (&layout, last), &layout.member_indent(object), (name, shape)),
    }
}

/// Replaces a value by another one.
pub(super) fn replace(text: &str, (root, old): (&Node, &Node), shape: &Shape<'_>) -> String {
    let layout = Layout::of(text, root);
    let indent = layout.line_indent(old.span.start).to_owned();
    spliced(text, &[(old.span.clone(), layout.render(shape, &indent))])
}

/// Removes a member, and the comma that is then superfluous.
pub(super) fn remove(text: &str, object: &Node, name: &str) -> String {
    let Kind::Object(members) = &object.kind else { return text.to_owned() };
    let Some(index) = members.iter().rposition(|member| member.name == name) else { return text.to_owned() };
    let member = &members[index];
    let start = text[..member.start].trim_end().len();
    let end = member.comma.map_or(member.value.span.end, |comma| comma + 1);
    let kept = |range: std::ops::Range<usize>| text[range].trim().is_empty();
    if members.len() == 1 && kept(object.span.start + 1..member.start) && kept(end..object.span.end - 1) {
        return spliced(text, &[(object.span.clone(), "{}".to_owned())]);
    }
    // A line comment before the member needs the end of its line, so the newline stays.
    let rest = text[end..].trim_start_matches([' ', '\t']);
    let blank = if rest.starts_with(['\n', '\r']) { "" } else { "\n" };
    let blank = if text[start..member.start].contains('\n') { blank } else { "" };
    let mut changes = vec![(start..end, blank.to_owned())];
    let before = index.checked_sub(1).and_then(|before| members[before].comma);
    if let (Some(comma), None) = (before, member.comma) {
        changes.insert(0, (comma..comma + 1, String::new()));
    }
    spliced(text, &changes)
}

/// Adds the first member of an object, after any comments in it.
fn add_first(text: &str, (layout, object): (&Layout<'_>, &Node), name: &str, shape: &Shape<'_>) -> String {
    let closing = object.span.end - 1;
    let comments = text[object.span.start + 1..closing].trim_end().len();
    let at = object.span.start + 1 + comments;
    let outer = layout.line_indent(object.span.start);
    let inner = format!("{outer}{}", layout.unit);
    let newline = layout.newline;
    let member = format!("{newline}{inner}{}: {}", quoted(name), layout.render(shape, &inner));
    let kept = &text[at..closing];
    let ending =
        if comments > 0 && kept.contains('\n') { kept.to_owned() } else { format!("{newline}{outer}") };
    spliced(text, &[(at..closing, member + &ending)])
}

/// Adds a member on its own line after the last one, whose comment stays beside it.
fn add_after(
    text: &str,
    (layout, last): (&Layout<'_>, &Member),
    indent: &str,
    (name, shape): (&str, &Shape<'_>),
) -> String {
    let member = format!("{}{indent}{}: {}", layout.newline, quoted(name), layout.render(shape, indent));
    match last.comma {
        // If the object had a trailing comma, it still has one.
        Some(comma) => {
            let at = end_of_comments(text, comma + 1);
            spliced(text, &[(at..at, member + ",")])
        }
        None => {
            let end = last.value.span.end;
            let at = end_of_comments(text, end);
            spliced(text, &[(end..end, ",".to_owned()), (at..at, member)])
        }
    }
}

/// The end of the comments that follow on the same line.
fn end_of_comments(text: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let rest = &text[end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest = &rest[blanks..];
        if rest.starts_with("//") {
            let line = rest.split('\n').next().unwrap_or_default();
            return end + blanks + line.trim_end_matches('\r').len();
        }
        match rest.starts_with("/*").then(|| rest.find("*/")).flatten() {
            Some(length) => end += blanks + length + 2,
            None => return end,
        }
    }
}

/// The layout of a text.
struct Layout<'a> {
    text: &'a str,
    unit: &'a str,
    newline: &'static str,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str, root: &Node) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mut layout = Self { text, unit: "  ", newline };
        let unit = root.members().first().and_then(|member| layout.own_line_indent(member.start));
        layout.unit = unit.filter(|unit| !unit.is_empty()).unwrap_or("  ");
        layout
    }

    /// The blanks at the beginning of the line with this byte.
    fn line_indent(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = &self.text[start..];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// The same, if nothing else stands before that byte.
    fn own_line_indent(&self, at: usize) -> Option<&'a str> {
        let start = self.text[..at].rfind('\n')? + 1;
        let before = &self.text[start..at];
        before.trim_start_matches([' ', '\t']).is_empty().then_some(before)
    }

    /// How the members of an object are indented.
    fn member_indent(&self, object: &Node) -> String {
        let own = object.members().iter().rev().find_map(|member| self.own_line_indent(member.start));
        own.map_or_else(|| format!("{}{}", self.line_indent(object.span.start), self.unit), str::to_owned)
    }

    fn render(&self, shape: &Shape<'_>, indent: &str) -> String {
        let Shape::Object(members) = shape else { return compact(shape) };
        let inner = format!("{indent}{}", self.unit);
        let line = |(name, shape): &(&str, Shape<'_>)| {
            format!("{}{inner}{}: {}", self.newline, quoted(name), self.render(shape, &inner))
        };
        let lines: Vec<String> = members.iter().map(line).collect();
        format!("{{{}{}{indent}}}", lines.join(","), self.newline)
    }
}

fn compact(shape: &Shape<'_>) -> String {
    match shape {
        Shape::Object(members) => {
            let members = members.iter().map(|(name, shape)| format!("{}: {}", quoted(name), compact(shape)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        Shape::Value(Value::Array(items)) => {
            format!("[{}]", items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
        Shape::Value(value) => value.to_string(),
    }
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

/// The text with each of these ranges, in order, replaced.
fn spliced(text: &str, changes: &[(std::ops::Range<usize>, String)]) -> String {
    let (mut edited, mut at) = (String::with_capacity(text.len()), 0);
    for (range, replacement) in changes {
        edited.push_str(&text[at..range.start]);
        edited.push_str(replacement);
        at = range.end;
    }
    edited + &text[at..]
}
