//! Parses the header lines within a patch: `*** Add File:` and the like, and `@@`.

use crate::patch::LineNumbers;

pub(crate) const END_OF_FILE: &str = "*** End of File";

/// A line that begins a section.
pub(crate) enum SectionHeader<'a> {
    Add(&'a str),
    Delete(&'a str),
    Update(&'a str),
}

/// The longest path, which is the kernel's limit too.
const MAX_PATH: usize = 4096;

/// Parses a line that begins a section. A header without a path does not count.
pub(crate) fn section(line: &str) -> Option<SectionHeader<'_>> {
    let line = line.trim();
    let path = |marker: &str| line.strip_prefix(marker).and_then(path);
    None.or_else(|| path("*** Add File:").map(SectionHeader::Add))
        .or_else(|| path("*** Delete File:").map(SectionHeader::Delete))
        .or_else(|| path("*** Update File:").map(SectionHeader::Update))
}

/// The target path in a line that moves a file.
pub(crate) fn move_to(line: &str) -> Option<&str> {
    line.trim().strip_prefix("*** Move to:").and_then(path)
}

fn path(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|path| !path.is_empty() && path.len() <= MAX_PATH)
}

/// A line that begins with `@@`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ChunkHeader<'a> {
    pub(crate) numbers: Option<LineNumbers>,
    /// A line of the file that comes before the chunk.
    pub(crate) line: Option<&'a str>,
}

/// Parses a line that begins a chunk, also in the form of a unified diff.
pub(crate) fn chunk(line: &str) -> Option<ChunkHeader<'_>> {
    let rest = line.strip_prefix("@@")?;
    if let Some((numbers, rest)) = unified(rest) {
        return Some(ChunkHeader { numbers: Some(numbers), line: filled(rest) });
    }
    if rest.trim() == "@@" {
        return Some(ChunkHeader::default());
    }
    Some(ChunkHeader { numbers: None, line: filled(rest) })
}

/// The text without the single space that separates it from the marker. Its own indentation stays, because it may
/// distinguish lines.
fn filled(rest: &str) -> Option<&str> {
    let line = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    (!line.trim().is_empty()).then_some(line)
}

/// Parses ` -1,3 +1,4 @@ rest`.
fn unified(text: &str) -> Option<(LineNumbers, &str)> {
    let (numbers, rest) = range(text.trim_start().strip_prefix('-')?)?;
    let (_, rest) = range(rest.trim_start().strip_prefix('+')?)?;
    Some((numbers, rest.trim_start().strip_prefix("@@")?))
}

/// Parses `1,3` or `1`.
fn range(text: &str) -> Option<(LineNumbers, &str)> {
    let (start, rest) = number(text)?;
    match rest.strip_prefix(',') {
        Some(rest) => number(rest).map(|(count, rest)| (LineNumbers { start, count }, rest)),
        None => Some((LineNumbers { start, count: 1 }, rest)),
    }
}

fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, numbers: Option<(usize, usize)>, rest: Option<&str>) {
        let numbers = numbers.map(|(start, count)| LineNumbers { start, count });
        assert_eq!(chunk(line), Some(ChunkHeader { numbers, line: rest }), "{line}");
    }

    #[test]
    fn a_chunk_begins_in_several_manners() {
        check("@@", None, None);
        check("@@ ", None, None);
        check("@@ @@", None, None);
        check("@@ def f():", None, Some("def f():"));
        check("@@   def f():  ", None, Some("  def f():"));
        check("@@def f():", None, Some("def f():"));
        check("@@ -1,3 +1,4 @@", Some((1, 3)), None);
        check("@@ -7 +7 @@ fn main() {", Some((7, 1)), Some("fn main() {"));
        check("@@ -0,0 +1,2 @@", Some((0, 0)), None);
        check("@@ -1,3 is a line @@", None, Some("-1,3 is a line @@"));
        check("@@ -99999999999999999999999 +1 @@", None, Some("-99999999999999999999999 +1 @@"));
        assert_eq!(chunk("@ def"), None);
    }
}
