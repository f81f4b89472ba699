//! Regular expressions over output that is still arriving.
//!
//! A match is found as soon as it is there, also across chunk edges, and never twice. The end of what was printed
//! so far counts as the end of the text, so that `\$ $` finds a prompt. What is kept to find matches over chunk
//! edges is bounded by [`LONGEST_OVERLAP`]; a match that spans more bytes over several chunks is not found.
//!
//! `^` and `$` match at line ends, with or without a carriage return.

use std::ops::Range;

use regex::bytes::{Regex, RegexBuilder};
use thiserror::Error;

use crate::offset::{Offset, Span};
use crate::text::Settler;
use crate::view::{LineNumber, View};

/// How much already searched output is searched again together with a new chunk.
pub const LONGEST_OVERLAP: usize = 64 << 10;

/// The largest a compiled expression may become, in bytes.
const COMPILED_LIMIT: usize = 4 << 20;

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    reach: LineReach,
}

/// Why an expression cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    /// It is not a regular expression.
    #[error("not a regular expression: {reason}")]
    Syntax {
        /// The parser's message, which points into the expression.
        reason: String,
    },
    /// It would take too much memory.
    #[error("the regular expression compiles to more than {limit} bytes")]
    TooLarge {
        /// The limit it is over.
        limit: usize,
    },
}

/// A place where a pattern matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The matched text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The bytes it came from: exact in the raw view, as good as the view's map in settled text.
    pub raw: Span,
    /// The bytes of the lines it is in: they hold all that it came from, whatever was drawn over it.
    pub lines: Span,
}

/// Whether a match can contain a newline, which decides how much has to be searched again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LineReach {
    WithinLine,
    AcrossLines,
}

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// When it is malformed or too large.
    pub fn new(expression: &str) -> Result<Self, PatternError> {
        let regex = RegexBuilder::new(expression)
            .multi_line(true)
            .crlf(true)
            .size_limit(COMPILED_LIMIT)
            .dfa_size_limit(COMPILED_LIMIT)
            .build()
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(limit) => PatternError::TooLarge { limit },
                other => PatternError::Syntax { reason: other.to_string() },
            })?;
        Ok(Self { regex, reach: reach(expression) })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.regex.as_str()
    }

    /// Whether it matches somewhere in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text.as_bytes())
    }

    /// The first match in `text`.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Range<usize>> {
        self.regex.find(text.as_bytes()).map(|found| found.range())
    }

    /// Whether it matches in the first bytes of `text`; what is behind them is only looked at.
    pub(crate) fn is_match_within(&self, text: &str, known: usize) -> bool {
        self.regex.shortest_match(text.as_bytes()).is_some_and(|end| end <= known)
    }

    /// The first match that begins at `from` or later; what lies before is only looked back at.
    fn find_from(&self, bytes: &[u8], from: usize) -> Option<Range<usize>> {
        if from > bytes.len() {
            return None;
        }
        self.regex.find_at(bytes, from).map(|found| found.range())
    }

    /// How much of the end of searched bytes a later match may begin in.
    fn overlap(&self, searched: &[u8]) -> usize {
        let line = match self.reach {
            LineReach::AcrossLines => searched.len(),
            LineReach::WithinLine => {
                memchr::memrchr(b'\n', searched).map_or(searched.len(), |at| searched.len() - at)
            }
        };
        line.min(LONGEST_OVERLAP)
    }
}

/// Searches raw bytes as they arrive.
#[derive(Clone, Debug)]
pub struct RawMatcher {
    pattern: Pattern,
    window: Vec<u8>,
    /// The address of the window's first byte.
    start: Offset,
    /// Where in the window the next match may begin.
    resume: usize,
}

impl RawMatcher {
    /// A search of the bytes from `from` on.
    #[must_use]
    pub fn new(pattern: Pattern, from: Offset) -> Self {
        Self { pattern, window: Vec::new(), start: from, resume: 0 }
    }

    /// Takes the next chunk and looks for a match. More than one can be in it: ask [`next_match`](Self::next_match).
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Match> {
        self.forget();
        self.window.extend_from_slice(bytes);
        self.next_match()
    }

    /// The next match in what was fed so far.
    pub fn next_match(&mut self) -> Option<Match> {
        let range = self.pattern.find_from(&self.window, self.resume)?;
        self.resume = after(&range);
        let text = String::from_utf8_lossy(&self.window[range.clone()]).into_owned();
        let raw = Span::of_len(self.start + range.start as u64, range.len() as u64);
        Some(Match { text, raw, lines: raw })
    }

