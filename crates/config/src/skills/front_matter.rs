//! The front matter of a SKILL.md, between two lines of `---`: a small strict subset of YAML, with keys, texts (bare,
//! quoted or as blocks), and comments. Other keys may have any values that are indented below them. It is more lenient
//! than YAML in one common case: a bare text may contain `: `.

mod lines;
mod scalar;

use lines::Lines;

use super::mention;

/// The longest name and description, in characters.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 4096;

/// The front matter of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
}

/// Why a front matter is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct FrontMatterError {
    /// The line, counted from one.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

impl FrontMatter {
    /// Parses a SKILL.md.
    pub fn parse(text: &str) -> Result<Self, FrontMatterError> {
        let (front, _) = split(text)?;
        let (mut name, mut description) = (None, None);
        let mut lines = Lines::new(front);
        while let Some(entry) = lines.entry()? {
            let field = match entry.key {
                "name" => &mut name,
                "description" => &mut description,
                _ => {
                    lines.skip_block();
                    continue;
                }
            };
            let value = scalar::read(&entry, &mut lines)?;
            if field.replace((entry.line, value)).is_some() {
                return Err(error(entry.line, format!("`{}` is there twice", entry.key)));
            }
        }
        let name = name.ok_or_else(|| error(1, "`name` is missing".to_owned()))?;
        let description = description.ok_or_else(|| error(1, "`description` is missing".to_owned()))?;
        Ok(Self { name: checked_name(name)?, description: checked_description(description)? })
    }
}

/// The text after the front matter; the whole text if there is none.
pub(super) fn body(text: &str) -> &str {
    split(text).map_or(text, |(_, body)| body)
}

fn split(text: &str) -> Result<(&str, &str), FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_fence = |line: &str| line.trim_end() == "---";
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if !is_fence(first) {
        return Err(error(1, "the file does not begin with a line `---`".to_owned()));
    }
    let rest = &text[first.len()..];
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if is_fence(line) {
            return Ok((&rest[..end], &rest[end + line.len()..]));
        }
        end += line.len();
    }
    Err(error(1, "no second line `---` ends what stands before the text".to_owned()))
}

fn checked_name((line, name): (usize, String)) -> Result<String, FrontMatterError> {
    let name = name.trim().to_owned();
    let letters = name.chars().count();
    if letters == 0 || letters > LONGEST_NAME {
        return Err(error(line, format!("`name` has between 1 and {LONGEST_NAME} letters")));
    }
    match name.chars().find(|c| !mention::is_part(*c)) {
        Some(c) => {
            Err(error(line, format!("`name` has letters, digits, `-`, `_`, `.` and `:` only, not {c:?}")))
        }
        None => Ok(name),
    }
}

fn checked_description((line, text): (usize, String)) -> Result<String, FrontMatterError> {
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Err(error(line, "`description` is empty".to_owned()));
    }
    if text.chars().count() > LONGEST_DESCRIPTION {
        return Err(error(line, format!("`description` has more than {LONGEST_DESCRIPTION} letters")));
    }
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(error(line, format!("`description` holds the control character {c:?}")));
    }
    Ok(text)
}

fn error(line: usize, problem: String) -> FrontMatterError {
    FrontMatterError { line, problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(front: &str, expected: Result<(&str, &str), (usize, &str)>) {
        let text = format!("---\n{front}\n---\nbody\n");
        let found = FrontMatter::parse(&text);
        let found = found.as_ref().map(|found| (found.name.as_str(), found.description.as_str()));
        let found = found.map_err(|error| (error.line, error.problem.as_str()));
        match (found, expected) {
            (Err((line, problem)), Err((expected_line, part))) => {
                assert!(line == expected_line && problem.contains(part), "{front}\n{line}: {problem}");
            }
            (found, expected) => assert_eq!(found, expected, "{front}"),
        }
    }

    #[test]
    fn texts_are_bare_quoted_or_blocks() {
        check("name: a\ndescription: does b", Ok(("a", "does b")));
        check("# hello\nname: a # why\n\ndescription: b#c # d", Ok(("a", "b#c")));
        check("name: 'a'\ndescription: 'it''s # so'", Ok(("a", "it's # so")));
        check(
            r#"name: "a"
description: "tab\tquote\" \u00e9 \x41 \\" # x"#,
            Ok(("a", "tab\tquote\" é A \\")),
        );
        check("name: a\ndescription: >\n  one\n  two\n\n  three\n", Ok(("a", "one two\nthree")));
        check("name: a\ndescription: |-\n  one\n    two\n  three", Ok(("a", "one\n  two\nthree")));
        check("description: >-\n    one\n    two\nname: a", Ok(("a", "one two")));
        check("name: a\ndescription: one\n  two\n  three", Ok(("a", "one two three")));
        check("name: a\ndescription: \"one\n  two\"", Ok(("a", "one two")));
        check("name: a\ndescription:\n  on the next line", Ok(("a", "on the next line")));
        check("name: a\ndescription: use this: when asked", Ok(("a", "use this: when asked")));
    }

    #[test]
    fn other_keys_hold_anything() {
        let other =
            "name: a\nmetadata:\n  short: x\n  tags: [a, b]\nallowed-tools:\n- Bash\n- Read\nlicense: MIT\n";
        check(&format!("{other}description: b"), Ok(("a", "b")));
        check("name: a\nnotes: |\n  description: no\ndescription: b", Ok(("a", "b")));
    }

    #[test]
    fn faults_name_their_line() {
        check("description: b", Err((1, "`name` is missing")));
        check("name: a", Err((1, "`description` is missing")));
        check("name: a\nname: c\ndescription: b", Err((3, "twice")));
        check("name: a b\ndescription: b", Err((2, "letters, digits")));
        check("name: ''\ndescription: b", Err((2, "between 1 and")));
        check("name: a\ndescription: 'open", Err((3, "not closed")));
        check("name: a\ndescription: \"b\" c", Err((3, "after the closing quote")));
        check("name: a\ndescription: \"\\q\"", Err((3, "escape")));
        check("name: a\ndescription: [b]", Err((3, "must be a text")));
        check("name: a\ndescription: *other", Err((3, "must be a text")));
        check("name: a\n\tdescription: b", Err((3, "tab")));
        check("name: a\nnonsense\ndescription: b", Err((3, "`key: value`")));
        check("name: a\n  description: b\n", Err((1, "`description` is missing")));
        check("name: a\ndescription:", Err((3, "empty")));
    }

    #[test]
    fn a_file_needs_both_fences() {
        for text in ["", "name: a", "---\nname: a\n", "--\n---\n"] {
            assert!(FrontMatter::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(body("---\nname: a\n---\nthe body\n"), "the body\n");
        assert_eq!(body("no front"), "no front");
        let with_returns = "---\r\nname: a\r\ndescription: b c\r\n---\r\nbody";
        assert_eq!(FrontMatter::parse(with_returns).unwrap().description, "b c");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}", tail in "[-a-z:#'\"|> \n]{0,200}") {
            let _ = FrontMatter::parse(&text);
            let _ = FrontMatter::parse(&format!("---\nname: {tail}\n---\n{text}"));
            let _ = FrontMatter::parse(&format!("---\ndescription:{tail}\n---"));
        }
    }
}
