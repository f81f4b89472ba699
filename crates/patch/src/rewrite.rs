//! What becomes of a file's text under the chunks of a patch. Pure. Lines that stay are taken from the file, never from
//! the patch, so that a lenient match changes nothing but what the patch says.

use std::collections::BTreeMap;

use crate::lines::{Ending, Lines};
use crate::locate::{Locator, Place};
use crate::misfit::Misfit;
use crate::patch::{Chunk, PatchLine};
use crate::search::Index;
use crate::warning::Doubt;

/// The most chunks times lines that are searched: a second's work.
const MAX_WORK: usize = 100_000_000;

/// A text after its chunks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pub(crate) doubts: Vec<Doubt>,
}

/// Applies the chunks to a text.
pub(crate) fn rewrite(text: &str, chunks: &[Chunk]) -> Result<Rewritten, Misfit> {
    let lines = Lines::of(text);
    if chunks.len().saturating_mul(lines.len()) > MAX_WORK {
        return Err(Misfit::TooMuchWork);
    }
    let index = Index::of(&lines.texts);
    let mut locator = Locator::of(&index);
    let mut edits = Edits::of(&lines);
    for chunk in chunks {
        edits.take(chunk, locator.place(chunk)?);
    }
    let changes = chunks.iter().any(Chunk::changes);
    let text = if changes { edits.text() } else { text.to_owned() };
    Ok(Rewritten { text, doubts: locator.doubts() })
}

/// Lines that go and lines that come, by their place in the file as it was.
struct Edits<'a> {
    lines: &'a Lines<'a>,
    removed: Vec<bool>,
    /// What comes before each line.
    added: BTreeMap<usize, Vec<&'a str>>,
    /// What comes after everything, also after what other chunks put behind the last line.
    appended: Vec<&'a str>,
}

impl<'a> Edits<'a> {
    fn of(lines: &'a Lines<'a>) -> Self {
        Self { lines, removed: vec![false; lines.len()], added: BTreeMap::new(), appended: Vec::new() }
    }

    fn take(&mut self, chunk: &'a Chunk, place: Place) {
        match place {
            Place::Block { start, length } => self.take_block(chunk, start, length),
            Place::Before(at) => self.added.entry(at).or_default().extend(additions(chunk)),
            Place::End => self.appended.extend(additions(chunk)),
        }
    }

    /// Goes through file and chunk together. `length`: how many lines of the file the chunk covers, which may be fewer
    /// than it names when it ends with empty lines that the file lacks.
    fn take_block(&mut self, chunk: &'a Chunk, start: usize, length: usize) {
        let mut at = start;
        for line in &chunk.lines {
            match line {
                PatchLine::Add(text) => self.added.entry(at).or_default().push(text),
                _ if at == start + length => {}
                PatchLine::Context(_) => at += 1,
                PatchLine::Remove(_) => {
                    self.removed[at] = true;
                    at += 1;
                }
            }
        }
    }

    fn text(&self) -> String {
        let usual = self.lines.usual_ending();
        let mut text = self.lines.mark.to_owned();
        let mut push = |line: &str, ending: Ending| {
            text.push_str(line);
            // A file that is changed gets the final newline that it lacks.
            text.push_str(if ending == Ending::Missing { usual } else { ending }.text());
        };
        for at in 0..=self.lines.len() {
            self.added.get(&at).into_iter().flatten().for_each(|line| push(line, usual));
            if at < self.lines.len() && !self.removed[at] {
                push(self.lines.texts[at], self.lines.endings[at]);
            }
        }
        self.appended.iter().for_each(|line| push(line, usual));
        if text == self.lines.mark { String::new() } else { text }
    }
}

fn additions(chunk: &Chunk) -> impl Iterator<Item = &str> {
    chunk.lines.iter().filter_map(|line| match line {
        PatchLine::Add(text) => Some(text.as_str()),
        _ => None,
    })
}
