//! Shows matching lines as `path:line: text`. The files that matched are read again, newest first, until there are
//! enough lines.

use std::io;

use grep_matcher::Matcher;
use grep_searcher::{Searcher, Sink, SinkMatch};

use super::SearchRoot;
use super::search::{Search, Searched, searcher};
use crate::bounds::Text;
use crate::words::{Named, count};

/// The most characters that are shown of one line.
const LONGEST_SHOWN: usize = 300;
/// How many characters before the match are shown of a longer line.
const BEFORE: usize = 60;

/// The selection of lines to show.
pub(super) struct LineSelection<'a> {
    pub(super) place: &'a SearchRoot<'a>,
    pub(super) most: u64,
}

/// Shows lines of the files that matched. Returns whether there was time for all of them.
pub(super) fn show(
    search: &Search<'_>,
    searched: &Searched,
    wanted: &LineSelection<'_>,
    text: &mut Text,
) -> InTime {
    let mut searcher = searcher();
    let mut lines = Lines { search, text, left: wanted.most, name: String::new(), full: false };
    let mut files = 0;
    for hit in &searched.newest {
        lines.name = Named(&wanted.place.shown(hit)).to_string();
        // A file that was removed since it matched is skipped.
        let opened = search.open(&hit.path);
        let _ = opened.map(|opened| searcher.search_reader(&search.pattern.0, opened.reader, &mut lines));
        if lines.full || !search.goes_on() {
            break;
        }
        files += 1;
    }
    let shown = count(wanted.most - lines.left, "line");
    if files == searched.matching {
        return InTime::Yes;
    }
    let all = count(searched.matching, "file");
    let in_time = if lines.full || search.goes_on() { InTime::Yes } else { InTime::No };
    text.note(format!(
        "{all} match, and these are {shown} of the newest; a narrower pattern, path or include finds fewer"
    ));
    in_time
}

/// Whether everything was done before the time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InTime {
    Yes,
    No,
}

/// Collects lines until there are enough.
struct Lines<'a> {
    search: &'a Search<'a>,
    text: &'a mut Text,
    left: u64,
    /// The file's name.
    name: String,
    /// Whether one more line was found than there is room for.
    full: bool,
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let line = without_its_end(found.bytes());
        let start = self.search.pattern.0.find(line).ok().flatten().map_or(0, |found| found.start());
        let number = found.line_number().unwrap_or_default();
        let shown = format!("{}:{number}: {}", self.name, excerpt(line, start));
        self.full = self.left == 0 || !self.text.push(&shown);
        self.left -= u64::from(!self.full);
        Ok(!self.full)
    }
}

fn without_its_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line, or of a long one the part around the match, which begins at this byte.
fn excerpt(line: &[u8], start: usize) -> String {
    // Text farther from the match cannot be shown, so it is not decoded.
    const NEAR: usize = 4 * LONGEST_SHOWN;
    let whole = line.len() <= NEAR && String::from_utf8_lossy(line).chars().count() <= LONGEST_SHOWN;
    if whole {
        return String::from_utf8_lossy(line).into_owned();
    }
    let from = character_start(line, start.saturating_sub(BEFORE));
    let near = String::from_utf8_lossy(&line[from..line.len().min(from + NEAR + 4)]);
    let shown: String = near.chars().take(LONGEST_SHOWN).collect();
    let [before, after] = [from > 0, from + shown.len() < line.len()].map(|cut| if cut { "…" } else { "" });
    format!("{before}{shown}{after} [cut: the line has {} bytes]", line.len())
}

/// The start of the character that contains this byte.
fn character_start(line: &[u8], mut at: usize) -> usize {
    while at > 0 && line.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_around_the_match() {
        let long = format!("{}needle{}", "é".repeat(400), "x".repeat(1000));
        let shown = excerpt(long.as_bytes(), 800);
        let expected =
            format!("…{}needle{}… [cut: the line has 1806 bytes]", "é".repeat(30), "x".repeat(264));
        assert_eq!(shown, expected);
        assert_eq!(excerpt(b"short needle", 6), "short needle");
        assert_eq!(excerpt("ü".repeat(300).as_bytes(), 0), "ü".repeat(300));
        assert!(excerpt(&[0xff; 5000], 4999).starts_with('…'));
    }
}
