//! Patterns over paths: `*` and `?` within one name, `[a-z]` for one character, `**` for any number of directories. A
//! pattern without any of these is a plain path. Names of files are bytes: one that is no text fits as if each byte of it that
//! makes no sense were one character.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path, absolute or from the workspace on, in which names may be patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// The path, where it is one and no pattern. It may be no text.
    plain: Option<PathBuf>,
}

/// One name of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Exactly this name.
    Name(String),
    /// Names that fit.
    Fitting(String),
    /// Any number of directories, also none.
    AnyDepth,
}

impl Pattern {
    /// A pattern as it was written. `~/` is the home directory.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), plain: None }
    }

    /// Exactly this path, whatever characters are in it.
    pub fn plain(path: &Path) -> Self {
        Self { text: path.to_string_lossy().into_owned(), plain: Some(path.to_owned()) }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn needs_home(&self) -> bool {
        self.plain.is_none() && (self.text == "~" || self.text.starts_with("~/"))
    }

    /// Somebody else's home, as a shell would understand it.
    pub(crate) fn is_of_another_home(&self) -> bool {
        self.plain.is_none() && self.text.starts_with('~') && !self.needs_home()
    }

    /// The plain path it begins with, seen from the workspace and the home, and the names that follow it.
    pub(crate) fn split(&self, workspace: &Path, home: Option<&Path>) -> (PathBuf, Vec<Step>) {
        if let Some(path) = &self.plain {
            return (workspace.join(path), Vec::new());
        }
        let (mut start, text) = match (self.text.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => (home.to_owned(), rest),
            _ if self.text.starts_with('/') => (PathBuf::from("/"), self.text.as_str()),
            _ => (workspace.to_owned(), self.text.as_str()),
        };
        let mut steps: Vec<Step> =
            text.split('/').filter(|name| !matches!(*name, "" | ".")).map(Step::of).collect();
        let plain = steps.iter().take_while(|step| matches!(step, Step::Name(_))).count();
        for step in steps.drain(..plain) {
            match step {
                Step::Name(name) if name == ".." => drop(start.pop()),
                Step::Name(name) => start.push(name),
                Step::Fitting(_) | Step::AnyDepth => {}
            }
        }
        (start, steps)
    }
}

impl Step {
    fn of(name: &str) -> Self {
        match name {
            "**" => Self::AnyDepth,
            name if name.contains(['*', '?', '[']) => Self::Fitting(name.to_owned()),
            name => Self::Name(name.to_owned()),
        }
    }

    /// Whether a name fits this one step.
    pub(crate) fn fits(&self, name: &OsStr) -> bool {
        match self {
            Self::Name(exactly) => OsStr::new(exactly) == name,
            Self::Fitting(pattern) => fits(&pattern.chars().collect::<Vec<_>>(), &characters(name)),
            Self::AnyDepth => true,
        }
    }
}

fn characters(name: &OsStr) -> Vec<char> {
    let mut all = Vec::new();
    for chunk in name.as_bytes().utf8_chunks() {
        all.extend(chunk.valid().chars());
        all.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    all
}

/// Goes back to the last star on a mismatch: never more than the product of both lengths.
fn fits(pattern: &[char], name: &[char]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, place));
            at += 1;
        } else if let Some(length) = one(&pattern[at..], name[place]) {
            at += length;
            place += 1;
        } else if let Some((after, from)) = star {
            (at, place) = (after + 1, from + 1);
            star = Some((after, from + 1));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

/// How much of the pattern one character uses up, if it fits.
fn one(pattern: &[char], character: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => set(pattern, character),
        literal => (*literal == character).then_some(1),
    }
}

fn set(pattern: &[char], character: char) -> Option<usize> {
    let Some(end) = pattern.iter().skip(2).position(|it| *it == ']').map(|at| at + 2) else {
        // Without its end it is an ordinary bracket.
        return (character == '[').then_some(1);
    };
    let (negated, members) = match pattern[1] {
        '!' | '^' => (true, &pattern[2..end]),
        _ => (false, &pattern[1..end]),
    };
    let mut rest = members;
    let mut found = false;
    while let Some((first, after)) = rest.split_first() {
        rest = match after {
            ['-', last, after @ ..] => {
                found |= (*first..=*last).contains(&character);
                after
            }
            after => {
                found |= *first == character;
                after
            }
        };
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_fit_or_do_not() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(Step::of(pattern).fits(OsStr::new(name)), expected, "{pattern} {name}");
        };
        check("*.pem", "key.pem", true);
        check("*.pem", "key.pem.txt", false);
        check("id_*", "id_rsa", true);
        check("?", "é", true);
        check("a[0-9]c", "a7c", true);
        check("a[!0-9]c", "a7c", false);
        check("a[b", "a[b", true);
        check("*a*b", "xxaxxb", true);
        check("*a*b", "xxaxx", false);
        check("**", "anything", true);
        check(".env", ".env", true);
    }

    #[test]
    fn names_that_are_no_text_fit_byte_by_byte() {
        let check = |pattern: &str, name: &[u8], expected: bool| {
            assert_eq!(Step::of(pattern).fits(OsStr::from_bytes(name)), expected, "{pattern} {name:?}");
        };
        check("*.pem", b"cl\xe9.pem", true);
        check("cl?.pem", b"cl\xe9.pem", true);
        check("cl??.pem", b"cl\xe9\xff.pem", true);
        check("*", b"\xff\xfe", true);
        check("[!a]", b"\xff", true);
        check("cl\u{e9}.pem", b"cl\xe9.pem", false);
    }

    #[test]
    fn the_plain_beginning_is_told_from_the_rest() {
        let check = |text: &str, start: &str, rest: usize| {
            let (path, steps) = Pattern::new(text).split(Path::new("/w"), Some(Path::new("/h")));
            assert_eq!((path, steps.len()), (PathBuf::from(start), rest), "{text}");
        };
        check("/etc/ssl", "/etc/ssl", 0);
        check("sub//./dir/", "/w/sub/dir", 0);
        check("../other", "/other", 0);
        check("~/.ssh", "/h/.ssh", 0);
        check("~", "/h", 0);
        check("~root/x", "/w/~root/x", 0);
        check("**/.env", "/w", 2);
        check("/home/*/.ssh", "/home", 2);
    }

    proptest! {
        #[test]
        fn no_pattern_and_no_name_is_too_strange(pattern in "\\PC{0,40}", name in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = Step::of(&pattern).fits(OsStr::from_bytes(&name));
            let _ = Pattern::new(pattern).split(Path::new("/w"), None);
        }

        #[test]
        fn a_name_without_special_characters_fits_itself_alone(name in "[a-z.]{1,20}", other in "[a-z.]{1,20}") {
            prop_assert!(Step::Fitting(name.clone()).fits(OsStr::new(&name)));
            prop_assert_eq!(Step::Fitting(name.clone()).fits(OsStr::new(&other)), name == other);
        }
    }
}
