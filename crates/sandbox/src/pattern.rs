//! Patterns over paths, in the syntax of the crate `globset`: `*` and `?` within one name, `[a-z]` for one character,
//! `{a,b}` for either, `**` for any number of directories, and a backslash before a character that means itself. A
//! pattern without any of these is a plain path. Names of files are bytes and need not be text.

use crate::disk::Disk;
use crate::followed_path::FollowedPath;
use globset::{GlobBuilder, GlobMatcher};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path, absolute or from the workspace on, in which names may be patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// The path, if this is a path and not a pattern. It may not be UTF-8.
    plain: Option<PathBuf>,
    /// The links that were resolved when the rule was made. A link that is in the path itself now was created since.
    resolved: Option<Vec<PathBuf>>,
}

/// One name of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum PatternStep {
    /// Exactly this name.
    Name(String),
    /// Names that fit.
    Fitting(GlobMatcher),
    /// Any number of directories, also none.
    AnyDepth,
}

/// The reason why a text is not a valid pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It is longer than any path.
    #[error("it is longer than any path")]
    TooLong,
    /// Braces contain alternatives for one name, so they cannot contain a `/`.
    #[error("braces cannot hold a `/`: write two patterns")]
    SlashInBraces,
    /// `..` behind a name that is a pattern.
    #[error("`..` can only stand at the beginning")]
    ParentBehindPattern,
    /// A name that is not a valid glob.
    #[error("{0}")]
    Glob(String),
}

/// No path is longer.
const LONGEST: usize = 4096;

impl Pattern {
    /// A pattern as it was written. `~/` is the home directory.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), plain: None, resolved: None }
    }

    /// Exactly this path, whatever characters are in it.
    pub fn plain(path: &Path) -> Self {
        Self { text: path.to_string_lossy().into_owned(), plain: Some(path.to_owned()), resolved: None }
    }

    /// The same place for good: if it is a path that exists, its links are resolved now, and the rule has no effect
    /// while a link stands in their place. So a command that replaces a directory by a link cannot move the rule.
    #[must_use]
    pub fn resolved(self, workspace: &Path, home: Option<&Path>) -> Self {
        let path = self.split(workspace, home).ok().filter(|(_, steps)| steps.is_empty());
        let way = path
            .map(|(path, _)| FollowedPath::of(&path, &Disk::default()))
            .filter(FollowedPath::leads_somewhere);
        match way {
            Some(way) => Self { resolved: Some(way.links().to_vec()), plain: Some(way.end), text: self.text },
            None => self,
        }
    }

    /// The links that were resolved when the rule was made, if they were.
    pub(crate) fn resolved_links(&self) -> Option<&[PathBuf]> {
        self.resolved.as_deref()
    }

    /// Whether it can match anything at all.
    pub fn check(&self) -> Result<(), BadPattern> {
        self.split(Path::new("/"), Some(Path::new("/"))).map(drop)
    }

    /// The pattern as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same as an absolute path or pattern, to compare rules by.
    pub(crate) fn absolute(&self, workspace: &Path, home: Option<&Path>) -> PathBuf {
        match (&self.plain, self.text.strip_prefix('~'), home) {
            (Some(path), ..) => workspace.join(path),
            (None, Some(below), Some(home)) if self.needs_home() => home.join(below.trim_start_matches('/')),
            (None, ..) => workspace.join(&self.text),
        }
    }

    pub(crate) fn needs_home(&self) -> bool {
        self.plain.is_none() && (self.text == "~" || self.text.starts_with("~/"))
    }

    /// Whether it names another user's home (`~name`), as a shell would understand it.
    pub(crate) fn is_of_another_home(&self) -> bool {
        self.plain.is_none() && self.text.starts_with('~') && !self.needs_home()
    }

    /// The plain path it begins with, seen from the workspace and the home, and the names that follow it.
    pub(crate) fn split(
        &self,
        workspace: &Path,
        home: Option<&Path>,
    ) -> Result<(PathBuf, Vec<PatternStep>), BadPattern> {
        if let Some(path) = &self.plain {
            return Ok((workspace.join(path), Vec::new()));
        }
        if self.text.is_empty() {
            return Err(BadPattern::Empty);
        }
        if self.text.len() > LONGEST {
            return Err(BadPattern::TooLong);
        }
        let (mut start, text) = match (self.text.strip_prefix('~'), home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => (home.to_owned(), rest),
            _ if self.text.starts_with('/') => (PathBuf::from("/"), self.text.as_str()),
            _ => (workspace.to_owned(), self.text.as_str()),
        };
        let names = names(text)?.into_iter().filter(|name| !matches!(*name, "" | "."));
        let mut steps: Vec<PatternStep> = names.map(PatternStep::of).collect::<Result<_, _>>()?;
        let plain = steps.iter().take_while(|step| matches!(step, PatternStep::Name(_))).count();
        for step in steps.drain(..plain) {
            match step {
                PatternStep::Name(name) if name == ".." => drop(start.pop()),
                PatternStep::Name(name) => start.push(name),
                PatternStep::Fitting(_) | PatternStep::AnyDepth => {}
            }
        }
        match steps.iter().any(|step| matches!(step, PatternStep::Name(name) if name == "..")) {
            true => Err(BadPattern::ParentBehindPattern),
            false => Ok((start, steps)),
        }
    }
}

