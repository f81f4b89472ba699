//! The regular expression of a search. Errors point at the position of the fault.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::answer::FileToolError;

/// A regular expression that matches within lines.
#[derive(Clone, Debug)]
pub(super) struct Pattern(pub(super) RegexMatcher);

impl Pattern {
    pub(super) fn parse(pattern: &str) -> Result<Self, FileToolError> {
        if pattern.is_empty() {
            return Err(refused("is empty, which every line matches; say what to look for"));
        }
        check_syntax(pattern)?;
        let mut builder = RegexMatcherBuilder::new();
        // A line ends with LF or CR LF, so `;$` also finds lines of files from Windows.
        builder.multi_line(true).unicode(true).line_terminator(Some(b'\n')).crlf(true);
        builder.build(pattern).map(Self).map_err(|error| refused(explained(&error)))
    }
}

fn check_syntax(pattern: &str) -> Result<(), FileToolError> {
    let parsed = regex_syntax::ParserBuilder::new().utf8(false).build().parse(pattern);
    let (place, complaint) = match parsed {
        Ok(_) => return Ok(()),
        Err(regex_syntax::Error::Parse(error)) => (error.span().start, error.kind().to_string()),
        Err(regex_syntax::Error::Translate(error)) => (error.span().start, error.kind().to_string()),
        Err(other) => return Err(refused(other.to_string())),
    };
    let character = pattern[..place.offset].chars().count() + 1;
    Err(refused(format!(
        "wrong at character {character}: {complaint}. Put a backslash before ( ) [ ] {{ }} . * + ? | ^ $ \\ where they \
         are meant literally"
    )))
}

fn explained(error: &grep_regex::Error) -> String {
    match error.kind() {
        grep_regex::ErrorKind::NotAllowed(_) => {
            "a match is always within one line, so the pattern cannot contain a line break".to_owned()
        }
        _ => error.to_string(),
    }
}

fn refused(complaint: impl Into<String>) -> FileToolError {
    FileToolError::argument("pattern", complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_pattern_is_refused_with_its_position() {
        for (pattern, expected) in [
            ("", "pattern: is empty"),
            ("main(", "pattern: wrong at character 5: unclosed group"),
            ("é[z-a]", "pattern: wrong at character 3: invalid character class range"),
            ("*", "pattern: wrong at character 1: repetition operator missing expression"),
            ("(?=a)", "pattern: wrong at character 1: look-around"),
            (r"\p{Nonsense}", "pattern: wrong at character 1: Unicode property not found"),
            (r"a\nb", "pattern: a match is always within one line"),
            (r"\w{1000}{1000}", "pattern: compiled regex exceeds size limit"),
        ] {
            let refusal = Pattern::parse(pattern).expect_err(pattern).to_string();
            assert!(refusal.starts_with(expected), "{pattern}: {refusal}");
        }
    }
}
