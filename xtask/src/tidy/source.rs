//! A Rust file as the rules see it: its words and signs, without comments, and with each literal as one piece.
//!
//! This is a lexer, not a parser: it is exact about where comments, strings, characters and lifetimes begin and end, so
//! that a keyword inside one never counts, and knows nothing of grammar beyond brackets.

use std::ops::RangeInclusive;

use super::workspace::{File, Workspace};

/// A Rust file and its tokens.
pub(crate) struct Source<'a> {
    pub(crate) file: &'a File,
    pub(crate) tokens: Vec<Token<'a>>,
    test_code: TestCode,
}

/// Which part of a file is test code.
enum TestCode {
    /// All of it.
    File,
    /// These lines.
    Lines(Vec<RangeInclusive<usize>>),
}

/// A word, a literal or a sign. `::` is one sign; every other is a single character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl<'a> Source<'a> {
    /// Every Rust file of a workspace.
    pub(crate) fn all(workspace: &'a Workspace) -> Vec<Self> {
        let mut sources: Vec<Self> = workspace.rust_files().map(Self::new).collect();
        let modules: Vec<String> = sources.iter().flat_map(Self::test_modules).collect();
        for source in &mut sources {
            if modules.iter().any(|module| source.file.is_module(module)) {
                source.test_code = TestCode::File;
            }
        }
        sources
    }

    fn new(file: &'a File) -> Self {
        let tokens = lex(&file.text);
        let by_path = file.folder().split('/').any(|part| part == "tests") || file.name() == "tests.rs";
        let test_code = if by_path { TestCode::File } else { TestCode::Lines(test_lines(&tokens)) };
        Self { file, tokens, test_code }
    }

    /// Where the tokens of a pattern, written with spaces between them, follow each other: positions in `tokens`.
    pub(crate) fn find(&self, pattern: &str) -> impl Iterator<Item = usize> {
        find(&self.tokens, pattern)
    }

    /// The text of the token some places before (negative) or after a position; nothing beyond the file's ends.
    pub(crate) fn near(&self, position: usize, distance: isize) -> &'a str {
        let position = position.checked_add_signed(distance);
        position.and_then(|at| self.tokens.get(at)).map_or("", |token| token.text)
    }

    /// Whether a line is test code: in a `tests` folder or file, or in an item or module under `#[cfg(test)]`.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        match &self.test_code {
            TestCode::File => true,
            TestCode::Lines(ranges) => ranges.iter().any(|lines| lines.contains(&line)),
        }
    }

    /// The functions with a name: the line of each, the name, and how many lines it has.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (usize, &'a str, usize)> {
        let named = self
            .tokens
            .windows(2)
            .enumerate()
            .filter(|(_, pair)| pair[0].text == "fn" && pair[1].text != "(");
        named.map(|(position, pair)| {
            let last = last_line_of_item(&self.tokens[position..]);
            (pair[0].line, pair[1].text, last + 1 - pair[0].line)
        })
    }

    /// Where the modules lie that this file declares under `#[cfg(test)]`, without the `.rs`.
    fn test_modules(&self) -> Vec<String> {
        let names = self.find("# [ cfg ( test ) ] mod").map(|position| self.near(position, 8));
        names.map(|name| format!("{}/{name}", self.file.module_folder())).collect()
    }
}

fn find(tokens: &[Token<'_>], pattern: &str) -> impl Iterator<Item = usize> {
    let words: Vec<&str> = pattern.split(' ').collect();
    let places = tokens.windows(words.len()).enumerate();
    let places =
        places.filter(move |(_, window)| window.iter().zip(&words).all(|(token, word)| token.text == *word));
    places.map(|(position, _)| position)
}

fn test_lines(tokens: &[Token<'_>]) -> Vec<RangeInclusive<usize>> {
    let marks = find(tokens, "# [ cfg ( test").chain(find(tokens, "# [ cfg ( all ( test"));
    marks.map(|mark| tokens[mark].line..=last_line_of_item(&tokens[mark..])).collect()
}

/// The last line of the item that begins with these tokens: up to its closing brace, or its semicolon if it has none.
fn last_line_of_item(tokens: &[Token<'_>]) -> usize {
    let mut depth = 0_usize;
    for token in tokens {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" if depth <= 1 => return token.line,
            "}" => depth -= 1,
            ";" if depth == 0 => return token.line,
            _ => {}
        }
    }
    tokens.last().map_or(0, |token| token.line)
}

fn lex(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        let piece = first_piece(rest);
        let (text, after) = rest.split_at(piece.length);
        if piece.kind == Kind::Token {
            tokens.push(Token { text, line });
        }
        line += text.matches('\n').count();
        rest = after;
    }
    tokens
}

/// A stretch at the beginning of some text.
struct TokenPiece {
    kind: Kind,
    length: usize,
}

#[derive(PartialEq)]
enum Kind {
    /// White space or a comment.
    Blank,
    Token,
}

fn first_piece(text: &str) -> TokenPiece {
    if let Some(length) = white_space(text).or_else(|| line_comment(text)).or_else(|| block_comment(text)) {
        return TokenPiece { kind: Kind::Blank, length };
    }
    let length = string(text).or_else(|| character(text)).or_else(|| lifetime(text)).or_else(|| word(text));
    TokenPiece { kind: Kind::Token, length: length.unwrap_or_else(|| sign(text)) }
}

fn white_space(text: &str) -> Option<usize> {
    non_zero(text.len() - text.trim_start().len())
}

fn line_comment(text: &str) -> Option<usize> {
    text.starts_with("//").then(|| text.find('\n').unwrap_or(text.len()))
}

/// Block comments nest.
fn block_comment(text: &str) -> Option<usize> {
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return Some(at);
        }
    }
    Some(text.len())
}

