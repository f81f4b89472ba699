//! Applies the chunks of a patch to a file's text. Pure. Lines that are kept are taken from the file, never from the
//! patch, so that a lenient match changes only what the patch changes.

use std::collections::BTreeMap;

use crate::lines::{LineEnding, Lines};
use crate::locate::{ChunkLocation, Locator};
use crate::misfit::Misfit;
use crate::patch::{Chunk, PatchLine};
use crate::search::Index;
use crate::warning::Doubt;

/// The limit of chunks times searched lines: about a second of work.
const MAX_WORK: usize = 100_000_000;

/// A text after its chunks were applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pub(crate) doubts: Vec<Doubt>,
}

/// Applies the chunks to a text. Lone carriage returns end lines only if the chunks do not fit otherwise.
pub(crate) fn rewrite(text: &str, chunks: &[Chunk]) -> Result<Rewritten, Misfit> {
    rewrite_lines(text, &Lines::of(text), chunks).or_else(|misfit| {
        let lines = Lines::with_lone_returns(text);
        lines.and_then(|lines| rewrite_lines(text, &lines, chunks).ok()).ok_or(misfit)
    })
}

fn rewrite_lines(text: &str, lines: &Lines<'_>, chunks: &[Chunk]) -> Result<Rewritten, Misfit> {
    if chunks.len().saturating_mul(lines.len()) > MAX_WORK {
        return Err(Misfit::TooMuchWork);
    }
    let index = Index::of(&lines.texts);
    let mut locator = Locator::of(&index);
    let mut edits = Edits::of(lines);
    for chunk in chunks {
        edits.take(chunk, locator.place(chunk)?);
    }
    let changes = chunks.iter().any(Chunk::changes);
    let text = if changes { edits.text() } else { text.to_owned() };
    Ok(Rewritten { text, doubts: locator.doubts() })
}

/// Removed and added lines, by their position in the original file.
struct Edits<'a> {
    lines: &'a Lines<'a>,
    removed: Vec<bool>,
    /// The lines to add before each line.
    added: BTreeMap<usize, Vec<&'a str>>,
    /// The lines to add at the end, also behind those that other chunks add after the last line.
    appended: Vec<&'a str>,
}

impl<'a> Edits<'a> {
    fn of(lines: &'a Lines<'a>) -> Self {
        Self { lines, removed: vec![false; lines.len()], added: BTreeMap::new(), appended: Vec::new() }
    }

    fn take(&mut self, chunk: &'a Chunk, place: ChunkLocation) {
        match place {
            ChunkLocation::Block { start, length } => self.take_block(chunk, start, length),
            ChunkLocation::Before(at) => self.added.entry(at).or_default().extend(additions(chunk)),
            ChunkLocation::End => self.appended.extend(additions(chunk)),
        }
    }

    /// Walks file and chunk together. `length`: how many lines of the file the chunk covers, which may be fewer than it
    /// names when it ends with empty lines that the file lacks.
    fn take_block(&mut self, chunk: &'a Chunk, start: usize, length: usize) {
        let mut at = start;
        let additions = additions(chunk).count() - surplus_blanks(chunk, length);
        let mut added = 0;
        for line in &chunk.lines {
            match line {
                PatchLine::Add(_) if added == additions => {}
                PatchLine::Add(text) => {
                    added += 1;
                    self.added.entry(at).or_default().push(text);
                }
                _ if at == start + length => {}
                PatchLine::Context(_) => at += 1,
                PatchLine::Remove(_) => {
                    self.removed[at] = true;
                    at += 1;
                }
            }
        }
    }

    /// The ending of a line that is added before line `at`: that of the line that it replaces, or else that of its
    /// neighbour.
    fn added_ending(&self, at: usize, number: usize) -> LineEnding {
        let before = self.added.range(..at).next_back().map_or(0, |(earlier, _)| *earlier);
        let replaced = (before..at).rev().take_while(|line| self.removed[*line]).count();
        let like = if replaced > 0 { at - replaced + number.min(replaced - 1) } else { at };
        let last = self.lines.len().saturating_sub(1);
        self.lines.endings.get(like.min(last)).copied().unwrap_or(LineEnding::Missing)
    }

    fn text(&self) -> String {
        let usual = self.lines.usual_ending();
        let mut text = self.lines.mark.to_owned();
        let mut push = |line: &str, ending: LineEnding| {
            text.push_str(line);
            // A file that is changed gets the final newline that it lacks.
            text.push_str(if ending == LineEnding::Missing { usual } else { ending }.text());
        };
        for at in 0..=self.lines.len() {
            let added = self.added.get(&at).into_iter().flatten().enumerate();
            added.for_each(|(number, line)| push(line, self.added_ending(at, number)));
            if at < self.lines.len() && !self.removed[at] {
                push(self.lines.texts[at], self.lines.endings[at]);
            }
        }
        let last = self.lines.endings.last().copied().unwrap_or(LineEnding::Missing);
        self.appended.iter().for_each(|line| push(line, last));
        if text == self.lines.mark { String::new() } else { text }
    }
}

/// How many blank lines at the end of a chunk's additions only repeat blank lines at the end of its removals that the
/// file lacks. `length`: how many lines of the file the chunk covers.
fn surplus_blanks(chunk: &Chunk, length: usize) -> usize {
    let old = || chunk.lines.iter().filter(|line| line.old().is_some());
    let lacking = old().skip(length).filter(|line| matches!(line, PatchLine::Remove(_))).count();
    let mut lacking_context = old().count() - length - lacking;
    let mut blanks = 0;
    for line in chunk.lines.iter().rev() {
        match line {
            PatchLine::Add(text) if text.is_empty() => blanks += 1,
            PatchLine::Remove(_) => {}
            PatchLine::Context(_) if lacking_context > 0 => lacking_context -= 1,
            PatchLine::Add(_) | PatchLine::Context(_) => break,
        }
    }
    blanks.min(lacking)
}

fn additions(chunk: &Chunk) -> impl Iterator<Item = &str> {
    chunk.lines.iter().filter_map(|line| match line {
        PatchLine::Add(text) => Some(text.as_str()),
        _ => None,
    })
}
