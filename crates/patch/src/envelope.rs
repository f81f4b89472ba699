//! Finds a patch between its Begin and End markers, and removes the wrappings that models put around them (fences,
//! here-documents, explanations). Only text that must be wrapping is removed. A missing marker is an error, because a
//! patch that was cut off in the middle must not be applied.

use crate::parse::ParseError;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";

/// The lines between the markers.
pub(crate) struct Envelope<'a> {
    pub(crate) lines: Vec<&'a str>,
    pub(crate) ignored: Ignored,
}

/// The number of ignored lines around a patch, apart from wrappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ignored {
    pub(crate) before: usize,
    pub(crate) after: usize,
}

/// Finds the patch in a text.
pub(crate) fn open(text: &str) -> Result<Envelope<'_>, ParseError> {
    let all: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    let mut lines = without_blank_ends(&all);
    while let Some(inner) = unfenced(lines).or_else(|| without_heredoc(lines)) {
        lines = without_blank_ends(inner);
    }
    if let [first, inner @ .., last] = lines
        && first.trim() == BEGIN
        && last.trim() == END
    {
        return Ok(Envelope { lines: inner.to_vec(), ignored: Ignored::default() });
    }
    between_markers(lines)
}

/// The patch in the middle of other text, if there is only one. Indented markers may be lines of a file, so they count
/// only as the first or the last line.
fn between_markers<'a>(lines: &[&'a str]) -> Result<Envelope<'a>, ParseError> {
    let last = lines.len().saturating_sub(1);
    let is_marker = |at: usize, line: &str, marker: &str| {
        line.trim_end() == marker || ((at == 0 || at == last) && line.trim() == marker)
    };
    let begin = only(lines, |at, line| is_marker(at, line, BEGIN)).ok_or(ParseError::NoBegin)?;
    let end = only(lines, |at, line| is_marker(at, line, END)).ok_or(ParseError::NoEnd)?;
    if end < begin {
        return Err(ParseError::NoEnd);
    }
    let ignored = Ignored { before: begin, after: lines.len() - 1 - end };
    Ok(Envelope { lines: lines[begin + 1..end].to_vec(), ignored })
}

/// The position of the only line that passes.
fn only(lines: &[&str], passes: impl Fn(usize, &str) -> bool) -> Option<usize> {
    let mut found = lines.iter().enumerate().filter(|(at, line)| passes(*at, line)).map(|(at, _)| at);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The lines inside a markdown fence that begins and ends the text.
fn unfenced<'a, 'b>(lines: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let [first, inner @ .., last] = lines else { return None };
    let fence = ["```", "~~~"].into_iter().find(|fence| first.trim().starts_with(fence))?;
    (last.trim() == fence).then_some(inner)
}

/// The lines inside a here-document that begins and ends the text, with or without its command.
fn without_heredoc<'a, 'b>(lines: &'b [&'a str]) -> Option<&'b [&'a str]> {
    let [first, inner @ .., last] = lines else { return None };
    let first = first.trim();
    let command = first.strip_prefix("apply_patch").or_else(|| first.strip_prefix("applypatch"));
    let word = command.unwrap_or(first).trim_start().strip_prefix("<<")?.trim();
    let bare = ['\'', '"'].into_iter().find_map(|quote| word.strip_prefix(quote)?.strip_suffix(quote));
    let word = bare.unwrap_or(word);
    (!word.is_empty() && last.trim() == word).then_some(inner)
}

fn without_blank_ends<'a, 'b>(mut lines: &'b [&'a str]) -> &'b [&'a str] {
    while let [first, rest @ ..] = lines
        && first.trim().is_empty()
    {
        lines = rest;
    }
    while let [rest @ .., last] = lines
        && last.trim().is_empty()
    {
        lines = rest;
    }
    lines
}
