//! A unified diff of two texts, with three context lines around each change.

use std::fmt::Write;
use std::ops::Range;

use crate::config::Colour;

/// Lines shown around a change.
const CONTEXT: usize = 3;

/// The most pairs of lines that are compared; a larger change is shown as one block. The edits of `install` are far
/// smaller.
const COMPARED: usize = 4_000_000;

/// The diff, with its header.
pub(super) fn unified(name: &str, (before, after): (&str, &str), colour: Colour) -> String {
    let (old, new) = (lines(before), lines(after));
    let changes = changes(&old, &new);
    let paint = |code: &str, line: &str| match colour {
        Colour::On => format!("\x1b[{code}m{line}\x1b[0m\n"),
        Colour::Off => format!("{line}\n"),
    };
    let from = if before.is_empty() { "/dev/null" } else { name };
    let mut text = paint("1", &format!("--- {from}")) + &paint("1", &format!("+++ {name}"));
    for hunk in hunks(&changes, old.len()) {
        let header = format!("@@ -{} +{} @@", place(&hunk.old), place(&hunk.new));
        text += &paint("36", &header);
        let mut at = hunk.old.start;
        for change in &changes[hunk.changes] {
            same(&mut text, &old[at..change.old.start]);
            text.extend(old[change.old.clone()].iter().map(|line| paint("31", &format!("-{line}"))));
            text.extend(new[change.new.clone()].iter().map(|line| paint("32", &format!("+{line}"))));
            at = change.old.end;
        }
        same(&mut text, &old[at..hunk.old.end]);
    }
    text
}

/// Removed lines, and the lines that replace them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    old: Range<usize>,
    new: Range<usize>,
}

/// Neighbouring changes that are shown together, and the lines of both texts.
struct Hunk {
    changes: Range<usize>,
    old: Range<usize>,
    new: Range<usize>,
}

/// A line without its end; a missing or different line end is made visible.
fn lines(text: &str) -> Vec<String> {
    let line = |line: &str| match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
        (Some(line), _) => format!("{line}\u{240d}"),
        (None, Some(line)) => line.to_owned(),
        (None, None) => format!("{line} (no end of line)"),
    };
    text.split_inclusive('\n').map(line).collect()
}

fn same(text: &mut String, lines: &[String]) {
    for line in lines {
        // Writing to a string cannot fail.
        let _ = writeln!(text, " {line}");
    }
}

/// A range in the form of a hunk header: the first line and the number of lines.
fn place(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn hunks(changes: &[Change], end: usize) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let start = change.old.start.saturating_sub(CONTEXT);
        let stop = (change.old.end + CONTEXT).min(end);
        let tail = stop - change.old.end;
        match hunks.last_mut() {
            Some(hunk) if start <= hunk.old.end => {
                hunk.changes.end = index + 1;
                hunk.old.end = stop;
                hunk.new.end = change.new.end + tail;
            }
            _ => hunks.push(Hunk {
                changes: index..index + 1,
                old: start..stop,
                new: change.new.start - (change.old.start - start)..change.new.end + tail,
            }),
        }
    }
    hunks
}

/// The changes. Equal lines at both ends are left out first, because they are nearly everything.
fn changes(old: &[String], new: &[String]) -> Vec<Change> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.is_empty() && new.is_empty() {
        return Vec::new();
    }
    let pairs = if old.len().saturating_mul(new.len()) > COMPARED { Vec::new() } else { common(old, new) };
    let (mut changes, mut at) = (Vec::new(), (0, 0));
    for (old, new) in pairs.into_iter().chain([(old.len(), new.len())]) {
        if at != (old, new) {
            changes.push(Change { old: head + at.0..head + old, new: head + at.1..head + new });
        }
        at = (old + 1, new + 1);
    }
    changes
}

/// The longest common subsequence of lines, as pairs of line numbers.
fn common(old: &[String], new: &[String]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    let mut longest = vec![0_u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            longest[i * width + j] = if a == b {
                longest[(i + 1) * width + j + 1] + 1
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut pairs, mut i, mut j) = (Vec::new(), 0, 0);
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(unified("f", (before, after), Colour::Off), expected);
    }

    #[test]
    fn changes_stand_between_the_lines_around_them() {
        check(
            "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
            "1\n2\n3\n4\nfive\nmore\n6\n7\n8\n9\n",
            "--- f\n+++ f\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+more\n 6\n 7\n 8\n",
        );
    }

    #[test]
    fn changes_far_apart_are_shown_apart_and_near_ones_together() {
        let before: String = (1..=20).map(|number| format!("{number}\n")).collect();
        let after = before.replace("\n5\n", "\nV\n").replace("\n7\n", "\n").replace("\n18\n", "\n18\nx\n");
        check(
            &before,
            &after,
            "--- f\n+++ f\n@@ -2,9 +2,8 @@\n 2\n 3\n 4\n-5\n+V\n 6\n-7\n 8\n 9\n 10\n@@ -16,5 +15,6 @@\n 16\n 17\n 18\n+x\n 19\n 20\n",
        );
    }

    #[test]
    fn a_fresh_file_comes_from_nowhere() {
        check("", "a\nb\n", "--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b\n");
        check("a", "a\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a (no end of line)\n+a\n");
    }

    #[test]
    fn colour_only_where_it_is_wanted() {
        let text = unified("f", ("a\n", "b\n"), Colour::On);
        assert!(text.contains("\x1b[31m-a\x1b[0m\n\x1b[32m+b\x1b[0m\n"), "{text:?}");
    }
}