/// `"..."`, `r#"..."#`, and both after `b` or `c`.
fn string(text: &str) -> Option<usize> {
    let unprefixed = text.strip_prefix(['b', 'c']).unwrap_or(text);
    let prefix = text.len() - unprefixed.len();
    let length = match unprefixed.strip_prefix('r') {
        Some(raw) => 1 + raw_string(raw)?,
        None => quoted(unprefixed, '"')?,
    };
    Some(prefix + length)
}

/// The rest of a raw string after its `r`. `r#name` is a word, not a string.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text.len() - text.trim_start_matches('#').len();
    let body = text[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(body.find(&end).map_or(text.len(), |at| hashes + 1 + at + end.len()))
}

/// Text between two quotes, where a backslash escapes the next character.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let body = text.strip_prefix(quote)?;
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at + 2),
            _ => {}
        }
    }
    Some(text.len())
}

/// `'x'` or `'\n'`, also after `b`; `'x` without an end is a lifetime.
fn character(text: &str) -> Option<usize> {
    let unprefixed = text.strip_prefix('b').unwrap_or(text);
    let mut inside = unprefixed.strip_prefix('\'')?.chars();
    let is_character = match inside.next()? {
        '\\' => true,
        _ => inside.next() == Some('\''),
    };
    let length = is_character.then(|| quoted(unprefixed, '\''))??;
    Some(text.len() - unprefixed.len() + length)
}

fn lifetime(text: &str) -> Option<usize> {
    let name = text.strip_prefix('\'')?;
    Some(1 + word(name).unwrap_or(0))
}

/// A name, keyword or number.
fn word(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    non_zero(end.unwrap_or(text.len()))
}

fn sign(text: &str) -> usize {
    if text.starts_with("::") { 2 } else { text.chars().next().map_or(1, char::len_utf8) }
}

fn non_zero(length: usize) -> Option<usize> {
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let tokens: Vec<&str> = lex(text).iter().map(|token| token.text).collect();
        assert_eq!(tokens, expected, "{text}");
    }

    #[test]
    fn words_and_signs_are_tokens() {
        check("std::env::var(x)", &["std", "::", "env", "::", "var", "(", "x", ")"]);
        check("a.b_1 += 0x2f;", &["a", ".", "b_1", "+", "=", "0x2f", ";"]);
    }

    #[test]
    fn comments_are_not() {
        check("a // unsafe\nb", &["a", "b"]);
        check("a /* unsafe /* nested */ still */ b", &["a", "b"]);
        check("a /* never closed", &["a"]);
    }

    #[test]
    fn a_string_is_one_token_whatever_is_in_it() {
        check(r#"f("unsafe // \" \\")"#, &["f", "(", r#""unsafe // \" \\""#, ")"]);
        check(r##"f(r#"a " b"#)"##, &["f", "(", r##"r#"a " b"#"##, ")"]);
        check(r#"b"\"" c"x" br"\""#, &[r#"b"\"""#, r#"c"x""#, r#"br"\""#]);
        check("\"never closed", &["\"never closed"]);
        check("\"ünïcode\" x", &["\"ünïcode\"", "x"]);
    }

    #[test]
    fn raw_names_are_not_raw_strings() {
        check("r#type raw br", &["r", "#", "type", "raw", "br"]);
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        check("'a' 'b x", &["'a'", "'b", "x"]);
        check(r"'\'' '\u{1f}' b'\\' '→'", &[r"'\''", r"'\u{1f}'", r"b'\\'", "'→'"]);
        check("&'static str", &["&", "'static", "str"]);
        check("f('\"', x)", &["f", "(", "'\"'", ",", "x", ")"]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let lines: Vec<usize> = lex("a\n/* \n */ b \"\n\" c").iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 3, 4]);
    }

    #[test]
    fn a_module_file_declared_under_cfg_test_is_test_code() {
        let workspace = Workspace::of(&[
            ("crates/engine/src/journal.rs", "mod disk;\n#[cfg(test)]\nmod faults;"),
            ("crates/engine/src/journal/disk.rs", "fn f() {}"),
            ("crates/engine/src/journal/faults.rs", "fn f() {}"),
            ("crates/engine/src/journal/faults/torn.rs", "fn f() {}"),
            ("crates/engine/src/lib.rs", "#[cfg(test)]\nmod samples;"),
            ("crates/engine/src/samples.rs", "fn f() {}"),
        ]);
        let sources = Source::all(&workspace);
        let tests = sources.iter().filter(|source| source.is_test(1)).map(|source| source.file.name());
        assert_eq!(tests.collect::<Vec<_>>(), ["faults.rs", "torn.rs", "lib.rs", "samples.rs"]);
    }

    fn check_test_lines(text: &str, expected: &[RangeInclusive<usize>]) {
        assert_eq!(test_lines(&lex(text)), expected, "{text}");
    }

    #[test]
    fn an_item_under_cfg_test_is_test_code_up_to_its_end() {
        check_test_lines("fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}", &[2..=5]);
        check_test_lines("#[cfg(test)]\nmod tests;\nfn c() {}", &[1..=2]);
        check_test_lines("#[cfg(all(test, unix))]\nfn a(x: [u8; 2]) {\n}\n", &[1..=3]);
        check_test_lines("#[cfg(testing)]\nfn a() {}", &[]);
    }
}
