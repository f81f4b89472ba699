//! Finds the place in a file that comes closest to lines which are not in it, and the differences there: enough for a
//! model to write the patch again without reading the whole file. Bounded in time and in text.

use std::collections::HashMap;
use std::fmt;

use crate::parse::shortened;
use crate::search::Leniency;

/// The most lines of a chunk that are compared.
const COMPARED: usize = 200;
/// The most pairs of equal lines that are counted. A file of closing brackets has too many to be worth it.
const VOTES: usize = 1_000_000;
/// The most lines of a file that are compared by letters.
const SPELLED: usize = 20_000;
/// The most differences that are shown.
const DIFFERENCES: usize = 3;
/// The most lines that a message repeats.
const REPEATED: usize = 20;

/// The closest place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its first line, counted from one.
    pub line: usize,
    /// How many of the lines are equal there.
    pub agreeing: usize,
    /// How many lines the chunk has.
    pub of: usize,
    /// The first few lines that differ.
    pub differences: Vec<Difference>,
}

/// A line that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line in the file, counted from one.
    pub line: usize,
    /// The file's text of this line, unless the file ends before.
    pub file: Option<String>,
    /// The patch's text.
    pub patch: String,
}

/// The place in `lines` that comes closest to `wanted`.
pub(crate) fn nearest(lines: &[&str], wanted: &[&str]) -> Option<Nearest> {
    let wanted = &wanted[..wanted.len().min(COMPARED)];
    let start = by_equal_lines(lines, wanted).or_else(|| by_spelling(lines, wanted))?;
    let differs = |at: &usize| lines.get(start + at).is_none_or(|line| !agree(line, wanted[*at]));
    let different: Vec<usize> = (0..wanted.len()).filter(differs).collect();
    let differences = different.iter().take(DIFFERENCES).map(|at| Difference {
        line: start + at + 1,
        file: lines.get(start + at).map(|line| shortened(line)),
        patch: shortened(wanted[*at]),
    });
    Some(Nearest {
        line: start + 1,
        agreeing: wanted.len() - different.len(),
        of: wanted.len(),
        differences: differences.collect(),
    })
}

/// The first lines of a text, for messages.
pub(crate) fn shown_lines(lines: &[&str]) -> String {
    let mut shown: Vec<String> = lines.iter().take(REPEATED).map(|line| shortened(line)).collect();
    if let Some(more @ 1..) = lines.len().checked_sub(REPEATED) {
        shown.push(format!("(and {more} more lines)"));
    }
    shown.join("\n")
}

/// The place with the most equal lines: every equal pair votes for the start that it implies.
fn by_equal_lines(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let essence = |line| Leniency::Typography.essence(line);
    let mut places: HashMap<_, Vec<usize>> = HashMap::new();
    for (at, line) in wanted.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        places.entry(essence(line)).or_default().push(at);
    }
    let pairs = lines.iter().enumerate().flat_map(|(at, line)| {
        let wanted_at = places.get(&essence(line)).map(Vec::as_slice).unwrap_or_default();
        wanted_at.iter().filter_map(move |offset| at.checked_sub(*offset))
    });
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for start in pairs.take(VOTES) {
        *votes.entry(start).or_default() += 1;
    }
    votes.into_iter().max_by_key(|&(start, count)| (count, std::cmp::Reverse(start))).map(|(start, _)| start)
}

/// The place whose line is spelled most like the longest wanted one, if any line is similar at all.
fn by_spelling(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (offset, longest) = wanted.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let pairs = letter_pairs(longest);
    let alike = lines.iter().take(SPELLED).enumerate().map(|(at, line)| (alikeness(&pairs, line), at));
    let (alike, at) = alike.max_by_key(|&(alike, at)| (alike, std::cmp::Reverse(at)))?;
    (alike >= HALF).then(|| at.saturating_sub(offset))
}

/// Half of the pairs are shared, in thousandths.
const HALF: usize = 500;

/// How many pairs of neighbouring letters two lines share, in thousandths of all their pairs.
fn alikeness(pairs: &HashMap<(char, char), usize>, line: &str) -> usize {
    let others = letter_pairs(line);
    let total = pairs.values().sum::<usize>() + others.values().sum::<usize>();
    let shared: usize = others.iter().map(|(pair, n)| (*n).min(pairs.get(pair).copied().unwrap_or(0))).sum();
    (2 * shared * 1000).checked_div(total).unwrap_or(0)
}

/// The most letters of a line that are compared.
const LETTERS: usize = 300;

fn letter_pairs(line: &str) -> HashMap<(char, char), usize> {
    let letters: Vec<char> = line.trim().chars().take(LETTERS).collect();
    let mut pairs = HashMap::new();
    for pair in letters.windows(2) {
        *pairs.entry((pair[0], pair[1])).or_default() += 1;
    }
    pairs
}

fn agree(line: &str, wanted: &str) -> bool {
    Leniency::Typography.essence(line) == Leniency::Typography.essence(wanted)
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, agreeing, of, .. } = self;
        match of {
            _ if self.differences.is_empty() => {
                return write!(
                    f,
                    "It is line {line}, but headers and chunks must be in the order of the file."
                );
            }
            1 => write!(f, "The closest line is line {line}:")?,
            _ => write!(f, "The closest match begins at line {line}, where {agreeing} of {of} lines agree:")?,
        }
        for difference in &self.differences {
            write!(f, "\n{difference}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "line {} in the file: {file}", self.line)?,
            None => write!(f, "line {} in the file: (the file ends before it)", self.line)?,
        }
        write!(f, "\n{:>1$} in the patch: {2}", "", "line ".len() + digits(self.line), self.patch)
    }
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}
