//! Paths as `file:` URIs. A path is bytes, a URI is text: what is no plain character is written as `%XX`, both ways.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An absolute path, written as a `file:` URI.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathUri(PathBuf);

/// Why a text is no `file:` URI of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadUri {
    /// It has no scheme.
    Relative,
    /// It is about something other than a file.
    Scheme(String),
    /// It names another machine, or no absolute path, or one that no file can have.
    Elsewhere(String),
    /// It has a part that paths do not have.
    Query,
    /// Likewise.
    Fragment,
}

impl fmt::Display for BadUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative => f.write_str("invalid URI: relative URL without a base"),
            Self::Scheme(scheme) => write!(f, "unsupported path URI scheme `{scheme}`"),
            Self::Elsewhere(uri) => write!(f, "'{uri}' is invalid on 'linux'"),
            Self::Query => f.write_str("query parameters are not allowed in path URIs"),
            Self::Fragment => f.write_str("fragments are not allowed in path URIs"),
        }
    }
}

impl std::error::Error for BadUri {}

impl PathUri {
    /// The URI of an absolute path.
    pub fn of(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Reads a URI.
    pub fn parse(uri: &str) -> Result<Self, BadUri> {
        let (scheme, rest) =
            uri.split_once(':').filter(|(scheme, _)| is_scheme(scheme)).ok_or(BadUri::Relative)?;
        if !scheme.eq_ignore_ascii_case("file") {
            return Err(BadUri::Scheme(scheme.to_ascii_lowercase()));
        }
        match rest.chars().find(|character| "?#".contains(*character)) {
            Some('?') => return Err(BadUri::Query),
            Some(_) => return Err(BadUri::Fragment),
            None => {}
        }
        let path = match rest.strip_prefix("//") {
            Some(after) => after.strip_prefix("localhost").unwrap_or(after),
            None => rest,
        };
        if !path.starts_with('/') {
            return Err(BadUri::Elsewhere(uri.to_owned()));
        }
        let bytes = decode(&plain(path));
        if bytes.contains(&0) {
            return Err(BadUri::Elsewhere(uri.to_owned()));
        }
        Ok(Self(PathBuf::from(std::ffi::OsString::from_vec(bytes))))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path, taken out.
    pub fn into_path(self) -> PathBuf {
        self.0
    }
}

impl fmt::Display for PathUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("file://")?;
        for &byte in OsStr::as_bytes(self.0.as_os_str()) {
            if is_plain(byte) { write!(f, "{}", char::from(byte))? } else { write!(f, "%{byte:02X}")? }
        }
        Ok(())
    }
}

impl Serialize for PathUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PathUri {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for PathUri {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PathUri".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "uri",
            "description": "An absolute path, written as a `file:` URI.",
        })
    }
}

fn is_scheme(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character))
}

/// Without steps to the same place or back, as every URI is read, and without a slash at the end: it would make a link the
/// folder that it leads to, and whoever removes the link would empty that.
fn plain(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/').skip(1) {
        match step.to_ascii_lowercase().replace("%2e", ".").as_str() {
            "." => {}
            ".." => drop(steps.pop()),
            _ => steps.push(step),
        }
    }
    while steps.last() == Some(&"") {
        steps.pop();
    }
    format!("/{}", steps.join("/"))
}

/// Whether a byte of a path stands for itself.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_graphic() && !br#""<>`#?{}%\^"#.contains(&byte)
}

/// A `%` without two digits behind it stands for itself, as in every URI that is read.
fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digit = |place: usize| after.get(place).and_then(|byte| char::from(*byte).to_digit(16));
        let coded = digit(0).zip(digit(1)).filter(|_| *first == b'%');
        let coded = coded.and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { &after[2..] } else { after };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(uri: &str, expected: &str) {
        let read = PathUri::parse(uri).map(PathUri::into_path);
        assert_eq!(read, Ok(PathBuf::from(expected)), "{uri}");
    }

    #[test]
    fn a_file_uri_is_a_path() {
        check("file:///", "/");
        check("file:///a/b%20c", "/a/b c");
        check("FILE:///a", "/a");
        check("file://localhost/a", "/a");
        check("file:/a", "/a");
        check("file:///%C3%A9%23%3F%25", "/é#?%");
        check("file:///100%/a%2/%zz", "/100%/a%2/%zz");
        check("file:///a/b/", "/a/b");
        check("file:///a/b//", "/a/b");
        check("file:////", "/");
        check("file:///a/./b/.", "/a/b");
        check("file:///a/%2E/b/%2e%2E/c", "/a/c");
        check("file:///../../a/..b/...", "/a/..b/...");
    }

    #[test]
    fn what_is_none_says_why() {
        let check = |uri: &str, expected: &str| {
            let refused = PathUri::parse(uri).expect_err(uri);
            assert_eq!(refused.to_string(), expected);
        };
        check("/etc", "invalid URI: relative URL without a base");
        check("", "invalid URI: relative URL without a base");
        check("http://x/etc", "unsupported path URI scheme `http`");
        check("file://host/etc", "'file://host/etc' is invalid on 'linux'");
        check("file:///a?b#c", "query parameters are not allowed in path URIs");
        check("file:///a#b?c", "fragments are not allowed in path URIs");
        check("file:///a%00b", "'file:///a%00b' is invalid on 'linux'");
    }

    proptest! {
        #[test]
        fn every_path_comes_back(bytes in proptest::collection::vec(1u8.., 0..60)) {
            let path = Path::new("/").join(OsStr::from_bytes(&bytes));
            prop_assume!(!path.components().any(|step| step == std::path::Component::ParentDir));
            let uri = PathUri::of(&path).to_string();
            prop_assert_eq!(PathUri::parse(&uri).map(PathUri::into_path), Ok(path));
        }

        #[test]
        fn any_text_can_be_read(text in ".{0,40}") {
            let _ = PathUri::parse(&text);
        }
    }
}
