//! Patterns over the names of environment variables, in the syntax of the crate `globset`: `*`, `?`, `[A-Z]` and
//! `{A,B}`. A pattern matches the whole name, and case does not matter.

use std::ffi::OsStr;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A list of patterns.
#[derive(Clone, Debug, Default)]
pub struct VariablePatterns(GlobSet);

/// A pattern that cannot match any name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{pattern}` is not a pattern of variable names: {reason}; write `*` for any characters, such as AWS_*"
)]
pub struct BadVariablePattern {
    /// As it was written.
    pub pattern: String,
    /// The problem with it.
    pub reason: String,
}

impl VariablePatterns {
    /// Reads a list of patterns.
    pub fn parse(patterns: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self, BadVariablePattern> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let bad = |reason: String| BadVariablePattern { pattern: pattern.as_ref().to_owned(), reason };
            if pattern.as_ref().is_empty() {
                return Err(bad("it is empty".to_owned()));
            }
            // Upper case on both sides, because `globset` needs a regular expression for a pattern without case.
            let glob = GlobBuilder::new(&pattern.as_ref().to_uppercase()).backslash_escape(true).build();
            set.add(glob.map_err(|error| bad(error.kind().to_string()))?);
        }
        let whole = |error: globset::Error| BadVariablePattern {
            pattern: error.glob().unwrap_or_default().to_owned(),
            reason: error.kind().to_string(),
        };
        set.build().map(Self).map_err(whole)
    }

    /// Whether the list has no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them matches this name.
    pub fn matches(&self, name: &OsStr) -> bool {
        self.0.is_match(name.to_string_lossy().to_uppercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names_in_any_case() {
        for (pattern, name, expected) in [
            ("*KEY*", "API_KEY", true),
            ("*KEY*", "keyboard", true),
            ("*KEY*", "KE", false),
            ("AWS_*", "AWS_REGION", true),
            ("AWS_*", "MY_AWS_", false),
            ("*_ID", "AWS_ID", true),
            ("home", "HOME", true),
            ("HOME", "HOMER", false),
            ("A*B*C", "AxBxC", true),
            ("A*B*C", "AxCxB", false),
            ("AB*BA", "ABA", false),
            ("a?c", "ABC", true),
            ("a?c", "AC", false),
            ("*_{KEY,TOKEN}", "A_TOKEN", true),
            ("[A-C]_X", "b_x", true),
            ("*", "a/b", true),
            ("é*", "Éa", true),
        ] {
            let patterns = VariablePatterns::parse([pattern]).unwrap();
            assert_eq!(patterns.matches(OsStr::new(name)), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_that_can_match_nothing_is_an_error() {
        for pattern in ["", "A_[", "{A,B", "A\\"] {
            let error = VariablePatterns::parse(["FINE_*", pattern]).expect_err(pattern);
            assert_eq!(error.pattern, pattern, "{error}");
        }
    }
}
