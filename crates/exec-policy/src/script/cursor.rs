//! The parser's position in its text, and the bounds it keeps.

use super::here::HereDocument;
use super::{LONGEST, MOST_COMMANDS, Parsed, ShellKind, Unparsable};

/// A parser at some place in a script.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) shell: ShellKind,
    pub(super) found: Parsed,
    /// Here-documents whose text begins after the next newline.
    pub(super) pending: Vec<HereDocument>,
    pub(super) depth: usize,
    /// How many commands, branches or substitutions are around this place: commands in them may not be reached.
    pub(super) nesting: usize,
    /// The line of some earlier place, so that lines need not be counted from the start each time.
    counted: (usize, usize),
}

pub(super) type Parse<T> = Result<T, Unparsable>;

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str, shell: ShellKind, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            shell,
            found: Parsed::default(),
            pending: Vec::new(),
            depth,
            nesting: 0,
            counted: (0, 1),
        }
    }

    pub(super) fn into_found(self) -> Parsed {
        self.found
    }

    /// The whole text.
    pub(super) fn script(&mut self) -> Parse<()> {
        if self.text.len() > LONGEST {
            return Err(self.wrong(&format!("the script is longer than {LONGEST} bytes")));
        }
        if self.text.contains('\0') {
            return Err(self.wrong("it contains a NUL byte"));
        }
        self.list()?;
        if self.peek().is_some() {
            return Err(self.unexpected());
        }
        self.no_pending()
    }

    /// Parses a text that stands somewhere inside this one.
    pub(super) fn inside(
        &mut self,
        text: &str,
        parse: impl FnOnce(&mut Parser<'_>) -> Parse<()>,
    ) -> Parse<()> {
        let line = self.line();
        let mut inner = Parser::new(text, self.shell, self.depth.saturating_sub(1));
        inner.counted = (0, line);
        inner.nesting = self.nesting + 1;
        inner.found = std::mem::take(&mut self.found);
        let outcome =
            if self.depth == 0 { Err(self.wrong("it is nested too deeply")) } else { parse(&mut inner) };
        self.found = inner.into_found();
        outcome
    }

    /// Enters one more level of nesting.
    pub(super) fn deeper(&mut self, parse: impl FnOnce(&mut Self) -> Parse<()>) -> Parse<()> {
        if self.depth == 0 {
            return Err(self.wrong("it is nested too deeply"));
        }
        if self.found.simples.len() > MOST_COMMANDS {
            return Err(self.wrong("it holds too many commands"));
        }
        self.depth -= 1;
        let outcome = parse(self);
        self.depth += 1;
        outcome
    }

    /// Parses a part that may not be reached, or that another shell runs.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        self.nesting += 1;
        let outcome = parse(self);
        self.nesting -= 1;
        outcome
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let there = self.starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// The next character, whole.
    pub(super) fn bump(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let character = rest.chars().next()?;
        self.at += character.len_utf8();
        Some(&rest[..character.len_utf8()])
    }

    /// Skips spaces, tabs, line continuations and comments.
    pub(super) fn blanks(&mut self) {
        let start = self.at;
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.peek_at(1) == Some(b'\n') => self.at += 2,
                Some(b'#') if self.at > start || self.at_word_start() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                _ => return,
            }
        }
    }

    fn at_word_start(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| self.text.as_bytes()[at]);
        before.is_none_or(|byte| b" \t\n;&|()<>`".contains(&byte))
    }

    /// Skips blanks and newlines, and reads the here-documents that begin there.
    pub(super) fn lines(&mut self) -> Parse<()> {
        loop {
            self.blanks();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.at += 1;
            self.here_documents()?;
        }
    }

    /// Checks the text after an operator: shells remove line continuations first, so that one could hide a longer
    /// operator.
    pub(super) fn ends_operator(&mut self, longer: &[u8]) -> Parse<()> {
        let mut ahead = 0;
        while self.peek_at(ahead) == Some(b'\\') && self.peek_at(ahead + 1) == Some(b'\n') {
            ahead += 2;
        }
        let hides = ahead > 0 && self.peek_at(ahead).is_some_and(|byte| longer.contains(&byte));
        if hides { Err(self.wrong("an operator is broken over two lines")) } else { Ok(()) }
    }

    /// The unquoted word at this place, without taking it.
    pub(super) fn peek_plain(&self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| " \t\n;&|()<>'\"\\$`".contains(c)).unwrap_or(rest.len());
        &rest[..end]
    }

    /// The line of this place, counted from one.
    pub(super) fn line(&mut self) -> usize {
        let (place, line) = self.counted;
        if self.at >= place {
            let more = self.text.as_bytes()[place..self.at].iter().filter(|byte| **byte == b'\n').count();
            self.counted = (self.at, line + more);
        }
        self.counted.1
    }

    pub(super) fn wrong(&mut self, what: &str) -> Unparsable {
        Unparsable { line: self.line(), what: what.to_owned() }
    }

    /// The error that the script is not understood from here on.
    pub(super) fn unexpected(&mut self) -> Unparsable {
        let what = match self.rest().chars().next() {
            None => "it ends too early".to_owned(),
            Some('\n') => "a line ends where something must follow".to_owned(),
            Some(character) => format!("`{character}` is not expected here"),
        };
        self.wrong(&what)
    }

    /// Fails if a here-document is still open.
    pub(super) fn no_pending(&mut self) -> Parse<()> {
        if self.pending.is_empty() { Ok(()) } else { Err(self.wrong("a here-document has no text")) }
    }
}
