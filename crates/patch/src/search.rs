//! Finds runs of lines in a file, from strict to lenient. Every line is numbered once for each degree of leniency, and
//! runs of numbers are then found in linear time, even if a patch repeats lines often.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

/// How exactly lines must agree, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leniency {
    Exact,
    TrailingBlanks,
    BothEnds,
    /// Typographic dashes, quotes and spaces match those of ASCII.
    Typography,
}

impl Leniency {
    pub(crate) const ALL: [Self; 4] = [Self::Exact, Self::TrailingBlanks, Self::BothEnds, Self::Typography];

    /// The line without everything that this degree ignores.
    pub(crate) fn essence<'a>(self, line: &'a str) -> Cow<'a, str> {
        match self {
            Self::Exact => Cow::Borrowed(line),
            Self::TrailingBlanks => Cow::Borrowed(line.trim_end()),
            Self::BothEnds => Cow::Borrowed(line.trim()),
            Self::Typography if line.is_ascii() => Cow::Borrowed(line.trim()),
            Self::Typography => Cow::Owned(line.trim().chars().map(plain).collect()),
        }
    }
}

/// The ASCII character that people type for a typographic one.
fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// A file's lines, ready to be searched.
pub(crate) struct Index<'a> {
    lines: &'a [&'a str],
    numbered: [OnceCell<Numbered<'a>>; 4],
}

/// Lines as numbers: equal lines have the same number.
struct Numbered<'a> {
    known: HashMap<Cow<'a, str>, u32>,
    numbers: Vec<u32>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(lines: &'a [&'a str]) -> Self {
        Self { lines, numbered: Default::default() }
    }

    pub(crate) fn lines(&self) -> &'a [&'a str] {
        self.lines
    }

    /// The starts of these lines, in order, at the strictest degree that finds any. Only places from `from` on count.
    pub(crate) fn find(&self, wanted: &[&str], from: usize) -> Vec<usize> {
        let found = Leniency::ALL.into_iter().map(|leniency| self.find_at(wanted, from, leniency));
        found.into_iter().find(|places| !places.is_empty()).unwrap_or_default()
    }

    /// The start of these lines if they are the last ones from `from` on.
    pub(crate) fn find_at_end(&self, wanted: &[&str], from: usize) -> Option<usize> {
        let start = self.lines.len().checked_sub(wanted.len()).filter(|&start| start >= from)?;
        self.find(wanted, start).into_iter().next()
    }

    fn find_at(&self, wanted: &[&str], from: usize, leniency: Leniency) -> Vec<usize> {
        let numbered = self.numbered[leniency as usize].get_or_init(|| Numbered::of(self.lines, leniency));
        let wanted: Option<Vec<u32>> = wanted.iter().map(|line| numbered.number(line, leniency)).collect();
        match (wanted, numbered.numbers.get(from..)) {
            (Some(wanted), Some(rest)) => runs(rest, &wanted).into_iter().map(|at| at + from).collect(),
            _ => Vec::new(),
        }
    }
}

impl<'a> Numbered<'a> {
    fn of(lines: &[&'a str], leniency: Leniency) -> Self {
        let mut known = HashMap::new();
        let mut numbers = Vec::with_capacity(lines.len());
        for line in lines {
            let next = known.len() as u32;
            numbers.push(*known.entry(leniency.essence(line)).or_insert(next));
        }
        Self { known, numbers }
    }

    fn number(&self, line: &str, leniency: Leniency) -> Option<u32> {
        self.known.get(&leniency.essence(line)).copied()
    }
}

/// All occurrences of `wanted` in `all`, also overlapping ones: the Knuth-Morris-Pratt search.
fn runs(all: &[u32], wanted: &[u32]) -> Vec<usize> {
    if wanted.is_empty() || wanted.len() > all.len() {
        return Vec::new();
    }
    let borders = borders(wanted);
    let mut found = Vec::new();
    let mut matched = 0;
    for (at, number) in all.iter().enumerate() {
        while matched > 0 && wanted[matched] != *number {
            matched = borders[matched - 1];
        }
        matched += usize::from(wanted[matched] == *number);
        if matched == wanted.len() {
            found.push(at + 1 - matched);
            matched = borders[matched - 1];
        }
    }
    found
}

/// For each prefix of `wanted`, the length of its longest proper part that is both a prefix and a suffix.
fn borders(wanted: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len()];
    let mut length = 0;
    for at in 1..wanted.len() {
        while length > 0 && wanted[length] != wanted[at] {
            length = borders[length - 1];
        }
        length += usize::from(wanted[length] == wanted[at]);
        borders[at] = length;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(lines: &[&str], wanted: &[&str], expected: &[usize]) {
        assert_eq!(Index::of(lines).find(wanted, 0), expected, "{wanted:?} in {lines:?}");
    }

    #[test]
    fn the_strictest_degree_that_finds_something_decides() {
        check(&["a ", "a", " a"], &["a"], &[1]);
        check(&["a ", " a"], &["a"], &[0]);
        check(&["  a", "\ta "], &["a"], &[0, 1]);
        check(&["say “hi” – now\u{a0}"], &["say \"hi\" - now"], &[0]);
        check(&["b"], &["a"], &[]);
    }

    proptest! {
        #[test]
        fn runs_are_found_as_by_looking_everywhere(
            all in prop::collection::vec(0u32..3, 0..60),
            wanted in prop::collection::vec(0u32..3, 1..6),
        ) {
            let expected: Vec<usize> = (0..all.len())
                .filter(|&at| all[at..].starts_with(&wanted))
                .collect();
            prop_assert_eq!(runs(&all, &wanted), expected);
        }
    }
}