    fn forget(&mut self) {
        let keep = self.pattern.overlap(&self.window);
        let drop = self.window.len() - keep;
        self.window.drain(..drop);
        self.start += drop as u64;
        self.resume = self.resume.saturating_sub(drop);
    }
}

/// Searches settled text as it arrives, the lines that may still change included, so that prompts match.
///
/// A place that matched while its line could still change is not reported again when the line is redrawn. Text
/// that is drawn and overwritten within one chunk was never there to see.
#[derive(Clone, Debug)]
pub struct SettledMatcher {
    pattern: Pattern,
    settler: Settler,
    /// Settled text in which a match may still begin.
    settled: View,
    /// Settled text and the pending lines behind it.
    seen: View,
    /// Where in `seen` the next match may begin.
    resume: LinePosition,
}

/// A place in settled text that stays the same when the lines before it are redrawn.
#[derive(Clone, Copy, Debug)]
struct LinePosition {
    line: LineNumber,
    /// Bytes from the beginning of the line; may lie behind its end.
    at: usize,
}

impl SettledMatcher {
    /// A search of the text that a settler makes of what is printed from its position on.
    #[must_use]
    pub fn new(pattern: Pattern, settler: Settler) -> Self {
        let from = settler.position();
        Self {
            pattern,
            settler,
            settled: View::new(from),
            seen: View::new(from),
            resume: LinePosition { line: LineNumber::FIRST, at: 0 },
        }
    }

    /// Takes the next chunk and looks for a match. More than one can be in it: ask [`next_match`](Self::next_match).
    pub fn feed(&mut self, bytes: &[u8]) -> Option<Match> {
        self.forget();
        self.settler.feed(bytes, &mut self.settled);
        self.seen.clone_from(&self.settled);
        self.seen.append(&self.settler.pending(&self.settled));
        self.next_match()
    }

    /// The next match in what was fed so far.
    pub fn next_match(&mut self) -> Option<Match> {
        let seen = self.seen.text().as_bytes();
        let range = self.pattern.find_from(seen, self.resume_at()?)?;
        self.resume = self.place_of(after(&range));
        let text = String::from_utf8_lossy(&seen[range.clone()]).into_owned();
        let begin = memchr::memrchr(b'\n', &seen[..range.start]).map_or(0, |newline| newline + 1);
        let end = memchr::memchr(b'\n', &seen[range.end..]).map_or(seen.len(), |len| range.end + len + 1);
        Some(Match { text, lines: self.seen.raw_span(begin..end), raw: self.seen.raw_span(range) })
    }

    fn forget(&mut self) {
        let text = self.settled.text();
        let keep = self.pattern.overlap(text.as_bytes());
        let drop = text.floor_char_boundary(text.len() - keep);
        if drop == 0 {
            return;
        }
        // A line may lose its beginning here, which shortens the way to a place in it.
        let resume = self.resume_at();
        self.settled.drop_front(drop);
        if let Some(resume) = resume {
            self.seen.drop_front(drop.min(self.seen.text().len()));
            self.resume = self.place_of(resume.saturating_sub(drop));
        }
    }

    /// Where the search goes on; nowhere while the place is behind everything there is.
    fn resume_at(&self) -> Option<usize> {
        let text = self.seen.text();
        let Some(down) = self.resume.line.get().checked_sub(self.seen.first_line().get()) else {
            return Some(0);
        };
        let start = match down.checked_sub(1) {
            None => 0,
            Some(before) => {
                memchr::memchr_iter(b'\n', text.as_bytes()).nth(usize::try_from(before).ok()?)? + 1
            }
        };
        let end = memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |len| start + len + 1);
        let at = start + self.resume.at;
        // Behind the end of the last line, the line has to grow first; elsewhere the next line is next.
        if at > end && end == text.len() { None } else { Some(text.ceil_char_boundary(at.min(end))) }
    }

    fn place_of(&self, at: usize) -> LinePosition {
        let text = self.seen.text().as_bytes();
        let before = &text[..at.min(text.len())];
        let newlines = memchr::memchr_iter(b'\n', before).count() as u64;
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        LinePosition { line: self.seen.first_line().down(newlines), at: at - start }
    }
}

/// Where a search goes on after a match: behind it, and a step further if it was empty.
fn after(found: &Range<usize>) -> usize {
    found.end + usize::from(found.is_empty())
}

