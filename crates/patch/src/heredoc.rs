//! Recognizes a shell script that only applies a patch, so that it can be applied without a shell. Exact and
//! conservative: a script that expands, redirects or runs anything else does not count.

/// A patch in a shell script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heredoc {
    /// The directory to which the script changes first.
    pub directory: Option<String>,
    /// The patch's text.
    pub patch: String,
}

impl Heredoc {
    /// Finds the patch if the script is `apply_patch` with a here-document or with one argument, perhaps after
    /// `cd DIRECTORY &&`, and nothing else.
    pub fn find(script: &str) -> Option<Self> {
        let script = script.trim();
        let (directory, rest) = match script.strip_prefix("cd") {
            Some(rest) => directory(rest).map(|(directory, rest)| (Some(directory), rest))?,
            None => (None, script),
        };
        let rest = rest.strip_prefix("apply_patch").or_else(|| rest.strip_prefix("applypatch"))?;
        let patch = match rest.trim_start_matches(BLANKS).strip_prefix("<<") {
            Some(rest) => document(rest)?,
            None => argument(rest)?,
        };
        Some(Self { directory, patch })
    }
}

/// The characters that separate words on a line.
const BLANKS: [char; 2] = [' ', '\t'];

/// Reads ` DIRECTORY && `.
fn directory(text: &str) -> Option<(String, &str)> {
    let text = after_blanks(text)?;
    let (word, rest) = word(text)?;
    let rest = rest.trim_start_matches(BLANKS).strip_prefix("&&")?;
    let plain = !word.is_empty() && !word.starts_with('-');
    plain.then(|| (word, rest.trim_start()))
}

/// Reads the rest of the script after `<<`.
fn document(text: &str) -> Option<String> {
    let (first, body) = text.trim_start_matches(BLANKS).split_once('\n')?;
    let first = first.trim_end();
    let quoted = ['\'', '"'].into_iter().find_map(|quote| first.strip_prefix(quote)?.strip_suffix(quote));
    let delimiter = quoted.unwrap_or(first);
    if delimiter.is_empty() || !delimiter.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let body = until_delimiter(body, delimiter)?;
    // Without quotes the shell would expand these.
    let expands = quoted.is_none() && body.contains(['$', '`', '\\']);
    (!expands).then(|| body.to_owned())
}

/// The text before the line with the delimiter, which must be the script's last.
fn until_delimiter<'a>(body: &'a str, delimiter: &str) -> Option<&'a str> {
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        if line.strip_suffix('\n').unwrap_or(line) == delimiter {
            return body[end + line.len()..].trim().is_empty().then_some(&body[..end]);
        }
        end += line.len();
    }
    None
}

/// Reads the only argument, which must be a patch: `apply_patch --help` is for the shell.
fn argument(text: &str) -> Option<String> {
    let (word, rest) = word(after_blanks(text)?)?;
    (rest.trim().is_empty() && word.trim_start().starts_with("*** Begin Patch")).then_some(word)
}

/// The text after at least one blank.
fn after_blanks(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(BLANKS);
    (rest.len() < text.len()).then_some(rest)
}

/// Reads one word as a shell does, as long as nothing in it is expanded, and returns the rest of the text.
fn word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '\'' => {
                let (quoted, after) = rest[1..].split_once('\'')?;
                word.push_str(quoted);
                after
            }
            '"' => double_quoted(&rest[1..], &mut word)?,
            '\\' => {
                let escaped = rest[1..].chars().next().filter(|c| *c != '\n')?;
                word.push(escaped);
                &rest[1 + escaped.len_utf8()..]
            }
            _ if is_plain(first) => {
                word.push(first);
                &rest[first.len_utf8()..]
            }
            ' ' | '\t' | '\n' | '&' => break,
            _ => return None,
        };
    }
    (rest.len() < text.len()).then_some((word, rest))
}

/// Whether a shell takes this character literally, wherever it stands in a word.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | ':' | '@' | '%')
}

/// Reads up to the closing quote and returns the rest of the text.
fn double_quoted<'a>(text: &'a str, word: &mut String) -> Option<&'a str> {
    let mut characters = text.char_indices();
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return Some(&text[at + 1..]),
            '$' | '`' => return None,
            '\\' => match characters.next()?.1 {
                '\n' => {}
                escaped @ ('"' | '\\' | '$' | '`') => word.push(escaped),
                other => word.extend(['\\', other]),
            },
            other => word.push(other),
        }
    }
    None
}