/// The names of a path, separated by slashes. A slash in braces does not separate names.
fn names(text: &str) -> Result<Vec<&str>, BadPattern> {
    let (mut depth, mut is_escaped) = (0_usize, false);
    for character in text.chars() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '/' if depth > 0 => return Err(BadPattern::SlashInBraces),
            _ => {}
        }
    }
    Ok(text.split('/').collect())
}

impl PatternStep {
    fn of(name: &str) -> Result<Self, BadPattern> {
        match name {
            "**" => Ok(Self::AnyDepth),
            name if name.contains(['*', '?', '[', '{', '}', '\\']) => {
                let glob = GlobBuilder::new(name).literal_separator(true).backslash_escape(true).build();
                let glob = glob.map_err(|error| BadPattern::Glob(error.kind().to_string()))?;
                Ok(Self::Fitting(glob.compile_matcher()))
            }
            name => Ok(Self::Name(name.to_owned())),
        }
    }

    /// Whether a name fits this one step.
    pub(crate) fn fits(&self, name: &OsStr) -> bool {
        match self {
            Self::Name(exactly) => OsStr::new(exactly) == name,
            Self::Fitting(glob) => glob.is_match(name) || glob.is_match(one_byte_each(name)),
            Self::AnyDepth => true,
        }
    }
}

/// The same name with one byte for each character of several bytes: globs are matched byte by byte, and `?` means one
/// character.
fn one_byte_each(name: &OsStr) -> OsString {
    let mut bytes = Vec::with_capacity(name.len());
    for chunk in name.as_bytes().utf8_chunks() {
        bytes.extend(chunk.valid().chars().map(|character| u8::try_from(character).unwrap_or(u8::MAX)));
        bytes.extend(chunk.invalid());
    }
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_fit_or_do_not() {
        let check = |pattern: &str, name: &str, expected: bool| {
            let step = PatternStep::of(pattern).expect("it is a pattern");
            assert_eq!(step.fits(OsStr::new(name)), expected, "{pattern} {name}");
        };
        check("*.pem", "key.pem", true);
        check("*.pem", "key.pem.txt", false);
        check("id_*", "id_rsa", true);
        check("?", "é", true);
        check("a[0-9]c", "a7c", true);
        check("a[!0-9]c", "a7c", false);
        check("a\\[b", "a[b", true);
        check("*.{pem,key}", "id.key", true);
        check("*.{pem,key}", "id.keys", false);
        check("{a,b{c,d}}", "bd", true);
        check("cl?", "cl\u{e9}", true);
        check("*\u{e9}", "cl\u{e9}", true);
        check("*a*b", "xxaxxb", true);
        check("*a*b", "xxaxx", false);
        check("**", "anything", true);
        check(".env", ".env", true);
    }

    #[test]
    fn names_that_are_no_text_fit_byte_by_byte() {
        let check = |pattern: &str, name: &[u8], expected: bool| {
            let step = PatternStep::of(pattern).expect("it is a pattern");
            assert_eq!(step.fits(OsStr::from_bytes(name)), expected, "{pattern} {name:?}");
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
            let split = Pattern::new(text).split(Path::new("/w"), Some(Path::new("/h")));
            let (path, steps) = split.expect("it is a pattern");
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
        check("**/*.{pem,key}", "/w", 2);
    }

    #[test]
    fn what_is_no_pattern_is_refused_with_the_reason() {
        let check = |text: &str, expected: &str| {
            let error = Pattern::new(text).split(Path::new("/w"), None).expect_err("it is none").to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "it is empty");
        check("a[b", "unclosed character class");
        check("*.{pem,key", "unclosed alternate group");
        check("{a/b,c}/d", "two patterns");
        check("*/../x", "only stand at the beginning");
        check(&"x".repeat(5000), "longer than any path");
    }

    proptest! {
        #[test]
        fn no_pattern_and_no_name_is_too_strange(pattern in "\\PC{0,40}", name in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = PatternStep::of(&pattern).map(|step| step.fits(OsStr::from_bytes(&name)));
            let _ = Pattern::new(pattern).split(Path::new("/w"), None);
        }

        #[test]
        fn a_name_without_special_characters_fits_itself_alone(name in "[a-z.]{1,20}", other in "[a-z.]{1,20}") {
            let step = PatternStep::of(&format!("{{{name}}}")).expect("it is a pattern");
            prop_assert!(step.fits(OsStr::new(&name)));
            prop_assert_eq!(step.fits(OsStr::new(&other)), name == other);
        }
    }
}