/// Decides from the spelling; anything that could conceivably match a newline counts as doing so.
fn reach(expression: &str) -> LineReach {
    let mut chars = expression.chars().peekable();
    let mut last = ' ';
    while let Some(c) = chars.next() {
        let harmless = match c {
            '\\' => chars
                .next()
                .is_some_and(|c| c.is_ascii_punctuation() || matches!(c, 'd' | 'w' | 'b' | 'B' | 'S')),
            '[' => !matches!(chars.peek(), Some('^' | '[' | ':')),
            '^' | ':' => last != '[',
            '?' if last == '(' => chars.peek() == Some(&':'),
            c => c >= ' ',
        };
        if !harmless {
            return LineReach::AcrossLines;
        }
        last = c;
    }
    LineReach::WithinLine
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(expression: &str) -> Pattern {
        Pattern::new(expression).unwrap()
    }

    fn check_raw(expression: &str, chunks: &[&str], expected: &[(&str, u64)]) {
        let mut matcher = RawMatcher::new(pattern(expression), Offset::ZERO);
        let mut found = Vec::new();
        for chunk in chunks {
            let mut next = matcher.feed(chunk.as_bytes());
            while let Some(one) = next {
                found.push((one.text, one.raw.from().get()));
                next = matcher.next_match();
            }
        }
        let expected: Vec<_> = expected.iter().map(|(text, at)| ((*text).to_owned(), *at)).collect();
        assert_eq!(found, expected, "{expression} in {chunks:?}");
    }

    fn check_settled(expression: &str, chunks: &[&str], expected: &[(&str, u64)]) {
        let mut matcher = SettledMatcher::new(pattern(expression), Settler::with_rows(Offset::ZERO, 3));
        let mut found = Vec::new();
        for chunk in chunks {
            let mut next = matcher.feed(chunk.as_bytes());
            while let Some(one) = next {
                found.push((one.text, one.raw.from().get()));
                next = matcher.next_match();
            }
        }
        let expected: Vec<_> = expected.iter().map(|(text, at)| ((*text).to_owned(), *at)).collect();
        assert_eq!(found, expected, "{expression} in {chunks:?}");
    }

    #[test]
    fn a_match_over_chunk_edges_is_found_once() {
        check_raw(
            "listening",
            &["list", "en", "ing on 1, listening on 2"],
            &[("listening", 0), ("listening", 16)],
        );
        check_raw("b+", &["ab", "bc", "d"], &[("b", 1), ("b", 2)]);
        check_raw("a\\s+b", &["x\na", "\n", "b"], &[("a\nb", 2)]);
    }

    #[test]
    fn line_ends_and_word_edges_see_what_came_before() {
        check_raw("^b", &["a", "b\r\n", "b"], &[("b", 4)]);
        check_raw("\\bcat", &["con", "cat cat"], &[("cat", 7)]);
        check_raw("done$", &["not done yet\r\ndone\r\n"], &[("done", 14)]);
        check_raw("\\$ $", &["user$ "], &[("$ ", 4)]);
    }

    #[test]
    fn an_empty_match_does_not_loop() {
        check_raw("x*", &["a"], &[("", 0), ("", 1)]);
        check_raw("x*", &["a", "", "", "b"], &[("", 0), ("", 1), ("", 2)]);
    }

    #[test]
    fn settled_text_is_searched_with_its_pending_lines() {
        check_settled("Password: $", &["\x1b[1mPass", "word: \x1b[0m"], &[("Password: ", 0)]);
        check_settled("100%", &["10%\r", "50%\r", "100%\r", "100%\n"], &[("100%", 0)]);
        check_settled(
            "e[0-9]",
            &["e1\ne2\n", "e3\ne4\ne5\n", "e6"],
            &[("e1", 0), ("e2", 3), ("e3", 6), ("e4", 9), ("e5", 12), ("e6", 15)],
        );
    }

    #[test]
    fn bad_expressions_say_why() {
        assert!(matches!(Pattern::new("a("), Err(PatternError::Syntax { .. })));
        assert!(matches!(Pattern::new("(\\w{1000}){1000}"), Err(PatternError::TooLarge { .. })));
    }

    #[test]
    fn only_expressions_that_cannot_match_a_newline_are_searched_by_line() {
        for expression in ["listening on \\d+", "^\\$ $", "a.*b", "(?:x|y)[a-z]+"] {
            assert_eq!(reach(expression), LineReach::WithinLine, "{expression}");
        }
        for expression in
            ["a\\s", "[^a]", "(?s).", "\\n", "\\W", "[[:space:]]", "a\nb", "\\x0a", "\\p{Z}", "[\t-z]"]
        {
            assert_eq!(reach(expression), LineReach::AcrossLines, "{expression}");
        }
    }
}
