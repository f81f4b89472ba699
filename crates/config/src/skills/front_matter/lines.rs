//! The lines of a front matter, and the entries that begin on them.

use super::{FrontMatterError, error};

/// A key at the left edge, and the rest of its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontMatterEntry<'t> {
    pub(super) key: &'t str,
    /// Trimmed.
    pub(super) rest: &'t str,
    pub(super) line: usize,
}

/// The lines that are still to be read.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    rest: std::iter::Peekable<std::str::Lines<'t>>,
    /// The number of the next line in its file; the opening fence is line 1.
    number: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text.lines().peekable(), number: 2 }
    }

    /// The next entry; `None` at the end.
    pub(super) fn entry(&mut self) -> Result<Option<FrontMatterEntry<'t>>, FrontMatterError> {
        while let Some(text) = self.take() {
            let line = self.number - 1;
            if is_blank_or_comment(text) {
                continue;
            }
            if text.starts_with('\t') {
                return Err(error(line, "a tab cannot indent; use blanks".to_owned()));
            }
            let shape = || error(line, "a line here is `key: value`".to_owned());
            let (key, rest) = text.split_once(':').ok_or_else(shape)?;
            let is_key = !key.trim().is_empty() && !key.starts_with([' ', '-', '[', '{', '?']);
            if !is_key || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
                return Err(shape());
            }
            return Ok(Some(FrontMatterEntry { key: unquoted(key.trim()), rest: rest.trim(), line }));
        }
        Ok(None)
    }

    /// Skips the lines that belong to the entry before: indented ones, and lists at the left edge.
    pub(super) fn skip_block(&mut self) {
        let belongs = |line: &&str| {
            line.starts_with([' ', '\t']) || line.trim().is_empty() || line.starts_with("- ") || *line == "-"
        };
        while self.rest.next_if(belongs).is_some() {
            self.number += 1;
        }
    }

    /// Takes the next line if it is indented or blank.
    pub(super) fn indented(&mut self) -> Option<&'t str> {
        let line = self.rest.next_if(|line| line.starts_with(' ') || line.trim().is_empty())?;
        self.number += 1;
        Some(line)
    }

    /// Takes the next line.
    pub(super) fn take(&mut self) -> Option<&'t str> {
        let line = self.rest.next()?;
        self.number += 1;
        Some(line)
    }
}

fn is_blank_or_comment(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn unquoted(key: &str) -> &str {
    let quoted = |quote: char| key.strip_prefix(quote).and_then(|key| key.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(key)
}
