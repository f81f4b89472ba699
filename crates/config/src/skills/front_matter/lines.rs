//! The lines of a front matter, and the entries they begin.

use super::{FrontMatterError, error};

/// A key at the left edge, and what stands behind it on its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrontMatterEntry<'t> {
    pub(super) key: &'t str,
    /// Without blanks before it.
    pub(super) rest: &'t str,
    pub(super) line: usize,
}

/// Lines that have not been read yet.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    rest: std::iter::Peekable<std::str::Lines<'t>>,
    /// The number of the next line in its file: the fence is the first.
    number: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { rest: text.lines().peekable(), number: 2 }
    }

    /// The next entry; nothing at the end.
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

    /// Passes over everything that belongs to the entry before: what is indented, and lists at the left edge.
    pub(super) fn skip_block(&mut self) {
        let belongs = |line: &&str| {
            line.starts_with([' ', '\t']) || line.trim().is_empty() || line.starts_with("- ") || *line == "-"
        };
        while self.rest.next_if(belongs).is_some() {
            self.number += 1;
        }
    }

    /// The next line, if it is indented or blank.
    pub(super) fn indented(&mut self) -> Option<&'t str> {
        let line = self.rest.next_if(|line| line.starts_with(' ') || line.trim().is_empty())?;
        self.number += 1;
        Some(line)
    }

    /// The next line, whatever it is.
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
