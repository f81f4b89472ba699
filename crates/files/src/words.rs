//! Formats numbers, names and errors for a model.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path in a line of text: bytes that are not UTF-8, and control characters, which could end the line, are escaped.
pub(crate) struct Named<'a>(pub(crate) &'a Path);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(self.0.as_os_str()))
    }
}

/// A name in a line of text. A backslash is doubled only in a name that needs escaping, so that a model can use
/// ordinary names as they stand.
pub(crate) fn escaped(name: &OsStr) -> String {
    match name.to_str() {
        Some(text) if !text.chars().any(must_be_escaped) => text.to_owned(),
        _ => escaped_parts(name.as_bytes()),
    }
}

fn escaped_parts(name: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' || must_be_escaped(c) {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        for byte in chunk.invalid() {
            shown += &format!("\\x{byte:02x}");
        }
    }
    shown
}

/// Whether this is a control character, or one that reverses the direction of the following text or breaks the line.
fn must_be_escaped(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The system's error message, without the error number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text[..end].to_lowercase()
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, one: &str) -> String {
    let plural = if one.ends_with("ch") || one.ends_with('s') { "es" } else { "s" };
    match number {
        1 => format!("1 {one}"),
        _ if one.ends_with('y') => format!("{number} {}ies", one.trim_end_matches('y')),
        _ => format!("{number} {one}{plural}"),
    }
}

/// `812 bytes`, `1.5 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes >= *unit);
    match unit {
        Some((unit, name)) => format!("{}.{} {name}", bytes / unit, bytes % unit / (unit / 10)),
        None => count(bytes, "byte"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_break_a_line_are_escaped() {
        for (name, expected) in [
            (&b"plain.rs"[..], "plain.rs"),
            (b"sp ace\\back", "sp ace\\back"),
            ("größe-日本.txt".as_bytes(), "größe-日本.txt"),
            (b"two\nlines\\x", "two\\nlines\\\\x"),
            (b"\x1b[31mred", "\\u{1b}[31mred"),
            (b"lat\xe9in", "lat\\xe9in"),
            ("\u{202e}fdp.exe".as_bytes(), "\\u{202e}fdp.exe"),
        ] {
            assert_eq!(escaped(OsStr::from_bytes(name)), expected);
        }
    }

    #[test]
    fn numbers_have_their_words() {
        for (number, one, expected) in [
            (0, "line", "0 lines"),
            (1, "match", "1 match"),
            (2, "match", "2 matches"),
            (3, "directory", "3 directories"),
        ] {
            assert_eq!(count(number, one), expected);
        }
        for (bytes, expected) in
            [(1, "1 byte"), (999, "999 bytes"), (1500, "1.5 kB"), (20_000_000, "20.0 MB")]
        {
            assert_eq!(size(bytes), expected);
        }
    }
}
